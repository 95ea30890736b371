"""The experiments of Cer, Manning and Jurafsky (2010): tuning to and scoring by every metric, and human preferences."""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ranker.apps.experiments import cer10_published
from ranker.apps.experiments.aligners import table as aligner_table
from ranker.apps.experiments.choice_comparison import (
    PREFERENCES_NOTE,
    People,
    compare_all,
    matrix,
    people_judged,
    standardised,
)
from ranker.apps.experiments.published import published_table
from ranker.apps.experiments.settings import Settings
from ranker.apps.experiments.tables import Marked, Plan, Table, TableTask
from ranker.apps.experiments.tuned_choices import (
    Outcome,
    language_pair_parts,
    needs_alignments,
    tune_and_score,
    tuning_signed,
)
from ranker.corpora.dataset import Dataset
from ranker.errors import OptionError, nearest
from ranker.evaluation.resampling.significance import holm
from ranker.extractors.base import Metric
from ranker.extractors.registry import make_metric
from ranker.ranking import included as included_models
from ranker.ranking.scorers import Scorer, scorer_of, systems_scorer, trained_on

BLEU = "bleu[order={order},smoothing=epsilon,tokenizer=13a]"
TER = "ter[search=tercom,tokenizer=13a]"
NGRAMS, EDITS, METEOR, ORDER, BLENDS = "n-grams", "edits", "METEOR", "LRscore", "combined"
METRICS: dict[str, tuple[str, str]] = {
    **{f"BLEU:{order}": (BLEU.format(order=order), NGRAMS) for order in range(1, 6)},
    "NIST": ("nist", NGRAMS),
    "TER": (TER, EDITS),
    "TERp": ("terp", EDITS),
    # of its own group: deletions cost over five times what insertions do, so it favours long outputs as METEOR does
    "TERpA": ("terp[costs=terpa]", "TERpA"),
    "WER": ("wer", EDITS),
    **{name: (f"meteor[parameters={name}]", METEOR) for name in ("METR", "METR-r", "METR:0.5", "METR-r:0.5")},
    # theta of the published alpha of Chinese-English, .0719 and .2623 with d_k .661 (Birch and Osborne 2011, table 4)
    "LR-HB4": ("lrscore[distance=hamming,theta=0.0186,lexical=bleu[smoothing=add-one,tokenizer=13a]]", ORDER),
    "LR-KB4": ("lrscore[theta=0.132,lexical=bleu[smoothing=add-one,tokenizer=13a]]", ORDER),
    "BLEU:4-TER": (f"combine[{BLEU.format(order=4)} - {TER}]", BLENDS),
    "BLEU:4-2TERp": (f"combine[{BLEU.format(order=4)} - 2*terp]", BLENDS),
    "BLEU:4+2METR": (f"combine[{BLEU.format(order=4)} + 2*meteor[parameters=METR]]", BLENDS),
}
"""Notation and group of every metric by its name in the tables; combinations serve for tuning, not for scoring."""
SIGNIFICANT = 0.05


def chosen(names: Iterable[str]) -> dict[str, tuple[Metric | Scorer, str]]:
    """Return the named metrics and trained rankers by name, each with its group of metrics."""
    metrics: dict[str, tuple[Metric | Scorer, str]] = {}
    for name in dict.fromkeys(names):
        if name in included_models.names() or Path(name).is_file():
            metrics[name] = systems_scorer(scorer_of(Path(name))), "trained rankers"
            continue
        notation, metric_group = METRICS.get(name, (name, "other"))
        try:
            metrics[name] = make_metric(notation), metric_group
        except OptionError as error:
            if name in METRICS:
                raise
            raise OptionError(
                f"unknown metric {name!r}{nearest(name, list(METRICS))}; expected one of {', '.join(METRICS)}, "
                f"a metric of this package or a model: {error}"
            ) from None
        # refuses metrics that compare candidates
        systems_scorer(scorer_of(metrics[name][0]))
    return metrics


