"""Translations whose lines were merged or split get the lines of the source again."""

from __future__ import annotations

import logging
import random
import re
import unicodedata
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies

from ranker import Dataset, from_texts
from ranker.corpora.line_alignment import align_lines
from ranker.errors import DataError
from tests.command_line import Command

ENGLISH = [
    "Unfortunately the bus does not stop here today.",
    "It comes back tomorrow at 9, as the company says.",
    "Thank you for your understanding!",
    "Passengers to Prague take the train from platform 4.",
    "",
    "Tickets are valid, and nobody pays twice.",
]


THAI = [
    "ประกาศจากห้องสมุดประชาชน",
    "ห้องสมุดจะเปิดทำการนานขึ้นตั้งแต่วันจันทร์",
    "รถไฟขบวนแรกออกเวลาเก้าโมง",
    "ไม่มีใครรู้ว่าเขาไปไหน",
    "แม่ซื้อผลไม้และน้ำดื่มที่ตลาด",
    "วันนี้อากาศร้อนมาก แต่พรุ่งนี้ฝนจะตก",
]
BURMESE = [
    "ကော်မတီသည် လာမည့်အပတ်တွင် ထပ်မံတွေ့ဆုံမည်။",
    "သူ အင်္ဂလိပ်စကား ကောင်းကောင်း ပြောတတ်တယ်။",
    "သတ္တဝါအားလုံး ချမ်းသာပါစေ။",
    "ကလေးတွေ ပန်းခြံထဲမှာ ကစားနေတယ်။",
    "စာကြည့်တိုက် နောက်ကျမှ ပိတ်မယ်။",
]


def on_lines(texts: list[str]) -> list[list[str]]:
    return [[text] for text in texts]


def damaged(lines: list[str], generator: random.Random) -> list[str]:
    """Merge about every eighth line with the next, and split as many at a space."""
    left, found = [*lines], []
    while left:
        line, chance = left.pop(0), generator.random()
        spaces = [match.start() for match in re.finditer(" ", line)]
        if chance < 1 / 8 and left:
            found.append(f"{line} {left.pop(0)}")
        elif chance < 1 / 4 and spaces:
            place = generator.choice(spaces)
            found += [line[:place], line[place + 1 :]]
        else:
            found.append(line)
    return found


@pytest.mark.parametrize("lines", [THAI, BURMESE])
@pytest.mark.parametrize("place", range(4))
def test_lines_joined_without_a_space_are_parted_between_characters(lines: list[str], place: int) -> None:
    joined = [*lines[:place], lines[place] + lines[place + 1], *lines[place + 2 :]]
    assert align_lines(joined, on_lines(lines), "file") == lines
    without = ["x" * len(line) for line in lines]
    starts = [text[0] for text in align_lines(["".join(lines)], on_lines(without), "file") if text]
    assert not any(unicodedata.category(start)[0] == "M" or start in "ะาำๆ" for start in starts)


def test_a_word_counts_only_as_often_as_the_reference_has_it() -> None:
    # the first reference has one of the letters that begin the second and third lines
    broken = [THAI[0] + THAI[1], THAI[2][:1], THAI[2][1:], *THAI[3:]]
    assert align_lines(broken, on_lines(THAI), "file") == THAI


@pytest.mark.parametrize(
    "lines",
    [
        ENGLISH,
        [f"{ENGLISH[0]} {ENGLISH[1]}", *ENGLISH[2:]],
        [*ENGLISH[:3], "Passengers to Prague take", "the train from platform 4.", *ENGLISH[4:]],
        [" ".join(ENGLISH[:2]), "Thank you for your", "understanding!", *ENGLISH[3:]],
        [" ".join(text for text in ENGLISH if text)],
        " ".join(ENGLISH).split(),
    ],
)
def test_merged_and_split_lines_are_put_right(lines: list[str]) -> None:
    assert align_lines(lines, on_lines(ENGLISH), "x") == ENGLISH


def test_the_source_alone_tells_by_lengths_numbers_and_names() -> None:
    german = [
        "Leider hält der Bus heute hier nicht.",
        "Er kommt morgen um 9 wieder, wie die Firma sagt.",
        "Vielen Dank für Ihr Verständnis!",
        "Reisende nach Prague nehmen den Zug von Gleis 4.",
        "",
        "Fahrkarten gelten, und niemand zahlt doppelt.",
    ]
    assert align_lines([" ".join(ENGLISH[:3]), *ENGLISH[3:]], on_lines(german), "x") == ENGLISH


