"""One rule for the ends of lines, whatever is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.making.parser.conllu import read_conllu
from ranker.corpora.documents.assessments import _rows as assessment_rows
from ranker.corpora.formats.nbest_reading import read_nbest
from ranker.corpora.formats.preference_pairs import read_pairs
from ranker.corpora.formats.reading import parse_dataset, read_dataset, read_parallel
from ranker.corpora.formats.segment_scores import SegmentScores
from ranker.files import read_lines, read_text, with_line_feeds
from ranker.storage import text_lines
from ranker.storage.text_lines import line_batches

ODD = "\r\v\f\x1c\x85\u2028\u2029"
"""Characters that some programs break lines at."""
HEADER = "source,reference,system,text"


def texts(path: Path) -> list[str]:
    return read_dataset(path).candidates["text"].tolist()


def _streamed(path: Path) -> list[str]:
    return [line for batch in line_batches(path) for line in batch]


def _pairs(path: Path) -> list[Any]:
    corpus = path.with_name("corpus.jsonl")
    corpus.write_text(
        "".join(
            json.dumps({"source": f"s{at}", "seg_id": f"{at}", "candidates": {"A": "a", "B": "b"}}) + "\n"
            for at in (1, 2)
        )
    )
    return read_pairs(path, read_dataset(corpus)).preferences["first"].tolist()


READERS: dict[str, tuple[str, list[str], Callable[[Path], list[Any]]]] = {
    "plain": ("a.txt", ["one X house", "two"], read_lines),
    "streamed": ("a.txt", ["one X house", "two"], _streamed),
    "parallel": (
        "a.txt",
        ["one X house", "two"],
        lambda path: read_parallel(None, [path], [path]).candidates["text"].tolist(),
    ),
    "n-best list": (
        "a.nbest",
        ["0 ||| one X house ||| F= -1 ||| -1", "1 ||| two ||| F= -1 ||| -1"],
        lambda path: list(read_nbest(path).text_of(np.arange(2))),
    ),
    "fairseq": ("a.out", ["S-0\tx", "H-0\t-1\tone X house", "S-1\ty", "H-1\t-1\ttwo"], texts),
    "tsv": ("a.tsv", [HEADER.replace(",", "\t"), "s\tr\tA\tone X house", "t\tr\tA\ttwo"], texts),
    "csv": ("a.csv", [HEADER, "s,r,A,one X house", "t,r,A,two"], texts),
    "quoted csv": ("a.csv", [HEADER, 's,r,A,"one, X ""house"', "t,r,A,two"], texts),
    "column of a system": ("a.csv", ["source,reference,A,B", "s,r,one X house,two", "t,r,three,four"], texts),
    "mqm": (
        "a.tsv",
        [
            "system\tseg_id\trater\tsource\ttarget\tcategory\tseverity",
            "A\t1\tr\ts\tone X house\tx\tMinor",
            "A\t2\tr\tt\ttwo\tx\tMinor",
        ],
        texts,
    ),
    "json lines": (
        "a.jsonl",
        ['{"source": "s", "candidates": ["one"]}', '{"source": "t", "candidates": ["two"]}'],
        texts,
    ),
    "json": ("a.json", ["[", '{"source": "s", "candidates": ["one"]}', "]"], texts),
    "sgml": (
        "a.xml",
        [
            '<dataset id="d"><doc id="1"><src><seg id="1">s</seg></src><hyp system="A">'
            '<seg id="1">one X house</seg></hyp></doc>',
            "</dataset>",
        ],
        texts,
    ),
    "scores": ("a.scores", ["1", "2.5"], lambda path: [row.score for row in SegmentScores.read(path, "m").rows]),
    "score table": (
        "a.tsv",
        ["seg_id\tscore\tcomment", "1\t1.5\tone X house", "2\t2\tx"],
        lambda path: [row.score for row in SegmentScores.read(path, "m").rows],
    ),
    "preferences": (
        "a.pairs.tsv",
        ["lp\tseg_id\tsysA\tsysB\trelation\tjudge", "-\t1\tA\tB\t>\tan X n", "-\t2\tA\tB\t<\tb"],
        _pairs,
    ),
    "assessments": ("a.csv", ["one X house,1", "two,2"], lambda path: [*assessment_rows(read_text(path), "a", ",")]),
    "treebank": (
        "a.conllu",
        ["# one X house", "1\tone\tone\tNOUN\t_\t_\t0\troot\t_\t_", "", "1\ttwo\ttwo\tNUM\t_\t_\t0\troot\t_\t_", ""],
        lambda path: [sentence.forms for sentence in read_conllu(path)],
    ),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r\r\n", "\r"], ids=["LF", "CR LF", "CR CR LF", "CR"])
def test_all_line_ends_are_read_alike(tmp_path, reader, end):
    name, lines, read = READERS[reader]
    path = tmp_path / name
    path.write_bytes(("\n".join(lines) + "\n").encode())
    expected = read(path)
    path.write_bytes((end.join(lines) + end).encode())
    assert read(path) == expected


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("odd", ODD, ids=ascii)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CR LF"])
def test_only_line_ends_end_lines(tmp_path, reader, odd, end):
    name, lines, read = READERS[reader]
    path = tmp_path / name
    path.write_bytes((end.join(lines) + end).encode())
    expected = json.dumps(read(path))
    path.write_bytes((end.join(lines).replace(" X ", odd) + end).encode())
    plain = json.dumps(read(path)).replace(json.dumps(odd)[1:-1], " X ")
    assert plain.replace(" X ", " ") == expected.replace(" X ", " ")


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (
            b"one\ntwo\nthree\rhouses\nfour\n",
            ":3: a carriage return inside this line is read as a space: lines end in line feeds",
        ),
        (b"a\r\nb\r\nc\nd\r\n", ":3: this line ends in LF, like 1 of 4 lines: both kinds are read as line ends"),
        (b"a\nb\r\nc\nd\n", ":2: this line ends in CR LF, like 1 of 4 lines: both kinds are read as line ends"),
        (b"a\rb\r", ": 2 carriage returns and no line feed: read as line ends"),
    ],
)
@pytest.mark.parametrize("read", [read_lines, _streamed])
def test_a_note_tells_where_line_ends_are_odd(tmp_path, caplog, text, note, read):
    path = tmp_path / "a.txt"
    path.write_bytes(text)
    read(path)
    assert [record.getMessage() for record in caplog.records] == [f"ranker: note: {path}{note}"]


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (b"a\nb\n" * 20 + b"c\r\n" * 30, ":41: this line ends in CR LF, like 30 of 70 lines"),
        (b"a\n" * 8 + b"b\r\nc\r\n" * 20, ":1: this line ends in LF, like 8 of 48 lines"),
        (b"a\n" * 9 + b"b\r\nc\n" * 20 + b"d\re\n", ":50: a carriage return inside this line is read as a space"),
        (b"a\n" * 9 + b"d\re", ":10: a carriage return inside this line is read as a space"),
    ],
)
@pytest.mark.parametrize("part", [1 << 20, 9])
def test_a_note_on_a_streamed_file_is_about_all_of_it(tmp_path, monkeypatch, caplog, text, note, part):
    monkeypatch.setattr(text_lines, "_PART", part)
    path = tmp_path / "a.txt"
    path.write_bytes(text)
    assert len(_streamed(path)) == text.count(b"\n") + (not text.endswith(b"\n"))
    (message,) = caplog.messages
    assert message.startswith(f"ranker: note: {path}{note}")


def test_lines_of_a_cell_may_end_in_another_way(tmp_path, caplog):
    path = tmp_path / "a.csv"
    path.write_bytes(f'{HEADER}\r\ns,r,A,"one\nhouse"\r\n'.encode())
    assert texts(path) == ["one\nhouse"]
    assert not caplog.records


def test_a_carriage_return_in_a_cell_stays_there_and_the_note_says_so(tmp_path, caplog):
    path = tmp_path / "a.csv"
    path.write_bytes(f"{HEADER}\ns,r,A,one\rhouse\n".encode())
    assert texts(path) == ["one\rhouse"]
    what = "a carriage return inside this line stays in its cell: lines end in line feeds"
    assert caplog.messages == [f"ranker: note: {path}:2: {what}"]


@given(st.text("\r\na", max_size=12))
def test_runs_of_carriage_returns_follow_the_rule_of_a_single_one(text: str) -> None:
    def read(line: str) -> str:
        return line.rstrip("\r").replace("\r", " ")

    lines = [*map(read, text.split("\n"))] if "\n" in text else text.split("\r")
    assert with_line_feeds(text) == "\n".join(lines)


def test_a_long_run_of_carriage_returns_is_read(tmp_path: Path) -> None:
    run = "\r" * 300_000
    path = tmp_path / "a.csv"
    path.write_bytes(f'{HEADER}\ns,r,A,"one{run}house"\n'.encode())
    assert texts(path) == [f"one{run}house"]
    (tmp_path / "a.txt").write_bytes(f"one{run}house\n".encode())
    assert read_lines(tmp_path / "a.txt") == [f"one{' ' * len(run)}house"]


@pytest.mark.parametrize("name", ["ref.txt", "hyp.txt"])
def test_a_stray_carriage_return_shifts_no_line(tmp_path, command, caplog, name):
    clean = "The first line is here.\nThe second line is here.\nThe third line is here.\n"
    (tmp_path / "ref.txt").write_text(clean)
    (tmp_path / "hyp.txt").write_text(clean)
    (tmp_path / name).write_bytes(clean.replace("third ", "third\r").encode())
    files = ["-r", str(tmp_path / "ref.txt"), "-t", str(tmp_path / "hyp.txt")]
    printed = command("score", *files, "-m", "wer,bleu", "--level", "system", "--format", "csv")
    assert printed.out.splitlines()[1].split(",")[-2:] == ["0.0", "1.0"]
    assert [f"{name}:3: a carriage return inside" in record.getMessage() for record in caplog.records] == [True]


def test_csv_is_read_where_the_csv_module_takes_no_larger_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def limit(size: int) -> None:
        # a C long of 32 bits, as on Windows
        if size >= 2**31:
            raise OverflowError("Python int too large to convert to C long")

    monkeypatch.setattr("csv.field_size_limit", limit)
    assert len(parse_dataset("source,text\na,b\n", "x", "x.csv", "csv")) == 1
