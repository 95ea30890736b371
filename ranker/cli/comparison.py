"""Comparison of several metrics and rankers with human judgements, for ``ranker evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ranker.cli.options import CorpusInput, OutputForm, working
from ranker.cli.output import emit, print_note, print_table, say, say_signatures, win_rows
from ranker.cli.scorer import by_unique_name, suited_model, supplied
from ranker.errors import OptionError, counted
from ranker.evaluation.choices import LEVELS, Level

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ranker.arrays import FloatArray
    from ranker.corpora.dataset import Dataset
    from ranker.evaluation.metrics.result import Comparison, Scope, Statistic
    from ranker.ranking.scorers import Scorer


def compare(
    inputs: CorpusInput,
    metrics: list[str],
    models: list[str],
    levels: Sequence[Level],
    *,
    kind: str,
    form: OutputForm,
    published: str | None,
    **settings: Any,
) -> None:
    """Compare metrics and rankers with human judgements and with each other, and print the result."""
    from ranker.corpora.dataset import concatenate_datasets
    from ranker.corpora.joining import numbered
    from ranker.corpora.judgements import Judged
    from ranker.evaluation.metrics import run
    from ranker.evaluation.metrics.evaluation import scored_by
    from ranker.extractors.composed.direction import judgements_note
    from ranker.ranking.scorers import learnt_kinds, make_scorer

    scorers = _metrics(metrics)
    scorers |= {name: make_scorer(None, path) for name, path in _named([Path(path) for path in models]).items()}
    scorers = dict(zip(scorers, supplied([*scorers.values()], inputs.given), strict=True))
    members = [part for scorer in scorers.values() for part in scorer.feature_set.members]
    datasets = [each.read(members) for each in inputs.each()]
    # other files may have the same name, but a file that is given twice is refused
    if len({*inputs.data}) == len(inputs.data):
        datasets = numbered(datasets)
    if not (scorers or published):
        name = suited_model(concatenate_datasets(datasets))
        scorers = {name: make_scorer(None, name)}
    learnt = [learnt_kind for scorer in scorers.values() for learnt_kind in learnt_kinds(scorer)]
    read = [
        _with_published(dataset, each.data, published) if published else (dataset, {})
        for dataset, each in zip(datasets, inputs.each(), strict=True)
    ]
    scored = []
    for dataset, others in read:
        if direction := judgements_note(Judged.of(dataset, kind, learnt), kind, *learnt):
            print_note(direction)
        with working(f"scoring {dataset.name}"):
            scored.append(scored_by(dataset, {**scorers, **others}, kind=kind, levels=levels))
        for each in scored[-1][1]:
            for note in each.notes:
                print_note(f"{each.name}: {note}")
    with working("comparing"):
        comparison = run.compare(scored, kind=kind, levels=levels, learnt=learnt, **settings)
    document = comparison.document() if form == "json" else None
    emit(form, document, _rows(comparison), lambda: _print(comparison), notes=comparison.notes)


def _with_published(dataset: Dataset, paths: list[str], reference: str) -> tuple[Dataset, dict[str, FloatArray]]:
    """Return the data set with one reference, and the published metric scores; print a note on incomplete scores."""
    from ranker.corpora.formats.mtme import has_published_scores, published_scores
    from ranker.corpora.own_references import only_references

    if not (paths and has_published_scores(paths[0])):
        what = f"--published: {dataset.name} has no scores of metrics, expected a directory of mt-metrics-eval with"
        raise OptionError(f"{what} metric-scores")
    kept, scores, incomplete = published_scores(paths[0], dataset, reference)
    if incomplete:
        what = "metrics left out, because they have no scores of some judged candidates"
        print_note(f"{dataset.name}: {what}: {', '.join(incomplete)}")
    others = ~only_references(kept)
    return kept.select_candidates(others), {name: values[others] for name, values in scores.items()}


def _metrics(texts: list[str]) -> dict[str, Scorer]:
    """Return metrics, keyed by the notation that the user wrote, or by name if the scores are read from a file."""
    from ranker.extractors.composed.external_scores import given_files
    from ranker.ranking.scorers import make_scorer

    scorers = [make_scorer(text, None) for text in texts]
    in_files = [any(given_files(scorer.feature_set.members).values()) for scorer in scorers]
    names = [scorer.name if inside else text for scorer, inside, text in zip(scorers, in_files, texts, strict=True)]
    return by_unique_name(names, scorers)


def _named(models: list[Path]) -> dict[str, Path]:
    """Return model paths, keyed by file name, or by path where several models have the same file name."""
    names = [path.name for path in models]
    return {path.name if names.count(path.name) == 1 else str(path): path for path in models}


def _print(comparison: Comparison) -> None:
    """Print a table for each scope and level, the win matrix of the widest scope, and the signatures."""
    first = comparison.metrics[0].name
    for scope in comparison.scopes:
        covered = any(scope.id in other_scope.members for other_scope in comparison.scopes)
        if scope.type == "mean" or not covered:
            for level in LEVELS:
                shown = [
                    statistic for statistic in comparison.statistics if statistic.level == level and statistic.shown
                ]
                _print_figures(
                    comparison, scope, [entry for entry in shown if comparison.cell(entry.id, scope.id, first)]
                )
    _print_wins(comparison)
    for note in comparison.notes:
        say(note, "")
    for metric in comparison.metrics:
        if metric.signature:
            say_signatures(f"{metric.name}: {metric.signature}")
    say_signatures(comparison.signature)


def _print_figures(comparison: Comparison, scope: Scope, statistics: list[Statistic]) -> None:
    if not statistics:
        return
    level = statistics[0].level
    size = {"segment": (scope.sources, "source"), "document": (scope.documents, "document")}
    rows = [
        {
            "metric": name,
            **{statistic.title: _figure(comparison, statistic.id, scope.id, name) for statistic in statistics},
        }
        for name in comparison.in_order(statistics[-1 if level == "system" else 0].id, scope.id)
    ]
    print_table(rows, f"{scope.title}, {level} level, {counted(*size.get(level, (scope.systems, 'system')))}")
    typer.echo("")


def _figure(comparison: Comparison, statistic: str, scope: str, metric: str) -> str:
    cell = comparison.cell(statistic, scope, metric)
    if cell is None or cell.value != cell.value:
        return "-"
    interval = f" [{cell.low:.3f} {cell.high:.3f}]" if cell.low == cell.low else ""
    return f"{cell.value:.3f}{interval}" + (f"  {cell.cluster}" if comparison.tests_of(statistic, scope) else "")


def _print_wins(comparison: Comparison) -> None:
    scope, known = comparison.main_scope, [statistic.id for statistic in comparison.statistics]
    statistic = next((name for name in ("segment.tau.primary", "segment.spearman") if name in known), known[0])
    tests = comparison.tests_of(statistic, scope.id)
    if tests is None:
        return
    rows = win_rows(comparison.in_order(statistic, scope.id), comparison.ahead(tests), "metric")
    settings = comparison.settings
    print_table(
        rows,
        f"{comparison.statistic(statistic).title}, {scope.title}: > significantly better, < worse "
        f"({tests.test}, {settings.correction_title}, alpha {settings.alpha:g})",
    )
    typer.echo("")


def _rows(comparison: Comparison) -> list[dict[str, Any]]:
    """Return one row per figure of the comparison."""
    scopes = {scope.id: scope for scope in comparison.scopes}
    rows = []
    ahead = {(tests.statistic, tests.scope): comparison.ahead(tests) for tests in comparison.pairwise_tests}
    for cell in comparison.cells:
        won = ahead.get((cell.statistic, cell.scope), set())
        rows.append(
            {
                "scope": cell.scope,
                "data": scopes[cell.scope].data or None,
                "lp": scopes[cell.scope].lp or None,
                **{name: value for name, value in vars(cell).items() if name != "detail"},
                "epsilon": cell.detail.get("epsilon"),
                "ahead_of": "; ".join(
                    metric.name for metric in comparison.metrics if (cell.metric, metric.name) in won
                ),
            }
        )
    return rows
