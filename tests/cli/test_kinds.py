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
from tests.cli.conftest import Refused
from tests.command_line import Command

Printed = Callable[..., tuple[str, str]]
GOOD, MIDDLE, BAD = "the cat sat on the mat", "the cat sat on a chair", "some dogs were"


@pytest.fixture
def printed(folder: Path, command: Command) -> Printed:
    """Run a command that must work; return what it printed on stdout and on stderr."""

    def call(*arguments: str) -> tuple[str, str]:
        return command(*arguments)

    return call


def write(folder: Path, name: str, **columns: tuple[object, ...]) -> None:
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow(["source", "reference", "system", "text", *columns])
    for number in range(12):
        for index, text in enumerate((GOOD, MIDDLE, BAD)):
            row = [f"s{number}", GOOD, f"system{index}", f"{text} {number}"]
            writer.writerow([*row, *(values[index] for values in columns.values())])
    (folder / name).write_text(written.getvalue())


def test_a_model_is_evaluated_in_the_direction_it_learnt(folder: Path, printed: Printed) -> None:
    write(folder, "x.csv", grade=(1, 2, 3), other=(5, 5, 5))
    _, err = printed("train", "-d", "x.csv", "-F", "chrf", "-M", "x.model", "--kind", "grade:lower")
    assert err == ""
    for more in ([], ["--kind", "grade"]):
        out, err = printed("evaluate", "-d", "x.csv", "-M", "x.model", "-f", "json", "--resamples", "0", *more)
        document = json.loads(out)
        assert document["kind"] == "grade:lower"
        assert "|against:grade:lower|" in document["signature"]
        assert document["rows"][0]["spearman"]["tie-corrected"]["value"] == pytest.approx(1)
        out, _ = printed(
            "compare", "-d", "x.csv", "-M", "x.model", "-m", "chrf", "-f", "csv", "--resamples", "0", *more
        )
        rows = [row for row in csv.DictReader(io.StringIO(out)) if row["statistic"] == "segment.spearman"]
        assert [float(row["value"]) for row in rows] == pytest.approx([1, 1])
    out, _ = printed(
        "evaluate", "-d", "x.csv", "-M", "x.model", "-f", "json", "--resamples", "0", "--kind", "grade:higher"
    )
    assert json.loads(out)["rows"][0]["spearman"]["tie-corrected"]["value"] == pytest.approx(-1)
    out, _ = printed("agreement", "-d", "x.csv", "--systems", "auto", "--kind", "grade:lower", "-f", "json")
    assert [row["system"] for row in json.loads(out)["rows"]] == ["system0", "system1", "system2"]


def test_references_as_candidates(printed: Printed, refused: Refused, caplog: pytest.LogCaptureFixture) -> None:
    arguments = ["-d", "sample", "--references-as-candidates"]
    out, _ = printed("train", *arguments, "-F", "bleu[order=1]", "--folds", "0", "-M", "x.model")
    assert "840 judged candidates and 480 references, fluency scores" in out
    out, _ = printed("evaluate", *arguments, "-M", "x.model", "--resamples", "0")
    titles = re.findall("agreement of .* with human fluency, (.*)", out)
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
    for command in (["evaluate", "-m", "bleu"], ["train", "-F", "bleu"]):
        refused(*command, "-d", "sample", "--exclude-self", says="--exclude-self: .* give --references-as-candidates")
    alone = ["-d", "good.json", "--references-as-candidates", "-m", "bleu"]
    refused("evaluate", *alone, "--exclude-self", says="no judged source has two references")
    printed("evaluate", *alone, "--resamples", "0")
    assert caplog.messages[-1].endswith("reference, which as a candidate is compared with itself alone: 3 of 3")


def test_several_corpora_are_evaluated_with_notes_on_each(folder: Path, printed: Printed) -> None:
    write(folder, "x.csv", grade=(1, 2, 3))
    printed("train", "-d", "sample", "-F", "length", "-M", "x.model", "--folds", "0")
    _, err = printed("evaluate", "-d", "sample", "-d", "x.csv", "-M", "x.model", "--resamples", "0")
    assert err.splitlines()[:-1] == [
        "ranker: note: x: skipped, no judgements of kind 'fluency' (it has grade)",
        "ranker: note: this model was trained on 91% of the sources of sample+x, which it is evaluated on",
    ]
    _, err = printed("evaluate", "-d", "sample", "-M", "x.model", "--resamples", "0")
    assert err == "ranker: note: this model was trained on all sources of sample, which it is evaluated on\n"
