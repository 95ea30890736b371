"""Candidates that are references: as formats declare them, and systems that are a reference throughout."""

from __future__ import annotations

import csv
import dataclasses
import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ranker import evaluate, make_metric
from ranker.corpora.catalogue import load
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.reading import read_parallel
from ranker.corpora.own_references import own_references, without_only_references
from ranker.corpora.records import Candidate, Record, assemble
from ranker.ranking import by_name
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.ranker import Ranker
from ranker.ranking.scorers import Scorer, candidate_scores, make_scorer, sign_of
from tests.command_line import Command
from tests.effort import thorough

SIZE = 12
REFERENCES = {
    "refA": [f"the cat number {number} sat on the old mat today" for number in range(SIZE)],
    "refB": [f"today cat {number} was sitting on its aged mat" for number in range(SIZE)],
}
OUTPUTS = {
    "A": [f"the cat number {number} sat on a mat" for number in range(SIZE)],
    "B": [f"cat number {number} sits mat" for number in range(SIZE)],
}
SOURCES = [f"die Katze {number} sass" for number in range(SIZE)]


def mqm(folder: Path, people: list[str]) -> Path:
    lines = ["system\tdoc\tseg_id\trater\tsource\ttarget\tcategory\tseverity"]
    texts = {**OUTPUTS, **{name: REFERENCES[name] for name in people}}
    severities = {"A": "Minor", "B": "Major"}
    for number, source in enumerate(SOURCES):
        for system, outputs in texts.items():
            marks = ("Accuracy", severities[system]) if system in severities else ("No-error", "No-error")
            lines.append("\t".join([system, "d", str(number + 1), "r1", source, outputs[number], *marks]))
    path = folder / "mqm.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_the_only_reference_is_left_out_with_its_judgements(tmp_path: Path) -> None:
    dataset, note = without_only_references(load(mqm(tmp_path, ["refA"])))
    assert dataset.candidates["system"].unique().tolist() == ["A", "B"]
    assert set(dataset.candidates["system"].iloc[dataset.ratings["candidate"]]) == {"A", "B"}
    assert len(dataset.references) == SIZE
    assert note == f"{dataset.name}: left out 12 candidates of refA, each the only reference of its source"


@pytest.mark.parametrize("metric", ["chrf", "bleu", "ter", "combine[bleu + chrf]", "nist"])
def test_one_of_several_is_scored_against_the_others(metric: str, tmp_path: Path) -> None:
    dataset, note = without_only_references(load(mqm(tmp_path, ["refA", "refB"])))
    what = "are references, scored against the other references only: one reference fewer than outputs"
    assert note == f"{dataset.name}: 24 candidates of refA, refB {what}"
    scorer = make_scorer(metric, None)
    scores, system = candidate_scores(scorer, dataset), dataset.candidates["system"].to_numpy(object)
    both = [list(pair) for pair in zip(*REFERENCES.values(), strict=True)]
    expected = {name: (lines, both) for name, lines in OUTPUTS.items()}
    expected |= {
        "refA": (REFERENCES["refA"], [[text] for text in REFERENCES["refB"]]),
        "refB": (REFERENCES["refB"], [[text] for text in REFERENCES["refA"]]),
    }
    columns = FeatureSet((scorer.metric,)).transform(dataset)[:, 0]  # type: ignore[attr-defined]
    np.testing.assert_allclose(sign_of(scorer) * columns, scores)
    for name, (lines, references) in expected.items() if metric != "nist" else ():
        alone = make_metric(metric)(lines, references)
        np.testing.assert_allclose(scores[system == name], sign_of(scorer) * alone.segments, atol=1e-12)
        summed = scorer.statistics(dataset)[system == name].sum(axis=0)
        assert float(scorer.score(summed)) == pytest.approx(alone.corpus, abs=1e-12)
    assert (scores[np.isin(system, ["refA", "refB"])] < sign_of(scorer) * scorer.score(perfect(scorer, dataset))).all()


