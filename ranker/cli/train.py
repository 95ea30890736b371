"""``ranker train``: a ranker learnt from human judgements."""

from __future__ import annotations

import dataclasses
import shlex
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from ranker.cli.options import (
    CorpusInput,
    DocumentFormat,
    ExcludeSelfOption,
    KindOption,
    OmitFields,
    ReferencesAsCandidatesOption,
    SeedOption,
    check_references_as_candidates,
    listed_paths,
    typed,
    unused_notes,
    working,
)
from ranker.cli.output import emit, interval, print_note, print_table, say, say_signatures
from ranker.errors import OptionError, counted
from ranker.ranking.settings import DEFAULTS, FOLDS, Loss, PairCounting

if TYPE_CHECKING:
    from ranker.corpora.dataset import Dataset
    from ranker.evaluation.metrics.cross_validation import CrossValidation
    from ranker.ranking.confidence import Confidence
    from ranker.ranking.ranker import Ranker


def command(
    context: typer.Context,
    inputs: Annotated[CorpusInput, OmitFields(["given"])],
    features: Annotated[
        str,
        Option(
            "--features",
            "-F",
            help="Features of the ranker (see ranker features); auto: the standard set for the language.",
            metavar="FEATURES",
        ),
    ] = DEFAULTS.features,
    base: Annotated[
        str | None,
        Option(
            "--from",
            help="Model file or included ranker to adapt: its features are kept, its weights change only as far as the "
            "judgements require.",
            metavar="MODEL",
        ),
    ] = None,
    output: Annotated[
        Path | None, Option("--output", "-o", help="File for the model (default: NAME.model, after the first corpus).")
    ] = None,
    kind: KindOption = "auto",
    c: Annotated[
        str, Option("--C", help="Penalty of a misordered pair; auto: chosen by cross-validation.", metavar="X|auto")
    ] = str(DEFAULTS.C),
    loss: Annotated[Loss, Option(help="Loss per pair.")] = DEFAULTS.loss,
    pairs: Annotated[
        PairCounting,
        Option(
            help="How preferences become training pairs: one per judgement; one per pair of candidates (aggregated); "
            "or aggregated with the same total weight per language pair (balanced)."
        ),
    ] = DEFAULTS.pairs,
    references_as_candidates: ReferencesAsCandidatesOption = False,
    exclude_self: ExcludeSelfOption = False,
    folds: Annotated[int, Option(help="Folds of the final cross-validation (0: none).", min=0)] = FOLDS,
    compare: Annotated[
        list[str] | None,
        Option(
            help="Also compare with these rankers in the cross-validation: names or files, separated by commas.",
            metavar="FILE|NAME",
        ),
    ] = None,
    calibrate: Annotated[
        list[str] | None,
        Option(
            help="Other judged data, from which to learn how often people prefer the better of two candidates "
            "(rank --confidence); may be repeated (default: learn it in the cross-validation).",
            metavar="NAME|PATH",
        ),
    ] = None,
    nonnegative: Annotated[
        bool,
        Option(
            "--nonnegative",
            help="Let no feature count against its direction: weights are at least 0, or at most 0 where lower values "
            "are better.",
        ),
    ] = False,
    seed: SeedOption = 0,
    form: DocumentFormat = "table",
) -> None:
    """Learn a ranker from human judgements.

    Training ends with a cross-validation: agreement on sources that were not used for training, compared with chrF,
    with the included ranker for such data, and with the rankers that --compare names.

    With --from, the weights of another ranker are the starting point. They change only as far as cross-validation over
    sources shows an improvement of more than two standard errors.

    Example: ranker train --data sample -o sample.model
    """
    check_references_as_candidates(
        references_as_candidates, exclude_self=exclude_self, no_references=inputs.no_references
    )
    if folds == 1:
        raise OptionError("--folds 1: expected 2 or more, or 0 for no cross-validation")
    from ranker.corpora.judgements import Judged
    from ranker.evaluation.metrics.cross_validation import cross_validate
    from ranker.extractors.composed.direction import direction_note, judgements_note
    from ranker.extractors.english_only import english_note
    from ranker.ranking.included import default_model
    from ranker.ranking.ranker import Ranker
    from ranker.ranking.scorers import make_scorer
    from ranker.storage.model_files import check_target

    ranker = Ranker(
        features,
        C="auto" if c == "auto" else _number(c),
        loss=loss,
        kind=kind,
        pairs=pairs,
        seed=seed,
        references_as_candidates=references_as_candidates,
        exclude_self=exclude_self,
        base=base,
        nonnegative=nonnegative,
    )
    rivals = {name: make_scorer(None, name) for name in listed_paths(compare)}
    corpora: list[Dataset] = []
    dataset = inputs.read(ranker.feature_set.members, parts=corpora)
    apart = [dataclasses.replace(inputs, data=[name]) for name in listed_paths(calibrate)]
    other = [each.read(ranker.feature_set.members) for each in apart]
    target = output or Path(f"{dataset.name.split('+')[0]}.model")
    check_target(target)
    judgements_note(Judged.of(dataset, kind), kind)
    with working("training"):
        table = ranker.fit_table(dataset)
        if other:
            ranker.calibrate(*other)
        ranker.save(target)
    learnt_scores = (ranker.weight_sets.of_candidates(table.dataset) * table.columns).sum(axis=1)
    unused = [*unused_notes(corpora, table.kind)]
    notes = [
        *unused,
        *ranker.training_notes,
        english_note(ranker.feature_set.members, dataset) or ranker.feature_set.note(dataset),
        ranker.weight_sets.note(table.dataset),
        direction_note(table.dataset, learnt_scores, table.kind, exclude_self=exclude_self, seed=seed),
    ]
    cross_validation = None
    if folds and len(table.blocks) < 2:
        notes.append("no cross-validation: all judgements are of one source")
    elif folds:
        with working("cross-validating"):
            cross_validation = cross_validate(ranker, table, rivals=rivals, included=True, folds=folds, seed=seed)
            if not other and cross_validation.confidence:
                learnt: list[Confidence | None] = [None] * len(ranker.weight_sets.weights)
                learnt[table.main_weight_set] = cross_validation.confidence
                ranker.with_confidence(learnt)
                ranker.save(target)
    for note in filter(None, notes):
        print_note(note)
    advice = _advice(context, ranker, target, default_model(table.dataset), cross_validation)
    used = [each.name for each in corpora if not any(note.startswith(f"{each.name}: ") for note in unused)]
    data = "+".join(used) if unused else dataset.name
    _print(ranker, target, data, int(table.dataset.preferences["primary"].sum()), cross_validation, advice, form)


