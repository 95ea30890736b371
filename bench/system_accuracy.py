"""How models order systems, with and without consensus; `python bench/system_accuracy.py` prints the section.

Makes a part of the page of `bench/leaderboard.py`. Corpora are in $RANKER_SHARED/data.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence

from bench.common import figure, locate, run_main, say, table
from ranker.corpora import catalogue
from ranker.corpora.dataset import Dataset
from ranker.errors import RankerError, counted
from ranker.evaluation.metrics.candidates import CandidateScores
from ranker.evaluation.metrics.run import ALL, compare
from ranker.ranking import included as included_models
from ranker.ranking.scorers import candidate_scores, make_scorer, systems_scorer, type_of

CORPORA = ("wmt12-rr", "wmt13-rr", "wmt14-rr", "wmt15-rr", "wmt19-darr", "ted21-mqm", "wmt21-mqm")
METRICS = ("chrf", "bleu")
STATISTICS = ("system.accuracy", "system.spa")
TEXT = """\
System-level pairwise accuracy and soft pairwise accuracy (Thompson et al. 2024), the mean over all language pairs of a
corpus, into and out of English, with 95% intervals from a bootstrap over sources, by
`python bench/system_accuracy.py`. `ranker systems` scores systems without consensus. A row *with consensus* takes the
mean of the scores that `rank` gives to translations, for comparison. The models were trained on wmt12, wmt13 and
wmt14, so their values there are those of training data."""


def part(dataset: Dataset, sources: int) -> Dataset:
    """Return the first `sources` sources of every language pair, all of them if that is 0."""
    place = dataset.sources.groupby("lp", dropna=False).cumcount().to_numpy()
    return dataset.select_sources(place < sources) if sources else dataset


def rows(dataset: Dataset) -> list[CandidateScores]:
    """Return the scores of all metrics and models, those of models with consensus under a name of their own."""
    scored = []
    for name in (*METRICS, *included_models.names()):
        scorer = make_scorer(None, name) if name in included_models.names() else make_scorer(name, None)
        try:
            together = CandidateScores.of(scorer, dataset, name=name, levels=["segment"])
        except RankerError as error:
            say(f"{dataset.name}, {name}: {error}")
            continue
        if type_of(scorer) == "metric":
            scored.append(together)
            continue
        scored.append(dataclasses.replace(together, name=f"{name} with consensus"))
        try:
            apart = candidate_scores(systems_scorer(scorer), dataset)
        except RankerError as error:
            say(f"{dataset.name}, {name}: {error}")
            continue
        scored.append(dataclasses.replace(together, name=name, scores=apart))
    return scored


def section(corpora: Sequence[str] = CORPORA, sources: int = 0, resamples: int = 1000) -> list[str]:
    """Return the section of the page, Markdown."""
    lines = ["## Systems", "", TEXT]
    for corpus in corpora:
        dataset = part(catalogue.load(locate(corpus)), sources)
        comparison = compare([(dataset, rows(dataset))], levels=("system",), resamples=resamples)
        scope = next((each.id for each in comparison.scopes if each.id.endswith(f"/{ALL}")), comparison.scopes[0].id)
        pairs = len([each for each in comparison.scopes if each.type == "language-pair"])
        counts = f"{counted(pairs, 'language pair')}, {counted(len(dataset.sources), 'source')}"
        lines += ["", f"### {corpus.removesuffix('-rr')}: systems", "", f"{counts}.", ""]
        body = []
        for metric in comparison.metrics:
            cells = [figure(comparison.cell(statistic, scope, metric.name)) for statistic in STATISTICS]
            name, _, consensus = metric.name.partition(" ")
            body.append([f"`{name}` {consensus}".strip(), *cells])
        lines += table(["row", "accuracy", "soft accuracy"], body)
    return lines


def main() -> None:
    """Print the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", nargs="+", default=CORPORA)
    parser.add_argument("--sources", type=int, default=0, help="of every language pair (default: all)")
    parser.add_argument("--resamples", type=int, default=1000)
    options = parser.parse_args()
    print("\n".join(section(options.corpora, options.sources, options.resamples)))


if __name__ == "__main__":
    run_main(main)
