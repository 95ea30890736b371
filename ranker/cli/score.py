"""``ranker score``: scores of segments, documents or systems."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Option

from ranker.cli.commands import OutputOption, written_to
from ranker.cli.options import LevelName, ModelOption, PercentOption, TextInput, level_of, working
from ranker.cli.output import ModelScore, emit, print_table, say, say_signatures
from ranker.cli.scorer import MetricsOption, given_scorers, listed, print_notes, result_signature
from ranker.cli.sharded import ShardOptions, emit_files, processed
from ranker.errors import OptionError
from ranker.evaluation.choices import LEVELS, Level
from ranker.signature import make_signature

if TYPE_CHECKING:
    from ranker.arrays import FloatArray
    from ranker.corpora.dataset import Dataset
    from ranker.evaluation.systems.levels import Units
    from ranker.ranking.scorers import Scorer


Form = Literal["table", "json", "jsonl", "csv", "mtme", "value"]
"""Output formats: those of most commands, the score files of mt-metrics-eval, and the numbers alone."""


def command(
    inputs: TextInput,
    sharding: ShardOptions,
    model: ModelOption = None,
    metric: MetricsOption = None,
    level: Annotated[
        LevelName | None,
        Option(
            help="Level to score: segment, document or system (also called corpus).",
            show_default="segment; mtme: all available",
        ),
    ] = None,
    percent: PercentOption = False,
    penalty: Annotated[
        float,
        Option(
            help="Make scores worse by X for each check that an output fails (see ranker check), on average.", min=0
        ),
    ] = 0.0,
    form: Form = "table",
    output: OutputOption = None,
) -> None:
    """Score translations: segments, documents or whole systems.

    For documents and systems, a metric's score is computed from the summed segment statistics, a ranker's score is the
    mean of its segment scores. With --format mtme -o DIR, score files for mt-metrics-eval are written, one per metric,
    language pair and level; scores where lower is better are negated. --format value prints the scores alone, one line
    per row of the table. To find out which system is significantly better, use ranker systems. Without --metric or
    --model, the scores are bleu, chrf and those of the included ranker that ranker rank uses.

    Shards (ranker data shard) are scored one at a time; segment scores are written to --out.

    Example: ranker score candidates.json --metric "bleu,bleu[order=2]" --level system
    """
    if percent and form not in ("table", "value"):
        raise OptionError(f"--percent applies to tables only, not to --format {form}: leave out --percent")
    if penalty and form == "mtme":
        raise OptionError("--penalty is not available with --format mtme; expected table, json, jsonl, csv or value")
    if form == "mtme" and output is None:
        raise OptionError("--format mtme writes several files: give -o DIRECTORY")
    from ranker.corpora.numbered_systems import note_numbered

    to_score = level_of(level) or "segment"
    segments = to_score == "segment"
    losses: FloatArray | float = 0.0
    shards = sharding.find(inputs, {"--format mtme": form == "mtme", "--penalty": penalty > 0}, must_write=segments)
    if shards is not None:
        from ranker.apps.scaling.tables import NamedScorers, segment_scores, total_sums, unit_sums

        named = NamedScorers.of(listed(metric), model, level=to_score)
        if segments:
            with written_to(output):
                emit_files(form, shards, sharding, named, "segment scores", segment_scores, level=to_score)
            return
        scorers = {scorer.name: scorer for scorer in named.scorers()}
        with processed(shards, sharding, named, f"{to_score} scores", unit_sums, to_score) as (parts, heads):
            units, statistics = total_sums(parts, [*scorers], to_score)
        note_numbered(units.keys["system"], shards.name)
        signatures = [make_signature(head, {"level": to_score}) for head in heads]
    else:
        scorers, dataset = given_scorers(metric, model, inputs)
        from ranker.evaluation.systems.levels import Units

        with working("scoring"):
            levels = [Units.of(dataset, level_name) for level_name in _levels(dataset, level_of(level), form)]
            by_level = [units.scorer(scorer) for units in levels for scorer in scorers.values()]
            print_notes(by_level, dataset)
            if levels[-1].level != "segment":
                note_numbered(levels[-1].keys["system"], dataset.name)
            if form == "mtme" and output is not None:
                _write(output, dataset, scorers, levels)
                return
            scorers, units = dict(zip(scorers, by_level, strict=True)), levels[0]
            statistics = {name: scorer.statistics(dataset) for name, scorer in scorers.items()}
        signatures = [
            result_signature(scorer, dataset, to_score, level=to_score, penalty=penalty or None)
            for scorer in scorers.values()
        ]
        if penalty:
            from ranker.checks.outputs import failures

            losses = penalty * units.means(failures(dataset))
    rows = _rows(units, scorers, statistics, losses, percent=percent)
    from ranker.ranking.scorers import type_of

    models = {name for name, scorer in scorers.items() if type_of(scorer) == "ranker"}
    lower = [name for name, scorer in scorers.items() if not scorer.higher_is_better]

    def show() -> None:
        if form == "value":
            say(*(" ".join(str(value) for value in [*row.values()][len(units.keys.columns) :]) for row in rows))
            return
        print_table(
            [{name: ModelScore(value) if name in models else value for name, value in row.items()} for row in rows]
        )
        say("", *(["lower is better: " + ", ".join(lower)] if lower else []))
        say_signatures(*signatures)

    document = {"signature": "\n".join(signatures), "level": to_score, "lower_is_better": lower, "rows": rows}
    with written_to(output):
        emit(form, document, rows, show)


def _levels(dataset: Dataset, level: Level | None, form: Form) -> list[Level]:
    if level is not None:
        return [level]
    if form != "mtme":
        return ["segment"]
    return [level for level in LEVELS if level != "document" or dataset.sources["doc"].notna().all()]


def _rows(
    units: Units,
    scorers: dict[str, Scorer],
    statistics: dict[str, FloatArray],
    losses: FloatArray | float,
    *,
    percent: bool,
) -> list[dict[str, Any]]:
    from ranker.ranking.scorers import is_fraction, sign_of

    columns: dict[str, list[Any]] = {str(name): units.keys[name].tolist() for name in units.keys}
    for name, scorer in scorers.items():
        scores = units.score(scorer, statistics[name]) - sign_of(scorer) * losses
        if percent and is_fraction(scorer):
            name, scores = f"{name} %", scores * 100
        columns[name] = scores.tolist()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _write(out: Path, dataset: Dataset, scorers: dict[str, Scorer], levels: list[Units]) -> None:
    from ranker.evaluation.systems.score_files import write_score_files

    level_names = [units.level for units in levels]
    signatures = {
        name: result_signature(levels[-1].scorer(scorer), dataset, *level_names) for name, scorer in scorers.items()
    }
    for path in write_score_files(out, dataset, scorers, levels, signatures):
        say(f"written: {path}")
    say("")
    say_signatures(*signatures.values())
