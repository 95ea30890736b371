"""Damaged corpora: each gives one clear line with file and line, and none loses data silently.

Contents and messages are in ``tests/golden/corpora/corpus.txt``; here is what no text file shows.
"""

from __future__ import annotations

import bz2
import copy
import gzip
import io
import json
import lzma
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from ranker import load_dataset
from ranker.corpora.formats.reading import read_dataset, read_parallel
from ranker.corpora.records import Candidate, Record, assemble
from ranker.errors import DataError
from tests.corpora.damage import ARRAY, HEADER, JSONL, LINES, RECORDS, ROWS, VALID, calls_of, damaged, refusal
from tests.effort import THOROUGH, further, thorough
from tests.golden_examples import Example, file_examples
from tests.golden_messages import check_messages


@pytest.mark.parametrize("example", file_examples("corpora/corpus"), ids=str)
def test_what_is_wrong_is_said_with_its_line(example: Example, tmp_path: Path) -> None:
    message = damaged(tmp_path / example.line, example.content)
    example.check(message.removeprefix(f"{tmp_path}/"))


@pytest.mark.parametrize("name", VALID)
def test_the_undamaged_are_read(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(VALID[name], encoding="utf-8")
    assert len(read_dataset(tmp_path / name)) == (8 if "json" in name else 6)


STEP = 1 if THOROUGH else 3
"""Bytes between the places where files are cut off."""
# cut off, or a byte changed -----------------------------------------------------------------------------------------


def test_gzip_cut_off_anywhere(tmp_path: Path) -> None:
    whole = gzip.compress(JSONL.encode(), mtime=0)
    for size in range(2, len(whole)):
        damaged(tmp_path / "x.jsonl.gz", whole[:size], says="damaged or incomplete gzip file")
    damaged(tmp_path / "x.jsonl.gz", whole + b"rest", says="damaged or incomplete gzip file")
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(f"{LINES[0]}\n".encode()) + gzip.compress(LINES[1].encode()))
    assert len(read_dataset(tmp_path / "x.jsonl.gz").sources) == 2


def test_gzip_with_any_byte_changed_is_refused_or_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.gz"
    whole = gzip.compress(JSONL.encode(), mtime=0)
    path.write_bytes(whole)
    fingerprint = read_dataset(path).fingerprint
    for position in range(len(whole)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0xFF]) + whole[position + 1 :])
        try:
            assert read_dataset(path).fingerprint == fingerprint
        except DataError:
            refusal(lambda: read_dataset(path), path)


@thorough
def test_json_cut_off_anywhere(tmp_path: Path) -> None:
    for size in range(1, len(JSONL.encode()), STEP):
        cut = JSONL.encode()[:size]
        if cut.endswith((b"}\n", b"]}]}")):
            (tmp_path / "x.jsonl").write_bytes(cut)
            assert len(read_dataset(tmp_path / "x.jsonl").sources) == cut.count(b'{"lp"')
        elif not cut.endswith(b"}]}"):
            damaged(tmp_path / "x.jsonl", cut, cut.count(b"\n") + 1, "not JSON|not UTF-8")
    whole = ARRAY.rstrip().encode()
    for size in range(1, len(whole), STEP):
        damaged(tmp_path / "x.json", whole[:size], whole[:size].count(b"\n") + 1, "not JSON|not UTF-8|the end")


@pytest.mark.parametrize("name", ["x.csv", further("x.tsv")])
def test_a_table_cut_off_anywhere(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    for size in range(1, len(VALID[name].encode()), STEP):
        cut = VALID[name].encode()[:size]
        path.write_bytes(cut)
        *rows, last = cut.rstrip(b"\n").split(b"\n")
        try:
            dataset = read_dataset(path)
        except DataError:
            refusal(lambda: read_dataset(path), path, len(rows) + 1 if rows else None)
            continue
        # a row cut off in its last field is a row
        assert last.count(b"\t" if name == "x.tsv" else b",") >= len(HEADER) - 1
        assert len(dataset) == len(rows)


# sizes --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("x.csv", lambda size: "source,system,text," + "," * size, 1),
        ("x.csv", lambda size: "source,system,text\n" + '"' * (5 * size + 1), 2),
        ("x.jsonl", lambda size: f'{LINES[0]}\n{{"source": "{"long " * size}", "candidates": 7}}', 2),
        ("x.jsonl", lambda size: "[" * 4 * size, 1),
        ("x.jsonl", lambda size: '{"a":' * size, 1),
        ("x.json", lambda size: "[" + "\n" * size, None),
        ("x.jsonl", lambda size: "{" + ",".join(f'"{n}": 1' for n in range(size)) + ',"0": 1}', 1),
        ("x.jsonl", lambda size: f'{{"src": {"1" * 5 * size}}}', 1),
    ],
    ids=["columns", "quotes", "text", "lists", "objects", "lines", "keys", "digits"],
)
@thorough
def test_large_files_are_not_shown_whole_and_take_work_in_proportion_to_their_size(
    name: str, content: Callable[[int], str], line: int | None, tmp_path: Path
) -> None:
    calls = []
    for size in (30_000, 60_000):
        raw = content(size)
        calls.append(calls_of(lambda raw=raw, size=size: damaged(tmp_path / name, raw, line or size + 1)))
    assert calls[1] < 2.1 * calls[0] + 1000
    damaged(tmp_path / name, content(400_000), line or 400_001)


