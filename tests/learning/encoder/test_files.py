from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from ranker.errors import MissingError, ModelError
from ranker.learning.encoder import files
from ranker.learning.encoder import files as encoder_files
from ranker.learning.encoder.files import SMALL, check, check_installed, find
from tests.effort import thorough


@pytest.fixture
def directory(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert", "max_position_embeddings": 64}))
    (tmp_path / "tokenizer.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"x")
    return tmp_path


def test_a_sound_directory_is_described_without_loading_it(directory):
    result = check(directory)
    assert (result.model_type, result.pooling, result.longest) == ("bert", "mean", 64)
    (directory / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 10**30}))
    assert check(directory).longest == 64
    (directory / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 32}))
    (directory / "1_Pooling").mkdir()
    (directory / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    assert (check(directory).longest, check(directory).pooling) == (32, "first")


def test_positions_behind_the_padding_are_not_counted(directory):
    (directory / "config.json").write_text(
        json.dumps({"model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": 1})
    )
    assert check(directory).longest == 512


def test_the_digest_changes_with_the_weights_and_not_with_the_card(directory):
    before = check(directory).digest
    (directory / "README.md").write_text("words")
    assert check(directory).digest == before
    (directory / "model.safetensors").write_bytes(b"others")
    assert check(directory).digest != before


def test_files_are_read_again_for_the_digest_only_if_they_have_changed(directory, monkeypatch):
    read, file_digest = [], hashlib.file_digest

    def noted(stream, name):
        read.append(Path(stream.name).name)
        return file_digest(stream, name)

    monkeypatch.setattr(hashlib, "file_digest", noted)
    before = check(directory).digest
    assert check(directory).digest == before
    assert sorted(read) == ["config.json", "model.safetensors", "tokenizer.json"]
    (directory / "tokenizer.json").write_text("{ }")
    assert check(directory).digest != before
    assert read[3:] == ["tokenizer.json"]


def test_pickled_weights_are_refused(directory):
    (directory / "model.safetensors").rename(directory / "pytorch_model.bin")
    with pytest.raises(
        ModelError, match=r"only as pytorch_model\.bin, which can execute code .* expected model\.safetensors"
    ):
        check(directory)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"config.json": None}, "is not an encoder: config.json is missing"),
        ({"config.json": "{"}, "config.json cannot be read"),
        ({"config.json": "[]"}, "config.json is not a JSON object"),
        ({"config.json": "{}"}, "is not an encoder: config.json has no model_type"),
        ({"model.safetensors": None}, "is not an encoder: model.onnx or model.safetensors is missing"),
        ({"tokenizer.json": None}, "has no tokenizer.json; save the tokenizer with"),
        (
            {"model.safetensors": None, "model.safetensors.index.json": '{"weight_map": {"a": "../b.safetensors"}}'},
            "refers to missing files",
        ),
        *(
            (
                {"model.safetensors": None, "model.safetensors.index.json": f'{{"weight_map": {parts}}}'},
                "refers to missing files",
            )
            for parts in ('{"a": 1}', '{"a": ["b"]}', '{"a": "b", "c": 2}', '{"a": null}', '{"a": "\\u0000"}', "[]")
        ),
        ({"model.safetensors": None, "model.safetensors.index.json": "{}"}, "refers to missing files"),
    ],
)
def test_what_is_no_encoder_is_refused_in_one_line(directory, change, says):
    for name, text in change.items():
        (directory / name).unlink(missing_ok=True)
        if text is not None:
            (directory / name).write_text(text)
    with pytest.raises(ModelError, match=says) as caught:
        find(str(directory))
    assert "\n" not in str(caught.value)


def test_a_name_that_is_neither_known_nor_a_directory():
    with pytest.raises(MissingError, match=rf"no encoder 'bert-x': expected a directory .* or {SMALL}"):
        find("bert-x")


def test_missing_weights_and_packages_name_the_command(tmp_path, monkeypatch):
    monkeypatch.setattr(encoder_files.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("RANKER_ENCODERS", "/nowhere")
    with pytest.raises(MissingError, match=rf"copy its config.json, .* to /nowhere/{SMALL}, or name another directory"):
        find(SMALL)
    with pytest.raises(MissingError, match=r"needs torch, transformers.*: pip install 'mt-ranker\[semantic-train\]'\Z"):
        check_installed(SMALL, onnx=False)
    with pytest.raises(MissingError, match=r"needs onnxruntime, tokenizers: pip install onnxruntime tokenizers\Z"):
        check_installed(tmp_path, onnx=True)


def test_the_files_of_a_known_name_are_found_in_its_folder_and_checked(directory, monkeypatch):
    monkeypatch.setenv("RANKER_ENCODERS", str(directory.parent))
    monkeypatch.setattr(files, "SMALL", directory.name)
    monkeypatch.setattr(files, "SMALL_DIGEST", check(directory).digest)
    result = find(directory.name)
    assert (result.directory, result.layer) == (directory, 4)
    monkeypatch.setattr(files, "SMALL_DIGEST", "6fd1")
    with pytest.raises(
        ModelError, match=rf"{directory}: its files are not those of '{directory.name}': SHA-256 .* expected 6fd1"
    ):
        find(directory.name)


@thorough
def test_the_extractor_is_known_without_importing_torch():
    code = (
        "import sys; from ranker.ranking.feature_set import FeatureSet; FeatureSet.parse('semantic').columns; "
        "print(sorted({'torch', 'transformers', 'tokenizers'} & set(sys.modules)))"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert printed.stdout == "[]\n"
