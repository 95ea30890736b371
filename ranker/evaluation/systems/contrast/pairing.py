"""Two systems of a data set on the same sources, each with the references that it matches best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ranker.arrays import Int64Array
from ranker.corpora.dataset import Dataset, source_place
from ranker.corpora.selection import system_pair
from ranker.errors import DataError, counted
from ranker.extractors.ngram.unigrams import F1
from ranker.ranking.feature_set import FeatureSet
from ranker.text.ngrams import ngram_matches
from ranker.text.ratios import ratio
from ranker.text.reference_pairs import reference_pairs
from ranker.text.tokens import TokenBatch, Tokenizer, token_batch


@dataclass(frozen=True, eq=False)
class ContrastedSystems:
    """Translations of the same sources by two systems, each translation with its best reference."""

    dataset: Dataset
    rows: Int64Array
    batch: TokenBatch
    reference: Int64Array

    @classmethod
    def of(
        cls, dataset: Dataset, first: str, second: str, tokenizer: Tokenizer, *, lowercase: bool
    ) -> ContrastedSystems:
        """Select two systems of `dataset` and the sources that they translate."""
        rows = system_pair(dataset, first, second)
        present = rows >= 0
        either = present.any(axis=1)
        lacking = either & ~present.all(axis=1)
        if lacking.any():
            source = int(np.argmax(lacking))
            system = first if rows[source, 0] < 0 else second
            raise DataError(
                f"{source_place(dataset, source)} has no translation by system {system!r} (missing in "
                f"{int(lacking.sum()):,} of {counted(int(either.sum()), 'source')}): contrast systems that translate "
                "the same sources"
            )
        chosen = np.zeros(len(dataset), dtype=bool)
        chosen[rows[either].ravel()] = True
        selected = dataset.select_candidates(chosen).select_sources(either)
        FeatureSet((F1(),)).check_inputs(selected)
        batch = token_batch(selected, tokenizer, lowercase=lowercase)
        rows = system_pair(selected, first, second)
        return cls(selected, rows, batch, _best_references(selected, batch)[rows])

    @property
    def sentences(self) -> Int64Array:
        """Sentence numbers in `batch`: both systems' translations, then their best references, shape (4, sources)."""
        return np.concatenate([self.batch.candidate[self.rows.T], self.batch.reference[self.reference.T]])


def _best_references(dataset: Dataset, batch: TokenBatch) -> Int64Array:
    """Return, for each candidate, the reference with the highest F measure over words."""
    pairs = reference_pairs(dataset)
    matched = ngram_matches(pairs.expand(batch), 1)[:, 0]
    lengths = batch.candidate_lengths[pairs.candidate] + batch.reference_lengths[pairs.reference]
    return pairs.reference[pairs.best(ratio(2 * matched, lengths))]
