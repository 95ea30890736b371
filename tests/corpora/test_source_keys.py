from __future__ import annotations

import dataclasses

import numpy as np

from ranker.corpora.dataset import Dataset
from ranker.corpora.selection import without_references
from ranker.corpora.source_keys import among, same_source, short_keys
from tests.datasets import dataset_of


def test_sources_with_the_same_text_are_the_same() -> None:
    items = [([f"reference {number}"], ["a", "b"]) for number in range(5)]
    data = dataset_of(items, sources=["x y", "z", "x  y ", "w", "z"])
    assert same_source(data).tolist() == [0, 1, 0, 3, 1]
    assert len(short_keys(data)) == 3


def without_text(data: Dataset) -> Dataset:
    nothing = data.sources["text"].mask(data.sources["text"] != "")
    return dataclasses.replace(data, sources=data.sources.assign(text=nothing))


def test_without_texts_sources_are_known_by_references_else_by_candidates() -> None:
    data = without_text(dataset_of([(["r", "s"], ["a"]), (["s", "r"], ["b"]), (["t"], ["a"])]))
    assert same_source(data).tolist() == [0, 0, 2]
    bare = without_references(data)
    assert same_source(bare).tolist() == [0, 1, 0]
    nothing = bare.select_candidates([False, False, False])
    assert same_source(nothing).tolist() == [0, 1, 2]
    assert not among(nothing, short_keys(nothing)).any()


def test_known_sources_are_found() -> None:
    data = dataset_of([([], ["a"])] * 4, sources=["w", "x", "y", "z"])
    keys = short_keys(data.select_sources([True, True, False, False]))
    assert keys.dtype == np.uint32
    assert among(data, keys).tolist() == [True, True, False, False]
