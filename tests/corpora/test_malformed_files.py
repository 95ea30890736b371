"""Files in other encodings, of other kinds, in impossible places, and of unequal lengths."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.reading import read_dataset, read_parallel
from ranker.errors import DataError
from tests.corpora.damage import HEADER, JSONL, LINES, RECORDS, ROWS, VALID, damaged, refusal

STRAY = [
    b"\xff",
    b"\xfe",
    b"\x80",
    b"\xc3",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xf5\x80\x80\x80",
    b"\x00",
    "é".encode("latin-1"),
]


@pytest.mark.parametrize("stray", STRAY, ids=bytes.hex)
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["", "BOM"])
@pytest.mark.parametrize("name", VALID)
def test_stray_bytes_are_found_by_line_and_column(
    name: str, mark: bytes, ends: str, stray: bytes, tmp_path: Path
) -> None:
    lines = VALID[name].split("\n")
    column = 6
    lines_raw = [line.encode() for line in lines]
    before = lines[2][: column - 1].encode()
    lines_raw[2] = before + stray + lines_raw[2][len(before) :]
    raw = mark + ends.encode().join(lines_raw)
    message = damaged(tmp_path / name, raw, 3, r"byte 0x[0-9a-f]{2} (is not UTF-8|is not text)")
    assert f"{name}:3:{column}: byte 0x{stray[0]:02x}" in message


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("name", VALID)
def test_other_unicode_encodings(name: str, encoding: str, tmp_path: Path) -> None:
    ascii_text = VALID[name].replace("句", "s")
    damaged(tmp_path / name, ascii_text.encode(encoding), None, "UTF-16|not UTF-8|0x00")
    damaged(tmp_path / f"{name}.gz", gzip.compress(VALID[name].encode(encoding)), None, "UTF-16|not UTF-8|0x00")


@pytest.mark.parametrize("line", range(2, 5))
@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("latin-1", "déjà vu"),
        ("cp1251", "привет мир"),
        ("gb18030", "一只猫坐着"),
        ("shift_jis", "猫がいる"),
        ("euc-kr", "고양이"),
    ],
)
@pytest.mark.parametrize("name", VALID)
def test_one_line_in_another_encoding(name: str, encoding: str, text: str, line: int, tmp_path: Path) -> None:
    lines = [item.encode() for item in VALID[name].split("\n")]
    lines[line - 1] = lines[line - 1].replace(b"output", text.encode(encoding), 1)
    damaged(tmp_path / name, b"\n".join(lines), line, "is not UTF-8: convert the file to UTF-8")


def half_characters() -> Iterator[str]:
    for escape in (r"\ud800", r"\udfff", r"a\ud83d"):
        yield LINES[1].replace("output", escape, 1)
        yield LINES[1].replace('"A"', f'"{escape}"', 1)
        yield LINES[1].replace('"zh-en"', f'"{escape}"', 1)
        yield LINES[1].replace("another", escape, 1)
        yield LINES[1].replace("mqm", escape, 1)
        yield LINES[1].replace("j2", escape, 1)
        yield f'{{"src": "x", "tgt": {{"{escape}": "a"}}}}'


@pytest.mark.parametrize("line", list(half_characters()))
def test_halves_of_characters(line: str, tmp_path: Path) -> None:
    damaged(
        tmp_path / "x.jsonl", f"{LINES[0]}\n{line}\n", 2, r"expected text that can be encoded in UTF-8, found '.*\\ud"
    )


def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("x.jsonl", JSONL)
    return buffer.getvalue()


OTHER = {
    "zip": zipped(),
    "pickle": pickle.dumps(RECORDS),
    "pickle 0": pickle.dumps(RECORDS, protocol=0),
    "png": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
    "pdf": b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj\n",
    "elf": b"\x7fELF\x02\x01\x01" + bytes(9),
    "xz": b"\xfd7zXZ\x00\x00\x04",
    "zstd": b"\x28\xb5\x2f\xfd\x04\x58",
    "bzip2": b"BZh91AY&SY\xc1\xc0\xe2",
    "numpy": b"\x93NUMPY\x01\x00",
    "sqlite": b"SQLite format 3\x00\x10\x00",
    "random": bytes(range(254, -1, -1)),
    "html": b"<!DOCTYPE html>\n<html><body>404, not found</body></html>\n",
    "html, one line": b"<html>404</html>",
    "pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n",
    "xml": b'<?xml version="1.0"?>\n<tstset setid="x"></tstset>\n',
    "yaml": b"source: x\nreferences:\n  - r\ncandidates:\n  A: a\n",
    "prose": b"The cat sat on the mat, and it rained.\nIt rained, and the cat sat.\n",
    "sentence": b"The cat sat on the mat.\n",
    "python": b"[{'source': 'x', 'candidates': {'A': 'a'}}]",
    "javascript": b"var data = [];",
    "null": b"null",
    "number": b"3",
    "string": b'"x"',
    "false": b"false",
    "empty": b"",
    "space": b" ",
    "line ends": b"\n\r\n\n",
    "mark alone": b"\xef\xbb\xbf",
    "mark twice": b"\xef\xbb\xbf\xef\xbb\xbf{}",
    "form feed": b"\x0c",
    "gzip of nothing": gzip.compress(b""),
    "gzip twice": gzip.compress(gzip.compress(JSONL.encode())),
    "empty list": b"[]",
    "empty object": b"{}",
    "empty lists": b"[]\n[]",
    "list of lists": b"[[]]",
    "open list": b"[",
    "comma": b"[,]",
    "end comma": b'[{"source": "x", "candidates": {"A": "a"}},]',
    "no comma": b'[{"source": "x", "candidates": {"A": "a"}} {}]',
    "closed twice": b'[{"source": "x", "candidates": {"A": "a"}}]]',
    "two on a line": b'{"source": "x", "candidates": {"A": "a"}} {"source": "y", "candidates": {"A": "a"}}',
    "list, then record": b'[{"source": "x", "candidates": {"A": "a"}}]\n{"source": "y", "candidates": {"A": "a"}}',
    "comma after lines": b'{"source": "x", "candidates": {"A": "a"}},\n{"source": "y", "candidates": {"A": "a"}}',
    "comment": b'// mine\n{"source": "x", "candidates": {"A": "a"}}',
    "header alone": b"source,system,text\n",
    "header alone, tabs": b"source\tsystem\ttext",
    "header alone, without systems": b"source,text\n",
    "bars": b"source|system|text\nx|A|a\n",
    "no candidate": b'{"source": "x", "candidates": []}',
    "no candidates": b'{"source": "x", "candidates": {}}\n{"source": "y", "candidates": []}',
}


@pytest.mark.parametrize("ending", ["jsonl", "json", "csv", "tsv", "parquet", "txt", "", "jsonl.gz", "csv.gz"])
@pytest.mark.parametrize("content", OTHER)
def test_files_that_are_something_else(content: str, ending: str, tmp_path: Path) -> None:
    message = damaged(tmp_path / f"x.{ending}", OTHER[content])
    if content in ("zip", "pickle", "png", "random", "sqlite") and ending != "parquet":
        assert re.search("a zip archive|is not UTF-8|0x00 is not text", message)


def test_parquet_by_another_name(tmp_path: Path) -> None:
    pd.DataFrame(ROWS, columns=HEADER).to_parquet(tmp_path / "x.txt")
    refusal(lambda: read_dataset(tmp_path / "x.txt"), tmp_path / "x.txt", None, "this is a Parquet file")


def test_places_without_a_readable_file(tmp_path: Path) -> None:
    (tmp_path / "directory.jsonl").mkdir()
    (tmp_path / "dangling.jsonl").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop.jsonl").symlink_to(tmp_path / "loop.jsonl")
    for name, says in {
        "directory.jsonl": "this is a directory, expected a file",
        "missing.jsonl": "no such file",
        "missing.parquet": "no such file",
        "dangling.jsonl": "no such file",
        "none/x.csv": "no such file",
        "loop.jsonl": "cannot be read",
        f"{'x' * 300}.json": "cannot be read",
    }.items():
        with pytest.raises(DataError, match=says) as refused:
            read_dataset(tmp_path / name)
        assert str(refused.value).startswith(f"{tmp_path / name}: ")
    for name, shown in {
        "a\nb.json": r"a\nb.json",
        "\udcff.json": r"\udcff.json",
        "\x1b[2J.json": r"\x1b[2J.json",
    }.items():
        with pytest.raises(DataError) as refused:
            read_dataset(tmp_path / name)
        assert str(refused.value) == f"{tmp_path}/{shown}: no such file"
    with pytest.raises(DataError, match=r"x\\x00y: is not a valid file name"):
        read_dataset("x\0y")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_files(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(JSONL, encoding="utf-8")
    (tmp_path / "x.jsonl").chmod(0)
    with pytest.raises(DataError, match="cannot be read: Permission denied"):
        read_dataset(tmp_path / "x.jsonl")


def test_names_that_are_no_text_do_not_reach_the_tables(tmp_path: Path) -> None:
    path = tmp_path / "\udcff.txt"
    path.write_text("x\n")
    dataset = read_parallel(path, [], [path])
    assert dataset.name == r"\udcff"
    assert dataset.candidates["system"].tolist() == [r"\udcff.txt"]


@pytest.mark.parametrize("name", ["x.jsonl", "x.csv"])
def test_standard_input(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = VALID[name].split("\n")
    lines[2] = lines[2][:20]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("\n".join(lines).encode())))
    refusal(lambda: read_dataset("-"), "<stdin>", 3)
    monkeypatch.setattr("sys.stdin", None)
    refusal(lambda: read_dataset("-"), "<stdin>", None, "standard input is closed")


@pytest.fixture
def parallel(tmp_path: Path) -> dict[str, Path]:
    for name in ("source", "ref1", "ref2", "A", "B"):
        (tmp_path / name).write_text("".join(f"{name} {index}\n" for index in range(5)))
    return {name: tmp_path / name for name in ("source", "ref1", "ref2", "A", "B")}


def read_all(parallel: dict[str, Path]) -> Dataset:
    return read_parallel(parallel["source"], [parallel["ref1"], parallel["ref2"]], [parallel["A"], parallel["B"]])


@pytest.mark.parametrize("name", ["source", "ref1", "ref2", "A", "B"])
@pytest.mark.parametrize("damage", ["longer", "shorter", "blank line", "empty", "0xff", "UTF-16", "gone", "directory"])
def test_damaged_parallel_files(name: str, damage: str, parallel: dict[str, Path]) -> None:
    path = parallel[name]
    whole = path.read_bytes()
    content, line, says = {
        "longer": (whole + b"more\n", 6, "has 6 lines, expected 5 as in "),
        "shorter": (b"".join(whole.splitlines(keepends=True)[:4]), 4, "has 4 lines, expected 5 as in "),
        "blank line": (whole + b"\n", 6, "has 6 lines, expected 5 as in "),
        "empty": (b"", None, "has 0 lines, expected 5|is empty, expected one sentence per line"),
        "0xff": (whole.replace(b" 2", b"\xff"), 3, "byte 0xff is not UTF-8"),
        "UTF-16": (whole.decode().encode("utf-16-le"), 1, "byte 0x00 is not text"),
        "gone": (None, None, "no such file"),
        "directory": (None, None, "this is a directory, expected a file"),
    }[damage]
    path.unlink()
    if damage == "directory":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    if name == "source" and damage in ("longer", "shorter", "blank line"):
        path = parallel["ref1"]
        line, says = 5, f"has 5 lines, expected {4 if damage == 'shorter' else 6} as in {parallel['source']}"
    refusal(lambda: read_all(parallel), path, line, says)


def test_no_translations_and_two_of_one_name(parallel: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no translations given; expected at least one file of system output \(-t\)"):
        read_parallel(parallel["source"], [parallel["ref1"]], [])
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "A").write_bytes(parallel["A"].read_bytes())
    says = "two files give the system name 'A'; rename one of them"
    joined = [parallel["A"], tmp_path / "other" / "A"]
    refusal(lambda: read_parallel(parallel["source"], [], joined), parallel["A"], None, says)
