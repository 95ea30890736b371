"""Manifests, stories and assessments that are wrong: where, what was found, what was expected."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

from ranker.corpora.documents.manifest import read_manifest, read_with_notes
from ranker.errors import DataError
from tests.corpora.damage import refusal
from tests.corpora.stories import FILES, MANIFEST, story, write_corpus
from tests.effort import thorough
from tests.golden_messages import check_messages


def test_what_is_wrong_is_said_with_its_place(tmp_path: Path) -> None:
    """Each question is a file, a part of it and what stands there instead, or all that stands in it."""
    (tmp_path / "small" / "empty").mkdir(parents=True)

    def ask(asked: str) -> str:
        name, *change = json.loads(asked)
        text = FILES[name].replace(*change, 1) if change[1:] else change[0]
        folder = write_corpus(tmp_path / "small", {name: text.encode("utf-8", "surrogateescape")})
        return refusal(lambda: read_manifest(folder), folder / name)

    check_messages("manifests", ask, folder=tmp_path / "small")


def test_a_judged_output_that_is_lacking(tmp_path: Path) -> None:
    folder = write_corpus(tmp_path / "small", {"E05/d1.sgm": story("d1", "E05", "library")})
    says = "system 'E05' has no output for segment '2' of document 'd1'"
    refusal(lambda: read_manifest(folder), folder / "scores.txt", 2, says)


def test_no_output_at_all(tmp_path: Path) -> None:
    changes = {"E05/d1.sgm": story("d1", "E05"), "E06.sgm": story("d1", "E06")}
    manifest = MANIFEST[: MANIFEST.index("[assessment]")]
    folder = write_corpus(tmp_path / "small", {**changes, "manifest.toml": manifest})
    says = "no system has an output for any source, expected at least one"
    refusal(lambda: read_manifest(folder), folder / "manifest.toml", None, says)


@thorough
def test_random_damage_is_refused_with_a_place_or_said(tmp_path: Path) -> None:
    """Any one changed byte is refused with the file, or leaves every segment and score, or is said in a note."""
    generator = random.Random(0)
    whole, none = read_with_notes(write_corpus(tmp_path / "small"))
    assert none == []
    messages = []
    for _ in range(200):
        name = generator.choice(sorted(FILES))
        raw = bytearray(FILES[name].encode())
        position = generator.randrange(len(raw))
        raw[position : position + 1] = generator.choice([b"", b"<", b'"', b"\xff", b"\n", b"\t", b"\0", b"7"])
        folder = write_corpus(tmp_path / "small", {name: bytes(raw)})
        try:
            read, notes = read_with_notes(folder)
        except DataError as error:
            messages.append(str(error))
            continue
        sizes = [(len(item.sources), len(item.candidates), len(item.references)) for item in (whole, read)]
        assert notes or sizes[0] == sizes[1], (name, bytes(raw))
    assert 50 < len(messages) < 175
    for message in messages:
        assert re.match(rf"{re.escape(str(tmp_path))}/small/[\w./]+(:\d+)*: ", message), message
        assert message.isprintable(), message
