"""Which features suit few judgements: `python bench/default_features.py` prints a table.

A ranker is trained on a sample of the judged sources of a corpus and tested on its others (*own*), or on a sample of
the other corpora of preferences and tested on the one left out (*other*). Figures are Kendall's tau (wmt14 variant),
means over corpora, their language pairs and seeds, with the lowest figure. The encoder is that before its training,
because the included one learnt from these corpora. Features of a corpus are extracted once, those that learn from what
is ranked once per sample. Corpora are files of the shared data ($RANKER_SHARED/data). wmt15 is not used.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from bench.common import INTO_ENGLISH, drawn_sources, locate, row, run_main, say, table
from ranker.arrays import BoolArray, FloatArray
from ranker.corpora import catalogue
from ranker.corpora.dataset import Dataset, concatenate_datasets
from ranker.corpora.judgements import (
    PREFERENCES,
    Judged,
    human_scores,
    judged,
    ordered_pairs,
    preference_pairs,
    resolve_kind,
)
from ranker.corpora.selection import select_language_pairs
from ranker.evaluation.correlation.pair_counts import tau
from ranker.evaluation.correlation.segment import tau_counts
from ranker.extractors.base import Extractor, fitted_on
from ranker.learning.encoder.files import SMALL
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.settings import DEFAULTS
from ranker.ranking.training import TrainingTable, standardiser

CORPORA = ("wmt12", "wmt14", "wmt19-darr", "mqm21", "bio21-mqm")
OWN, OTHER = "own", "other"
MOST = 500
"""Sources taken of a language pair of a corpus."""
_ENCODER = f"semantic[encoder={SMALL},layer=5]"
_CONSENSUS = f"consensus[metric={_ENCODER},trust=source].diverse"
_STANDARD = f"{_ENCODER},{_CONSENSUS},meteor[modules=exact+stem]"
_PERPLEXITY = "perp[match=true,model=shipped]"
CANDIDATES = {
    "chrF, not trained": "chrf",
    "`semantic.f`, not trained": _ENCODER,
    "`ye07`": "ye07",
    "`standard-lexical`": "standard-lexical",
    "`standard-lexical` and `semantic`": f"standard-lexical,{_ENCODER}",
    "`semantic`": _ENCODER,
    "`semantic` and consensus": f"{_ENCODER},{_CONSENSUS}",
    "`standard`: these and METEOR": _STANDARD,
    "`standard` and perplexity": f"{_STANDARD},{_PERPLEXITY}",
    "`standard`, length, hamming and TER": f"{_STANDARD},length,hamming,ter[search=tercom,tokenizer=13a]",
}


@dataclass(frozen=True, eq=False)
class Table:
    """Judged candidates and their features, each extractor's made once."""

    dataset: Dataset
    kind: str
    made: dict[str, FloatArray] = field(default_factory=dict)

    def columns(self, extractors: Sequence[Extractor]) -> FloatArray:
        """Return the columns of some extractors, shape (candidates, columns); zeros where one is not usable."""
        for extractor in extractors:
            if str(extractor) not in self.made:
                columns = np.zeros((len(self.dataset), len(extractor.columns)))
                if extractor.needs.missing(self.dataset) is None:
                    columns = fitted_on(extractor, self.dataset).transform(self.dataset)
                self.made[str(extractor)] = columns
        return np.concatenate([self.made[str(item)] for item in extractors], axis=1)

    def take(self, sources: BoolArray, *, keep: bool) -> Table:
        """Return some sources; unless `keep`, columns that learn from what is ranked are left out."""
        rows = sources[self.dataset.candidate_source]
        kept = {name: matrix[rows] for name, matrix in self.made.items() if keep or name not in RANKED}
        return Table(self.dataset.select_sources(sources), self.kind, kept)

    def tau(self, scores: FloatArray) -> float:
        """Return the mean over language pairs."""
        names, codes = np.unique(self.dataset.source_language_pairs.astype(str), return_inverse=True)
        pairs = (
            preference_pairs(self.dataset)
            if self.kind == PREFERENCES
            else ordered_pairs(human_scores(self.dataset, self.kind), self.dataset.candidate_offsets)
        )
        counts = tau_counts(scores, pairs, codes[self.dataset.candidate_source], len(names))
        return float(tau(counts).mean())


