"""What adapting a ranker to judgements gains: `python bench/adapting.py --work DIR` prints the table of the guide.

Draws more and more judged sources, trains on them from nothing and from the weights of `full-lexical`, as `ranker
train` and `ranker train --from full-lexical` do, and tests both, beside `full-lexical` itself, on sources that neither
saw: sources of wmt14 de-en for wmt15 de-en, from the `full-lexical` that is trained without wmt14; and one half of the
sources of ted21-mqm, drawn for each sample, for the other. Features, and the ranker trained without wmt14, are kept in
DIR, as those of `bench/leaderboard.py`. Corpora are files of the shared data ($RANKER_SHARED/data).
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bench.board import Board, everything, read
from bench.common import figure, row, run_main, say, table
from bench.with_less import main_statistic
from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import Judged, resolve_kind
from ranker.corpora.selection import select_language_pairs
from ranker.evaluation.metrics.evaluation import evaluate
from ranker.evaluation.resampling.bootstrap import Estimate
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.ranker import Ranker
from ranker.ranking.settings import DEFAULTS
from ranker.ranking.training import ParentModel, TrainingTable, learn_weights, standardiser

SIZES = (25, 50, 100, 200, 400, 800)


@dataclass(frozen=True, eq=False)
class Corpus:
    """Judged candidates and the columns of the base, on the base's means and scales."""

    dataset: Dataset
    columns: FloatArray

    @classmethod
    def of(cls, base: Ranker, corpus: str, lp: str, board: Board) -> Corpus:
        """Make the columns of the judged candidates of a corpus, or take them from the directory; all of them vote."""
        whole = select_language_pairs(everything(corpus), [lp])
        dataset = Judged.of(whole).dataset
        columns = board.keeping(base, (read(corpus),)).feature_set.transform(dataset)
        return cls(dataset, (columns - base.mean) / base.scale)

    def take(self, sources: Int64Array) -> Corpus:
        """Return some sources."""
        chosen = np.isin(np.arange(len(self.dataset.sources)), sources)
        rows = chosen[self.dataset.candidate_source]
        return Corpus(self.dataset.select_sources(chosen), self.columns[rows])

    def agreement(self, columns: FloatArray, weights: FloatArray, resamples: int = 0) -> Estimate:
        """Return the agreement of scores with people."""
        found = evaluate(self.dataset, columns @ weights, resamples=resamples)
        return found.estimate(main_statistic(self.dataset), found.main_scope.id)


@dataclass(frozen=True)
class Trial:
    """One sample of sources: what was judged, and the agreement on the test sources."""

    sources: int
    judgements: int
    nothing: float
    adapted: float
    base: float
    moved: bool


def trial(base: ParentModel, training: Corpus, test: Corpus, before: float) -> Trial:
    """Train both ways and test."""
    kind = resolve_kind(training.dataset, DEFAULTS.kind)
    table = replace(TrainingTable.of(Judged(training.dataset, kind), DEFAULTS.pairs), columns=training.columns)
    features, data_hash = FeatureSet(base.weight_sets.extractors), training.dataset.fingerprint
    near, near_training, _ = learn_weights(table, features, DEFAULTS, base, data_hash=data_hash)
    mean, scale = standardiser(training.columns)
    table = replace(table, columns=(training.columns - mean) / scale)
    anew, _, _ = learn_weights(table, features, DEFAULTS, data_hash=data_hash)
    return Trial(
        len(training.dataset.sources),
        len(training.dataset.preferences) or len(training.dataset),
        test.agreement((test.columns - mean) / scale, anew.weights[0]).value,
        test.agreement(test.columns, near.weights[0]).value,
        before,
        near_training.C > 0.0,
    )


def run(base: ParentModel, pool: Corpus, test: Corpus | None, samples: int) -> tuple[list[list[Trial]], list[Estimate]]:
    """Return the trials of every size, and the agreement of the base on the test sources of every sample."""
    by_size: dict[int, list[Trial]] = {}
    bases: list[Estimate] = []
    judged_sources = np.unique(pool.dataset.candidate_source)
    for seed in range(samples):
        order = np.random.default_rng(seed).permutation(judged_sources)
        held_out = test
        if held_out is None:
            held_out, order = pool.take(order[1::2]), order[::2]
        if test is None or not bases:
            bases.append(held_out.agreement(held_out.columns, base.weights[0], resamples=1000))
        for size in (*(size for size in SIZES if size < len(order)), len(order)):
            chosen = order[:size]
            if len(chosen) == len(judged_sources) and seed:
                continue
            say(f"sample {seed}: {len(chosen)} sources")
            one = trial(base, pool.take(chosen), held_out, bases[-1].value)
            by_size.setdefault(len(chosen), []).append(one)
    return list(by_size.values()), bases


def show(title: str, trials: list[list[Trial]], bases: list[Estimate]) -> None:
    mean = Estimate(*(float(np.mean([getattr(one, name) for one in bases])) for name in ("value", "low", "high")))
    head = ["sources", "judgements", "from nothing", "`--from full-lexical`", "against `full-lexical` alone"]
    head += ["lowest, highest", "moved"]
    print("\n".join(["", title, "", *table(head, [[0, 0, "-", figure(mean), "-", "-", "-"]])]))
    for same in trials:
        gains = np.array([one.adapted - one.base for one in same])
        spread = 2.262 * gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else float("nan")
        half = f" ± {spread:.3f}" if len(gains) > 1 else ""
        cells = [
            f"{same[0].sources:,}",
            f"{np.mean([one.judgements for one in same]):,.0f}",
            f"{np.mean([one.nothing for one in same]):.3f}",
            f"{np.mean([one.adapted for one in same]):.3f}",
            f"{gains.mean():+.3f}{half}",
            f"{gains.min():+.3f}, {gains.max():+.3f}",
            f"{sum(one.moved for one in same)} of {len(same)}",
        ]
        print(row(*cells), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", type=Path, required=True, help="Directory of features and models")
    parser.add_argument("--samples", type=int, default=10)
    options = parser.parse_args()
    full = Ranker.load("full-lexical")
    board = Board(options.work, {"full-lexical": full})
    older = board.unseen("full-lexical", full, read("wmt14"))
    cases = (
        ("wmt14 de-en, tested on wmt15 de-en: tau", older, ("wmt14", "de-en"), ("wmt15", "de-en")),
        ("ted21-mqm, tested on its other half: Spearman per source", full, ("ted21-mqm", "*-en"), None),
    )
    for title, ranker, pool, test in cases:
        sets = replace(ranker.weight_sets, used=ranker.weight_sets.used[:1], weights=ranker.weight_sets.weights[:1])
        base = ParentModel("full-lexical", sets)
        corpora = [Corpus.of(ranker, *one, board) for one in (pool, test) if one]
        show(title, *run(base, corpora[0], corpora[1] if test else None, options.samples))


if __name__ == "__main__":
    run_main(main)