def _advice(
    context: typer.Context, ranker: Ranker, target: Path, included: str, cross_validation: CrossValidation | None
) -> list[str]:
    """Return lines with the commands to run next: to use the new model, or to adapt the included model if it is better.

    They end the output, because ranking without --model uses an included model, not the one just trained.
    """
    from ranker.extractors.composed.external_scores import given_files

    advice = []
    if cross_validation and included in cross_validation.better and ranker.base is None:
        again = typed(context, {"features", "c", "nonnegative", "form"}, "--from", included)
        advice.append(f"to start from {included} instead: {again}")
    given = [f"--given {name}=FILE" for name in given_files(ranker.feature_set.members)]
    advice.append(" ".join([f"to use this model: ranker rank FILE --model {shlex.quote(str(target))}", *given]))
    return advice


def _print(
    ranker: Ranker,
    target: Path,
    data: str,
    comparisons: int,
    cross_validation: CrossValidation | None,
    advice: list[str],
    form: DocumentFormat,
) -> None:
    weights = [
        {"column": column, "weight": float(weight)}
        for column, weight in zip(ranker.feature_set.columns, ranker.weights, strict=True)
    ]
    training = ranker.training
    assert training is not None
    document = {
        "model": str(target),
        "signature": ranker.signature(),
        "training": dataclasses.asdict(training),
        "weights": weights,
        "cross_validation": dataclasses.asdict(cross_validation) if cross_validation else None,
    }

    def show() -> None:
        learnt = f"{training.kind} scores"
        if training.preferences:
            made = f" from {counted(comparisons, 'comparison')}" if comparisons != training.preferences else ""
            learnt = f"{counted(training.preferences, 'preference')}{made}"
        say(
            f"learnt from {data}: {counted(training.sources, 'source')}, "
            f"{counted(training.candidates, 'judged candidate')}"
            f"{' and ' + counted(training.references, 'reference') if training.references else ''}, "
            f"{learnt}; C = {training.C:g} ({training.chosen_by})",
            "",
        )
        print_table(weights)
        say("")
        say_signatures(ranker.signature())
        say(f"model written: {target}")
        if cross_validation:
            _show(cross_validation, training.sources)
        say(*advice)

    emit(form, document, weights, show)


def _show(cross_validation: CrossValidation, judged: int) -> None:
    rows = [
        {
            "": row.name,
            **({"tau": interval(row.tau)} if row.tau else {}),
            "spearman": interval(row.spearman),
            "note": row.note or "",
        }
        for row in cross_validation.rows
    ]
    unordered = " with outputs that people order" if cross_validation.sources < judged else ""
    say("")
    print_table(
        rows,
        f"{counted(cross_validation.sources, 'source')}{unordered}, each ranked by a model that was not trained on it "
        f"({cross_validation.folds} folds); [95% confidence interval over sources]",
    )
    for verdict in cross_validation.verdicts:
        say(verdict)


def _number(text: str) -> float:
    if "_" not in text:
        with suppress(ValueError):
            return float(text)
    raise OptionError(f"--C {text}: expected a positive number or 'auto'")
