"""Choices of levels, tests, corrections and methods.

Nothing heavy is imported, because the command line takes its choices from here.
"""

from __future__ import annotations

from typing import Literal, get_args

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
"""Below this number of sources p-values are of randomisation, because the bootstrap finds too many differences."""
Parity = Literal["sacrebleu"]
"""Programs whose p-values can be reproduced."""
