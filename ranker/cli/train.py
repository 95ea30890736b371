"""``ranker train``."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ranker.cli.options import (
    DataOption,
    JobsOption,
    KindOption,
    LpOption,
    Output,
    OutputOption,
    ReferencesOption,
    SeedOption,
    SourceOption,
    TranslationsOption,
    read_input,
    working,
)
from ranker.cli.output import emit_json, print_table
from ranker.errors import OptionError


class Loss(StrEnum):
    """Losses of the ranking SVM."""

    hinge = "hinge"
    squared_hinge = "squared_hinge"


class Pairs(StrEnum):
    """Ways of counting preferences."""

    judgements = "judgements"
    aggregated = "aggregated"
    balanced = "balanced"


def command(
    data: DataOption = None,
    features: Annotated[
        str, typer.Option("--features", "-f", help="Extractors and feature sets; see: ranker features.")
    ] = "bleu",
    model: Annotated[
        Path | None,
        typer.Option(
            "--model", "-M", help="Model file to write; by default NAME.model of the first corpus.", metavar="FILE"
        ),
    ] = None,
    kind: KindOption = "auto",
    c: Annotated[
        str, typer.Option("--C", help="Penalty of a wrongly ordered pair, or auto: by cross-validation.")
    ] = "1.0",
    loss: Annotated[Loss, typer.Option("--loss", help="Loss of a pair.")] = Loss.hinge,
    pairs: Annotated[
        Pairs,
        typer.Option(
            "--pairs",
            help="Preferences: one pair a judgement, one for two candidates, or these with equal language pairs.",
        ),
    ] = Pairs.judgements,
    lp: LpOption = None,
    source: SourceOption = None,
    references: ReferencesOption = None,
    translations: TranslationsOption = None,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Learn a ranker from human judgements.

    Example: ranker train --data sample --features bleu --model sample.model
    """
    if output not in (Output.table, Output.json):
        raise OptionError("--output: train prints table or json")
    dataset = read_input(data or [], source, references, translations, lp)
    from ranker.extractors.target_language import english_note
    from ranker.learning.model_files import check_target
    from ranker.ranking import Ranker

    ranker = Ranker(
        features,
        C="auto" if c == "auto" else _number(c),
        loss=loss.value,
        kind=kind,
        pairs=pairs.value,
        seed=seed,
    )
    target = model or Path(f"{dataset.name.split('+')[0]}.model")
    check_target(target)
    note = english_note(ranker.feature_set.extractors, dataset)
    if note:
        typer.echo(f"ranker: note: {note}", err=True)
    with working("training"):
        ranker.fit(dataset)
        ranker.save(target)
    weights = [
        {"column": column, "weight": float(weight)}
        for column, weight in zip(ranker.feature_set.columns, ranker.weights, strict=True)
    ]
    training = ranker.training
    assert training is not None
    if output is Output.json:
        emit_json(
            {
                "model": str(target),
                "signature": ranker.signature(),
                "training": dataclasses.asdict(training),
                "weights": weights,
            }
        )
        return
    learnt = f"{training.preferences:,} preferences" if training.preferences else f"{training.kind} scores"
    typer.echo(
        f"learnt from {training.data}: {training.sources:,} sources, {training.candidates:,} judged candidates, "
        f"{learnt}; C = {training.C:g} ({training.chosen_by})\n"
    )
    print_table(weights)
    typer.echo(f"\n{ranker.signature()}\nmodel written: {target}")


def _number(text: str) -> float:
    if "_" not in text:
        with suppress(ValueError):
            return float(text)
    raise OptionError(f"--C {text}: expected a positive number or 'auto'")
