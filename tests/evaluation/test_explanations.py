"""Explanations: sums by family and by extractor, the words behind them, and how they are told."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ranker import Ranker
from ranker.corpora.dataset import Dataset
from ranker.evaluation.explanations.evidence import as_match, longest_ascending
from ranker.evaluation.explanations.pairs import (
    FAMILIES,
    by_family,
    check_pair,
    explain_pair,
    explain_pairs,
    headline,
    round_to_sum,
)
from ranker.extractors.base import Extractor
from ranker.extractors.registry import BUILT_IN, extractor_class, make
from ranker.ranking.feature_set import FeatureSet
from ranker.text.matched_words import (
    matched_words,
    readable_batch,
    stretches,
    words_matched_by_one,
    words_missed_by_both,
)
from tests.datasets import dataset_of
from tests.effort import thorough

FEATURES = "ngrams,bleu1-4,rouge_l,rouge_w,hamming,length,paraphrase[folds=2],perp[leave_out=true]"


@pytest.fixture(scope="module")
def ranker(sample: Dataset) -> Ranker:
    return Ranker(FEATURES, C=0.01).fit(sample)


def few(first: str, second: str, *references: str) -> Dataset:
    """Return a data set of one source with two candidates, too small for a language model."""
    return dataset_of([(references, [first, second])])


def explained(ranker: Ranker, dataset: Dataset):
    return explain_pair(ranker, dataset, ranker.contributions(dataset), 0, 1, strongest=99)


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_registered_extractor_says_what_its_features_are_about(name: str) -> None:
    kind = extractor_class(name)
    declared = next(item for item in kind.__mro__ if "family" in vars(item))
    # a combination has the family of its metrics
    assert declared is not Extractor or name == "combine", f"{name} declares no family"
    assert make(name).family in FAMILIES
    assert name in ("combine", "given") or make(name).family != "other"


def test_options_and_sums_may_change_the_family() -> None:
    assert [make(text).family for text in ("ngrams", "ngrams[unit=tag]")] == ["words", "syntax"]
    assert [make(f"combine[{text}]").family for text in ("bleu - ter", "bleu + nkt")] == ["words", "other"]
    assert FeatureSet.parse("length,bleu").families == ("length", "length", "words")


def test_contributions_are_added_up_by_family() -> None:
    values = np.array([[1.0, 2.0, 4.0], [0.5, 0.25, 0.0]])
    result = by_family(values, ["fluency", "words", "fluency"])
    assert list(result) == ["words", "fluency"]
    assert result["fluency"].tolist() == [5.0, 0.5]
    assert result["words"].tolist() == [2.0, 0.25]


@thorough
def test_sums_are_the_difference_of_the_scores(ranker: Ranker, sample: Dataset) -> None:
    scores = ranker.candidate_scores(sample)
    rows = check_pair(sample, "sys1", "sys5")
    explanations = list(explain_pairs(ranker, sample, ranker.contributions(sample), rows))
    assert len(explanations) == 120
    for source, (first, second) in zip(explanations, rows, strict=True):
        assert source.difference == scores[first] - scores[second]
        assert sum(source.families.values()) == pytest.approx(source.difference, abs=1e-12)
        assert sum(source.features.values()) == pytest.approx(source.difference, abs=1e-12)
        assert len(source.strongest) <= 5


@thorough
def test_features_of_one_extractor_are_one_figure(ranker: Ranker, sample: Dataset) -> None:
    explanation = explained(ranker, sample)
    names = [(item.family, item.extractor) for item in explanation.strongest]
    assert len(set(names)) == len(names)
    assert sum(item.difference for item in explanation.strongest) == pytest.approx(explanation.difference, abs=1e-9)
    by_name = {item.extractor: item for item in explanation.strongest}
    assert by_name["bleu"].features == 4
    assert by_name["rouge"].features == 2
    columns = [name for name in explanation.features if name.startswith("bleu")]
    assert by_name["bleu"].difference == pytest.approx(sum(explanation.features[name] for name in columns))
    sizes = [abs(item.difference) for item in explanation.strongest]
    assert sizes == sorted(sizes, reverse=True)


@thorough
def test_swapped_candidates_swap_the_signs_and_the_words(ranker: Ranker, sample: Dataset) -> None:
    matrix = ranker.contributions(sample)
    there, back = (explain_pair(ranker, sample, matrix, *rows) for rows in ((0, 4), (4, 0)))
    assert back.difference == -there.difference
    assert back.families == {name: -value for name, value in there.families.items()}
    for left, right in zip(there.strongest, back.strongest, strict=True):
        assert right.difference == -left.difference
        assert (left.evidence.first, left.evidence.second) == (right.evidence.second, right.evidence.first)


def test_a_language_model_without_data_contributes_nothing(ranker: Ranker) -> None:
    explanation = explained(
        ranker, few("the committee approved it", "it was turned down", "the committee approved the plan")
    )
    assert explanation.families["fluency"] == 0.0
    assert "perp" not in [item.extractor for item in explanation.strongest]
    assert "fluency" not in explanation.headline


def test_the_words_that_make_a_difference(ranker: Ranker) -> None:
    dataset = few("the committee approved it now", "now it was the plan", "the committee approved the plan")
    words = {item.extractor: item.evidence for item in explained(ranker, dataset).strongest}
    assert words["ngrams"].first == ("committee approved",)
    assert words["ngrams"].second == ("plan",)
    assert words["ngrams"].text == "only s0 matches 'committee approved'; only s1 matches 'plan'"
    assert "committee" in words["paraphrase"].first


def test_differences_are_told_as_such() -> None:
    ranker = Ranker.load("full")
    reference = "The company closed three plants in Poland."
    dataset = few("Three plants in Poland were closed.", reference.replace("closed", "opened"), reference)
    (item,) = (item for item in explained(ranker, dataset).strongest if item.family == "mismatch")
    assert (item.evidence.text, item.difference) == ("only s1 has 'opposite: opened for closed'", pytest.approx(1.5))


def test_words_out_of_order(ranker: Ranker) -> None:
    dataset = few("a b c d e", "e a b c d", "a b c d e")
    (order,) = (item.evidence for item in explained(ranker, dataset).strongest if item.family == "word order")
    assert (order.first, order.second) == ((), ("e",))
    assert order.text == "only s1 has out of order 'e'"


def test_lengths_are_told(ranker: Ranker) -> None:
    dataset = few("a", "a b c d", "a b c", "a b c d e f")
    (length,) = (item.evidence for item in explained(ranker, dataset).strongest if item.family == "length")
    assert length.text == "s0 has 1 word, its closest reference 3; s1 has 4 words, its closest reference 3"


def test_word_sequences_that_no_other_reference_has(sample: Dataset) -> None:
    """Brute force over all references of other sources."""
    learnt = Ranker("perp", C=0.01).fit(sample)
    matrix = learnt.contributions(sample)
    batch = readable_batch(sample)

    def pairs(words: list[str]) -> set[tuple[str, str]]:
        return set(itertools.pairwise(words))

    for first, second in ((0, 4), (7, 10), (70, 76)):
        source = batch.candidate_source[first]
        known: set[tuple[str, str]] = set()
        for row, owner in enumerate(sample.references["source"]):
            if owner != source:
                known |= pairs(batch.segments.words(int(batch.reference[row])))
        own, other = (pairs(batch.segments.words(int(batch.candidate[row]))) for row in (first, second))
        (explanation,) = explain_pair(learnt, sample, matrix, first, second).strongest
        expected = own - other - known
        assert bool(explanation.evidence.first) == bool(expected)
        text = " ".join(explanation.evidence.first)
        assert all(word in text for pair in expected for word in pair)


def test_evidence_of_edits_and_similarities_is_told_as_matches() -> None:
    texts = ["the = the", "+ too", "- missing", "big ~ large (synonym)", "red ~ blue (substitution)", "cat~cat 0.99"]
    assert [as_match(item) for item in texts] == ["the", "", "", "big ~ large (synonym)", "", "cat"]
    assert [as_match(item) for item in ("cat~dog 0.61", "cat~(none) 0.00")] == ["cat~dog", ""]


@given(st.lists(st.integers(0, 8), max_size=9))
def test_alongest_ascending_sequence_is_that_of_brute_force(values: list[int]) -> None:
    result = longest_ascending(values)
    chosen = [
        list(combination) for size in range(len(values) + 1) for combination in itertools.combinations(values, size)
    ]
    ascending = [item for item in chosen if all(low < high for low, high in itertools.pairwise(item))]
    assert result in ascending
    assert len(result) == max(map(len, ascending))


def test_a_headline_is_in_plain_words() -> None:
    families = {"words": 0.61, "fluency": 0.31, "length": -0.08}
    texts = "A is above C by 0.84: words +0.61, fluency +0.31, length -0.08"
    assert headline("A", "C", 0.84, families) == texts
    assert headline("C", "A", -0.84, {name: -value for name, value in families.items()}) == texts
    assert headline("A", "C", 0.0, families) == "A and C tie"
    assert headline("A", "C", 0.0123, {"words": 0.0123}) == "A is above C by 0.012: words +0.012"


@example([0.905], 2)
@example([-0.905], 2)
@given(st.lists(st.floats(-3, 3), min_size=1, max_size=7), st.integers(0, 4))
def test_figures_add_up_as_they_are_written(values: list[float], digits: int) -> None:
    total = sum(values)
    result = round_to_sum(values, total, digits)
    assert f"{sum(result):z.{digits}f}" == f"{total:z.{digits}f}"
    for value, figure in zip(values, result, strict=True):
        assert abs(value - figure) < 10.0**-digits * 1.0001


def test_matched_words_are_clipped_by_the_reference_that_has_most() -> None:
    dataset = few("the the the cat", "a dog", "the cat the", "a cat")
    batch = readable_batch(dataset)
    assert matched_words(batch, 0) == Counter({"the": 2, "cat": 1})
    assert matched_words(batch, 1) == Counter({"a": 1})
    assert words_matched_by_one(batch, 0, 1) == (("the the", "cat"), ("a",))
    assert words_missed_by_both(batch, 0, 1) == ()
    assert words_missed_by_both(readable_batch(few("a", "b", "a B c d, a")), 0, 1) == ("a", "c d,")


def test_stretches_are_of_the_text_as_it_is_written() -> None:
    words = ["he", "said", ":", "no", "!"]
    assert stretches('He said: "No!"', words, [False, True, True, False, False]) == ("said:",)
    assert stretches("He said", ["he", "&quot;", "said"], [True, True, True]) == ("he &quot; said",)
    assert stretches("", [], []) == ()
