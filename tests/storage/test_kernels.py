from __future__ import annotations

import dataclasses
import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core import caching

import ranker
from ranker import threads
from ranker.extractors import registry
from ranker.extractors.meteor.alignment import align_pairs
from ranker.ranking.feature_set import FeatureSet
from ranker.storage import compiled_kernels, kernels
from ranker.storage.kernels import kernel
from tests.effort import further, thorough

ROOT = Path(__file__).resolve().parents[2]
CHECKED = [
    *dict.fromkeys(
        str(extractor)
        for name in ("full-any", "lexical", "ye07-order")
        for extractor in FeatureSet.parse(name).extractors
        if extractor.fit_scope == "none" and extractor.name.partition(".")[0] not in ("consensus", "lrscore", "given")
    ),
    *("chrf", "ter", "gtm", "per", "wer", "consensus[trust=source]", "perp[match=true,model=shipped]"),
]


QUICKLY_COMPILED = ("bleu", "gtm", "per", "wer", "consensus")
ALWAYS_CHECKED = [name if name.startswith(QUICKLY_COMPILED) else further(name) for name in CHECKED]


@pytest.fixture
def automatic(monkeypatch):
    """Kernels are compiled where there is enough to do, and none of them is on disk."""
    monkeypatch.setattr(kernels, "_mode", "auto")
    monkeypatch.setattr(compiled_kernels.CPUDispatcher, "enable_caching", lambda kernel: None)


def total(values, table):
    result = 0
    for value in values:
        result += 2 * value
    return result


@pytest.fixture(scope="module")
def sample():
    return ranker.load_dataset("sample")


@pytest.fixture(scope="module")
def dataset(sample):
    return sample.select_sources(np.arange(len(sample.sources)) < 1)


def test_few_elements_are_not_worth_compiling(automatic):
    added = kernel(total)
    assert added(np.arange(10), np.zeros(3)) == 90
    assert added.signatures == []


def test_tables_do_not_count(automatic):
    added = kernel(tables=("table",))(total)
    assert added(np.arange(10), np.zeros(kernels.ELEMENTS + 1)) == 90
    assert added.signatures == []


def test_one_pair_of_a_long_text_is_little_to_do():
    offsets = np.arange(0, 1_000_001, 10)
    assert align_pairs._size((np.zeros(1_000_000, dtype=np.int32), offsets, np.array([[5, 70]]), None, None)) == 20


