"""Names that readers give to outputs of unnamed systems: candidate1, candidate2, ..., by place within a source."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ranker.errors import log_note

NUMBERED = "candidate[0-9]+"
"""Pattern of the names that readers give."""


def are_numbered(names: Iterable[str]) -> bool:
    """True if every name is one that readers give."""
    return all(re.fullmatch(NUMBERED, name) for name in names)


def note_numbered(systems: Iterable[str], about: str) -> None:
    """Log a note if several `systems` are compared that all have the names that readers give."""
    names = {*systems}
    if len(names) > 1 and are_numbered(names):
        # a column may have these names too, also in a file converted from data that name no systems
        what = "if these are places within a source because the data name no systems, give a column or key system"
        log_note(f"the systems are called candidate1, candidate2, ...; {what}", about)
