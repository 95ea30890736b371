"""``ranker contrast``: two systems against each other, as a user runs it."""

from __future__ import annotations

import csv
import io
import json
import webbrowser
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.command_line import Command
from tests.effort import thorough

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

    def call(*arguments: str, notes: str = "") -> str:
        out, err = command("contrast", *arguments)
        assert notes in err
        return out

    return call


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
    assert len(lines) == len(rows)
    counts = [len(item["buckets"]) for item in document["breakdowns"]]
    ngrams = document["first_ngrams"] + document["second_ngrams"]
    segments = document["first_segments"] + document["second_segments"]
    assert len(lines) == sum(counts) + len(ngrams) + len(segments)
    assert len(ngrams) > 10
    for line, row in zip(lines, rows, strict=True):
        assert row["subject"] == line["subject"]
        if row["subject"] == "n-gram":
            assert (row["name"], int(row["first"])) == (line["ngram"], line["first"])
            assert float(row["ratio.low"]) == line["ratio"]["low"]
        elif row["subject"] == "segment":
            assert (row["first_text"], float(row["difference"])) == (line["first_text"], line["difference"])
        else:
            assert (row["name"], row["measure"], int(row["size"])) == (line["name"], line["measure"], line["size"])
            assert float(row["difference.high"]) == line["difference"]["high"]
    assert "resamples:20" in document["signature"]
    short = json.loads(printed(*arguments, "json", "--ngrams", "1", "--segments", "0"))
    assert (len(short["first_ngrams"]), short["first_segments"]) == (1, [])


@thorough
def test_the_report_holds_more_than_the_tables(printed: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    words = ("sample", "sys1", "sys5", "--parser", "none", "--resamples", "5")
    table = printed(*words)
    assert printed(*words, "--html", "report.html", "--open", notes="ranker: note: written: report.html\n") == table
    assert opened == [Path("report.html").resolve().as_uri()]
    page = Path("report.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert table.splitlines()[-1].split("|ranked:")[1] in page.replace("<wbr>", "")
    assert page.count('<details class="source') > 50
    printed(*words, "--html", "report.html", "--segments", "2", "--ngrams", "0")
    page = Path("report.html").read_text(encoding="utf-8")
    assert page.count('<details class="source') == 4
    assert "N-grams" not in page
