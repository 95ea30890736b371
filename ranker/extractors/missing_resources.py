"""Notes about resources that a metric lacks to score exactly as the program that defined it."""

from __future__ import annotations

from collections.abc import Iterable


def parity_note(program: str, missing: Iterable[str | None]) -> str | None:
    """Note on the resources `missing` for exactly the scores of `program`, in one line, or None."""
    listed = "; ".join(filter(None, missing))
    return f"scores differ slightly from those of {program}, which also uses {listed}" if listed else None


def missing_words(kind: str, option: str, effect: str) -> str:
    """Describe a program's own list of words, which is not included."""
    return f"its own list of {kind} ({option}=FILE; the list used here {effect})"


def missing_wordnet() -> str:
    """Describe the lack of WordNet."""
    return "WordNet 3.0 (wordnet=DIRECTORY; none is installed, so synonyms do not match)"


def missing_paraphrases() -> str:
    """Describe the lack of a table of paraphrases."""
    return "its paraphrase table (paraphrases=FILE; scores are those of the program without paraphrases)"
