"""Lemmas from a treebank: suffix rules for regular words, a list for other words.

For each part of speech and word ending, the rule is the edit (cut so many letters, append these) that most word
types of the treebank with that ending need; the longest known ending decides. Types whose lemma the rules miss are
listed.
Everything is lower-cased, since lemmas serve to compare words.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ranker.errors import ModelError
from ranker.storage.plain_data import parse_json, typed

_LONGEST_ENDING = 5
_RARE = 2
Edit = tuple[int, str]


@dataclass(frozen=True)
class LemmaTable:
    """Maps (form, tag) to a lemma."""

    rules: Mapping[str, Mapping[str, Edit]]
    exceptions: Mapping[str, Mapping[str, str]]

    @classmethod
    def learn(cls, words: Iterable[tuple[str, str, str]]) -> LemmaTable:
        """Learn the table from (form, tag, lemma) of every word of a treebank; lemma ``_`` is unknown."""
        counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for form, tag, lemma in words:
            if lemma != "_" or form == "_":
                counts[tag, form.lower()][lemma.lower()] += 1
        lemmas = {key: min(seen, key=lambda lemma: (-seen[lemma], lemma)) for key, seen in sorted(counts.items())}
        rules = _learn_rules(lemmas)
        exceptions: dict[str, dict[str, str]] = defaultdict(dict)
        regular = cls(rules, {})
        for (tag, form), lemma in lemmas.items():
            if regular.lemma(form, tag) != lemma:
                exceptions[tag][form] = lemma
        return cls(rules, dict(exceptions))

    def lemma(self, form: str, tag: str) -> str:
        """Return the lower-cased lemma of `form` used as `tag`; an unknown tag gives the lower-cased form."""
        form = form.lower()
        listed = self.exceptions.get(tag, {}).get(form)
        if listed is not None:
            return listed
        cut, append = _edit(self.rules.get(tag, {}), form)
        return form[: len(form) - cut] + append

    def to_json(self) -> str:
        """Write the table as JSON, keys sorted."""
        table = {"rules": self.rules, "exceptions": self.exceptions}
        return json.dumps(table, ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n"

    @classmethod
    def from_json(cls, text: str, file: str) -> LemmaTable:
        """Read the JSON text of `to_json`; `file` is its name in messages."""
        try:
            table = parse_json(text, file)
            rules = typed(table["rules"], dict[str, dict[str, Edit]])
            exceptions = typed(table["exceptions"], dict[str, dict[str, str]])
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise ModelError(
                f"{file}: damaged lemma table ({error}): restore the file or train the pipeline again"
            ) from None
        return cls(rules, exceptions)


def _edit(edits: Mapping[str, Edit], form: str) -> Edit:
    """Return the edit of the longest known ending that leaves at least one letter of `form`."""
    for length in range(min(_LONGEST_ENDING, len(form)), -1, -1):
        edit = edits.get(form[len(form) - length :])
        if edit is not None and edit[0] < max(len(form), 1):
            return edit
    return 0, ""


def _learn_rules(lemmas: Mapping[tuple[str, str], str]) -> dict[str, dict[str, Edit]]:
    votes: dict[str, dict[str, Counter[Edit]]] = defaultdict(lambda: defaultdict(Counter))
    for (tag, form), lemma in lemmas.items():
        shared = 0
        while shared < min(len(form), len(lemma)) and form[shared] == lemma[shared]:
            shared += 1
        edit = (len(form) - shared, lemma[shared:])
        for length in range(min(_LONGEST_ENDING, len(form)) + 1):
            votes[tag][form[len(form) - length :]][edit] += 1
    rules: dict[str, dict[str, Edit]] = {}
    for tag, endings in votes.items():
        edits: dict[str, Edit] = {}
        for ending in sorted(endings, key=lambda ending: (len(ending), ending)):
            edit, count = min(endings[ending].items(), key=lambda vote: (-vote[1], vote[0]))
            # an ending that one word alone supports, or that says what a shorter one says, adds nothing
            if ending == "" or (count >= _RARE and _edit(edits, ending) != edit):
                edits[ending] = edit
        rules[tag] = edits
    return rules
