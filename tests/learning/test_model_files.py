from __future__ import annotations

import json
import pickle
import zipfile

import numpy as np
import pytest

from ranker.errors import ModelError
from ranker.learning.model_files import FORMAT, model_digest, read_model, write_model

MODEL = {"features": "bleu", "columns": [{"name": "bleu", "weight": 0.1 + 0.2}]}
ARRAYS = {"extractor0": {"idf": np.linspace(0, 1, 7), "ids": np.arange(3, dtype=np.int32)}}


@pytest.fixture
def path(tmp_path):
    write_model(tmp_path / "x.model", MODEL, ARRAYS, "# card\n")
    return tmp_path / "x.model"


def rewrite(path, name: str, raw: bytes) -> None:
    """Replace one file inside the zip."""
    with zipfile.ZipFile(path) as archive:
        files = {entry: archive.read(entry) for entry in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for entry, content in {**files, name: raw}.items():
            archive.writestr(entry, content)


def test_round_trip_and_same_bytes(path, tmp_path):
    model, arrays = read_model(path)
    assert model == MODEL
    assert {key: value.dtype for key, value in arrays["extractor0"].items()} == {"idf": np.float64, "ids": np.int32}
    np.testing.assert_array_equal(arrays["extractor0"]["idf"], ARRAYS["extractor0"]["idf"])
    write_model(tmp_path / "again.model", MODEL, ARRAYS, "# card\n")
    assert (tmp_path / "again.model").read_bytes() == path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        assert json.loads(archive.read("model.json"))["digest"] == model_digest(MODEL, ARRAYS)


def test_an_unpacked_model_is_a_model(path, tmp_path):
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path / "unpacked")
    assert read_model(tmp_path / "unpacked")[0] == MODEL


def test_replaces_a_model_but_nothing_else(path, tmp_path):
    write_model(path, {"other": 1}, {}, "")
    assert read_model(path)[0] == {"other": 1}
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ModelError, match="exists and is no model file"):
        write_model(tmp_path / "notes.txt", MODEL, {}, "")
    assert (tmp_path / "notes.txt").read_text() == "mine"
    with pytest.raises(ModelError, match="is a directory"):
        write_model(tmp_path, MODEL, {}, "")
    with pytest.raises(ModelError, match="cannot be written: there is no directory"):
        write_model(tmp_path / "no" / "x.model", MODEL, {}, "")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["notes.txt", "x.model"]


def test_a_failed_write_leaves_the_old_model(path, tmp_path):
    before = path.read_bytes()
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_model(path, {"weight": float("nan")}, {}, "")
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["x.model"]


def test_changed_content_is_refused(path):
    with zipfile.ZipFile(path) as archive:
        document = json.loads(archive.read("model.json"))
    document["model"]["features"] = "bleu[order=2]"
    rewrite(path, "model.json", json.dumps(document).encode())
    with pytest.raises(ModelError, match="digest disagree"):
        read_model(path)


def test_another_format_is_refused(path):
    rewrite(path, "model.json", json.dumps({"format": FORMAT + 1}).encode())
    with pytest.raises(ModelError, match=f"model format {FORMAT + 1}, this version reads format {FORMAT}"):
        read_model(path)


def test_arrays_that_would_run_code_are_refused(path, tmp_path):
    """An object array inside an npz is a pickle; even with a right digest it must not be opened."""
    marker = tmp_path / "ran"

    class Bomb:
        def __reduce__(self):
            return (marker.write_text, ("boom",))

    write_model(path, MODEL, ARRAYS, "")
    import io

    buffer = io.BytesIO()
    np.savez(buffer, bomb=np.array([Bomb()], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(path) as archive:
        document = json.loads(archive.read("model.json"))
    from ranker.files import sha256
    from ranker.learning import model_files

    document["arrays"]["extractor0.npz"] = sha256(buffer.getvalue())
    document["digest"] = model_files._digest({"model": document["model"], "arrays": document["arrays"]})
    rewrite(path, "extractor0.npz", buffer.getvalue())
    rewrite(path, "model.json", json.dumps(document).encode())
    with pytest.raises(ModelError, match="no plain arrays"):
        read_model(path)
    assert not marker.exists()


@pytest.mark.parametrize("content", [b"", b"junk", pickle.dumps({"a": 1}), b"PK\x03\x04 cut", b"{}"])
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "x.model").write_bytes(content)
    with pytest.raises(ModelError, match="is no model file"):
        read_model(tmp_path / "x.model")


def test_every_truncation_is_refused(path):
    whole = path.read_bytes()
    for size in range(0, len(whole), 7):
        path.write_bytes(whole[:size])
        with pytest.raises(ModelError):
            read_model(path)


@pytest.mark.parametrize("document", [b"[]", b"{}", b'{"format":1}', b'{"format":1,"model":{},"arrays":[],"digest":0}'])
def test_other_json_is_refused(path, document):
    rewrite(path, "model.json", document)
    with pytest.raises(ModelError):
        read_model(path)


def test_missing_model_names_the_command(tmp_path):
    with pytest.raises(ModelError, match="no such model; make one with: ranker train"):
        read_model(tmp_path / "x.model")
