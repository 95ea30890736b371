"""``ranker explain``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Option

from ranker.cli.options import Input, JobsOption, ModelOption, OutputForm, working
from ranker.cli.output import emit, emit_rows, print_note, print_table, say, say_signatures
from ranker.cli.scorer import files_for, suited_model
from ranker.errors import OptionError, counted

if TYPE_CHECKING:
    from ranker.extractors.feature_sets import FeatureSet


By = Literal["family", "extractor"]
"""What each row of a table sums over."""


def command(
    inputs: Input,
    model: ModelOption = None,
    pair: Annotated[
        tuple[str, str] | None,
        Option(
            help="Explain in a few lines why one system's output is ranked above another's.", metavar="SYSTEM SYSTEM"
        ),
    ] = None,
    seg_id: Annotated[str | None, Option(help="Explain only the sources with this seg_id.", metavar="ID")] = None,
    jobs: JobsOption = None,
    by: Annotated[
        By | None,
        Option(
            help="Sum contributions by feature group (words, fluency, ...) or by extractor, in tables.",
            show_default="family",
        ),
    ] = None,
    every: Annotated[bool, Option("--all", help="List every feature separately, in tables.")] = False,
    form: OutputForm = "table",
) -> None:
    """Explain the score of a candidate, or the ranking of two.

    The model is linear, so the contributions of its features sum exactly to the score. Many features measure nearly the
    same thing, so tables sum them by group: words, word order, syntax, fluency, meaning, agreement, length. For two
    systems, --pair prints for every source the score difference by feature group, the five extractors with the largest
    differences, and the words responsible. Without data, the weights of the model are listed. Without --model, the
    included ranker for the language is used.

    Example: ranker explain candidates.json --pair A C
    """
    if every and by is not None:
        raise OptionError("--all and --by exclude each other: --all lists every feature, --by sums them")
    if not (inputs.data or inputs.parallel):
        if pair is not None:
            raise OptionError("--pair needs data: ranker explain DATA --pair A B")
        _list_weights(model, form)
        return
    level = "feature" if every else by
    from ranker.evaluation.explanations.pairs import check_pair, left_out
    from ranker.evaluation.explanations.sources import explained_candidates, explained_pairs, sources_of
    from ranker.ranking import Ranker

    loaded = Ranker.load(model) if model is not None else None
    files = files_for(loaded.feature_set.members if loaded else (), inputs.given)
    ranker = loaded.with_files(files) if loaded else None
    dataset = inputs.read(ranker.feature_set.members if ranker else ())
    if pair is not None:
        check_pair(dataset, *pair)
    chosen = sources_of(dataset, seg_id)
    if not len(chosen):
        raise _no_source(seg_id, dataset.name)
    ranker = ranker or Ranker.load(suited_model(dataset))
    with working("explaining"):
        note = ranker.note(dataset)
        matrix = ranker.contributions(dataset)
    if note:
        print_note(note)
    signature = f"{ranker.signature()}|ranked:{dataset.name}#{dataset.fingerprint[:8]}"
    if pair is None:
        with working("explaining"):
            groups = [*explained_candidates(ranker, dataset, matrix, chosen)]
        _print_candidates(groups, signature, _parts(ranker.feature_set, level or "family"), form)
        return
    rows = check_pair(dataset, *pair)[chosen]
    with working("explaining"):
        groups = [*explained_pairs(ranker, dataset, matrix, rows)]
    parts = _parts(ranker.feature_set, level) if level else {}
    _print_pairs(groups, pair, left_out(rows), dataset.name, signature, parts, form)


def _no_source(seg_id: str | None, data: str) -> OptionError:
    return OptionError(f"--seg-id {seg_id}: no source of {data} has this seg_id")


def _list_weights(model: Path | None, form: OutputForm) -> None:
    from ranker.ranking import Ranker

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
    emit_rows(form, weights, signature=shown.signature())


def _print_candidates(
    groups: list[dict[str, Any]], signature: str, parts: dict[str, list[str]], form: OutputForm
) -> None:
    """Print the contributions to the scores of all candidates, source by source."""

    def rows(group: dict[str, Any]) -> list[dict[str, Any]]:
        keys = {"lp": group.get("lp"), "seg_id": group.get("seg_id")}
        return [
            {**keys, "system": candidate["system"], "score": candidate["score"], **candidate["contributions"]}
            for candidate in group["candidates"]
        ]

    def show() -> None:
        for group in groups:
            _print(group, parts)
        say_signatures(signature)

    document = {"signature": signature, "sources": groups}
    emit(form, document, [row for group in groups for row in rows(group)], show, groups)


def _print_pairs(
    groups: list[dict[str, Any]],
    pair: tuple[str, str],
    skipped: int,
    data: str,
    signature: str,
    parts: dict[str, list[str]],
    form: OutputForm,
) -> None:
    """Print why one system is above the other, source by source and on average."""
    from ranker.evaluation.explanations.pairs import headline, mean_difference, nothing_to_compare

    sums = [(group["difference"], group["families"]) for group in groups]
    if not sums:
        raise nothing_to_compare(data, *pair)
    difference, families = mean_difference([total for total, _ in sums], [amounts for _, amounts in sums])
    if skipped:
        print_note(f"skipped: {counted(skipped, 'source')} translated by only one of the two systems")

    def show() -> None:
        for group in groups:
            _print_pair(group, parts)
        if len(sums) > 1:
            say(f"mean of {len(sums):,} sources: {headline(*pair, difference, families)}", "")
        say_signatures(signature)

    first, second = pair
    means = {"first": first, "second": second, "difference": difference, "families": families}
    document = {"signature": signature, **means, "left_out": skipped, "sources": groups}
    emit(form, document, list(map(_flat, groups)), show, groups)


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
    return {
        title: [name for name, family in members if family == title] for title in FAMILIES if title in features.families
    }


def _print(group: dict[str, Any], parts: dict[str, list[str]]) -> None:
    """Print one source: what contributes down, candidates across, and below what matched."""
    candidates = group["candidates"]
    rows = [
        {
            "contribution of": name,
            **{item["system"]: sum(map(item["contributions"].get, columns)) for item in candidates},
        }
        for name, columns in parts.items()
    ]
    rows.append({"contribution of": "score", **{item["system"]: item["score"] for item in candidates}})
    print_table(rows, _title(group))
    for candidate in candidates:
        say("", f"{candidate['system']}: {candidate['text']}")
        for extractor, matches in candidate.get("matches", {}).items():
            for reference, words in matches.items():
                say(f"  {extractor}, matches in {reference}: {', '.join(words) or 'none'}")
    typer.echo("")


def _print_pair(group: Mapping[str, Any], parts: dict[str, list[str]]) -> None:
    """Print why one candidate is above another: the texts, the families, and the strongest differences."""
    from ranker.evaluation.explanations.pairs import PairExplanation

    explained = PairExplanation.read(group)
    say(_title(group))
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


def _title(group: Mapping[str, Any]) -> str:
    key = " ".join(group[name] for name in ("lp", "seg_id") if name in group)
    return f"{key}  {group['source']}".rstrip()
