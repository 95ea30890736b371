"""Which features suit few judgements: `python bench/default_features.py` prints a table.

Each of the years 2012 to 2014 is left out in turn: a ranker is trained on a sample of judged sources of the other two,
from one language pair or of all into English, and tested on the year left out (Kendall's tau, wmt14 variant, primary
pairs, mean over language pairs). A row of the table is the mean over years, language pairs and seeds, with the lowest
figure. Features of a year are extracted once, those that learn from what is ranked once per sample. Corpora are NAME-
rr of the shared data ($RANKER_SHARED/data). wmt15 is not used.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from bench.common import INTO_ENGLISH, drawn_sources, locate, row, run_main, table
from ranker.arrays import FloatArray
from ranker.corpora import catalogue
from ranker.corpora.dataset import Dataset, concatenate, source_language_pairs
from ranker.corpora.judgements import PREFERENCES, judged, preference_pairs
from ranker.corpora.selection import select_language_pairs
from ranker.evaluation.correlation.pair_counts import tau
from ranker.evaluation.correlation.segment import tau_counts
from ranker.extractors.base import Extractor
from ranker.extractors.feature_sets import FeatureSet
from ranker.settings import DEFAULTS
from ranker.training_data import TrainingTable, standardiser

YEARS = ("wmt12", "wmt13", "wmt14")
MOST = 1000
"""Sources taken of a language pair of a year."""
CANDIDATES = {
    "chrF, not trained": "chrf",
    "epsilon-smoothed BLEU, not trained": "bleu[smoothing=epsilon]",
    "`ye07`": "ye07",
    "`standard`": "standard",
    "`standard-any`": "standard-any",
}


@dataclass(frozen=True, eq=False)
class Table:
    """Judged candidates and their features, each extractor's made once."""

    dataset: Dataset
    made: dict[str, FloatArray] = field(default_factory=dict)

    def columns(self, extractors: Sequence[Extractor]) -> FloatArray:
        """Return the columns of some extractors, shape (candidates, columns); zeros where one is not usable."""
        for extractor in extractors:
            if str(extractor) not in self.made:
                columns = np.zeros((len(self.dataset), len(extractor.columns)))
                if extractor.missing_requirement(self.dataset) is None:
                    columns = extractor.fit_ranked(self.dataset).transform(self.dataset)
                self.made[str(extractor)] = columns
        return np.concatenate([self.made[str(item)] for item in extractors], axis=1)

    def tau(self, scores: FloatArray) -> float:
        """Return the mean over language pairs."""
        names, codes = np.unique(source_language_pairs(self.dataset).astype(str), return_inverse=True)
        counts = tau_counts(scores, preference_pairs(self.dataset), codes[self.dataset.candidate_source], len(names))
        return float(tau(counts).mean())


@dataclass(frozen=True, eq=False)
class Sample:
    """Sources to train on, and the year to test on."""

    size: int
    table: Table
    test: Table

    def tau(self, features: str) -> float:
        """Train by ``C="auto"`` and test."""
        extractors = FeatureSet.parse(features).extractors
        columns = self.table.columns(extractors)
        mean, scale = standardiser(columns)
        table = TrainingTable.of(self.table.dataset, PREFERENCES, DEFAULTS.pairs)
        svm = table.learn((columns - mean) / scale, C="auto", loss=DEFAULTS.loss, seed=0)
        return self.test.tau((self.test.columns(extractors) - mean) / scale @ svm.coef)


def read(name: str) -> Table:
    """Read a year into English: what was judged, up to `MOST` sources per language pair."""
    dataset = select_language_pairs(catalogue.load(locate(name)), [INTO_ENGLISH])
    dataset = dataset.select_candidates(judged(dataset, PREFERENCES))
    there = np.diff(dataset.candidate_offsets) > 0
    return Table(dataset.select_sources(drawn_sources(dataset, there, MOST)))


def draw(years: dict[str, Table], left_out: str, lp: str, size: int, seed: int) -> Sample:
    """Draw training sources from the years that are not left out."""
    others = [table for name, table in years.items() if name != left_out]
    joined = concatenate([table.dataset for table in others])
    usable = np.flatnonzero([lp in (INTO_ENGLISH, own) for own in source_language_pairs(joined)])
    generator = np.random.default_rng([seed, size, YEARS.index(left_out)])
    keep = np.zeros(len(joined.sources), dtype=bool)
    keep[generator.permutation(usable)[:size]] = True
    table = Table(joined.select_sources(keep))
    rows = keep[joined.candidate_source]
    extractors = {str(item): item for text in CANDIDATES.values() for item in FeatureSet.parse(text).extractors}
    for name, extractor in extractors.items():
        if extractor.fit_scope == "none":
            table.made[name] = np.concatenate([right.columns([extractor]) for right in others])[rows]
    return Sample(size, table, years[left_out])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", nargs="+", type=int, default=[100, 400, 1600])
    parser.add_argument("--lp", nargs="+", default=[INTO_ENGLISH, "de-en"])
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    years = {name: read(name) for name in YEARS}
    grid = itertools.product(YEARS, options.lp, options.sizes, range(options.seeds))
    samples = [draw(years, left_out, lp, size, seed) for left_out, lp, size, seed in grid]
    print("\n".join(table(["features", *(f"{size:,} sources" for size in options.sizes)])))
    for name, features in CANDIDATES.items():
        cells = []
        for size in options.sizes:
            taus = [sample.tau(features) for sample in samples if sample.size == size]
            cells.append(f"{np.mean(taus):.3f} ({np.min(taus):.3f})")
        print(row(name, *cells), flush=True)


if __name__ == "__main__":
    run_main(main)
