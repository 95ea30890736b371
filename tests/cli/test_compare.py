"""``ranker compare`` and ``ranker agreement`` as a user runs them."""

from __future__ import annotations

import csv
import inspect
import io
import json
import re
from typing import get_args

import pytest

from ranker.evaluation.choices import Correction, Test
from ranker.evaluation.compare.result import Comparison
from ranker.evaluation.compare.run import compare

FEW = ("--resamples", "20")


@pytest.fixture
def ranker(command):
    """Run one command; return what it printed on stdout and stderr."""

    def call(*arguments: str) -> tuple[str, str]:
        return command(*arguments)

    return call


def test_table_has_figures_of_every_level_and_a_win_matrix(ranker):
    printed, _ = ranker("compare", "--data", "sample", "-m", "bleu", "-m", "chrf", *FEW, "--long-signatures")
    for words in ("segment level, 120 sources", "document level, 12 documents", "system level, 7 systems"):
        assert f"sample zh-en, {words}" in printed
    assert "> significantly better, < worse (bootstrap, Westfall-Young correction, alpha 0.05)" in printed
    assert "\nbleu: bleu[order=4," in printed
    assert "|sacrebleu[segment]:BLEU|nrefs:4|case:mixed|eff:yes|tok:13a|smooth:exp|version:2.6.0|" in printed
    assert "|sacrebleu[system]:BLEU|nrefs:4|case:mixed|eff:no|tok:13a|" in printed
    assert "|sacrebleu:chrF2|nrefs:4|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0\n" in printed
    assert printed.splitlines()[-1].startswith("ranker:")
    assert "|seed:0" in printed


def test_choices_are_those_of_the_library(ranker, refused):
    text, _ = ranker("compare", "--help")
    for kind in (Test, Correction):
        assert "|".join(get_args(kind)) in re.sub(r"\s+", "", text)
    default = inspect.signature(compare).parameters["correction"].default
    assert f"[default:{default}]" in re.sub(r"\s+", "", text)
    refused("compare", "--correction", "bonferroni", says="'bonferroni' is not one of 'westfall-young', 'holm', 'none'")


def test_it_is_said_when_nothing_can_be_significant(ranker):
    arguments = ("compare", "--data", "sample", "-m", "bleu", "-m", "chrf", "--level", "segment", "--resamples", "9")
    line = (
        "no difference can be significant: with 9 resamples the smallest p-value is 0.1, not below 0.05; "
        "raise --resamples to at least 20"
    )
    table, notes = ranker(*arguments)
    assert line in table.splitlines()
    assert line not in notes
    for output in ("json", "csv"):
        printed, notes = ranker(*arguments, "-f", output)
        assert notes.splitlines() == [f"ranker: note: {line}"]
        assert (line in printed) == (output == "json")
    table, notes = ranker(*arguments[:-1], "20")
    assert "can be significant" not in table + notes


def test_models_metrics_json_and_csv_agree(ranker, tmp_path):
    path = str(tmp_path / "mine.model")
    ranker("train", "--data", "sample", "--features", "bleu1-4", "--folds", "0", "--model", path)
    arguments = ("compare", "--data", "sample", "-m", "bleu", "-m", "per", "-M", path, "--test", "randomisation", *FEW)
    printed, notes = ranker(*arguments, "-f", "json")
    comparison = Comparison.from_json(printed)
    assert [(metric.name, metric.type) for metric in comparison.metrics] == [
        *(("bleu", "metric"), ("per", "metric"), ("mine.model", "ranker")),
    ]
    assert comparison.metrics[2].notes == ("was trained on all sources of sample",)
    assert "ranker: note: mine.model: was trained on all sources of sample" in notes
    assert comparison.settings.test == "randomisation"
    rows = list(csv.DictReader(io.StringIO(ranker(*arguments, "-f", "csv")[0])))
    assert len(rows) == len(comparison.cells)
    for row, cell in zip(rows, comparison.cells, strict=True):
        assert (row["statistic"], row["metric"]) == (cell.statistic, cell.metric)
        assert float(row["value"]) == pytest.approx(cell.value)
    lines = ranker(*arguments, "-f", "jsonl")[0].splitlines()
    assert [json.loads(line)["rank"] for line in lines] == [cell.rank for cell in comparison.cells]


