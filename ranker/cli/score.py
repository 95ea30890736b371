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
    SeedOption,
    SourceOption,
    TranslationsOption,
    read_input,
    working,
)
from ranker.cli.output import Result, emit, print_table
from ranker.cli.scorer import given_scorers, result_signature, say_notes
from ranker.errors import OptionError
from ranker.evaluation.choices import LEVELS, Level, Paired

if TYPE_CHECKING:
    from ranker.arrays import FloatArray
    from ranker.corpora.dataset import Dataset
    from ranker.evaluation.bootstrap import Estimate
    from ranker.evaluation.systems.levels import Units
    from ranker.evaluation.systems.paired import PairedScore
    from ranker.extractors.scorers import Scorer


Form = Literal["table", "json", "jsonl", "csv", "mtme"]
"""Forms of output: those of all commands, and the score files of mt-metrics-eval."""
_RESAMPLES = {"bs": 1000, "ar": 10_000}


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
    paired: Annotated[
        Paired | None,
        typer.Option(
            "--paired",
            help="Test the systems against a baseline: paired bootstrap (bs) or approximate randomisation (ar).",
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", help="Baseline of --paired; by default the first system.", metavar="SYSTEM"),
    ] = None,
    resamples: Annotated[
        int | None,
        typer.Option("--resamples", help="Resamples of --paired.", min=1, show_default="bs: 1000; ar: 10000"),
    ] = None,
    seed: SeedOption = 0,
    output: Annotated[Form, typer.Option("--output", "-o", help="Form of the output.")] = "table",
) -> None:
    """Score candidate translations: every segment, the documents, or the systems as a whole.

    Of documents and systems a metric scores the summed statistics of the segments, a ranker the mean of its segment
    scores. Scores of a metric are fractions. With --output mtme, score files as mt-metrics-eval reads them are written,
    one for every metric, language pair and level; scores of which less is better are negated there. --paired tests
    whether the corpus scores of systems differ from that of a baseline, with two-sided p-values.

    Example: ranker score candidates.json --metric "bleu,bleu[order=2]" --level system
    """
    from ranker.notation import split

    scorers = given_scorers([one for listed in metric or [] for one in split(listed)], model)
    if percent and output != "table":
        raise OptionError(f"--percent is for tables; --output {output} holds fractions")
    if (output == "mtme") != (out is not None):
        raise OptionError("--output mtme needs --out DIR, and only that")
    if paired is None and (baseline is not None or resamples is not None):
        raise OptionError("--baseline and --resamples belong to --paired; add --paired bs or --paired ar")
    if paired is not None and (output == "mtme" or level not in (None, "system")):
        raise OptionError("--paired tests systems: leave out --level and --output mtme")
    dataset = read_input([data] if data else [], source, references, translations, lp)
    from ranker.evaluation.systems.levels import Units
    from ranker.evaluation.systems.paired import flat, paired_scores

    with working("scoring"):
        levels = [Units.of(dataset, one) for one in _levels(dataset, level, output)]
        say_notes(scorers.values(), dataset)
        statistics = {name: scorer.statistics(dataset) for name, scorer in scorers.items()}
    if out is not None:
        _write(out, dataset, scorers, statistics, levels)
        return
    lower = [name for name, scorer in scorers.items() if not scorer.higher_is_better]
    about: dict[str, Any] = {"level": "system" if paired else levels[0].level}
    if paired is None:
        rows = _rows(levels[0], scorers, statistics, percent=percent)
        shown, title, more = rows, "", about
    else:
        number = resamples or _RESAMPLES[paired]
        with working("resampling"):
            found = {
                name: paired_scores(
                    one, dataset, statistics[name], paired, baseline=baseline, resamples=number, seed=seed
                )
                for name, one in scorers.items()
            }
        more = {**about, "paired": paired, **({"baseline": baseline} if baseline else {}), "resamples": number}
        more["seed"] = seed
        rows = [row for name, one in found.items() for row in flat(one, name)]
        shown, title = _shown(found, scorers, percent=percent), _title(paired, number, baseline)
    signatures = [result_signature(one, dataset, about["level"], **more) for one in scorers.values()]

    def show() -> None:
        print_table(shown, title)
        typer.echo("\n" + "\n".join([*(["lower is better: " + ", ".join(lower)] if lower else []), *signatures]))

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


def _title(test: Paired, resamples: int, baseline: str | None) -> str:
    name = {"bs": "paired bootstrap", "ar": "approximate randomisation"}[test]
    against = "the baseline" if baseline else "the first system"
    return f"{name} against {against}, {resamples:,} resamples; [95 % bootstrap interval over sources]"


def _shown(found: dict[str, list[PairedScore]], scorers: dict[str, Scorer], *, percent: bool) -> list[dict[str, Any]]:
    """Return the rows of a table, several language pairs or metrics below each other."""
    rows = []
    several = len({one.lp for scores in found.values() for one in scores}) > 1
    for name, scores in found.items():
        scale, unit = (100, " %") if percent and scorers[name].is_fraction else (1, "")
        for one in scores:
            lp = {"lp": one.lp} if several else {}
            values = {"score": _figure(one.score, scale), "difference": _figure(one.difference, scale, "+")}
            p = {"p": "-" if one.p is None else f"{one.p:.4f}"}
            rows.append({**lp, "metric": name + unit, "system": one.system, "sources": one.sources, **values, **p})
    return rows


def _figure(estimate: Estimate | None, scale: float, sign: str = "") -> str:
    if estimate is None:
        return "baseline"
    value, low, high = (
        f"{scale * one:{sign}.{2 if scale > 1 else 4}f}" for one in (estimate.value, estimate.low, estimate.high)
    )
    return f"{value} [{low} {high}]"


def _write(
    out: Path, dataset: Dataset, scorers: dict[str, Scorer], statistics: dict[str, FloatArray], levels: list[Units]
) -> None:
    from ranker.evaluation.systems.score_files import write_score_files

    made = [units.level for units in levels]
    signatures = {name: result_signature(scorer, dataset, *made) for name, scorer in scorers.items()}
    for path in write_score_files(out, dataset, scorers, statistics, levels, signatures):
        typer.echo(f"written: {path}")
    typer.echo("\n" + "\n".join(signatures.values()))
