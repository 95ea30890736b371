"""``ranker rank``."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ranker.cli.options import (
    DataOption,
    FormatOption,
    JobsOption,
    LpOption,
    ModelOption,
    NoReferencesOption,
    OutputForm,
    ReferencesOption,
    SourceOption,
    TranslationsOption,
    read_input,
    working,
)
from ranker.cli.output import Result, emit, print_table, say_signatures, show
from ranker.cli.scorer import GivenOption, MetricOption, chosen, print_notes, result_signature, single
from ranker.cli.sharded import (
    OutOption,
    SchedulerOption,
    Sharded,
    WorkersOption,
    processed,
    sharded_input,
    written_files,
)

if TYPE_CHECKING:
    from ranker.corpora.dataset import Dataset


def command(
    data: DataOption = None,
    model: ModelOption = None,
    metric: MetricOption = None,
    contributions: Annotated[
        bool,
        typer.Option(
            "--contributions",
            help="Add the contributions of features to the score: by feature group (words, fluency, ...), and also "
            "individually in formats other than table.",
        ),
    ] = False,
    given: GivenOption = None,
    lp: LpOption = None,
    source: SourceOption = None,
    references: ReferencesOption = None,
    no_references: NoReferencesOption = False,
    translations: TranslationsOption = None,
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    out: OutOption = None,
    jobs: JobsOption = None,
    form: FormatOption = "table",
) -> None:
    """Rank the candidate translations of each source, best first.

    Without --model or --metric an included ranker is used: full for English, full-any for other languages, or, without
    references, consensus, which compares the candidates of a source with each other. Scores are comparable only among
    the candidates of the same source.

    Shards (ranker data shard) are ranked one at a time, and the ranks are written to --out.

    Example: ranker rank candidates.json
    """
    unsuited = {
        "--lp": lp,
        "-s": source,
        "-r": references,
        "-t": translations,
        "--given": given,
        "--contributions": contributions,
    }
    sharded = sharded_input(data or [], workers, scheduler, out, unsuited=unsuited, must_write=True)
    if sharded is not None:
        _rank_shards(sharded, single(metric), model, form, references=not no_references)
        return
    scorer, dataset = chosen(
        model,
        metric,
        lambda extractors: read_input(
            data or [],
            source,
            references,
            translations,
            lp,
            no_references=no_references,
            extractors=extractors,
        ),
        given,
    )
    import numpy as np

    from ranker.evaluation.explanations.pairs import by_family
    from ranker.extractors.scorers import rank_by

    with working("ranking"):
        parts = scorer.contributions(dataset) if contributions else {}
        print_notes([scorer], dataset)
        # the sum along rows, as the ranker takes it itself
        matrix = np.stack(list(parts.values()), axis=1) if parts else None
        scores = scorer.candidate_scores(dataset) if matrix is None else matrix.sum(axis=1)
        families = {} if matrix is None else by_family(matrix, scorer.families)
        ranking = rank_by(dataset, scores)
    texts = dataset.candidates["text"].to_numpy(object)[ranking["candidate"]]
    rows: list[dict[Any, Any]] = ranking[["rank", "tied", "system", "score", "margin"]].to_dict("records")
    for row, candidate, text in zip(rows, ranking["candidate"], texts, strict=True):
        if parts:
            row["families"] = {name: values[candidate] for name, values in families.items()}
            row["contributions"] = {name: column[candidate] for name, column in parts.items()}
        row["text"] = text
    groups = _groups(dataset, list(ranking["source"]), rows)
    signature = result_signature(scorer, dataset)

    def show_all() -> None:
        for group in groups:
            print_table([_shown(row) for row in group["ranking"]], _title(group), wide=("text",))
            typer.echo("")
        say_signatures(signature)

    flat = [_flat(group, row) for group in groups for row in group["ranking"]]
    emit(Result({"signature": signature, "sources": groups}, flat, show_all, groups), form)


def _rank_shards(
    sharded: Sharded, metric: str | None, model: Path | None, form: OutputForm, *, references: bool
) -> None:
    from ranker.scaling.tables import NamedScorers, ranks

    named = NamedScorers.single(metric, model, references=references)
    with processed(sharded, functools.partial(ranks, named), named, "ranks") as (parts, signatures):
        emit(written_files(parts, signatures, sharded.out), form)


def _groups(dataset: Dataset, sources: list[int], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    groups: list[dict[str, Any]] = []
    last = -1
    for source, row in zip(sources, rows, strict=True):
        if source != last:
            facts = dataset.sources.iloc[source]
            known = {key: facts[key] for key in ("lp", "doc", "seg_id") if isinstance(facts[key], str)}
            groups.append({**known, "source": facts["text"], "ranking": []})
            last = source
        groups[-1]["ranking"].append(row)
    return groups


def _flat(group: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    facts = {key: group.get(key) for key in ("lp", "doc", "seg_id", "source")}
    families = {f"family.{name}": value for name, value in row.get("families", {}).items()}
    figures = {key: value for key, value in row.items() if key not in ("families", "contributions")}
    return {**facts, **figures, **families, **row.get("contributions", {})}


def _title(group: dict[str, Any]) -> str:
    key = " ".join(group[name] for name in ("lp", "seg_id") if name in group)
    return f"{key}  {group['source']}".rstrip()


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    shown = {
        "rank": f"{row['rank']}{'=' if row['tied'] else ''}",
        "system": row["system"],
        "score": show(row["score"]),
        "margin": show(row["margin"]),
    }
    shown.update({name: show(value) for name, value in row.get("families", {}).items()})
    return {**shown, "text": row["text"]}
