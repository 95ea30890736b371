"""Languages detected by script and words."""

from __future__ import annotations

import numpy as np

from ranker.corpora.records import Candidate, Record, assemble
from ranker.text.target_languages import in_english, looks_english, sampled, written_languages

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


def test_a_sample_is_large_and_evenly_spaced() -> None:
    sizes = {0: 0, 1: 1, 999: 999, 1000: 1000, 1001: 501, 2000: 1000, 5001: 834}
    assert {size: len(sampled(np.arange(size))) for size in sizes} == sizes
