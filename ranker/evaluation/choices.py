"""Tests and corrections that a comparison can be asked for.

Nothing heavy is imported, because the command line takes its choices from here.
"""

from __future__ import annotations

from typing import Literal

Test = Literal["bootstrap", "randomisation", "perm-both"]
Correction = Literal["westfall-young", "holm", "none"]
