"""Word orders of translations, derived from word alignments with the source (Birch and Osborne 2011).

The alignments come with the data set, in Pharaoh format, or from a trained aligner.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from ranker.arrays import BoolArray, Int32Array, Int64Array
from ranker.corpora.dataset import Dataset, source_place, view
from ranker.corpora.formats.pharaoh import Alignments, alignments_of
from ranker.errors import DataError, OptionError
from ranker.extractors.order.aligner import align_dataset, check_one_pair, load_aligner
from ranker.extractors.order.birch_osborne import Rule, relative_orders, source_orders
from ranker.extractors.order.scores import permutation_scores
from ranker.links import Links
from ranker.text.reference_pairs import ReferencePairs
from ranker.text.tokens import Tokenizer, check_sources, source_segments, token_batch


@dataclass(frozen=True, eq=False)
class SourceOrders:
    """The order in which each candidate and reference renders the words of its source."""

    source_ranks: Int32Array
    rank_offsets: Int64Array
    candidates: int

    def relative(self, pairs: ReferencePairs) -> tuple[Int32Array, Int64Array]:
        """Return each pair's word order of the candidate relative to the reference, as permutations in CSR form."""
        references = self.candidates + pairs.reference
        return relative_orders(self.source_ranks, self.rank_offsets, pairs.candidate, references)

    def monotonicity(self, dataset: Dataset) -> dict[str, float]:
        """Return each language pair's monotonicity: the mean Kendall score d_k of references against the source order.

        Birch and Osborne (2011), section 3.1 and table 2, as a fraction; the lower, the more reordering. A language
        pair without references has 1.
        """
        offsets = self.rank_offsets[self.candidates :]
        ranks = self.source_ranks[offsets[0] :]
        scores = permutation_scores("kendall_sqrt", ranks, offsets - offsets[0])
        pair = np.searchsorted(dataset.language_pairs, dataset.source_language_pairs.astype(str))
        group, groups = np.repeat(pair, np.diff(dataset.reference_offsets)), len(dataset.language_pairs)
        number = np.bincount(group, minlength=groups)
        total = np.bincount(group, weights=scores, minlength=groups)
        means = np.divide(total, number, out=np.ones(groups), where=number > 0)
        return dict(zip(dataset.language_pairs, means.tolist(), strict=True))


@view
def bilingual_orders(
    dataset: Dataset,
    tokenizer: Tokenizer = "13a",
    *,
    lowercase: bool = False,
    aligner: str | None = None,
    rule: Rule = "same-key",
) -> SourceOrders:
    """Return the word orders of all translations of `dataset`, from its word alignments or from `aligner`."""
    check_sources(dataset)
    batch = token_batch(dataset, tokenizer, lowercase=lowercase)
    lengths = source_segments(dataset, tokenizer, lowercase=lowercase).lengths
    alignments = alignments_of(
        dataset,
        source_lengths=lengths,
        reference_lengths=batch.reference_lengths,
        candidate_lengths=batch.candidate_lengths,
    )
    if not (alignments.references_given.all() and alignments.candidates_given.all()):
        if aligner is None:
            raise _missing(dataset, alignments)
        alignments = _completed(dataset, alignments, aligner, tokenizer)
    candidate_orders, mine_offsets = source_orders(alignments.candidates, lengths[dataset.candidate_source], rule=rule)
    reference_source = dataset.references["source"].to_numpy(np.int64)
    reference_orders, their_offsets = source_orders(alignments.references, lengths[reference_source], rule=rule)
    return SourceOrders(
        np.concatenate([candidate_orders, reference_orders]),
        np.concatenate([mine_offsets, mine_offsets[-1] + their_offsets[1:]]),
        len(dataset),
    )


def _missing(dataset: Dataset, alignments: Alignments) -> DataError:
    """Return the error that names the first translation without an alignment and says how to provide alignments."""
    if alignments.candidates_given.all():
        rows, row, name = dataset.references, int(np.argmin(alignments.references_given)), "a reference"
    else:
        row = int(np.argmin(alignments.candidates_given))
        rows, name = dataset.candidates, f"system {dataset.candidates['system'].iloc[row]!r}"
    return DataError(
        f"no word alignment of {name} with the source: give alignments in Pharaoh format with the data, an aligner "
        "(aligner=FILE, trained by: ranker align train), or use exact matches (alignment=isozaki)",
        file=source_place(dataset, int(rows["source"].iloc[row])),
    )


def _completed(dataset: Dataset, alignments: Alignments, aligner: str, tokenizer: Tokenizer) -> Alignments:
    """Return `alignments` completed by the aligner's links for translations without an alignment."""
    check_one_pair(dataset)
    model = load_aligner(aligner)
    learnt = align_dataset(model, dataset)
    if model.text["tokenizer"] != tokenizer:
        raise OptionError(
            f"{aligner} was trained with the tokenizer {model.text['tokenizer']}, but the metric uses "
            f"{tokenizer}: set tokenizer={model.text['tokenizer']}"
        )
    return dataclasses.replace(
        alignments,
        references=_either(alignments.references, learnt.references, alignments.references_given),
        candidates=_either(alignments.candidates, learnt.candidates, alignments.candidates_given),
    )


def _either(first: Links, second: Links, use_first: BoolArray) -> Links:
    joined = Links(
        np.concatenate([first.source, second.source]),
        np.concatenate([first.target, second.target]),
        np.concatenate([first.offsets, first.offsets[-1] + second.offsets[1:]]),
    )
    rows = np.arange(len(use_first))
    return joined.take(np.where(use_first, rows, len(first) + rows))
