"""Judging selected sources against random ones: how well, and how surely, systems are ordered.

``python bench/source_selection.py --corpora wmt15`` (shared data: $RANKER_SHARED/data). docs/collect.md explains the
columns; *clusters* are those of `rank_systems`. Figures are means over language pairs and random halves of the judged
sources; in brackets are the 2.5% and 97.5% quantiles over halves of the difference from random selection.
"""

from __future__ import annotations

import argparse

import numpy as np

from bench.common import INTO_ENGLISH, locate, run_main, table
from ranker.apps.collect.sources import source_values
from ranker.arrays import FloatArray
from ranker.corpora import catalogue
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import PREFERENCES, human_scores, judged, preference_pairs, resolve_kind
from ranker.corpora.selection import select_language_pairs
from ranker.evaluation.correlation.pair_counts import count_pairs, tau_b
from ranker.evaluation.systems.human_ranking import expected_wins, rank_clusters
from ranker.extractors.consensus.similarities import MetricSimilarity, similarities
from ranker.extractors.registry import make_metric
from ranker.ranking.scorers import candidate_scores, make_scorer

METHODS, NUMBERS, RESAMPLES = ("random", "selected", "variance", "diversity"), (50, 100, 200), 200


def judgements_of(part: Dataset) -> FloatArray:
    """Return wins (sources, systems, systems), or sums and numbers of scores (sources, 2, systems)."""
    names, system = np.unique(part.candidates["system"].to_numpy(str), return_inverse=True)
    kind, source = resolve_kind(part), part.candidate_source
    if kind == PREFERENCES:
        pairs, cube = preference_pairs(part, primary=False), np.zeros((len(part.sources), len(names), len(names)))
        np.add.at(cube, (source[pairs.better], system[pairs.better], system[pairs.worse]), 1.0)
        return cube
    human, cube = human_scores(part, kind), np.zeros((len(part.sources), 2, len(names)))
    rows = np.flatnonzero(~np.isnan(human))
    np.add.at(cube, (source[rows], 0, system[rows]), human[rows])
    np.add.at(cube, (source[rows], 1, system[rows]), 1.0)
    return cube


def figures(dataset: Dataset, lp: str, pools: int) -> FloatArray:
    """Return tau, pairs, clusters and words, shape (numbers, pools, methods, 4)."""
    part = select_language_pairs(dataset, [lp])
    systems = part.candidates["system"]
    part = part.select_candidates(systems.isin(systems[judged(part)].unique()).to_numpy(bool))
    part = part.select_sources(np.isin(np.arange(len(part.sources)), part.candidate_source[judged(part)]))
    cube, source, sizes = judgements_of(part), part.candidate_source, np.diff(part.candidate_offsets)
    scores = candidate_scores(make_scorer("chrf", None), part)
    words = np.bincount(source, part.candidates["text"].str.split().str.len().to_numpy(float)) / sizes
    apart = scores - (np.bincount(source, scores) / sizes)[source]
    blocks = similarities(part, MetricSimilarity(make_metric("chrf")))
    alike = [each.mean() for block in blocks for each in np.split(block.values, np.cumsum(block.sizes**2)[:-1])]
    values = [source_values(part, scores), np.bincount(source, apart**2) / sizes, -np.array(alike)]
    score = expected_wins if resolve_kind(part) == PREFERENCES else lambda sums: sums[..., 0, :] / sums[..., 1, :]
    full, found = score(cube.sum(axis=0)), np.zeros((len(NUMBERS), pools, len(METHODS), 4))
    for place, seed, method in np.ndindex(found.shape[:-1]):
        generator, number = np.random.default_rng(seed), NUMBERS[place]
        order = generator.permutation(len(cube))[: len(cube) // 2]
        order = order[np.argsort(-values[method - 1][order], kind="stable")] if method else order
        chosen = cube[order[:number]]
        own = np.nan_to_num(score(chosen.sum(axis=0)), nan=-np.inf)
        weights = generator.multinomial(len(chosen), np.full(len(chosen), 1 / len(chosen)), size=RESAMPLES)
        sample = score((weights @ chosen.reshape(len(chosen), -1)).reshape(RESAMPLES, *cube.shape[1:]))
        ahead = sample[:, :, np.newaxis] > sample[:, np.newaxis, :]
        low, high = np.percentile(1 + ahead.sum(axis=1), [2.5, 97.5], axis=0, method="inverted_cdf")
        best = np.argsort(-own, kind="stable")
        pairs = ((ahead.mean(axis=0) >= 0.975) & (full[:, np.newaxis] > full)).sum() * 2 / len(full) / (len(full) - 1)
        tau, clusters = tau_b(count_pairs(full, own, [0, len(full)]))[0], rank_clusters(low[best], high[best]).max()
        found[place, seed, method] = tau, pairs, clusters, words[order[:number]].mean() / words.mean()
    return found


def main() -> None:
    """Print a table per corpus."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpora", nargs="+", default=["wmt12", "wmt13", "wmt14", "ted21-mqm", "wmt15", "wmt21-mqm"])
    parser.add_argument("--pools", type=int, default=40)
    options = parser.parse_args()
    np.seterr(invalid="ignore")
    for name in options.corpora:
        dataset = catalogue.load(locate(name))
        if resolve_kind(dataset) == PREFERENCES:
            dataset = select_language_pairs(dataset, [INTO_ENGLISH])
        runs = [figures(dataset, lp, options.pools) for lp in dataset.language_pairs]
        mean = np.mean(runs, axis=0)
        gains = np.percentile(mean - mean[:, :, :1], [2.5, 97.5], axis=1)
        rows = []
        for place, method in np.ndindex(len(NUMBERS), len(METHODS)):
            bounds = zip(mean[place, :, method].mean(axis=0), *gains[:, place, method], strict=True)
            cells = [f"{value:.2f}" + (f" [{low:+.2f} {high:+.2f}]" if method else "") for value, low, high in bounds]
            rows.append([NUMBERS[place], METHODS[method], *cells])
        print(f"\n{name}, {len(runs)} language pairs\n")
        print("\n".join(table(["sources", "by", "tau", "pairs", "clusters", "words"], rows)), flush=True)


if __name__ == "__main__":
    run_main(main)
