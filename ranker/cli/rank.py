"""``ranker rank``."""

from __future__ import annotations

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
from ranker.cli.output import emit_csv, emit_json, emit_lines, print_table, show
from ranker.cli.scorer import MetricOption, Scorer
from ranker.errors import OptionError

if TYPE_CHECKING:
    from ranker.corpora.dataset import Dataset


def command(
    data: DataArgument = None,
    model: ModelOption = None,
    metric: MetricOption = None,
    contributions: Annotated[
        bool, typer.Option("--contributions", help="Add what every column contributes to a score.")
    ] = False,
    lp: LpOption = None,
    source: SourceOption = None,
    references: ReferencesOption = None,
    translations: TranslationsOption = None,
    jobs: JobsOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Rank the candidate translations of every source, best first.

    Without --model or --metric the ranker that ships is used: full for English, full-any for other languages. Scores
    order the candidates of one source; those of different sources are not comparable.

    Example: ranker rank candidates.json
    """
    scorer, dataset = Scorer.chosen(
        model, metric, lambda: read_input([data] if data else [], source, references, translations, lp)
    )
    from ranker.ordering import rank_by
    from ranker.ranking import Ranker

    with working("ranking"):
        parts: dict[str, Any] = {}
        if contributions:
            if not isinstance(scorer.using, Ranker):
                raise OptionError("--contributions needs --model; a metric has one column")
            scorer.say_note(dataset)
            matrix = scorer.using.explain(dataset)
            parts = dict(zip(scorer.using.feature_set.columns, matrix.T, strict=True))
            scores = matrix.sum(axis=1)
        else:
            scores = scorer.score(dataset)
        ranking = rank_by(dataset, scores)
    texts = dataset.candidates["text"].to_numpy(object)[ranking["candidate"]]
    rows: list[dict[Any, Any]] = ranking[["rank", "tied", "system", "score", "margin"]].to_dict("records")
    for row, candidate, text in zip(rows, ranking["candidate"], texts, strict=True):
        if parts:
            row["contributions"] = {name: column[candidate] for name, column in parts.items()}
        row["text"] = text
    groups = _groups(dataset, list(ranking["source"]), rows)
    signature = scorer.signature(dataset)
    if output is Output.json:
        emit_json({"signature": signature, "sources": groups})
    elif output is Output.jsonl:
        emit_lines(groups)
    elif output is Output.csv:
        emit_csv([_flat(group, row) for group in groups for row in group["ranking"]])
    else:
        for group in groups:
            print_table([_shown(row) for row in group["ranking"]], _title(group), wide=("text",))
            typer.echo("")
        typer.echo(signature)


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
    parts = row.get("contributions", {})
    return {**facts, **{key: value for key, value in row.items() if key != "contributions"}, **parts}


def _title(group: dict[str, Any]) -> str:
    key = " ".join(group[name] for name in ("lp", "seg_id") if name in group)
    return f"{key}  {group['source']}"


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    shown = {
        "rank": f"{row['rank']}{'=' if row['tied'] else ''}",
        "system": row["system"],
        "score": show(row["score"]),
        "margin": show(row["margin"]),
    }
    shown.update({name: show(value) for name, value in row.get("contributions", {}).items()})
    return {**shown, "text": row["text"]}
