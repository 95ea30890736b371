"""Allowed values of evaluation options: levels, tests, corrections, methods, and ranges of resamples and seeds.

Nothing heavy is imported, because the command line takes its choices from here.
"""

from __future__ import annotations

from numbers import Integral
from typing import Literal, get_args

from ranker.errors import OptionError

Level = Literal["segment", "document", "system"]
LEVELS: tuple[Level, ...] = get_args(Level)
ResamplingLevel = Literal["segment", "document"]
"""Unit of resampling to compare systems: sources, or whole documents."""
Test = Literal["bootstrap", "randomisation", "perm-both", "williams"]
Correction = Literal["westfall-young", "holm", "none"]
RankingMethod = Literal["auto", "expected-wins", "bradley-terry", "trueskill", "mean"]
"""Methods that rank systems by human judgements."""
SystemTest = Literal["bs", "ar"]
"""Significance tests for two systems: paired bootstrap, approximate randomisation."""
FEW_SOURCES = 30
"""Number of sources below which intervals are too narrow and metrics are compared by randomisation."""
RANDOMISED_BELOW = 200
"""Number of sources below which systems are compared by randomisation: the bootstrap finds too many differences."""
Parity = Literal["sacrebleu"]
"""Programs whose p-values can be reproduced."""


def check_resampling(resamples: object, seed: object, *, fewest: int = 0) -> None:
    """Raise an error if the number of resamples or the seed is out of range."""
    if not (isinstance(resamples, Integral) and int(resamples) >= fewest):
        raise OptionError(f"resamples: expected a whole number from {fewest}, found {resamples!r}")
    if not (isinstance(seed, Integral) and int(seed) >= 0):
        raise OptionError(f"seed: expected a whole number from 0, found {seed!r}")
