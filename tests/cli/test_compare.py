"""``ranker evaluate`` of several metrics as a user runs it."""

from __future__ import annotations

import csv
import io
import json

import pytest

from ranker.evaluation.metrics.result import Comparison
from tests.effort import thorough

FEW = ("--resamples", "20")


@thorough
def test_models_metrics_json_and_csv_agree(command, tmp_path):
    path = str(tmp_path / "mine.model")
    command("train", "--data", "sample", "--features", "bleu1-4", "--folds", "0", "-o", path)
    arguments = ("evaluate", "--data", "sample", "-m", "bleu", "-m", "per", "-M", path, "--test", "randomisation", *FEW)
    printed, notes = command(*arguments, "-f", "json")
    comparison = Comparison.from_json(printed)
    assert [(metric.name, metric.type) for metric in comparison.metrics] == [
        *(("bleu", "metric"), ("per", "metric"), ("mine.model", "ranker")),
    ]
    assert comparison.metrics[2].notes == ("was trained on all sources of sample",)
    assert "ranker: note: mine.model: was trained on all sources of sample" in notes
    assert comparison.settings.test == "randomisation"
    rows = list(csv.DictReader(io.StringIO(command(*arguments, "-f", "csv")[0])))
    assert len(rows) == len(comparison.cells)
    for row, cell in zip(rows, comparison.cells, strict=True):
        assert (row["statistic"], row["metric"]) == (cell.statistic, cell.metric)
        assert float(row["value"]) == pytest.approx(cell.value)
    lines = command(*arguments, "-f", "jsonl")[0].splitlines()
    assert [json.loads(line)["rank"] for line in lines] == [cell.rank for cell in comparison.cells]
