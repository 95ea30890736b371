"""The weight of `mismatch` in `full`: `python bench/mismatch_weights.py --left-out DIR`, a table of what it costs.

Differences that reverse a meaning are so rare in judged outputs that a ranker learns next to nothing from them. So each
costs the same number of points. A higher penalty leaves fewer minimal pairs (`bench/minimal_pairs.py`) in the wrong
order, but should not outweigh everything else. Shown is the difference that it makes to Kendall's tau of judged pairs,
with a 95% bootstrap interval over sources, by the rankers without a corpus that `bench/included.py full` makes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from bench.common import run_main, table
from bench.included import MODELS, corpora_for
from ranker.arrays import FloatArray
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import human_scores, preference_pairs
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.ranker import Ranker

PENALTIES = (0.5, 1.0, 1.5, 2.0, 3.0)


def judged_pairs(dataset: Dataset) -> tuple[FloatArray, FloatArray]:
    """Return the better and the worse candidate of every pair, shape (2, pairs), and weights."""
    if len(dataset.preferences):
        pairs = preference_pairs(dataset, aggregated=True)
        return np.stack([pairs.better, pairs.worse]), pairs.weight
    human, source = human_scores(dataset), dataset.candidate_source
    better, worse = np.nonzero((human[:, np.newaxis] > human) & (source[:, np.newaxis] == source))
    return np.stack([better, worse]), np.ones(len(better))


def row_of(name: str, dataset: Dataset, ranker: Ranker) -> list[str]:
    """Return the row of one corpus."""
    parts = ranker.contributions(dataset)
    mine = np.array([column.startswith("mismatch") for column in ranker.feature_set.columns])
    differences = FeatureSet.parse("mismatch").transform(dataset).sum(axis=1)
    (better, worse), weight = judged_pairs(dataset)
    score = parts[:, ~mine].sum(axis=1)
    source = dataset.candidate_source[better]
    cells = []
    for penalty in PENALTIES:
        after = score - penalty * differences
        gain = (np.sign(after[better] - after[worse]) - np.sign(score[better] - score[worse])) * weight
        sums = [np.bincount(source, values, minlength=len(dataset.sources)) for values in (gain, weight)]
        drawn = np.random.default_rng(0).multinomial(len(sums[0]), np.full(len(sums[0]), 1 / len(sums[0])), size=1000)
        low, high = np.quantile(drawn @ sums[0] / (drawn @ sums[1]), [0.025, 0.975])
        cells.append(f"{sums[0].sum() / sums[1].sum():+.4f} [{low:+.4f} {high:+.4f}]")
    return [name, f"{len(dataset.sources):,}", f"{np.mean(differences > 0):.2%}", *cells]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--left-out", type=Path, default=Path("left-out/full"), help="folder of rankers")
    parser.add_argument("--most", type=int, default=300, help="sources of a language pair")
    options = parser.parse_args()
    rows = [
        row_of(name, people.dataset, Ranker.load(options.left_out / f"{name}.model"))
        for name, people in corpora_for(MODELS["full"], options.most).items()
    ]
    print("\n".join(table(["corpus", "sources", "with a difference", *map(str, PENALTIES)], rows)))


if __name__ == "__main__":
    run_main(main)