@dataclass(frozen=True, eq=False)
class Sample:
    """Sources to train on, and others to test on."""

    how: str
    size: int
    corpus: str
    table: Table
    test: Table

    def tau(self, name: str, features: str) -> float:
        """Train by ``C="auto"`` and test."""
        extractors = FeatureSet.parse(features).extractors
        if "not trained" in name:
            column = [name.rpartition(".")[2] for name in extractors[0].columns].index("f") if "." in name else 0
            return self.test.tau(self.test.columns(extractors)[:, column])
        columns = self.table.columns(extractors)
        mean, scale = standardiser(columns)
        table = TrainingTable.of(Judged(self.table.dataset, self.table.kind), DEFAULTS.pairs)
        svm = table.learn((columns - mean) / scale, C="auto", loss=DEFAULTS.loss, seed=0)
        return self.test.tau((self.test.columns(extractors) - mean) / scale @ svm.coef)


EXTRACTORS = {str(item): item for text in CANDIDATES.values() for item in FeatureSet.parse(text).extractors}
RANKED = {name for name, extractor in EXTRACTORS.items() if extractor.fit_scope == "ranked"}


def read(name: str) -> Table:
    """Read a corpus into English: what was judged, up to `MOST` sources per language pair."""
    dataset = select_language_pairs(catalogue.load(locate(name)), [INTO_ENGLISH])
    kind = resolve_kind(dataset)
    dataset = dataset.select_candidates(judged(dataset, kind))
    there = np.diff(dataset.candidate_offsets) > 1
    made = Table(dataset.select_sources(drawn_sources(dataset, there, MOST)), kind)
    say(f"{name}: {len(made.dataset.sources)} sources, {len(made.dataset)} candidates")
    for extractor in EXTRACTORS.values():
        made.columns([extractor])
    return made


def joined(tables: Sequence[Table]) -> Table:
    """Put corpora of preferences one behind the other."""
    dataset = concatenate_datasets([table.dataset for table in tables])
    made = {name: np.concatenate([table.made[name] for table in tables]) for name in EXTRACTORS}
    return Table(dataset, PREFERENCES, made)


def samples(tables: dict[str, Table], sizes: Sequence[int], seeds: int) -> Iterator[Sample]:
    """Draw training sources from a corpus itself, and from the others."""
    for number, (name, own) in enumerate(tables.items()):
        others = [each for other, each in tables.items() if other != name and each.kind == PREFERENCES]
        for size in (size for size in sizes if 2 * size <= len(own.dataset.sources)):
            for seed in range(seeds):
                for how, whole in ((OWN, own), *([(OTHER, joined(others))] if own.kind == PREFERENCES else [])):
                    drawn = np.zeros(len(whole.dataset.sources), dtype=bool)
                    generator = np.random.default_rng([seed, size, number])
                    drawn[generator.permutation(len(drawn))[:size]] = True
                    test = own.take(~drawn, keep=True) if how == OWN else own
                    yield Sample(how, size, name, whole.take(drawn, keep=False), test)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", nargs="+", type=int, default=[100, 300, 1000])
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    tables = {name: read(name) for name in CORPORA}
    found: dict[tuple[str, str, int, str], list[float]] = {}
    for sample in samples(tables, options.sizes, options.seeds):
        for name, features in CANDIDATES.items():
            key = (name, sample.how, sample.size, sample.corpus)
            found.setdefault(key, []).append(sample.tau(name, features))
            say(f"{key}: {found[key][-1]:.3f}")
    for corpora in (CORPORA, *((name,) for name in CORPORA)):
        cells = [(how, size) for how in (OWN, OTHER) for size in options.sizes]
        print("\n".join([", ".join(corpora), "", *table(["features", *(f"{how} {size:,}" for how, size in cells)])]))
        for name in CANDIDATES:
            figures = []
            for how, size in cells:
                taus = [found[key] for corpus in corpora if (key := (name, how, size, corpus)) in found]
                figures.append(f"{np.mean(taus):.3f} ({np.min(taus):.3f})" if taus else "-")
            print(row(name, *figures), flush=True)
        print()


if __name__ == "__main__":
    run_main(main)
