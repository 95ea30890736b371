"""``ranker explain``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ranker.cli.options import (
    DataOption,
    FormatOption,
    JobsOption,
    LpOption,
    ModelOption,
    NoReferencesOption,
    ReferencesOption,
    SourceOption,
    TranslationsOption,
    read_input,
    working,
)
from ranker.cli.output import Result, emit, print_table, say, say_note, say_signatures
from ranker.cli.scorer import GivenOption, files_for, suited_model
from ranker.errors import OptionError, counted

if TYPE_CHECKING:
    from ranker.arrays import FloatArray
    from ranker.corpora.dataset import Dataset
    from ranker.evaluation.explanations.pairs import PairExplanation
    from ranker.extractors.feature_sets import FeatureSet
    from ranker.ranking import Ranker


By = Literal["family", "extractor"]
"""What each row of a table sums over."""


def command(
    data: DataOption = None,
    model: ModelOption = None,
    pair: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--pair",
            help="Explain in a few lines why one system's output is ranked above another's.",
            metavar="SYSTEM SYSTEM",
        ),
    ] = None,
    given: GivenOption = None,
    lp: LpOption = None,
    source: SourceOption = None,
    references: ReferencesOption = None,
    no_references: NoReferencesOption = False,
    translations: TranslationsOption = None,
    jobs: JobsOption = None,
    by: Annotated[
        By | None,
        typer.Option(
            "--by",
            help="Sum contributions by feature group (words, fluency, ...) or by extractor, in tables.",
            show_default="family",
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="List every feature separately, in tables.")] = False,
    form: FormatOption = "table",
) -> None:
    """Explain the score of a candidate, or the ranking of two.

    The model is linear, so the contributions of its features sum exactly to the score. Many features measure nearly the
    same thing, so tables sum them by group: words, word order, syntax, fluency, meaning, agreement, length. For two
    systems, --pair prints for every source the score difference by feature group, the five extractors with the largest
    differences, and the words responsible. Without data, the weights of the model are listed. Without --model, the
    included ranker for the language is used.

    Example: ranker explain candidates.json --pair A C
    """
    from ranker.evaluation.explanations.pairs import check_pair, explain_systems
    from ranker.ranking import Ranker

    if every and by is not None:
        raise OptionError("--all and --by exclude each other: --all lists every feature, --by sums them")
    if not (data or source or references or translations):
        if pair is not None:
            raise OptionError("--pair needs data: ranker explain DATA --pair A B")
        if model is None:
            raise OptionError("give --model FILE|NAME to list its weights, or data to explain scores")
        shown = Ranker.load(model)
        sets = shown.weight_sets
        numbers = zip(shown.feature_set.columns, shown.mean, shown.scale, sets.weights.T.tolist(), strict=True)
        weights = [
            {"column": name, "weight": each[0], "mean": float(mean), "scale": float(scale)}
            | {f"weight {title}": other for title, other in zip(sets.titles, each[1:], strict=True)}
            for name, mean, scale, each in numbers
        ]
        emit(Result.of_rows(weights, signature=shown.signature()), form)
        return
    loaded = Ranker.load(model) if model is not None else None
    files = files_for(loaded.feature_set.members if loaded else (), given)
    dataset = read_input(data or [], source, references, translations, lp, no_references=no_references)
    if pair is not None:
        check_pair(dataset, *pair)
    ranker = loaded.with_files(files) if loaded else Ranker.load(suited_model(dataset))
    with working("explaining"):
        note = ranker.note(dataset)
        matrix = ranker.contributions(dataset)
    if note:
        say_note(note)
    signature = f"{ranker.signature()}|ranked:{dataset.name}#{dataset.fingerprint[:8]}"
    if pair is not None:
        with working("explaining"):
            explained = explain_systems(ranker, dataset, matrix, *pair)
        if explained.left_out:
            say_note(f"skipped: {counted(explained.left_out, 'source')} translated by only one of the two systems")
        groups = [{**asdict(one), **_facts(dataset, one.source)} for one in explained.sources]
        parts = _parts(ranker.feature_set, "feature" if every else by) if every or by else {}

        def show_pairs() -> None:
            for one in explained.sources:
                _print_pair(dataset, one, parts)
            if len(explained.sources) > 1:
                say(f"mean of {len(explained.sources):,} sources: {explained.headline}", "")
            say_signatures(signature)

        document = {"signature": signature, **asdict(explained), "sources": groups}
        emit(Result(document, [_flat(group) for group in groups], show_pairs, groups), form)
        return
    groups = [_group(ranker, dataset, matrix, index) for index in range(len(dataset.sources))]
    flat = [
        {
            "lp": group.get("lp"),
            "seg_id": group.get("seg_id"),
            "system": one["system"],
            "score": one["score"],
            **one["contributions"],
        }
        for group in groups
        for one in group["candidates"]
    ]

    def show() -> None:
        parts = _parts(ranker.feature_set, "feature" if every else by or "family")
        for group in groups:
            _print(group, parts)
        say_signatures(signature)

    emit(Result({"signature": signature, "sources": groups}, flat, show, groups), form)


def _group(ranker: Ranker, dataset: Dataset, matrix: FloatArray, source: int) -> dict[str, Any]:
    """Put together all that is to be said of one source."""
    from ranker.evaluation.explanations.pairs import by_family

    candidates = []
    for row in range(*dataset.candidate_offsets[source : source + 2]):
        evidence: dict[str, Any] = {}
        for extractor in ranker.feature_set.extractors:
            found = extractor.evidence(dataset, row)
            if found:
                evidence[str(extractor)] = found
        families = by_family(matrix[row], ranker.feature_set.families)
        candidates.append(
            {
                "system": dataset.candidates["system"].iloc[row],
                "text": dataset.candidates["text"].iloc[row],
                "score": float(matrix[row].sum()),
                "families": {name: float(value) for name, value in families.items()},
                "contributions": dict(zip(ranker.feature_set.columns, matrix[row].tolist(), strict=True)),
                **({"matches": evidence} if evidence else {}),
            }
        )
    return {**_facts(dataset, source), "candidates": candidates}


def _facts(dataset: Dataset, source: int) -> dict[str, Any]:
    row = dataset.sources.iloc[source]
    known = {key: row[key] for key in ("lp", "doc", "seg_id") if isinstance(row[key], str)}
    return {**known, "source": row["text"]}


def _flat(group: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of an explained pair as a row."""
    keys = ("lp", "doc", "seg_id", "first", "second", "first_score", "second_score", "difference")
    facts = {key: group.get(key) for key in keys}
    return {**facts, **{f"family.{name}": value for name, value in group["families"].items()}, **group["features"]}


