"""How well confidence is calibrated on corpora left out: `python bench/confidence.py [MODEL ...]`, a table in Markdown.

Sources into English that the model and its encoder did not learn from; for full-any, which has learnt from all corpora,
those of `bench/any_language.py`, by rankers that left the corpus out. Corpora are in $RANKER_SHARED/data.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from bench import any_language
from bench.common import locate, run_main, table
from ranker.arrays import FloatArray
from ranker.corpora import catalogue
from ranker.corpora.selection import select_language_pairs
from ranker.ranking.confidence import fit_confidence, probability
from ranker.ranking.ranker import Ranker

CORPORA = {"wmt13-rr": 950, "wmt19-darr": 1200, "ted21-mqm": 529, "wmt21-mqm": 650}
"""Number of sources in the sample of each, those learnt from included."""


def margins(model: str, corpus: str) -> FloatArray:
    """Return margin, outcome and weight of judged pairs of a sample, shape (3, pairs)."""
    dataset = select_language_pairs(catalogue.load(locate(corpus)), ["*-en"])
    chosen = np.random.RandomState(0).permutation(len(dataset.sources)) < CORPORA[corpus]
    return Ranker.load(model).judged_margins(dataset.select_sources(chosen))[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*", default=["full", "consensus"])
    parser.add_argument("--left-out", type=Path, default=Path("left-out"), help="folder of rankers for full-any")
    options = parser.parse_args()
    for model in options.models:
        if model == "full-any":
            parts = {
                corpus: Ranker.load(options.left_out / f"{corpus}.model").judged_margins(
                    any_language.whole(corpus, 200)
                )[0]
                for corpus in any_language.CORPORA
            }
        else:
            parts = {corpus: margins(model, corpus) for corpus in CORPORA}
        rows = []
        for corpus, (margin, outcome, _) in parts.items():
            others = np.concatenate([part for name, part in parts.items() if name != corpus], axis=1)
            found = fit_confidence(*others)
            assert found is not None
            distance, right = np.abs(margin), np.where(margin > 0, outcome, 1 - outcome)
            strict = np.flatnonzero((outcome != 0.5) & (margin != 0))
            bins = np.array_split(strict[np.argsort(distance[strict], kind="stable")], 10)
            predicted = np.array([probability(distance[part], found.slope, found.lapse).mean() for part in bins])
            observed = np.array([right[part].mean() for part in bins])
            tie, said = outcome == 0.5, distance <= found.tie
            rows.append(
                [
                    corpus,
                    f"{len(margin):,}",
                    f"{np.abs(predicted - observed).mean():.3f}",
                    *(f"{predicted[place]:.2f} / {observed[place]:.2f}" for place in (0, 4, 9)),
                    f"{tie.mean():.2f} / {said.mean():.2f}",
                    f"{np.where(distance == 0, tie, right == 1).mean():.3f}",
                    f"{np.where(said, tie, right == 1).mean():.3f}",
                ]
            )
        heads = ["left out", "judgements", "error", "least certain tenth", "middle", "most certain tenth", "tied"]
        print(f"{model}\n", *table([*heads, "accuracy", "with ties"], rows), "", sep="\n")


if __name__ == "__main__":
    run_main(main)
