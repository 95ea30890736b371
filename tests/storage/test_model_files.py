from __future__ import annotations

import io
import json
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from ranker.errors import ModelError
from ranker.storage import model_files
from ranker.storage.model_files import FORMAT, StoredModel, array_digest, read_model, write_model
from tests.effort import further, thorough

MODEL = {"features": "bleu", "columns": [{"name": "bleu", "weight": 0.1 + 0.2}]}
ARRAYS = {"extractor0": {"idf": np.linspace(0, 1, 7), "ids": np.arange(3, dtype=np.int32)}}


@pytest.fixture
def path(tmp_path):
    write_model(tmp_path / "x.model", StoredModel(MODEL, ARRAYS), "# card\n")
    return tmp_path / "x.model"


def rewrite(path, name: str, raw: bytes) -> None:
    """Replace one file inside the zip."""
    with zipfile.ZipFile(path) as archive:
        files = {entry: archive.read(entry) for entry in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for entry, content in {**files, name: raw}.items():
            archive.writestr(entry, content)


def test_round_trip_and_same_bytes(path, tmp_path):
    stored = read_model(path)
    model, arrays = stored.model, stored.arrays
    assert model == MODEL
    assert {key: value.dtype for key, value in arrays["extractor0"].items()} == {"idf": np.float64, "ids": np.int32}
    np.testing.assert_array_equal(arrays["extractor0"]["idf"], ARRAYS["extractor0"]["idf"])
    write_model(tmp_path / "again.model", StoredModel(MODEL, ARRAYS), "# card\n")
    assert (tmp_path / "again.model").read_bytes() == path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        assert json.loads(archive.read("model.json"))["digest"] == model_files.content_digest(
            {"model": MODEL, "arrays": StoredModel(MODEL, ARRAYS).array_digests}
        )


def test_an_unpacked_model_is_a_model(path, tmp_path):
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path / "unpacked")
    assert read_model(tmp_path / "unpacked").model == MODEL


def test_replaces_a_model_but_nothing_else(path, tmp_path):
    write_model(path, StoredModel({"other": 1}, {}), "")
    assert read_model(path).model == {"other": 1}
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ModelError, match="already exists and is not a model file"):
        write_model(tmp_path / "notes.txt", StoredModel(MODEL, {}), "")
    assert (tmp_path / "notes.txt").read_text() == "mine"
    with pytest.raises(ModelError, match="is a directory"):
        write_model(tmp_path, StoredModel(MODEL, {}), "")
    with pytest.raises(ModelError, match="cannot be written: the directory"):
        write_model(tmp_path / "no" / "x.model", StoredModel(MODEL, {}), "")
    assert sorted(item.name for item in tmp_path.iterdir()) == ["notes.txt", "x.model"]


def test_a_failed_write_leaves_the_old_model(path, tmp_path):
    before = path.read_bytes()
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_model(path, StoredModel({"weight": float("nan")}, {}), "")
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["x.model"]


def test_changed_content_is_refused(path):
    with zipfile.ZipFile(path) as archive:
        document = json.loads(archive.read("model.json"))
    document["model"]["features"] = "bleu[order=2]"
    rewrite(path, "model.json", json.dumps(document).encode())
    with pytest.raises(ModelError, match="digest do not match"):
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

    write_model(path, StoredModel(MODEL, ARRAYS), "")
    buffer = io.BytesIO()
    np.savez(buffer, bomb=np.array([Bomb()], dtype=object), allow_pickle=True)
    rewrite(path, "extractor0.npz", buffer.getvalue())
    resign(path, {"extractor0.npz": {"bomb": "0"}})
    with pytest.raises(ModelError, match="does not contain plain arrays"):
        read_model(path)
    assert not marker.exists()


def resign(path, arrays: dict[str, dict[str, str]]) -> None:
    """Give a model digests of other arrays, as whoever writes a hostile file would."""
    with zipfile.ZipFile(path) as archive:
        document = json.loads(archive.read("model.json"))
    body = {"model": document["model"], "arrays": arrays}
    rewrite(path, "model.json", json.dumps({**document, **body, "digest": model_files.content_digest(body)}).encode())


def npy(head: str, values: bytes = b"") -> bytes:
    """An npy file with any head."""
    text = head.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + values


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, raw in members.items():
            archive.writestr(name, raw)
    return buffer.getvalue()


