"""``ranker explain``: what a ranker's scores consist of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Option

from ranker.cli.options import Input, ModelOption, OutputForm, working
from ranker.cli.output import ModelScore, emit, print_note, print_table, say, say_signatures, source_title
from ranker.cli.scorer import files_for, suited_model
from ranker.errors import OptionError, counted

if TYPE_CHECKING:
    from ranker.arrays import Int64Array
    from ranker.corpora.dataset import Dataset
    from ranker.evaluation.explanations.pairs import PairExplanation
    from ranker.evaluation.explanations.spans import CandidateSpans, Span
    from ranker.ranking.feature_set import FeatureSet


By = Literal["family", "extractor", "feature"]
"""Parts of the score that each row of a table sums over."""


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
    by: Annotated[
        By | None,
        Option(
            help="Sum contributions by feature group (words, fluency, ...) or by extractor, or list every feature, in "
            "tables.",
            show_default="family",
        ),
    ] = None,
    spans: Annotated[
        bool, Option("--spans", help="Mark the words that cost most, with position, severity and cost.")
    ] = False,
    form: OutputForm = "table",
) -> None:
    """Explain the score of a candidate, or the ranking of two.

    The model is linear, so the contributions of its features sum exactly to the score. Many features measure nearly the
    same thing, so tables sum them by group: words, word order, syntax, fluency, similarity, mismatch, agreement and
    length.
    For two systems, --pair prints for every source the score difference by feature group, the five extractors with the
    largest differences, and the words responsible. --spans marks the words that cost most, as errors with a position in
    characters, a severity and a cost; with the rest, the costs add up to the distance from the score of the reference.
    Without data, the weights of the model are listed. Without --model, the included ranker for the language is used.

    Example: ranker explain candidates.json --pair A C
    """
    if spans and (by is not None or pair is not None):
        raise OptionError("--spans marks words of single candidates: leave out --pair and --by")
    if not (inputs.data or inputs.parallel):
        if pair is not None:
            raise OptionError("--pair needs data: ranker explain DATA --pair A B")
        if spans:
            raise OptionError("--spans needs data: ranker explain DATA --spans")
        _list_weights(model, form)
        return
    import numpy as np

    from ranker.checks.faults import faults
    from ranker.checks.outputs import records
    from ranker.evaluation.explanations.pairs import check_pair, explain_pairs
    from ranker.evaluation.explanations.sources import (
        explain_candidate,
        source_facts,
        sources_of,
        without_unread_sources,
    )
    from ranker.ranking.ranker import Ranker

    loaded = Ranker.load(model) if model is not None else None
    files = files_for(loaded.feature_set.members if loaded else (), inputs.given)
    ranker = loaded.with_files(files) if loaded else None
    dataset = inputs.read(ranker.feature_set.members if ranker else ())
    if pair is not None:
        check_pair(dataset, *pair)
    chosen = sources_of(dataset, seg_id)
    if not len(chosen):
        raise OptionError(f"--seg-id {seg_id}: no source of {dataset.name} has this seg_id")
    ranker = ranker or Ranker.load(suited_model(dataset, metrics=False))
    with working("explaining"):
        explained = dataset.select_sources(np.isin(range(len(dataset.sources)), chosen))
        notes = ranker.note(ranker.votes.voters(dataset)), ranker.votes.note(explained)
        votes = ranker.votes
        matrix = votes.values(dataset, ranker.contributions)
        wrong = faults(dataset).tolist()
        any_wrong = any(wrong)
    for note in filter(None, notes):
        print_note(note)
    signature = f"{ranker.signature()}|ranked:{dataset.name}#{dataset.fingerprint[:8]}"
    ranker, matrix = without_unread_sources(ranker, dataset, matrix)
    if spans:
        from ranker.evaluation.explanations.spans import candidate_spans, spans_frame

        with working("explaining"):
            found = [*candidate_spans(ranker, dataset, matrix, np.isin(dataset.candidate_source, chosen), votes)]
        table = records(spans_frame(dataset, found))
        emit(form, None, table, lambda: _print_spans(dataset, found, wrong, signature), signature=signature)
        return
    if pair is not None:
        rows = check_pair(dataset, *pair, chosen)
        with working("explaining"):
            pairs = [*explain_pairs(ranker, dataset, matrix, rows)]
        parts = _parts(ranker.feature_set, by) if by else {}
        _print_pairs(dataset, pairs, rows, signature, parts, wrong, form)
        return
    groups = []
    with working("explaining"):
        for source in chosen.tolist():
            block = range(*dataset.candidate_offsets[source : source + 2])
            candidates = [
                {
                    **explain_candidate(ranker, dataset, matrix[row], row),
                    **({"fault": wrong[row]} if wrong[row] else {}),
                }
                for row in block
            ]
            groups.append({**source_facts(dataset, source), "candidates": candidates})
    parts = _parts(ranker.feature_set, by or "family")
    flat = [
        {
            "lp": group.get("lp"),
            "seg_id": group.get("seg_id"),
            "system": candidate["system"],
            "score": candidate["score"],
            **({"fault": candidate.get("fault")} if any_wrong else {}),
            **candidate["contributions"],
        }
        for group in groups
        for candidate in group["candidates"]
    ]

    def show() -> None:
        for group in groups:
            _print_candidates(group, parts)
        say_signatures(signature)

    emit(form, {"signature": signature, "sources": groups}, flat, show, groups)


def _list_weights(model: Path | None, form: OutputForm) -> None:
    from ranker.ranking.ranker import Ranker

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
    emit(form, None, weights, signature=shown.signature())


def _print_pairs(
    dataset: Dataset,
    explained: list[PairExplanation],
    rows: Int64Array,
    signature: str,
    parts: dict[str, list[str]],
    wrong: list[str],
    form: OutputForm,
) -> None:
    """Print the reasons why one system scores higher than the other, source by source and on average."""
    from ranker.checks.faults import outranked
    from ranker.evaluation.explanations.pairs import headline, left_out, mean_difference
    from ranker.evaluation.explanations.sources import source_facts

    first, second = explained[0].first, explained[0].second
    facts = [source_facts(dataset, each.source) for each in explained]
    pairs = rows[(rows >= 0).all(axis=1)].tolist()
    faulty = [{"faults": found} if any(found := [wrong[row] or None for row in pair]) else {} for pair in pairs]
    groups = [{**asdict(each), **known, **more} for each, known, more in zip(explained, facts, faulty, strict=True)]
    difference, families = mean_difference(explained)
    behind = outranked(dataset)[pairs]
    skipped = left_out(rows)
    if skipped:
        print_note(f"skipped: {counted(skipped, 'source')} translated by only one of the two systems")

    def show() -> None:
        for each, known, pair, last in zip(explained, facts, pairs, behind.tolist(), strict=True):
            say(source_title(known))
            for system, text, row in zip(
                (each.first, each.second), (each.first_text, each.second_text), pair, strict=True
            ):
                say(f"  {system}: {text}", *_fault_lines(wrong[row]))
            if last[0] == last[1]:
                say(each.headline)
            else:
                below = last.index(True)
                order = f"{(second, first)[below]} is above {(first, second)[below]}"
                say(f"{order}, which is no translation ({wrong[pair[below]]}); by score alone, {each.headline}")
            if parts:
                sums = {name: sum(map(each.features.__getitem__, parts[name])) for name in parts}
                sums["score"] = each.difference
                print_table([{"": name, "difference": ModelScore(value)} for name, value in sums.items()])
            else:
                say(*(f"  {line}" for line in each.reasons))
            say("")
        if len(explained) > 1:
            by_fault = int((behind[:, 0] != behind[:, 1]).sum())
            alone = f", by score alone (a fault decides in {by_fault:,} of them)" if by_fault else ""
            say(f"mean of {len(explained):,} sources{alone}: {headline(first, second, difference, families)}", "")
        say_signatures(signature)

    keys = ("lp", "doc", "seg_id", "first", "second", "first_score", "second_score", "difference")
    flat = [
        {key: group.get(key) for key in keys}
        | (
            dict(zip(("first_fault", "second_fault"), group.get("faults", (None, None)), strict=True))
            if any(faulty)
            else {}
        )
        | {f"family.{name}": value for name, value in group["families"].items()}
        | group["features"]
        for group in groups
    ]
    means = {"first": first, "second": second, "difference": difference, "families": families}
    emit(form, {"signature": signature, **means, "left_out": skipped, "sources": groups}, flat, show, groups)


def _print_spans(dataset: Dataset, explained: Sequence[CandidateSpans], wrong: Sequence[str], signature: str) -> None:
    """Print every candidate with its error spans in brackets, followed by the cost of each span."""
    from ranker.evaluation.explanations.sources import source_facts

    before = None
    for each in explained:
        source = int(dataset.candidate_source[each.row])
        if source != before:
            say(*([""] if before is not None else []), source_title(source_facts(dataset, source)))
            before = source
        system, text = (dataset.candidates[name].iloc[each.row] for name in ("system", "text"))
        say(f"  {system}: {_bracketed(text, each.spans)}", *_fault_lines(wrong[each.row]))
        for span in each.spans:
            place = "" if span.start is None else f"{span.start}-{span.end}"
            told = [span.category, *([f"in the {span.side}: {span.text}"] if span.side != "target" else [])]
            told += [f"in the reference: {span.instead}"] if span.instead else []
            severity = span.severity if span.severity in ("minor", "major") else ""
            say(f"  {span.cost:+9.2f}  {severity:<5}  {place:<9}  {'; '.join(told)}")
        say(f"  {each.distance:+9.2f}  behind the best {each.against}")
    say("")
    say_signatures(signature)


def _bracketed(text: str, spans: Sequence[Span]) -> str:
    parts, end = [], 0
    for span in spans:
        if span.start is not None and span.end is not None and span.side == "target" and span.start >= end:
            parts += [text[end : span.start], f"[{text[span.start : span.end]}]"]
            end = span.end
    return "".join([*parts, text[end:]])


def _fault_lines(fault: str | None) -> list[str]:
    return [f"  fault: {fault}"] if fault else []


def _parts(features: FeatureSet, by: By) -> dict[str, list[str]]:
    """Return the feature columns whose contributions each table line adds up, keyed by the name of the line."""
    if by == "feature":
        return {name: [name] for name in features.columns}
    if by == "extractor":
        return {str(extractor): list(extractor.columns) for extractor in features.extractors}
    from ranker.evaluation.explanations.pairs import FAMILIES

    members = list(zip(features.columns, features.families, strict=True))
    return {
        title: [name for name, family in members if family == title] for title in FAMILIES if title in features.families
    }


def _print_candidates(group: dict[str, Any], parts: dict[str, list[str]]) -> None:
    """Print one source: a table of contributions by candidate, then the words that matched."""
    candidates = group["candidates"]
    rows = [
        {
            "contribution of": name,
            **{item["system"]: ModelScore(sum(map(item["contributions"].get, columns))) for item in candidates},
        }
        for name, columns in parts.items()
    ]
    rows.append({"contribution of": "score", **{item["system"]: ModelScore(item["score"]) for item in candidates}})
    print_table(rows, source_title(group))
    for candidate in candidates:
        say("", f"{candidate['system']}: {candidate['text']}")
        say(*_fault_lines(candidate.get("fault")))
        for extractor, matches in candidate.get("matches", {}).items():
            for reference, words in matches.items():
                found = "differences from" if extractor.startswith("mismatch") else "matches in"
                say(f"  {extractor}, {found} {reference}: {', '.join(words) or 'none'}")
    say("")
