from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from ranker import compare_systems, from_frame
from ranker.corpora.dataset import concatenate_datasets
from ranker.errors import DataError
from ranker.evaluation.systems.bradley_terry import davidson
from ranker.evaluation.systems.human_ranking import rank_systems
from tests.effort import thorough

TRUE = np.array([0.8, 0.3, 0.1, -0.4, -0.8])


def drawn(size, ties, generator):
    """Comparisons of five systems with the log strengths `TRUE`."""
    first = generator.integers(5, size=size)
    second = (first + generator.integers(1, 5, size=size)) % 5
    half = (TRUE[first] - TRUE[second]) / 2
    chances = np.stack([np.exp(half), np.exp(-half), np.full(size, ties)])
    above, below = chances[:2] / chances.sum(axis=0)
    place = generator.random(size)
    return first, second, np.where(place < above, 1, np.where(place < above + below, -1, 0))


def strengths(first, second, outcome, source=None, resamples=0, seed=0):
    names = [f"s{number}" for number in range(1 + max(*first, *second))]
    source = np.arange(len(first)) if source is None else source
    sides = np.asarray(first), np.asarray(second), np.asarray(outcome)
    return davidson(*sides, source, names, resamples, np.random.default_rng(seed), "here")


@pytest.mark.parametrize(("wins", "losses", "ties"), [(7, 3, 0), (7, 3, 5), (1, 9, 2)])
def test_two_systems_have_the_odds_between_them(wins, losses, ties):
    outcome = np.repeat([1, -1, 0], [wins, losses, ties])
    scores, _ = strengths(np.zeros(len(outcome), int), np.ones(len(outcome), int), outcome)
    assert scores == pytest.approx([np.log(wins / losses) / 2, -np.log(wins / losses) / 2])


def test_the_most_likely_strengths_are_found_with_ties():
    first, second, outcome = drawn(300, 0.7, np.random.default_rng(0))

    def surprise(values):
        half = (values[first] - values[second]) / 2
        total = np.log(np.exp(half) + np.exp(-half) + np.exp(values[5]))
        return (total - np.where(outcome, outcome * half, values[5])).sum()

    wanted = minimize(surprise, np.zeros(6), tol=1e-12).x[:5]
    assert strengths(first, second, outcome)[0] == pytest.approx(wanted - wanted.mean(), abs=1e-5)


def test_without_ties_it_is_logistic_regression():
    first, second, outcome = drawn(300, 0.0, np.random.default_rng(1))
    design = np.eye(5)[first] - np.eye(5)[second]
    model = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10, max_iter=1000).fit(design[:, :4], outcome)
    wanted = np.append(model.coef_[0], 0.0)
    assert strengths(first, second, outcome)[0] == pytest.approx(wanted - wanted.mean(), abs=1e-5)


