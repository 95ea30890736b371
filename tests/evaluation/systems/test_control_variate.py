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
from tests.evaluation.made import graded


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


def of_documents(generator, documents, shared, judged):
    """Human and metric scores of documents of five sources, of which some are judged, and the documents."""
    part = generator.normal(0, np.sqrt(shared), (documents, 1))
    human = part + generator.normal(0, np.sqrt(1 - shared), (documents, 5))
    metric = 0.3 * human + generator.normal(size=(documents, 5))
    human[generator.permutation(documents)[judged:]] = np.nan
    return human.ravel(), metric.ravel(), np.repeat(np.arange(documents), 5)


def test_the_interval_over_documents_is_wider_if_their_sources_are_alike():
    generator = np.random.default_rng(4)
    human, metric, documents = of_documents(generator, 60, 0.34, 20)
    by_source, by_document = controlled_mean(human, metric), controlled_mean(human, metric, documents)
    assert by_document.value == by_source.value
    assert by_document.high - by_document.low > 1.2 * (by_source.high - by_source.low)
    alone = controlled_mean(human, metric, generator.permutation(300))
    assert (alone.low, alone.high) == pytest.approx((by_source.low, by_source.high), abs=1e-12)
    assert controlled_mean(*of_documents(generator, 60, 0.34, 9)) is None
    assert controlled_mean(*of_documents(generator, 60, 0.34, 10)) is not None


@thorough
@pytest.mark.parametrize(("documents", "judged"), [(60, 20), (300, 15), (300, 100)])
def test_the_interval_over_documents_covers_the_mean(documents, judged):
    held = []
    for seed in range(2000):
        result = controlled_mean(*of_documents(np.random.default_rng(seed), documents, 0.34, judged))
        held.append(result.low <= 0 <= result.high)
    assert 0.925 <= np.mean(held) <= 0.965


def test_documents_are_the_sample_where_they_are_resampled():
    human = np.stack([of_documents(np.random.default_rng(seed), 40, 0.6, 40)[0] for seed in (1, 2)], axis=1)
    human[100:] = np.nan
    for level in ("segment", "document"):
        result = compare_systems(graded(human, documents=5), ["chrf"], kind="fluency", level=level, resamples=20)
        for system in result.comparisons[0].systems:
            values = human[:, int(system.system[1:])]
            documents = np.arange(200) // 5 if level == "document" else None
            assert system.people == controlled_mean(values, np.zeros(200), documents)


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
