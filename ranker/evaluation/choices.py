"""Levels, tests, corrections and methods that can be asked for.

Nothing heavy is imported, because the command line takes its choices from here.
"""

from __future__ import annotations

from typing import Literal, get_args

Level = Literal["segment", "document", "system"]
LEVELS: tuple[Level, ...] = get_args(Level)
ResamplingLevel = Literal["segment", "document"]
"""What is resampled to compare systems: sources, or whole documents."""
Test = Literal["bootstrap", "randomisation", "perm-both", "williams"]
Correction = Literal["westfall-young", "holm", "none"]
RankingMethod = Literal["auto", "expected-wins", "bradley-terry", "trueskill", "mean"]
"""Methods that rank systems by human judgements."""
SystemTest = Literal["bs", "ar"]
"""Significance tests for two systems: paired bootstrap, approximate randomisation."""
FEW_SOURCES = 30
"""Below it, p-values are of randomisation, because the bootstrap finds too many differences; and a note says so."""
Parity = Literal["sacrebleu"]
"""Programs whose p-values can be reproduced."""
