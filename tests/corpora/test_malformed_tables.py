"""CSV, TSV, Parquet and pairs files with wrong columns, rows, fields and values."""

from __future__ import annotations

import copy
import gzip
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from ranker.corpora.formats.reading import read_dataset
from ranker.errors import DataError
from tests.corpora.damage import CSV, HEADER, JSONL, ROWS, damaged, refusal, table


@pytest.mark.parametrize("line", range(1, len(ROWS) + 2))
@pytest.mark.parametrize("change", [-7, -1, 1, 5])
@pytest.mark.parametrize("name", ["x.csv", "x.tsv"])
def test_wrong_numbers_of_fields(name: str, change: int, line: int, tmp_path: Path) -> None:
    rows = [HEADER, *ROWS]
    row = rows[line - 1]
    rows[line - 1] = row[:change] if change < 0 else [*row, *(f"more{index}" for index in range(change))]
    path = tmp_path / name
    if line == 1:
        # a longer first line makes every row too short
        damaged(path, table("," if name == "x.csv" else "\t", rows), None, "column '\\w+' is missing|fields")
        return
    says = f"expected 8 fields as in the first line, found {8 + change}"
    damaged(path, table("," if name == "x.csv" else "\t", rows), line, says)


@pytest.mark.parametrize("missing", ["text", "reference"])
@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.parquet"])
def test_missing_columns(name: str, missing: str, tmp_path: Path) -> None:
    frame = pd.DataFrame(ROWS, columns=HEADER)
    path = tmp_path / name
    columns = [item for item in HEADER if item == "text" if missing == "text"] or [
        item for item in HEADER if item.startswith(("source", "reference"))
    ]
    for selected in (frame.drop(columns=columns), frame.rename(columns={column: f"{column} x" for column in columns})):
        if name == "x.parquet":
            selected.to_parquet(path, index=False)
            raw = path.read_bytes()
        else:
            raw = table("," if name == "x.csv" else "\t", [list(selected), *selected.to_numpy().tolist()]).encode()
        line = None if name == "x.parquet" else 1
        damaged(
            path,
            raw,
            line,
            rf"column '{missing}' is missing; expected at least text \(or mt, .*\(or ref\), found 'lp', 'seg_id', ",
        )


@pytest.mark.parametrize(
    "more", [["source"], ["src"], ["text"], [" mt "], ["fluency"], ["reference1", "ref_01"], ["", " "]], ids=str
)
def test_columns_that_stand_twice(more: list[str], tmp_path: Path) -> None:
    rows = [[*HEADER, *more], *([*row, *more] for row in ROWS)]
    damaged(tmp_path / "x.csv", table(",", rows), 1, "is duplicated; rename or remove one")
    with_blank_lines = "\n\n" + table(",", rows)
    damaged(tmp_path / "x.csv", with_blank_lines, 3, "is duplicated; rename or remove one")


CELLS = ["x", "nan", "NaN", "inf", "-Infinity", "1e999", "1_000", "3,5", "0x1", "true", "1\u00a0000", "1 2", "--1", "½"]


@pytest.mark.parametrize("cell", [*CELLS, "9" * 400], ids=lambda cell: ascii(cell[:10]))
@pytest.mark.parametrize("name", ["x.csv", "x.tsv"])
def test_judgements_that_are_no_numbers(name: str, cell: str, tmp_path: Path) -> None:
    rows = copy.deepcopy(ROWS)
    rows[3][6] = cell
    says = "column 'fluency': expected a finite number or nothing, found"
    damaged(tmp_path / name, table("," if name == "x.csv" else "\t", [HEADER, *rows]), 5, says)


def test_columns_without_a_name_that_hold_something(tmp_path: Path) -> None:
    rows = [["", *HEADER], *([str(index), *row] for index, row in enumerate(ROWS))]
    says = "a column without a name contains 0: name it in the first line, or remove it"
    damaged(tmp_path / "x.csv", table(",", rows), 2, says)


