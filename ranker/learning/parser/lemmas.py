"""Lemmas of words by their part of speech: suffix rules for regular words, a list for other words.

A rule is an edit (letters to cut, letters to append) for a word ending; the longest known ending decides. Everything is
lower-cased, since lemmas serve to compare words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ranker.errors import ModelError
from ranker.storage.plain_data import parse_json, typed

LONGEST_ENDING = 5
Edit = tuple[int, str]


@dataclass(frozen=True)
class LemmaTable:
    """Table that maps a word form and its part-of-speech tag to a lemma."""

    rules: Mapping[str, Mapping[str, Edit]]
    exceptions: Mapping[str, Mapping[str, str]]

    def lemma(self, form: str, tag: str) -> str:
        """Return the lower-cased lemma of `form` with the tag `tag`, or the lower-cased form if the tag is unknown."""
        form = form.lower()
        listed = self.exceptions.get(tag, {}).get(form)
        if listed is not None:
            return listed
        cut, append = edit_of(self.rules.get(tag, {}), form)
        return form[: len(form) - cut] + append

    @classmethod
    def from_json(cls, text: str, file: str) -> LemmaTable:
        """Read a table from JSON text; `file` is its name in error messages."""
        try:
            table = parse_json(text, file)
            rules = typed(table["rules"], dict[str, dict[str, Edit]])
            exceptions = typed(table["exceptions"], dict[str, dict[str, str]])
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise ModelError(
                f"{file}: damaged lemma table ({error}): restore the file or train the pipeline again"
            ) from None
        return cls(rules, exceptions)


def edit_of(edits: Mapping[str, Edit], form: str) -> Edit:
    """Return the edit for the longest known ending of `form` that leaves at least one letter."""
    for length in range(min(LONGEST_ENDING, len(form)), -1, -1):
        edit = edits.get(form[len(form) - length :])
        if edit is not None and edit[0] < max(len(form), 1):
            return edit
    return 0, ""
