"""The table of lemmas: rules for the regular, a list for the rest."""

from __future__ import annotations

import pytest

from models.making.parser.lemma_rules import learn_lemmas, table_json
from ranker.errors import ModelError
from ranker.learning.parser.lemmas import LemmaTable

WORDS = [
    *[(f"{stem}s", "NOUN", stem) for stem in ("house", "dog", "Cat", "tree", "lamp")],
    *[(stem, "NOUN", stem) for stem in ("house", "dog", "cat", "tree", "lamp", "man", "idea")],
    *[(f"{stem}ies", "NOUN", f"{stem}y") for stem in ("cit", "part", "stor")],
    ("men", "NOUN", "man"),
    ("saw", "NOUN", "saw"),
    *[("saw", "VERB", "see")] * 2,
    ("saw", "VERB", "saw"),
    ("unknown", "X", "_"),
]


@pytest.mark.parametrize(
    ("form", "tag", "lemma"),
    [
        ("Dogs", "NOUN", "dog"),
        ("men", "NOUN", "man"),
        ("saw", "NOUN", "saw"),
        ("saw", "VERB", "see"),
        ("copies", "NOUN", "copy"),
        ("windows", "NOUN", "window"),
        ("s", "NOUN", "s"),
        ("Other", "ADJ", "other"),
        ("", "NOUN", ""),
    ],
)
def test_seen_and_unseen_words(form: str, tag: str, lemma: str) -> None:
    assert learn_lemmas(WORDS).lemma(form, tag) == lemma


def test_json_comes_back_and_does_not_depend_on_the_order_of_the_words() -> None:
    table = learn_lemmas(WORDS)
    assert LemmaTable.from_json(table_json(table), "x") == table
    assert table_json(learn_lemmas(WORDS[::-1])) == table_json(table)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"rules": {}}',
        '{"rules": {"N": {"s": [1]}}, "exceptions": {}}',
        '{"rules": {}, "exceptions": {"N": {"a": 1}}}',
    ],
)
def test_a_damaged_table_is_refused(text: str) -> None:
    with pytest.raises(ModelError, match=r"lemmas\.json: damaged lemma table"):
        LemmaTable.from_json(text, "lemmas.json")
