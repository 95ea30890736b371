"""The functions note scores that tie, as the commands do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ranker import compare_systems, evaluate, from_texts, rank
from ranker.corpora.dataset import Dataset
from ranker.corpora.schema import table

NEAR = " (scores nearer than 1e-10 tie: give them on a larger scale)"
PAIRS = "120 of 120 pairs of candidates of a source have the same score"


@pytest.fixture(scope="module")
def judged() -> Dataset:
    texts = {name: [f"{name} {number} words" for number in range(40)] for name in "ABC"}
    dataset = from_texts(texts, [f"the {number} words" for number in range(40)], name="data")
    values = np.random.default_rng(1).integers(1, 6, 120)
    columns = {"candidate": np.arange(120), "kind": ["fluency"] * 120, "judge": [None] * 120, "value": values}
    object.__setattr__(dataset, "ratings", table("ratings", columns))
    return dataset


TINY = np.random.default_rng(0).random(120) * 1e-14


def test_evaluate_notes_scores_that_tie(judged: Dataset, caplog: pytest.LogCaptureFixture) -> None:
    evaluate(judged, TINY, resamples=0)
    evaluate(judged, {"p": TINY}, resamples=0)
    evaluate(judged, {"p": TINY, "q": TINY * 1e14}, resamples=0)
    several = [f"ranker: note: p: {PAIRS}{NEAR}"]
    assert [text for text in caplog.messages if "same score" in text] == [f"ranker: note: {PAIRS}{NEAR}", *several * 2]
    caplog.clear()
    evaluate(judged, np.zeros(120), resamples=0)
    evaluate(judged, TINY * 1e14, resamples=0)
    assert caplog.messages == [f"ranker: note: {PAIRS}"]


def test_comparison_of_systems_notes_scores_that_only_the_rule_makes_equal(
    judged: Dataset, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    systems = judged.candidates["system"]
    for number, scale in enumerate((1.0, 1e14, 0.0)):
        file = tmp_path / f"{number}.csv"
        pd.DataFrame({"system": systems, "score": TINY * scale}).to_csv(file, index=False)
        compare_systems(judged, f"given[file={file}]", resamples=10)
    assert [text.count(PAIRS) and text.count(NEAR) for text in caplog.messages] == [1]


def test_rank_notes_scores_that_tie(caplog: pytest.LogCaptureFixture) -> None:
    rank(from_texts({name: ["the same words"] * 6 for name in "AB"}, ["some words"] * 6), checks=False)
    assert "ranker: note: 6 of 6 pairs of candidates of a source have the same score by the model" in caplog.messages
