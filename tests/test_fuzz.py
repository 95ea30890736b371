"""A short run of the fuzzer: damaged files of every format are read or refused in one line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench import fuzz


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, fuzz.Format]:
    return fuzz.formats(tmp_path_factory.mktemp("sound"))


@pytest.mark.parametrize("part", range(4))
def test_damaged_files_are_read_or_refused_in_one_line(
    made: dict[str, fuzz.Format], part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = sorted(made)
    count = int(os.environ.get("RANKER_FUZZ_INPUTS", "2000")) // 4
    for number in range(part * count, (part + 1) * count):
        name = names[number % len(names)]
        found = fuzz.check(made[name], fuzz.input_of(made[name], name, 0, number), tmp_path)
        assert not found.finding, f"{name} {number}: {found.finding}\n{found.words}\n{found.detail}"


def test_sound_files_are_read(made: dict[str, fuzz.Format], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, form in made.items():
        found = fuzz.check(form, form.files[form.target], tmp_path)
        assert (found.finding, found.refused) == ("", False), f"{name}: {found.detail}"


def test_findings_are_found(made: dict[str, fuzz.Format], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    form = made["json"]

    def broken(*arguments: object) -> None:
        raise RuntimeError("broken")

    with monkeypatch.context() as patched:
        patched.setattr("ranker.cli.main.run", broken)
        assert fuzz.check(form, b"[]", tmp_path).finding.startswith("traceback: RuntimeError: broken")
    for code, printed, messages, finding in (
        (1, "", "", "exit code 1"),
        (0, '{"rows": [{"lp": "x", "seg_id": 1, "system": "A", "bleu": null}]}', "", "a score that is no number"),
        (0, '{"rows": []}', "ranker: note: \x1b[2J\n", "a message that is not printable"),
        (2, "", "ranker: error: something\n", "a refusal without the file"),
        (2, "", "Traceback\nranker: error: corpus.json: x\nmore\n", "not refused in one line"),
    ):
        assert fuzz._problem(form, ["score"], code, printed, messages) == finding
    assert fuzz.smaller(form, b"", "none", tmp_path) == b""