@thorough
def test_intervals_hold_the_truth_and_p_values_are_uniform_enough():
    inside, small = [], []
    for seed in range(150):
        # sources with five comparisons each
        first, second, outcome = drawn(300, 0.5, np.random.default_rng(seed))
        _, sample = strengths(first, second, outcome, np.arange(300) // 5, 200, seed)
        low, high = np.percentile(sample, [2.5, 97.5], axis=0)
        inside += [*((low <= TRUE) & (high >= TRUE))]
        equal = drawn(200, 0.5, np.random.default_rng(seed))[2] * np.random.default_rng(1000 + seed).choice(
            [-1, 1], 200
        )
        scores, sample = strengths(np.zeros(200, int), np.ones(200, int), equal, None, 200, seed)
        small.append((np.abs(sample[:, 0] - sample[:, 0].mean()) >= abs(scores[0])).mean() < 0.05)
    assert 0.92 < np.mean(inside) < 0.97
    assert 0.02 < np.mean(small) < 0.09


def test_a_source_with_one_comparison_weighs_as_others_do():
    first, second, outcome = drawn(200, 0.5, np.random.default_rng(2))
    alone, pairs = (strengths(first, second, outcome, source, 2000)[1] for source in (np.arange(200), None))
    together = strengths(*(np.repeat(side, 2) for side in (first, second, outcome)), np.arange(400) // 2, 2000)[1]
    assert (alone == pairs).all()
    assert together.std(axis=0) == pytest.approx(alone.std(axis=0), rel=0.1)


@pytest.mark.parametrize(
    ("first", "second", "outcome", "says"),
    [
        ([0, 0, 2, 2], [1, 1, 3, 3], [1, -1, 1, -1], "here: no comparison connects s0, s1 with the other systems"),
        ([0, 0, 1, 1], [1, 2, 2, 2], [1, 1, 1, -1], "s0 won all comparisons with the other systems"),
        ([0, 0], [1, 1], [1, 0], "so strengths are not finite"),
        ([0, 0, 1, 1], [1, 1, 2, 2], [1, 0, 0, 1], "so strengths are not finite"),
        ([*range(30)], [*range(1, 31)], [1] * 30, "so strengths are not finite"),
    ],
)
def test_comparisons_without_finite_strengths_are_refused(first, second, outcome, says):
    with pytest.raises(DataError, match=says):
        strengths(first, second, outcome)


@pytest.mark.parametrize("ties", [0, 2])
def test_a_long_chain_of_systems_has_finite_strengths(ties):
    """Only neighbours are compared, 3:1, so that the first and last of 60 systems are 59 log 3 apart."""
    outcome = [1, 1, 1, -1, *[0] * ties]
    first = np.repeat(np.arange(59), len(outcome))
    scores, _ = strengths(first, first + 1, np.tile(outcome, 59))
    assert -np.diff(scores) == pytest.approx([np.log(3)] * 59)


def test_ties_hold_systems_together_only_where_other_outcomes_limit_their_share():
    """Systems 0 and 1 differ by a win and a tie, and 2 and 3 have a win each way."""
    scores, _ = strengths([0, 0, 2, 2, 0, 1], [1, 1, 3, 3, 2, 3], [1, 0, 1, -1, 0, 0])
    assert np.ptp(scores) < 10
    with pytest.raises(DataError, match="s3 lost all comparisons"):
        strengths([0, 0, 2, 2, 0], [1, 1, 3, 3, 2], [1, 0, 1, 1, 1])


def test_a_system_that_is_preferred_on_one_source_is_not_significantly_better():
    first, second, outcome = drawn(100, 0.5, np.random.default_rng(3))
    names = np.array(["E", "D", "C", "B", "A", "new"])
    frame = pd.DataFrame(
        {
            "source": [f"s{number}" for number in [*range(100), *[0] * 10]],
            "system_a": names[[*first, *[5] * 10]],
            "system_b": names[[*second, *[4] * 10]],
            "preferred": np.array(["tie", "a", "b"])[[*outcome, *[1] * 9, -1]],
        }
    )
    result = compare_systems(from_frame(frame), resamples=300)
    pairs = {frozenset((pair.better, pair.worse)): pair for pair in result.comparisons[0].pairs}
    assert {pair.p for names, pair in pairs.items() if "new" in names} == {1.0}
    assert pairs[frozenset("EA")].adjusted < 0.05
    assert result.notes == (
        "frame: new was compared on fewer than 6 sources, so that no difference can be significant",
    )


def test_systems_are_compared_by_preferences_alone():
    first, second, outcome = drawn(400, 0.5, np.random.default_rng(3))
    names = np.array(["E", "D", "C", "B", "A"])
    frame = {"system_a": names[first], "system_b": names[second], "preferred": np.array(["tie", "a", "b"])[outcome]}
    dataset = from_frame(pd.DataFrame(frame))
    (compared,) = compare_systems(dataset, baseline="A", resamples=300).comparisons
    (ranked,) = rank_systems(dataset, method="bradley-terry", resamples=0)
    assert [each.score.value for each in compared.systems] == [each.score for each in ranked.systems]
    assert [each.system for each in compared.systems][::4] == ["E", "A"]
    assert compared.systems[0].p == pytest.approx(1 / 301)
    assert sum(each.details["won"] - each.details["lost"] for each in compared.systems) == 0
    with pytest.raises(DataError, match="preferences between systems without texts"):
        compare_systems(dataset, ["chrf"])
    rated = from_frame(pd.DataFrame({"source": ["s", "t"], "system": "B", "text": ["u", "v"], "lp": "fr-en", "x": 1.0}))
    other = from_frame(pd.DataFrame({"model_a": ["B"], "model_b": ["C"], "winner": ["a"], "lp": ["is-en"]}))
    result = compare_systems(concatenate_datasets([dataset, rated, other]), baseline="A", resamples=300)
    assert [each.lp.known for each in result.comparisons] == [None]
    left_out = [note.removeprefix("left out frame+frame+frame ") for note in result.notes]
    assert left_out == ["fr-en, which has no preferences", "is-en, which has only one source"]
    (note,) = compare_systems(dataset, resamples=10).notes
    assert note.startswith("no difference can be significant: with 10 resamples the smallest p-value is 0.091, not ")
    unnamed = pd.DataFrame({"prompt": ["x", "y"], "chosen": ["a", "b"], "rejected": ["c", "d"]})
    with pytest.raises(DataError, match="name no systems"):
        compare_systems(from_frame(unnamed))
