"""Notes on resources that a metric lacks for the exact scores of the program that defined it."""

from __future__ import annotations

from collections.abc import Iterable


def parity_note(program: str, missing: Iterable[str | None]) -> str | None:
    """Return a note that the exact scores of `program` need the `missing` resources, or None if nothing is missing."""
    listed = "; ".join(filter(None, missing))
    return f"scores differ slightly from those of {program}, which also uses {listed}" if listed else None


def missing_words(kind: str, option: str, effect: str) -> str:
    """Describe the missing word list of the original program, for `parity_note`."""
    return f"its own list of {kind} ({option}=FILE; the list used here {effect})"


def missing_wordnet() -> str:
    """Describe the missing WordNet, for `parity_note`."""
    return "WordNet 3.0 (wordnet=DIRECTORY; none is installed, so synonyms do not match)"


def missing_paraphrases() -> str:
    """Describe the missing paraphrase table of the original program, for `parity_note`."""
    return "its paraphrase table (paraphrases=FILE; scores are those of the program without paraphrases)"
