from __future__ import annotations

import dataclasses
from collections import defaultdict

import numpy as np
import pytest

from ranker.extractors.text.tokens import token_batch
from ranker.reports.breakdown import by_length, by_system, correlations
from ranker.reports.calibration import strict_pairs


def test_wins_of_systems_are_those_of_a_loop(findings):
    (measured,) = findings.measured
    dataset, agreement = measured.dataset, measured.agreement
    system, scores = dataset.candidates["system"].tolist(), measured.scores
    won, by_ranker, pairs = defaultdict(float), defaultdict(float), defaultdict(int)
    for better, worse in zip(agreement.better, agreement.worse, strict=True):
        difference = scores[better] - scores[worse]
        gain = 0.5 if abs(difference) < 1e-9 else float(difference > 0)
        won[system[better]] += 1
        by_ranker[system[better]] += gain
        by_ranker[system[worse]] += 1 - gain
        for item in (better, worse):
            pairs[system[item]] += 1
    (result,) = agreement.systems
    assert result.language_pair == "zh-en"
    assert dict(zip(result.systems, result.pairs, strict=True)) == pairs
    assert result.people == pytest.approx([won[entry] / pairs[entry] for entry in result.systems])
    assert result.ranker == pytest.approx([by_ranker[entry] / pairs[entry] for entry in result.systems])
    assert list(result.people) == sorted(result.people, reverse=True)
    assert result.correlation == pytest.approx(np.corrcoef(result.ranker, result.people)[0, 1])


def test_language_pairs_have_their_own_systems(preferred_findings, preferred):
    joined, single = (measured.agreement.systems for measured in preferred_findings.measured)
    assert [wins.language_pair for wins in joined] == ["de-en", "fr-en"]
    assert [wins.language_pair for wins in single] == ["de-en"]
    # four systems of harmful names in one source, four of the others
    assert len(joined[1].systems) == 8
    constant = by_system(preferred, np.zeros(len(preferred)), *strict_pairs(preferred, "preferences"))
    assert set(constant[0].ranker) == {0.5}
    assert np.isnan(constant[0].correlation)


def test_lengths_are_of_references_and_scores_less_the_mean_of_the_source(findings, sample):
    (measured,) = findings.measured
    result, scores = measured.lengths, measured.scores
    batch = token_batch(sample, "13a")
    lengths = [
        batch.reference_lengths[first:last].mean()
        for first, last in zip(sample.reference_offsets, sample.reference_offsets[1:], strict=False)
    ]
    long = np.array(lengths) >= 20
    assert 10 <= min(lengths) < 20 <= max(lengths) < 30
    assert result.labels == ("10–19", "20–29")
    assert result.sources.tolist() == [(~long).sum(), long.sum()]
    source = sample.candidate_source
    centred = scores - (np.bincount(source, weights=scores) / np.bincount(source))[source]
    system = sample.candidates["system"].to_numpy(object)
    for name, row in zip(result.systems, result.scores, strict=True):
        for bucket in (0, 1):
            here = (system == name) & (long[source] == bool(bucket))
            assert row[bucket] == pytest.approx(centred[here].mean())
    difference = scores[measured.agreement.better] - scores[measured.agreement.worse]
    gain = (np.sign(np.round(difference, 9)) + 1) / 2
    for bucket, item in enumerate(result.agreement):
        assert item.value == pytest.approx(gain[long[source[measured.agreement.better]] == bool(bucket)].mean())
        assert item.low <= item.value <= item.high


def test_sources_without_references_go_by_their_own_length(preferred):
    bare = dataclasses.replace(preferred, references=preferred.references[:0])
    result = by_length(bare, np.arange(160.0), None)
    assert result.labels[0] == "1–9"
    assert result.agreement == ()
    assert result.sources.sum() == 40


def test_correlations_are_inside_sources_and_of_means_of_columns():
    generator = np.random.default_rng(3)
    source = np.repeat(np.arange(30), 4)
    level = generator.normal(size=30)[source] * 100
    first, second, noise = generator.normal(size=(3, 120))
    human = np.where(np.arange(120) % 5 == 0, np.nan, first)
    columns = np.column_stack([first + level, -first, second, np.zeros(120)])
    result = correlations([columns], np.array([0, 0, 1, 2]), [first], [human], [source])
    assert result.shape == (5, 5)
    # the column that falls with the score is turned round
    centred = first - (np.bincount(source, weights=first) / 4)[source]
    other = second - (np.bincount(source, weights=second) / 4)[source]
    assert result[0, 3] == pytest.approx(1)
    assert abs(result[0, 1]) == pytest.approx(abs(np.corrcoef(centred, other)[0, 1]))
    assert np.isnan(result[2]).all()
    assert result[0, 4] == result[4, 0] > 0.9
    nobody = np.full(120, np.nan)
    assert correlations([columns[:, :2]], np.array([0, 1]), [noise], [nobody], [source]).shape == (3, 3)
