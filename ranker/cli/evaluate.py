"""``ranker evaluate``."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from ranker.cli.options import (
    MOST_RESAMPLES,
    ExcludeSelfOption,
    Input,
    JobsOption,
    KindOption,
    ModelOption,
    OutputForm,
    ReferencesAsCandidatesOption,
    SeedOption,
    check_exclude_self,
    working,
)
from ranker.cli.output import emit, interval, print_note, print_table, say_signatures
from ranker.cli.scorer import MetricOption, chosen, print_notes, print_tied, result_signature, single
from ranker.cli.sharded import ShardOptions, processed
from ranker.signature import make_signature

if TYPE_CHECKING:
    from ranker.corpora.dataset import Dataset
    from ranker.corpora.shards.shards import Shards
    from ranker.evaluation.bootstrap import Estimate
    from ranker.evaluation.compare.result import Comparison
    from ranker.extractors.scorers import Scorer
    from ranker.scaling.tables import NamedScorers


def command(
    inputs: Input,
    sharding: ShardOptions,
    model: ModelOption = None,
    metric: MetricOption = None,
    kind: KindOption = "auto",
    references_as_candidates: ReferencesAsCandidatesOption = False,
    exclude_self: ExcludeSelfOption = False,
    resamples: Annotated[
        int,
        Option(help="Bootstrap samples for the 95% confidence intervals (0: no intervals).", min=0, max=MOST_RESAMPLES),
    ] = 1000,
    seed: SeedOption = 0,
    jobs: JobsOption = None,
    form: OutputForm = "table",
) -> None:
    """Evaluate a ranker or metric against human judgements.

    Spearman's rho is computed per source over its judged candidates, tau over strict preferences (the wmt14 variant in
    tables; all variants, tau-b and tau-c in JSON). Both are computed per language pair and averaged.

    Shards (ranker data shard) are scored one at a time; the scores of judged candidates are kept in --out, if given.

    Example: ranker evaluate --data sample --model sample.model
    """
    check_exclude_self(references_as_candidates, exclude_self)
    unsuited = {"--references-as-candidates": references_as_candidates, "--exclude-self": exclude_self}
    shards = sharding.find(inputs, unsuited, must_write=False)
    if shards is not None:
        from ranker.scaling.tables import NamedScorers

        named = NamedScorers.single(single(metric), model, references=not inputs.no_references)
        _evaluate_shards(shards, sharding, named, kind, resamples, seed, form)
        return
    parts: list[Dataset] = []
    read = functools.partial(inputs.read, kind=kind, parts=parts, conclusions=True)
    scorer, dataset = chosen(model, metric, inputs, read)
    from ranker.corpora.judgements import judged, resolve_kind
    from ranker.evaluation.compare.evaluation import evaluate
    from ranker.evaluation.direction import judgements_note

    with working("evaluating"):
        kind = resolve_kind(dataset, kind, learnt=scorer.learnt)
        rows = judged(dataset, kind)
        judged_outputs = dataset.select_candidates(rows)
        print_notes([scorer], dataset, rows)
        if direction := judgements_note(judged_outputs, kind):
            print_note(direction)
        if references_as_candidates:
            comparisons = _with_references(scorer, dataset, kind, resamples, seed, exclude_self=exclude_self)
        else:
            scores = scorer.candidate_scores(dataset, rows)
            print_tied(scorer, judged_outputs, scores)
            comparisons = {"": evaluate(judged_outputs, scores, kind=kind, resamples=resamples, seed=seed)}
    trained = next(filter(None, map(scorer.trained_on, [dataset, *parts])), None)
    if trained:
        print_note(f"this model {trained}, which it is evaluated on")
    more: dict[str, object] = {"against": kind, "resamples": resamples}
    if references_as_candidates:
        more["references_as_candidates"] = "true"
    if exclude_self:
        more["exclude_self"] = "true"
    signature = result_signature(
        scorer, dataset, scored=(dataset, rows), **more, **({"seed": seed} if resamples else {})
    )
    _print(comparisons, dataset.name, kind, resamples, seed, signature, form)


def _evaluate_shards(
    shards: Shards,
    sharding: ShardOptions,
    named: NamedScorers,
    kind: str,
    resamples: int,
    seed: int,
    form: OutputForm,
) -> None:
    from ranker.corpora.judgements import judged, resolve_kind
    from ranker.evaluation.compare.evaluation import evaluate
    from ranker.scaling.tables import judged_candidates, judged_scores

    make = functools.partial(judged_scores, named)
    with processed(shards, sharding, make, named, "judged scores") as (parts, signatures):
        dataset, scores = judged_candidates(named, shards, parts)
    with working("evaluating"):
        kind = resolve_kind(dataset, kind, learnt=named.scorers()[0].learnt)
        chosen = judged(dataset, kind)
        judged_outputs = dataset.select_candidates(chosen)
        comparisons = {"": evaluate(judged_outputs, scores[chosen], kind=kind, resamples=resamples, seed=seed)}
    about = {"against": kind, "resamples": resamples, "seed": seed if resamples else None}
    signature = make_signature(signatures[0], about)
    _print(comparisons, dataset.name, kind, resamples, seed, signature, form)


def _print(
    comparisons: dict[str, Comparison],
    data: str,
    kind: str,
    resamples: int,
    seed: int,
    signature: str,
    form: OutputForm,
) -> None:
    figures = {name: _rows(comparison) for name, comparison in comparisons.items()}
    about = {"data": data, "kind": kind}
    document = {name: {**about, "rows": each, "resamples": resamples, "seed": seed} for name, each in figures.items()}
    rows = [{**({"candidates": name} if name else {}), **_flat(row)} for name, each in figures.items() for row in each]

    def show() -> None:
        for name, each in figures.items():
            note = f"; [95% confidence interval over sources, {resamples} resamples]" if resamples else ""
            title = f"{data}: agreement with human {kind}{f', {name}' if name else ''}{note}"
            print_table([_shown(row) for row in each], title)
            typer.echo("")
        say_signatures(signature)

    emit(form, {"signature": signature, **document.get("", document)}, rows, show)


def _with_references(
    scorer: Scorer, dataset: Dataset, kind: str, resamples: int, seed: int, *, exclude_self: bool
) -> dict[str, Comparison]:
    """Evaluate the outputs alone, and together with the references as candidates."""
    from ranker.corpora.judgements import human_scores
    from ranker.evaluation.compare.evaluation import evaluate
    from ranker.extractors.reference_candidates import ReferenceCandidates

    added = ReferenceCandidates.of(dataset, kind, exclude_self=exclude_self)
    scores, human = scorer.candidate_scores(added.whole, added.rows), human_scores(added.outputs, kind)
    merged = added.merge(scores, scorer.score_references(added.whole, exclude_self=exclude_self))
    return {
        "outputs": evaluate(added.outputs, scores, kind=kind, resamples=resamples, seed=seed),
        "outputs and references": evaluate(
            added.together, merged, kind=kind, human=added.human(human), resamples=resamples, seed=seed
        ),
    }


def _rows(comparison: Comparison) -> list[dict[str, Any]]:
    """Return the figures of every language pair and of the means."""
    from ranker.evaluation.compare.evaluation import KENDALL, SPEARMAN, named_scopes
    from ranker.evaluation.compare.statistics import TAUS

    rows = []
    selections = {name: taus for name, taus in TAUS.items() if comparison.main_scope.pairs.get(name)}
    for name, scope in named_scopes(comparison).items():
        cells = {
            form: comparison.cell(statistic, scope.id, comparison.metrics[0].name)
            for form, statistic in SPEARMAN.items()
        }
        rows.append(
            {
                "name": name,
                "sources": scope.sources,
                "undefined": max(cell.undefined for cell in cells.values() if cell),
                "spearman": {form: comparison.estimate(statistic, scope.id) for form, statistic in SPEARMAN.items()},
                "spearman_variance": {
                    form: cell.detail.get("variance", float("nan")) for form, cell in cells.items() if cell
                },
                "spearman_pooled": {
                    form: comparison.estimate(f"{statistic}.pooled", scope.id) for form, statistic in SPEARMAN.items()
                },
                "kendall": {form: comparison.estimate(statistic, scope.id) for form, statistic in KENDALL.items()},
                "pairs": {selection: scope.pairs.get(selection, 0) for selection in selections},
                "tau": {
                    selection: {
                        variant: comparison.estimate(statistic, scope.id) for variant, statistic in taus.items()
                    }
                    for selection, taus in selections.items()
                },
            }
        )
    return rows


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {"lp": row["name"], "sources": row["sources"], "undefined": row["undefined"]}
    for form, estimate in row["spearman"].items():
        flat.update(_parts(f"spearman.{form}", estimate))
        flat[f"spearman.{form}.variance"] = row["spearman_variance"][form]
    for form, estimate in row["kendall"].items():
        flat.update(_parts(f"kendall.{form}", estimate))
    for selection, variants in row["tau"].items():
        flat[f"pairs.{selection}"] = row["pairs"][selection]
        for variant, estimate in variants.items():
            flat.update(_parts(f"tau.{selection}.{variant}", estimate))
    return flat


def _parts(name: str, estimate: Estimate) -> dict[str, float]:
    return {name: estimate.value, f"{name}.low": estimate.low, f"{name}.high": estimate.high}


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "": row["name"],
        "sources": row["sources"],
        "undefined": row["undefined"],
        "spearman": interval(row["spearman"]["tie-corrected"]),
        "variance": f"{row['spearman_variance']['tie-corrected']:.3f}",
    }
    for selection, variants in row["tau"].items():
        shown[f"{selection} pairs"] = row["pairs"][selection]
        shown[f"tau {selection}"] = interval(variants["wmt14"])
    return shown
