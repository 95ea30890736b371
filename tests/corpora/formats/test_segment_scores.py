"""Scores of segments from elsewhere: every form, whom they belong to, and what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.mtme_scores import format_scores
from ranker.corpora.formats.segment_scores import SegmentScores
from ranker.corpora.records import Candidate, Record, assemble
from ranker.errors import DataError
from tests.golden_examples import Example, file_examples

SCORES = {"A": [0.5, -1.25, 3.0], "B": [0.75, 1e-3, 2.0]}
KEYS = [("de-en", "7"), ("de-en", "x 1"), ("fr-en", "7")]
ROWS = [(*KEYS[number], system, score) for system, scores in SCORES.items() for number, score in enumerate(scores)]
Write = Callable[[str, str], SegmentScores]


def translated(*, systems: str = "AB", lacking: tuple[str, int] | None = None) -> Dataset:
    """Three segments of two language pairs with the outputs of two systems, but for one that is lacking."""
    return assemble(
        [
            Record(
                f"Satz {number}",
                [],
                [Candidate(system, f"{system} {number}") for system in systems if (system, number) != lacking],
                lp=lp,
                seg_id=seg_id,
            )
            for number, (lp, seg_id) in enumerate(KEYS)
        ],
        "data",
    )


def by_system(dataset: Dataset, result: np.ndarray) -> dict[str, list[float]]:
    systems = dataset.candidates["system"].to_numpy(object)
    return {item: result[systems == item].tolist() for item in dict.fromkeys(systems)}


def comet_json(file: str = "out/{}.txt", **more: Any) -> str:
    """What comet-score writes with --to_json: a list of segments by the name of each system's file."""
    return json.dumps(
        {
            file.format(system): [
                {"src": f"Satz {number}", "mt": f"{system} {number}", "ref": "r", "COMET": score, **more}
                for number, score in enumerate(scores)
            ]
            for system, scores in SCORES.items()
        },
        indent=4,
    )


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    monkeypatch.chdir(tmp_path)

    def write(name: str, text: str) -> SegmentScores:
        Path(name).write_text(text, encoding="utf-8")
        return SegmentScores.read(name, "mine")

    return write