HEAD = "{{'descr': '{}', 'fortran_order': False, 'shape': {}}}"
NOT_ARRAYS = {
    "empty file": b"",
    "empty member": zipped({"a.npy": b""}),
    "promises more than there is": zipped({"a.npy": npy(HEAD.format("<f8", "(1099511627776,)"), bytes(8))}),
    "holds more than it promises": zipped({"a.npy": npy(HEAD.format("<f8", "(1,)"), bytes(80))}),
    "negative side": zipped({"a.npy": npy(HEAD.format("<f8", "(-1,)"))}),
    "two negative sides": zipped({"a.npy": npy(HEAD.format("<f8", "(-1, -1)"), bytes(8))}),
    "overflowing sides": zipped({"a.npy": npy(HEAD.format("<f8", "(4294967296, 4294967296)"))}),
    "head that is no dict": zipped({"a.npy": npy("__import__('os')")}),
    "deep head": zipped({"a.npy": npy("(" * 5000)}),
    "text": zipped({"a.npy": npy(HEAD.format("<U2", "(1,)"), bytes(8))}),
    "damaged LZMA": (lambda raw: raw[:60] + bytes([raw[60] ^ 255]) + raw[61:])(
        zipped({"a.npy": npy(HEAD.format("<f8", "(1,)"), bytes(8))}, zipfile.ZIP_LZMA)
    ),
}


@pytest.mark.parametrize("raw", NOT_ARRAYS.values(), ids=NOT_ARRAYS)
def test_what_is_no_array_is_refused_before_anything_is_allocated(path, raw):
    rewrite(path, "extractor0.npz", raw)
    resign(path, {"extractor0.npz": {"a": "0"}})
    with pytest.raises(ModelError, match=r"extractor0\.npz does not contain plain arrays"):
        read_model(path)


def test_what_unpacks_to_too_much_is_refused_whatever_the_heads_say(path, tmp_path, monkeypatch):
    monkeypatch.setattr(model_files, "_LARGEST", 1 << 20)
    zeros = npy(HEAD.format("<u1", f"({1 << 20},)"), bytes(1 << 20))
    bomb = zipped({"a.npy": zeros})
    rewrite(path, "extractor0.npz", bomb)
    resign(path, {"extractor0.npz": {"a": "0"}})
    with pytest.raises(ModelError, match="unpacks to more than 1 MB"):
        read_model(path)
    # many small ones
    quarter = npy(HEAD.format("<u1", f"({1 << 18},)"), bytes(1 << 18))
    rewrite(path, "extractor0.npz", zipped({f"{n}.npy": quarter for n in range(8)}))
    with pytest.raises(ModelError, match="unpacks to more than 1 MB"):
        read_model(path)
    # a directory counts too
    (tmp_path / "unpacked").mkdir()
    (tmp_path / "unpacked" / "model.json").write_bytes(b" " * (1 << 20) + b"{}")
    with pytest.raises(ModelError, match="unpacks to more than 1 MB"):
        read_model(tmp_path / "unpacked")


@pytest.mark.parametrize("name", ["../x.npz", "/etc/passwd", "a/b.npz", "model.json", "CON\0.npz"])
def test_arrays_lie_in_files_of_plain_names(path, name):
    resign(path, {name: {"a": "0"}})
    with pytest.raises(ModelError, match="digest do not match"):
        read_model(path)


def saved(save, arrays, **options) -> bytes:
    """An npz file as one of numpy's own functions writes it."""
    buffer = io.BytesIO()
    save(buffer, **arrays, **options)
    return buffer.getvalue()


def test_digests_do_not_depend_on_how_arrays_are_stored(path):
    digests = read_model(path).array_digests
    big_endian = {name: array.astype(array.dtype.newbyteorder(">")) for name, array in ARRAYS["extractor0"].items()}
    for raw in (saved(np.savez, ARRAYS["extractor0"]), saved(np.savez_compressed, big_endian)):
        rewrite(path, "extractor0.npz", raw)
        assert read_model(path).array_digests == digests
    assert StoredModel(MODEL, {"extractor0": big_endian}).array_digests == digests


