"""``ranker report`` as a user runs it."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path

import pytest

from ranker.cli.main import run
from tests.cli.conftest import RATED, Refused
from tests.command_line import Command

REFUSALS = {
    "report": "give either --model FILE with --data, or --comparison FILE",
    "report --comparison notes.txt -M good.model": "give either --model FILE with --data, or --comparison FILE",
    "report --comparison notes.txt -d good.json": "--comparison is complete in itself",
    "report -M good.model": "no data: give --data NAME",
    "report -M notes.txt -d good.json": "notes.txt: is not a model file",
    "report -M good.model -d none.json": "'none.json' is neither a file nor a known corpus",
    "report -M good.model -d good.json --lp de-en": "no sources of language pair 'de-en'",
    "report -M good.model -d not-judged.json --kind fluency": "no judgements of kind 'fluency'",
    "report -M good.model -d good.json -s two": "give either a corpus or parallel files",
    "report -M good.model -t two": r"two\[1\] has no reference, which column 'bleu' requires",
    "report -M good.model -d good.json --kind adequacy": "no judgements of kind 'adequacy'",
    "report -M good.model -d good.json --html none/x.html": "none/x.html: cannot be written: the directory",
    "report -M good.model -d good.json --html directory": "directory: is a directory; expected the name of an "
    "HTML file",
    "report -M good.model -d good.json --html notes.txt": "notes.txt: already exists and is not an HTML file",
    "report -M good.model -d good.json --plots notes.txt": "notes.txt: is not a directory",
    "report -M good.model -d good.json --plots none/x": "none/x: cannot be created: the directory none does not exist",
    "report --comparison good.json": "good.json: expected a comparison of format",
    "report --comparison cut.json": "cut.json:2:1: not JSON",
    "report -M good.model -d good.json --examples -1": "'--examples'",
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("trained")
    (folder / "good.json").write_text(json.dumps(RATED), encoding="utf-8")
    with pytest.raises(SystemExit) as exit_info:
        run(["train", "-d", str(folder / "good.json"), "-F", "bleu,chrf", "-M", str(folder / "good.model")])
    assert exit_info.value.code == 0
    return (folder / "good.model").read_bytes()


@pytest.mark.parametrize("words", REFUSALS)
def test_refusals(words: str, folder: Path, trained: bytes, refused: Refused) -> None:
    (folder / "good.model").write_bytes(trained)
    refused(*words.split(), says=REFUSALS[words])


def test_report_writes_a_page_and_its_plots(folder: Path, trained: bytes, command: Command) -> None:
    (folder / "good.model").write_bytes(trained)
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


def test_outputs_without_judgements_have_a_report_that_is_opened(
    folder: Path, trained: bytes, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "good.model").write_bytes(trained)
    opened: list[str] = []

    def opens(address: str) -> bool:
        opened.append(address)
        return len(opened) == 1

    monkeypatch.setattr(webbrowser, "open", opens)
    words = ["report", "-M", "good.model", "-s", "two", "-r", "two", "-t", "two", "--resamples", "5", "--open"]
    for place in range(2):
        with pytest.raises(SystemExit) as exit_info:
            run(words)
        out, err = capsys.readouterr()
        assert (exit_info.value.code, out) == (0, "written: report.html\n")
        assert "has no human judgements, so this report does not measure agreement" in err
        assert ("no web browser found; open report.html manually" in err) == bool(place)
    assert opened == [(folder / "report.html").resolve().as_uri()] * 2
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert 'id="all-sources"' in page
    assert "Human ranking" not in page


def test_help_ends_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(["report", "--help"])
    assert "Example: ranker report --model sample.model --data sample --html report.html" in capsys.readouterr().out
