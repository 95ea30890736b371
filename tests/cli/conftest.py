"""Fixtures of the command line's tests: a folder of files to go wrong with, and what every refusal must be."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ranker.cli.main import run

RATED = [
    {
        "lp": "zh-en",
        "source": f"句 {index}",
        "references": ["a b c d e"],
        "candidates": [
            {"system": "A", "text": "a b c d", "human": {"fluency": 2}},
            {"system": "B", "text": "e d c", "human": {"fluency": 1}},
        ],
    }
    for index in range(3)
]
ONE = {"system": "A", "text": "a", "human": {"fluency": 1}}
FILES: dict[str, Any] = {
    "good.json": RATED,
    "no-reference.json": [{"source": "x", "candidates": {"A": "a"}}],
    "not-judged.json": [{"source": "x", "references": ["r"], "candidates": {"A": "a", "B": "b"}}],
    "one-candidate.json": [{"source": "x", "references": ["r"], "candidates": [ONE]}],
    "tied.json": [{"source": "x", "references": ["r"], "candidates": [ONE, {**ONE, "system": "B"}]}],
    "odd.json": [{"lp": "a\nb", "seg_id": "s\n1", "source": "x", "candidates": {"A": "a\tb"}}],
}
PLAIN = {
    "cut.json": '[{"source": "x",\n',
    "two": "a\nb\n",
    "three": "a\nb\nc\n",
    "open.csv": 'system,"score\nA,1\n',
    "wide.csv": f"system,score,{'x' * 200_000}\nA,1\n",
    "notes.txt": "mine\n",
    "empty.csv": "",
}

Refused = Callable[..., str]


def everything(folder: Path) -> dict[str, bytes | None]:
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with sound and unsound files."""
    for name, value in FILES.items():
        (tmp_path / name).write_text(json.dumps(value), encoding="utf-8")
    for name, text in PLAIN.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "directory").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def refused(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Refused:
    """Run a command that must be refused, check all that every refusal must be, and return its message."""

    def call(*arguments: str, says: str = "", stdin: bytes = b"", lines: int = 1) -> str:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        before = everything(folder)
        with pytest.raises(SystemExit) as exit_info:
            run(list(arguments))
        out, err = capsys.readouterr()
        assert exit_info.value.code == 2, err
        assert out == ""
        assert err.startswith("ranker: error: ")
        assert err.endswith("\n")
        assert len(err.splitlines()) == lines, err
        assert not re.search(r"Traceback|\w+Error\b|Exception|object at 0x|<class", err), err
        assert re.search(says, err), f"{err!r} does not say {says!r}"
        assert everything(folder) == before
        return err.removeprefix("ranker: error: ").rstrip("\n")

    return call
