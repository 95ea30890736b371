"""Scorers named on the command line: trained rankers (--model) and metrics (--metric)."""

from __future__ import annotations

import itertools
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from ranker.cli.options import CorpusInput
from ranker.cli.output import print_note
from ranker.errors import MissingError, OptionError, nearest
from ranker.signature import make_signature

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ranker.arrays import FloatArray
    from ranker.corpora.dataset import Dataset
    from ranker.extractors.base import Extractor
    from ranker.ranking.scorers import Scorer

MetricOption = Annotated[
    list[str] | None,
    Option("--metric", "-m", help="Metric to use instead of a model, such as bleu[smoothing=exp].", metavar="METRIC"),
]
MetricsOption = Annotated[
    list[str] | None,
    Option(
        "--metric",
        "-m",
        help="Metrics, separated by commas, such as bleu[smoothing=exp],ter; may be repeated.",
        metavar="METRIC",
    ),
]

DEFAULT_METRICS = ("bleu", "chrf")
"""Metrics used by default, in addition to the included ranker that suits the data."""


def listed(metrics: list[str] | None) -> list[str]:
    """Return the metrics given by repeated options or separated by commas, in the given order."""
    from ranker.notation import split

    return [name for text in metrics or [] for name in split(text)]


def single(metrics: list[str] | None, option: str = "--metric") -> str | None:
    """Return the metric given to an option that takes only one metric, or None if no metric is given."""
    names = listed(metrics)
    if len(names) > 1:
        several = "ranker score, evaluate and systems take several"
        raise OptionError(f"{option}: expected one metric, found {len(names)}: {', '.join(names)}; {several}")
    return names[0] if names else None


def chosen(
    model: Path | None,
    metrics: list[str] | None,
    data: CorpusInput,
    read: Callable[[Sequence[Extractor]], Dataset] | None = None,
) -> tuple[Scorer, Dataset]:
    """Return the scorer that the options name, or else the included ranker that suits the data; and the data.

    The options are checked before the data are read, by `read` if given.
    """
    from ranker.ranking.scorers import make_scorer

    read = read or data.read
    metric = single(metrics)
    if model is not None or metric is not None:
        scorer = supplied([make_scorer(metric, model)], data.given)[0]
        return scorer, read(scorer.feature_set.members)
    files_for((), data.given)
    dataset = read(())
    return make_scorer(None, suited_model(dataset)), dataset


def supplied(scorers: Sequence[Scorer], given: list[str]) -> list[Scorer]:
    """Return `scorers` with external scores read from the files that --given names."""
    files = files_for([part for scorer in scorers for part in scorer.feature_set.members], given)
    from ranker.ranking.scorers import with_files

    return [with_files(scorer, files) for scorer in scorers] if files else [*scorers]


def files_for(extractors: Iterable[Extractor], given: list[str]) -> dict[str, str]:
    """Return the files that --given names, keyed by the name of the scores that each file contains."""
    if not given:
        return {}
    from ranker.extractors.composed.external_scores import given_files

    needed = given_files(extractors)
    files: dict[str, str] = {}
    for entry in given:
        name, _, file = entry.partition("=")
        if not name or not file:
            raise OptionError(f"--given {entry}: expected NAME=FILE, such as --given comet=scores.tsv")
        if name in files:
            raise OptionError(f"--given: scores {name!r} are given twice; give one file for each name")
        if name not in needed:
            hint = f"{nearest(name, needed)}; scores that are used: {', '.join(needed)}"
            hint = hint if needed else f"; the metric of these scores is given[name={name}]"
            raise OptionError(f"--given {entry}: no metric or model uses scores {name!r}{hint}")
        files[name] = file
    return files


_MOST_MODELS = 5


def suited_model(dataset: Dataset, besides: Sequence[str] = (), *, metrics: bool = True) -> str:
    """Return the name of the included ranker that suits the data; print a note that this ranker and `besides` are used.

    Users who have just trained a model may expect it to be used: the note names models in the current folder, and
    ``--metric`` if the command takes `metrics`.
    """
    from ranker.ranking import included as included_models
    from ranker.storage.model_files import models_in

    name = included_models.default_model(dataset)
    used = f"{', '.join(besides)} and " if besides else ""
    others = "others" if besides else "another"
    own = [shlex.quote(model) for model in itertools.islice(models_in(Path()), _MOST_MODELS + 1)]
    listed = ", ".join([*own[:_MOST_MODELS], *["..."][: len(own) - _MOST_MODELS]])
    option = f" {listed} (in this folder)" if len(own) == 1 else f" FILE (in this folder: {listed})" if own else ""
    option += " or --metric" if metrics else ""
    print_note(f"using {used}the included model {name}; choose {others} with --model{option}")
    return name


