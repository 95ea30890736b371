"""How a ranker learns unless told otherwise: the same on the command line and in Python."""

from __future__ import annotations

from typing import Literal

Loss = Literal["hinge", "squared_hinge"]
PairCounting = Literal["judgements", "aggregated", "balanced"]
AUTO = "auto"
FEATURES = AUTO
"""Feature set; ``auto`` is `STANDARD` for English and `STANDARD_ANY` for what the included parser does not know."""
STANDARD, STANDARD_ANY = "standard", "standard-any"
C: float | Literal["auto"] = "auto"
LOSS: Loss = "squared_hinge"
PAIRS: PairCounting = "aggregated"
FOLDS = 5
"""Folds of the cross-validation that ends a training."""