@pytest.mark.parametrize("depth", [1, 400, 980, 5000, 200_000])
@pytest.mark.parametrize("place", ["meta", "source", "record"])
def test_deep_nesting(place: str, depth: int, tmp_path: Path) -> None:
    nested = "[" * depth + "1" + "]" * depth
    line = nested if place == "record" else f'{{"source": "x", "candidates": {{"A": "a"}}, "meta": {nested}}}'
    if place == "source":
        line = f'{{"source": {nested}, "candidates": {{"A": "a"}}}}'
    path = tmp_path / "x.jsonl"
    path.write_text(f"{LINES[0]}\n{line}\n", encoding="utf-8")
    try:
        assert len(read_dataset(path).sources) == 2
        # some versions of Python read deeper ones than others
        assert place == "meta"
        assert depth <= 5000
    except DataError:
        assert place != "meta" or depth > 400
        refusal(lambda: read_dataset(path), path, 2, "nested|expected")


# types --------------------------------------------------------------------------------------------------------------

WRONG = [None, True, 7, "text", ["text"], [None], [[]], {}, {"a": "b"}]
PLACES: dict[tuple[str | int, ...], list[Any]] = {
    ("lp",): [None, 7, "text"],
    ("seg_id",): [None, 7, "text"],
    ("source",): ["text"],
    ("references", 0): ["text"],
    ("reference_names",): [None],
    ("candidates",): [["text"], {}, {"a": "b"}],
    ("candidates", 0): ["text"],
    ("candidates", 0, "system"): [None, 7, "text"],
    ("candidates", 0, "text"): ["text"],
    ("candidates", 0, "human"): [None, {}],
    ("candidates", 0, "human", "fluency"): [None, 7, {}],
    ("candidates", 0, "human", "fluency", "j1"): [None, 7],
    ("candidates", 1, "is_reference"): [True],
}


@pytest.mark.parametrize("place", PLACES, ids=lambda place: ".".join(map(str, place)))
def test_wrong_types_in_json(place: tuple[str | int, ...], tmp_path: Path) -> None:
    key = next(str(key) for key in reversed(place) if isinstance(key, str))
    for value in WRONG:
        items: list[Any] = copy.deepcopy(RECORDS)
        inside = items[2]
        for step in place[:-1]:
            inside = inside[step]
        inside[place[-1]] = value
        raw = "\n".join(map(json.dumps, items))
        # 1 is True in a list
        if json.dumps(value) in map(json.dumps, PLACES[place]):
            (tmp_path / "x.jsonl").write_text(raw, encoding="utf-8")
            assert len(read_dataset(tmp_path / "x.jsonl").sources) == 4
        else:
            damaged(tmp_path / "x.jsonl", raw, 3, key)


@pytest.mark.parametrize(
    "number", ["NaN", "-Infinity", "1e999", "9" * 400, "9" * 5000, '"3"', "+1", "1_000", "0x10", ""]
)
def test_numbers_that_are_none(number: str, tmp_path: Path) -> None:
    line = LINES[1].replace('"j1": 3', f'"j1": {number}')
    says = "not JSON|a finite number|a JSON value|too many digits"
    damaged(tmp_path / "x.jsonl", "\n".join([LINES[0], line, LINES[2]]), 2, says)


