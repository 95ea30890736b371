"""Lemmas from a treebank: rules for word endings, and a list of the words that they miss.

For each part of speech and word ending, the rule is the edit that most word types of the treebank with that ending
need.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from ranker.learning.parser.lemmas import LONGEST_ENDING, Edit, LemmaTable, edit_of

_RARE = 2


def learn_lemmas(words: Iterable[tuple[str, str, str]]) -> LemmaTable:
    """Learn the table from (form, tag, lemma) of every word of a treebank; lemma ``_`` is unknown."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for form, tag, lemma in words:
        if lemma != "_" or form == "_":
            counts[tag, form.lower()][lemma.lower()] += 1
    lemmas = {key: min(seen, key=lambda lemma: (-seen[lemma], lemma)) for key, seen in sorted(counts.items())}
    rules = _learn_rules(lemmas)
    exceptions: dict[str, dict[str, str]] = defaultdict(dict)
    regular = LemmaTable(rules, {})
    for (tag, form), lemma in lemmas.items():
        if regular.lemma(form, tag) != lemma:
            exceptions[tag][form] = lemma
    return LemmaTable(rules, dict(exceptions))


def table_json(table: LemmaTable) -> str:
    """Write the table as JSON, keys sorted."""
    values = {"rules": table.rules, "exceptions": table.exceptions}
    return json.dumps(values, ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n"


def _learn_rules(lemmas: Mapping[tuple[str, str], str]) -> dict[str, dict[str, Edit]]:
    votes: dict[str, dict[str, Counter[Edit]]] = defaultdict(lambda: defaultdict(Counter))
    for (tag, form), lemma in lemmas.items():
        shared = 0
        while shared < min(len(form), len(lemma)) and form[shared] == lemma[shared]:
            shared += 1
        edit = (len(form) - shared, lemma[shared:])
        for length in range(min(LONGEST_ENDING, len(form)) + 1):
            votes[tag][form[len(form) - length :]][edit] += 1
    rules: dict[str, dict[str, Edit]] = {}
    for tag, endings in votes.items():
        edits: dict[str, Edit] = {}
        for ending in sorted(endings, key=lambda ending: (len(ending), ending)):
            edit, count = min(endings[ending].items(), key=lambda vote: (-vote[1], vote[0]))
            # an ending that one word alone supports, or that says what a shorter one says, adds nothing
            if ending == "" or (count >= _RARE and edit_of(edits, ending) != edit):
                edits[ending] = edit
        rules[tag] = edits
    return rules
