"""``ranker rank``."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from ranker.cli.options import Input, JobsOption, ModelOption, OutputForm, working
from ranker.cli.output import emit, print_table, say_signatures, show
from ranker.cli.scorer import MetricOption, chosen, print_notes, print_tied, result_signature, single
from ranker.cli.sharded import ShardOptions, emit_written_files, processed

if TYPE_CHECKING:
    from ranker.corpora.dataset import Dataset


def command(
    inputs: Input,
    sharding: ShardOptions,
    model: ModelOption = None,
    metric: MetricOption = None,
    contributions: Annotated[
        bool,
        Option(
            "--contributions",
            help="Add the contributions of features to the score: by feature group (words, fluency, ...), and also "
            "individually in formats other than table.",
        ),
    ] = False,
    jobs: JobsOption = None,
    form: OutputForm = "table",
) -> None:
    """Rank the candidate translations of each source, best first.

    Without --model or --metric an included ranker is used: full for English, full-any for other languages, or, without
    references, consensus, which compares the candidates of a source with each other. Scores are comparable only among
    the candidates of the same source.

    Shards (ranker data shard) are ranked one at a time, and the ranks are written to --out.

    Example: ranker rank candidates.json
    """
    shards = sharding.find(inputs, {"--contributions": contributions}, must_write=True)
    if shards is not None:
        from ranker.scaling.tables import NamedScorers, ranks

        named = NamedScorers.single(single(metric), model, references=not inputs.no_references)
        with processed(shards, sharding, functools.partial(ranks, named), named, "ranks") as (results, signatures):
            emit_written_files(form, results, signatures, sharding.out)
        return
    scorer, dataset = chosen(model, metric, inputs)
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
        print_tied(scorer, dataset, scores)
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
    emit(form, {"signature": signature, "sources": groups}, flat, show_all, groups)


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
