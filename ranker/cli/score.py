"""``ranker score``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

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
from ranker.cli.output import Result, emit, print_table, say
from ranker.cli.scorer import GivenOption, MetricsOption, given_scorers, result_signature, say_notes
from ranker.errors import OptionError
from ranker.evaluation.choices import LEVELS, Level

if TYPE_CHECKING:
    from ranker.arrays import FloatArray
    from ranker.corpora.dataset import Dataset
    from ranker.evaluation.systems.levels import Units
    from ranker.extractors.scorers import Scorer


Form = Literal["table", "json", "jsonl", "csv", "mtme"]
"""Forms of output: those of all commands, and the score files of mt-metrics-eval."""


def command(
    data: DataArgument = None,
    model: ModelOption = None,
    metric: MetricsOption = None,
    level: Annotated[
        Level | None,
        typer.Option(
            "--level", help="Score segments, documents or systems.", show_default="segment; mtme: all there are"
        ),
    ] = None,
    percent: Annotated[
        bool, typer.Option("--percent", help="Show scores that are fractions in per cent, in tables.")
    ] = False,
    given: GivenOption = None,
    lp: LpOption = None,
    source: SourceOption = None,
    references: ReferencesOption = None,
    translations: TranslationsOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Directory for the files of --output mtme.", metavar="DIR")
    ] = None,
    jobs: JobsOption = None,
    output: Annotated[Form, typer.Option("--output", "-o", help="Form of the output.")] = "table",
) -> None:
    """Score candidate translations: every segment, the documents, or the systems as a whole.

    Of documents and systems a metric scores the summed statistics of the segments, a ranker the mean of its segment
    scores. Scores of a metric are fractions. With --output mtme, score files as mt-metrics-eval reads them are written,
    one for every metric, language pair and level; scores of which less is better are negated there. ranker systems says
    which system is better, and whether significantly.

    Example: ranker score candidates.json --metric "bleu,bleu[order=2]" --level system
    """
    from ranker.notation import split

    scorers = given_scorers([one for listed in metric or [] for one in split(listed)], model, given)
    if percent and output != "table":
        raise OptionError(f"--percent is for tables; --output {output} holds fractions")
    if (output == "mtme") != (out is not None):
        raise OptionError("--output mtme needs --out DIR, and only that")
    dataset = read_input([data] if data else [], source, references, translations, lp)
    from ranker.evaluation.systems.levels import Units

    with working("scoring"):
        levels = [Units.of(dataset, one) for one in _levels(dataset, level, output)]
        say_notes(scorers.values(), dataset)
        statistics = {name: scorer.statistics(dataset) for name, scorer in scorers.items()}
    if out is not None:
        _write(out, dataset, scorers, statistics, levels)
        return
    lower = [name for name, scorer in scorers.items() if not scorer.higher_is_better]
    about: dict[str, Any] = {"level": levels[0].level}
    rows = _rows(levels[0], scorers, statistics, percent=percent)
    signatures = [result_signature(one, dataset, about["level"], **about) for one in scorers.values()]

    def show() -> None:
        print_table(rows)
        say("", *(["lower is better: " + ", ".join(lower)] if lower else []), *signatures)

    document = {"signature": "\n".join(signatures), **about, "lower_is_better": lower, "rows": rows}
    emit(Result(document, rows, show), output)


def _levels(dataset: Dataset, level: Level | None, output: Form) -> list[Level]:
    if level is not None:
        return [level]
    if output != "mtme":
        return ["segment"]
    return [one for one in LEVELS if one != "document" or dataset.sources["doc"].notna().all()]


def _rows(
    units: Units, scorers: dict[str, Scorer], statistics: dict[str, FloatArray], *, percent: bool
) -> list[dict[str, Any]]:
    columns: dict[str, list[Any]] = {str(name): units.keys[name].tolist() for name in units.keys}
    for name, scorer in scorers.items():
        scores = units.score(scorer, statistics[name])
        if percent and scorer.is_fraction:
            name, scores = f"{name} %", scores * 100
        columns[name] = scores.tolist()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _write(
    out: Path, dataset: Dataset, scorers: dict[str, Scorer], statistics: dict[str, FloatArray], levels: list[Units]
) -> None:
    from ranker.evaluation.systems.score_files import write_score_files

    made = [units.level for units in levels]
    signatures = {name: result_signature(scorer, dataset, *made) for name, scorer in scorers.items()}
    for path in write_score_files(out, dataset, scorers, statistics, levels, signatures):
        say(f"written: {path}")
    say("", *signatures.values())
