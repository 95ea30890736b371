"""n-best lists with references: data sets of their distinct texts, and statistics that are extracted once."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.nbest import NBestList
from ranker.corpora.records import shown
from ranker.corpora.schema import ALIGNMENT, TEXT, table
from ranker.errors import DataError, counted
from ranker.extractors.base import check_new_texts
from ranker.files import display_name, read_lines
from ranker.ranking.scorers import Scorer, sign_of

_BITS = 32


def read_references(references: Sequence[str | Path], source: str | Path | None = None) -> Dataset:
    """Read reference translations, and sources if a metric needs them, into a data set without candidates."""
    files = [*references, *([source] if source else [])]
    if not files:
        raise DataError("no references given; expected at least one file (--references)")
    first = read_lines(files[0])
    columns = [first, *(read_lines(path, len(first), display_name(files[0])) for path in files[1:])]
    number = len(references)
    sources = columns[number] if source else [""] * len(columns[0])
    indexed_lines = [
        (index, lines[index])
        for index in range(len(sources))
        for lines in columns[:number]
        if number == 1 or lines[index].strip()
    ]
    return references_of(
        sources,
        [index for index, _ in indexed_lines],
        [text for _, text in indexed_lines],
        display_name(Path(files[0]).name),
    )


def references_of(sources: Sequence[str], reference_source: npt.ArrayLike, texts: Sequence[str], name: str) -> Dataset:
    """Make a data set of sources and references; `reference_source` has each reference's sentence index, ascending."""
    return Dataset(
        name,
        table("sources", {"text": list(sources), "seg_id": [str(index) for index in range(len(sources))]}),
        table("references", {"source": np.asarray(reference_source, dtype=np.int64), "text": list(texts)}),
        table("candidates"),
        table("ratings"),
        table("preferences"),
    )


def without_outputs(dataset: Dataset) -> Dataset:
    """Return a data set with the sources and references of `dataset` only."""
    sources, references = dataset.sources, dataset.references
    return Dataset(dataset.name, sources, references, table("candidates"), table("ratings"), table("preferences"))


def with_given_texts(dataset: Dataset, given: Dataset, *, sources: bool, references: bool) -> Dataset:
    """Return the sources and references of `dataset`, replaced by the `sources` or `references` that files give.

    `given` has the lines of the files, which must be those of the sources of `dataset`, in the same order.
    """
    own, size = without_outputs(dataset), len(dataset.sources)
    if len(given.sources) != size:
        what = f"has {counted(size, 'source')}, but {given.name} has {counted(len(given.sources), 'line')}"
        raise DataError(f"{what}: give files with one line for each source", file=dataset.name)
    numbers = own.sources["seg_id"]
    if numbers.str.fullmatch("[0-9]{1,18}").all():
        number = numbers.astype(np.int64).to_numpy()
        order = np.sort(number)
        # as the results of a batch may come in any order
        if (np.diff(order) == 1).all() and (number != order).any():
            row = int(np.argmax(number != order))
            what = f"record {row + 1} has the id {number[row]}, not {order[row]}, so lines of {given.name} do not match"
            raise DataError(f"{what}: sort the records by their ids", file=dataset.name)
    if references:
        own = dataclasses.replace(own, references=given.references)
    if not sources:
        return own
    text, other = own.sources["text"], given.sources["text"]
    differ = np.flatnonzero((text != "") & (text.str.strip() != other.str.strip()))
    if len(differ):
        row = int(differ[0])
        what = f"the source in line {row + 1} is {shown(other[row])}, but {dataset.name} has {shown(text[row])}"
        raise DataError(f"{what}: leave out -s, or give the sources of this list", file=given.name)
    return dataclasses.replace(own, sources=own.sources.assign(text=other))


def check_last(nbest: NBestList, references: Dataset) -> None:
    """Refuse an n-best list that has hypotheses beyond the last sentence."""
    sentences = len(references.sources)
    if len(nbest) and nbest.sentence[-1] >= sentences:
        raise DataError(
            f"has hypotheses for sentence {nbest.sentence[-1]}, but {references.name} has "
            f"{counted(sentences, 'line')}, numbered from 0: give the sources and references of this list",
            file=nbest.name,
        )


