"""Damaged corpora: each gives one clear line with file and line, and none loses data silently."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ranker.corpora.formats.reading import read_dataset
from ranker.corpora.records import Candidate, Record, assemble
from ranker.errors import DataError
from tests.corpora.damage import ARRAY, HEADER, JSONL, LINES, RECORDS, ROWS, VALID, damaged, refusal, table
from tests.effort import further


@pytest.mark.parametrize("name", VALID)
def test_the_undamaged_are_read(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(VALID[name], encoding="utf-8")
    assert len(read_dataset(tmp_path / name)) == (8 if "json" in name else 6)


@pytest.mark.parametrize("name", VALID)
def test_truncated_gzip_at_every_byte(name: str, tmp_path: Path) -> None:
    whole = gzip.compress(VALID[name].encode(), mtime=0)
    for size in range(1, len(whole)):
        says = "damaged or incomplete gzip file" if size > 1 else ""
        damaged(tmp_path / f"{name}.gz", whole[:size], says=says)


def test_gzip_with_any_byte_changed_is_refused_or_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.gz"
    whole = gzip.compress(JSONL.encode(), mtime=0)
    path.write_bytes(whole)
    fingerprint = read_dataset(path).fingerprint
    for position in range(len(whole)):
        for change in (0xFF, 0x01):
            changed = bytearray(whole)
            changed[position] ^= change
            path.write_bytes(changed)
            # flags, time and system in the header say nothing of the content
            if 3 <= position < 10:
                try:
                    assert read_dataset(path).fingerprint == fingerprint
                    continue
                except DataError:
                    pass
            refusal(lambda: read_dataset(path), path)


def test_gzip_followed_by_something_else(tmp_path: Path) -> None:
    whole = gzip.compress(JSONL.encode())
    damaged(tmp_path / "x.jsonl.gz", whole + b"rest", says="damaged or incomplete gzip file")
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(f"{LINES[0]}\n".encode()) + gzip.compress(LINES[1].encode()))
    assert len(read_dataset(tmp_path / "x.jsonl.gz").sources) == 2


def test_truncated_lines_at_every_byte(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    whole = JSONL.encode()
    ends = [end for end in range(len(whole)) if whole[end : end + 1] == b"\n"]
    complete = {*ends, *(end + 1 for end in ends)}
    for size in range(1, len(whole)):
        cut = whole[:size]
        if size in complete:
            path.write_bytes(cut)
            assert len(read_dataset(path).sources) == cut.count(b'{"lp"')
        else:
            damaged(path, cut, cut.count(b"\n") + 1, "not JSON|not UTF-8")


def test_truncated_array_at_every_byte(tmp_path: Path) -> None:
    whole = ARRAY.rstrip().encode()
    for size in range(1, len(whole)):
        damaged(tmp_path / "x.json", whole[:size], whole[:size].count(b"\n") + 1, "not JSON|not UTF-8|the end")


def test_truncated_single_record_at_every_byte(tmp_path: Path) -> None:
    whole = json.dumps(RECORDS[0], indent=1).encode()
    for size in range(1, len(whole)):
        damaged(tmp_path / "x.json", whole[:size], None, r"^\d+:\d+: not JSON \(is the file cut off")
    cut = whole[: whole.index(b'"candidates"') + 4]
    damaged(tmp_path / "x.json", cut, cut.count(b"\n") + 1, "unterminated string")


def test_records_of_several_lines_one_after_the_other(tmp_path: Path) -> None:
    first, second = (json.dumps(item, indent=1) for item in RECORDS[:2])
    line = first.count("\n") + 2
    damaged(tmp_path / "x.json", f"{first}\n{second}\n", line, "expected one record, or a list of records, then found")


@pytest.mark.parametrize("name", ["x.csv", further("x.tsv")])
def test_truncated_table_at_every_byte(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    whole = VALID[name].encode()
    for size in range(1, len(whole)):
        cut = whole[:size]
        path.write_bytes(cut)
        line = cut.rstrip(b"\n").count(b"\n") + 1
        fields = (cut.rstrip(b"\n").rsplit(b"\n", 1)[-1]).count(b"\t" if name == "x.tsv" else b",")
        try:
            dataset = read_dataset(path)
        except DataError:
            refusal(lambda: read_dataset(path), path, line if line > 1 else None)
            continue
        # a row cut off in its last field is a row
        assert fields >= len(HEADER) - 1
        assert len(dataset) == line - 1


def test_truncated_and_changed_parquet(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pd.DataFrame(ROWS, columns=HEADER).astype({"fluency": float}).to_parquet(path, index=False)
    whole = path.read_bytes()
    fingerprint = read_dataset(path).fingerprint
    for size in range(1, len(whole), 61):
        damaged(path, whole[:size], says="cannot be read as a Parquet file")
    outcomes = set()
    for position in range(0, len(whole), 23):
        changed = bytearray(whole)
        changed[position] ^= 0xFF
        path.write_bytes(changed)
        try:
            outcomes.add(read_dataset(path).fingerprint == fingerprint)
        except DataError:
            refusal(lambda: read_dataset(path), path)
            outcomes.add(None)
    assert None in outcomes


@pytest.mark.parametrize("line", [1, 2, 3, 25, 49, 50])
@pytest.mark.parametrize(
    "bad", ["{", "}", '{"source": "x"}', "x", LINES[0][:-1], LINES[0] + ",", '{"a": 1}', "[1]", "0"]
)
def test_one_bad_line_is_named_and_nothing_is_read(line: int, bad: str, tmp_path: Path) -> None:
    good = [json.dumps({"seg_id": n, "source": "x", "candidates": {"A": "a", "B": "b"}}) for n in range(1, 51)]
    good[line - 1] = bad
    path = tmp_path / "x.jsonl"
    if line == 1 and bad == "[1]":
        # a list of records by its first character
        damaged(path, "\n".join(good), 1, "record: expected an object")
        return
    damaged(path, "\n".join(good), line)
    damaged(path, "\r\n".join(good), line)
    damaged(path, "\n\n".join(good), 2 * line - 1)


@pytest.mark.parametrize("name", VALID)
def test_bad_values_of_megabytes_are_not_shown_whole(name: str, tmp_path: Path) -> None:
    long = "long " * 400_000
    started = time.process_time()
    if "json" in name:
        for place in ('"j1": 3', '"zh-en"', '"A"', '"mqm"', '"lp"', "{"):
            line = LINES[1].replace(place, f'"{long}", {place}' if place == "{" else f'"{long}"', 1)
            if place in ('"zh-en"', '"A"', '"mqm"', '"lp"'):
                line = line.replace('"output 2"', "7")
            raw = "\n".join([LINES[0], line]) if name == "x.jsonl" else f"[{LINES[0]},\n{line}]"
            damaged(tmp_path / name, raw, 2)
    else:
        delimiter = "," if name == "x.csv" else "\t"
        for column in range(0, len(HEADER), 3):
            row = [*ROWS[1]]
            row[column] = long
            row[6] = "x"
            damaged(tmp_path / name, table(delimiter, [HEADER, ROWS[0], row]), 3)
            damaged(tmp_path / name, table(delimiter, [[*HEADER[:-1], long], ROWS[0]]), 1)
    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    ("name", "raw", "line"),
    [
        further("x.csv", "," * 2_000_000 + "\n", 1),
        ("x.csv", "source,system,text," + "," * 2_000_000, 1),
        ("x.csv", ",".join(["source,system,text", *map(str, range(300_000)), "7"]), 1),
        further("x.csv", "source,system,text\n" + "," * 2_000_000, 2),
        further("x.tsv", "source\tsystem\ttext\n" + "\t" * 2_000_000, 2),
        ("x.jsonl", "[" * 4_000_000, 1),
        ("x.jsonl", '{"a":' * 2_000_000, 1),
        ("x.json", "[" + "\n" * 2_000_000, 2_000_001),
        ("x.jsonl", "\n" * 2_000_000 + "x", 2_000_001),
        ("x.jsonl", "{" + ",".join(f'"{n}": 1' for n in range(300_000)) + ',"299999": 1}', 1),
        ("x.jsonl", json.dumps({"src": "", "tgt": [{"system": str(n // 2), "text": ""} for n in range(60_000)]}), 1),
        ("x.jsonl", f'{{"src": {"1" * 10_000_000}}}', 1),
        ("x.jsonl", f'{{"src": "{"x" * 10_000_000}', 1),
        further("x.jsonl", '{"src": "", "mt": ""}\n' * 20_000 + "x", 20_001),
        ("x.csv", "source,system,text\n" + '"' * 10_000_001, 2),
    ],
    ids=lambda value: ascii(value[-12:]) if isinstance(value, str) else "",
)
def test_hostile_megabytes_are_refused_in_seconds(name: str, raw: str, line: int, tmp_path: Path) -> None:
    started = time.process_time()
    damaged(tmp_path / name, raw, line)
    assert time.process_time() - started < 10


@pytest.mark.parametrize("key", ["lp", "seg_id", "system", "kind", "judge"])
@pytest.mark.parametrize("name", ["a\nb", "\u2028", "\x1b[31m", "\u0085", "\t", "🙂", "'\"", "x" * 1000], ids=ascii)
def test_odd_names_do_not_break_the_line(name: str, key: str, tmp_path: Path) -> None:
    single: dict[str, Any] = {"lp": "l", "seg_id": "1", "source": "x", "candidates": [{"system": "A", "text": "a"}]}
    if key in ("lp", "seg_id"):
        single[key] = name
    elif key == "system":
        single["candidates"] = [{"system": name, "text": "a"}] * 2
    else:
        single["candidates"][0]["human"] = {name: "no number"} if key == "kind" else {"fluency": {name: "no number"}}
    damaged(tmp_path / "x.jsonl", f"{json.dumps(single)}\n{json.dumps(single)}", None, "expected|is duplicated")
    damaged(tmp_path / "y.jsonl", json.dumps({"src": "x", "tgt": {name: 3}}), 1, r"tgt\S+: expected a string, found 3")


WORDING = [
    ("x.jsonl", "", "is empty, expected a corpus"),
    ("x.jsonl", "[]", "contains no source, expected at least one"),
    ("x.json", '{"source": "x", "candidates": []}', "contains no candidate, expected at least one"),
    (
        "x.jsonl",
        '{"source": "x", "candidates": {"A": "a"}}\n{"source": "y", "candi',
        "2:17: not JSON (is the file cut off or badly quoted?): unterminated string starting at '\"candi'",
    ),
    (
        "x.json",
        '[{"source": "x", "candidates": {"A": "a"}}\n {"source": "y"}]',
        "2:2: expected ',' or ']' after a record, found '{\"source\": \"y\"}]'",
    ),
    (
        "x.json",
        '[{"source": "x", "candidates": {"A": "a"}},',
        "1:44: not JSON (is the file cut off or badly quoted?): expecting value at the end",
    ),
    (
        "x.jsonl",
        '{"source": "x", "candidates": {"A": "a"}} {}',
        "1:43: expected one record, or a list of records, then found '{}'",
    ),
    ("x.jsonl", '{"source": 3, "candidates": {"A": "a"}}', "1: source: expected a string, found 3"),
    (
        "x.jsonl",
        '{"source": "x", "candidates": [{"text": "a"}, {"text": ["b"]}]}',
        '1: candidates[1].text: expected a string, found ["b"]',
    ),
    (
        "x.jsonl",
        '{"source": "x", "candidates": [{"system": "A"}]}',
        '1: candidates[0]: expected key "text", found ["system"]',
    ),
    (
        "x.jsonl",
        '{"source": "x", "candidates": [{"text": "a", "human": {"fluency": {"judge 1": "good"}}}]}',
        "1: candidates[0].human.fluency['judge 1']: expected a finite number, found 'good'",
    ),
    (
        "x.jsonl",
        '{"source": "x", "candidates": {"A": "a"}, "seg_id": NaN}',
        "1: expected a JSON value, found NaN (omit unknown numbers)",
    ),
    (
        "x.json",
        '{"text": "x"}',
        '1: expected keys "source", "references", "candidates", or "src", "ref", "tgt", or "src", "mt", "ref"; '
        'found ["text"]',
    ),
    (
        "x.csv",
        "source,system\nx,a\n",
        "1: column 'text' is missing; expected at least text (or mt, hyp, hypothesis), and source (or src) or "
        "reference (or ref), found 'source', 'system'",
    ),
    ("x.csv", "source,system,text\nx,A\n", "2: expected 3 fields as in the first line, found 2"),
    (
        "x.csv",
        'source,system,text\nx,A,"a\n',
        "2: badly quoted row (unexpected end of data): expected a quote that closes it",
    ),
    (
        "x.tsv",
        "source\tsystem\ttext\tfluency\nx\tA\ta\tgood\n",
        "2: column 'fluency': expected a finite number or nothing, found 'good' "
        "(text columns are lp, doc, seg_id, source, system, text, judge, is_reference, reference; other columns "
        "contain "
        "ratings, or metadata with names such as id, domain, meta, comment: rename or remove it)",
    ),
]


@pytest.mark.parametrize(("name", "raw", "says"), WORDING)
def test_wording(name: str, raw: str, says: str, tmp_path: Path) -> None:
    message = damaged(tmp_path / name, raw)
    assert message.removeprefix(f"{tmp_path / name}:").lstrip() == says


def test_errors_carry_file_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(LINES[0].encode() + b"\nab\xff")
    with pytest.raises(DataError) as refused:
        read_dataset(path)
    error = refused.value
    assert (error.file, error.line, error.column) == (str(path), 2, 3)
    assert error.what == "byte 0xff is not UTF-8: convert the file to UTF-8"


def test_systems_without_a_name_are_refused_whoever_reads_them() -> None:
    nameless = Record("x", [], [Candidate("A", "a"), Candidate("", "b")], line=7)
    refusal(lambda: assemble([nameless], "mine", "x.sgm"), "x.sgm", 7, "system: expected a name, found ''")