def plan(dataset: Dataset, settings: Settings) -> Plan:
    """Plan the paper's tables for this data, each as a separate task."""
    metrics = chosen(settings.metrics or METRICS)
    tuned_to = {name: metric for name, (metric, _) in metrics.items()}
    scored = {name: metric for name, metric in tuned_to.items() if metrics[name][1] != BLENDS}
    align = needs_alignments([*tuned_to.values()])
    parts_of_pairs = language_pair_parts(dataset, settings)
    settings.aligners.check([dataset])

    def outcome(number: int) -> Outcome:
        pair = parts_of_pairs[number].make(align=align)
        return tune_and_score(pair, tuned_to, scored, settings, (number, len(parts_of_pairs)))

    pending = [functools.cache(partial(outcome, number)) for number in range(len(parts_of_pairs))]

    def outcomes() -> list[Outcome]:
        return [task() for task in pending]

    def of_pair(number: int) -> list[Table]:
        return _pair_tables(pending[number](), metrics, scored, settings)

    def metric_groups(side: str) -> list[Table]:
        return [_metric_groups(outcomes(), metrics, scored, side)]

    tasks = [TableTask(f"scores, {part.name}", partial(of_pair, number)) for number, part in enumerate(parts_of_pairs)]
    published = partial(cer10_published.tables, tuned_to)
    tasks.append(TableTask("published scores", published))
    tasks += [
        TableTask(f"families of metrics, {side} side", partial(metric_groups, side)) for side in ("tuning", "test")
    ]
    tasks.append(TableTask("what serves a metric best", lambda: [_ranks(outcomes(), metrics, scored)]))
    if people_judged(dataset):
        tasks.append(TableTask("preferences of people", lambda: _people(outcomes(), list(metrics))))
    texts = [metric.signature() for metric in tuned_to.values()]
    parts = {
        "data": f"{dataset.name}#{dataset.fingerprint[:8]}",
        "metrics": f"{len(texts)}#{hashlib.sha256(chr(10).join(texts).encode()).hexdigest()[:8]}",
        "aligner": settings.aligners.signed([dataset]) if align else None,
        **tuning_signed(settings),
    }
    return Plan.of("cer10", tasks, parts)


def _pair_tables(
    outcome: Outcome,
    metrics: Mapping[str, tuple[Metric | Scorer, str]],
    scored: Mapping[str, Metric | Scorer],
    settings: Settings,
) -> list[Table]:
    name, number = outcome.pair.name, settings.runs
    aligner = outcome.pair.aligner
    tables = [] if aligner is None else [aligner_table(name, [aligner.row(name)])]
    for side, part in (("tuning", outcome.pair.tuning), ("test", outcome.pair.test)):
        mean = outcome.scores[side].mean(axis=2)
        rows = matrix(list(metrics), scored, mean)
        rows.append({"tuned to": "average", **dict(zip(scored, map(Marked, mean.mean(axis=0)), strict=True))})
        rows.append({"tuned to": "equal weights", **dict(zip(scored, map(Marked, outcome.start[side]), strict=True))})
        tables.append(
            Table(
                f"scores of the {side} side, {name}",
                tuple(rows),
                f"{len(part.dataset.sources):,} sources, {len(part.dataset):,} outputs; {_runs(number)} "
                "A mark says better (+) or worse (-) than the average of the column, an asterisk the best."
                + "".join(f" {scorer} {seen}." for scorer, seen in _seen(scored, part.dataset)),
            )
        )
    deviation = outcome.scores["test"].std(axis=2, ddof=1 if number > 1 else 0)
    deviations = [
        {"tuned to": metric, **dict(zip(scored, map(Marked, row), strict=True))}
        for metric, row in zip(metrics, deviation, strict=True)
    ]
    if number > 1:
        tables.append(Table(f"standard deviation over {number} runs, test side, {name}", tuple(deviations)))
    steps = []
    for metric, metric_runs, extraction in zip(metrics, outcome.runs, outcome.extraction, strict=True):
        row: dict[str, Any] = {
            "tuned to": metric,
            "iterations": float(np.mean([run.iterations for run in metric_runs])),
            "line searches": float(np.mean([run.searches for run in metric_runs])),
        }
        if settings.times:
            row["seconds of the search"] = float(np.mean([run.seconds for run in metric_runs]))
            row["seconds of statistics, once"] = extraction
        searches = published_table("cer10-searches").to_dict("index").get(metric, {})
        row["published iterations"] = searches.get("iterations")
        if settings.times:
            row["published time"] = searches.get("time")
        steps.append(row)
    note = "Means over runs."
    if settings.times:
        note += " Seconds are processor time; combinations take the statistics of their parts."
    note += (
        f" Published: Chinese to English{', hours:minutes without the decoder' if settings.times else ''} (table 3)."
    )
    tables.append(Table(f"search, {name}", tuple(steps), note))
    return tables


def _seen(scored: Mapping[str, Metric | Scorer], dataset: Dataset) -> Iterator[tuple[str, str]]:
    """Yield the names of the rankers that were trained on sources of a data set, each with a note."""
    for name, scorer in scored.items():
        if isinstance(scorer, Scorer) and (seen := trained_on(scorer, dataset)):
            yield name, seen


def _runs(number: int) -> str:
    return "one run." if number == 1 else f"means of {number} runs."