@pytest.mark.parametrize(
    ("name", "column", "line", "says"),
    [
        ("text", pa.array([["a"]] * 6), 1, r"column 'text': expected text, found \[\"a\"\]"),
        ("text", pa.array([{"a": 1}] * 6), 1, "column 'text': expected text, found {\"a\": 1}"),
        ("text", pa.array(np.arange(6), pa.timestamp("s")), 1, "column 'text': expected text, found"),
        ("text", pa.array([1.0, 2.0, 3.0, 4.5, 5.0, 6.0]), 4, "column 'text': expected text, found 4.5"),
        ("text", pa.array([b"a", b"b", b"\xff", b"d", b"e", b"f"]), 3, "expected text, found bytes that are not UTF-8"),
        ("fluency", pa.array([float("inf")] * 6), 1, "expected a finite number or nothing, found Infinity"),
        ("fluency", pa.array([True] * 6), 1, "expected a finite number or nothing, found true"),
        ("fluency", pa.array([[1.0]] * 6), 1, r"expected a finite number or nothing, found \[1.0\]"),
        ("source", pa.array(["x"] * 6), None, "column 'source' is duplicated"),
    ],
    ids=str,
)
def test_wrong_columns_of_parquet(name: str, column: pa.Array, line: int | None, says: str, tmp_path: Path) -> None:
    arrow = pa.Table.from_pandas(pd.DataFrame(ROWS, columns=HEADER).drop(columns=["fluency"]))
    arrow = arrow.drop_columns(["text"]) if name == "text" else arrow
    path = tmp_path / "x.parquet"
    pyarrow.parquet.write_table(arrow.append_column(name, column), path)
    refusal(lambda: read_dataset(path), path, line, says)


# bytes and files ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stray", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x00", "é".encode("latin-1")], ids=bytes.hex)
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("name", ["x.jsonl", "x.csv"])
def test_stray_bytes_are_found_by_line_and_column(name: str, ends: str, stray: bytes, tmp_path: Path) -> None:
    lines = [line.encode() for line in VALID[name].split("\n")]
    before = VALID[name].split("\n")[2][:5].encode()
    lines[2] = before + stray + lines[2][len(before) :]
    raw = b"\xef\xbb\xbf" + ends.encode().join(lines)
    message = damaged(tmp_path / name, raw, 3, r"byte 0x[0-9a-f]{2} (is not UTF-8|is not text)")
    assert f"{name}:3:6: byte 0x{stray[0]:02x}" in message


def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("x.jsonl", JSONL)
    return buffer.getvalue()


OTHER = {
    "zip": (zipped(), "a zip archive"),
    "bzip2": (bz2.compress(JSONL.encode()), "this is a file compressed by bzip2, expected text: unpack it, or"),
    "xz": (lzma.compress(JSONL.encode()), "this is a file compressed by xz, expected text: unpack it, or"),
    "Zstandard": (b"\x28\xb5\x2f\xfd\x04\x00", "this is a file compressed by Zstandard, expected text: unpack it, or"),
    "7-Zip": (b"7z\xbc\xaf\x27\x1c\x00\x04", "this is a 7-Zip archive, expected text: unpack it"),
    "pickle": (pickle.dumps(RECORDS), "is not UTF-8|0x00 is not text"),
    "png": (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "is not UTF-8"),
    "UTF-16": (JSONL.encode("utf-16"), "this is UTF-16"),
    "UTF-32": (JSONL.encode("utf-32-le"), "UTF-16|not UTF-8|0x00"),
    "UTF-32 with a mark": (JSONL.encode("utf-32"), "this is UTF-32"),
    "Arrow": (b"ARROW1\0\0", "this is an Arrow file"),
    "Arrow stream": (b"\xff\xff\xff\xff\x01", "this is an Arrow stream"),
    "empty": (b"", "is empty, expected a corpus"),
    "line ends": (b"\n\r\n\n", ""),
    "mark twice": (b"\xef\xbb\xbf\xef\xbb\xbf{}", ""),
    "gzip of nothing": (gzip.compress(b""), ""),
    "gzip twice": (gzip.compress(gzip.compress(JSONL.encode())), ""),
}


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet", "", "jsonl.gz", "jsonl.bz2", "csv.xz"])
@pytest.mark.parametrize("content", OTHER)
def test_files_that_are_something_else(content: str, ending: str, tmp_path: Path) -> None:
    raw, says = OTHER[content]
    damaged(tmp_path / f"x.{ending}", raw, says="" if ending == "parquet" else says)