def result_signature(
    scorer: Scorer,
    dataset: Dataset,
    *levels: str,
    scored: Dataset | None = None,
    **more: object,
) -> str:
    """Return the signature of results on `dataset` at the given levels, by default for segments.

    `scored` is the part of the data set that was scored, by default all of it.
    """
    from ranker.ranking.scorers import fallback, result_head, sacrebleu_part

    parts = {"ranked": f"{dataset.name}#{dataset.fingerprint[:8]}", **more}
    partial = fallback(scorer, dataset if scored is None else scored)
    signature = make_signature(result_head(scorer, dataset), parts, *partial)
    return signature + sacrebleu_part(scorer, dataset, levels or ("segment",))


def print_notes(scorers: Iterable[Scorer], dataset: Dataset) -> None:
    """Print the scorers' notes on the scores of `dataset`, each note once."""
    used = [*scorers]
    print_each([(scorer.name, note) for scorer in used if (note := scorer.note(dataset))], len(used))


def print_each(notes: Iterable[tuple[str, str]], scorers: int) -> None:
    """Print each note once, after the names of its scorers, unless it is about as many as there are (`scorers`)."""
    named: dict[str, list[str]] = {}
    for name, note in notes:
        named.setdefault(note, []).append(name)
    for note, names in named.items():
        of_all = len(names) == scorers or note.startswith(names[0])
        print_note(note if of_all else f"{', '.join(names)}: {note}")


def print_tied(scorer: Scorer, dataset: Dataset, scores: FloatArray) -> None:
    """Print a note if almost all pairs of candidates of a source have the same score."""
    from ranker.corpora.sanity import tied_scores
    from ranker.ranking.scorers import type_of

    name = scorer.name if type_of(scorer) == "metric" else "the model"
    for note in tied_scores(dataset, scores, f"score by {name}"):
        print_note(str(note))


def given_scorers(
    metrics: list[str] | None,
    model: Path | None,
    data: CorpusInput,
    *,
    systems: bool = False,
    preferences: bool = False,
    by_default: bool = True,
    identical: bool = True,
) -> tuple[dict[str, Scorer], Dataset]:
    """Return the scorers that the options name, or else the default scorers, keyed by name; and the data.

    The options are checked before the data are read; with `systems`, each scorer is a `systems_scorer`. Data with
    preferences need no default scorers if `preferences` is set. Without `by_default`, options must name scorers.
    `identical` is passed to `Input.read`.
    """
    from ranker.ranking.scorers import make_scorer, systems_scorer

    def named(metrics: Sequence[str], model: str | Path | None, given: list[str]) -> dict[str, Scorer]:
        scorers = [make_scorer(name, None) for name in metrics] + ([make_scorer(None, model)] if model else [])
        scorers = supplied(scorers, given)
        scorers = [systems_scorer(scorer) for scorer in scorers] if systems else scorers
        return by_unique_name([scorer.name for scorer in scorers], scorers)

    chosen_scorers = named(listed(metrics), model, data.given)
    members = [part for scorer in chosen_scorers.values() for part in scorer.feature_set.members]
    dataset = data.read(members, to_score=bool(chosen_scorers) or not preferences, identical=identical)
    if not chosen_scorers and not (preferences and len(dataset.preferences)):
        if not by_default:
            raise OptionError("no metric or model to compare systems by: give --metric NAME or --model FILE|NAME")
        default = [name for name in DEFAULT_METRICS if len(dataset.references) and _is_ready(name, dataset)]
        chosen_scorers = named(default, suited_model(dataset, default), [])
    return chosen_scorers, dataset


def _is_ready(metric: str, dataset: Dataset) -> bool:
    """True if everything that a default metric needs is installed; otherwise print a note on what is missing."""
    import numpy as np

    from ranker.ranking.scorers import make_scorer

    try:
        make_scorer(metric, None).statistics(dataset.in_context(np.arange(len(dataset)) < 1))
    except MissingError as error:
        print_note(f"{metric} was left out: {error}")
        return False
    return True


def by_unique_name(names: list[str], scorers: Sequence[Scorer]) -> dict[str, Scorer]:
    """Return scorers by name; refuse a name that is given twice."""
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise OptionError(f"metric {twice[0]!r} is given twice; give each metric once")
    return dict(zip(names, scorers, strict=True))
