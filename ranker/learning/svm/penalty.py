"""Range of the penalty C of a ranking SVM."""

from __future__ import annotations

LEAST_C, MOST_C = 1e-30, 1e30
"""Least and largest C; values beyond them are mistakes, and overflow."""
EXPECTED = f"expected a number from {LEAST_C:g} to {MOST_C:g}, or 'auto'"


def is_penalty(value: float) -> bool:
    """True if a value is allowed for C."""
    return LEAST_C <= value <= MOST_C
