"""Reliability of judges: checks with known answers, repeated items, time per judgement, agreement with other judges."""

from __future__ import annotations

import dataclasses
import itertools
import json
import sqlite3
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ranker.apps.collect.access import JUDGE
from ranker.apps.collect.marking import gold_share, quality_of
from ranker.apps.collect.settings import CampaignSettings
from ranker.apps.collect.tables import DEGRADED, GOLD, MARKED
from ranker.apps.collect.tasks import TaskKind
from ranker.corpora.dataset import Dataset
from ranker.errors import DataError
from ranker.evaluation.judges.agreement import JudgePair, JudgesAgreement, judges_agreement

FEWEST = 5
"""Minimum number of observations for a proportion to be meaningful."""
_FEWEST_UNITS = 20
_TOLERANCE = {"fluency": 1, "adequacy": 1, "score": 15}
"""Largest distance of an answer from the known value that counts as correct, by kind of task."""
_SELF = {"fluency": 0, "adequacy": 0, "score": 10, "esa": 10, "mqm": 4}
"""Largest distance between a judge's two answers to an item that counts as agreement, by kind of task."""
_ONE_ANSWER = 0.95


@dataclass(frozen=True)
class Thresholds:
    """Limits for judges: minimum share of correct checks, minimum agreement, maximum share of hasty judgements."""

    checks: float | None = None
    self_agreement: float | None = None
    kappa: float | None = None
    fast: float | None = None


FLAGGED = Thresholds(checks=0.7, self_agreement=0.5, kappa=0.1, fast=0.3)
"""Thresholds for warnings to the campaign's owner about judges."""


@dataclass(frozen=True)
class JudgeQuality:
    """Statistics of one judge. Proportions are None if their denominator is 0.

    `judged` includes checks and repeated items; `seconds` is the median; `checks` is the proportion of `gold` and
    `degraded` that was answered correctly; `units` are outputs, or pairs of them, that others judged too; `kappa` is
    the mean of Cohen's kappa with each other judge (linear weights for scales of five, quadratic ones for scores in
    steps of ten and for penalties); `same` is the proportion of the most frequent answer.
    """

    code: str
    judged: int
    seconds: float | None = None
    fast: float | None = None
    gold: int = 0
    degraded: int = 0
    checks: float | None = None
    repeats: int = 0
    self_agreement: float | None = None
    units: int = 0
    kappa: float | None = None
    same: float | None = None
    flags: tuple[str, ...] = field(default=())

    def failures(self, thresholds: Thresholds) -> tuple[str, ...]:
        """Return a message for each threshold that is missed; proportions based on too few observations are ignored."""
        failures = []
        checked = self.gold + self.degraded
        for value, count, fewest, least, what in (
            (self.checks, checked, FEWEST, thresholds.checks, f"of {checked} checks answered correctly"),
            (self.self_agreement, self.repeats, FEWEST, thresholds.self_agreement, "self-agreement"),
        ):
            if value is not None and least is not None and count >= fewest and value < least:
                failures.append(f"{100 * value:.0f}% {what}, expected at least {100 * least:.0f}%")
        least, most = thresholds.kappa, thresholds.fast
        if self.kappa is not None and least is not None and self.units >= _FEWEST_UNITS and self.kappa < least:
            failures.append(f"kappa {self.kappa:.2f} with the other judges, expected at least {least:.2f}")
        if self.fast is not None and most is not None and self.judged >= FEWEST and self.fast > most:
            failures.append(f"{100 * self.fast:.0f}% of the items judged too fast, expected at most {100 * most:.0f}%")
        return tuple(failures)


def judge_qualities(
    connection: sqlite3.Connection, settings: CampaignSettings, agreement: JudgesAgreement | None
) -> list[JudgeQuality]:
    """Return the statistics of every judge, sorted by code."""
    kind = settings.task
    answers: dict[str, list[sqlite3.Row]] = {}
    for row in connection.execute(
        f"SELECT person.code, assignment.item, repeat, answer, seconds, item.role, known, below, {MARKED} "
        "FROM assignment JOIN item ON item.id = assignment.item JOIN person ON person.id = assignment.judge "
        "WHERE answer IS NOT NULL ORDER BY assignment.id"
    ):
        answers.setdefault(row["code"], []).append(row)
    codes = [
        row["code"] for row in connection.execute("SELECT code FROM person WHERE role = ? ORDER BY code", (JUDGE,))
    ]
    kappas = {} if agreement is None else _kappas(agreement.pairs, kind)
    return [_quality(code, answers.get(code, []), kind, settings, kappas.get(code, (0, None))) for code in codes]


