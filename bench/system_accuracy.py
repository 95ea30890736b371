"""How models order systems, with and without consensus: `python bench/system_accuracy.py`.

Prints system-level pairwise accuracy and soft pairwise accuracy, the mean over the language pairs of a corpus, of chrF,
BLEU and the included models, for the corpora in $RANKER_SHARED/data. With consensus, a system's score is the mean of
the scores of its translations, which is not how `ranker` scores systems. Models were trained on wmt12 to wmt14.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
from pathlib import Path

from ranker import shipped
from ranker.corpora import catalogue
from ranker.corpora.dataset import Dataset
from ranker.errors import RankerError
from ranker.evaluation.compare.candidates import CandidateScores
from ranker.evaluation.compare.run import ALL, compare
from ranker.ranking import make_scorer

DATA = Path(os.environ.get("RANKER_SHARED", Path(__file__).resolve().parents[2] / "shared")) / "data"
CORPORA = ("wmt12-rr", "wmt13-rr", "wmt14-rr", "wmt15-rr", "wmt19-darr", "ted21-mqm", "wmt21-mqm", "ted-fluency")
METRICS = ("chrf", "bleu")
STATISTICS = ("system.accuracy", "system.spa")


def part(dataset: Dataset, sources: int) -> Dataset:
    """Return the first `sources` sources of every language pair, all of them if that is 0."""
    place = dataset.sources.groupby("lp", dropna=False).cumcount().to_numpy()
    return dataset.select_sources(place < sources) if sources else dataset


def rows(dataset: Dataset) -> list[CandidateScores]:
    """Return the scores of all metrics and models, those of models with consensus under a name of their own."""
    scored = []
    for name in (*METRICS, *shipped.names()):
        scorer = make_scorer(None, name) if name in shipped.names() else make_scorer(name, None)
        try:
            together = CandidateScores.of(scorer, dataset, name=name, levels=["segment"])
        except RankerError as error:
            print(f"{dataset.name}, {name}: {error}")
            continue
        if scorer.kind == "metric":
            scored.append(together)
            continue
        scored.append(dataclasses.replace(together, name=f"{name} with consensus"))
        try:
            apart = scorer.for_systems().candidate_scores(dataset)
        except RankerError as error:
            print(f"{dataset.name}, {name}: {error}")
            continue
        scored.append(dataclasses.replace(together, name=name, scores=apart))
    return scored


def main() -> None:
    """Print a table for every corpus."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", nargs="+", default=CORPORA)
    parser.add_argument("--sources", type=int, default=0, help="of every language pair (default: all)")
    parser.add_argument("--resamples", type=int, default=1000)
    options = parser.parse_args()
    for corpus in options.corpora:
        dataset = part(catalogue.load(str(DATA / f"{corpus}.jsonl.gz")), options.sources)
        comparison = compare([(dataset, rows(dataset))], levels=("system",), resamples=options.resamples)
        scope = next((each.id for each in comparison.scopes if each.id.endswith(f"/{ALL}")), comparison.scopes[0].id)
        pairs = len([each for each in comparison.scopes if each.type == "language-pair"])
        print(f"\n{corpus}: {pairs} language pairs, {len(dataset.sources):,} sources\n")
        print("| row | accuracy | soft accuracy |\n|---|---|---|")
        for metric in comparison.metrics:
            cells = [comparison.cell(statistic, scope, metric.name) for statistic in STATISTICS]
            shown = [f"{cell.value:.3f} [{cell.low:.3f} {cell.high:.3f}]" if cell else "-" for cell in cells]
            print(f"| {metric.name} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()