def check_sentences(nbest: NBestList, references: Dataset) -> None:
    """Refuse an n-best list that lacks hypotheses for a sentence, or has hypotheses beyond the last sentence."""
    check_last(nbest, references)
    sentences = len(references.sources)
    missing = np.flatnonzero(np.diff(nbest.offsets(sentences)) == 0)
    if len(missing):
        raise DataError(
            f"has hypotheses for {sentences - len(missing)} of {sentences} sentences, expected hypotheses for all; "
            f"the first missing sentence, counted from 0, is {missing[0]}",
            file=nbest.name,
        )


def distinct_hypotheses(nbest: NBestList) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Return the first hypothesis of each distinct (sentence, text) pair, each hypothesis's pair, and the pairs' keys.

    A key combines the numbers of the sentence and the text; pairs are sorted by key.
    """
    keys = (nbest.sentence << _BITS) | nbest.text
    key, first, row = np.unique(keys, return_index=True, return_inverse=True)
    return first.astype(np.int64), row.astype(np.int64), key


def list_digest(nbest: NBestList) -> str:
    """Return the SHA-256 digest of an n-best list's content."""
    digest = hashlib.sha256(repr(nbest.layout).encode())
    for array in (nbest.sentence, nbest.text, nbest.features):
        digest.update(array.tobytes())
    digest.update("\n".join(nbest.texts.to_pylist()).encode())
    return digest.hexdigest()


def dataset_of(nbest: NBestList, references: Dataset, hypotheses: npt.ArrayLike) -> Dataset:
    """Return `references` with hypotheses as candidates: rows of an n-best list, sorted by sentence."""
    rows = np.asarray(hypotheses, dtype=np.int64)
    texts = nbest.texts.take(pa.array(nbest.text[rows]))
    candidates = pd.DataFrame(
        {
            "source": nbest.sentence[rows],
            "system": _strings(pa.array(rows).cast(pa.large_string())),
            "text": _strings(texts),
            "is_reference": np.zeros(len(rows), dtype=bool),
        }
    )
    if nbest.alignment is not None:
        candidates[ALIGNMENT] = _strings(nbest.alignment.take(pa.array(rows)))
    return Dataset(
        nbest.name, references.sources, references.references, candidates, references.ratings, references.preferences
    )


def all_hypotheses(nbest: NBestList, references: Dataset) -> Dataset:
    """Return `references` with all distinct hypotheses as candidates."""
    return dataset_of(nbest, references, distinct_hypotheses(nbest)[0])


def _strings(values: pa.Array) -> pd.Series:
    return pd.Series(pd.arrays.ArrowStringArray(pa.chunked_array([values])), dtype=TEXT)


def objective_gain(objective: Scorer, statistics: npt.ArrayLike) -> FloatArray:
    """Return the scores by an objective, negated if lower is better; NaN becomes the worst score."""
    scores = sign_of(objective) * objective.score(statistics)
    return np.where(np.isnan(scores), -np.inf, scores)


class StatisticsTable:
    """An objective's statistics for every distinct (sentence, text) pair seen so far, extracted once per pair."""

    def __init__(self, objective: Scorer, references: Dataset) -> None:
        check_new_texts(objective.feature_set.members, "hypotheses")
        self.objective, self.references = objective, references
        self.statistics: FloatArray = np.zeros((0, 0))
        self._keys: Int64Array = np.zeros(0, dtype=np.int64)
        self._rows: Int64Array = np.zeros(0, dtype=np.int64)

    def rows(self, nbest: NBestList) -> Int64Array:
        """Return each hypothesis's row of `statistics`, adding rows if new; `nbest` must extend the previous list."""
        check_sentences(nbest, self.references)
        first, row, key = distinct_hypotheses(nbest)
        new = ~np.isin(key, self._keys, assume_unique=True)
        if new.any():
            statistics = self.objective.statistics(dataset_of(nbest, self.references, first[new]))
            bad = np.argwhere(~np.isfinite(statistics))
            if len(bad):
                hypothesis = first[new][bad[0][0]]
                raise DataError(
                    f"{self.objective.name} of hypothesis {hypothesis + 1}, of sentence {nbest.sentence[hypothesis]}, "
                    f"is infinite or not a number, expected a finite number: use another metric",
                    file=nbest.name,
                )
            numbers = len(self._keys) + np.arange(len(statistics))
            self.statistics = np.concatenate([self.statistics, statistics]) if len(self._keys) else statistics
            keys = np.concatenate([self._keys, key[new]])
            order = np.argsort(keys)
            self._keys, self._rows = keys[order], np.concatenate([self._rows, numbers])[order]
        return self._rows[np.searchsorted(self._keys, key)][row]
