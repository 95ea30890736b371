"""Files that are no model, or no longer one."""

from __future__ import annotations

import io
import json
import pickle
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

from ranker.cli.main import run
from tests.cli.conftest import RATED, Refused


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A sound model file."""
    place = tmp_path_factory.mktemp("model")
    (place / "good.json").write_text(json.dumps(RATED))
    files = ["--data", str(place / "good.json"), "--model", str(place / "x.model")]
    with pytest.raises(SystemExit) as exit_info:
        run(["train", *files, "--features", "bleu,paraphrase", "--format", "json"])
    assert exit_info.value.code == 0
    return (place / "x.model").read_bytes()


def zipped(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, raw in files.items():
            archive.writestr(name.replace("_", "."), raw)
    return buffer.getvalue()


NO_MODELS = {
    "empty": b"",
    "text": b"weights: 1",
    "pickle": pickle.dumps({"weights": [1.0]}),
    "other zip": zipped(word_document=b"x"),
    "no JSON": zipped(model_json=b"weights"),
    "no object": zipped(model_json=b"[]"),
    "nothing in it": zipped(model_json=b"{}"),
    "nested": zipped(model_json=b"[" * 100_000),
    "not UTF-8": zipped(model_json=b'{"\xff": 1}'),
    "other version": zipped(model_json=b'{"format": 99}'),
    "no digest": zipped(model_json=b'{"format": 1, "model": {}, "arrays": {}}'),
}


@pytest.mark.parametrize("content", NO_MODELS)
@pytest.mark.parametrize("command", ["rank good.json", "explain", "evaluate -d good.json", "score good.json"])
def test_files_that_are_no_model(command: str, content: str, folder: Path, refused: Refused) -> None:
    (folder / "x.model").write_bytes(NO_MODELS[content])
    message = refused(*command.split(), "--model", "x.model")
    assert message.startswith("x.model: ")


def test_truncated_models(model: bytes, folder: Path, refused: Refused) -> None:
    for size in range(0, len(model), 23):
        (folder / "x.model").write_bytes(model[:size])
        refused("rank", "good.json", "-M", "x.model", says="x.model: is not a model file")


def test_models_with_a_byte_changed(model: bytes, folder: Path, refused: Refused, capsys: Any) -> None:
    (folder / "x.model").write_bytes(model)
    with pytest.raises(SystemExit):
        run(["rank", "good.json", "-M", "x.model", "-f", "json"])
    sound = capsys.readouterr().out
    for position in range(0, len(model), 13):
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


def test_a_model_replaces_a_model_and_nothing_else(model: bytes, folder: Path, refused: Refused, capsys: Any) -> None:
    (folder / "x.zip").write_bytes(model)
    with pytest.raises(SystemExit) as exit_info:
        run(["train", "-d", "good.json", "-M", "x.zip"])
    assert exit_info.value.code == 0
    capsys.readouterr()
    refused("train", "-d", "good.json", "-M", "two", says="two: already exists and is not a model file")
