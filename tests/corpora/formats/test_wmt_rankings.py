"""Relative rankings of WMT, added to the corpus that they are of."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from ranker.cli.main import run
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.preference_pairs import read_pairs
from ranker.corpora.formats.reading import read_dataset
from ranker.corpora.formats.writing import write_dataset
from ranker.corpora.records import Candidate, Record, assemble
from ranker.errors import DataError
from tests.corpora.damage import refusal
from tests.datasets import part_of_corpus
from tests.effort import thorough
from tests.golden_examples import Example, file_examples

FIVE = (
    "srclang,trglang,srcIndex,documentId,segmentId,judgeId,"
    + ",".join(f"system{number}Number,system{number}Id" for number in range(1, 6))
    + ","
    + ",".join(f"system{number}rank" for number in range(1, 6))
)
TWO = "srclang,trglang,srcIndex,segmentId,judgeID,system1Id,system1rank,system2Id,system2rank,rankingID"
TEXTS = {"A.1": "a text", "B.2": "A text.", "C.3": "other", "D.4": "text"}


def corpus(pairs: tuple[str | None, ...] = ("cs-en",), seg_ids: tuple[str, ...] = ("7", "8"), doc: str = "") -> Dataset:
    return assemble(
        [
            Record(
                "x", ["r"], [Candidate(name, text) for name, text in TEXTS.items()], lp=pair, seg_id=f"{doc}{seg_id}"
            )
            for pair in pairs
            for seg_id in seg_ids
        ],
        "corpus",
    )


def five(systems: str, ranks: str, head: str = "Czech,English,7,-1,7,judge1") -> str:
    listed = (systems.split() + [""] * 5)[:5]
    return ",".join([head, *(f"-1,{name}" for name in listed), *(ranks.split() + ["-1"] * 5)[:5]])


def added(dataset: Dataset, lines: list[str], folder: Path) -> list[list[Any]]:
    (folder / "rr.csv").write_text("\n".join(lines) + "\n")
    result = read_pairs(folder / "rr.csv", dataset)
    systems = dataset.candidates["system"]
    frame = result.preferences.astype(object).where(result.preferences.notna(), None)
    return [
        [dataset.candidate_source[row["first"]], systems[row["first"]], row["relation"], systems[row["second"]], *rest]
        for _, row in frame.iterrows()
        for rest in [[row["judge"], row["task"], row["rank_first"], row["rank_second"], row["primary"]]]
    ]


def test_a_ranking_of_five_is_every_pair_of_it(tmp_path: Path) -> None:
    lines = [FIVE, five("A.1 B.2 C.3 D.4", "1 3 1 2"), five("A.1 B.2", "2 -1", "cze,eng,8,-1,8,judge2")]
    assert added(corpus(), lines, tmp_path) == [
        [0, "A.1", ">", "B.2", "judge1", "1", "1", "3", True],
        [0, "A.1", "=", "C.3", "judge1", "1", "1", "1", True],
        [0, "A.1", ">", "D.4", "judge1", "1", "1", "2", True],
        [0, "B.2", "<", "C.3", "judge1", "1", "3", "1", True],
        [0, "B.2", "<", "D.4", "judge1", "1", "3", "2", True],
        [0, "C.3", ">", "D.4", "judge1", "1", "1", "2", True],
    ]


def test_pairs_of_a_ranking_repeat_an_output_that_was_shown_once(tmp_path: Path) -> None:
    lines = [
        TWO,
        "cze,eng,7,7,j,newstest2016.A.1.cs-en,2,newstest2016.C.3.cs-en,1,55",
        "cze,eng,7,7,j,newstest2015.B.2.cs-en.txt,2,C.3,1,55",
        "cze,eng,7,7,j,C.3,1,B.2,2,56",
    ]
    assert added(corpus(), lines, tmp_path) == [
        [0, "A.1", "<", "C.3", "j", "55", "2", "1", True],
        [0, "B.2", "<", "C.3", "j", "55", "2", "1", False],
        [0, "C.3", ">", "B.2", "j", "56", "1", "2", True],
    ]


@pytest.mark.parametrize(
    ("dataset", "source"),
    [
        (corpus(("de-en", "cs-en")), 2),
        (corpus((None,)), 0),
        (corpus(seg_ids=("1", "7"), doc="d:"), 1),
        (corpus(seg_ids=tuple("abcdefgh")), 6),
    ],
    ids=["among several pairs", "without pair", "by document", "by place"],
)
def test_how_a_source_is_found(dataset: Dataset, source: int, tmp_path: Path) -> None:
    lines = [FIVE, five("A.1 B.2", "1 2", "Czech,English,7,d,7,j")]
    assert [row[0] for row in added(dataset, lines, tmp_path)] == [source]


def test_what_is_passed_over_is_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lines = [FIVE, five("_ref A.1 B.2", "1 2 3"), five("X Y", "1 2", "German,English,9,-1,9,j")]
    with caplog.at_level(logging.WARNING):
        assert len(added(corpus(), lines, tmp_path)) == 1
    assert "rows of other language pairs, ignored: 1" in caplog.text
    assert "ranks of references, ignored: 1" in caplog.text


@pytest.mark.parametrize("example", file_examples("corpora/rankings"), ids=str)
def test_what_is_refused(example: Example, tmp_path: Path) -> None:
    file = tmp_path / "rr.csv"
    message = refusal(lambda: added(corpus(), example.content.splitlines(), tmp_path), file)
    example.check(message.removeprefix(f"{tmp_path}/"))


def test_rankings_of_two_pairs_fit_no_corpus_that_names_none(tmp_path: Path) -> None:
    lines = [TWO, "cze,eng,7,7,j,A.1,2,C.3,1,5", "deu,eng,7,7,j,A.1,2,C.3,1,6"]
    says = "corpus has no language pair; expected rankings of one language pair, found cs-en and de-en"
    refusal(lambda: added(corpus((None,)), lines, tmp_path), tmp_path / "rr.csv", 3, says)


def test_convert_adds_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    write_dataset(corpus(), "plain.jsonl")
    Path("rr.csv").write_text("\n".join([FIVE, five("A.1 B.2", "1 2")]) + "\n")
    with pytest.raises(SystemExit) as exit_info:
        run(["data", "convert", "plain.jsonl", "judged.jsonl", "--judgements", "rr.csv"])
    assert exit_info.value.code == 0, capsys.readouterr().err
    assert len(read_dataset("judged.jsonl").preferences) == 1
    assert json.loads(Path("judged.jsonl").read_text().splitlines()[0])["seg_id"] == 7
    with pytest.raises(DataError, match="contains relative rankings without texts; expected a corpus"):
        read_dataset("rr.csv")


@thorough
def test_rankings_are_the_pairs_that_others_made_of_them(shared: Path, tmp_path: Path) -> None:
    dataset = read_dataset(part_of_corpus(shared / "data" / "wmt12-rr.jsonl.gz", tmp_path, ["cs-en"]))
    first, second = (dataset.preferences[side].to_numpy() for side in ("first", "second"))
    sources, systems = dataset.sources.iloc[dataset.candidate_source[first]]["seg_id"], dataset.candidates["system"]
    rows = [
        f"cze,eng,{seg_id},{seg_id},{judge},{systems[source]},{better},{systems[right]},{worse},{task}"
        for seg_id, judge, source, better, right, worse, task in zip(
            sources,
            dataset.preferences["judge"],
            first,
            dataset.preferences["rank_first"],
            second,
            dataset.preferences["rank_second"],
            dataset.preferences["task"],
            strict=True,
        )
    ]
    (tmp_path / "rr.csv").write_text("\n".join([TWO, *rows]) + "\n")
    again = read_pairs(tmp_path / "rr.csv", dataset).preferences.drop(columns="primary")
    assert again.equals(dataset.preferences.drop(columns="primary"))
