"""The weight of `mismatch` in an included ranker: `python bench/mismatch_weights.py`, a table of what it costs.

Differences that reverse a meaning are so rare in judged outputs that a ranker learns next to nothing from them. So each
costs the same number of points. A higher penalty leaves fewer minimal pairs (`bench/minimal_pairs.py`) in the wrong
order, but should not outweigh everything else. Shown is the difference that it makes to Kendall's tau of judged pairs,
with a 95% bootstrap interval over sources.

``--add MODEL FILE`` writes a model trained without the extractor with it, at the penalty `PENALTY`.
"""

from __future__ import annotations

import argparse
import dataclasses

import numpy as np

from bench.board import everything
from bench.common import run_main, say, table
from ranker.arrays import FloatArray
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import Judged, human_scores, preference_pairs
from ranker.corpora.source_keys import among
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.ranker import Ranker
from ranker.ranking.weight_sets import WeightSets

CORPORA = ("wmt12", "wmt14", "wmt19-darr", "ted21-mqm", "wmt21-mqm")
PENALTIES = (0.5, 1.0, 1.5, 2.0, 3.0)
PENALTY = 2.0
"""Points of score per difference."""


def judged_pairs(dataset: Dataset) -> tuple[FloatArray, FloatArray]:
    """Return the better and the worse candidate of every pair, shape (2, pairs), and weights."""
    if len(dataset.preferences):
        pairs = preference_pairs(dataset, aggregated=True)
        return np.stack([pairs.better, pairs.worse]), pairs.weight
    human, source = human_scores(dataset, "mqm"), dataset.candidate_source
    better, worse = np.nonzero((human[:, np.newaxis] > human) & (source[:, np.newaxis] == source))
    return np.stack([better, worse]), np.ones(len(better))


def lines_of(ranker: Ranker, name: str, most: int) -> list[str]:
    """Return the row of one corpus."""
    whole = everything(name)
    whole = whole.select_sources(~among(whole, ranker.feature_set.pretraining_sources))
    order = np.random.RandomState(1).permutation(len(whole.sources))
    whole = whole.select_sources(np.isin(np.arange(len(order)), order[:most]))
    dataset = Judged.of(whole).dataset
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


def add(path: str) -> Ranker:
    """Return a ranker with the extractor added to its features, at the end."""
    old = Ranker.load(path)
    features = FeatureSet.parse(f"{old.feature_set},mismatch").with_states(old.feature_set.states())
    more = len(features.columns) - len(old.feature_set.columns)
    # counts of differences are not standardised
    mean, scale = np.append(old.mean, np.zeros(more)), np.append(old.scale, np.ones(more))
    sets = WeightSets.of(features, by_language=old.weight_sets.by_language)
    assert (sets.used[:, :-1] == old.weight_sets.used).all()
    penalties = np.where(sets.used[:, -1:], -PENALTY, 0.0).repeat(more, axis=1)
    sets = dataclasses.replace(sets, weights=np.concatenate([old.weight_sets.weights, penalties], axis=1))
    assert old.model
    old.model = old.model.changed(feature_set=features, mean=mean, scale=scale, weight_sets=sets)
    return old


def main() -> None:
    """Print the table, or write the model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="full")
    parser.add_argument("--sources", type=int, default=1200, help="most sources of a corpus")
    parser.add_argument("--add", metavar="MODEL", nargs=2, help="a model without the extractor, and the file to write")
    options = parser.parse_args()
    if options.add:
        return add(options.add[0]).save(options.add[1])
    ranker = Ranker.load(options.model)
    rows = []
    for name in CORPORA:
        say(name)
        rows.append(lines_of(ranker, name, options.sources))
    print("\n".join(table(["corpus", "sources", "with a difference", *map(str, PENALTIES)], rows)))
    return None


if __name__ == "__main__":
    run_main(main)