def _metric_groups(
    outcomes: Sequence[Outcome],
    metrics: Mapping[str, tuple[Metric | Scorer, str]],
    scored: Mapping[str, Metric | Scorer],
    side: str,
) -> Table:
    """Make the table of mean standardised scores: a row per group of tuning metrics, a column per scoring group."""
    z = np.mean([standardised(scored, outcome.scores[side].mean(axis=2)) for outcome in outcomes], axis=0)
    trained_as = np.array([metric_group for _, metric_group in metrics.values()])
    scored_as = np.array([metrics[name][1] for name in scored])
    itself = np.array(list(metrics))[:, np.newaxis] == np.array(list(scored))
    rows = []
    for training_group in dict.fromkeys(trained_as.tolist()):
        row: dict[str, Any] = {"tuned to": training_group}
        for scoring_group in dict.fromkeys(scored_as.tolist()):
            block = (trained_as == training_group)[:, np.newaxis] & (scored_as == scoring_group) & ~itself
            row[scoring_group] = Marked(z[block].mean()) if block.any() else None
        rows.append(row)
    note = (
        "Mean standardised score: by how many standard deviations of its column a score is better than the column's "
        "average. Scores of a metric by itself are left out."
    )
    return Table(f"families of metrics, {side} side", tuple(rows), note)


def _ranks(
    outcomes: Sequence[Outcome],
    metrics: Mapping[str, tuple[Metric | Scorer, str]],
    scored: Mapping[str, Metric | Scorer],
) -> Table:
    """Make the table of the best tuning metric by each scoring metric, and the place of the scoring metric itself."""
    names = list(metrics)
    rows = []
    own = dict.fromkeys(("tuning", "test"), 0)
    for column, name in enumerate(scored):
        row: dict[str, Any] = {"scored by": name}
        best: dict[str, str] = {}
        for side in ("tuning", "test"):
            places = []
            for outcome in outcomes:
                z = standardised(scored, outcome.scores[side].mean(axis=2))[:, column]
                places.append(1 + int((z > z[names.index(name)] + 1e-12).sum()))
                first = names[int(np.argmax(z))]
                best[f"best tuned to, {side} side, {outcome.pair.name}"] = first
                own[side] += metrics[first][1] == metrics[name][1]
            row[f"place of itself, {side} side"] = float(np.mean(places))
        rows.append({**row, **best})
    cases = len(rows) * len(outcomes)
    note = (
        f"Places among {len(names)}, means over language pairs. The best metric to tune to is of the scoring metric's "
        f"own family in {own['tuning']} of {cases} cases on the tuning side and {own['test']} on the test side."
    )
    return Table("what serves a metric best", tuple(rows), note)


def _people(outcomes: Sequence[Outcome], names: list[str]) -> list[Table]:
    """Make the tables of preferences between choices: for the paper's pairs, and for each metric against all others."""
    outcomes = [outcome for outcome in outcomes if people_judged(outcome.pair.test.dataset)]
    if not outcomes:
        return []
    people = [People(outcome.pair.test.dataset) for outcome in outcomes]
    choices = [outcome.choices for outcome in outcomes]
    combinations = list(itertools.combinations(range(len(names)), 2))
    preferences = {pair: compare_all(people, choices, *pair) for pair in combinations}
    corrected = holm([preference.p for preference in preferences.values()]) if preferences else np.zeros(0)
    pairs = []
    for first, second, chinese, arabic in published_table("cer10-preferences", 0).itertuples(index=False):
        if first in names and second in names:
            preference = compare_all(people, choices, names.index(first), names.index(second))
            published = {"published, Chinese": chinese, "published, Arabic": arabic}
            pairs.append(preference.row(first, second) | published)
    rows = []
    for index, name in enumerate(names):
        shares, ahead, behind = [], 0, 0
        for p, ((left, right), result) in zip(corrected, preferences.items(), strict=True):
            if index in (left, right) and result.judged:
                share = result.share if index == left else 1 - result.share
                shares.append(share)
                ahead += bool(p < SIGNIFICANT and share > 0.5)
                behind += bool(p < SIGNIFICANT and share < 0.5)
        chosen = [(judge, outcome.choices[index]) for judge, outcome in zip(people, outcomes, strict=True)]
        rows.append(
            {
                "tuned to": name,
                "mean human score": Marked(float(np.mean([judge.mean_score(rows) for judge, rows in chosen]))),
                "preferred to the others": float(np.mean(shares)) if shares else None,
                "ahead of": ahead,
                "behind": behind,
            }
        )
    over = ", ".join(outcome.pair.name for outcome in outcomes)
    note = f"Test sides of {over}, {PREFERENCES_NOTE}"
    tables = [Table("preferences of people", tuple(pairs), note)] if pairs else []
    against = (
        "Human scores are those of the corpus, else shares of comparisons won, of the chosen outputs that were judged. "
        f"Ahead and behind: sign tests with p below {SIGNIFICANT}, corrected for {len(combinations)} tests after Holm."
    )
    return [*tables, Table("preferences of people, against all others", tuple(rows), against)]
