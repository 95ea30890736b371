from __future__ import annotations

import dataclasses

import msgspec
import pytest

from ranker.corpora.documents.assessments import Assessment, Layout, parse_assessments
from ranker.corpora.documents.manifest import read_manifest
from ranker.errors import DataError
from tests.corpora.stories import MANIFEST, SCORES, write_corpus

NUMBERED = {"judge": 1, "system": 2, "doc": 3, "segment": 4, "fluency": 5, "adequacy": 6}
LAYOUT = Layout(NUMBERED, scale=(1, 5), missing={"NA", "-1"})


def parsed(text: str, layout: Layout = LAYOUT) -> list[tuple[object, ...]]:
    return [dataclasses.astuple(item) for item in parse_assessments(text, "scores", layout)]


def test_a_row_gives_a_score_for_every_kind() -> None:
    text = "j1\tE05\td1\t1\t4\t2.5\n\nj2\tE05\td1\t1\tNA\t3\nj2\tE05\td1\t2\t-1\t\n"
    assert list(parse_assessments(text, "scores", LAYOUT)) == [
        Assessment("E05", "d1", "1", "j1", "fluency", 4.0, 1),
        Assessment("E05", "d1", "1", "j1", "adequacy", 2.5, 1),
        Assessment("E05", "d1", "1", "j2", "adequacy", 3.0, 3),
    ]


@pytest.mark.parametrize(
    ("delimiter", "row"),
    [
        ("\t", "j 1\t E05\td1 \t1\t4\t2"),
        ("|", "j 1|E05|d1|1|4|2"),
        (" :: ", "j 1 :: E05 :: d1 :: 1 :: 4 :: 2"),
        (",", '"j 1",E05,"d1",1,4,2'),
        (";", 'j 1; E05;"d1";1;4;2'),
    ],
)
def test_delimiters(delimiter: str, row: str) -> None:
    layout = msgspec.structs.replace(LAYOUT, delimiter=delimiter)
    assert parsed(f"{row}\n{row}", layout)[2:] == [
        ("E05", "d1", "1", "j 1", "fluency", 4.0, 2),
        ("E05", "d1", "1", "j 1", "adequacy", 2.0, 2),
    ]


def test_titles_in_any_case_and_order() -> None:
    columns = {"system": "Sys", "doc": "document", "segment": "SEG", "fluency": "Flu"}
    layout = Layout(columns, {"judge": "me"}, ",", header=True)
    assert parsed("Flu,Remark,seg, sys ,Document\n4,fine,1,E05,d1\n", layout) == [
        ("E05", "d1", "1", "me", "fluency", 4.0, 2)
    ]
    with pytest.raises(
        DataError, match=r"scores:2: expected one column called 'Flu', found none \(did you mean 'Flus'"
    ):
        parsed("\nFlus,seg,sys,document\n", layout)
    with pytest.raises(
        DataError, match=r"scores:1: expected one column called 'SEG', found several; the first line has"
    ):
        parsed("Flu,seg,sys,document,seg\n", layout)


def test_a_title_line_above_numbered_columns() -> None:
    layout = msgspec.structs.replace(LAYOUT, header=True)
    assert len(parsed("a\tb\tc\td\te\tf\nj1\tE05\td1\t1\t4\t2\n", layout)) == 2
    assert parsed("a\tb\tc\td\te\tf\n", layout) == []


def test_one_score_a_row() -> None:
    layout = Layout({"system": 1, "doc": 2, "segment": 3, "kind": 4, "value": 5}, delimiter=" ")
    assert parsed("E05 d1 1 Fluency 4\nE05 d1 1 ADEQUACY 80.5", layout) == [
        ("E05", "d1", "1", None, "fluency", 4.0, 1),
        ("E05", "d1", "1", None, "adequacy", 80.5, 2),
    ]
    with pytest.raises(DataError, match="scores:1: kind: expected a name, found nothing"):
        parsed("E05 d1 1  4", layout)
    fixed = Layout({"doc": 1, "segment": 2, "value": 3}, {"system": "E05", "kind": "fluency"}, " ")
    assert parsed("d1 1 4", fixed) == [("E05", "d1", "1", None, "fluency", 4.0, 1)]


def test_badly_quoted_rows_are_located() -> None:
    layout = msgspec.structs.replace(LAYOUT, delimiter=",")
    with pytest.raises(DataError, match=r"scores:2: badly quoted row \(.*\); expected fields quoted as in CSV"):
        parsed('j1,E05,d1,1,4,2\n"j1"x,E05,d1,1,4,2', layout)


def test_without_a_scale_any_finite_number() -> None:
    layout = msgspec.structs.replace(LAYOUT, scale=None)
    assert [item[5] for item in parsed("j\tE05\td\t1\t-3e1\t100", layout)] == [-30.0, 100.0]
    with pytest.raises(DataError, match="scores:1: fluency: expected a finite number, found 'inf'"):
        parsed("j\tE05\td\t1\tinf\t1", layout)


def test_every_layout_gives_the_same_corpus(tmp_path) -> None:
    plain = read_manifest(write_corpus(tmp_path / "corpus")).fingerprint
    head = MANIFEST[: MANIFEST.index("[assessment]")]
    rows = [row.split("\t") for row in SCORES.splitlines()]
    layouts = {
        "columns = { fluency = 1, judge = 3, segment = 5, doc = 6, system = 7 }\ndelimiter = 'whitespace'": "\n".join(
            f"{fluency} - {judge} - {segment} {doc} {system}" for system, doc, segment, judge, fluency in rows
        ),
        "columns = { system = 'S', doc = 'D', segment = 'N', judge = 'J', fluency = 'F' }\ndelimiter = ';'": "\n".join(
            ["J;S;N;F;D", *(f"{row[3]};{row[0]};{row[2]};{row[4]};{row[1]}" for row in rows)]
        ),
        "columns = ['-', 'system', 'doc', 'segment', 'kind', 'value']\nfixed.judge = 'j1'\nheader = true": "\n".join(
            ["\t" * 5 + "x", *(f"-\t{row[0]}\t{row[1]}\t{row[2]}\tFluency\t{row[4]}" for row in rows)]
        ),
    }
    for layout, text in layouts.items():
        manifest = f"{head}[assessment]\npath = ['scores.txt']\n{layout}\n"
        folder = write_corpus(tmp_path / "corpus", {"manifest.toml": manifest, "scores.txt": text})
        assert read_manifest(folder).fingerprint == plain, layout
    tables = "".join(
        f"[[assessment]]\npath = '{system}.scores'\nfixed = {{ system = '{system}' }}\n"
        "columns = ['-', 'doc', 'segment', 'judge', 'fluency']\n"
        for system in ("E05", "E06")
    )
    changes = {
        f"{system}.scores": "".join(f"{line}\n" for line in SCORES.splitlines() if line.startswith(system))
        for system in ("E05", "E06")
    }
    folder = write_corpus(tmp_path / "corpus", {**changes, "manifest.toml": head + tables})
    assert read_manifest(folder).fingerprint == plain
