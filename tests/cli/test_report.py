"""``ranker report`` as a user runs it."""

from __future__ import annotations

from pathlib import Path

from tests.command_line import Command
from tests.effort import thorough


@thorough
def test_report_writes_a_page_and_its_plots(with_models: Path, command: Command) -> None:
    folder = with_models
    words = ["report", "-M", "good.model", "-d", "good.json", "--resamples", "20"]
    out, err = command(*words, "--plots", "plots")
    assert out.splitlines()[0] == "written: report.html"
    assert "written: plots/weights.svg" in out
    few = (
        "zh-en: 3 sources, fewer than 30: intervals are too narrow; p-values are of exact randomisation, at least 0.25"
    )
    assert err == (
        "ranker: note: good: the ranker was trained on all sources of good\n"
        f"ranker: note: good: {few}, so that no difference can be significant\n"
    )
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "句 1" in page
    assert {path.name for path in (folder / "plots").iterdir()} >= {"agreement.svg", "weights.png"}
    # an older page is replaced
    assert command(*words) == ("written: report.html\n", err)
    assert (folder / "report.html").read_text(encoding="utf-8") == page


def test_outputs_without_judgements_have_a_report(with_models: Path, command: Command) -> None:
    folder = with_models
    words = ["report", "-M", "good.model", "-s", "two", "-r", "two", "-t", "two", "--resamples", "5"]
    out, err = command(*words)
    assert out == "written: report.html\n"
    assert "has no human judgements, so this report does not measure agreement" in err
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert 'id="all-sources"' in page
    assert "Human ranking" not in page