def test_chinese_is_joined_without_spaces_and_divided_between_characters() -> None:
    texts = ["公共汽车今天不在这里停。", "它明天九点再来。", "谢谢大家的理解。"]
    assert (
        align_lines(["公共汽车今天", "不在这里停。", "它明天九点再来。谢谢大家的理解。"], on_lines(texts), "x") == texts
    )


@pytest.mark.parametrize("seed", range(3))
def test_most_lines_of_the_sample_are_put_right(sample: Dataset, seed: int) -> None:
    system = sample.candidates["system"].iloc[0]
    of_system = sample.candidates[sample.candidates["system"] == system].drop_duplicates("source")
    lines = [" ".join(text.split()) for text in of_system["text"]]
    references = sample.references.drop_duplicates("source").set_index("source")["text"]
    wanted = on_lines([references[source] for source in of_system["source"]])
    found = align_lines(damaged(lines, random.Random(seed)), wanted, "x")
    assert sum(map(str.__eq__, found, lines)) >= 0.9 * len(lines)


TEXTS = strategies.text(strategies.sampled_from("ab.9 \u00a0汽ไש"), max_size=12)


@hypothesis.given(strategies.lists(TEXTS, max_size=6), strategies.lists(TEXTS, min_size=1, max_size=6))
def test_no_character_is_lost_or_moved(lines: list[str], wanted: list[str]) -> None:
    try:
        found = align_lines(lines, on_lines(wanted), "x")
    except DataError:
        hypothesis.reject()
    assert len(found) == len(wanted)
    assert "".join("".join(found).split()) == "".join("".join(lines).split())
    assert not any("\n" in text for text in found)


def test_another_text_is_refused_and_what_was_done_is_said(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(DataError, match="x: cannot be aligned to 6 lines: 4 of them would have no translation"):
        align_lines(["Yes."], on_lines(ENGLISH), "x")
    caplog.set_level(logging.WARNING)
    align_lines(
        [f"{ENGLISH[0]} {ENGLISH[1]}", "Thank you for your", "understanding!", *ENGLISH[3:]], on_lines(ENGLISH), "x"
    )
    assert caplog.messages == [
        "ranker: note: x: aligned to 6 lines: line 1 from a part of line 1, line 2 from a part of line 1, "
        "line 3 from lines 2 to 3"
    ]


@pytest.mark.parametrize(
    ("lines", "note"),
    [
        (["", "", *ENGLISH[:4], "", "", ENGLISH[5][:17], ENGLISH[5][18:]], "line 6 from lines 9 to 10"),
        ([*ENGLISH[:2], "", ENGLISH[2] + " " + ENGLISH[3], "", ENGLISH[5]], "line 3 from a part of line 4"),
    ],
)
def test_lines_are_counted_as_in_the_file(lines: list[str], note: str, caplog) -> None:
    align_lines(lines, on_lines(ENGLISH), "x")
    assert f"x: aligned to 6 lines: {note}" in caplog.text


def test_lines_without_a_translation_are_said(caplog) -> None:
    three = [*ENGLISH, *ENGLISH, *ENGLISH]
    assert align_lines(three[:-1], on_lines(three), "x") == [*three[:-1], ""]
    assert "x: aligned to 18 lines: 1 line without a translation" in caplog.text


def test_the_command_and_python_align_alike(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    merged = [f"{ENGLISH[0]} {ENGLISH[1]}", *ENGLISH[2:]]
    for name, lines in {"ref": ENGLISH, "out": merged}.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    assert "out:5: has 5 lines, expected 6 as in ref" in command("score", "-r", "ref", "-t", "out", code=2).err
    printed = command("score", "-r", "ref", "-t", "out", "--align", "-m", "wer", "-f", "value")
    assert [float(line) for line in printed.out.split()] == [0.0] * 6
    dataset = from_texts(merged, ENGLISH, align=True)
    assert dataset.candidates["text"].tolist() == ENGLISH


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-t", "a", "b"], "nothing to align translations to; give the source (-s) or references (-r)"),
        (["sample"], "give translations in plain text (-t)"),
    ],
)
def test_without_anything_to_align_to_it_is_refused(
    words: list[str], message: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        (tmp_path / name).write_text("x\n", encoding="utf-8")
    assert f"--align: {message}" in command("score", *words, "--align", "-m", "bleu", code=2).err
    with pytest.raises(DataError, match="align: nothing to align translations to"):
        from_texts(["x"], align=True)
    for references in ({}, [[], ["x"]]):
        with pytest.raises(DataError, match="align: nothing to align translations to"):
            from_texts(["x", "x"], references, align=True)