def _parts(features: FeatureSet, by: str | None) -> dict[str, list[str]]:
    """Return the columns that every line of a table adds up."""
    if by == "feature":
        return {name: [name] for name in features.columns}
    if by == "extractor":
        return {str(extractor): list(extractor.columns) for extractor in features.extractors}
    from ranker.evaluation.explanations.pairs import FAMILIES

    members = list(zip(features.columns, features.families, strict=True))
    return {one: [name for name, family in members if family == one] for one in FAMILIES if one in features.families}


def _print(group: dict[str, Any], parts: dict[str, list[str]]) -> None:
    """Print one source: what contributes down, candidates across, and below what matched."""
    candidates = group["candidates"]
    rows = [
        {"contribution of": name, **{one["system"]: sum(map(one["contributions"].get, columns)) for one in candidates}}
        for name, columns in parts.items()
    ]
    rows.append({"contribution of": "score", **{one["system"]: one["score"] for one in candidates}})
    print_table(rows, _title(group))
    for one in candidates:
        say("", f"{one['system']}: {one['text']}")
        for extractor, matches in one.get("matches", {}).items():
            for reference, found in matches.items():
                say(f"  {extractor}, matches in {reference}: {', '.join(found) or 'none'}")
    typer.echo("")


def _print_pair(dataset: Dataset, explained: PairExplanation, parts: dict[str, list[str]]) -> None:
    """Print why one candidate is above another: the texts, the families, and the strongest differences."""
    say(_title(_facts(dataset, explained.source)))
    for system, text in ((explained.first, explained.first_text), (explained.second, explained.second_text)):
        say(f"  {system}: {text}")
    say(explained.headline)
    if parts:
        rows = [{"": name, "difference": sum(map(explained.features.__getitem__, parts[name]))} for name in parts]
        print_table([*rows, {"": "score", "difference": explained.difference}])
    else:
        for line in explained.reasons:
            say(f"  {line}")
    typer.echo("")


def _title(group: dict[str, Any]) -> str:
    key = " ".join(group[name] for name in ("lp", "seg_id") if name in group)
    return f"{key}  {group['source']}".rstrip()
