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
        for one in (better, worse):
            pairs[system[one]] += 1
    (found,) = agreement.systems
    assert found.language_pair == "zh-en"
    assert dict(zip(found.systems, found.pairs, strict=True)) == pairs
    assert found.people == pytest.approx([won[one] / pairs[one] for one in found.systems])
    assert found.ranker == pytest.approx([by_ranker[one] / pairs[one] for one in found.systems])
    assert list(found.people) == sorted(found.people, reverse=True)
    assert found.correlation == pytest.approx(np.corrcoef(found.ranker, found.people)[0, 1])


def test_language_pairs_have_their_own_systems(preferred_findings, preferred):
    both, one = (measured.agreement.systems for measured in preferred_findings.measured)
    assert [wins.language_pair for wins in both] == ["de-en", "fr-en"]
    assert [wins.language_pair for wins in one] == ["de-en"]
    # four systems of harmful names in one source, four of the others
    assert len(both[1].systems) == 8
    constant = by_system(preferred, np.zeros(len(preferred)), *strict_pairs(preferred, "preferences"))
    assert set(constant[0].ranker) == {0.5}
    assert np.isnan(constant[0].correlation)


def test_lengths_are_of_references_and_scores_less_the_mean_of_the_source(findings, sample):
    (measured,) = findings.measured
    found, scores = measured.lengths, measured.scores
    batch = token_batch(sample, "13a")
    lengths = [
        batch.reference_lengths[first:last].mean()
        for first, last in zip(sample.reference_offsets, sample.reference_offsets[1:], strict=False)
    ]
    long = np.array(lengths) >= 20
    assert 10 <= min(lengths) < 20 <= max(lengths) < 30
    assert found.labels == ("10–19", "20–29")
    assert found.sources.tolist() == [(~long).sum(), long.sum()]
    source = sample.candidate_source
    centred = scores - (np.bincount(source, weights=scores) / np.bincount(source))[source]
    system = sample.candidates["system"].to_numpy(object)
    for name, row in zip(found.systems, found.scores, strict=True):
        for bucket in (0, 1):
            here = (system == name) & (long[source] == bool(bucket))
            assert row[bucket] == pytest.approx(centred[here].mean())
    difference = scores[measured.agreement.better] - scores[measured.agreement.worse]
    gain = (np.sign(np.round(difference, 9)) + 1) / 2
    for bucket, one in enumerate(found.agreement):
        assert one.value == pytest.approx(gain[long[source[measured.agreement.better]] == bool(bucket)].mean())
        assert one.low <= one.value <= one.high


def test_sources_without_references_go_by_their_own_length(preferred):
    bare = dataclasses.replace(preferred, references=preferred.references[:0])
    found = by_length(bare, np.arange(160.0), None)
    assert found.labels[0] == "1–9"
    assert found.agreement == ()
    assert found.sources.sum() == 40


def test_correlations_are_inside_sources():
    generator = np.random.default_rng(3)
    source = np.repeat(np.arange(30), 4)
    level = generator.normal(size=30)[source] * 100
    first, noise = generator.normal(size=(2, 120))
    human = np.where(np.arange(120) % 5 == 0, np.nan, first)
    found = correlations([np.column_stack([first + level, -first, np.zeros(120)])], [human], [source])
    assert found.shape == (5, 5)
    assert found[0, 1] == pytest.approx(-1)
    assert np.isnan(found[2]).all()
    assert found[0, 4] == found[4, 0]
    # the mean of a source is taken over all candidates of the part, and over the judged ones of people
    assert found[0, 4] > 0.9
    assert correlations([np.column_stack([first, noise])], [np.full(120, np.nan)], [source]).shape == (3, 3)
