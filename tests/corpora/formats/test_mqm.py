"""MQM errors, one per line, become a corpus with penalties."""

from __future__ import annotations

from pathlib import Path

import pytest

from ranker import load_dataset
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.reading import read_dataset
from ranker.corpora.formats.writing import write_dataset
from ranker.corpora.judgements import human_scores
from ranker.corpora.marked_errors import errors_by_candidate
from ranker.errors import DataError
from tests.corpora.damage import damaged
from tests.effort import thorough
from tests.golden_examples import Example, file_examples

HEADER = "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity\tcomment"
ROWS = [
    'S1\tt1\t1\t84\tr1\ts "84"\tone <v>two</v> three\tAccuracy/Mistranslation\tMajor\t',
    'S1\tt1\t1\t84\tr1\ts "84"\tone two <v>three</v>\tFluency/Punctuation\tMinor\tx',
    'S1\tt1\t1\t84\tr2\ts <v>"84"</v>\t<v>one two three</v>\tStyle/Awkward\tminor\t',
    'refA\tt1\t1\t84\tr2\ts "84"\tOne, two\tNo-error\tNo-error\t',
    "S1\tt2\t1\t85\tr1\ts 85\t<v>gibberish</v>\tNon-translation!\tMajor\t",
    "refA\tt2\t1\t85\tr3\ts 85\tOne\tTerminology/Inconsistent\tNeutral\t",
]
TSV = "\n".join([HEADER, *ROWS]) + "\n"


def values(dataset: Dataset, kind: str) -> list[float]:
    result = dataset.ratings[dataset.ratings["kind"] == kind]
    return result.sort_values("candidate")["value"].tolist()


def test_errors_become_penalties(tmp_path: Path) -> None:
    (tmp_path / "mqm_en.tsv").write_text(TSV)
    dataset = read_dataset(tmp_path / "mqm_en.tsv")
    assert dataset.sources[["doc", "seg_id", "text"]].to_numpy().tolist() == [
        ["t1", "84", 's "84"'],
        ["t2", "85", "s 85"],
    ]
    assert dataset.candidates["text"].tolist() == ["one two three", "One, two", "gibberish", "One"]
    assert dataset.candidates["is_reference"].tolist() == [False, True, False, True]
    assert dataset.references[["name", "text"]].to_numpy().tolist() == [["refA", "One, two"], ["refA", "One"]]
    # two raters: (5 + 0.1) and 1
    assert values(dataset, "mqm_total") == pytest.approx([3.05, 0, 25, 0])
    assert values(dataset, "mqm_accuracy") == pytest.approx([2.5, 0, 0, 0])
    assert values(dataset, "mqm_fluency") == pytest.approx([0.05, 0, 0, 0])
    assert values(dataset, "mqm_fluency_style") == pytest.approx([0.55, 0, 0, 0])
    assert values(dataset, "mqm_other") == [0, 0, 25, 0]
    assert values(dataset, "mqm_n") == [2, 1, 1, 1]
    assert human_scores(dataset, "mqm").tolist() == pytest.approx([-3.05, 0, -25, 0])
    marks = dataset.errors.astype(object).where(dataset.errors.notna(), None)
    assert marks.to_numpy().tolist() == [
        [0, "r1", 4, 7, "major", "Accuracy/Mistranslation", "target"],
        [0, "r1", 8, 13, "minor", "Fluency/Punctuation", "target"],
        [0, "r2", 0, 13, "minor", "Style/Awkward", "target"],
        [1, "r2", None, None, "no-error", "", "target"],
        [2, "r1", 0, 9, "major", "Non-translation!", "target"],
        [3, "r3", None, None, "neutral", "Terminology/Inconsistent", "target"],
    ]
    write_dataset(dataset, tmp_path / "x.jsonl")
    assert read_dataset(tmp_path / "x.jsonl").fingerprint == dataset.fingerprint


def test_marks_have_places_in_the_text_that_is_kept(tmp_path: Path) -> None:
    rows = [
        "A\td\t1\t1\tr\tab <v>c</v> d\tone 🙂 two\tAccuracy/Omission\tMajor\t",
        "A\td\t1\t1\tr\tab c d\tone  🙂 <v>two </v>\tx\tMinor\t",
        "A\td\t1\t1\tr\tab c d\tone <v>🙂</v> t<v>w</v>o\tx\tMinor\t",
        "A\td\t1\t1\tr\tab  <v>c d\tone 🙂 two</v>\tx\tMinor\t",
        "A\td\t1\t1\tr\tab  <v>c</v> d\tone 🙂 two\tx\tMinor\t",
        "A\td\t1\t1\tr\tab c d\tone 🙂 two<v></v>\tx\tMinor\t",
    ]
    (tmp_path / "x.tsv").write_text("\n".join([HEADER, *rows]) + "\n")
    (marks,) = errors_by_candidate(read_dataset(tmp_path / "x.tsv").errors).values()
    assert [(mark.start, mark.end, mark.side) for mark in marks] == [
        (3, 4, "source"),
        (6, 9, "target"),
        (4, 8, "target"),
        (None, None, "target"),
        (3, 4, "source"),
        (9, 9, "target"),
    ]


