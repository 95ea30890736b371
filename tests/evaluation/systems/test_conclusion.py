from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ranker import compare_systems, from_texts
from ranker.evaluation.resampling.bootstrap import Estimate
from ranker.evaluation.systems.human_ranking import rank_clusters
from ranker.evaluation.systems.result import ComparedSystem, SystemComparison, SystemPair, SystemsResult, conclusion

REFERENCES = [f"the number {number} is written on the wall of house {number + 1}" for number in range(40)]


@pytest.fixture(scope="module")
def result() -> SystemsResult:
    outputs = {"low": [text[:25] for text in REFERENCES], "high": [text[:-3] for text in REFERENCES]}
    return compare_systems(from_texts(outputs, REFERENCES), ["chrf"], resamples=50)


def compared(names: str, ahead: str, metric: str = "chrf") -> SystemComparison:
    """A comparison of systems with names of one letter, best first, and which is significantly better than which."""
    value, better = Estimate(0.0, 0.0, 0.0), {(pair[0], pair[1]) for pair in ahead.split()}
    low = np.array([1 + sum((other, name) in better for other in names) for name in names])
    high = np.array([len(names) - sum((name, other) in better for other in names) for name in names])
    clusters = rank_clusters(low, high)
    systems = [
        ComparedSystem(name, value, place, int(low[place - 1]), int(high[place - 1]), int(clusters[place - 1]))
        for place, name in enumerate(names, 1)
    ]
    pairs = [
        SystemPair(one, other, value, 0.0, 0.001 if (one, other) in better else 0.5, None, 0.0)
        for place, one in enumerate(names)
        for other in names[place + 1 :]
    ]
    return SystemComparison("?", metric, 40, names[0], tuple(systems), tuple(pairs))


@pytest.mark.parametrize(
    ("names", "ahead", "expected"),
    [
        ("ab", "ab", "a is better than b"),
        ("ab", "", "no system is significantly better than another"),
        ("abc", "ab ac", "a is best; b and c tie"),
        ("abc", "ab ac bc", "a is best; b follows; c is last"),
        ("abcd", "ab ac ad bd cd", "a is best; b and c tie; d is last"),
        ("abc", "ac", "a and b tie for first place; b and c tie for last place"),
        ("abc", "ac bc", "a and b tie for first place; c is last"),
        ("abcdef", "af bf cf df ef", "a, b, c and 2 more tie for first place; f is last"),
        ("abcd", "ab ac ad bd", "a is best; c and d tie for last place"),
    ],
)
def test_a_sentence_names_the_best_and_the_last(result: SystemsResult, names: str, ahead: str, expected: str) -> None:
    made = replace(result, comparisons=(compared(names, ahead),))
    assert conclusion(made, "?") == f"By chrf, {expected}."


def test_other_metrics_that_disagree_are_named(result: SystemsResult) -> None:
    metrics = (*result.metrics, replace(result.metrics[0], name="bleu"))
    comparisons = (compared("abc", "ab ac bc"), compared("bac", "ba bc ac", "bleu"))
    made = replace(result, metrics=metrics, comparisons=comparisons, nearly_identical=(("?", "a", "c"),))
    expected = "a is best; b follows; c is last; bleu puts b first; the outputs of a and c are nearly identical"
    assert conclusion(made, "?") == f"By chrf, {expected}."
    elsewhere = replace(made, comparisons=(*comparisons, replace(comparisons[0], lp="de-en")))
    assert elsewhere.conclusions[1].startswith("de-en: by chrf, a is best;")


def test_the_result_of_texts_begins_so(result: SystemsResult) -> None:
    assert result.conclusions == ("By chrf, high is better than low.",)