def test_figures_are_those_of_evaluate_and_score(ranker):
    # an error rate is turned round
    evaluated = json.loads(ranker("evaluate", "--data", "sample", "-m", "ter", *FEW, "-f", "json")[0])
    spearman = evaluated["rows"][0]["spearman"]["tie-corrected"]
    comparison = Comparison.from_json(ranker("compare", "--data", "sample", "-m", "ter", *FEW, "-f", "json")[0])
    cell = comparison.cell("segment.spearman", "sample/zh-en", "ter")
    assert {"value": cell.value, "low": cell.low, "high": cell.high} == pytest.approx(spearman)
    assert comparison.pairwise_tests == ()


def test_several_data_sets_and_one_level(ranker, tmp_path):
    ranker("data", "convert", "sample", str(tmp_path / "again.jsonl"))
    data = ("--data", "sample", "--data", str(tmp_path / "again.jsonl"))
    arguments = ("compare", *data, "-m", "bleu", "--level", "segment", *FEW)
    comparison = Comparison.from_json(ranker(*arguments, "-f", "json")[0])
    assert [scope.id for scope in comparison.scopes] == ["sample/zh-en", "again/zh-en", "mean"]
    assert {statistic.level for statistic in comparison.statistics} == {"segment"}
    assert comparison.values("segment.pearson", "mean") == pytest.approx(
        comparison.values("segment.pearson", "again/zh-en")
    )
    table = ranker(*arguments, "--per-lp")[0]
    assert "sample zh-en, segment level" in table
    assert "mean, 2 data sets, segment level, 240 sources" in table
    assert "sample zh-en" not in ranker(*arguments)[0]


def test_refusals_of_compare(refused):
    refused("compare", "--data", "good.json", says=r"give --metric NAME .* or --model FILE")
    refused("compare", "-m", "bleu", says="no data: give a corpus name or a file")
    refused("compare", "--data", "not-judged.json", "-m", "bleu", says="contains no human judgements")
    refused("compare", "--data", "good.json", "-m", "blue", says="unknown metric or feature 'blue'")
    arguments = ("compare", "--data", "good.json", "-m", "bleu", "--resamples", "0")
    refused(*arguments, "--data", "good.json", says="two data sets are called 'good'")
    refused(*arguments, "--wins", "tau", says=r"--wins: unknown statistic 'tau'; expected one of: segment\.spearman")


def test_agreement_of_judges(ranker):
    table, _ = ranker("agreement", "--data", "sample", "--kind", "fluency", *FEW)
    assert "sample: agreement of judges on fluency" in table
    assert "krippendorff ordinal" in table
    document = json.loads(ranker("agreement", "--data", "sample", "--kind", "fluency", *FEW, "-f", "json")[0])
    (pair,) = document["language_pairs"]
    assert pair["figures"]["cohen"]["value"] == pytest.approx(pair["pairs"][0]["kappa"])
    rows = list(csv.DictReader(io.StringIO(ranker("agreement", "--data", "sample", "--pairs", *FEW, "-f", "csv")[0])))
    assert [row["units"] for row in rows] == ["840"]


def test_systems_as_people_rank_them(ranker):
    document = json.loads(ranker("agreement", "--data", "sample", "--systems", "auto", *FEW, "-f", "json")[0])
    assert [row["rank"] for row in document["rows"]] == [1, 2, 3, 4, 5, 6, 7]
    assert document["signature"].startswith("systems by mean|")


def test_refusals_of_agreement(refused):
    refused("agreement", "--data", "good.json", says="contains no fluency scores by two or more named judges")
    refused("agreement", "--data", "good.json", "--systems", "trueskill", says="cannot be ranked with 'trueskill'")
