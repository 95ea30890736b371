"""Score files of mt-metrics-eval: lines of ``SYSTEM<tab>SCORE``, grouped by system.

``NAME.sys.score`` has one line per system, ``NAME.doc.score`` one per document, ``NAME.seg.score`` one per segment,
in the order of the test set; ``None`` stands for a score that is missing. Files of metrics are called
``METRIC-REFERENCES``, the names of the references joined by dots, ``all`` or ``src`` (none).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from ranker.corpora.records import number_in, shown
from ranker.errors import DataError, counted

MISSING = "None"
SUFFIXES = {"segment": "seg", "document": "doc", "system": "sys"}
"""Names of levels in score files."""

_REFERENCE_NAME = re.compile(r"[^\s.\-/]+\Z")
_RESERVED = ("all", "src")
_NOT_IN_FILE_NAMES = re.compile(r"[^\w.,=+\[\]-]")


def parse_scores(text: str, file: str, first: int = 1) -> dict[str, list[tuple[float | None, int]]]:
    r"""Parse a score file, whose first line is number `first`, into (score, line) pairs by system."""
    by_system: dict[str, list[tuple[float | None, int]]] = {}
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else [], first):
        fields = line.split()
        if len(fields) != 2:
            what = f"expected a system and its score, found {shown(line)} ({counted(len(fields), 'field')})"
            raise DataError(what, file=file, line=number)
        system, value = fields
        by_system.setdefault(system, []).append((parse_score(value, file, number), number))
    if not by_system:
        raise DataError("is empty, expected one system and score per line", file=file)
    return by_system


def parse_score(value: str, file: str, line: int) -> float | None:
    """Parse one score; None if it is missing."""
    if value == MISSING:
        return None
    number = number_in(value)
    if not math.isfinite(number):
        raise DataError(f"expected a finite number or {MISSING}, found {shown(value)}", file=file, line=line)
    return number


def format_scores(scores: Mapping[str, Sequence[float | None]], file: str | None = None) -> str:
    """Format scores by system as the text of a score file, in which scores that are not finite are missing.

    Errors name `file`, from which the systems' names come.
    """
    lines = []
    for system, values in scores.items():
        if len(system.split()) != 1 or system != system.strip():
            what = f"system {shown(system)}: expected a name without white space for a score file; rename it"
            raise DataError(what, file=file)
        lines += [
            f"{system}\t{MISSING if value is None or not math.isfinite(value) else repr(value + 0.0)}"
            for value in values
        ]
    return "".join(line + "\n" for line in lines)


def stem(metric: str, references: Sequence[str | None] | None) -> str:
    """Return the beginning of a score file's name, before the level: the metric and the references."""
    return f"{_NOT_IN_FILE_NAMES.sub('_', metric)}-{_reference_set(references)}"


def _reference_set(references: Sequence[str | None] | None) -> str:
    if references is not None and not references:
        return "src"
    names = [name for name in references or () if name and _REFERENCE_NAME.match(name) and name not in _RESERVED]
    # whatever the references are called, it is all of them that were used
    return ".".join(names) if names and references is not None and len(names) == len(references) else "all"
