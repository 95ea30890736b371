"""Of several references the one counts that is best for what is reported, in whatever order they are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ranker.extractors import registry
from ranker.extractors.base import Metric, fitted_on
from tests.datasets import dataset_of
from tests.effort import thorough

OWN_RULE = {
    "bleu": "clips against all references",
    "bp": "closest length",
    "consensus": "compares candidates",
    "ds": "mean over the references",
    "length": "closest length",
    "lrscore": "BLEU of all references",
    "mismatch": "the nearest reference",
    "nist": "information of all references",
    "perp": "language model of all references",
    "ter": "mean length of the references",
    "terp": "mean length of the references",
}
"""Extractors that use all references of a source together."""
ELSEWHERE = {"combine", "given", "paraphrase"}
"""Extractors that need other metrics, files or training."""
SLOW = {"ds", "semantic"}
MORE_THAN_PERFECT = {"pet_arity", "pet_max_arity", "rouge_w[measure=recall]"}
"""Metrics that give other texts more than a short reference itself."""
OPTIONS = {
    **dict.fromkeys(("rouge_l", "rouge_n", "rouge_s", "rouge_su", "rouge_w"), ("measure=precision", "measure=recall")),
    **dict.fromkeys(("precision", "recall", "f1"), ("alignment=isozaki", "alignment=ribes")),
    "gtm": ("exponent=2", "measure=precision", "measure=recall", "exponent=2,measure=precision"),
    "lrscore": ("alignment=isozaki",),
    "nkt": ("precision=0.25", "brevity=true"),
    "ngrams": ("unit=character",),
    "chrf": ("word_order=2", "beta=1"),
    "ter": ("search=tercom",),
}
ALL = [
    text if name not in SLOW else pytest.param(text, marks=thorough)
    for name in registry.BUILT_IN
    if name not in ELSEWHERE
    for text in ([] if name == "lrscore" else [name]) + [f"{name}[{options}]" for options in OPTIONS.get(name, ())]
]
SOURCES = [
    (["the cat", "cat", "the cat sat on it"], ["the cat", "cat", "a cat sat"]),
    (
        ["the long rain came down at night", "rain", "at night the long rain came"],
        ["the long rain came down at noon", "rain rain", "rain", "at night the rain came down"],
    ),
    (
        ["it rains in the old town", "it rains", "in the old town it rains , it rains"],
        ["it rains in the old town", "", "it rains", "in the town it rains"],
    ),
    (["a b c d e f g h", "h g f e d c b a", "a b c d x y z w"], ["a b c d h g f e", "a b c x y d", "h g f e d c b a"]),
    # equal F, other precision and recall
    (["a a a a a a a", "a", "b b b"], ["a a b b b", "b b b", "c"]),
]


def scores(text, sources):
    dataset = dataset_of(sources)
    return fitted_on(registry.make(text), dataset).transform(dataset)


@pytest.mark.parametrize("text", ALL)
def test_the_order_of_references_changes_no_score(text):
    expected = scores(text, SOURCES)
    for order in itertools.permutations(range(3)):
        found = scores(text, [([references[place] for place in order], outputs) for references, outputs in SOURCES])
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("text", ALL)
def test_the_order_of_references_changes_no_score_of_a_system(text):
    metric = registry.make(text)
    if not isinstance(metric, Metric) or "of equal ones the first" in " ".join((type(metric).__doc__ or "").split()):
        pytest.skip("no metric, or documented otherwise")
    sources = [*SOURCES, (["a c", "a b x y", "a b c d e f"], ["a b"]), (["x b", "a x c y", "a y"], ["a b", "a b c"])]
    results = []
    for order in itertools.permutations(range(3)):
        dataset = dataset_of([([references[place] for place in order], outputs) for references, outputs in sources])
        results.append(fitted_on(metric, dataset).statistics(dataset))
        np.testing.assert_array_equal(results[-1], results[0])


@pytest.mark.parametrize("text", ALL)
def test_the_best_reference_counts_for_each_column(text):
    extractor = registry.make(text)
    if extractor.name in OWN_RULE:
        pytest.skip(OWN_RULE[extractor.name])
    lower = not extractor.higher_is_better if isinstance(extractor, Metric) else False
    every = np.stack([scores(text, [([row[0][place]], row[1]) for row in SOURCES]) for place in range(3)])
    best = every.min(axis=0) if lower else every.max(axis=0)
    found = scores(text, SOURCES)
    if extractor.name == "meteor_parts":
        # the parts are of the reference with the best score
        found, best = found[:, :1], best[:, :1]
    np.testing.assert_array_equal(found, best)
    equal = [output in references for references, outputs in SOURCES for output in outputs]
    assert sum(equal) == 7
    perfect = scores(text, [([output], [output]) for references, outputs in SOURCES for output in outputs])
    if text not in MORE_THAN_PERFECT:
        np.testing.assert_array_equal(found[equal], perfect[equal, : found.shape[1]])


def test_sources_without_references_change_nothing_of_others():
    for order in (slice(None), slice(None, None, -1)):
        # equal precision, of a longer and a shorter reference
        dataset = dataset_of([(["a b c d", "a b"][order], ["a"]), ([], ["a"])])
        rows = registry.make("gtm[measure=precision]").statistics(dataset)
        assert rows.tolist() == [[1, 1, 4], [0, 1, 0]]


def test_rouge_by_recall_takes_the_first_of_equal_recall():
    sources = [(["cat", "the cat"], ["the cat"]), (["the cat", "cat"], ["the cat"])]
    assert scores("rouge_l[best_by=recall]", sources)[:, 0].tolist() == [pytest.approx(2 / 3), 1.0]
    assert scores("rouge_l", sources)[:, 0].tolist() == [1.0, 1.0]
    assert "best_by=recall" in registry.make("rouge_l[best_by=recall]").signature()
