"""``ranker score``."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ranker.cli.options import (
    DataArgument,
    JobsOption,
    LpOption,
    ModelOption,
    ReferencesOption,
    SourceOption,
    TranslationsOption,
    read_input,
    working,
)
from ranker.cli.output import emit_csv, emit_json, emit_lines, print_table
from ranker.cli.scorer import Scorer, say_notes
from ranker.errors import OptionError

if TYPE_CHECKING:
    from ranker.corpora.dataset import Dataset
    from ranker.evaluation.systems.levels import Measured, Units


class Level(StrEnum):
    """What gets a score."""

    segment = "segment"
    document = "document"
    system = "system"


class Form(StrEnum):
    """Forms of output: those of all commands, and the score files of mt-metrics-eval."""

    table = "table"
    json = "json"
    jsonl = "jsonl"
    csv = "csv"
    mtme = "mtme"


def command(
    data: DataArgument = None,
    model: ModelOption = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            help="Metrics, separated by commas, as bleu[smoothing=exp],ter; may be given several times.",
            metavar="METRIC",
        ),
    ] = None,
    level: Annotated[
        Level | None,
        typer.Option(
            "--level", help="Score segments, documents or systems.", show_default="segment; mtme: all there are"
        ),
    ] = None,
    percent: Annotated[
        bool, typer.Option("--percent", help="Show scores that are fractions in per cent, in tables.")
    ] = False,
    lp: LpOption = None,
    source: SourceOption = None,
    references: ReferencesOption = None,
    translations: TranslationsOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Directory for the files of --output mtme.", metavar="DIR")
    ] = None,
    jobs: JobsOption = None,
    output: Annotated[Form, typer.Option("--output", "-o", help="Form of the output.")] = Form.table,
) -> None:
    """Score candidate translations: every segment, the documents, or the systems as a whole.

    Of documents and systems a metric scores the summed statistics of the segments, a ranker the mean of its segment
    scores. Scores of a metric are fractions. With --output mtme, score files as mt-metrics-eval reads them are written,
    one for every metric, language pair and level; scores of which less is better are negated there.

    Example: ranker score candidates.json --metric "bleu,bleu[order=2]" --level system
    """
    scorers = _scorers(metric or [], model)
    if percent and output is not Form.table:
        raise OptionError(f"--percent is for tables; --output {output.value} holds fractions")
    if (output is Form.mtme) != (out is not None):
        raise OptionError("--output mtme needs --out DIR, and only that")
    dataset = read_input([data] if data else [], source, references, translations, lp)
    from ranker.evaluation.systems.levels import Measured, Units

    with working("scoring"):
        levels = [Units.of(dataset, one) for one in _levels(dataset, level, output)]
        say_notes((scorer.using for scorer in scorers.values()), dataset)
        measured = {name: Measured.of(scorer.using, dataset) for name, scorer in scorers.items()}
    if out is not None:
        _write(out, dataset, scorers, measured, levels)
        return
    (units,) = levels
    rows = _rows(units, measured, percent=percent)
    signatures = [scorer.signature(dataset, units.level, level=units.level) for scorer in scorers.values()]
    lower = [name for name, scorer in scorers.items() if not scorer.higher_is_better]
    if output is Form.json:
        emit_json({"signature": "\n".join(signatures), "level": units.level, "lower_is_better": lower, "rows": rows})
    elif output is Form.jsonl:
        emit_lines(rows)
    elif output is Form.csv:
        emit_csv(rows)
    else:
        print_table(rows)
        typer.echo("\n" + "\n".join([*(["lower is better: " + ", ".join(lower)] if lower else []), *signatures]))


def _scorers(metrics: Sequence[str], model: Path | None) -> dict[str, Scorer]:
    """Return the metrics and the ranker that the options name, by the heads of their columns."""
    if not (model or metrics):
        raise OptionError("give --metric NAME (see ranker features) or --model FILE (see ranker train)")
    from ranker.notation import split

    scorers: dict[str, Scorer] = {}
    for text in (one for listed in metrics for one in split(listed)):
        scorer = Scorer.choose(None, text)
        if str(scorer.using) in scorers:
            raise OptionError(f"metric {str(scorer.using)!r} is given twice")
        scorers[str(scorer.using)] = scorer
    return {**scorers, "ranker": Scorer.choose(model, None)} if model else scorers


def _levels(dataset: Dataset, level: Level | None, output: Form) -> list[Any]:
    if level is not None:
        return [level.value]
    if output is not Form.mtme:
        return ["segment"]
    return ["segment", *(["document"] if dataset.sources["doc"].notna().all() else []), "system"]


def _rows(units: Units, measured: dict[str, Measured], *, percent: bool) -> list[dict[str, Any]]:
    columns: dict[str, list[Any]] = {str(name): units.keys[name].tolist() for name in units.keys}
    for name, one in measured.items():
        scores = one.score(units)
        if percent and getattr(one.scorer, "is_fraction", False):
            name, scores = f"{name} %", scores * 100
        columns[name] = scores.tolist()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _write(
    out: Path, dataset: Dataset, scorers: dict[str, Scorer], measured: dict[str, Measured], levels: list[Units]
) -> None:
    from ranker.evaluation.systems.score_files import write_score_files

    made = [units.level for units in levels]
    signatures = {name: scorer.signature(dataset, *made) for name, scorer in scorers.items()}
    for path in write_score_files(out, dataset, measured, levels, signatures):
        typer.echo(f"written: {path}")
    typer.echo("\n" + "\n".join(signatures.values()))