def _quality(
    code: str, rows: Sequence[sqlite3.Row], kind: TaskKind, settings: CampaignSettings, kappa: tuple[int, float | None]
) -> JudgeQuality:
    if not rows:
        return JudgeQuality(code, 0)
    first = {row["item"]: json.loads(row["answer"]) for row in rows if not row["repeat"]}
    checks = [_check(kind, row, first, settings) for row in rows if row["role"] in (GOLD, DEGRADED)]
    passed = [check for check in checks if check is not None]
    again = [
        _same(kind, first[row["item"]], json.loads(row["answer"]), settings)
        for row in rows
        if row["repeat"] and row["item"] in first
    ]
    seconds = [row["seconds"] for row in rows]
    answers = [row["answer"] for row in rows]
    same = max(answers.count(answer) for answer in set(answers)) / len(answers)
    quality = JudgeQuality(
        code,
        len(rows),
        statistics.median(seconds),
        sum(duration < settings.min_seconds for duration in seconds) / len(seconds),
        sum(row["role"] == GOLD for row in rows),
        sum(row["role"] == DEGRADED for row in rows),
        statistics.fmean(passed) if passed else None,
        len(again),
        statistics.fmean(again) if again else None,
        *kappa,
        same,
    )
    flags = quality.failures(FLAGGED)
    # of rankings, only equal ranks are suspicious: outputs are shuffled, so that other identical answers mean nothing
    meaningless = not kind.compares or any(
        len(set(json.loads(answer))) == 1 for answer in set(answers) if answers.count(answer) / len(answers) == same
    )
    if meaningless and same >= _ONE_ANSWER and len(rows) >= _FEWEST_UNITS:
        flags += (f"{100 * same:.0f}% of the answers are identical",)
    return dataclasses.replace(quality, flags=flags)


def _check(kind: TaskKind, row: sqlite3.Row, first: dict[int, list[Any]], settings: CampaignSettings) -> float | None:
    """Return the correctness of an answer to a check, from 0 to 1; None if it can no longer be determined."""
    answer = json.loads(row["answer"])
    if row["role"] == DEGRADED and kind.compares:
        # the last output is a degraded copy of the first
        return float(answer[-1] > answer[0])
    if row["role"] == DEGRADED:
        original = first.get(row["below"])
        if original is None:
            return None
        now, before = (quality_of(each, settings) for each in (answer, original))
        return float(now < before)
    values = json.loads(row["known"])
    if kind.severities:
        return gold_share(answer, values, (row["target"], row["origin"]), settings)
    if not kind.compares:
        return float(abs(answer[0] - values[0]) <= _TOLERANCE[kind.name])
    strict = [pair for pair in itertools.combinations(range(len(values)), 2) if values[pair[0]] != values[pair[1]]]
    # the best has the highest known value and the lowest rank
    right = [float((values[a] - values[b]) * (answer[b] - answer[a]) > 0) for a, b in strict]
    return statistics.fmean(right) if right else None


def _same(kind: TaskKind, first: list[Any], second: list[Any], settings: CampaignSettings) -> float:
    if not kind.compares:
        before, now = (quality_of(each, settings) for each in (first, second))
        return float(abs(now - before) <= _SELF[kind.name])
    pairs = itertools.combinations(range(len(first)), 2)
    return statistics.fmean(float(np.sign(first[a] - first[b]) == np.sign(second[a] - second[b])) for a, b in pairs)


def _kappas(pairs: Sequence[JudgePair], kind: TaskKind) -> dict[str, tuple[int, float | None]]:
    units: dict[str, int] = {}
    sums: dict[str, tuple[float, int]] = {}
    for pair in pairs:
        value = pair.kappa if kind.compares else pair.quadratic if kind.unit else pair.linear
        for judge in (pair.first, pair.second):
            units[judge] = units.get(judge, 0) + pair.units
            if value == value:
                total, weight = sums.get(judge, (0.0, 0))
                sums[judge] = total + value * pair.units, weight + pair.units
    return {
        judge: (count, sums[judge][0] / sums[judge][1] if judge in sums else None) for judge, count in units.items()
    }


def agreement_of(dataset: Dataset, kind: TaskKind, *, resamples: int = 200) -> JudgesAgreement | None:
    """Return the agreement between judges over all language pairs; None if no two judges judged the same items."""
    if kind.unit:
        # at most ten units: a penalty above 10 counts as 10
        values = (dataset.ratings["value"] / kind.unit).round().clip(upper=10) * kind.unit
        dataset = dataclasses.replace(dataset, ratings=dataset.ratings.assign(value=values))
    try:
        return judges_agreement(dataset, kind.judgements, resamples=resamples)[-1]
    except DataError:
        return None


def left_out(qualities: Sequence[JudgeQuality], thresholds: Thresholds) -> list[dict[str, Any]]:
    """Return the judges that miss a threshold, with the reasons."""
    failing = ((quality, quality.failures(thresholds)) for quality in qualities)
    return [
        {"judge": quality.code, "judged": quality.judged, "reason": "; ".join(why)} for quality, why in failing if why
    ]
