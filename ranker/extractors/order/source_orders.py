"""Word orders of translations from their word alignments with the source (Birch and Osborne 2011).

The alignments come with the data set, in Pharaoh format, or from a trained aligner.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ranker.arrays import BoolArray, FloatArray, Int32Array, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.pharaoh import Alignments, alignments_of
from ranker.errors import DataError, OptionError
from ranker.extractors.order.aligner import align_dataset
from ranker.extractors.order.birch_osborne import Rule, relative_orders, source_orders
from ranker.extractors.order.scores import permutation_scores
from ranker.extractors.text.reference_pairs import ReferencePairs
from ranker.extractors.text.tokens import TokenBatch, Tokenizer, token_batch
from ranker.learning.aligner.model import AlignmentModel
from ranker.links import Links


@dataclass(frozen=True, eq=False, kw_only=True)
class AlignedBatch(TokenBatch):
    """A token batch whose translations are aligned with their sources; `aligned_batch` makes it.

    Parameters
    ----------
    source_ranks : int32 array
        Rank, from 0, that every source word takes in the order of a translation: of all candidates, then of all
        references.
    rank_offsets : int64 array, shape (candidates + references + 1,)
        Translation ``i`` is ``source_ranks[rank_offsets[i]:rank_offsets[i + 1]]``.
    language_pair : int64 array, shape (sources,)
        Number of the language pair of every source, from 0.
    """

    source_ranks: Int32Array
    rank_offsets: Int64Array
    language_pair: Int64Array

    def relative_orders(self, pairs: ReferencePairs) -> tuple[Int32Array, Int64Array]:
        """Return the order of the candidate relative to that of the reference for every pair, permutations in CSR."""
        references = len(self.candidate) + pairs.reference
        return relative_orders(self.source_ranks, self.rank_offsets, pairs.candidate, references)

    def monotonicity(self) -> FloatArray:
        """Return how monotone the references of every language pair are: the mean of their d_k to the source order.

        Birch and Osborne (2011), section 3.1 and table 2, as a fraction. A language pair without references has 1.

        Returns
        -------
        float array, shape (language pairs,)
            In [0, 1]; the lower, the more reordering.
        """
        offsets = self.rank_offsets[len(self.candidate) :]
        ranks = self.source_ranks[offsets[0] :]
        scores = permutation_scores("kendall_sqrt", ranks, offsets - offsets[0])
        group = np.repeat(self.language_pair, np.diff(self.reference_offsets))
        groups = int(self.language_pair.max(initial=-1)) + 1
        number = np.bincount(group, minlength=groups)
        total = np.bincount(group, weights=scores, minlength=groups)
        return np.asarray(np.divide(total, number, out=np.ones(groups), where=number > 0))


def aligned_batch(
    batch: TokenBatch,
    candidate_links: Links,
    reference_links: Links,
    source_lengths: npt.ArrayLike,
    language_pair: npt.ArrayLike | None = None,
    *,
    rule: Rule = "same-key",
) -> AlignedBatch:
    """Add word alignments with the source to `batch`.

    Parameters
    ----------
    batch : TokenBatch
    candidate_links, reference_links : Links
        From the words of the source to those of every candidate and every reference, in the order of `batch`.
    source_lengths : array-like of int, shape (sources,)
        Number of words of every source, as the alignments count them.
    language_pair : array-like of int, shape (sources,), optional
        Number of the language pair of every source, from 0; by default all are of one.
    rule : {"same-key", "plus-one"}, default "same-key"
        Where source words without a link go, as `ranker.extractors.order.birch_osborne` has it.

    Raises
    ------
    DataError
        If there are not as many alignments as translations, or a link points behind the end of a source.
    """
    lengths = np.asarray(source_lengths, dtype=np.int64)
    groups = np.zeros(len(lengths), dtype=np.int64) if language_pair is None else np.asarray(language_pair, np.int64)
    for what, links, rows in (
        ("candidates", candidate_links, batch.candidate),
        ("references", reference_links, batch.reference),
    ):
        if len(links) != len(rows):
            raise DataError(f"word alignments of {len(links)} {what}, expected one for each of the {len(rows)}")
    if not len(lengths) == len(groups) == len(batch.reference_offsets) - 1:
        raise DataError(
            f"{len(lengths)} source lengths and {len(groups)} language pairs, expected one for each of the "
            f"{len(batch.reference_offsets) - 1} sources"
        )
    mine, mine_offsets = source_orders(candidate_links, lengths[batch.candidate_source], rule=rule)
    reference_source = np.repeat(np.arange(len(lengths)), np.diff(batch.reference_offsets))
    theirs, their_offsets = source_orders(reference_links, lengths[reference_source], rule=rule)
    return AlignedBatch(
        **{field.name: getattr(batch, field.name) for field in dataclasses.fields(TokenBatch)},
        source_ranks=np.concatenate([mine, theirs]),
        rank_offsets=np.concatenate([mine_offsets, mine_offsets[-1] + their_offsets[1:]]),
        language_pair=groups,
    )


def aligned(batch: TokenBatch) -> AlignedBatch:
    """Return `batch` if it has word alignments.

    Raises
    ------
    DataError
        If it has none.
    """
    if not isinstance(batch, AlignedBatch):
        raise DataError(
            "bilingual word orders need word alignments with the sources, and this batch has none: make it with "
            "bilingual_batch or aligned_batch"
        )
    return batch


def bilingual_batch(
    dataset: Dataset,
    tokenizer: Tokenizer,
    *,
    lowercase: bool = False,
    aligner: str | None = None,
    rule: Rule = "same-key",
) -> AlignedBatch:
    """Return the token batch of `dataset` with the word alignments that came with it, made once for equal options.

    Parameters
    ----------
    dataset : Dataset
    tokenizer : {"13a", "none"}
        Makes the words that the alignments count.
    lowercase : bool
    aligner : str, optional
        File of a trained aligner, for translations without an alignment.
    rule : {"same-key", "plus-one"}, default "same-key"

    Raises
    ------
    DataError
        If a translation has no alignment and there is no aligner, an alignment does not fit the sentences, or the
        aligner would have to align several language pairs.
    OptionError
        If the aligner counts other words than `tokenizer` makes.
    """

    def make() -> AlignedBatch:
        batch = token_batch(dataset, tokenizer, lowercase=lowercase)
        lengths = batch.sources.lengths
        given = alignments_of(
            dataset,
            source_lengths=lengths,
            reference_lengths=batch.reference_lengths,
            candidate_lengths=batch.candidate_lengths,
        )
        if not (given.references_given.all() and given.candidates_given.all()):
            if aligner is None:
                raise _missing(dataset, given)
            given = _completed(dataset, given, aligner, tokenizer)
        language_pair = np.unique(dataset.source_language_pairs.astype(str), return_inverse=True)[1]
        return aligned_batch(batch, given.candidates, given.references, lengths, language_pair, rule=rule)

    return dataset.memo(("bilingual orders", tokenizer, lowercase, aligner, rule), make)


def _missing(dataset: Dataset, given: Alignments) -> DataError:
    """Say which translation is the first without an alignment, and what to do."""
    if given.candidates_given.all():
        rows, row, name = dataset.references, int(np.argmin(given.references_given)), "a reference"
    else:
        row = int(np.argmin(given.candidates_given))
        rows, name = dataset.candidates, f"system {dataset.candidates['system'].iloc[row]!r}"
    return DataError(
        f"no word alignment of {name} with the source: give alignments in Pharaoh format with the data, an aligner "
        "(aligner=FILE, trained by: ranker align train), or take exact matches (alignment=isozaki)",
        file=dataset.where(int(rows["source"].iloc[row])),
    )


def _completed(dataset: Dataset, given: Alignments, aligner: str, tokenizer: Tokenizer) -> Alignments:
    """Return `given` with what the aligner finds for the translations that have no alignment."""
    pairs = dataset.language_pairs
    if len(pairs) > 1:
        raise DataError(
            f"holds the language pairs {', '.join(pairs)}; an aligner is of one: choose it with --lp", file=dataset.name
        )
    model = AlignmentModel.load(aligner)
    learnt = align_dataset(model, dataset)
    if model.text["tokenizer"] != tokenizer:
        raise OptionError(
            f"{aligner} aligns the words of the tokenizer {model.text['tokenizer']}, the metric counts those of "
            f"{tokenizer}: take tokenizer={model.text['tokenizer']}"
        )
    return dataclasses.replace(
        given,
        references=_either(given.references, learnt.references, given.references_given),
        candidates=_either(given.candidates, learnt.candidates, given.candidates_given),
    )


def _either(first: Links, second: Links, use_first: BoolArray) -> Links:
    both = Links(
        np.concatenate([first.source, second.source]),
        np.concatenate([first.target, second.target]),
        np.concatenate([first.offsets, first.offsets[-1] + second.offsets[1:]]),
    )
    rows = np.arange(len(use_first))
    return both.take(np.where(use_first, rows, len(first) + rows))
