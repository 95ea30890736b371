"""How well confidence is calibrated on corpora left out: `python bench/confidence.py [MODEL ...]`, a table in Markdown.

The sources of `bench/included.py`, by the rankers that it makes without each corpus. Corpora are in
$RANKER_SHARED/data.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from bench.common import run_main, table
from bench.included import MODELS, corpora_for
from ranker.ranking.confidence import fit_confidence, probability
from ranker.ranking.ranker import Ranker


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*", default=["full", "consensus", "full-any"])
    parser.add_argument("--left-out", type=Path, default=Path("left-out"), help="folder with a folder for every model")
    options = parser.parse_args()
    for model in options.models:
        parts = {
            corpus: Ranker.load(options.left_out / model / f"{corpus}.model").judged_margins(people.dataset.context)[0]
            for corpus, people in corpora_for(MODELS[model], 200).items()
        }
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
