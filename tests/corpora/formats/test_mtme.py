"""Directories and score files of mt-metrics-eval."""

from __future__ import annotations

import gzip
import json
import logging
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranker.corpora.catalogue import load
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.mtme import published_scores, read_mtme
from ranker.corpora.formats.mtme_scores import format_scores, parse_scores, stem
from ranker.corpora.formats.reading import read_dataset
from ranker.corpora.formats.writing import write_dataset
from ranker.corpora.judgements import human_scores
from ranker.corpora.records import Candidate, Record, assemble
from ranker.errors import DataError
from tests.command_line import Command
from tests.corpora.damage import refusal

FILES = {
    "sources/en-de.txt": "one\ntwo\nthree\n",
    "references/en-de.refA.txt": "eins\nzwei\ndrei\n",
    "references/en-de.refB.txt": "1\n2\n3\n",
    "system-outputs/en-de/S1.txt": "ein\n\ndrei\n",
    "system-outputs/en-de/refB.txt": "1\n2\n3\n",
    "documents/en-de.docs": "news d1\nnews\td1\nsocial d2\n",
    "human-scores/en-de.mqm.seg.score": "S1\t-5.0\nS1\tNone\nS1\t-0.1\nrefB\t0\nrefB\t-1\nrefB\tNone\n",
    "human-scores/en-de.wmt-z.seg.score": "S1 0.25\nS1 None\nS1 None\n",
    "human-scores/en-de.mqm.sys.score": "S1\t-2\n",
    "human-scores/en-de.mqm.merged.seg.rating": "marked errors, not looked at\n",
    "human-scores/zh-en.mqm.seg.score": "other pair, not looked at\n",
    "sources/zh-en.txt": "一\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "set" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "set"


def expected() -> Dataset:
    outputs = {"S1": ["ein", "", "drei"], "refB": ["1", "2", "3"]}
    ratings = {
        ("S1", 0): [("mqm_total", None, 5.0), ("wmt-z", None, 0.25)],
        ("S1", 2): [("mqm_total", None, 0.1)],
        ("refB", 0): [("mqm_total", None, 0.0)],
        ("refB", 1): [("mqm_total", None, 1.0)],
    }
    return assemble(
        [
            Record(
                text,
                [reference, str(index + 1)],
                [
                    Candidate(system, texts[index], ratings.get((system, index), []), is_reference=system == "refB")
                    for system, texts in outputs.items()
                ],
                lp="en-de",
                doc=doc,
                seg_id=str(index + 1),
                reference_names=["refA", "refB"],
            )
            for index, (text, reference, doc) in enumerate(
                [("one", "eins", "d1"), ("two", "zwei", "d1"), ("three", "drei", "d2")]
            )
        ],
        "set",
    )


def test_a_directory_is_a_corpus(folder: Path, caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    with caplog.at_level(logging.WARNING):
        dataset = load(folder)
    assert dataset.fingerprint == expected().fingerprint
    assert dataset.name == "set"
    assert "ignored 1 file of human scores that are not at segment level" in caplog.text
    # more is better for whoever asks for judgements
    assert human_scores(dataset, "mqm").tolist()[0] == -5.0
    write_dataset(dataset, tmp_path / "x.jsonl")
    assert read_dataset(tmp_path / "x.jsonl").fingerprint == dataset.fingerprint


def test_what_may_be_left_out(folder: Path) -> None:
    for name in ("references", "documents", "human-scores"):
        shutil.rmtree(folder / name)
    dataset = read_mtme(folder)
    assert not len(dataset.references)
    assert not len(dataset.ratings)
    assert dataset.sources["doc"].isna().all()


def test_several_language_pairs(folder: Path) -> None:
    (folder / "system-outputs" / "zh-en").mkdir()
    (folder / "system-outputs" / "zh-en" / "S.txt").write_bytes(gzip.compress(b"a\n"))
    (folder / "human-scores" / "zh-en.mqm.seg.score").write_text("S\t-1\n")
    dataset = read_mtme(folder)
    assert dataset.language_pairs == ["en-de", "zh-en"]
    assert dataset.candidates["text"].tolist()[-1] == "a"


def test_a_language_pair_is_what_has_sources(folder: Path) -> None:
    for pair in ("en-es_419", "en-zh-Hans"):
        (folder / "system-outputs" / pair).mkdir()
        (folder / "system-outputs" / pair / "S.txt").write_text("a\n")
        (folder / "sources" / f"{pair}.txt").write_text("x\n")
    (folder / "system-outputs" / "en-de.bak").mkdir()
    assert read_mtme(folder).language_pairs == ["en-de", "en-es_419", "en-zh_Hans"]


DAMAGE = {
    "system-outputs/en-de/S1.txt": ("ein\n\n", 2, "has 2 lines, expected 3 as in .*sources/en-de.txt"),
    "references/en-de.refA.txt": ("eins\nzwei\ndrei\nvier\n", 4, "has 4 lines, expected 3"),
    "documents/en-de.docs": ("news d1\nnews d 1\nx d2\n", 2, "expected a domain and a document, found 'news d 1'"),
    "human-scores/en-de.wmt-z.seg.score": (
        "S1 0.25\nS1 None\n",
        2,
        "system 'S1' has 2 scores, expected 3, one per segment",
    ),
    "human-scores/en-de.mqm.seg.score": ("S1\t1\nS2\t1\n", 1, "system 'S1' has 1 score, expected 3"),
    "human-scores/en-de.wmt.seg.score": ("S1 1\nS1 x\nS1 1\n", 2, "expected a finite number or None, found 'x'"),
    "human-scores/en-de.a.seg.score": (
        "S1 1\nS1\nS1 1\n",
        2,
        r"expected a system and its score, found 'S1' \(1 field\)",
    ),
    "human-scores/en-de.b.seg.score": ("S1 nan\n", 1, "expected a finite number or None, found 'nan'"),
    "human-scores/en-de.c.seg.score": ("S3 1\nS3 1\nS3 1\n", 1, r"expected a system of en-de, found 'S3'"),
    "human-scores/en-de.d.seg.score": ("", None, "is empty, expected one system and score per line"),
    "human-scores/en-de.score": ("S1 1\n", None, "expected a name like en-de.NAME.seg.score"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_files(name: str, folder: Path) -> None:
    text, line, says = DAMAGE[name]
    (folder / name).write_text(text)
    with pytest.raises(DataError, match=says) as refused:
        read_mtme(folder)
    assert str(refused.value).startswith(f"{folder / name}:{line}:" if line else f"{folder / name}: ")


def test_missing_parts(folder: Path) -> None:
    (folder / "sources" / "en-de.txt").unlink()
    refusal(lambda: read_mtme(folder), folder / "sources" / "en-de.txt", None, "no such file")
    (folder / "sources" / "en-de.txt").write_text("one\ntwo\nthree\n")
    shutil.rmtree(folder / "system-outputs" / "en-de")
    refusal(
        lambda: read_mtme(folder),
        folder / "system-outputs",
        None,
        "contains no language pair, expected directories such as en-de",
    )
    (folder / "system-outputs" / "en-de").mkdir()
    says = "contains no output, expected files named SYSTEM.txt"
    refusal(lambda: read_mtme(folder), folder / "system-outputs" / "en-de", None, says)
    shutil.rmtree(folder / "sources")
    refusal(lambda: load(folder), folder / "sources" / "en-de.txt", None, "no such file")
    shutil.rmtree(folder / "system-outputs")
    with pytest.raises(DataError, match=r"a directory in the layout of mt-metrics-eval, or a file"):
        load(folder)


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("Z", "C")), min_size=1, max_size=8)
SCORES = st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False))