def perfect(scorer: Scorer, dataset: Dataset) -> np.ndarray:
    """Return statistics of a reference that is compared with itself."""
    text = REFERENCES["refA"][0]
    alone = assemble([Record("x", [text], [Candidate("s", text)], lp="de-en")], dataset.name)
    return scorer.statistics(alone)


def test_a_trained_ranker_scores_it_without_itself(tmp_path: Path) -> None:
    dataset = load(mqm(tmp_path, ["refA", "refB"]))
    ranker = Ranker("chrf,bleu", C=1.0).fit(load("sample"))
    scores = ranker.candidate_scores(dataset)
    unmarked = dataset.candidates.assign(is_reference=False)
    flattered = ranker.candidate_scores(
        Dataset("x", dataset.sources, dataset.references, unmarked, dataset.ratings, dataset.preferences)
    )
    own = own_references(dataset) >= 0
    assert (scores[own] < flattered[own]).all()
    np.testing.assert_array_equal(scores[~own], flattered[~own])


def test_an_output_that_happens_to_equal_the_reference_stays(tmp_path: Path) -> None:
    outputs = {**OUTPUTS, "A": [*REFERENCES["refA"][:-1], "the cat"]}
    assert not parallel(tmp_path, {"ref": REFERENCES["refA"]}, outputs).candidates["is_reference"].any()
    short = {name: ["yes"] * SIZE for name in ("ref", "A")}
    dataset = parallel(tmp_path, {"ref": short["ref"]}, {"A": short["A"], "B": OUTPUTS["B"]})
    assert without_only_references(dataset) == (dataset, None)
    few = {name: lines[:3] for name, lines in REFERENCES.items()}
    dataset = parallel(tmp_path, {"refA": few["refA"]}, {"A": few["refA"], "B": few["refB"]})
    assert candidate_scores(make_scorer("chrf", None), dataset)[0] == pytest.approx(1)


def parallel(folder: Path, references: dict[str, list[str]], outputs: dict[str, list[str]]) -> Dataset:
    files: dict[str, list[Path]] = {"r": [], "t": []}
    for kind, texts in (("r", references), ("t", outputs)):
        for name, lines in texts.items():
            path = folder / kind / name
            path.parent.mkdir(exist_ok=True)
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
            files[kind].append(path)
    return read_parallel(None, files["r"], files["t"])


def test_a_system_that_is_a_reference_throughout_is_one(tmp_path: Path) -> None:
    dataset = parallel(tmp_path, REFERENCES, {**OUTPUTS, "human": REFERENCES["refB"]})
    own = own_references(dataset).reshape(SIZE, 3)
    assert own[:, :2].tolist() == [[-1, -1]] * SIZE
    assert own[:, 2].tolist() == list(range(1, 2 * SIZE, 2))
    alone = parallel(tmp_path, {"refB": REFERENCES["refB"]}, {"human": REFERENCES["refB"]})
    assert without_only_references(alone) == (alone, None), "no other candidate is left"
    # a reference that is called like the system is enough, however few sources there are
    records = [
        Record("x", ["yes", "yeah"], [Candidate("A", "yea"), Candidate("refB", "yeah")], reference_names=["r", "refB"])
    ]
    assert own_references(assemble(records, "named")).tolist() == [-1, 1]


