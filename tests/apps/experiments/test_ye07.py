from __future__ import annotations

import csv
import dataclasses
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ranker.apps.experiments.settings import Settings
from ranker.apps.experiments.tables import Experiment, markdown_table
from ranker.apps.experiments.ye07 import EXTRACTORS, FEATURE_SETS, Prepared, _learn_and_score, plan, prepare
from ranker.apps.experiments.ye07_data import judges_table
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.writing import write_dataset
from ranker.corpora.records import Candidate, Record, assemble
from ranker.evaluation.correlation.segment import source_spearman
from ranker.evaluation.judges.agreement import judges_agreement
from ranker.extractors.registry import make
from tests.effort import thorough

pytestmark = thorough

SETTINGS = Settings(kind="fluency", repeats=2, resamples=50, permutations=200)


@pytest.fixture(scope="module")
def years(sample) -> tuple[Dataset, Dataset]:
    """Two "years" with the names of the licensed corpora."""
    first = np.arange(len(sample.sources)) < 60
    return (
        dataclasses.replace(sample.select_sources(first), name="acl05"),
        dataclasses.replace(sample.select_sources(~first), name="mtc03"),
    )


@pytest.fixture(scope="module")
def short_years(years) -> list[Dataset]:
    """As many sources of both as a language model needs to have 100 references."""
    return [year.select_sources(np.arange(len(year.sources)) < 26) for year in years]


@pytest.fixture(scope="module")
def experiment(years) -> Experiment:
    return plan(years[0], [years[1]], SETTINGS).run()


@pytest.fixture(scope="module")
def prepared(years) -> dict[bool, Prepared]:
    """The first year with references that match themselves and, if True, that do not."""
    return {
        without: prepare(years[0], dataclasses.replace(SETTINGS, exclude_self=without)) for without in (False, True)
    }


def rows_of(experiment: Experiment, start: str) -> dict[str, dict]:
    table = next(item for item in experiment.tables if item.title.startswith(start))
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


def test_published_figures_stand_beside_ours(experiment, short_years):
    cross = rows_of(experiment, "cross-year")
    assert cross["DS"]["published mean"] == pytest.approx(0.4896, abs=1e-4)
    assert rows_of(experiment, "document level")["All"]["published variance"] == 0.0849
    within = rows_of(plan(dataclasses.replace(short_years[0], name="sample"), [], SETTINGS).run(), "within-year")
    assert "published mean" not in within["BLEU"]


@pytest.mark.parametrize("change", [{"kind": "adequacy"}, {"exclude_self": True}])
def test_published_figures_are_those_of_fluency_as_published(short_years, change):
    result = plan(short_years[0], short_years[1:], dataclasses.replace(SETTINGS, **change)).run()
    assert len(result.tables) == 8
    for table in result.tables:
        # that BLEU of references has nothing to do with judgements
        if not table.title.startswith("BLEU of one reference"):
            assert not any("published" in key for row in table.rows for key in row), table.title
            assert "published" not in table.note


def plain_forms(scores: list[float], human: list[float]) -> tuple[float, float]:
    """Spearman's rho by scipy, and equation 1 of the paper as it is printed."""
    size = len(scores)
    if size < 2:
        return float("nan"), float("nan")
    differences = stats.rankdata(scores) - stats.rankdata(human)
    formula = 1 - 6 * (differences**2).sum() / (size * (size**2 - 1))
    constant = len(set(scores)) == 1 or len(set(human)) == 1
    return float("nan") if constant else stats.spearmanr(scores, human).statistic, formula


