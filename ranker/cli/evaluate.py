"""``ranker evaluate``: agreement of metrics and rankers with human judgements."""

from __future__ import annotations

import dataclasses
import functools
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

from typer import Option

from ranker.cli.comparison import compare
from ranker.cli.options import (
    MOST_RESAMPLES,
    CorpusInput,
    ExcludeSelfOption,
    KindOption,
    LevelName,
    OutputForm,
    ReferencesAsCandidatesOption,
    SeedOption,
    check_references_as_candidates,
    level_of,
    listed_paths,
    unused_notes,
    working,
)
from ranker.cli.output import emit, estimate_columns, figure, interval, print_note, print_table, say, say_signatures
from ranker.cli.scorer import MetricsOption, chosen, listed, print_notes, print_tied, result_signature
from ranker.cli.sharded import ShardOptions, processed
from ranker.errors import OptionError, counted
from ranker.evaluation.choices import LEVELS, Correction, Test
from ranker.files import display_name
from ranker.signature import make_signature

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ranker.apps.scaling.tables import NamedScorers
    from ranker.corpora.dataset import Dataset
    from ranker.corpora.formats.shards import Shards
    from ranker.evaluation.calibration import Reliability
    from ranker.evaluation.metrics.result import Comparison
    from ranker.ranking.scorers import Scorer


# typer takes no list of a Literal
LevelChoice = StrEnum("LevelChoice", {level: level for level in get_args(LevelName)})  # type: ignore[misc]


def command(
    inputs: CorpusInput,
    sharding: ShardOptions,
    metric: MetricsOption = None,
    model: Annotated[
        list[str] | None,
        Option("--model", "-M", help="Trained rankers, separated by commas; may be repeated.", metavar="FILE|NAME"),
    ] = None,
    kind: KindOption = "auto",
    level: Annotated[
        list[LevelChoice] | None,
        Option(help="Level of a comparison; may be repeated (default: all). corpus means system."),
    ] = None,
    references_as_candidates: ReferencesAsCandidatesOption = False,
    exclude_self: ExcludeSelfOption = False,
    resamples: Annotated[
        int,
        Option(
            help="Bootstrap samples for the 95% confidence intervals, and resamples of --test (0: neither).",
            min=0,
            max=MOST_RESAMPLES,
        ),
    ] = 1000,
    test: Annotated[Test | None, Option(help="Significance test for two metrics.", show_default="bootstrap")] = None,
    correction: Annotated[
        Correction | None,
        Option(help="Multiple-testing correction for the p-values of a comparison.", show_default="westfall-young"),
    ] = None,
    published: Annotated[
        str | None,
        Option(
            help="Also compare the metrics whose scores are in the data (a directory of mt-metrics-eval), if computed "
            "with this reference or none; all other metrics use this reference too.",
            metavar="REFERENCE",
        ),
    ] = None,
    seed: SeedOption = 0,
    form: OutputForm = "table",
) -> None:
    """Evaluate and compare metrics and rankers by human judgements.

    For a single metric or ranker, Spearman's rho is computed per source over its judged candidates, tau over strict
    preferences (the wmt14 variant in tables; all variants, tau-b and tau-c in JSON). Both are computed per language
    pair, over the sources of all corpora together, and averaged.

    Several metrics and rankers are compared by segments, documents and systems, and so is a single one with an option
    for comparisons, such as --level system. Each corpus is then evaluated alone, and means are over corpora. Each value
    is followed by its 95% confidence interval and its significance cluster: a metric starts a new cluster if it is
    significantly worse than a metric of the cluster above. JSON output contains all values, p-values and win matrices.
    --level segment scores only judged candidates, which is faster.

    A directory of mt-metrics-eval may have the scores of other metrics: --published refA compares these metrics too.

    Shards (ranker data shard) are scored one at a time; the scores of judged candidates are kept in --out, if given.

    Example: ranker evaluate --data sample --metric bleu,chrf --resamples 200
    """
    check_references_as_candidates(
        references_as_candidates, exclude_self=exclude_self, no_references=inputs.no_references
    )
    metrics, models = list(dict.fromkeys(listed(metric))), listed_paths(model)
    unsuited = {"--references-as-candidates": references_as_candidates, "--exclude-self": exclude_self}
    comparing = {
        "several metrics or models": len(metrics) + len(models) > 1,
        "--level": level,
        "--test": test,
        "--correction": correction,
        "--published": published,
    }
    shards = sharding.find(inputs, {**unsuited, **comparing}, must_write=False)
    for path in [] if published else inputs.data:
        if (Path(path) / "metric-scores").is_dir():
            print_note(f"{display_name(path)} has scores of metrics; compare with them: --published refA")
    if any(comparing.values()):
        for option in [option for option, value in unsuited.items() if value]:
            what = next(what for what, value in comparing.items() if value)
            raise OptionError(f"{option}: not available with {what}; leave out one of the two")
        requested = {level_of(cast("LevelName", choice.value)) for choice in level or []}
        compare(
            inputs,
            metrics,
            models,
            [name for name in LEVELS if name in (requested or LEVELS)],
            kind=kind,
            form=form,
            published=published,
            resamples=resamples,
            seed=seed,
            test=test or "bootstrap",
            correction=correction or "westfall-young",
        )
        return
    asked = _Asked(kind, resamples, seed, references_as_candidates, exclude_self)
    of_model = Path(models[0]) if models else None
    if shards is None:
        _emit(_evaluated(inputs, metrics, of_model, asked), asked, form)
        return
    from ranker.apps.scaling.tables import NamedScorers

    named = NamedScorers.single(next(iter(metrics), None), of_model, references=not inputs.no_references)
    _emit(_of_shards(shards, sharding, named, asked), asked, form)


