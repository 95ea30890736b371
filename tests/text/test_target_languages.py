"""Languages detected by script and words."""

from __future__ import annotations

import numpy as np
import pytest

from ranker.corpora.records import Candidate, Record, assemble
from ranker.extractors.registry import make
from ranker.ranking.included import default_model
from ranker.text.target_languages import english_in_doubt, in_english, looks_english, sampled, written_languages

JAPANESE, GERMAN = "これはバスです。", "Der Bus kommt heute nicht mehr an dieser Stelle vorbei, leider."
ENGLISH = "The bus does not stop here, and it is not known when it will be back."


def record(number: int, text: str, *, lp: str | None = None, reference: str | None = None) -> Record:
    outputs = [Candidate(system, text) for system in ("A", "B")]
    return Record(f"{number}", [reference] if reference else [], outputs, lp=lp, seg_id=f"{number}")


def test_a_language_pair_far_down_or_without_references_among_others_that_have_them_is_detected() -> None:
    english = [record(number, ENGLISH, lp="de-xx", reference=ENGLISH) for number in range(800)]
    japanese = [record(number, JAPANESE, lp="de-yy") for number in range(3)]
    languages = written_languages(assemble([*english, *japanese], "made"))
    assert (languages[0], languages[-1]) == ("xx", "ja")


def test_all_texts_tell_whether_they_are_english_not_only_the_first() -> None:
    mixed = assemble([record(number, ENGLISH if number < 300 else GERMAN) for number in range(4000)], "made")
    assert not looks_english(mixed)
    assert not in_english(mixed).any()
    turned = assemble([record(number, GERMAN if number < 300 else ENGLISH) for number in range(4000)], "made")
    assert looks_english(turned)


@pytest.mark.parametrize(
    ("references", "looks", "doubt"),
    [
        (
            ["Der Bus kam zehn Minuten zu spät.", "Die neue Bibliothek ist sehr groß und hat viele Bücher."],
            False,
            False,
        ),
        (["Der Bus kam zehn Minuten zu spät."], None, True),
        (["Guten Morgen."], None, False),
        (["The bus was late."], True, False),
        (["Кошка сидела на коврике."], False, False),
        (["123"], None, False),
    ],
)
def test_notes_and_the_choice_of_a_model_depend_on_one_detector(references, looks, doubt) -> None:
    data = assemble([record(number, text, reference=text) for number, text in enumerate(references)], "made")
    assert looks_english(data) is looks
    assert english_in_doubt(data) is doubt
    assert in_english(data).all() == (looks is not False)
    assert (default_model(data) == "full") == (looks is True)
    note = make("meteor").note(data)
    if doubt:
        what = "the translations are assumed to be English; if they are not, state the language pair (--lp)"
        assert note == f"meteor: {what}"
    else:
        assert (note is not None) == (looks is False)


def test_a_sample_is_large_and_evenly_spaced() -> None:
    sizes = {0: 0, 1: 1, 999: 999, 1000: 1000, 1001: 501, 2000: 1000, 5001: 834}
    assert {size: len(sampled(np.arange(size))) for size in sizes} == sizes
