"""Manifests, stories and assessments that are wrong: where, what was found, what was expected."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from ranker.corpora.documents.manifest import read_manifest, read_with_notes
from ranker.errors import DataError
from tests.corpora.damage import refusal
from tests.corpora.stories import FILES, MANIFEST, SCORES, story, write_corpus


def refused(tmp_path: Path, name: str, content: str | bytes | None, line: int | None, says: str) -> None:
    folder = write_corpus(tmp_path / "small", {name: content})
    refusal(lambda: read_manifest(folder), folder / name, line, says)


def replaced(old: str, new: str) -> str:
    assert MANIFEST.count(old) == 1
    return MANIFEST.replace(old, new)


COLUMNS = 'columns = ["system", "doc", "segment", "judge", "fluency"]'


@pytest.mark.parametrize(
    ("manifest", "line", "says"),
    [
        ("language_pair = \n", 1, "not TOML, expected valid TOML: Invalid value"),
        ("", None, "key 'language_pair' is missing; expected language_pair, source"),
        (replaced("zh-en", "Chinese"), None, "expected a language pair such as 'zh-en', found 'Chinese'"),
        ("language_pair = 'zh-en'\nsource = 's'\nsystems = 3", None, "systems: expected 'table', found 'int'"),
        (f"{MANIFEST}\n[system]\n", None, r"key 'system' is unknown \(did you mean 'systems'\?\); expected lang"),
        (replaced('path = "source.sgm"', "path = 3"), None, r"source.path: expected 'str \| array', found 'int'"),
        (replaced('"E05"', '" "'), None, "systems.E05.path: expected text, found nothing"),
        (
            replaced('"E05"', '{ encoding = "gbk" }'),
            None,
            "systems.E05: key 'path' is missing; expected path",
        ),
        (replaced("E06 =", "e05 ="), None, "systems.E05: expected names that differ in more than case"),
        (replaced("[systems]", "[systems]\nencoding = 'klingon'"), None, "systems.E05: encoding: expected one such as"),
        (replaced("[systems]", "[systems]\nundecodable = 'replace'"), None, "expected an encoding with undecodable"),
        (replaced('path = "scores.txt"', ""), None, "assessment: key 'path' is missing; expected path, columns"),
        (replaced("[1, 5]", "[5, 1]"), None, r"scale: expected the lowest and the highest score, such as \[1, 5\]"),
        (replaced("[1, 5]", "[1, 5]\nmissing = 'NA'"), None, "assessment.missing: expected 'array', found 'str'"),
        (replaced("[1, 5]", "[1, 5]\nfixed = { judg = 'a' }"), None, "'judg' in fixed is unknown; expected one of"),
        (replaced("[1, 5]", "[1, 5]\nfixed = { judge = 'a' }"), None, "columns: 'judge' is also in fixed; keep one"),
        (replaced(COLUMNS, "columns = { system = 'S' }\nheader = false"), None, "columns: 'doc' is missing: expected"),
        (replaced('"judge", ', '"doc", '), None, r"expected every name once \('-' skips a column\), found 'doc' tw"),
        (replaced(', "fluency"', ""), None, "columns: expected kinds of judgement such as 'fluency', or 'kind' and"),
        (replaced('"source.sgm"', '"nowhere/*.sgm"'), None, "source: expected files, found none at .*nowhere"),
        (replaced('"E05"', '"E0**"'), None, r"system E05: expected a path, found 'E0\*\*' \(Invalid pattern"),
        (replaced('"scores.txt"', '"empty"'), None, "assessment: expected files, found none at"),
    ],
)
def test_wrong_manifests(manifest: str, line: int | None, says: str, tmp_path: Path) -> None:
    (tmp_path / "small" / "empty").mkdir(parents=True)
    refused(tmp_path, "manifest.toml", manifest, line, says)


@pytest.mark.parametrize(
    ("name", "content", "line", "says"),
    [
        ("source.sgm", story("d1", None, "一", "二") * 2, 6, "segment '1' of document 'd1' is duplicated; remove one"),
        (
            "ref.sgm",
            story("d1x", "E01", "the"),
            2,
            r"expected a document of the source, found 'd1x' \(did you mean 'd1'",
        ),
        (
            "ref.sgm",
            story("d1", "E01", "a", "b", "c"),
            4,
            "expected a segment of document 'd1' of the source, found '3'",
        ),
        ("E06.sgm", story("d1", "E06", "a") * 2, 5, r"segment '1' of document 'd1' is duplicated; .*E06.sgm:2\)"),
        (
            "E06.sgm",
            story("d1", "x", "a") + story("d1", "y", "a"),
            None,
            "system E06: expected documents of that sysid",
        ),
        ("E06.sgm", story("d1", "E06", "a") + story("d1", None, "a"), 4, "document without sysid; expected one"),
        ("source.sgm", "<refset>" + story("d1", "E01", "a") + "</refset>", None, "source: expected documents of a sou"),
        ("E06.sgm", story("d1", "E06", "a", "b")[:-9], 3, "<seg> is not closed before the file ends"),
        ("E06.sgm", b"<doc docid=d1>\n<seg id=1>\x81 \xff\x90</seg></doc>", 2, "byte 0x81 is not utf-8: specify the"),
        ("E06.sgm", b"\x1f\x8b\x08broken", None, "damaged or incomplete gzip file"),
    ],
)
def test_wrong_stories(name: str, content: str | bytes, line: int | None, says: str, tmp_path: Path) -> None:
    refused(tmp_path, name, content, line, says)


@pytest.mark.parametrize(
    ("scores", "line", "says"),
    [
        ("", None, "is empty, expected an assessment table"),
        ("E05\td1\t1\tj1\t\n", None, "contains no score, expected at least one"),
        ("E05\td1\t1\tj1\n", 1, r"expected 'fluency' in column 5, found 4 columns: .*\(wrong delimiter\?\)"),
        ("E05,d1,1,j1,4\n", 1, "expected 'segment' in column 3, found 1 columns|expected 'doc' in column 2, found 1"),
        (SCORES + "E05\td1\t1\tj2\n", 4, "expected 5 fields as on line 1, found 4: 'E05 d1 1 j2'"),
        (SCORES + "\nE05\td1\t1\tj2\tgood\n", 5, "fluency: expected a number from 1 to 5, found 'good'"),
        (SCORES + "E05\td1\t1\tj2\t6\n", 4, "fluency: expected a number from 1 to 5, found '6'"),
        (SCORES + "E05\td1\t1\tj2\t1_0\n", 4, r"found '1_0' \(values for no score are listed under 'missing'\)"),
        (SCORES + "E07\td1\t1\tj1\t4\n", 4, r"expected a system of the manifest, found 'E07' \(did you mean 'E0[56]'"),
        (SCORES + "e01\td1\t1\tj1\t4\n", 4, r"found reference 'e01'; to rank it, list it under \[systems\] too"),
        (SCORES + "E05\td2\t1\tj1\t4\n", 4, "expected a document of the source, found 'd2'"),
        (SCORES + "E05\td1\t3\tj1\t4\n", 4, "expected a segment of document 'd1' of the source, found '3'"),
        (SCORES + "\td1\t3\tj1\t4\n", 4, "system: expected a name, found nothing"),
        (SCORES + "e05\tD1\t01\tj1\t3\n", 4, r"'fluency' of system 'E05' is judged twice by 'j1' .*scores.txt:1\)"),
        (SCORES.encode() + b"E05\td1\t1\tj\x81\t4\n", 4, "byte 0x81 is not utf-8: specify the encoding"),
    ],
)
def test_wrong_assessments(scores: str | bytes, line: int | None, says: str, tmp_path: Path) -> None:
    refused(tmp_path, "scores.txt", scores, line, says)


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


def test_the_second_of_several_tables_is_located(tmp_path: Path) -> None:
    table = MANIFEST[MANIFEST.index("[assessment]") :]
    joined = MANIFEST.replace(table, table.replace("[assessment]", "[[assessment]]") * 2)
    wrong = "missing = 'x'".join(joined.rsplit("scale = [1, 5]", 1))
    refused(tmp_path, "manifest.toml", wrong, None, r"assessment\[1\]\.missing: expected 'array', found 'str'")


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
