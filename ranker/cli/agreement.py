"""``ranker agreement``: agreement between human judges, and the systems as people rank them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from ranker.cli.options import Corpora, KindOption, OutputForm, ResamplesOption, working
from ranker.cli.output import emit, figure, print_table, say
from ranker.errors import OptionError
from ranker.evaluation.choices import RankingMethod
from ranker.signature import make_signature

if TYPE_CHECKING:
    from ranker.corpora.dataset import Dataset
    from ranker.evaluation.judges.agreement import JudgesAgreement


def command(
    corpora: Corpora,
    kind: KindOption = "auto",
    spans: Annotated[
        bool,
        Option("--spans", help="Measure agreement on marked errors (the default if there are no other judgements)."),
    ] = False,
    pairs: Annotated[bool, Option("--pairs", help="Print one row per pair of judges instead.")] = False,
    systems: Annotated[
        RankingMethod | None, Option(help="Rank the systems by their human judgements instead.", show_default=False)
    ] = None,
    resamples: ResamplesOption = 1000,
    form: OutputForm = "table",
) -> None:
    """Measure the agreement between human judges.

    Results are computed per language pair.

    Consistency is the proportion of candidate pairs on which two (or three) judges agree; kappa, pi and alpha correct
    for chance. Means over pairs of judges are weighted by the number of items that both judged. --systems ranks the
    systems by human judgements, with rank ranges and clusters whose ranges do not overlap.

    --spans compares marked errors in equal outputs: F1 and alpha of marked characters, kappa of the severities of
    spans that overlap. Raters who seem careless are named; their ratings are counted.

    Example: ranker agreement --data sample --kind fluency
    """
    dataset = corpora.read(to_score=False)
    if systems is not None:
        if pairs:
            raise OptionError("--pairs: not available with --systems; leave out one of the two")
        _rank_systems(dataset, kind, systems, resamples, form)
        return
    from ranker.corpora.judgements import resolve_kind
    from ranker.corpora.languages import LanguagePair
    from ranker.evaluation.judges.agreement import MOST_CATEGORIES, judges_agreement
    from ranker.evaluation.judges.marks import careless_raters, marks_agreement
    from ranker.evaluation.resampling.significance import few_sources

    only_marks = len(dataset.errors) and not len(dataset.ratings) + len(dataset.preferences)
    notes: list[str] = []
    with working("comparing judges"):
        if spans or (kind == "auto" and only_marks):
            kind, agreements = "marked errors", marks_agreement(dataset, resamples=resamples)
        else:
            kind = resolve_kind(dataset, kind)
            agreements = judges_agreement(dataset, kind, resamples=resamples)
            many = [agreement.lp for agreement in agreements if "cohen" not in agreement.figures]
            if many:
                where = "" if len(agreements) == 1 else f" ({', '.join(many)})"
                what = f"the judges gave more than {MOST_CATEGORIES} different values{where}"
                notes.append(f"{what}: only orders of candidates are compared (kappa of every two judges: --pairs)")
        if resamples and not pairs:
            # all language pairs together have at least the sources of each
            single = [agreement for agreement in agreements if agreement.lp != "all"]
            notes += filter(None, (few_sources(each.sources, LanguagePair(each.lp).known) for each in single))
        notes += careless_raters(dataset)
    signed_data = f"{dataset.name}#{dataset.fingerprint[:8]}"
    signature = make_signature(f"agreement on {kind}", {"data": signed_data, "resamples": resamples, "seed": 0})
    document = {
        "signature": signature,
        "kind": kind,
        "notes": notes,
        "language_pairs": [dataclasses.asdict(agreement) for agreement in agreements],
    }
    rows = [row for agreement in agreements for row in (_pairs(agreement) if pairs else _figures(agreement))]

    def show() -> None:
        title = f"{dataset.name}: agreement of judges on {kind}"
        print_table(rows if pairs else [_shown(row) for row in rows], title)
        say("", signature, *(f"note: {note}" for note in notes))

    emit(form, document, rows, show, notes=notes)


def _rank_systems(dataset: Dataset, kind: str, method: RankingMethod, resamples: int, form: OutputForm) -> None:
    from ranker.evaluation.systems.human_ranking import rank_systems

    with working("ranking systems"):
        rankings = rank_systems(dataset, kind, method=method, resamples=resamples)
    rows = [{"lp": ranking.lp, **dataclasses.asdict(system)} for ranking in rankings for system in ranking.systems]
    signed_data = f"{dataset.name}#{dataset.fingerprint[:8]}"
    head = f"systems by {rankings[0].title if rankings else method}"
    signature = make_signature(head, {"data": signed_data, "resamples": resamples, "seed": 0})
    emit(form, None, rows, signature=signature, title=f"{dataset.name}: systems as people rank them")


def _figures(agreement: JudgesAgreement) -> list[dict[str, Any]]:
    facts = {name: getattr(agreement, name) for name in ("lp", "judges", "sources", "units", "judgements")}
    return [{**facts, "figure": name, **dataclasses.asdict(figure)} for name, figure in agreement.figures.items()]


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    interval = f"{row['low']:.3f} {row['high']:.3f}" if row["low"] == row["low"] else "-"
    value = figure(row["value"])
    return {
        **{key: row[key] for key in ("lp", "judges", "sources", "units", "figure")},
        "value": value,
        "95 % interval": interval,
    }


def _pairs(agreement: JudgesAgreement) -> list[dict[str, Any]]:
    return [{"lp": agreement.lp, **dataclasses.asdict(pair)} for pair in agreement.pairs]