FORMS = {
    "m-refA.seg.score": format_scores(SCORES),
    "spaces.txt": "".join(f"{system}  {score}\n" for system, scores in SCORES.items() for score in scores),
    "keyed.tsv": "lp\tseg_id\tsystem\tscore\n" + "".join("\t".join(map(str, row)) + "\n" for row in reversed(ROWS)),
    "keyed.csv": 'comment,"system",score,seg_id,lp\n' + "".join(f'"a, b",{s},{v},{i},{lp}\n' for lp, i, s, v in ROWS),
    "excel.csv": "sep=;\r\nsystem;score\r\n" + "".join(f"{system};{score}\r\n" for *_, system, score in ROWS),
    "excel.txt": "sep=;\n" + format_scores(SCORES),
    "windows.csv": "system,score\r\n" + "".join(f"{system},{score}\r\n" for *_, system, score in ROWS),
    "named.tsv": "system\tmine\tscore\n" + "".join(f"{system}\t{score}\tnone\n" for *_, system, score in ROWS),
    "rows.jsonl": "".join(
        json.dumps({"lp": lp, "seg_id": i, "system": s, "score": v, "other": [1]}) + "\n" for lp, i, s, v in ROWS
    ),
    "metricx.jsonl": "".join(
        json.dumps({"system": s, "hypothesis": f"{s} {n % 3}", "prediction": v}) + "\n"
        for n, (*_, s, v) in enumerate(ROWS)
    ),
    "list.json": json.dumps([{"system": s, "score": v} for *_, s, v in ROWS], indent=1),
    "comet.json": comet_json(),
    "xcomet.json": comet_json(errors=[{"text": "1", "severity": "minor"}]),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_gives_the_scores_of_the_candidates(name: str, read: Write) -> None:
    dataset = translated()
    scores = read(name, FORMS[name])
    assert by_system(dataset, scores.of_candidates(dataset)) == SCORES
    assert len(scores.digest) == 64


def test_a_folder_holds_a_file_for_each_system(read: Write, tmp_path: Path) -> None:
    (tmp_path / "all").mkdir()
    for system, scores in SCORES.items():
        (tmp_path / "all" / f"{system}.txt").write_text("".join(f"{score}\n" for score in scores))
    dataset = translated()
    result = SegmentScores.read("all", "mine")
    assert by_system(dataset, result.of_candidates(dataset)) == SCORES
    (tmp_path / "all" / "B.txt").write_text("1\n2\nx\n")
    with pytest.raises(DataError, match=r"all/B\.txt:3: expected a finite number or None, found 'x'"):
        SegmentScores.read("all", "mine")


def test_one_score_a_line_is_of_the_only_system(read: Write) -> None:
    single = translated(systems="A")
    for separator in ("sep=;\n", ""):
        scores = read("scores.txt", f"{separator}0.5\n-1.25\n3\n")
        assert scores.of_candidates(single).tolist() == SCORES["A"]
    with pytest.raises(DataError, match=r"scores.txt:3: expected a finite number or None, found 'x'"):
        read("scores.txt", "sep=;\n0.5\nx\n")
    with pytest.raises(DataError, match=r"scores.txt:1: has no system names, but data has 2 systems"):
        scores.of_candidates(translated())


def test_rows_count_the_segments_that_their_system_translated(read: Write, caplog: pytest.LogCaptureFixture) -> None:
    dataset = translated(lacking=("A", 1))
    expected = {"A": [0.5, 3.0], "B": SCORES["B"]}
    fewer = read("fewer.tsv", format_scores(expected))
    assert by_system(dataset, fewer.of_candidates(dataset)) == expected
    with_none = read("none.tsv", format_scores({"A": [0.5, None, 3.0], "B": SCORES["B"]}))
    assert by_system(dataset, with_none.of_candidates(dataset)) == expected
    every = read("all.tsv", FORMS["m-refA.seg.score"])
    assert by_system(dataset, every.of_candidates(dataset)) == expected
    assert caplog.messages == [
        "ranker: note: all.tsv: 1 of 6 scores belongs to no candidate of data (first: line 2, system 'A'): not used"
    ]


def test_a_file_may_have_scores_of_more_systems_and_segments(read: Write, caplog: pytest.LogCaptureFixture) -> None:
    dataset = translated()
    others = "de-en\t99\tA\t7\nde-en\t99\tZ\t7\nde-en\t7\tZ\t7\nfr-it\t7\tA\t7\n"
    more = read("more.tsv", FORMS["keyed.tsv"] + others)
    assert by_system(dataset, more.of_candidates(dataset)) == SCORES
    assert caplog.messages == [
        "ranker: note: more.tsv: 4 of 10 scores belong to no candidate of data (first: line 8, lp 'de-en', seg_id "
        "'99', system 'A'): not used"
    ]
    positional = read("z.score", format_scores({"Z": [1.0], **SCORES}))
    assert by_system(dataset, positional.of_candidates(dataset)) == SCORES


def test_rows_are_counted_by_language_pair_where_it_is_named(read: Write) -> None:
    dataset = translated()
    rows = [ROWS[2], ROWS[5], ROWS[0], ROWS[1], ROWS[3], ROWS[4]]
    scores = read("lp.tsv", "lp\tsystem\tscore\n" + "".join(f"{lp}\t{s}\t{v}\n" for lp, _, s, v in rows))
    assert by_system(dataset, scores.of_candidates(dataset)) == SCORES


def test_rows_may_be_of_the_language_pairs_that_are_scored(read: Write) -> None:
    """As score files of mt-metrics-eval, which has one for every language pair."""
    dataset = translated()
    scores = read("de-en.tsv", "A\t1\nA\t2\nB\t3\nB\t4\n")
    wins = by_system(dataset, scores.of_candidates(dataset, ["de-en"]))
    np.testing.assert_array_equal([wins["A"], wins["B"]], [[1, 2, np.nan], [3, 4, np.nan]])
    with pytest.raises(DataError, match=r"de-en.tsv:2: system 'A' has 2 scores, expected 1, one for each"):
        scores.of_candidates(dataset, ["fr-en"])
    every = read("all.tsv", FORMS["m-refA.seg.score"])
    assert by_system(dataset, every.of_candidates(dataset, ["de-en"])) == SCORES


def test_systems_are_found_with_and_without_endings_of_file_names(read: Write) -> None:
    for actual, expected in (("A", "x/A.en"), ("A.txt", "A"), ("A.en", "x\\A.en"), ("A.b.txt", "A.b")):
        dataset = assemble([Record("x", [], [Candidate(actual, "y"), Candidate("B", "y")])], "data")
        scores = read("a.jsonl", json.dumps({"system": expected, "score": 1}) + "\n")
        np.testing.assert_array_equal(scores.of_candidates(dataset), [1, np.nan])
    dataset = assemble([Record("x", [], [Candidate("A.1", "y"), Candidate("A.2", "y")])], "data")
    for other in ("A", "A.3"):
        with pytest.raises(DataError, match=f"a.tsv:1: expected a system of data, found '{other}'"):
            read("a.tsv", f"{other}\t1\n").of_candidates(dataset)


def test_scores_that_are_missing_are_no_numbers(read: Write) -> None:
    dataset = translated()
    scores = read("gaps.csv", "lp,seg_id,system,score\nde-en,7,A,1\nfr-en,7,A,\nfr-en,7,B,None\n")
    wins = by_system(dataset, scores.of_candidates(dataset))
    np.testing.assert_array_equal(wins["A"], [1.0, np.nan, np.nan])
    assert np.isnan(wins["B"]).all()


@pytest.mark.parametrize("example", file_examples("corpora/segment_scores"), ids=str)
def test_what_is_wrong_is_said_with_file_and_line(example: Example, read: Write) -> None:
    with pytest.raises(DataError) as raised:
        read(example.line, example.content).of_candidates(translated())
    assert str(raised.value).isprintable()
    example.check(str(raised.value))


@pytest.mark.parametrize("hostile", ["\x1b[2J\u202e<script>", "a\0b", "x" * 100_000, "a\rb"])
def test_hostile_names_are_shown_harmlessly(hostile: str, read: Write) -> None:
    rows = {"system": hostile, "score": 1, "seg_id": hostile, "lp": hostile}
    for name, content in {"a.jsonl": rows, "b.jsonl": {**rows, "system": "A"}, "c.jsonl": {"score": hostile}}.items():
        with pytest.raises(DataError) as raised:
            read(name, json.dumps(content)).of_candidates(translated())
        assert str(raised.value).isprintable()
        assert len(str(raised.value)) < 300


def test_nothing_and_numbers_beyond_all_are_refused(read: Write) -> None:
    with pytest.raises(DataError, match=r"excel\.csv: is empty"):
        read("excel.csv", "sep=;\n\n")
    with pytest.raises(DataError, match=r"a\.txt: is empty, expected lines with a system and a score"):
        read("a.txt", " \n")
    with pytest.raises(DataError, match=r"a\.jsonl:1: record\.score: expected a finite number, found 10000"):
        read("a.jsonl", f'{{"score": 1{"0" * 400}}}\n')


def test_scores_without_column_names_are_refused_with_their_line(read: Write) -> None:
    for content, line in (("\nA,1\n", 2), ("sep=,\nA,1\n", 2)):
        with pytest.raises(DataError, match=rf"a\.csv:{line}: found 'A,1' without column names"):
            read("a.csv", content)


def test_scores_of_something_else_come_in_order(read: Write) -> None:
    scores = read("s.txt", "1\n2\n3\n")
    assert scores.in_order(translated(systems="A")).tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(DataError, match=r"s.txt: has 3 scores, expected 6, one for each of the hypotheses of data"):
        scores.in_order(translated())
    with pytest.raises(DataError, match=r"s.txt:2: the score is missing, expected a number"):
        read("s.txt", "1\nNone\n2\n").in_order(translated(systems="A"))


@pytest.mark.parametrize(("own", "given"), [(1, 0), (0, 1)])
def test_segments_numbered_from_another_number_are_refused(own: int, given: int, read: Write) -> None:
    records = [Record(f"s {at}", [], [Candidate("A", "x")], seg_id=str(at)) for at in range(own, own + 3)]
    scores = read("a.csv", "seg_id,system,score\n" + "".join(f"{at},A,{at}\n" for at in range(given, given + 3)))
    with pytest.raises(DataError) as raised:
        scores.of_candidates(assemble(records, "data"))
    what = f"segments are numbered from {given} to {given + 2} here, but from {own} in the data set"
    assert raised.value.what == f"{what}: expected the same seg_ids; number both alike"


def test_segments_may_be_numbered_in_each_document(read: Write) -> None:
    scores = read("a.csv", "doc_id,segment_id,system,score\n9,1,A,1\n3,1,A,2\n3,2,A,3\n")
    assert by_system(data := translated(), scores.of_candidates(data))["A"] == [1.0, 2.0, 3.0]


def test_numbers_of_other_documents_beside_texts_or_of_many_digits_are_no_order(read: Write) -> None:
    for rows in ("1,A,1\n2,A,2\n2,A,3\n1,A,4\n", "77,A,1\n5,A,2\n77,A,3\n"):
        assert read("a.csv", f"id,system,score\n{rows}").rows[0].score == 1.0
    with pytest.raises(DataError, match="rows are not in the order of segments"):
        read("a.csv", "id,system,score\n7,A,1\n9,A,2\n8,A,3\n")
    beside = read("a.jsonl", "".join(f'{{"id": {at}, "system": "A", "mt": "x", "score": 1}}\n' for at in (7, 9, 8)))
    assert len(beside.rows) == 3
    many = "9" * 5_000
    assert len(read("a.csv", f"id,system,score\n{many},A,1\n{many}1,A,2\n").rows) == 2
    scores = read("b.csv", f"seg_id,system,score\n{many},A,1\n")
    with pytest.raises(DataError):
        scores.of_candidates(translated())


def test_the_score_is_that_of_the_metric_whatever_the_case(read: Write) -> None:
    scores = read("a.csv", "system,score,MINE\nA,80,1\nA,60,2\nA,70,3\n")
    assert by_system(data := translated(), scores.of_candidates(data))["A"] == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("named", ["sys.txt\t", ""])
def test_what_comet_prints_is_refused_with_advice(named: str, read: Write, tmp_path: Path) -> None:
    printed = f"{named}Segment 0\tscore: 0.8\n{named}Segment 1\tscore: 0.7\n{named}score: 0.75\n"
    for text in (printed, f"Fetching 5 files\n{printed}"):
        says = r"comet\.txt:[12]: this is what comet-score prints, expected its JSON: run it with --to_json FILE"
        with pytest.raises(DataError, match=says):
            read("comet.txt", text)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "A").write_text(printed)
    with pytest.raises(DataError, match=r"A:1: this is what comet-score prints"):
        SegmentScores.read("folder", "mine")
