"""Gain by ranking faulty outputs last and without votes: `python bench/fault_ranks.py [CORPUS ...]`.

Agreement with people in the sources that have a faulty output, as scores rank them (`checks=False`) and as
`Ranker.rank` does. In all other sources both are equal. Intervals are of a bootstrap over the sources.
"""

from __future__ import annotations

import sys

import numpy as np

from bench.common import figure, locate, run_main, say, table
from ranker import Ranker, load_dataset
from ranker.arrays import FloatArray
from ranker.checks.faults import outranked
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import human_scores, preference_pairs
from ranker.corpora.selection import select_language_pairs, without_references
from ranker.evaluation.correlation.segment import source_spearman, tau_counts
from ranker.evaluation.resampling.bootstrap import estimate, stream, weights_of_draws

CORPORA = ("wmt14", "mqm21", "wmt24-esa", "wmt19-darr")
RESAMPLES = 2000
FEWEST = 5
"""Sources with a fault that a row needs."""


def ranked(dataset: Dataset, model: str) -> tuple[FloatArray, FloatArray]:
    """Return scores, and scores that rank as the checks do."""
    ranker = Ranker.load(model)
    scores = ranker.candidate_scores(dataset)
    checked = ranker.votes.values(dataset, ranker.candidate_scores)
    return scores, np.where(outranked(dataset), checked - 1e6, checked)


def agreement(dataset: Dataset, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the sums and numbers that agreement is the quotient of, of every source."""
    if len(dataset.preferences):
        counts = tau_counts(scores, preference_pairs(dataset), dataset.candidate_source, len(dataset.sources))
        return counts[:, 0] - counts[:, 1] * 1.0, counts.sum(axis=1) * 1.0
    rho = source_spearman(dataset, scores, human_scores(dataset))
    return np.nan_to_num(rho), ~np.isnan(rho) * 1.0


def rows_of(name: str, dataset: Dataset) -> list[list[str]]:
    """Return a row per model, of the sources of a corpus with a faulty output."""
    blind = without_references(dataset)
    if all(lp.endswith("-en") for lp in dataset.language_pairs):
        used = {"`full`": dataset, "`full` without references": blind}
    else:
        used = {"`full-any`": dataset}
    rows = []
    for title, data in {**used, "`consensus`": blind}.items():
        say(f"{name}: {title}")
        affected = np.bincount(data.candidate_source[outranked(data)], minlength=len(data.sources)) > 0
        few, model = data.select_sources(affected), title.split("`")[1]
        (before, numbers), (after, _) = (agreement(few, scores) for scores in ranked(few, model))
        judged, total = numbers > 0, numbers.sum()
        if judged.sum() < FEWEST:
            continue
        weights = weights_of_draws(len(few.sources), RESAMPLES, stream(0, name, model))
        gain = after - before
        change = estimate(gain.sum() / total, (weights @ gain) / (weights @ numbers))
        everywhere = gain.sum() / agreement(data, np.arange(len(data)))[1].sum()
        figures = (f"{before.sum() / total:.3f}", f"{after.sum() / total:.3f}", figure(change), f"{everywhere:.4f}")
        what = "tau" if len(data.preferences) else "rho"
        rows.append([name, title, f"{len(data.sources):,}", f"{judged.sum():,}", what, *figures])
    return rows


def main() -> None:
    """Print the table."""
    rows = []
    for name in sys.argv[1:] or CORPORA:
        whole = load_dataset(locate(name))
        english = [lp for lp in whole.language_pairs if lp.endswith("-en")]
        for pairs in (english, [lp for lp in whole.language_pairs if lp not in english]):
            if pairs:
                rows += rows_of(f"{name} ({', '.join(pairs)})", select_language_pairs(whole, pairs))
    head = ("corpus", "model", "sources", "with a fault", "figure", "checks off", "on", "change", "in all sources")
    print("\n".join(table(head, rows)))


if __name__ == "__main__":
    run_main(main)
