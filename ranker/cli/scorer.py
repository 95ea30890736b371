"""What scores candidates on the command line: a trained ranker or a metric, chosen by the same two options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ranker.cli.output import say_note
from ranker.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ranker.corpora.dataset import Dataset
    from ranker.extractors.scorers import Scorer

MetricOption = Annotated[
    str | None,
    typer.Option("--metric", "-m", help="Metric to use instead of a model, as bleu[smoothing=exp].", metavar="METRIC"),
]
MetricsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        help="Metrics, separated by commas, as bleu[smoothing=exp],ter; may be given several times.",
        metavar="METRIC",
    ),
]


def chosen(model: Path | None, metric: str | None, read: Callable[[], Dataset]) -> tuple[Scorer, Dataset]:
    """Return the scorer that the options name, or the ranker that ships for such data, and the data.

    What the options say is checked before the data are read.
    """
    from ranker.ranking import make_scorer

    if model is not None or metric is not None:
        scorer = make_scorer(metric, model)
        return scorer, read()
    dataset = read()
    return make_scorer(None, suited_model(dataset)), dataset


def suited_model(dataset: Dataset) -> str:
    """Return the name of the ranker that ships for such data, and tell the user."""
    from ranker import shipped

    name = shipped.suited(dataset)
    say_note(f"scored by the included model {name}; choose another with --model or --metric")
    return name


def result_signature(
    scorer: Scorer, dataset: Dataset, *levels: str, scored: Dataset | None = None, **more: object
) -> str:
    """Return the signature of results on `dataset` at `levels`, by default of segments.

    `scored` is the part of the data set that was scored, if that is not all of it.
    """
    parts = [
        scorer.head(dataset),
        f"ranked:{dataset.name}#{dataset.fingerprint[:8]}",
        *(f"{key}:{value}" for key, value in more.items()),
        *(["fallback"] if scorer.unusable(scored or dataset) else []),
    ]
    return "|".join(parts) + scorer.sacrebleu(dataset, levels or ("segment",))


def say_notes(scorers: Iterable[Scorer], dataset: Dataset) -> None:
    """Tell the user on stderr what there is to know about the scores of `dataset`, each thing once."""
    notes = [scorer.note(dataset) for scorer in scorers]
    for note in dict.fromkeys(note for note in notes if note):
        say_note(note)


def given_scorers(metrics: Iterable[str], model: Path | None) -> dict[str, Scorer]:
    """Return metrics and a ranker by their names.

    Raises
    ------
    OptionError
        If there is none, or a metric is given twice.
    """
    from ranker.ranking import make_scorer

    scorers = [make_scorer(one, None) for one in metrics] + ([make_scorer(None, model)] if model else [])
    if not scorers:
        raise OptionError("give --metric NAME (see ranker features) or --model FILE (see ranker train)")
    names = [one.name for one in scorers]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise OptionError(f"metric {twice[0]!r} is given twice")
    return dict(zip(names, scorers, strict=True))
