from __future__ import annotations

import csv
import dataclasses
import io
import json

import numpy as np
import pytest

from ranker.cli.main import run as run_command
from ranker.corpora import catalogue
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import human_scores
from ranker.errors import DataError, OptionError
from ranker.evaluation.segment import source_spearman
from ranker.experiments.tables import Experiment, markdown_table
from ranker.experiments.ye07 import FEATURE_SETS, Settings, prepare, run
from ranker.extractors.registry import make

SETTINGS = Settings(kind="fluency", resamples=50, permutations=200)


@pytest.fixture(scope="module")
def sample() -> Dataset:
    return catalogue.load("sample")


@pytest.fixture(scope="module")
def years(sample) -> tuple[Dataset, Dataset]:
    """Two "years" with the names of the licensed corpora."""
    first = np.arange(len(sample.sources)) < 60
    return (
        dataclasses.replace(sample.select_sources(first), name="acl05", _memo={}),
        dataclasses.replace(sample.select_sources(~first), name="mtc03", _memo={}),
    )


@pytest.fixture(scope="module")
def experiment(years) -> Experiment:
    return run(years[0], [years[1]], SETTINGS)


def rows_of(experiment: Experiment, start: str) -> dict[str, dict]:
    table = next(one for one in experiment.tables if one.title.startswith(start))
    return {row["features"]: dict(row) for row in table.rows}


def test_every_table_of_the_paper(experiment):
    titles = [table.title for table in experiment.tables]
    for start in (
        "within-year, 3 folds of acl05: outputs and references",
        "within-year, 3 folds of acl05: outputs",
        "cross-year, trained on acl05, tested on mtc03: outputs and one reference",
        "document level, trained on acl05, tested on mtc03",
        "consistency of judges of fluency, acl05",
        "BLEU of one reference against another, mtc03",
    ):
        assert any(title.startswith(start) for title in titles), start
    for start in ("within-year", "cross-year", "document level"):
        assert list(rows_of(experiment, start)) == list(FEATURE_SETS)


def test_published_figures_stand_beside_ours(experiment, sample):
    cross = rows_of(experiment, "cross-year")
    assert cross["DS"]["published mean"] == pytest.approx(0.4896, abs=1e-4)
    assert rows_of(experiment, "document level")["All"]["published variance"] == 0.0849
    within = rows_of(run(sample, [], SETTINGS), "within-year")
    assert "published mean" not in within["BLEU"]


def test_a_single_column_ranks_as_the_metric_itself(experiment, years):
    """BLEU alone is one column with a positive weight, so folds and training cannot matter."""
    scores = make("bleu").transform(years[0])[:, 0]
    rho = source_spearman(years[0], scores, human_scores(years[0], "fluency"))
    title = "within-year, 3 folds of acl05: outputs"
    row = next(table for table in experiment.tables if table.title == title).rows[0]
    assert row["mean"] == pytest.approx(np.nanmean(rho), abs=1e-12)
    assert row["variance"] == pytest.approx(np.nanvar(rho, ddof=1), abs=1e-12)
    assert row["sources"] + row["undefined"] == 60


def test_references_stand_above_the_outputs_and_match_themselves(years):
    prepared = prepare(years[0], SETTINGS)
    outputs = prepared.human[~prepared.is_reference]
    assert (prepared.human[prepared.is_reference] == outputs.max() + 1).all()
    assert prepared.is_reference.sum() == 240
    np.testing.assert_allclose(prepared.matrix[prepared.is_reference, 0], 1, atol=1e-9)
    without = prepare(years[0], dataclasses.replace(SETTINGS, exclude_self=True))
    assert (without.matrix[without.is_reference, 0] < 1).mean() > 0.95
    np.testing.assert_array_equal(without.matrix[~without.is_reference], prepared.matrix[~prepared.is_reference])
    np.testing.assert_array_equal(without.matrix[:, -1], prepared.matrix[:, -1])


def test_same_seed_same_bytes_other_seed_other_folds(years, experiment):
    assert run(years[0], [years[1]], SETTINGS).json() == experiment.json()
    other = run(years[0], [], dataclasses.replace(SETTINGS, seed=1))
    assert rows_of(other, "within-year")["All"]["mean"] != rows_of(experiment, "within-year")["All"]["mean"]


def test_forms_hold_the_same_rows(experiment, tmp_path):
    document = json.loads(experiment.json())
    assert len(document["tables"]) == len(experiment.tables)
    lines = list(csv.DictReader(io.StringIO(experiment.csv())))
    assert len(lines) == sum(len(table.rows) for table in experiment.tables)
    assert experiment.markdown().count("### ") == len(experiment.tables)
    for name in ("x.json", "x.csv", "x.md"):
        experiment.write(tmp_path / name)
    assert (tmp_path / "x.csv").read_text() == experiment.csv()
    with pytest.raises(OptionError, match=r"x\.txt: expected a name ending in \.json, \.csv, \.md"):
        experiment.write(tmp_path / "x.txt")


def test_markdown_of_odd_values():
    rows = [{"a": None, "b": float("nan"), "c": 12345, "d": np.float64(0.12345), "e": "x", "f": 1e-4}]
    assert markdown_table(rows).splitlines()[-1] == "| - | - | 12,345 | 0.123 | x | 0.0001 |"
    assert markdown_table([]) == "(no rows)"


def test_too_few_references(years):
    few = years[0].select_sources(np.arange(60) < 10)
    with pytest.raises(DataError, match="acl05: 40 reference sentences are too few"):
        run(few, [], SETTINGS)


def test_the_command_prints_and_writes(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        run_command(["experiment", "ye07", "--train", "sample", "--write", "out.md", "--output", "markdown"])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert printed == (tmp_path / "out.md").read_text(encoding="utf-8")
    assert "| BLEU+DS |" in printed


def test_single_references_and_preferences(shared, years):
    """Preferences of people: outputs only, and dependencies beat BLEU as in the paper."""
    wmt = catalogue.load(str(shared / "data" / "wmt14-rr.jsonl.gz")).select_language_pairs(["cs-en"])
    found = run(wmt.select_sources(np.arange(len(wmt.sources)) < 400), [], Settings(resamples=20, permutations=100))
    assert [table.title for table in found.tables] == ["within-year, 3 folds of wmt14-rr: outputs"]
    rows = rows_of(found, "within-year")
    assert rows["All"]["mean"] > rows["PERP"]["mean"]
    assert 0.15 < rows["BLEU"]["mean"] < 0.5
