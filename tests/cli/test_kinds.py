"""Columns of judgements and references as candidates, as a user meets them."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from ranker.corpora import catalogue
from ranker.corpora.judgements import human_scores
from ranker.ranking import make_scorer
from tests.command_line import Command

Printed = Callable[..., tuple[str, str]]


@pytest.fixture
def printed(folder: Path, command: Command) -> Printed:
    """Run a command in the folder of files; return what it printed on stdout and on stderr."""
    return command


def test_references_as_candidates(printed: Printed, caplog: pytest.LogCaptureFixture) -> None:
    arguments = ["-d", "sample", "--references-as-candidates"]
    out, _ = printed("train", *arguments, "-F", "bleu[order=1]", "--folds", "0", "-M", "x.model")
    assert "840 judged candidates and 480 references, fluency scores" in out
    out, _ = printed("evaluate", *arguments, "-M", "x.model", "--resamples", "0")
    titles = re.findall("agreement with human fluency, (.*)", out)
    assert titles == ["outputs", "outputs and references"]
    out, _ = printed("evaluate", *arguments, "-m", "bleu[order=1]", "--resamples", "0", "-f", "json")
    facts = json.loads(out)
    assert facts["outputs"]["rows"][0]["sources"] == facts["outputs and references"]["rows"][0]["sources"] == 120
    scored = catalogue.load("sample")
    human, scores = human_scores(scored, "fluency"), make_scorer("bleu[order=1]", None).candidate_scores(scored)
    for form, value in facts["outputs"]["rows"][0]["kendall"].items():
        parts = (np.split(side, scored.candidate_offsets[1:-1]) for side in (human, np.round(scores, 10)))
        taus = [stats.kendalltau(*sides, variant=form).statistic for sides in zip(*parts, strict=True)]
        assert value["value"] == pytest.approx(np.nanmean(taus), abs=1e-6), form
    out, _ = printed("evaluate", *arguments, "-m", "bleu[order=1]", "--resamples", "0", "-f", "csv")
    assert [row["candidates"] for row in csv.DictReader(io.StringIO(out))] == titles
    alone = ["-d", "good.json", "--references-as-candidates", "-m", "bleu"]
    printed("evaluate", *alone, "--resamples", "0")
    assert caplog.messages[-1].endswith("reference, which as a candidate is compared with itself alone: 3 of 3")
