"""Arrays that do not fit are refused before anything reads them, whatever their digests say."""

from __future__ import annotations

import numpy as np
import pytest

from ranker import Ranker, load_dataset
from ranker.errors import ModelError
from ranker.extractors.paraphrase.features import STATE as PARAPHRASE
from ranker.extractors.semantic.features import STATE as SEMANTIC
from ranker.extractors.semantic.features import Semantic
from ranker.storage.array_rules import ArrayRule, check_arrays
from ranker.storage.model_files import StoredModel, read_model, write_model

SCHEMA = {
    "offsets": ArrayRule("int64", ("words + 1",), offsets_into="entries"),
    "columns": ArrayRule("int32", ("entries",), least=0, below="words"),
    "ids": ArrayRule("int32", ("words",), increasing=True),
    "weights": ArrayRule("float32", ("entries", 2), above=0.0, most=1.0),
}
GOOD = {
    "offsets": np.array([0, 1, 1, 3]),
    "columns": np.array([2, 0, 1], dtype=np.int32),
    "ids": np.array([-5, 0, 7], dtype=np.int32),
    "weights": np.full((3, 2), 0.5, dtype=np.float32),
}


def test_what_is_as_declared_passes_and_its_sizes_are_known():
    assert check_arrays(GOOD, SCHEMA, "x") == {"words": 3, "entries": 3}


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("offsets", None, "is missing"),
        ("more", np.zeros(1), "is unexpected"),
        ("columns", GOOD["columns"].astype(np.int64), "is int64 of 1 dimensions, expected int32 of 1"),
        ("columns", GOOD["columns"].astype(">i4"), "expected int32"),
        ("columns", GOOD["columns"][np.newaxis], "2 dimensions"),
        ("columns", GOOD["columns"][:2], "array 'weights' has a dimension of length 3, expected 2"),
        ("offsets", np.zeros(0, dtype=np.int64), "has a dimension of length 3, expected -1"),
        ("offsets", np.array([0, 2, 1, 3]), "does not contain offsets from 0 to 3"),
        ("offsets", np.array([1, 1, 1, 3]), "does not contain offsets from 0 to 3"),
        ("offsets", np.array([0, 1, 2, 4]), "does not contain offsets from 0 to 3"),
        ("columns", np.array([2, 0, 3], dtype=np.int32), "holds 3, expected less than 3"),
        ("columns", np.array([2, 0, -1], dtype=np.int32), "holds -1, expected 0 or more"),
        ("ids", np.array([0, 0, 7], dtype=np.int32), "is not sorted"),
        ("weights", np.full((3, 2), np.nan, dtype=np.float32), "not finite"),
        ("weights", np.full((3, 3), 0.5, dtype=np.float32), "has a dimension of length 3, expected 2"),
        ("weights", np.zeros((3, 2), dtype=np.float32), "expected more than 0"),
        ("weights", np.full((3, 2), 1.5, dtype=np.float32), r"expected 1\.0 or less"),
    ],
)
def test_what_is_not_as_declared_is_refused_in_one_line(name, value, says):
    arrays = {key: array for key, array in {**GOOD, name: value}.items() if array is not None}
    with pytest.raises(ModelError, match=says) as refused:
        check_arrays(arrays, SCHEMA, "x.model")
    assert str(refused.value).startswith("x.model: array ")
    assert "\n" not in str(refused.value)


def damages(array, rule):
    """Yield arrays that break a rule in every way that it can be broken."""
    yield None
    yield array[np.newaxis]
    yield array.astype(np.float16)
    if not isinstance(rule.shape[0], int):
        yield array[:-1]
    if not array.size:
        return
    for bad in (np.iinfo(array.dtype).max, np.iinfo(array.dtype).min) if array.dtype.kind == "i" else ():
        yield np.where(np.arange(array.size).reshape(array.shape) == array.size // 2, bad, array).astype(array.dtype)
    for bad in (np.nan, np.inf, -1.0) if array.dtype.kind == "f" else ():
        yield np.where(np.arange(array.size).reshape(array.shape) == array.size // 2, bad, array).astype(array.dtype)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "x.model"
    Ranker(features="paraphrase", C=0.01).fit(load_dataset("sample")).save(path)
    return path


@pytest.mark.parametrize("name", PARAPHRASE)
def test_hostile_substitutions_with_right_digests(model, tmp_path, name):
    stored = read_model(model)
    file, group = next((file, group) for file, group in stored.arrays.items() if name in group)
    changed = list(damages(group[name], PARAPHRASE[name]))
    if name in ("first", "second"):
        changed.append(group[name][::-1].copy())
    if name == "words":
        # another number of words; no UTF-8
        changed.append(np.append(group[name], np.uint8(10)))
        changed.append(np.where(np.arange(group[name].size) == 3, 0xFF, group[name]).astype(np.uint8))
    for array in changed:
        arrays = {key: item for key, item in {**group, name: array}.items() if item is not None}
        if (
            array is not None
            and name == "words"
            and array.ndim == 1
            and array.dtype == np.uint8
            and len(array) < len(group[name])
        ):
            continue  # one letter less in the last word is another model, not a broken one
        write_model(tmp_path / "y.model", StoredModel(stored.model, {**stored.arrays, file: arrays}), "")
        with pytest.raises(ModelError, match=r"y\.model: paraphrase: "):
            Ranker.load(tmp_path / "y.model")


@pytest.mark.parametrize("name", SEMANTIC)
def test_hostile_digests_of_encoders(name):
    group = {"encoder": np.zeros(32, dtype=np.uint8)}
    Semantic().with_state(group)
    for array in damages(group[name], SEMANTIC[name]):
        arrays = {key: item for key, item in {**group, name: array}.items() if item is not None}
        with pytest.raises(ModelError):
            Semantic().with_state(arrays)
