"""``ranker explain``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ranker.cli.options import (
    DataArgument,
    JobsOption,
    LpOption,
    ModelOption,
    OutputOption,
    ReferencesOption,
    SourceOption,
    TranslationsOption,
    read_input,
    working,
)
from ranker.cli.output import Result, emit, print_table, say_note
from ranker.cli.scorer import suited_model
from ranker.errors import OptionError

_MANY = 40

if TYPE_CHECKING:
    from ranker.arrays import FloatArray
    from ranker.corpora.dataset import Dataset
    from ranker.extractors.feature_sets import FeatureSet
    from ranker.ranking import Ranker


By = Literal["column", "extractor"]
"""What a line of a table is of."""


def command(
    data: DataArgument = None,
    model: ModelOption = None,
    lp: LpOption = None,
    source: SourceOption = None,
    references: ReferencesOption = None,
    translations: TranslationsOption = None,
    jobs: JobsOption = None,
    by: Annotated[
        By | None,
        typer.Option(
            "--by",
            help="In tables: what each column adds, or each extractor with all its columns.",
            show_default=f"column up to {_MANY} columns, else extractor",
        ),
    ] = None,
    output: OutputOption = "table",
) -> None:
    """Show why: a model's weights, or with data what every column adds to every score.

    The model is linear, so the contributions add up to the score exactly. Where an extractor can say what matched, as
    ds can, that is shown too. Without --model the ranker that ships is explained.

    Example: ranker explain candidates.json
    """
    from ranker.ranking import Ranker

    if not (data or source or references or translations):
        if model is None:
            raise OptionError("give --model FILE or NAME for its weights, or data for scores explained")
        shown = Ranker.load(model)
        numbers = zip(shown.feature_set.columns, shown.weights, shown.mean, shown.scale, strict=True)
        weights = [
            {"column": name, "weight": float(weight), "mean": float(mean), "scale": float(scale)}
            for name, weight, mean, scale in numbers
        ]
        emit(Result.of_rows(weights, signature=shown.signature()), output)
        return
    loaded = Ranker.load(model) if model is not None else None
    dataset = read_input([data] if data else [], source, references, translations, lp)
    ranker = loaded or Ranker.load(suited_model(dataset))
    with working("explaining"):
        note = ranker.note(dataset)
        matrix = ranker.explain(dataset)
    if note:
        say_note(note)
    signature = f"{ranker.signature()}|ranked:{dataset.name}#{dataset.fingerprint[:8]}"
    groups = [_group(ranker, dataset, matrix, index) for index in range(len(dataset.sources))]
    rows = [
        {"seg_id": group["seg_id"], "system": one["system"], "score": one["score"], **one["contributions"]}
        for group in groups
        for one in group["candidates"]
    ]

    def show() -> None:
        for group in groups:
            _print(group, ranker.feature_set, by or ("column" if len(ranker.weights) <= _MANY else "extractor"))
        typer.echo(signature)

    emit(Result({"signature": signature, "sources": groups}, rows, show, groups), output)


def _group(ranker: Ranker, dataset: Dataset, matrix: FloatArray, source: int) -> dict[str, Any]:
    """Put together all that is to be said of one source."""
    candidates = []
    for row in range(*dataset.candidate_offsets[source : source + 2]):
        evidence: dict[str, Any] = {}
        for extractor in ranker.feature_set.extractors:
            found = extractor.evidence(dataset, row)
            if found:
                evidence[str(extractor)] = found
        candidates.append(
            {
                "system": dataset.candidates["system"].iloc[row],
                "text": dataset.candidates["text"].iloc[row],
                "score": float(matrix[row].sum()),
                "contributions": dict(zip(ranker.feature_set.columns, matrix[row].tolist(), strict=True)),
                **({"matches": evidence} if evidence else {}),
            }
        )
    facts = dataset.sources.iloc[source]
    return {"seg_id": facts["seg_id"], "source": facts["text"], "candidates": candidates}


def _print(group: dict[str, Any], features: FeatureSet, by: By) -> None:
    """Print one source: columns or extractors down, candidates across, and below what matched."""
    candidates = group["candidates"]
    parts: dict[str, tuple[str, ...]] = {name: (name,) for name in features.columns}
    if by == "extractor":
        parts = {str(extractor): extractor.columns for extractor in features.extractors}
    rows = [
        {"contribution of": name, **{one["system"]: sum(map(one["contributions"].get, columns)) for one in candidates}}
        for name, columns in parts.items()
    ]
    rows.append({"contribution of": "score", **{one["system"]: one["score"] for one in candidates}})
    print_table(rows, f"{group['seg_id']}  {group['source']}")
    for one in candidates:
        typer.echo(f"\n{one['system']}: {one['text']}")
        for extractor, matches in one.get("matches", {}).items():
            for reference, found in matches.items():
                typer.echo(f"  {extractor}, matched in {reference}: {', '.join(found) or 'nothing'}")
    typer.echo("")
