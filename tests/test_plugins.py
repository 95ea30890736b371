"""The module that plug-ins are written with, and the test that it offers them."""

from __future__ import annotations

import dataclasses
import doctest
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from ranker import metrics, plugins
from ranker.errors import ModelError
from ranker.evaluation.systems.run import compare_systems
from ranker.extractors.registry import BUILT_IN, extractor_class, make, make_metric
from ranker.plugins import FittedExtractor, Metric, Needs, SentenceMean, check
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.scorers import make_scorer
from tests.datasets import dataset_of
from tests.effort import further

QUICK = {"bleu", "chrf", "ter", "length", "rouge_l", "consensus", "perp"}


@pytest.mark.parametrize(
    "name", [name if name in QUICK else further(name) for name in BUILT_IN if name not in ("given", "lrscore")]
)
def test_all_that_is_included_keeps_the_promises(name, sample):
    check(make(name), sample)


@dataclass(frozen=True)
class Longest(FittedExtractor):
    """1 for the longest candidate of a source."""

    name: ClassVar[str] = "longest"
    needs = Needs(references=0)

    def transform(self, dataset):
        size = dataset.candidates["text"].str.len().groupby(dataset.candidate_source).transform("max")
        return (dataset.candidates["text"].str.len() == size).to_numpy(float)[:, np.newaxis]


@dataclass(frozen=True)
class Rank(Longest):
    """Place among all candidates of the data."""

    needs = Needs(references=0, other_candidates=True)

    def transform(self, dataset):
        return dataset.candidates["text"].str.len().rank().to_numpy(float)[:, np.newaxis]


@dataclass(frozen=True)
class Wrong(SentenceMean):
    """A column that is not the score of its statistics."""

    name: ClassVar[str] = "wrong"
    tokenizer: str = "none"
    lowercase: bool = False

    def sentence_scores(self, dataset):
        return dataset.candidates["text"].str.len().to_numpy(float)

    def transform(self, dataset):
        return np.zeros((len(dataset), 1))


def with_values(name, value):
    """Return a class of extractors whose only column has this value for all candidates."""
    return dataclass(frozen=True)(type(name, (Longest,), {"transform": lambda _, data: np.full((len(data), 1), value)}))


def reading(name, column):
    """Return a class of extractors with a column that the function `column` computes from a data set."""
    methods = {"transform": lambda _, data: np.asarray(column(data), dtype=float)[:, np.newaxis]}
    return dataclass(frozen=True)(type(name, (Longest,), methods))


def changing(change):
    """Return a metric of the candidates' lengths that calls `change` with the candidates."""

    class Changing(SentenceMean):
        name: ClassVar[str] = "changing"
        tokenizer: str = "none"
        lowercase: bool = False

        def sentence_scores(self, dataset):
            change(dataset.candidates)
            return dataset.candidates["text"].str.len().to_numpy(float)

    return dataclass(frozen=True)(Changing)


def in_lower_case(frame):
    frame["text"] = frame["text"].str.lower()


def emptied(frame):
    frame.loc[:, "text"] = "x"


def in_another_order(frame):
    frame["system"] = frame["system"].to_numpy()[::-1]


@pytest.mark.parametrize("change", [in_lower_case, emptied, in_another_order], ids=lambda change: change.__name__)
def test_a_plug_in_that_changes_the_data_is_refused(change, monkeypatch):
    monkeypatch.setitem(globals(), "Changing", changing(change))
    monkeypatch.setitem(BUILT_IN, "changing", f"{__name__}:Changing")
    says = r"changing: tests\.test_plugins\..*Changing\.sentence_scores changed the tables .* dataset\.candidates\.copy"
    for use in (
        lambda data: check(globals()["Changing"], data),
        lambda data: make_metric("changing").statistics(data),
        lambda data: FeatureSet.parse("chrf,changing").transform(data),
        lambda data: FeatureSet.parse("combine[chrf + changing]").transform(data),
        lambda data: compare_systems(data, {"changing": make_scorer("changing", None)}, resamples=2),
    ):
        with pytest.raises(ModelError, match=says):
            use(dataset_of([(["The cat"], ["A cat", "the Dog"]), (["It"], ["Is", "it"])]))


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (Longest, "do not depend on other candidates, or needs.other_candidates"),
        (Rank, "do not depend on other sources, or needs.other_sources"),
        (
            reading("Judged", lambda data: np.bincount(data.ratings["candidate"], minlength=len(data))),
            "human judgements",
        ),
        (reading("Named", lambda data: data.candidates["system"].str.len()), "the names of systems"),
        (Wrong, "the column to equal the score of the statistics"),
        (type("Loose", (FittedExtractor,), {"name": "loose", "transform": Longest.transform}), "a frozen dataclass"),
        (dataclass(frozen=True)(type("Old", (Longest,), {"needs_references": False})), "no attribute needs_references"),
        (dataclass(frozen=True)(type("Twice", (Longest,), {"columns": ("a", "a")})), "columns with different names"),
        (type("Nameless", (FittedExtractor,), {}), "a class that defines transform, name"),
        (
            dataclass(frozen=True)(type("Taken", (Longest,), {"name": "score"})),
            "no name or column called score, like a",
        ),
        (
            dataclass(frozen=True)(type("Texts", (Longest,), {"columns": ("text", "b")})),
            "no name or column called text",
        ),
        (int, "a class derived from Metric, FittedExtractor or Extractor"),
        (with_values("Endless", np.inf), "columns of finite numbers"),
        (with_values("Unknown", np.nan), "columns of finite numbers"),
        (dataclass(frozen=True)(type("Lower", (Longest,), {"lower_is_better": ("a",)})), "only its columns as low"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_broken_promises_are_named(kind, says, sample):
    with pytest.raises(ModelError, match=f"{kind.__name__}: expected .*{says}"):
        check(kind, sample)


def test_metrics_are_values():
    assert make_metric("bleu[order=2]") == metrics.Bleu(order=2)
    included = {kind.__name__ for kind in map(extractor_class, BUILT_IN) if issubclass(kind, Metric)}
    public = {name: value for name, value in vars(metrics).items() if not name.startswith("_")}
    assert included == {*public}
    assert all(map(dataclasses.is_dataclass, public.values()))


def test_examples():
    assert doctest.testmod(plugins).failed == 0