def test_rows_without_a_system(tmp_path: Path) -> None:
    rows = copy.deepcopy(ROWS)
    rows[1][4] = ""
    damaged(tmp_path / "x.csv", table(",", [HEADER, *rows]), 3, "column 'system': expected a name, found nothing")
    truth = [[*HEADER, "is_reference"], *([*row, "yes" if row is ROWS[2] else "TRUE"] for row in ROWS)]
    damaged(
        tmp_path / "x.csv", table(",", truth), 4, "column 'is_reference': expected true, false or nothing, found 'yes'"
    )


@pytest.mark.parametrize("line", range(2, len(ROWS) + 2))
@pytest.mark.parametrize("column", range(len(HEADER)))
def test_quotes_that_are_never_closed_in_csv(line: int, column: int, tmp_path: Path) -> None:
    rows = [[f'"{cell}"' if "," in cell else cell for cell in row] for row in [HEADER, *ROWS]]
    rows[line - 1][column] = '"' + rows[line - 1][column].strip('"')
    raw = "\n".join(map(",".join, rows))
    damaged(tmp_path / "x.csv", raw, line, "badly quoted row|fields as in the first line")


def test_text_behind_a_quoted_field(tmp_path: Path) -> None:
    rows = CSV.split("\n")
    rows[2] = rows[2].replace(',"reference', ',"refe"rence')
    damaged(tmp_path / "x.csv", "\n".join(rows), 3, "badly quoted row")
    rows = CSV.split("\n")
    rows[6] = f'"{rows[6]}'
    damaged(tmp_path / "x.csv", "\n".join(rows), 7, "badly quoted row|fields")


PARQUET: dict[str, tuple[Any, int | None, str]] = {
    "lists": (pa.array([["a"]] * 6), 1, "column 'text': expected text, found \\[\"a\"\\]"),
    "objects": (pa.array([{"a": 1}] * 6), 1, "column 'text': expected text, found {\"a\": 1}"),
    "times": (pa.array(np.arange(6), pa.timestamp("s")), 1, "column 'text': expected text, found"),
    "fractions": (pa.array([1.0, 2.0, 3.0, 4.5, 5.0, 6.0]), 4, "column 'text': expected text, found 4.5"),
    "bytes": (
        pa.array([b"a", b"b", b"\xff", b"d", b"e", b"f"]),
        3,
        "column 'text': expected text, found bytes that are not UTF-8",
    ),
}


