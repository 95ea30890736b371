"""Features that count matched dependency triplets (Ye, Zhou and Lin 2007, section 4.2.2)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ranker.arrays import BoolArray, FloatArray, Int32Array, Int64Array
from ranker.corpora.dataset import Dataset, view
from ranker.extractors.base import FittedExtractor
from ranker.extractors.dependency.cache import SHIPPED
from ranker.extractors.dependency.parsed import parser_signature, parses_of
from ranker.extractors.dependency.triplets import TYPES, Triplets, triplets
from ranker.extractors.needs import Needs
from ranker.storage.kernels import kernel
from ranker.text.tokens import distinct_sentences

LEVELS = ("type", "partial", "full")


@view
def triplets_of(dataset: Dataset, parser: str, *, lemma: bool) -> Triplets:
    """Return the triplets of the distinct sentences of `dataset`."""
    return triplets(parses_of(dataset, parser), lemma=lemma)


@dataclass(frozen=True)
class DependencyStructure(FittedExtractor):
    """Counts of dependency triplets that candidate and reference share: 5 types x 3 levels, averaged over references.

    A triplet (type, head, dependent) of the candidate matches one of the reference at level ``type`` if the types are
    equal, ``partial`` if the head or the dependent is equal too, ``full`` if both are; so full <= partial <= type.
    Counts are clipped: at every level no triplet matches twice, and ``partial`` is the size of a maximum matching.
    Matches count, mismatches never do (Ye, Zhou and Lin 2007, section 4.2.2). A candidate or reference without
    triplets matches nothing.

    Parameters
    ----------
    parser : str, default "shipped"
        The included English parser, the directory of a pipeline trained with ``spacy train``, or an installed spaCy
        package.
    lemma : bool, default False
        Compare lemmas instead of lower-cased words.
    f1 : bool, default False
        Add 15 columns with 2 x matches / (triplets of the candidate + triplets of the reference) of the type, 0 where
        neither has any.
    """

    name: ClassVar[str] = "ds"
    family = "syntax"
    parser: str = SHIPPED
    lemma: bool = False
    f1: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names: ``ds.TYPE.LEVEL`` for every type and level, then ``ds.TYPE.LEVEL.f1`` if `f1` is set."""
        counts = [f"{self}.{kind}.{level}" for kind in TYPES for level in LEVELS]
        return (*counts, *(f"{column}.f1" for column in counts if self.f1))

    @property
    def needs(self) -> Needs:
        """Needs of the columns: English translations if the included parser is used, else any language."""
        return Needs.english(*(("parser",) if self.parser == SHIPPED else ()))

    def signed(self) -> dict[str, object]:
        """Return the digest of the parser's content, which the signature gives in place of the parser's name."""
        return {"parser": parser_signature(self.parser)}

    def transform(self, dataset: Dataset) -> FloatArray:
        """Return the counts of matches, shape (candidates, 15), or (candidates, 30) with ``f1``."""
        candidate, reference = self._codes(dataset)
        parsed = triplets_of(dataset, self.parser, lemma=self.lemma)
        counts, ratios = _match(
            parsed.type,
            parsed.head,
            parsed.dependent,
            parsed.offsets,
            candidate,
            reference,
            dataset.candidate_source,
            dataset.reference_offsets,
        )
        size = len(TYPES) * len(LEVELS)
        columns = [counts.reshape(-1, size), ratios.reshape(-1, size)]
        return np.concatenate(columns if self.f1 else columns[:1], axis=1)

    def evidence(self, dataset: Dataset, candidate: int) -> dict[str, list[str]]:
        """Return the triplets that one candidate shares in full with each reference, as ``type(head, dependent)``."""
        codes, references = self._codes(dataset)
        parsed = triplets_of(dataset, self.parser, lemma=self.lemma)
        candidate_triplets = Counter(parsed.of(codes[candidate]))
        source = dataset.candidate_source[candidate]
        block = references[slice(*dataset.reference_offsets[source : source + 2])]
        matches = {}
        for number, reference in enumerate(block, 1):
            common = sorted((candidate_triplets & Counter(parsed.of(reference))).elements())
            matches[f"reference {number}"] = [f"{kind}({head}, {dependent})" for kind, head, dependent in common]
        return matches

    def _codes(self, dataset: Dataset) -> tuple[Int64Array, Int64Array]:
        distinct = distinct_sentences(dataset)
        return distinct.candidate, distinct.reference


