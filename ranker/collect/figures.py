"""Statistics of a campaign, and the queue of active selection."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from dataclasses import dataclass
from typing import Any

import numpy as np

from ranker.arrays import FloatArray, Int64Array
from ranker.collect.assigning import place_of
from ranker.collect.campaign import CampaignSettings, transaction
from ranker.collect.exporting import dataset_of
from ranker.collect.quality import JudgeQuality, agreement_of, judge_qualities
from ranker.collect.selection import choose, directions, posterior_of, training_pairs
from ranker.collect.tables import PLAIN
from ranker.collect.tasks import KINDS, TaskKind
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import kinds
from ranker.evaluation.bootstrap import Estimate
from ranker.evaluation.judges.judges import JudgesAgreement
from ranker.evaluation.systems.human_ranking import HumanRanking, rank_systems
from ranker.extractors.feature_sets import FeatureSet
from ranker.training_data import standardiser

RESAMPLES = 200
QUEUE = 100
"""Number of items that active selection moves to the front at a time."""
_POOL = 3_000
"""Number of random items from which it selects."""


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


def feature_columns(settings: CampaignSettings, dataset: Dataset) -> FloatArray:
    """Return the standardised features of every candidate; a `DataError` says why they cannot be extracted."""
    _, matrix = FeatureSet.parse(settings.features).fit_transform(dataset)
    mean, scale = standardiser(matrix)
    return np.asarray((matrix - mean) / scale)


def refresh_queue(connection: sqlite3.Connection, settings: CampaignSettings, columns: FloatArray) -> int:
    """Move the items chosen by active selection to the front of the queue; return their number."""
    dataset = dataset_of(connection, settings)
    columns = directions(columns, dataset.candidate_offsets)
    pairs = training_pairs(dataset, KINDS[settings.kind].judgements)
    posterior = posterior_of(columns[pairs.better] - columns[pairs.worse], pairs.weight)
    rows = connection.execute(
        "SELECT id, outputs, source FROM item WHERE role = ? AND given < wanted ORDER BY random() LIMIT ?",
        (PLAIN, _POOL),
    ).fetchall()
    code = {
        row["id"]: place
        for place, row in enumerate(
            connection.execute(
                "SELECT candidate.id FROM candidate JOIN source ON source.id = source WHERE role = ? "
                "ORDER BY source, candidate.id",
                (PLAIN,),
            )
        )
    }
    items = [_comparisons(json.loads(row["outputs"]), code, dataset) for row in rows]
    chosen = [rows[place]["id"] for place in choose(posterior, columns, items, QUEUE)]
    with transaction(connection):
        for row in connection.execute("SELECT * FROM item WHERE place < 0").fetchall():
            place = place_of(settings, row["rank"], row["given"], row["wanted"])
            connection.execute("UPDATE item SET place = ? WHERE id = ?", (place, row["id"]))
        connection.executemany(
            "UPDATE item SET place = ? WHERE id = ? AND given < wanted",
            [(float(place - len(chosen)), item) for place, item in enumerate(chosen)],
        )
    return len(chosen)


def _comparisons(outputs: list[list[int]], code: dict[int, int], dataset: Dataset) -> tuple[Int64Array, Int64Array]:
    """Return the rows that a judgement compares: the outputs of an item, or its one output with all of the source."""
    rows = np.array([code[same[0]] for same in outputs], dtype=np.int64)
    if len(rows) > 1:
        first, second = np.triu_indices(len(rows), 1)
        return rows[first], rows[second]
    source = dataset.candidate_source[rows[0]]
    others = np.arange(*dataset.candidate_offsets[source : source + 2])
    others = others[others != rows[0]]
    return np.full(len(others), rows[0]), others
