"""How many judgements active and uniform selection need, with the preferences of a year of WMT for judges.

``python bench/active_selection.py --seeds 20`` (shared data: $RANKER_SHARED/data).
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.common import INTO_ENGLISH, drawn_sources, locate, run_main
from ranker.arrays import BoolArray, FloatArray, Int64Array
from ranker.collect.figures import TOTAL_COST
from ranker.collect.selection import choose, directions, posterior_of
from ranker.collect.tasks import RANKED
from ranker.corpora import catalogue
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import PREFERENCES, human_scores, judged, preference_pairs
from ranker.corpora.selection import select_language_pairs
from ranker.extractors.feature_sets import FeatureSet
from ranker.learning.svm.ranksvm import RankSVM
from ranker.ranks import group_spearman
from ranker.training_data import standardiser


@dataclass(frozen=True)
class Pool:
    """Judgements of a year that simulated judges can give, and the sources that rankers are tested on."""

    dataset: Dataset
    columns: FloatArray
    directions: FloatArray
    first: Int64Array
    second: Int64Array
    human: FloatArray

    @classmethod
    def of(cls, year: str, features: str, most: int) -> Pool:
        """Take at most `most` judged sources of every language pair into English."""
        dataset = select_language_pairs(catalogue.load(locate(year)), [INTO_ENGLISH])
        there = np.zeros(len(dataset.sources), dtype=bool)
        there[dataset.candidate_source[judged(dataset, PREFERENCES)]] = True
        dataset = dataset.select_sources(drawn_sources(dataset, there, most))
        dataset = dataset.select_candidates(judged(dataset, PREFERENCES))
        _, matrix = FeatureSet.parse(features).fit_transform(dataset)
        mean, scale = standardiser(matrix)
        columns = (matrix - mean) / scale
        rows = dataset.preferences
        rows = rows[rows["primary"].to_numpy(bool) & rows["relation"].isin([">", "<"]).to_numpy(bool)]
        first, second = (rows[side].to_numpy(np.int64) for side in ("first", "second"))
        human = human_scores(dataset, "win-rate")
        dataset = dataclasses.replace(dataset, preferences=rows)
        return cls(dataset, columns, directions(columns, dataset.candidate_offsets), first, second, human)

    def items(self, kind: str, inside: BoolArray, generator: np.random.Generator) -> list[Int64Array]:
        """Return the judgements that answer each item of the sources where `inside` is true.

        Of ``pairwise`` one judgement each; of ``ranking`` all judgements among up to five outputs.
        """
        source = self.dataset.candidate_source[self.first]
        rows = np.flatnonzero(inside[source])
        if kind == "pairwise":
            return [np.array([row]) for row in generator.permutation(rows)]
        groups = []
        for part in np.split(rows, np.flatnonzero(np.diff(source[rows])) + 1):
            outputs = generator.permutation(np.unique([self.first[part], self.second[part]]))
            for start in range(0, len(outputs), RANKED):
                group = outputs[max(0, min(start, len(outputs) - RANKED)) : start + RANKED]
                among = part[np.isin(self.first[part], group) & np.isin(self.second[part], group)]
                if len(among):
                    groups.append(among)
        return [groups[place] for place in generator.permutation(len(groups))]

    def pairs(self, rows: Int64Array) -> tuple[Int64Array, FloatArray]:
        """Return (better, worse) and weights of the majority of some judgements."""
        some = dataclasses.replace(self.dataset, preferences=self.dataset.preferences.iloc[rows])
        pairs = preference_pairs(some, aggregated=True)
        return np.stack([pairs.better, pairs.worse], axis=1), pairs.weight

    def spearman(self, rows: Int64Array, tested: BoolArray) -> float:
        """Train on some judgements; return the mean Spearman of the sources where `tested` is true."""
        pairs, weight = self.pairs(rows)
        used, place = np.unique(pairs, return_inverse=True)
        svm = RankSVM(C=TOTAL_COST / weight.sum(), loss="squared_hinge")
        groups = self.dataset.candidate_source[used]
        svm.fit(self.columns[used], groups=groups, pairs=place.reshape(-1, 2), pair_weight=weight)
        selected = np.flatnonzero(tested[self.dataset.candidate_source] & ~np.isnan(self.human))
        bounds = np.searchsorted(selected, self.dataset.candidate_offsets)
        rho = group_spearman(self.columns[selected] @ svm.coef_, self.human[selected], bounds)
        return float(np.nanmean(rho[np.diff(bounds) > 1]))

    def run(self, policy: str, kind: str, points: Sequence[int], seed: int) -> list[float]:
        """Return the Spearman after each number of judgements."""
        generator = np.random.default_rng(seed)
        size = len(self.dataset.sources)
        tested = np.zeros(size, dtype=bool)
        tested[generator.permutation(size)[: size // 2]] = True
        left = self.items(kind, ~tested, generator)
        given: list[Int64Array] = []
        curve = []
        for point in points:
            while len(given) < point and left:
                # the server makes its queue anew after as many judgements
                count = min(point - len(given), max(10, len(given) // 20), len(left))
                chosen = list(range(count)) if policy == "uniform" else self.choose(left, given, count)
                given += [left[place] for place in chosen]
                taken = set(chosen)
                left = [item for place, item in enumerate(left) if place not in taken]
            curve.append(self.spearman(np.concatenate(given), tested) if len(given) == point else float("nan"))
        return curve

    def choose(self, left: list[Int64Array], given: list[Int64Array], count: int) -> list[int]:
        """Return the items that active selection asks for; the first 500 of the random order are looked at."""
        if given:
            pairs, weight = self.pairs(np.concatenate(given))
            posterior = posterior_of(self.directions[pairs[:, 0]] - self.directions[pairs[:, 1]], weight)
        else:
            posterior = posterior_of(np.zeros((0, self.directions.shape[1])))
        items = [(self.first[rows], self.second[rows]) for rows in left[:500]]
        return choose(posterior, self.directions, items, count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--year", default="wmt14")
    parser.add_argument("--features", default="standard-any")
    parser.add_argument("--sources", type=int, default=200, help="of each language pair")
    parser.add_argument("--seeds", type=int, default=10, help="random halves")
    parser.add_argument("--kinds", nargs="+", default=["ranking", "pairwise"])
    arguments = parser.parse_args()
    pool = Pool.of(arguments.year, arguments.features, arguments.sources)
    points = [10, 20, 40, 80, 160, 320, 640]
    print(f"{arguments.year}, {arguments.features}, {len(pool.dataset.sources):,} sources, {arguments.seeds} halves")
    for kind in arguments.kinds:
        for policy in ("uniform", "active"):
            runs = np.array([pool.run(policy, kind, points, seed) for seed in range(arguments.seeds)])
            spread = runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
            cells = " ".join(
                f"{n}: {mean:.3f}±{error:.3f}" for n, mean, error in zip(points, runs.mean(axis=0), spread, strict=True)
            )
            print(f"{kind} {policy}: {cells}", flush=True)


if __name__ == "__main__":
    run_main(main)
