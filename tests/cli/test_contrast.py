"""``ranker contrast``: two systems against each other, as a user runs it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.command_line import Command

Printed = Callable[..., str]
LINES = {
    "src": ["eins", "zwei", "drei"],
    "ref": ["the committee approved the plan", "it rains", "the end of it"],
    "A": ["the committee approved it", "it rains", "the end"],
    "B": ["a plan", "it rains", "the end of it"],
}
FILES = ("-s", "src", "-r", "ref", "-t", "A", "B")
QUICK = ("--parser", "none", "--resamples", "20")


@pytest.fixture
def printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command) -> Printed:
    monkeypatch.chdir(tmp_path)
    for name, lines in LINES.items():
        Path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    return lambda *arguments: command("contrast", *arguments).out


@pytest.mark.parametrize("name", ["difference", "words", "segments"])
def test_a_system_called_as_a_column_keeps_its_own_figures(printed: Printed, name: str) -> None:
    plain = printed(*FILES, *QUICK)
    Path("A").rename(name)
    renamed = printed("-s", "src", "-r", "ref", "-t", name, "B", *QUICK)
    figures = [[word for word in line.split() if word[0] in "-[0123456789"] for line in plain.splitlines()]
    again = [[word for word in line.split() if word[0] in "-[0123456789"] for line in renamed.splitlines()]
    # all but the signature, which names the data
    assert again[:-1] == figures[:-1]


def test_all_forms_hold_the_same(printed: Printed) -> None:
    arguments = (*FILES, *QUICK, "--metric", "bleu[smoothing=add-one]", "-f")
    document = json.loads(printed(*arguments, "json"))
    lines = [json.loads(line) for line in printed(*arguments, "jsonl").splitlines()]
    rows = list(csv.DictReader(io.StringIO(printed(*arguments, "csv"))))
    assert rows == [{name: "" if value is None else str(value) for name, value in line.items()} for line in lines]
    counts = [len(item["buckets"]) for item in document["breakdowns"]]
    ngrams = document["first_ngrams"] + document["second_ngrams"]
    segments = document["first_segments"] + document["second_segments"]
    assert len(lines) == sum(counts) + len(ngrams) + len(segments)
    assert len(ngrams) > 10
    buckets = [(item, bucket) for item in document["breakdowns"] for bucket in item["buckets"]]
    for line, (item, bucket) in zip(lines, buckets, strict=False):
        assert (line["subject"], line["measure"]) == (item["subject"], item["measure"] or bucket["name"])
        assert (line["name"], line["size"]) == (bucket["name"], bucket["size"])
        assert line["difference.high"] == bucket["difference"]["high"]
    for line, ngram in zip(lines[sum(counts) :], ngrams, strict=False):
        assert (line["subject"], line["name"], line["first"]) == ("n-gram", ngram["ngram"], ngram["first"])
        assert line["ratio.low"] == ngram["ratio"]["low"]
    for line, segment in zip(lines[sum(counts) + len(ngrams) :], segments, strict=True):
        assert (line["first_text"], line["difference"]) == (segment["first_text"], segment["difference"])
    assert "resamples:20" in document["signature"]
    short = json.loads(printed(*arguments, "json", "--ngrams", "1", "--segments", "0"))
    assert (len(short["first_ngrams"]), short["first_segments"]) == (1, [])
