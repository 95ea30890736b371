"""``ranker tune``: weights of a system's features that maximise a metric."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from ranker.cli.commands import refuse_overwriting
from ranker.cli.options import MOST_SEARCHES, DocumentFormat, SeedOption
from ranker.cli.output import emit, print_note, print_table, say, say_signatures, shows_progress
from ranker.cli.scorer import listed, print_notes, single
from ranker.errors import OptionError, counted
from ranker.evaluation.choices import FEW_SOURCES
from ranker.signature import make_signature

if TYPE_CHECKING:
    from ranker.apps.tuning.iterations import Tuned
    from ranker.corpora.dataset import Dataset
    from ranker.ranking.scorers import Scorer

RefsOption = Annotated[
    list[Path] | None,
    Option("--references", "-r", help="References, one per line: one or more files.", metavar="FILE..."),
]
SourceOption = Annotated[Path | None, Option("--source", "-s", help="Source sentences, for metrics that use them.")]


def command(
    nbest: Annotated[Path | None, Option(help="N-best list in Moses format to tune on.")] = None,
    refs: RefsOption = None,
    source: SourceOption = None,
    metric: Annotated[
        list[str] | None, Option("--metric", "-m", help="Metric to tune to, such as bleu[order=4].", metavar="METRIC")
    ] = None,
    model: Annotated[Path | None, Option("--model", "-M", help="Tune to a trained ranker instead.")] = None,
    start: Annotated[Path | None, Option(help="Initial weights (default: all equal).")] = None,
    fix: Annotated[
        list[str] | None,
        Option(help="Keep the weight of a feature or column fixed, at VALUE if given.", metavar="NAME[=VALUE]"),
    ] = None,
    bounds: Annotated[
        list[str] | None, Option(help="Bounds for the weights of a feature or column.", metavar="NAME=LOW:HIGH")
    ] = None,
    restarts: Annotated[int, Option(help="Random starting points per iteration.", min=0, max=MOST_SEARCHES)] = 20,
    decoder: Annotated[
        str | None, Option(help="Decoder command, called as CMD WEIGHTS NBEST to write an n-best list.", metavar="CMD")
    ] = None,
    iterations: Annotated[
        int | None,
        Option(help="Maximum number of iterations (default 1, or 25 with --decoder).", min=1, max=MOST_SEARCHES),
    ] = None,
    state: Annotated[
        Path | None,
        Option(
            help="Directory that keeps the lists of --decoder, to continue an interrupted run (default: PREFIX.state).",
            metavar="DIRECTORY",
        ),
    ] = None,
    weights: Annotated[
        Path,
        Option("--weights", "-w", help="Write weights to PREFIX.json, and to PREFIX.ini for Moses.", metavar="PREFIX"),
    ] = Path("tuned"),
    report: Annotated[
        list[str] | None, Option(help="Other metrics to score the chosen translations with.", metavar="METRIC")
    ] = None,
    seed: SeedOption = 0,
    form: DocumentFormat = "table",
) -> None:
    """Tune the weights of a system's features to a metric (MERT).

    The command finds the weights that choose the best-scoring hypotheses from n-best lists. Line searches are exact for
    the metric. Scores are corpus-level, so a ranker scores without features that compare candidates.

    Example: ranker tune --nbest dev.nbest --references dev.ref0 --metric "bleu[order=4]"
    """
    if state is not None and decoder is None:
        raise OptionError("--state keeps the lists of a decoder: give --decoder too")
    from ranker.apps.tuning.decoder import Decoder
    from ranker.apps.tuning.hypotheses import read_references
    from ranker.apps.tuning.iterations import IterationPlan, tune
    from ranker.apps.tuning.mert import MertSearch
    from ranker.apps.tuning.state import State
    from ranker.apps.tuning.weights import read_weights, weights_files, write_weights
    from ranker.corpora.formats.nbest_reading import read_nbest
    from ranker.ranking.scorers import make_scorer, systems_scorer

    inputs = [*(refs or []), *(path for path in (nbest, source, start) if path is not None)]
    refuse_overwriting(weights_files(weights), [str(path) for path in inputs])
    # hypotheses of a growing list and of a choice must have the same scores
    objective = systems_scorer(make_scorer(single(metric), model))
    further = (systems_scorer(make_scorer(name, None)) for name in listed(report))
    reported = list({scorer.name: scorer for scorer in (objective, *further)}.values())
    called = Decoder(decoder) if decoder is not None else None
    references = read_references(refs or [], source)
    print_notes(reported, references)
    plan = IterationPlan(
        search=MertSearch(restarts=restarts, seed=seed),
        iterations=iterations if iterations is not None else 25 if called else 1,
        fixed=tuple(fix or ()),
        bounds=tuple(bounds or ()),
    )
    tuned = tune(
        objective,
        references,
        read_nbest(nbest) if nbest is not None else None,
        start=read_weights(start) if start is not None else None,
        decoder=called,
        state=State(state or Path(f"{weights}.state")) if called else None,
        plan=plan,
        report=_say,
    )
    signature = _signature(objective, references, tuned, plan)
    written = write_weights(tuned.weights, weights, signature=signature, score=tuned.steps[-1].score)
    rows = [_scores(scorer, references, tuned) for scorer in reported]
    if len(references.sources) < FEW_SOURCES:
        print_note(f"only {counted(len(references.sources), 'sentence')}: the weights may not suit other texts")
    if tuned.weights.values == tuned.start.values:
        print_note(f"no weights give a better {objective.name} than the initial ones, which are unchanged")
    _print(tuned, rows, signature, [str(path) for path in written], form)


def _say(line: str) -> None:
    if shows_progress():
        say(f"ranker: {line}", err=True)


def _scores(objective: Scorer, references: Dataset, tuned: Tuned) -> dict[str, Any]:
    from ranker.apps.tuning.reranking import best_hypotheses, model_scores, score_of_choice

    nbest, number = tuned.nbest, len(references.sources)
    before, after = (
        score_of_choice(nbest, references, objective, best_hypotheses(nbest, model_scores(nbest, weights), number))
        for weights in (tuned.start, tuned.weights)
    )
    return {"sentences of": "tuning", "metric": objective.name, "start": before, "tuned": after}


def _signature(objective: Scorer, references: Dataset, tuned: Tuned, plan: Any) -> str:
    from ranker.apps.tuning.hypotheses import list_digest
    from ranker.ranking.scorers import result_head

    parts = {
        "lists": list_digest(tuned.nbest)[:8],
        "references": references.fingerprint[:8],
        "restarts": plan.search.restarts,
        "directions": plan.search.directions,
        "fixed": ",".join(plan.fixed) or None,
        "bounds": ",".join(plan.bounds) or None,
        "iterations": len(tuned.steps),
        "seed": plan.search.seed,
    }
    return make_signature(result_head(objective), parts)


def _print(tuned: Tuned, rows: list[dict[str, Any]], signature: str, written: list[str], form: DocumentFormat) -> None:
    import dataclasses

    steps = [dataclasses.asdict(step) for step in tuned.steps]
    weights = [
        {"column": column, "start": before, "tuned": after}
        for column, before, after in zip(tuned.nbest.columns, tuned.start.values, tuned.weights.values, strict=True)
    ]
    facts = {"signature": signature, "stopped": tuned.stopped, "written": written}

    def show() -> None:
        shown = ("iteration", "hypotheses", "new", "start", "score", "best_start", "searches", "seconds")
        say(f"stopped: {tuned.stopped}", "")
        print_table([{key: step[key] for key in shown} for step in steps])
        typer.echo("")
        print_table(weights)
        typer.echo("")
        print_table(rows)
        say("")
        say_signatures(signature)
        say(*(f"written: {path}" for path in written))

    emit(form, {**facts, "iterations": steps, "weights": weights, "scores": rows}, rows, show)