@pytest.mark.parametrize("people", [["refA"], ["refA", "refB"]])
@thorough
def test_commands_leave_it_out_or_score_it_against_the_others(
    people: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    mqm(tmp_path, people)
    note = without_only_references(load("mqm.tsv"))[1]
    kept = {"A", "B", *(people if len(people) > 1 else [])}
    command(*["data", "shard", "mqm.tsv", "--out", "shards", "--rows", "20", "--jsonl"])
    scores = {}
    for data in ("mqm.tsv", "shards"):
        out, err = command("score", "-d", data, "-m", "chrf", "--level", "system", "-f", "csv")
        assert ("of refA" in err) if data == "shards" else (err == f"ranker: note: {note}\n")
        scores[data] = {row["system"]: row["chrf"] for row in csv.DictReader(io.StringIO(out))}
    assert scores["mqm.tsv"] == scores["shards"]
    assert set(scores["mqm.tsv"]) == kept
    assert all(float(score) < 1 for score in scores["mqm.tsv"].values())
    for words in ("systems mqm.tsv -m chrf -f json", "rank -d mqm.tsv -m chrf -f csv"):
        out, err = command(*words.split())
        assert f"ranker: note: {note}\n" in err
        assert ("refA" in out) == (len(people) > 1), words
    out, err = command(*["rank", "-d", "mqm.tsv", "--no-references", "-m", "perp[model=shipped]", "-f", "csv"])
    assert "refA" in out, "without references nothing is compared with itself"
    assert "left out" not in err


def test_a_candidate_that_is_the_only_reference_has_no_score_in_python(tmp_path: Path, caplog) -> None:
    dataset = load(mqm(tmp_path, ["refA"]))
    note = f"ranker: note: {dataset.name}: left out 12 candidates of refA, each the only reference of its source"
    kept, _ = without_only_references(dataset)

    def noted(result: Any) -> Any:
        assert [record.getMessage() for record in caplog.records].count(note) == 1
        caplog.clear()
        return result

    ranker = noted(Ranker("chrf,bleu", C=1.0).fit(dataset))
    assert ranker.digest == Ranker("chrf,bleu", C=1.0).fit(kept).digest
    frame = dataset.to_frame()[["source", "system", "text", "is_reference"]]
    frame["reference"] = np.repeat(REFERENCES["refA"], 3)
    frame = frame.sample(frac=1, random_state=1)
    own = (frame["system"] == "refA").to_numpy()
    for result in (ranker.score(frame), ranker.explain(frame)):
        pd.testing.assert_index_equal(result.index, frame.index)
        assert result["system"].tolist() == frame["system"].tolist()
        assert result["score"].isna().tolist() == own.tolist()
    np.testing.assert_array_equal(ranker.candidate_scores(frame), result["score"])
    np.testing.assert_array_equal(noted(ranker.score(dataset))["score"].dropna(), ranker.score(kept)["score"])
    scores = noted(by_name.score(dataset, "wer"))["score"]
    np.testing.assert_array_equal(scores.dropna(), make_metric("wer").transform(kept)[:, 0])
    assert scores.isna().tolist() == (dataset.candidates["system"] == "refA").tolist()
    assert noted(by_name.score(dataset, ranker)).equals(ranker.score(dataset))
    caplog.clear()
    ranking = noted(ranker.rank(dataset))
    pd.testing.assert_frame_equal(ranking.reset_index(drop=True), ranker.rank(kept).reset_index(drop=True))
    assert set(ranker.rank(frame).index) == set(frame.index[~own])
    expected = evaluate(kept, ranker.candidate_scores(kept), resamples=0).estimate("segment.spearman").value
    for scores in (ranker.candidate_scores(dataset), ranker.score(dataset), ranking):
        caplog.clear()
        assert evaluate(dataset, scores, resamples=0).estimate("segment.spearman").value == expected
        assert not caplog.records, "the ranker has said so"


def test_a_model_scores_references_where_there_is_no_other_candidate(tmp_path: Path) -> None:
    ranker = Ranker("chrf,bleu,consensus", C=1.0).fit(load("sample"))
    alone = parallel(tmp_path, {"refB": REFERENCES["refB"]}, {"human": REFERENCES["refB"]})
    assert alone.candidates["is_reference"].all()
    unmarked = dataclasses.replace(alone, candidates=alone.candidates.assign(is_reference=False))
    np.testing.assert_array_equal(ranker.score(alone)["score"], ranker.score(unmarked)["score"])
    assert ranker.note(alone) == ranker.note(unmarked)