def test_both_forms_of_rho(years):
    """One source has one human score for all outputs, one has one output: the first has a value by equation 1."""
    generator = np.random.default_rng(0)
    records, human = [], []
    for number in range(120):
        size = 1 if number == 1 else 5
        reference = generator.choice(list("abcdefghij"), size=6)
        wrong = generator.integers(0, 5, size=size)
        texts = [" ".join(["x"] * int(count) + list(reference[count:])) for count in wrong]
        # people tell three grades apart
        values = [3.0 if number == 0 else float(4 - count) // 2 for count in wrong]
        human.append(values)
        outputs = [
            Candidate(f"s{i}", text, [("fluency_z", None, value)])
            for i, (text, value) in enumerate(zip(texts, values, strict=True))
        ]
        records.append(Record("", [" ".join(reference)], outputs, seg_id=str(number)))
    data = assemble(records, "made")
    scores = np.split(make("bleu[smoothing=epsilon]").transform(data)[:, 0], data.candidate_offsets[1:-1])
    plain = [plain_forms(list(np.round(item, 10)), values) for item, values in zip(scores, human, strict=True)]
    corrected, formula = np.array(plain).T
    defined = ~np.isnan(corrected)
    assert not defined[:2].any()
    row = rows_of(plan(data, [], SETTINGS).run(), "within-year")["BLEU"]
    assert (row["sources"], row["undefined"]) == (defined.sum(), (~defined).sum())
    assert row["constant"] == (~defined).sum() - 1
    expected = {
        "tie-corrected mean": corrected[defined].mean(),
        "tie-corrected variance": corrected[defined].var(ddof=1),
        "eq. 1 mean": formula[defined].mean(),
        "eq. 1 variance": formula[defined].var(ddof=1),
        "eq. 1 mean, all": np.nanmean(formula),
        "eq. 1 variance, all": np.nanvar(formula, ddof=1),
    }
    assert {key: row[key] for key in expected} == pytest.approx(expected)
    assert row["eq. 1 mean"] > row["tie-corrected mean"] + 0.01


def test_references_stand_above_the_outputs_and_match_themselves(prepared):
    included, without = prepared[False], prepared[True]
    outputs = included.human[~included.is_reference]
    assert (included.human[included.is_reference] == outputs.max() + 1).all()
    assert included.is_reference.sum() == 240
    np.testing.assert_allclose(included.matrix[included.is_reference, 0], 1, atol=1e-9)
    assert (without.matrix[without.is_reference, 0] < 1).mean() > 0.95
    np.testing.assert_array_equal(without.matrix[~without.is_reference], included.matrix[~included.is_reference])


@pytest.mark.parametrize("exclude_self", [False, True])
def test_the_commands_give_the_figures_of_the_experiment(years, tmp_path, command, monkeypatch, exclude_self):
    """Trained on one year and evaluated on the other, with all references of a source among the candidates."""
    monkeypatch.chdir(tmp_path)

    def call(words: str) -> str:
        return command(*words.split(), "--references-as-candidates", *(["--exclude-self"] if exclude_self else [])).out

    for year in years:
        write_dataset(year, Path(f"{year.name}.jsonl"))
    call(f"train -d acl05.jsonl -F {EXTRACTORS} --kind fluency --C 1 --loss hinge --folds 0 -o x.model")
    printed = json.loads(call("evaluate -d mtc03.jsonl -M x.model --kind fluency --resamples 0 -f json"))
    settings = dataclasses.replace(SETTINGS, exclude_self=exclude_self)
    train, test = (prepare(year, settings) for year in years)
    scores = _learn_and_score(train, np.ones(len(train.human), dtype=bool), test.matrix, settings, {})
    for candidates, human in {"outputs": test.human_of_outputs, "outputs and references": test.human}.items():
        row = printed[candidates]["rows"][0]
        for form, corrected in {"tie-corrected": True, "ye07": False}.items():
            rho = source_spearman(test.dataset, scores["All"], human, tie_corrected=corrected)
            assert row["spearman"][form]["value"] == pytest.approx(np.nanmean(rho), abs=1e-4), (candidates, form)


def test_forms_hold_the_same_rows(experiment):
    document = json.loads(experiment.json())
    assert len(document["tables"]) == len(experiment.tables)
    lines = list(csv.DictReader(io.StringIO(experiment.csv())))
    assert len(lines) == sum(len(table.rows) for table in experiment.tables)
    assert all(table.markdown().count("### ") == 1 for table in experiment.tables)


def test_markdown_of_odd_values():
    rows = [{"a": None, "b": float("nan"), "c": 12345, "d": np.float64(0.12345), "e": "x", "f": 1e-4}]
    assert markdown_table(rows).splitlines()[-1] == "| - | - | 12,345 | 0.123 | x | 0.0001 |"
    assert markdown_table([]) == "(no rows)"


def test_too_few_references_leave_out_what_needs_more(years):
    few = years[0].select_sources(np.arange(60) < 10)
    for train, test in ((few, years[1]), (years[0], dataclasses.replace(few, name="few"))):
        result = plan(train, [test], SETTINGS).run()
        cross = next(table for table in result.tables if table.title.startswith("cross-year"))
        assert [row["features"] for row in cross.rows] == ["BLEU", "DS", "BLEU+DS", "BLEU+DS+order"]
        name = "acl05" if train is few else "few"
        assert (
            f"All+order, leave-one-out ({name}: 40 reference sentences are too few for a language model" in cross.note
        )
    assert list(rows_of(result, "within-year")) == list(FEATURE_SETS)


def test_within_a_year_the_folds_are_repeated(short_years):
    changes = [*({"repeats": 1, "seed": seed} for seed in (0, 1, 2)), {"repeats": 3, "permutations": 2_000}]
    tables = [plan(short_years[0], [], dataclasses.replace(SETTINGS, **change)).run().tables[1] for change in changes]
    assert {table.title for table in tables} == {"within-year, 3 folds of acl05: outputs"}
    *once, rows = ({row["features"]: row for row in table.rows} for table in tables)
    for name, row in rows.items():
        means = [single[name]["tie-corrected mean"] for single in once]
        assert row["sd of splits"] == pytest.approx(np.std(means, ddof=1))
        assert min(means) - 1e-12 <= row["tie-corrected mean"] <= max(means) + 1e-12
        if name != "BLEU":
            assert row["lowest p"] <= row["highest p"] <= 1
    assert any(row["lowest p"] < row["highest p"] for name, row in rows.items() if name != "BLEU")
    # a single feature learns its sign alone
    assert rows["BLEU"]["sd of splits"] == 0
    assert once[0]["DS"]["sd of splits"] is None or np.isnan(once[0]["DS"]["sd of splits"])


def test_the_order_of_words_helps_where_people_care_for_it(preferred):
    """All outputs of a source have the same words, and people prefer those in order."""
    doubled = dataclasses.replace(preferred, name="ordered")
    rows = rows_of(plan(doubled, [], dataclasses.replace(SETTINGS, kind="auto", repeats=2)).run(), "within-year")
    assert rows["BLEU+DS+order"]["tie-corrected mean"] > rows["BLEU+DS"]["tie-corrected mean"]


@pytest.fixture(scope="module")
def compared(preferred) -> Dataset:
    """Preferences of two judges, who differ on every seventh pair."""
    pairs = preferred.preferences
    second = pairs.assign(judge="second")
    contrary = np.arange(len(pairs)) % 7 == 0
    second["relation"] = np.where(contrary, "<", pairs["relation"])
    second["relation"] = second["relation"].astype(pairs["relation"].dtype)
    joined = pd.concat([pairs.assign(judge="first"), second], ignore_index=True)
    joined["judge"] = joined["judge"].astype(pairs["judge"].dtype)
    return dataclasses.replace(preferred, preferences=joined)


def test_judges_of_preferences(compared):
    """WMT 2012, 2013 and 2015 name the judges of their preferences, who gave no scores."""
    (table,) = judges_table(compared, "auto", published=True)
    pairs = len(compared.preferences) // 2
    disagreed = -(-pairs // 7)
    assert table.title == f"consistency of judges of preferences, {compared.name}"
    assert table.rows[0]["comparisons"] == pairs
    assert table.rows[0]["consistent"] == pytest.approx(1 - disagreed / pairs)
    # no third judge
    assert table.rows[1]["comparisons"] == 0
    (agreement,) = [item for item in judges_agreement(compared, resamples=10) if item.lp == "all"]
    kappa = agreement.figures["cohen"].value
    assert 0.3 < kappa < 1
    assert table.note == f"Cohen's kappa on the preferences themselves: {kappa:.3f}"