def test_plain_results_equal_compiled_ones_and_much_to_do_is_compiled(automatic):
    added = kernel(total)
    values = np.arange(kernels.ELEMENTS // 2 - 1)
    first = added(values, values)
    assert added.signatures == []
    assert added(values, values) == first
    assert len(added.signatures) == 1


def test_compiled_code_on_disk_is_loaded_for_a_quarter_of_what_is_worth_compiling(automatic, monkeypatch):
    monkeypatch.setattr(compiled_kernels.CompiledKernel, "is_on_disk", lambda kernel: True)
    added = kernel(tables=("table",))(total)
    values = np.arange(kernels.ELEMENTS // 4)
    first = added(values, np.zeros(3))
    assert added.signatures == []
    assert added(values, np.zeros(3)) == first
    assert len(added.signatures) == 1


def test_a_kernel_that_may_differ_is_always_compiled(automatic):
    added = kernel(total, elements=0)
    assert added(np.arange(10), np.zeros(3)) == 90
    assert len(added.signatures) == 1


INNER = """
from typing import NamedTuple
from ranker.storage.kernels import kernel
class Pair(NamedTuple):
    first: int
    second: int
OFFSET = 10
@kernel(elements=0)
def inner(n):
    return n + OFFSET
@kernel(elements=0)
def unused(n):
    return n
"""
OUTER = """
import pathlib
import inner_module
from inner_module import Pair, inner, unused
from ranker.storage import compiled_kernels
from ranker.storage.kernels import kernel
SCALE = inner_module.OFFSET * 100
@kernel(elements=0)
def outer(n):
    return middle(n) + SCALE + inner_module.OFFSET + Pair(1000, n).first
@kernel(elements=0)
def middle(n):
    return inner(n)
if __name__ == "__main__":
    folder = pathlib.Path(outer.compiled._cache.cache_path)
    print(outer(1), compiled_kernels.number, len(list(folder.glob("*.nbi"))))
"""


@thorough
def test_a_kernel_is_compiled_again_if_what_it_uses_has_changed_in_any_module(tmp_path):
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "NUMBA_CACHE_DIR": str(tmp_path / "c")}
    # what is compiled to bytecode is taken for a file of the same size and second
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    (tmp_path / "outer_module.py").write_text(OUTER)
    changes = {
        "nothing": ("", "", "2021 3 3"),
        "nothing again": ("", "", "2021 0 3"),
        "a comment and another kernel": ("return n\n", "return -n  # negative\n", "2021 0 3"),
        "the kernel that is called": ("n + OFFSET", "2 * n + OFFSET", "2022 3 3"),
        "a constant": ("OFFSET = 10", "OFFSET = 20", "3042 3 3"),
        "the fields of a tuple": ("first: int\n    second: int", "second: int\n    first: int", "2043 1 3"),
    }
    text, printed = INNER, {}
    for name, (old, new, _) in changes.items():
        text = text.replace(old, new)
        (tmp_path / "inner_module.py").write_text(text)
        result = subprocess.run(
            [sys.executable, tmp_path / "outer_module.py"], capture_output=True, text=True, check=True, env=environment
        )
        printed[name] = result.stdout.strip()
    assert printed == {name: expected for name, (_, _, expected) in changes.items()}


@thorough
def test_a_ranker_is_learnt_from_the_sample_and_reported_on_without_compiling(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kernels"), "RANKER_KERNELS": "auto"}
    model, page = tmp_path / "sample.model", tmp_path / "page.html"
    for words in (
        ["train", "--data", "sample", "-o", model],
        ["evaluate", "--data", "sample", "--model", model],
        ["report", "--data", "sample", "--model", model, "--html", page, "--examples", "3"],
    ):
        command = [sys.executable, "-m", "ranker", *words]
        subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
    assert page.is_file()
    assert list(tmp_path.rglob("*.nbi")) == []


def test_kernels_work_where_nothing_can_be_kept(monkeypatch):
    monkeypatch.setattr(caching.CompileResultCacheImpl, "_locator_classes", [])
    added = kernel(total, elements=0)
    assert added(np.arange(10), np.zeros(3)) == 90
    assert not added.compiled.is_on_disk()


def sums(values, offsets, scale, written):
    result = np.zeros(len(offsets) - 1)
    for row in range(len(result)):
        for place in range(offsets[row], offsets[row + 1]):
            result[row] += scale[row] * values[place]
        written[row] = offsets[row + 1] - offsets[row]
    return result, result > 0


def places(values, offsets):
    if offsets[-1] > len(values):
        raise ValueError("beyond the end")
    for row in range(len(offsets) - 1):
        values[offsets[row] : offsets[row + 1]] = len(values[offsets[row] : offsets[row + 1]])


def test_threads_share_the_rows_and_what_they_return_is_joined(automatic):
    shared = kernel(elements=0, rows=("scale", "written"), offsets=("offsets",))(sums)
    for count, jobs in itertools.product((0, 1, 2, 31, 1000), (1, 2, 5)):
        rng = np.random.default_rng(count)
        offsets = np.append(0, np.cumsum(rng.integers(0, 4, count)))
        values, scale = rng.random(offsets[-1]), rng.random(count)
        made = []
        for function in (sums, shared):
            written = np.zeros(count, dtype=np.int64)
            with threads.using(jobs):
                made.append([*function(values, offsets, scale, written), written])
        for expected, found in zip(*made, strict=True):
            np.testing.assert_array_equal(found, expected)


def test_rows_are_written_in_place_and_an_error_in_one_part_is_raised(automatic):
    fill = kernel(elements=0, offsets=("offsets",))(places)
    offsets = np.arange(0, 2001, 2)
    values = np.zeros(2000)
    with threads.using(2):
        assert fill(values, offsets) is None
        assert set(values) == {2}
        with pytest.raises(ValueError, match="beyond the end"):
            fill(values[:1990], offsets)


def test_little_to_do_and_one_row_and_one_thread_are_one_call(automatic, monkeypatch):
    monkeypatch.setattr(kernels, "for_each_block", lambda *_: pytest.fail("threads"))
    fill = kernel(elements=0, offsets=("offsets",))(places)
    with threads.using(4):
        fill(np.zeros(100), np.arange(50))
        fill(np.zeros(100_000), np.array([0, 100_000]))
    with threads.using(1):
        fill(np.zeros(100_000), np.arange(100_001))


@pytest.mark.parametrize("size", [None, lambda *_: 100_000])
def test_threads_share_a_few_rows_that_take_long(automatic, monkeypatch, size):
    parts = []
    monkeypatch.setattr(kernels, "for_each_block", lambda run, n_blocks: parts.extend(map(run, range(n_blocks))))
    fill = kernel(elements=0, size=size, offsets=("offsets",))(places)
    values = np.zeros(30 if size else 30_000)
    with threads.using(4):
        fill(values, np.array([0, 1, 2, 3]) * (len(values) // 3))
    assert len(parts) == 3
    assert set(values) == {len(values) // 3}


@pytest.mark.parametrize("text", ALWAYS_CHECKED)
def test_any_number_of_threads_gives_the_same_bits(sample, text, monkeypatch):
    monkeypatch.setattr(kernels, "_WORTHWHILE", 10**9)
    extractor = registry.make(text)
    found = set()
    for jobs in (1, 3):
        with kernels.using("compiled"), threads.using(jobs):
            found.add(extractor.fit(sample).transform(dataclasses.replace(sample)).tobytes())
    assert len(found) == 1


@pytest.mark.parametrize("text", ALWAYS_CHECKED)
def test_plain_kernels_give_the_same_bits_as_compiled_ones(dataset, text, monkeypatch):
    extractor = registry.make(text)
    fresh = dataclasses.replace(dataset)
    with kernels.using("compiled"):
        compiled = extractor.fit(dataset).transform(dataset)
    with kernels.using("plain"):
        monkeypatch.setattr(
            compiled_kernels.CompiledKernel, "__call__", lambda kernel, *_: pytest.fail(f"{kernel} is compiled")
        )
        plain = extractor.fit(fresh).transform(fresh)
    assert plain.tobytes() == compiled.tobytes()
