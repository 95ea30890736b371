"""Agreement of people with the score difference between two systems, learnt from systems that people judged."""

from __future__ import annotations

import functools
import json
import math
from dataclasses import dataclass

from ranker import share
from ranker.evaluation.resampling.bootstrap import Estimate
from ranker.ranking.scorers import Scorer, type_of
from ranker.storage.plain_data import record

EXPONENT = 2 / 3
"""Exponent of the difference; it predicts held-out corpora better than 1 does."""
FEWEST_SOURCES = 100
"""Minimum number of sources to estimate agreement; with fewer, differences are mostly chance."""


@dataclass(frozen=True)
class AgreementCurve:
    """Share of system pairs that people order in the same way as the scores, as a function of the score difference."""

    model: str | None
    """Beginning of the digest of the model; None for a metric."""
    data: str
    targets: tuple[str, ...]
    """Target languages of these data; the curve applies to no other languages."""
    slope: float
    low: float
    """Lower end of the slope's interval, from a bootstrap of language pairs and systems."""
    high: float
    largest: float
    """Difference beyond which the share is taken as constant."""

    def at(self, difference: float) -> Estimate:
        """Share of system pairs with this score difference that people order as the scores do, with its interval.

        The share is 1 / (1 + exp(-slope |difference|^(2/3))).
        """
        apart = min(abs(difference), self.largest) ** EXPONENT
        return Estimate(*(1 / (1 + math.exp(-slope * apart)) for slope in (self.slope, self.low, self.high)))


@functools.cache
def agreement_curves() -> dict[str, AgreementCurve]:
    """Return the included curves by metric or model name, as made by `bench/agreement_curve.py`."""
    curves = json.loads((share.directory("data") / "agreement.json").read_text(encoding="utf-8"))
    return {name: record(AgreementCurve, curve) for name, curve in curves.items()}


def agreement_curve(scorer: Scorer, target: str) -> AgreementCurve | None:
    """Return a target language's curve for an included ranker or a metric with default options, or None."""
    curve = agreement_curves().get(scorer.name)
    if (
        curve is None
        or target not in curve.targets
        or (curve.model is not None and f"|model:{curve.model}|" not in scorer.signature())
    ):
        return None
    return curve if (curve.model is None) == (type_of(scorer) == "metric") else None
