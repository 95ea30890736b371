"""The mean human score with a metric as control variate: coverage and width by simulation, and in `ranker systems`."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ranker.corpora.catalogue import load
from ranker.corpora.judgements import human_scores
from ranker.evaluation.systems.control_variate import controlled_mean
from ranker.evaluation.systems.run import compare_systems
from ranker.ranking.scorers import candidate_scores, scorer_of
from tests.effort import thorough


@pytest.mark.parametrize(("judged", "skewed"), [(15, False), (100, True)])
@pytest.mark.parametrize("rho", [0.0, 0.4, 0.9])
@thorough
def test_the_interval_covers_the_mean_of_all_and_narrows_as_the_metric_agrees(judged, skewed, rho):
    generator = np.random.default_rng(int(100 * rho) + judged)
    covered, widths, errors = [], [], []
    for _ in range(2000):
        metric = np.minimum(generator.normal(size=500), 1.0)
        noise = 1.0 - generator.exponential(size=500) if skewed else generator.normal(size=500)
        human = 3.0 + rho * metric + np.sqrt(1 - rho**2) * noise
        human[judged:] = np.nan
        result = controlled_mean(human, metric)
        truth = 3.0 + rho * -0.08331547058768629  # of the normal distribution cut at 1
        covered.append(result.low <= truth <= result.high)
        widths.append(result.high - result.low)
        errors.append(result.value - truth)
    assert 0.925 <= np.mean(covered) <= 0.965
    assert abs(np.mean(errors)) <= 3.5 * np.std(errors) / np.sqrt(2000)
    if rho == 0.9 and judged == 100:
        assert np.mean(widths) < 0.6 * 2 * 1.984 / np.sqrt(judged)


def test_systems_judged_in_part_have_a_mean_of_all_sources():
    whole = load("sample")
    judged = whole.candidate_source[whole.ratings["candidate"].to_numpy()] % 3 == 0
    part = dataclasses.replace(whole, ratings=whole.ratings[judged], preferences=whole.preferences.iloc[:0])
    result = compare_systems(part, ["bleu"], kind="fluency", resamples=20).comparisons[0]
    human, metric = human_scores(part, "fluency"), candidate_scores(scorer_of("bleu"), part)
    for system in result.systems:
        rows = (part.candidates["system"] == system.system).to_numpy()
        known = rows & ~np.isnan(human)
        slope, _ = np.polyfit(metric[known], human[known], 1)
        expected = human[known].mean() + slope * (metric[rows].mean() - metric[known].mean())
        assert system.people.value == pytest.approx(expected, abs=1e-12)
        assert system.people.low < expected < system.people.high
    of_all = compare_systems(whole, ["bleu"], kind="fluency", resamples=20).comparisons[0]
    assert {system.people for system in of_all.systems} == {None}
