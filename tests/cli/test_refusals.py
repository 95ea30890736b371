"""What a user gets wrong: one line on stderr, exit code 2, nothing on stdout, nothing written.

The commands and their messages are in ``tests/golden/cli/refusals``.
"""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Refused
from tests.golden_examples import FOLDER, Example, examples


@pytest.fixture(scope="module")
def unchanged(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of files with the models: refused commands change nothing in it, as is checked."""
    made = tmp_path_factory.mktemp("refusals")
    shutil.copytree(FOLDER / "files", made, dirs_exist_ok=True)
    (made / "directory").mkdir()
    return Path(shutil.copytree(models, made, dirs_exist_ok=True))


@pytest.fixture
def folder(unchanged: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(unchanged)
    return unchanged


@pytest.mark.parametrize("example", examples("refusals/*"), ids=str)
def test_a_refusal_says_what_is_wrong_in_one_line(example: Example, refused: Refused, folder: Path) -> None:
    line, _, stdin = example.line.partition(" < ")
    message = refused(*shlex.split(line), stdin=(folder / stdin).read_bytes() if stdin else b"")
    example.check(f"ranker: error: {message}")