@given(st.dictionaries(NAMES, st.lists(SCORES, min_size=1, max_size=4), min_size=1, max_size=4))
def test_score_files_read_back_to_the_bit(scores: dict[str, list[float | None]]) -> None:
    by_system = parse_scores(format_scores(scores), "x")
    assert {system: [value for value, _ in values] for system, values in by_system.items()} == scores


def test_scores_that_are_no_numbers_are_missing() -> None:
    assert format_scores({"S": [float("nan"), -0.0, 1e-7]}) == "S\tNone\nS\t0.0\nS\t1e-07\n"
    with pytest.raises(DataError, match="expected a name without white space for a score file; rename it"):
        format_scores({"a\u00a0b": [1.0]})


@pytest.mark.parametrize(
    ("metric", "references", "name"),
    [
        ("bleu", ["refA"], "bleu-refA"),
        ("bleu[order=2]", ["refA", "refB"], "bleu[order=2]-refA.refB"),
        ("lrscore[aligner=a b/c.align]", [None], "lrscore[aligner=a_b_c.align]-all"),
        ("bleu", None, "bleu-all"),
        ("bleu", [], "bleu-src"),
        ("bleu", ["ref-A"], "bleu-all"),
        ("bleu", ["all"], "bleu-all"),
        ("bleu", ["refA", None], "bleu-all"),
    ],
)
def test_names_of_score_files(metric: str, references: list[str | None] | None, name: str) -> None:
    assert stem(metric, references) == name