def test_folders_that_datasets_saves_are_refused_with_advice(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    for name in ("dataset_info.json", "state.json"):
        (tmp_path / "one" / name).write_text("{}")
    (tmp_path / "one" / "data-00000-of-00001.arrow").write_bytes(b"\xff\xff\xff\xff\x01")
    (tmp_path / "splits").mkdir()
    (tmp_path / "splits" / "dataset_dict.json").write_text('{"splits": ["test"]}')
    for name, data in (("one", "dataset"), ("splits", r"dataset\['test'\]")):
        says = rf"{name}: this is a directory of save_to_disk of Hugging Face's datasets, .*{data}.to_parquet.*to_json"
        with pytest.raises(DataError, match=says):
            load_dataset(tmp_path / name)


def test_places_without_a_readable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("directory.jsonl").mkdir()
    Path("dangling.jsonl").symlink_to("nowhere")
    Path("loop.jsonl").symlink_to("loop.jsonl")
    pd.DataFrame(ROWS, columns=HEADER).to_parquet("parquet.txt")
    for name, says in {
        "directory.jsonl": r"directory\.jsonl: this is a directory, expected a file",
        "missing.jsonl": r"missing\.jsonl: no such file",
        "none/x.parquet": r"none/x\.parquet: no such file",
        "dangling.jsonl": r"dangling\.jsonl: no such file",
        "loop.jsonl": r"loop\.jsonl: cannot be read",
        f"{'x' * 300}.json": "x: cannot be read|x.json: cannot be read",
        "a\nb\x1b[2J.json": r"a\\nb\\x1b\[2J\.json: no such file",
        "x\0y": r"x\\x00y: is not a valid file name",
        "parquet.txt": "this is a Parquet file",
    }.items():
        with pytest.raises(DataError, match=says):
            read_dataset(name)


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


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(JSONL[:-20].encode())))
    refusal(lambda: read_dataset("-"), "<stdin>", 4)
    monkeypatch.setattr("sys.stdin", None)
    refusal(lambda: read_dataset("-"), "<stdin>", None, "standard input is closed")


def test_systems_without_a_name_are_refused_whoever_reads_them() -> None:
    nameless = Record("x", [], [Candidate("A", "a"), Candidate("", "b")], line=7)
    refusal(lambda: assemble([nameless], "mine", "x.sgm"), "x.sgm", 7, "system: expected a name, found ''")


# parallel files -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("damage", "line", "says"),
    [
        (lambda raw: raw + b"more\n", 6, "has 6 lines, expected 5 as in "),
        (lambda raw: raw[: raw.rindex(b"\n", 0, -1) + 1], 4, "has 4 lines, expected 5 as in "),
        (lambda raw: raw + b"\n", 6, "has 6 lines, expected 5 as in "),
        (lambda raw: b"", None, "has 0 lines, expected 5|is empty, expected one sentence per line"),
        (lambda raw: raw.replace(b" 2", b"\xff"), 3, "byte 0xff is not UTF-8"),
    ],
    ids=["longer", "shorter", "blank line", "empty", "0xff"],
)
@pytest.mark.parametrize("name", ["reference", "A"])
def test_damaged_parallel_files(name: str, damage: Any, line: int | None, says: str, tmp_path: Path) -> None:
    paths = {}
    for role in ("source", "reference", "A", "B"):
        paths[role] = tmp_path / role
        paths[role].write_text("".join(f"{role} {index}\n" for index in range(5)))
    paths[name].write_bytes(damage(paths[name].read_bytes()))

    systems = [paths["A"], paths["B"]]
    refusal(lambda: read_parallel(paths["source"], [paths["reference"]], systems), paths[name], line, says)


# pairs --------------------------------------------------------------------------------------------------------------

PAIRS = "lp\tseg_id\tjudge\tsysA\tsysB\trelation\trankA\trankB\ttask\tprimary\nzh-en\t1\tj1\tA\tB\t>\t1\t2\t7\t1\n"


def test_wrong_pairs_beside_a_corpus(tmp_path: Path) -> None:
    """Each question is a part of the pairs and what stands there instead, or all that stands there."""
    path, pairs = tmp_path / "x.jsonl", tmp_path / "x.pairs.tsv"
    path.write_text(JSONL, encoding="utf-8")

    def ask(asked: str) -> str:
        change = json.loads(asked)
        text = PAIRS.replace(*change, 1) if change[1:] else change[0]
        pairs.write_bytes(text.encode("utf-8", "surrogateescape"))
        return refusal(lambda: read_dataset(path), pairs)

    check_messages("pairs", ask, folder=tmp_path)
