"""Statistics of a campaign."""

from __future__ import annotations

import dataclasses
import sqlite3
from dataclasses import dataclass
from typing import Any

from ranker.collect.campaign import CampaignSettings
from ranker.collect.exporting import dataset_of
from ranker.collect.quality import JudgeQuality, agreement_of, judge_qualities
from ranker.collect.tasks import KINDS, TaskKind
from ranker.corpora.judgements import kinds
from ranker.evaluation.bootstrap import Estimate
from ranker.evaluation.judges.judges import JudgesAgreement
from ranker.evaluation.systems.human_ranking import HumanRanking, rank_systems

RESAMPLES = 200


@dataclass(frozen=True)
class Figures:
    """Statistics of a campaign: judges, their agreement, and the systems of each language pair."""

    judges: list[JudgeQuality]
    agreement: JudgesAgreement | None
    rankings: tuple[HumanRanking, ...]

    def document(self, kind: TaskKind) -> dict[str, Any]:
        """Return the figures as JSON."""
        name = "nominal" if kind.compares else "interval" if kind.name == "score" else "ordinal"
        kappa = "cohen" if kind.compares else "cohen quadratic" if kind.name == "score" else "cohen linear"
        shared = None
        if self.agreement is not None:
            numbers = {
                label: _plain(self.agreement.figures[key])
                for label, key in (
                    (f"Krippendorff's alpha, {name}", f"krippendorff {name}"),
                    (f"Mean kappa ({kappa})", kappa),
                )
                if key in self.agreement.figures
            }
            shared = {"judges": self.agreement.judges, "units": self.agreement.units, "figures": numbers}
        return {
            "judges": [dataclasses.asdict(judge) for judge in self.judges],
            "agreement": shared,
            "rankings": [dataclasses.asdict(ranking) for ranking in self.rankings],
        }


def _plain(value: Estimate) -> dict[str, float | None]:
    parts = dataclasses.asdict(value)
    return {name: None if part != part else part for name, part in parts.items()}


def figures_of(connection: sqlite3.Connection, settings: CampaignSettings) -> Figures:
    """Compute all statistics of the judgements so far."""
    kind = KINDS[settings.kind]
    dataset = dataset_of(connection, settings)
    agreement = agreement_of(dataset, kind, resamples=RESAMPLES)
    judges = judge_qualities(connection, settings, agreement)
    if not kinds(dataset):
        return Figures(judges, agreement, ())
    rankings = rank_systems(dataset, kind.judgements, resamples=RESAMPLES, seed=settings.seed)
    return Figures(judges, agreement, rankings)
