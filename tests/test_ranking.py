"""The ranker itself: what a model file keeps of it."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import numpy as np
import pytest

from ranker import Ranker, load_dataset, model_files
from ranker.corpora.dataset import table


@pytest.fixture(scope="module")
def preferred():
    """Two language pairs, one judged more than the other, with preferences by their first rating."""
    sample = load_dataset("sample").select_sources(np.arange(120) < 40)
    generator = np.random.default_rng(0)
    first, second, relation = [], [], []
    for source, (start, stop) in enumerate(pairwise(sample.candidate_offsets)):
        for _ in range(6 if source % 2 else 2):
            pair = start + generator.choice(stop - start, size=2, replace=False)
            first.append(pair.min())
            second.append(pair.max())
            relation.append(generator.choice([">", "<", "="]))
    columns = {"first": first, "second": second, "relation": relation, "primary": np.ones(len(first), dtype=bool)}
    sources = sample.sources.assign(lp=["de-en" if source % 2 else "fr-en" for source in range(len(sample.sources))])
    return dataclasses.replace(sample, sources=sources, preferences=table("preferences", columns))


@pytest.mark.parametrize(
    "settings",
    [
        {"loss": "squared_hinge", "pairs": "balanced", "kind": "preferences", "C": 0.05},
        {"loss": "hinge", "pairs": "aggregated", "kind": "preferences"},
        {"loss": "squared_hinge", "C": "auto", "seed": 3, "kind": "adequacy"},
    ],
    ids=lambda settings: settings["kind"] + str(settings.get("pairs", "")),
)
def test_a_loaded_ranker_trains_as_it_was_trained(settings, preferred, tmp_path):
    ranker = Ranker("bleu[order=1],bleu[order=2],chrf", **settings).fit(preferred)
    ranker.save(tmp_path / "x.model")
    loaded = Ranker.load(tmp_path / "x.model")
    assert {name: getattr(loaded, name) for name in settings} == settings
    again = loaded.fit(preferred)
    np.testing.assert_array_equal(again.weights, ranker.weights)
    assert again.training == ranker.training
    assert again.digest == ranker.digest


def test_a_model_is_hashed_once(preferred, tmp_path, monkeypatch):
    ranker = Ranker("bleu,paraphrase", kind="adequacy").fit(preferred)
    hashed = []
    monkeypatch.setattr(model_files, "array_digest", lambda name, array: hashed.append(name) or "0")
    ranker.signature()
    ranker.save(tmp_path / "x.model")
    assert len(hashed) == len(set(hashed)) > 0
    assert ranker.digest[:8] in ranker.signature()


def test_saving_a_loaded_model_copies_it(preferred, tmp_path):
    Ranker("bleu,paraphrase", kind="adequacy").fit(preferred).save(tmp_path / "x.model")
    Ranker.load(tmp_path / "x.model").save(tmp_path / "y.model")
    assert (tmp_path / "x.model").read_bytes() == (tmp_path / "y.model").read_bytes()
