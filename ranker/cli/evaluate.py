"""``ranker evaluate``."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ranker.cli.options import (
    DataOption,
    JobsOption,
    KindOption,
    LpOption,
    ModelOption,
    Output,
    OutputOption,
    ReferencesAsCandidatesOption,
    ReferencesOption,
    SeedOption,
    SourceOption,
    TranslationsOption,
    read_input,
    working,
)
from ranker.cli.output import emit_csv, emit_json, emit_lines, interval, print_table
from ranker.cli.scorer import MetricOption, Scorer

if TYPE_CHECKING:
    from ranker.corpora.dataset import Dataset
    from ranker.evaluation.correlation.segment import Estimate, Evaluation, Row


def command(
    data: DataOption = None,
    model: ModelOption = None,
    metric: MetricOption = None,
    kind: KindOption = "auto",
    references_as_candidates: ReferencesAsCandidatesOption = False,
    lp: LpOption = None,
    resamples: Annotated[
        int, typer.Option("--resamples", help="Bootstrap samples for the 95 % intervals; 0 for none.", min=0)
    ] = 1000,
    source: SourceOption = None,
    references: ReferencesOption = None,
    translations: TranslationsOption = None,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    output: OutputOption = Output.table,
) -> None:
    """Compare a ranker's or a metric's scores with human judgements.

    Spearman's rho is taken per source among its judged candidates, tau over strict preferences (wmt14 variant in the
    table, all variants in JSON), each per language pair and averaged.

    Example: ranker evaluate --data sample --model sample.model
    """
    scorer, dataset = Scorer.chosen(model, metric, lambda: read_input(data or [], source, references, translations, lp))
    from ranker.corpora.judgements import judged, resolve_kind
    from ranker.evaluation.correlation.segment import evaluate

    with working("evaluating"):
        kind = resolve_kind(dataset, kind, learnt=scorer.learnt)
        kept = dataset.select_candidates(judged(dataset, kind))
        if references_as_candidates:
            found = _with_references(scorer, kept, kind, resamples, seed)
        else:
            found = {"": evaluate(kept, scorer.score(kept), kind=kind, resamples=resamples, seed=seed)}
    if scorer.was_trained_on(dataset):
        typer.echo("ranker: note: this model was trained on the data it is evaluated on", err=True)
    more: dict[str, object] = {"against": kind, "resamples": resamples}
    if references_as_candidates:
        more["references_as_candidates"] = "true"
    signature = scorer.signature(dataset, **more, **({"seed": seed} if resamples else {}))
    if output is Output.json:
        shown = {name: dataclasses.asdict(one) for name, one in found.items()}
        emit_json({"signature": signature, **shown.get("", shown)})
        return
    rows = [{**({"candidates": name} if name else {}), **_flat(row)} for name, one in found.items() for row in one.rows]
    if output is Output.jsonl:
        emit_lines(rows)
    elif output is Output.csv:
        emit_csv(rows)
    else:
        for name, one in found.items():
            print_table([_shown(row) for row in one.rows], _title(one, name))
            typer.echo("")
        typer.echo(signature)


def _with_references(scorer: Scorer, dataset: Dataset, kind: str, resamples: int, seed: int) -> dict[str, Evaluation]:
    """Evaluate the outputs alone, and together with the references as candidates."""
    from ranker.corpora.judgements import human_scores
    from ranker.evaluation.correlation.segment import evaluate
    from ranker.extractors.reference_candidates import ReferenceCandidates

    added = ReferenceCandidates.of(dataset, kind)
    scores, human = scorer.score(added.outputs), human_scores(added.outputs, kind)
    both = added.merge(scores, scorer.score_references(added.outputs, added.others))
    return {
        "outputs": evaluate(added.outputs, scores, kind=kind, resamples=resamples, seed=seed),
        "outputs and references": evaluate(
            added.together, both, kind=kind, human=added.human(human), resamples=resamples, seed=seed
        ),
    }


def _title(found: Evaluation, candidates: str) -> str:
    interval = f"; [95 % interval over sources, {found.resamples} resamples]" if found.resamples else ""
    return f"{found.data}: agreement with human {found.kind}{f', {candidates}' if candidates else ''}{interval}"


def _flat(row: Row) -> dict[str, Any]:
    flat: dict[str, Any] = {"lp": row.name, "sources": row.sources, "undefined": row.undefined}
    for form, estimate in row.spearman.items():
        flat.update(_parts(f"spearman.{form}", estimate))
        flat[f"spearman.{form}.variance"] = row.spearman_variance[form]
    for selection, variants in row.tau.items():
        flat[f"pairs.{selection}"] = row.pairs[selection]
        for variant, estimate in variants.items():
            flat.update(_parts(f"tau.{selection}.{variant}", estimate))
    return flat


def _parts(name: str, estimate: Estimate) -> dict[str, float]:
    return {name: estimate.value, f"{name}.low": estimate.low, f"{name}.high": estimate.high}


def _shown(row: Row) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "": row.name,
        "sources": row.sources,
        "undefined": row.undefined,
        "spearman": interval(row.spearman["tie-corrected"]),
        "variance": f"{row.spearman_variance['tie-corrected']:.3f}",
    }
    for selection, variants in row.tau.items():
        shown[f"{selection} pairs"] = row.pairs[selection]
        shown[f"tau {selection}"] = interval(variants["wmt14"])
    return shown
