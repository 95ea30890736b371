"""Statistics of a campaign."""

from __future__ import annotations

import dataclasses
import sqlite3
from typing import Any

from ranker.apps.collect.exporting import dataset_of
from ranker.apps.collect.quality import agreement_of, judge_qualities
from ranker.apps.collect.settings import CampaignSettings
from ranker.corpora.judgements import kinds
from ranker.evaluation.resampling.bootstrap import Estimate
from ranker.evaluation.systems.human_ranking import rank_systems

RESAMPLES = 200


def figures_of(connection: sqlite3.Connection, settings: CampaignSettings) -> dict[str, Any]:
    """Return statistics of the judgements so far, as JSON values: judges, agreement, and systems by language pair."""
    kind = settings.task
    dataset = dataset_of(connection, settings, by_judge=True)
    agreement = agreement_of(dataset, kind, resamples=RESAMPLES)
    name = "nominal" if kind.compares else "interval" if kind.unit else "ordinal"
    kappa = "cohen" if kind.compares else "cohen quadratic" if kind.unit else "cohen linear"
    shared = None
    if agreement is not None:
        numbers = {
            label: _plain(agreement.figures[key])
            for label, key in (
                (f"Krippendorff's alpha, {name}", f"krippendorff {name}"),
                (f"Mean kappa ({kappa})", kappa),
            )
            if key in agreement.figures
        }
        shared = {"judges": agreement.judges, "units": agreement.units, "figures": numbers}
    rankings = rank_systems(dataset, kind.judgements, resamples=RESAMPLES, seed=settings.seed) if kinds(dataset) else ()
    return {
        "judges": [dataclasses.asdict(judge) for judge in judge_qualities(connection, settings, agreement)],
        "agreement": shared,
        "rankings": [dataclasses.asdict(ranking) for ranking in rankings],
    }


def _plain(value: Estimate) -> dict[str, float | None]:
    parts = dataclasses.asdict(value)
    return {name: None if part != part else part for name, part in parts.items()}
