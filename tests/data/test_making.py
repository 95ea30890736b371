"""The bundled sample is what its script makes, and the script makes what it says."""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from data.making import sample as simulation
from data.making.errors import Token, detokenise, tokenise
from data.making.sample import JUDGES, KINDS, SYSTEMS, Sentence, System, simulate, translate
from ranker import files, share
from ranker.errors import DataError, OptionError

DATA = share.directory("data")


@pytest.fixture(scope="module")
def sentences() -> list[Sentence]:
    if not (DATA / "sample" / "sentences.jsonl").is_file():
        pytest.skip(f"no bundled sample in {DATA}")
    return simulation.read_sentences(DATA / "sample" / "sentences.jsonl")


@pytest.fixture(scope="module")
def records(sentences: list[Sentence]) -> list[dict]:
    return simulate(sentences)


def test_shipped_file_is_what_the_command_writes(sentences: list[Sentence], tmp_path: Path) -> None:
    shipped = DATA / "sample" / "sample.jsonl.gz"
    out = tmp_path / "again.jsonl.gz"
    assert simulation.main([str(DATA / "sample" / "sentences.jsonl"), str(out), "--seed", "0"]) == 0
    # builds of zlib may pack the same bytes differently, so what must not change is what they unpack to
    assert files.read_bytes(out) == files.read_bytes(shipped)
    packed = shipped.read_bytes()
    assert packed[3] == 0, "no file name in the gzip header"
    assert packed[4:8] == b"\0\0\0\0", "no time stamp in the gzip header"
    assert len(packed) < 250_000


def test_card_tells_the_truth(records: list[dict]) -> None:
    with (DATA / "sample.toml").open("rb") as stream:
        card = tomllib.load(stream)
    first = card["description"].strip().splitlines()[0].lower()
    assert "synthetic" in first
    assert "proves nothing about quality" in first
    assert [(DATA / name).is_file() for name in card["files"]] == [True]
    sizes = [len({record["doc"] for record in records}), len(records), len(records[0]["references"])]
    assert [int(number) for number in re.findall(r"\d+", card["facts"]["size"])] == [
        *(sizes[1], sizes[0], sizes[2], len(SYSTEMS), len(JUDGES)),
    ]
    assert card["facts"]["made by"].split()[:3] == ["python", "-m", simulation.__name__]


def test_tokens_join_to_the_text_they_came_from(sentences: list[Sentence]) -> None:
    for sentence in sentences:
        for text in sentence.references:
            assert detokenise(tokenise(text)) == text


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["an", "old", ",", "10,000", "(", "or", "so", ")"], "An old, 10,000 (or so)"),
        (["a", "open", "hour", "in", "an", "university"], "An open hour in a university"),
        (["she", "asked", ",", '"', "why", "?", '"'], 'She asked, "why?"'),
        (["by", "10", "p.m.", "at", "night", "."], "By 10 p.m. at night."),
        (["图书馆", "is", "open", "."], "图书馆 is open."),
        ([], ""),
    ],
)
def test_detokenise(words: list[str], text: str) -> None:
    assert detokenise(tuple(map(Token, words))) == text


def test_system_without_errors_and_rewordings_repeats_a_reference(sentences: list[Sentence]) -> None:
    perfect = System("perfect", {}, rewording=0.0)
    outputs = [row[0] for row in translate(sentences, [perfect], 0)]
    chosen = [sentence.references.index(output.text) for sentence, output in zip(sentences, outputs, strict=True)]
    assert set(chosen) == {0, 1, 2, 3}
    reworded = [row[0] for row in translate(sentences, [dataclasses.replace(perfect, rewording=5.0)], 0)]
    assert sum(output.text != right.text for output, right in zip(outputs, reworded, strict=True)) > 60
    assert {output.penalty(kind) for output in reworded for kind in KINDS} == {0}


@pytest.mark.parametrize(("bias", "expected"), [(0.0, 5), (-0.4, 5), (-0.6, 4), (-3.7, 1), (-9.0, 1), (9.0, 5)])
def test_judge_rounds_and_clips(bias: float, expected: int) -> None:
    strict = simulation.Judge("strict", {"fluency": bias}, noise=0.0)
    output = simulation.Output("x", "Fine.", (), 1)
    assert simulation.judge(output, strict, "fluency", np.random.Generator(np.random.PCG64(0))) == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, "seed -1 is negative"),
        (
            {"systems": [System("odd", {"spelling": 1.0})]},
            "'odd' has rates for spelling; the error types are order",
        ),
    ],
)
def test_wrong_options_are_named(arguments: dict, message: str, sentences: list[Sentence]) -> None:
    with pytest.raises(OptionError, match=message):
        simulate(sentences, **arguments)


@pytest.mark.parametrize(
    ("references", "message"), [((), "sentence 3 has no reference"), (("...",), "without a word: '...'")]
)
def test_wrong_sentences_are_named(references: tuple[str, ...], message: str) -> None:
    with pytest.raises(DataError, match=message):
        simulate([Sentence("doc", 3, "好。", references, {})])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"bad\.jsonl:2:2: not JSON"),
        ("[]", r"bad\.jsonl:2: found list, expected an object with the keys doc, seg_id"),
        ('{"doc": "a"}', r"bad\.jsonl:2: found doc, expected"),
        (
            '{"doc": "a", "seg_id": "1", "source": "", "references": [], "glossary": {}}',
            r'bad\.jsonl:2: seg_id is "1", expected a whole number',
        ),
        (
            '{"doc": "a", "seg_id": 1, "source": "", "references": [null], "glossary": {}}',
            r"bad\.jsonl:2: references holds something that is not a string",
        ),
    ],
)
def test_wrong_lines_are_located(line: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = {
        "doc": "a",
        "seg_id": 1,
        "source": "好。",
        "references": ["It is good."],
        "glossary": {"good": "好"},
    }
    path = tmp_path / "bad.jsonl"
    path.write_text(json.dumps(good) + "\n" + line + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=message):
        simulation.read_sentences(path)
    assert simulation.main([str(path), str(tmp_path / "out.jsonl")]) == 2
    assert "ranker: error: " in capsys.readouterr().err
    assert not (tmp_path / "out.jsonl").exists()
