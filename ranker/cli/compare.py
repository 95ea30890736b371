"""``ranker compare``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from ranker.cli.options import (
    MOST_RESAMPLES,
    DataOption,
    FormatOption,
    JobsOption,
    KindOption,
    LevelName,
    LpOption,
    NoReferencesOption,
    SeedOption,
    level_of,
    listed_paths,
    read_input,
    working,
)
from ranker.cli.output import Result, emit, print_table, say, say_note, say_signatures, win_rows
from ranker.cli.scorer import GivenOption, MetricsOption, listed, supplied
from ranker.errors import OptionError, counted, nearest
from ranker.evaluation.choices import LEVELS, Correction, Test

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ranker.corpora.dataset import Dataset
    from ranker.evaluation.compare.result import Comparison, Scope, Statistic
    from ranker.extractors.scorers import Scorer

# typer takes no list of a Literal
LevelChoice = StrEnum("LevelChoice", {one: one for one in get_args(LevelName)})  # type: ignore[misc]


def command(
    data: DataOption = None,
    metric: MetricsOption = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", "-M", help="Trained rankers, separated by commas; may be repeated.", metavar="FILE"),
    ] = None,
    kind: KindOption = "auto",
    given: GivenOption = None,
    lp: LpOption = None,
    no_references: NoReferencesOption = False,
    level: Annotated[
        list[LevelChoice] | None,
        typer.Option("--level", help="Level of the comparison; may be repeated (default: all). corpus means system."),
    ] = None,
    resamples: Annotated[
        int,
        typer.Option(
            "--resamples",
            help="Bootstrap samples and permutations (0: no intervals or tests).",
            min=0,
            max=MOST_RESAMPLES,
        ),
    ] = 1000,
    test: Annotated[Test, typer.Option("--test", help="Significance test for two metrics.")] = "bootstrap",
    correction: Annotated[
        Correction, typer.Option("--correction", help="Multiple-testing correction for pairwise p-values.")
    ] = "westfall-young",
    wins: Annotated[
        str | None,
        typer.Option("--wins", help="Statistic for the win matrix, such as segment.spearman.", metavar="STATISTIC"),
    ] = None,
    per_lp: Annotated[bool, typer.Option("--per-lp", help="Also print a table per language pair.")] = False,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    form: FormatOption = "table",
) -> None:
    """Compare metrics and rankers with human judgements.

    Each value is followed by its 95% confidence interval and its significance cluster: a metric starts a new cluster if
    it is significantly worse than a metric of the cluster above. JSON output contains all values, p-values and win
    matrices. --level segment scores only judged candidates, which is faster.

    Example: ranker compare --data sample --metric bleu,chrf --resamples 200
    """
    if not (metric or model):
        raise OptionError("give --metric NAME (see ranker features) or --model FILE (see ranker train), or several")
    if not data:
        raise OptionError("no data: give --data NAME|FILE, once or several times")
    from ranker.corpora.judgements import judged, resolve_kind
    from ranker.evaluation.compare.candidates import CandidateScores
    from ranker.evaluation.compare.run import compare
    from ranker.ranking import make_scorer

    asked = {level_of(cast("LevelName", one.value)) for one in level or []}
    levels = [one for one in LEVELS if one in (asked or LEVELS)]
    scorers = _metrics(list(dict.fromkeys(listed(metric))))
    scorers |= {
        name: make_scorer(None, path) for name, path in _named([Path(one) for one in listed_paths(model)]).items()
    }
    scorers = dict(zip(scorers, supplied([*scorers.values()], given), strict=True))
    datasets = [read_input([one], None, None, None, lp, no_references=no_references) for one in data]
    learnt = [one for scorer in scorers.values() for one in scorer.learnt]
    signatures = {name: _signature(one, datasets, levels) for name, one in scorers.items()}
    scored = []
    for dataset in datasets:
        used = resolve_kind(dataset, kind, learnt=learnt)
        kept = dataset.select_candidates(judged(dataset, used), peers=True) if levels == ["segment"] else dataset
        notes = {name: _notes(name, one, dataset, kept) for name, one in scorers.items()}
        with working(f"scoring {dataset.name}"):
            made = [
                CandidateScores.of(one, kept, name=name, signature=signatures[name], notes=notes[name])
                for name, one in scorers.items()
            ]
            scored.append((kept, made))
    with working("comparing"):
        found = compare(
            scored,
            kind=kind,
            levels=levels,
            resamples=resamples,
            seed=seed,
            test=test,
            correction=correction,
            learnt=learnt,
        )
    statistic = _wins_statistic(found, wins)
    emit(
        Result(found.document() if form == "json" else None, _rows(found), lambda: _print(found, statistic, per_lp)),
        form,
    )
    if form != "table":
        for note in found.notes:
            say_note(note)


def _metrics(texts: list[str]) -> dict[str, Scorer]:
    """Return metrics by their notations as they were written, those of scores in a file by their names."""
    from ranker.extractors.given import given_files
    from ranker.ranking import make_scorer

    made = [make_scorer(text, None) for text in texts]
    in_files = [any(given_files(one.members).values()) for one in made]
    names = [one.name if inside else text for one, inside, text in zip(made, in_files, texts, strict=True)]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise OptionError(f"metric {twice[0]!r} is given twice")
    return dict(zip(names, made, strict=True))


def _named(models: list[Path]) -> dict[str, Path]:
    """Return models by the names of their files, or by their paths where names are the same."""
    names = [path.name for path in models]
    return {path.name if names.count(path.name) == 1 else str(path): path for path in models}


def _notes(name: str, scorer: Scorer, dataset: Dataset, kept: Dataset) -> tuple[str, ...]:
    notes = []
    if scorer.trained_on(dataset):
        notes.append(f"was trained on {dataset.name}")
    note = scorer.note(kept)
    if note:
        notes.append(f"{dataset.name}: {note}")
    for one in notes:
        say_note(f"{name}: {one}")
    return tuple(notes)


def _signature(scorer: Scorer, datasets: list[Dataset], levels: Sequence[str]) -> str:
    """Return the signature of a metric or ranker; where data sets make it differ, one for each."""
    found = [scorer.signature(one) + scorer.sacrebleu(one, levels) for one in datasets]
    return "; ".join(dict.fromkeys(found))


def _wins_statistic(found: Comparison, wanted: str | None) -> str:
    known = [one.id for one in found.statistics]
    if wanted is None:
        return next((one for one in ("segment.tau.primary", "segment.spearman") if one in known), known[0])
    if wanted not in known:
        raise OptionError(
            f"--wins: unknown statistic {wanted!r}{nearest(wanted, known)}; expected one of: {', '.join(known)}"
        )
    return wanted


def _print(found: Comparison, wins: str, per_lp: bool) -> None:
    """Print a table a scope and level, the win matrix of the widest scope, and the signatures."""
    for scope in found.scopes:
        covered = any(scope.id in other.members for other in found.scopes)
        if per_lp or scope.type == "mean" or not covered:
            for level in LEVELS:
                shown = [one for one in found.statistics if one.level == level and one.shown]
                _print_figures(found, scope, [one for one in shown if found.cell(one.id, scope.id, _first(found))])
    _print_wins(found, wins)
    for note in found.notes:
        say(note, "")
    for one in found.metrics:
        say_signatures(f"{one.name}: {one.signature}")
    say_signatures(found.signature)


def _first(found: Comparison) -> str:
    return found.metrics[0].name


def _order(found: Comparison, statistic: str, scope: str) -> list[str]:
    """Return the metrics, best first."""
    cells = [found.cell(statistic, scope, one.name) for one in found.metrics]
    ranked = sorted((one.rank or len(cells) + 1, place) for place, one in enumerate(cells) if one is not None)
    return [found.metrics[place].name for _, place in ranked]


def _print_figures(found: Comparison, scope: Scope, statistics: list[Statistic]) -> None:
    if not statistics:
        return
    level = statistics[0].level
    size = {"segment": (scope.sources, "source"), "document": (scope.documents, "document")}
    rows = [
        {"metric": name, **{one.title: _figure(found, one.id, scope.id, name) for one in statistics}}
        for name in _order(found, statistics[-1 if level == "system" else 0].id, scope.id)
    ]
    print_table(rows, f"{scope.title}, {level} level, {counted(*size.get(level, (scope.systems, 'system')))}")
    typer.echo("")


def _figure(found: Comparison, statistic: str, scope: str, metric: str) -> str:
    cell = found.cell(statistic, scope, metric)
    if cell is None or cell.value != cell.value:
        return "-"
    interval = f" [{cell.low:.3f} {cell.high:.3f}]" if cell.low == cell.low else ""
    return f"{cell.value:.3f}{interval}" + (f"  {cell.cluster}" if found.contest(statistic, scope) else "")


def _print_wins(found: Comparison, statistic: str) -> None:
    scope = found.main_scope
    contest = found.contest(statistic, scope.id)
    if contest is None:
        return
    place = {one.name: index for index, one in enumerate(found.metrics)}
    names = _order(found, statistic, scope.id)
    rows = win_rows(names, lambda one, other: contest.ahead[place[one]][place[other]], "metric")
    settings = found.settings
    print_table(
        rows,
        f"{found.statistic(statistic).title}, {scope.title}: > significantly better, < worse "
        f"({contest.test}, {settings.correction_title}, alpha {settings.alpha:g})",
    )
    typer.echo("")


def _rows(found: Comparison) -> list[dict[str, Any]]:
    """Return one row a figure."""
    scopes = {one.id: one for one in found.scopes}
    rows = []
    place = {one.name: index for index, one in enumerate(found.metrics)}
    contests = {(one.statistic, one.scope): one for one in found.contests}
    for cell in found.cells:
        contest = contests.get((cell.statistic, cell.scope))
        ahead = contest.ahead[place[cell.metric]] if contest else ()
        rows.append(
            {
                "scope": cell.scope,
                "data": scopes[cell.scope].data or None,
                "lp": scopes[cell.scope].lp or None,
                "statistic": cell.statistic,
                "metric": cell.metric,
                "value": cell.value,
                "low": cell.low,
                "high": cell.high,
                "rank": cell.rank,
                "cluster": cell.cluster,
                "count": cell.count,
                "undefined": cell.undefined,
                "epsilon": cell.detail.get("epsilon"),
                "ahead_of": "; ".join(one.name for one, won in zip(found.metrics, ahead, strict=False) if won),
            }
        )
    return rows