@pytest.mark.parametrize("kind", PARQUET)
def test_wrong_types_of_text_in_parquet(kind: str, tmp_path: Path) -> None:
    column, line, says = PARQUET[kind]
    arrow = pa.Table.from_pandas(pd.DataFrame(ROWS, columns=HEADER).drop(columns=["text", "fluency"]))
    path = tmp_path / "x.parquet"
    pyarrow.parquet.write_table(arrow.append_column("text", column), path)
    refusal(lambda: read_dataset(path), path, line, says)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (float("inf"), "Infinity"),
        (True, "true"),
        ("x", "'x'"),
        ([1.0], r"\[1.0\]"),
        (pd.Timestamp(0), "1970"),
        (b"x", "b"),
    ],
    ids=str,
)
def test_wrong_types_of_judgements_in_parquet(value: object, shown: str, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pd.DataFrame(ROWS, columns=HEADER).assign(fluency=pd.Series([value] * 6)).to_parquet(path, index=False)
    refusal(
        lambda: read_dataset(path), path, 1, f"column 'fluency': expected a finite number or nothing, found .*{shown}"
    )


def test_parquet_columns_that_stand_twice(tmp_path: Path) -> None:
    arrow = pa.Table.from_pandas(pd.DataFrame(ROWS, columns=HEADER))
    path = tmp_path / "x.parquet"
    pyarrow.parquet.write_table(arrow.append_column("text", arrow.column("source")), path)
    refusal(lambda: read_dataset(path), path, None, "column 'text' is duplicated")


PAIR_HEADER = ["lp", "seg_id", "judge", "sysA", "sysB", "relation", "rankA", "rankB", "task", "primary"]
PAIRS = [["zh-en", str(number), "j1", "A", "B", ">", "1", "2", "7", "1"] for number in range(1, 5)]


def with_pairs(
    folder: Path, rows: list[list[str]] | bytes, line: int | None, says: str, name: str = "x.pairs.tsv"
) -> None:
    (folder / "x.jsonl").write_text(JSONL, encoding="utf-8")
    raw = rows if isinstance(rows, bytes) else "\n".join("\t".join(row) for row in rows).encode()
    (folder / name).write_bytes(raw)
    refusal(lambda: read_dataset(folder / "x.jsonl"), folder / name, line, says)


PAIR_DAMAGE = [
    (0, "xx-en", "lp and seg_id: expected a source of x, found 'xx-en' '3'"),
    (0, "-", "expected a source of x, found '-' '3'"),
    (1, "99", "expected a source of x, found 'zh-en' '99'"),
    (1, "", "expected a source of x, found 'zh-en' ''"),
    (3, "C", "sysA: expected a system that translated 'zh-en' '3', found 'C'"),
    (3, "", "sysA: expected a system that translated 'zh-en' '3', found ''"),
    (4, "a", "sysB: expected a system that translated 'zh-en' '3', found 'a'"),
    (4, "A", "system 'A' is compared with itself; expected two different systems"),
    (5, "", "relation: expected one of > < = -, found ''"),
    (5, ">>", "relation: expected one of > < = -, found '>>'"),
    (5, "better", "relation: expected one of > < = -, found 'better'"),
    (5, "＞", "relation: expected one of > < = -, found '＞'"),
    (9, "", "primary: expected one of 0 1, found ''"),
    (9, "2", "primary: expected one of 0 1, found '2'"),
    (9, "True", "primary: expected one of 0 1, found 'True'"),
]


@pytest.mark.parametrize(("column", "value", "says"), PAIR_DAMAGE)
def test_wrong_values_in_pairs(column: int, value: str, says: str, tmp_path: Path) -> None:
    rows = copy.deepcopy(PAIRS)
    rows[2][column] = value
    with_pairs(tmp_path, [PAIR_HEADER, *rows], 4, re.escape(says))


@pytest.mark.parametrize("line", range(2, 6))
@pytest.mark.parametrize("change", [-9, -1, 1])
def test_wrong_numbers_of_fields_in_pairs(line: int, change: int, tmp_path: Path) -> None:
    rows = [PAIR_HEADER, *copy.deepcopy(PAIRS)]
    rows[line - 1] = rows[line - 1][:change] if change < 0 else [*rows[line - 1], "more"]
    with_pairs(tmp_path, rows, line, f"expected 10 fields as in the first line, found {10 + change}")


@pytest.mark.parametrize("column", ["lp", "seg_id", "sysA", "sysB", "relation"])
def test_missing_and_repeated_columns_in_pairs(column: str, tmp_path: Path) -> None:
    at = PAIR_HEADER.index(column)
    with_pairs(
        tmp_path,
        [row[:at] + row[at + 1 :] for row in [PAIR_HEADER, *PAIRS]],
        1,
        f"column '{column}' is missing; expected a first line with lp seg_id judge",
    )
    with_pairs(tmp_path, [[*row, row[at]] for row in [PAIR_HEADER, *PAIRS]], 1, f"column '{column}' is duplicated")


def test_pairs_that_are_something_else(tmp_path: Path) -> None:
    good = "\n".join("\t".join(row) for row in [PAIR_HEADER, *PAIRS]).encode()
    with_pairs(tmp_path, b"", 1, "column 'lp' is missing")
    with_pairs(tmp_path, b"\n\n", 1, "column 'lp' is missing")
    with_pairs(tmp_path, b"{}", 1, "column 'lp' is missing")
    with_pairs(tmp_path, good.replace(b"\t", b","), 1, "column 'lp' is missing")
    with_pairs(tmp_path, good.replace(b"j1", b"\xff", 1), 2, "byte 0xff is not UTF-8")
    with_pairs(tmp_path, good + b"\n\n", 6, "expected 10 fields as in the first line, found 1")
    with_pairs(tmp_path, good.decode().encode("utf-16"), None, "this is UTF-16")
    (tmp_path / "x.pairs.tsv").unlink()
    whole = gzip.compress(good)
    for size in range(1, len(whole)):
        with_pairs(tmp_path, whole[:size], None, "gzip|column 'lp'|not UTF-8", "x.pairs.tsv.gz")
    with pytest.raises(DataError, match="no such file"):
        read_dataset(tmp_path / "x.jsonl", pairs=tmp_path / "none.tsv")