@given(
    arrays(
        st.sampled_from([np.float64, np.float32, np.int32, np.uint8, "<U3"]),
        array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
    )
)
def test_an_array_has_another_digest_by_name_type_shape_or_value_only(array):
    digest = array_digest("a", array)
    assert digest == array_digest("a", array.copy(order="F")) == array_digest("a", array.copy())
    assert digest != array_digest("b", array)
    assert digest != array_digest("a", array[np.newaxis])
    assert digest != array_digest("a", array.astype("<U9"))
    if array.size:
        changed = array.copy()
        changed.flat[-1] = (
            "xyz" if array.dtype.kind == "U" and array.flat[-1] != "xyz" else 1 if array.flat[-1] != 1 else 2
        )
        assert digest != array_digest("a", changed)


@pytest.mark.parametrize(
    "change",
    [
        {"idf": np.linspace(0, 1, 7) + 1e-16 * np.arange(7)},
        {"idf": np.linspace(0, 1, 7, dtype=np.float32)},
        {"idf": np.linspace(0, 1, 7)[np.newaxis]},
        {"other": np.zeros(1)},
    ],
    ids=["value", "type", "shape", "array"],
)
def test_changed_arrays_are_refused(path, change):
    rewrite(path, "extractor0.npz", saved(np.savez_compressed, {**ARRAYS["extractor0"], **change}))
    with pytest.raises(ModelError, match="digest do not match"):
        read_model(path)


@pytest.mark.parametrize("content", [b"", b"junk", pickle.dumps({"a": 1}), b"PK\x03\x04 cut", b"{}"])
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "x.model").write_bytes(content)
    with pytest.raises(ModelError, match="is not a model file"):
        read_model(tmp_path / "x.model")


def test_every_truncation_is_refused(path):
    whole = path.read_bytes()
    for size in range(0, len(whole), 7):
        path.write_bytes(whole[:size])
        with pytest.raises(ModelError):
            read_model(path)


@pytest.mark.parametrize("document", [b"[]", b"{}", b'{"format":1}', b'{"format":2,"model":{},"arrays":[],"digest":0}'])
def test_other_json_is_refused(path, document):
    rewrite(path, "model.json", document)
    with pytest.raises(ModelError):
        read_model(path)


def test_missing_model_names_the_command(tmp_path):
    with pytest.raises(ModelError, match="no such model; train one with: ranker train"):
        read_model(tmp_path / "x.model")


READ = """
import sys
from ranker.storage.model_files import read_model
from ranker.errors import ModelError

def peak():
    return int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0])

before = peak()
try:
    read_model(sys.argv[1])
except ModelError as error:
    print(error)
print((peak() - before) >> 10)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells the most memory that a process held")
@pytest.mark.parametrize(
    "how", ["an array", "nested JSON", *map(further, ("small arrays", "JSON", "names", "entries"))]
)
@thorough
def test_a_small_file_takes_little_memory_whatever_it_unpacks_to(how, path):
    size = 1 << 28
    if how.endswith("array") or how == "small arrays":
        parts = 1 if how == "an array" else 64
        content = npy(HEAD.format("|u1", f"({size // parts},)"), bytes(size // parts))
        rewrite(path, "extractor0.npz", zipped({f"a{part}.npy": content for part in range(parts)}))
        resign(path, {"extractor0.npz": {f"a{part}": "0" for part in range(parts)}})
    elif how == "names":
        rewrite(path, "extractor0.npz", zipped({f"{'n' * 60_000}{part}": b"" for part in range(1000)}))
        resign(path, {"extractor0.npz": {}})
    elif how == "entries":
        rewrite(path, "extractor0.npz", zipped({str(part): b"" for part in range(60_000)}))
        resign(path, {"extractor0.npz": {}})
    else:
        items = "{}" if how == "JSON" else "[[[[]]]]"
        rewrite(path, "model.json", f'{{"format": 2, "model": [{",".join([items] * (5 << 20))}]}}'.encode())
    # compressed once more
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    path.write_bytes(zipped(files))
    run = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True)
    error, memory = run.stdout.splitlines()
    assert error.startswith(f"{path}: ")
    assert int(memory) < 200, error


def test_arrays_that_compress_as_far_as_any_learnt_ones_are_read(tmp_path):
    sparse = {"extractor0": {"weights": np.zeros(3_000_000), "values": np.arange(100_000.0) % 7}}
    write_model(tmp_path / "x.model", StoredModel(MODEL, sparse), "")
    assert read_model(tmp_path / "x.model").arrays["extractor0"]["weights"].flags.writeable
