"""``ranker score``."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ranker.cli.options import (
    DataArgument,
    JobsOption,
    LpOption,
    ModelOption,
    Output,
    OutputOption,
    ReferencesOption,
    SourceOption,
    TranslationsOption,
    read_input,
    working,
)
from ranker.cli.output import emit_rows
from ranker.cli.scorer import Scorer
from ranker.errors import OptionError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ranker.corpora.dataset import Dataset


class Level(StrEnum):
    """What gets a score."""

    segment = "segment"
    system = "system"


def command(
    data: DataArgument = None,
    model: ModelOption = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric", "-m", help="Metric, as bleu[smoothing=exp]; may be given several times.", metavar="METRIC"
        ),
    ] = None,
    level: Annotated[Level, typer.Option("--level", help="Score segments or systems.")] = Level.segment,
    lp: LpOption = None,
    source: SourceOption = None,
    references: ReferencesOption = None,
    translations: TranslationsOption = None,
    jobs: JobsOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Score candidate translations, one by one or per system.

    A metric's score of a system comes from the summed statistics of its segments; a ranker's is the mean of its
    segment scores. Scores of a metric are fractions.

    Example: ranker score candidates.json --metric bleu --metric "bleu[order=2]" --level system
    """
    if not (model or metric):
        raise OptionError("give --metric NAME (see ranker features) or --model FILE (see ranker train)")
    scorers = [Scorer.choose(None, one) for one in metric or []]
    if model:
        scorers.append(Scorer.choose(model, None))
    dataset = read_input([data] if data else [], source, references, translations, lp)
    with working("scoring"):
        names = [_name(scorer) for scorer in scorers]
        if level is Level.segment:
            rows = _segment_rows(dataset, dict(zip(names, (one.score(dataset) for one in scorers), strict=True)))
        else:
            rows = _system_rows(dataset, dict(zip(names, scorers, strict=True)))
    signature = "\n".join(scorer.signature(dataset) for scorer in scorers)
    emit_rows(rows, output, signature=signature)


def _name(scorer: Scorer) -> str:
    from ranker.ranking import Ranker

    return "ranker" if isinstance(scorer.using, Ranker) else str(scorer.using)


def _segment_rows(dataset: Dataset, scores: dict[str, npt.NDArray[np.float64]]) -> list[dict[str, Any]]:
    sources = dataset.sources.iloc[dataset.candidate_source]
    columns: dict[str, list[Any]] = {
        "lp": [lp if isinstance(lp, str) else None for lp in sources["lp"]],
        "seg_id": sources["seg_id"].tolist(),
        "system": dataset.candidates["system"].tolist(),
        **{name: values.tolist() for name, values in scores.items()},
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _system_rows(dataset: Dataset, scorers: dict[str, Scorer]) -> list[dict[str, Any]]:
    import pandas as pd

    from ranker.evaluation.systems import system_scores

    keys = pd.DataFrame(
        {
            "lp": dataset.source_language_pairs[dataset.candidate_source],
            "system": dataset.candidates["system"].to_numpy(object),
        }
    )
    code, table = pd.factorize(pd.MultiIndex.from_frame(keys), sort=True)
    columns = {name: system_scores(scorer.using, dataset, code, len(table)) for name, scorer in scorers.items()}
    counts = pd.Series(code).value_counts()
    return [
        {
            "lp": None if lp == "?" else lp,
            "system": system,
            "segments": int(counts[index]),
            **{name: float(values[index]) for name, values in columns.items()},
        }
        for index, (lp, system) in enumerate(table)
    ]
