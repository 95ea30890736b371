"""``ranker explain --pair``, as a user runs it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ranker.cli.main import run
from tests.command_line import Command

Printed = Callable[..., str]
RECORDS: list[dict[str, Any]] = [
    {
        "source": "eins",
        "references": ["the committee approved the plan"],
        "candidates": {"A": "the committee approved it", "C": "it was a plan", "B": "none"},
    },
    {"source": "zwei", "references": ["it rains"], "candidates": {"A": "it rains", "C": "it rains"}},
    {"source": "drei", "references": ["it snows"], "candidates": {"A": "it snows", "B": "snow"}},
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("models") / "sample.model")
    with pytest.raises(SystemExit) as exit_info:
        run(["train", "-d", "sample", "-F", "bleu1-4,ngrams,hamming,length", "--C", "0.01", "--folds", "0", "-o", path])
    assert exit_info.value.code == 0
    return path


@pytest.fixture
def printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command) -> Printed:
    monkeypatch.chdir(tmp_path)
    Path("data.json").write_text(json.dumps(RECORDS))
    return lambda *arguments: command(*arguments).out


def test_the_sums_in_all_forms_of_output(printed: Printed, model: str) -> None:
    arguments = ("explain", "data.json", "-M", model, "--pair", "A", "C", "-f")
    document = json.loads(printed(*arguments, "json"))
    lines = [json.loads(line) for line in printed(*arguments, "jsonl").splitlines()]
    rows = list(csv.DictReader(io.StringIO(printed(*arguments, "csv"))))
    assert document["sources"] == lines
    assert [item["source"] for item in lines] == ["eins", "zwei"]
    scores = json.loads(printed("rank", "data.json", "-M", model, "-f", "json"))["sources"]
    for line, row, source in zip(lines, rows, scores, strict=False):
        score = {each["system"]: each["score"] for each in source["ranking"]}
        assert line["difference"] == score["A"] - score["C"] == float(row["difference"])
        assert sum(float(row[name]) for name in line["features"]) == pytest.approx(line["difference"], abs=1e-12)
    assert document["difference"] == pytest.approx(sum(item["difference"] for item in lines) / 2)
