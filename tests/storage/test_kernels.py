from __future__ import annotations

import dataclasses

import numba
import numpy as np
import pytest

import ranker
from ranker.extractors import registry
from ranker.extractors.feature_sets import FeatureSet
from ranker.storage import kernels
from ranker.storage.kernels import kernel

CHECKED = [
    *dict.fromkeys(
        str(extractor)
        for name in ("full-any", "lexical", "ye07-order")
        for extractor in FeatureSet.parse(name).extractors
        if extractor.fit_scope == "none" and extractor.name.partition(".")[0] not in ("consensus", "lrscore", "given")
    ),
    *("chrf", "ter", "gtm", "per", "wer", "consensus[trust=source]", "perp[match=true,model=shipped]"),
]


@pytest.fixture
def automatic(monkeypatch):
    """Kernels are compiled where there is enough to do, and none of them is on disk."""
    monkeypatch.setattr(kernels, "_mode", "auto")
    monkeypatch.setattr(kernels, "njit", lambda cache, **options: numba.njit(**options))


def total(values, table):
    result = 0
    for value in values:
        result += 2 * value
    return result


@pytest.fixture(scope="module")
def dataset():
    whole = ranker.load_dataset("sample")
    return whole.select_sources(np.arange(len(whole.sources)) < 1)


def test_few_elements_are_not_worth_compiling(automatic):
    added = kernel(total)
    assert added(np.arange(10), np.zeros(3)) == 90
    assert added.signatures == []


def test_tables_do_not_count(automatic):
    added = kernel(tables=("table",))(total)
    assert added(np.arange(10), np.zeros(kernels.ELEMENTS + 1)) == 90
    assert added.signatures == []


def test_plain_results_equal_compiled_ones_and_much_to_do_is_compiled(automatic):
    added = kernel(total)
    values = np.arange(kernels.ELEMENTS // 2 - 1)
    first = added(values, values)
    assert added.signatures == []
    assert added(values, values) == first
    assert len(added.signatures) == 1


def test_a_block_counts_anew(automatic):
    added = kernel(total)
    values = np.arange(kernels.ELEMENTS // 2 - 1)
    for _ in range(3):
        with kernels.using("auto"):
            added(values, values)
    assert added.signatures == []


def test_a_kernel_that_may_differ_is_always_compiled(automatic):
    added = kernel(total, elements=0)
    assert added(np.arange(10), np.zeros(3)) == 90
    assert len(added.signatures) == 1


@pytest.mark.parametrize("text", CHECKED)
def test_plain_kernels_give_the_same_bits_as_compiled_ones(dataset, text, monkeypatch):
    extractor = registry.make(text)
    fresh = dataclasses.replace(dataset)
    with kernels.using("compiled"):
        compiled = extractor.fit(dataset).transform(dataset)
    with kernels.using("plain"):
        monkeypatch.setattr(kernels.CPUDispatcher, "__call__", lambda kernel, *_: pytest.fail(f"{kernel} is compiled"))
        plain = extractor.fit(fresh).transform(fresh)
    assert plain.tobytes() == compiled.tobytes()
