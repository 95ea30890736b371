"""Checks of languages with several codes, and of scripts that language pairs state."""

from __future__ import annotations

import pytest

from ranker import check_outputs, from_texts

GERMAN = "Die neue Bibliothek ist sehr groß und hat viele Bücher, die man auch am Sonntag lesen kann."
SOURCE = "The new library is very large and has many books that you can read on Sundays too."
TEXTS = {
    "Latn": "Nova biblioteka je velika i ima mnogo knjiga.",
    "Cyrl": "Нова библиотека је велика и има много књига.",
    "Arab": "المكتبة الجديدة كبيرة وفيها كتب كثيرة",
    "Deva": "नया पुस्तकालय बहुत बड़ा है और उसमें कई किताबें हैं।",
    "Hans": "新图书馆很大，有很多书，我们学习时间很长。",
    "Hant": "新圖書館很大，有很多書，我們學習時間很長。",
}
HINDI = "Naya pustakalay bahut bada hai aur usmein kai kitaben hain jo hum padh sakte hain."


def found(text: str, lp: str) -> list[str]:
    failed = check_outputs(from_texts([text], sources=[SOURCE], lp=lp))
    return failed["found"][failed["check"] == "language"].tolist()


@pytest.mark.parametrize(
    "code",
    [
        *["no", "nb", "nn", "sq", "als_Latn", "ar", "arz_Arab", "ary", "fa", "prs_Arab", "he", "iw", "id", "in", "zh"],
        *["yue", "hr", "sh"],
    ],
)
def test_all_codes_of_a_language_tell_another_language(code: str) -> None:
    assert found(GERMAN, f"en-{code}") in (["German"], ["other letters"])


@pytest.mark.parametrize(
    ("code", "script"),
    [
        *[("arb_Latn", "Latn"), ("ur_Latn", "Latn"), ("kk_Latn", "Latn"), ("zh_Latn", "Latn"), ("pa_Arab", "Arab")],
        *[("ms_Arab", "Arab"), ("ro_Cyrl", "Cyrl"), ("bs_Cyrl", "Cyrl"), ("sr_Latn", "Latn"), ("sr_Cyrl", "Cyrl")],
        *[("sr", "Latn"), ("sr", "Cyrl"), ("zh_Hant", "Hant"), ("zh_Hans", "Hans"), ("zh", "Hant"), ("zh_TW", "Hans")],
        *[("ckb", "Arab"), ("ku", "Latn"), ("sa", "Deva"), ("azb_Arab", "Arab"), ("sd", "Arab"), ("ug", "Arab")],
    ],
)
def test_the_stated_script_is_right(code: str, script: str) -> None:
    assert found(TEXTS[script], f"en-{code}") == []


@pytest.mark.parametrize(
    ("code", "script", "what"),
    [
        *[("sr_Latn", "Cyrl", "other letters"), ("sr_Cyrl", "Latn", "other letters")],
        *[("arb_Latn", "Arab", "other letters"), ("tg_Cyrl", "Arab", "other letters")],
        *[("hi_Latn", "Deva", "other letters"), ("zh_Hant", "Hans", "simplified characters")],
        ("zh_Hans_CN", "Hant", "traditional characters"),
    ],
)
def test_another_script_than_the_stated_one_is_found(code: str, script: str, what: str) -> None:
    assert found(TEXTS[script], f"en-{code}") == [what]


def test_a_language_in_another_script_than_usual_has_no_known_words() -> None:
    assert found(HINDI, "en-hi_Latn") == []
    assert found(HINDI, "en-hi") == ["other letters"]


def test_a_translation_from_one_norwegian_into_the_other_is_a_translation() -> None:
    text = "Jeg vet ikke hva du mener med det, men jeg skal spørre de andre i morgen."
    failed = check_outputs(from_texts([text], sources=[text], lp="nb-nn"))
    assert failed["check"].tolist() == ["copy"]