@kernel
def _augment(row: int, edges: BoolArray, taken: Int64Array, seen: BoolArray) -> bool:
    """Match triplet `row` to a free triplet, rematching others along an augmenting path; return True on success."""
    # depth-first with a stack of its own: a chain may be as long as the sentence
    columns = edges.shape[1]
    stack_row = np.empty(edges.shape[0] + 1, dtype=np.int64)
    stack_column = np.empty(edges.shape[0] + 1, dtype=np.int64)
    depth = 0
    stack_row[0], stack_column[0] = row, -1
    while depth >= 0:
        at = stack_row[depth]
        moved = False
        column = stack_column[depth] + 1
        while column < columns:
            if edges[at, column] and not seen[column]:
                seen[column] = True
                stack_column[depth] = column
                if taken[column] < 0:
                    while depth >= 0:
                        taken[stack_column[depth]] = stack_row[depth]
                        depth -= 1
                    return True
                depth += 1
                stack_row[depth], stack_column[depth] = taken[column], -1
                moved = True
                break
            column += 1
        if not moved:
            depth -= 1
    return False


@kernel
def _partial_matches(
    head: Int32Array,
    dependent: Int32Array,
    first: Int64Array,
    second: Int64Array,
) -> int:
    """Size of a maximum matching between two blocks of triplets; matched triplets share their head or dependent."""
    rows, columns = first[1] - first[0], second[1] - second[0]
    edges = np.zeros((rows, columns), dtype=np.bool_)
    for i in range(rows):
        for j in range(columns):
            a, b = first[0] + i, second[0] + j
            edges[i, j] = head[a] == head[b] or dependent[a] == dependent[b]
    taken = np.full(columns, -1, dtype=np.int64)
    size = 0
    for i in range(rows):
        size += _augment(i, edges, taken, np.zeros(columns, dtype=np.bool_))
    return size


@kernel
def _full_matches(
    head: Int32Array,
    dependent: Int32Array,
    first: Int64Array,
    second: Int64Array,
) -> int:
    """Number of triplets that two sorted blocks have in common, counted with multiplicity."""
    i, j, size = first[0], second[0], 0
    while i < first[1] and j < second[1]:
        if head[i] == head[j] and dependent[i] == dependent[j]:
            size += 1
            i += 1
            j += 1
        elif head[i] < head[j] or (head[i] == head[j] and dependent[i] < dependent[j]):
            i += 1
        else:
            j += 1
    return size


@kernel
def _blocks(types: npt.NDArray[np.int8], start: int, stop: int) -> Int64Array:
    """Return the range (start, stop) of each type in the sorted triplets of one sentence, shape (types, 2)."""
    bounds = np.full((len(TYPES), 2), start, dtype=np.int64)
    at = start
    for kind in range(len(TYPES)):
        bounds[kind, 0] = at
        while at < stop and types[at] == kind:
            at += 1
        bounds[kind, 1] = at
    return bounds


@kernel(elements=50_000, rows=("candidate", "candidate_source"))
def _match(
    types: npt.NDArray[np.int8],
    head: Int32Array,
    dependent: Int32Array,
    offsets: Int64Array,
    candidate: Int64Array,
    reference: Int64Array,
    candidate_source: Int64Array,
    reference_offsets: Int64Array,
) -> tuple[FloatArray, FloatArray]:
    counts = np.zeros((len(candidate), len(TYPES), 3))
    ratios = np.zeros((len(candidate), len(TYPES), 3))
    for row in range(len(candidate)):
        candidate_blocks = _blocks(types, offsets[candidate[row]], offsets[candidate[row] + 1])
        source = candidate_source[row]
        first, last = reference_offsets[source], reference_offsets[source + 1]
        for at in range(first, last):
            reference_blocks = _blocks(types, offsets[reference[at]], offsets[reference[at] + 1])
            for kind in range(len(TYPES)):
                candidate_size, reference_size = (
                    candidate_blocks[kind, 1] - candidate_blocks[kind, 0],
                    reference_blocks[kind, 1] - reference_blocks[kind, 0],
                )
                if candidate_size == 0 or reference_size == 0:
                    continue
                full = _full_matches(head, dependent, candidate_blocks[kind], reference_blocks[kind])
                partial = _partial_matches(head, dependent, candidate_blocks[kind], reference_blocks[kind])
                for level, matches in enumerate((min(candidate_size, reference_size), partial, full)):
                    counts[row, kind, level] += matches / (last - first)
                    ratios[row, kind, level] += 2.0 * matches / (candidate_size + reference_size) / (last - first)
    return counts, ratios