@dataclasses.dataclass(frozen=True)
class _Asked:
    """Options of an evaluation."""

    kind: str
    resamples: int
    seed: int
    references_as_candidates: bool
    exclude_self: bool

    def signed(self, kind: str) -> dict[str, object]:
        """Parts of the signature, with the kind of judgement that was found."""
        return {
            "against": kind,
            "resamples": self.resamples,
            "references_as_candidates": "true" if self.references_as_candidates else None,
            "exclude_self": "true" if self.exclude_self else None,
            "seed": self.seed if self.resamples else None,
        }


@dataclasses.dataclass(frozen=True)
class _Evaluated:
    """Comparisons of a metric or ranker with people, and what is printed with them."""

    scorer: Scorer
    data: str
    kind: str
    comparisons: Mapping[str, Comparison]
    """Comparisons by what the candidates are; the name is empty if they are the outputs."""
    signature: str
    reliability: Reliability | None = None
    together: bool = False
    """True if sources of several corpora are evaluated together."""


def _evaluated(inputs: CorpusInput, metrics: list[str], model: Path | None, asked: _Asked) -> _Evaluated:
    """Evaluate a metric or ranker on data in memory."""
    from ranker.corpora.judgements import Judged
    from ranker.evaluation.calibration import Reliability
    from ranker.evaluation.metrics.evaluation import agreement
    from ranker.extractors.composed.direction import judgements_note
    from ranker.ranking.scorers import candidate_scores, learnt_kinds, trained_on

    corpora: list[Dataset] = []
    read = functools.partial(inputs.read, parts=corpora, conclusions=True)
    scorer, dataset = chosen(model, metrics, inputs, read)
    reliability = None
    with working("evaluating"):
        people = Judged.of(dataset, asked.kind, learnt_kinds(scorer))
        kind, outputs = people.kind, people.dataset
        for unused in unused_notes(corpora, kind):
            print_note(unused)
        print_notes([scorer], outputs)
        if direction := judgements_note(people, asked.kind, *learnt_kinds(scorer)):
            print_note(direction)
        if asked.references_as_candidates:
            comparisons = _with_references(scorer, dataset, kind, asked)
        else:
            scores = candidate_scores(scorer, outputs)
            print_tied(scorer, outputs, scores)
            reliability = Reliability.of(scorer, people, scores)
            comparisons = {"": agreement(outputs, scores, kind=kind, resamples=asked.resamples, seed=asked.seed)}
    trained = next(filter(None, (trained_on(scorer, each) for each in (dataset, *corpora))), None)
    if trained:
        print_note(f"this model {trained}: it agrees better with people there than on new data")
    signature = result_signature(scorer, dataset, scored=outputs, **asked.signed(kind))
    return _Evaluated(scorer, dataset.name, kind, comparisons, signature, reliability, len(corpora) > 1)


