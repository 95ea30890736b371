"""Files that are no model, or no longer one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ranker.cli.main import run
from tests.cli.conftest import RATED
from tests.command_line import Command
from tests.effort import THOROUGH, thorough

# of the two the second has arrays, and takes seconds to compile
FEATURES = "bleu,paraphrase" if THOROUGH else "bleu,chrf"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A sound model file."""
    place = tmp_path_factory.mktemp("model")
    (place / "good.json").write_text(json.dumps(RATED))
    files = ["--data", str(place / "good.json"), "-o", str(place / "x.model")]
    with pytest.raises(SystemExit) as exit_info:
        run(["train", *files, "--features", FEATURES, "--format", "json"])
    assert exit_info.value.code == 0
    return (place / "x.model").read_bytes()


@thorough
def test_models_with_a_byte_changed(model: bytes, folder: Path, command: Command, capsys: Any) -> None:
    (folder / "x.model").write_bytes(model)
    sound = command("rank", "good.json", "-M", "x.model", "-f", "json").out
    for position in range(0, len(model), 13 if THOROUGH else 40):
        changed = bytearray(model)
        changed[position] ^= 0x55
        (folder / "x.model").write_bytes(changed)
        with pytest.raises(SystemExit) as exit_info:
            run(["rank", "good.json", "-M", "x.model", "-f", "json"])
        out, err = capsys.readouterr()
        # what the model does not depend on, such as its card, may change
        assert (exit_info.value.code, out) == (0, sound) or re.fullmatch(r"ranker: error: x\.model: [^\n]+\n", err), (
            position
        )


def test_a_model_replaces_a_model(model: bytes, folder: Path, command: Command) -> None:
    (folder / "x.zip").write_bytes(model)
    command("train", "-d", "good.json", "-o", "x.zip")
