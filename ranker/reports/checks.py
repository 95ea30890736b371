"""Section of a report about outputs that fail checks."""

from __future__ import annotations

from collections.abc import Sequence

from ranker.checks.outputs import CHECKS, failed_checks, system_counts
from ranker.corpora.dataset import Dataset
from ranker.reports.pages import Section, section

_EXAMPLES = 3


def checked(datasets: Sequence[Dataset]) -> list[Section]:
    """Return a section on failed checks per system, with examples; empty if no output fails."""
    counts = [{"data": dataset.name, **row} for dataset in datasets for row in system_counts(dataset)]
    failed = [failed_checks(dataset) for dataset in datasets]
    examples = {
        name: [row for frame in failed for row in frame[frame["check"] == name].head(_EXAMPLES).to_dict("records")]
        for name in CHECKS
    }
    examples = {name: rows for name, rows in examples.items() if rows}
    if not examples:
        return []
    several = len(datasets) > 1
    return [section("checks.html", "checks", "Output checks", counts=counts, examples=examples, several=several)]