def _of_shards(shards: Shards, sharding: ShardOptions, named: NamedScorers, asked: _Asked) -> _Evaluated:
    """Evaluate a metric or ranker on shards, which are scored one at a time."""
    from ranker.apps.scaling.tables import judged_candidates, judged_scores
    from ranker.corpora.judgements import Judged
    from ranker.corpora.sanity import CONCLUSIONS, notes_of
    from ranker.evaluation.metrics.evaluation import agreement
    from ranker.extractors.composed.direction import MOST_SOURCES, judgements_note
    from ranker.ranking.scorers import certainty_of, learnt_kinds

    (scorer,) = named.scorers()
    with processed(shards, sharding, named, "judged scores", judged_scores) as (parts, signatures):
        dataset, scores = judged_candidates(named, shards, parts, MOST_SOURCES)
    with working("evaluating"):
        people = Judged.of(dataset, asked.kind, learnt_kinds(scorer))
        kind, outputs = people.kind, people.dataset
        for note in notes_of(outputs, CONCLUSIONS):
            print_note(str(note))
        if direction := judgements_note(people, asked.kind, *learnt_kinds(scorer)):
            print_note(direction)
        if certainty_of(scorer, outputs, 0, 0.0):
            print_note("in shards, the accuracy over pairs and the error of the confidence are not computed")
        own = scores[outputs.context_rows]
        comparison = agreement(outputs, own, kind=kind, resamples=asked.resamples, seed=asked.seed)
    signature = make_signature(signatures[0], asked.signed(kind))
    return _Evaluated(scorer, dataset.name, kind, {"": comparison}, signature)


def _emit(result: _Evaluated, asked: _Asked, form: OutputForm) -> None:
    resamples, reliability = asked.resamples, result.reliability
    figures = {name: _rows(comparison) for name, comparison in result.comparisons.items()}
    data = {"data": result.data, "kind": result.kind}
    document = {
        name: {**data, "rows": each, "resamples": resamples, "seed": asked.seed} for name, each in figures.items()
    }
    flat = [{**({"candidates": name} if name else {}), **_flat(row)} for name, each in figures.items() for row in each]

    def show() -> None:
        for name, each in figures.items():
            note = f"; [95% confidence interval over sources, {counted(resamples, 'resample')}]" if resamples else ""
            about = f"agreement of {result.scorer.name} with human {result.kind}"
            parts = [about, *(["sources of all data sets together"] if result.together else []), *filter(None, [name])]
            print_table([_shown(row) for row in each], f"{result.data}: {', '.join(parts)}{note}")
            say("")
        if reliability:
            say(
                f"Accuracy over pairs of candidates, people's ties included: {reliability.accuracy_with_ties:.3f} with "
                f"the ties of rank, {reliability.accuracy:.3f} with equal scores tied. The predicted confidence is off "
                f"by {reliability.error:.1%} on average ({counted(reliability.pairs, 'judgement')}).",
                "",
            )
        say_signatures(result.signature)

    about_pairs = {"reliability": dataclasses.asdict(reliability)} if reliability else {}
    emit(form, {"signature": result.signature, **document.get("", document), **about_pairs}, flat, show)


def _with_references(scorer: Scorer, dataset: Dataset, kind: str, asked: _Asked) -> dict[str, Comparison]:
    """Evaluate a scorer on the outputs alone, and on outputs and references as candidates."""
    from ranker.evaluation.metrics.evaluation import agreement
    from ranker.ranking.reference_candidates import ReferenceCandidates
    from ranker.ranking.scorers import candidate_scores, reference_scores

    added = ReferenceCandidates.of(dataset, kind, exclude_self=asked.exclude_self)
    scores = candidate_scores(scorer, added.outputs)
    merged = added.merge(scores, reference_scores(scorer, added.outputs, exclude_self=asked.exclude_self))
    measured = functools.partial(agreement, kind=kind, resamples=asked.resamples, seed=asked.seed)
    return {
        "outputs": measured(added.outputs, scores),
        "outputs and references": measured(added.together, merged, human=added.human),
    }


def _rows(comparison: Comparison) -> list[dict[str, Any]]:
    """Return table rows: the figures of every language pair, and their means."""
    from ranker.evaluation.metrics.evaluation import KENDALL, SPEARMAN, named_scopes
    from ranker.evaluation.metrics.statistics import TAUS

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
        flat.update(estimate_columns(f"spearman.{form}", estimate))
        flat[f"spearman.{form}.variance"] = row["spearman_variance"][form]
    for form, estimate in row["kendall"].items():
        flat.update(estimate_columns(f"kendall.{form}", estimate))
    for selection, variants in row["tau"].items():
        flat[f"pairs.{selection}"] = row["pairs"][selection]
        for variant, estimate in variants.items():
            flat.update(estimate_columns(f"tau.{selection}.{variant}", estimate))
    return flat


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "": row["name"],
        "sources": row["sources"],
        "undefined": row["undefined"],
        "spearman": interval(row["spearman"]["tie-corrected"]),
        "variance": figure(row["spearman_variance"]["tie-corrected"]),
    }
    for selection, variants in row["tau"].items():
        shown[f"{selection} pairs"] = row["pairs"][selection]
        shown[f"tau {selection}"] = interval(variants["wmt14"])
    return shown