def test_names_that_look_alike_are_refused(folder: Path) -> None:
    for name in ("S\n.txt", "S\\n.txt"):
        (folder / "system-outputs" / "en-de" / name).write_text("a\nb\nc\n")
    with pytest.raises(DataError, match=r"S\\n\.txt: has the same name as another file.*; rename one of them"):
        read_mtme(folder)


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """A directory of two language pairs with ratings and scores of metrics."""
    words = ["rain", "sun", "snow", "wind", "fog", "hail"]
    files: dict[str, list[str]] = {}
    for lp in ("en-de", "zh-en"):
        files[f"sources/{lp}.txt"] = [f"s{number}" for number in range(6)]
        files[f"references/{lp}.refA.txt"] = [f"it is {word} today" for word in words]
        files[f"references/{lp}.refB.txt"] = [f"today there is {word}" for word in words]
        for number, system in enumerate(["S1", "S2", "S3"]):
            files[f"system-outputs/{lp}/{system}.txt"] = [
                f"it is {word if place % 3 >= number else 'it'} today" for place, word in enumerate(words)
            ]
        scores = {name: [] for name in ("X-refA", "X-refB", "Kiwi-src", "Part-refA")}
        people = []
        for system in ("S1", "S2", "S3"):
            for place in range(6):
                people.append(f"{system}\t{-(place + int(system[1])) % 5}")
                for name, values in scores.items():
                    missing = name == "Part-refA" and lp == "zh-en" and place == 0
                    values.append(f"{system}\t{'None' if missing else (place * int(system[1]) + len(name)) % 7}")
        files[f"human-scores/{lp}.quality.seg.score"] = people
        files |= {f"metric-scores/{lp}/{name}.seg.score": values for name, values in scores.items()}
        files[f"metric-scores/{lp}/X-refA.sys.score"] = ["S1\t1"]
    for name, lines in files.items():
        path = tmp_path / "set" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path / "set"


def test_published_scores_are_those_of_the_files_beside_one_reference(published: Path) -> None:
    dataset = read_mtme(published)
    kept, scores, incomplete = published_scores(published, dataset, "refA")
    assert kept.references["name"].unique().tolist() == ["refA"]
    assert (sorted(scores), incomplete) == (["Kiwi-src", "X-refA"], ["Part-refA"])
    part = dataset.select_sources(np.arange(12) % 2 == 1)
    for data, name in ((dataset, "X-refA"), (part, "Kiwi-src")):
        values = published_scores(published, data, "refA")[1][name]
        for row, value in enumerate(values.tolist()):
            source = data.sources.iloc[int(data.candidate_source[row])]
            system = data.candidates["system"].iloc[row]
            lines = (published / "metric-scores" / source["lp"] / f"{name}.seg.score").read_text().splitlines()
            mine = [line.split("\t")[1] for line in lines if line.startswith(f"{system}\t")]
            assert value == float(mine[int(source["seg_id"]) - 1])


def test_metrics_of_a_directory_are_compared_with_ours_on_one_reference(published: Path, command: Command) -> None:
    words = ["evaluate", str(published), "-m", "chrf"]
    result = command(*words, "--published", "refA", "--level", "segment", "-f", "json")
    document = json.loads(result.out)
    assert [metric["name"] for metric in document["metrics"]] == ["chrf", "Kiwi-src", "X-refA"]
    note = "note: set: metrics left out, because they have no scores of some judged candidates: Part-refA\n"
    assert note in result.err
    assert "|nrefs:1|" in document["metrics"][0]["signature"]
    alone = command(*words)
    assert "has scores of metrics; compare with them: --published refA\n" in alone.err


@pytest.mark.parametrize(
    ("reference", "said"),
    [("refC", "has no reference 'refC'"), ("refB", None)],
)
def test_a_reference_that_is_not_there_is_refused(published: Path, reference: str, said: str | None) -> None:
    dataset = read_mtme(published)
    if said is None:
        assert sorted(published_scores(published, dataset, reference)[1]) == ["Kiwi-src", "X-refB"]
    else:
        with pytest.raises(DataError, match=said):
            published_scores(published, dataset, reference)


def test_too_few_published_scores_and_other_data_are_refused(published: Path, command: Command) -> None:
    (published / "metric-scores" / "en-de" / "X-refA.seg.score").write_text("S1\t1\n" * 5)
    with pytest.raises(
        DataError, match=r"X-refA\.seg\.score:5: system 'S1' has 5 scores, expected one for each of 6 seg"
    ):
        published_scores(published, read_mtme(published), "refA")
    said = command("evaluate", "sample", "-m", "chrf", "--published", "refA", code=2).err
    assert "--published: sample has no scores of metrics, expected a directory of mt-metrics-eval" in said
