"""``ranker rank``: the candidates of each source, best first."""

from __future__ import annotations

import math
from functools import partial
from typing import Annotated, Any

from typer import Option

from ranker.cli.options import ChecksOption, Input, ModelOption, OutputForm, working
from ranker.cli.output import ModelScore, emit, print_note, print_table, say, say_signatures, show, source_title
from ranker.cli.scorer import MetricOption, chosen, print_notes, print_tied, result_signature, single
from ranker.cli.sharded import ShardOptions, emit_files
from ranker.errors import OptionError

_FIGURES = ("rank", "tied", "system", "score", "margin", "confidence", "likely_tie", "fault")


def command(
    inputs: Input,
    sharding: ShardOptions,
    model: ModelOption = None,
    metric: MetricOption = None,
    confidence: Annotated[
        bool,
        Option(
            "--confidence",
            help="Show the probability that each candidate is preferred to the next by people who prefer one of them.",
        ),
    ] = False,
    checks: ChecksOption = True,
    form: OutputForm = "table",
) -> None:
    """Rank the candidate translations of each source, best first.

    Without --model or --metric an included ranker is used: full for English, full-any for other languages, or, without
    references, consensus, which compares the candidates of a source with each other. Scores are comparable only among
    the candidates of the same source. Where the margin to the next candidate is so small that people would call the two
    equal, the table says tied.

    Candidates that are no translation (empty, a copy of the source, in another language, a refusal, repeated words; see
    ranker check) are ranked behind all others and have no vote in consensus. Without references, a source needs three
    candidates, which are compared with each other.

    Shards (ranker data shard) are ranked one at a time, and the ranks are written to --out.

    Example: ranker rank candidates.json
    """
    shards = sharding.find(inputs, {"--confidence": confidence}, must_write=True)
    if shards is not None:
        from ranker.apps.scaling.tables import NamedScorers, ranks

        named = NamedScorers.single(single(metric), model, references=not inputs.no_references, checks=checks)
        emit_files(form, shards, sharding, named, "ranks", ranks)
        return
    scorer, dataset = chosen(model, metric, inputs)
    import numpy as np

    from ranker.checks.faults import faults
    from ranker.evaluation.explanations.sources import source_facts
    from ranker.ranking.by_score import rank_by
    from ranker.ranking.scorers import candidate_scores, certainty_of, votes_of

    if confidence and not certainty_of(scorer, dataset, np.zeros(0, np.int64), np.zeros(0)):
        what = f"--confidence: {scorer.name} gives no confidence"
        raise OptionError(f"{what}: choose a model that ranker train made with cross-validation or --calibrate")
    compute, votes = partial(candidate_scores, scorer), votes_of(scorer)
    with working("ranking"):
        scores = votes.values(dataset, compute) if checks else compute(dataset)
        voters = votes.voters(dataset) if checks else dataset
        print_notes([scorer], voters)
        if checks and (note := votes.note(dataset)):
            print_note(f"{note}; rank them by score with --no-checks")
        ranking = rank_by(dataset, scores, faults(dataset) if checks else None)
        ranking = ranking.assign(**certainty_of(scorer, voters, ranking["source"], ranking["margin"]))
        print_tied(scorer, dataset, scores)
    texts = dataset.candidates["text"].to_numpy(object)
    rows: list[dict[Any, Any]] = ranking[[name for name in _FIGURES if name in ranking]].to_dict("records")
    groups: dict[int, dict[str, Any]] = {}
    for row, source, candidate in zip(rows, ranking["source"], ranking["candidate"], strict=True):
        row["text"] = texts[candidate]
        if source not in groups:
            groups[source] = {**source_facts(dataset, source), "ranking": []}
        groups[source]["ranking"].append(row)
    listed = [*groups.values()]
    signature = result_signature(scorer, dataset, scored=voters)

    def show_all() -> None:
        number = float if metric else ModelScore
        for group in listed:
            rows = [_shown(row, number, confidence=confidence) for row in group["ranking"]]
            print_table(rows, source_title(group), wide=("text",))
            say("")
        say_signatures(signature)

    flat = [_flat(group, row) for group in listed for row in group["ranking"]]
    emit(form, {"signature": signature, "sources": listed}, flat, show_all, listed)


def _flat(group: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    facts = {key: group.get(key) for key in ("lp", "doc", "seg_id", "source")}
    return {**facts, **row}


def _shown(row: dict[str, Any], number: type[float], *, confidence: bool) -> dict[str, Any]:
    shown = {"rank": f"{row['rank']}{'=' if row['tied'] else ''}", "system": row["system"]}
    shown["score"] = show(number(row["score"]))
    shown["margin"] = show(number(row["margin"])) + (" tied" if row.get("likely_tie") else "")
    if confidence:
        shown["confidence"] = "-" if math.isnan(row["confidence"]) else f"{row['confidence']:.0%}"
    shown |= {"fault": row["fault"] or ""} if "fault" in row else {}
    return {**shown, "text": row["text"]}
