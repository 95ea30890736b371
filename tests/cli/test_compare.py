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


def test_corpora_whose_files_have_the_same_name_are_numbered(command, tmp_path):
    def record(number):
        candidates = [{"system": name, "text": f"{name} {number}", "human": {"fluency": ord(name)}} for name in "ab"]
        return {
            "lp": "de-en",
            "seg_id": str(number),
            "source": f"s{number}",
            "references": ["a"],
            "candidates": candidates,
        }

    paths = [tmp_path / folder / "x.jsonl" for folder in ("one", "two")]
    for number, path in enumerate(paths):
        path.parent.mkdir()
        path.write_text(json.dumps(record(number)))
    run = ("evaluate", *map(str, paths), *FEW, "-f", "json", "-m")
    assert json.loads(command(*run, "chrf").out)["data"] == "x-1+x-2"
    scopes = json.loads(command(*run, "chrf,ter").out)["scopes"]
    assert [scope["data"] for scope in scopes] == ["x-1", "x-2", ""]
    assert "with human fluency, sources of all data sets together; [95%" in command(*run[:5], "-m", "chrf").out
    refused = command("evaluate", str(paths[0]), str(paths[0]), "-m", "chrf,ter", code=2)
    assert "two data sets are called 'x'; give each once or rename a file" in refused.err