def test_other_names_of_the_segment_and_line_ends(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text(TSV)
    plain = read_dataset(tmp_path / "x.tsv")
    (tmp_path / "y.tsv.gz").write_bytes(
        TSV.replace("doc_id\tseg_id", "doc_seg_id\tglobal_seg_id").replace("\n", "\r\n").encode()
    )
    assert read_dataset(tmp_path / "y.tsv.gz").fingerprint == plain.fingerprint
    (tmp_path / "z.tsv").write_text(TSV.replace("doc_id\tseg_id", "other\tdoc_seg_id"))
    assert read_dataset(tmp_path / "z.tsv").sources["seg_id"].tolist() == ["t1:84", "t2:85"]


@pytest.mark.parametrize("example", file_examples("corpora/mqm"), ids=str)
def test_what_is_refused(example: Example, tmp_path: Path) -> None:
    message = damaged(tmp_path / example.line, example.content)
    example.check(message.removeprefix(f"{tmp_path}/"))


@thorough
def test_published_penalties_come_out(tmp_path: Path, shared: Path) -> None:
    judged = read_dataset(shared / "data" / "ted21-mqm.jsonl.gz")
    # the published errors of this output
    errors = ["Accuracy/Mistranslation", "Style/Awkward", "Style/Awkward", "Fluency/Grammar"]
    source = judged.sources["text"].iloc[0]
    rows = [f"Borderline\ttalk.2\t1\t84\tr\t{source}\ttext\t{error}\tMajor\t" for error in errors]
    (tmp_path / "x.tsv").write_text("\n".join([HEADER, *rows]) + "\n")
    own = {kind: values(read_dataset(tmp_path / "x.tsv"), kind)[0] for kind in set(judged.ratings["kind"])}
    first = judged.ratings[judged.ratings["candidate"] == 0]
    assert own == dict(zip(first["kind"], first["value"], strict=True))


@pytest.mark.parametrize("target", ["a <v>b c", "a b</v> c", "a </v>b<v> c", "<v>a</v> <v>b</v> c", "<v>a <v>b</v> c"])
def test_errors_that_are_not_marked_by_one_pair_are_noted(target, tmp_path, caplog):
    rows = [f"s\td\t1\t1\tr\tx\t{text}\tOther\tMinor\t" for text in ("a <v>b</v> c", target, target)]
    (tmp_path / "x.tsv").write_text("\n".join([HEADER, *rows]) + "\n")
    read_dataset(tmp_path / "x.tsv")
    assert "x.tsv: 2 errors not marked by one <v> and one </v> after it (the first on line 3)" in caplog.text


def test_severities_may_have_other_weights(tmp_path, command):
    path = tmp_path / "x.tsv"
    path.write_text(TSV.replace("Style/Awkward\tminor", "Style/Awkward\tCritical"))
    # as much as major
    assert values(read_dataset(path), "mqm_total") == pytest.approx([5.05, 0, 25, 0])
    by_category = {"major:accuracy": 2, "minor:fluency/punctuation": 1}
    assert values(load_dataset(path, severity_weights=by_category), "mqm_total") == pytest.approx([4, 0, 25, 0])
    path.write_text(TSV.replace("Style/Awkward\tminor", "Style/Awkward\tSevere"))
    with pytest.raises(DataError) as error:
        read_dataset(path)
    assert (error.value.line, error.value.what) == (
        4,
        "severity: expected major, minor, critical, neutral, no-error, found 'severe'; give it a weight, "
        "as in: ranker data convert FILE NEW --severity-weights severe=25",
    )
    # two raters: (5 + 0.1) and 10; non-translation and punctuation keep their weights
    weights = {"Severe": 10, "neutral": 0.5}
    assert values(load_dataset(path, severity_weights=weights), "mqm_total") == pytest.approx([7.55, 0, 25, 0.5])
    command("data", "convert", str(path), str(tmp_path / "y.jsonl"), "--severity-weights", "severe=10,neutral=.5")
    assert values(read_dataset(tmp_path / "y.jsonl"), "mqm_total") == pytest.approx([7.55, 0, 25, 0.5])
    without = command("score", "--data", str(path), "-m", "chrf", "--severity-weights", "severe=10", code=2).err
    assert "ranker data convert FILE NEW --severity-weights critical=10" in without
    wrong = command("data", "convert", str(path), "y.jsonl", "--severity-weights", "critical", code=2)
    assert "--severity-weights: expected SEVERITY=WEIGHT, such as critical=25, with a weight from 0 to" in wrong.err


def test_attention_checks_are_left_out_with_a_note(tmp_path, caplog):
    checks = [
        "S1\tt1\t1\t84\tr1\tother\tone <v>wrong</v> three\tFound\tHOTW-test\t",
        "S9\tt9\t1\t99\tr1\tother\ttext\tMissed\thotw-TEST \t",
    ]
    (tmp_path / "x.tsv").write_text("\n".join([HEADER, checks[0], *ROWS, checks[1]]) + "\n")
    (tmp_path / "y.tsv").write_text(TSV)
    dataset = read_dataset(tmp_path / "x.tsv")
    assert "x.tsv: 2 attention checks (severity HOTW-test) left out (the first on line 2)" in caplog.text
    assert dataset.fingerprint == read_dataset(tmp_path / "y.tsv").fingerprint


def test_columns_of_googles_viewer_may_be_in_camel_case(tmp_path):
    plain = TSV.replace("doc_id\tseg_id", "doc_seg_id\tglobal_seg_id")
    (tmp_path / "x.tsv").write_text(plain.replace("doc_seg_id\tglobal_seg_id", "docSegId\tglobalSegId"))
    (tmp_path / "y.tsv").write_text(plain)
    assert read_dataset(tmp_path / "x.tsv").fingerprint == read_dataset(tmp_path / "y.tsv").fingerprint
    (tmp_path / "z.tsv").write_text(TSV.replace("doc_id\tseg_id", "docSegId\tdoc_seg_id"))
    with pytest.raises(DataError, match="column 'doc_seg_id' is duplicated"):
        read_dataset(tmp_path / "z.tsv")
