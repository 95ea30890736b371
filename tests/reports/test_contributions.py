from __future__ import annotations

import numpy as np
import pytest

from ranker.corpora.judgements import human_scores, preference_pairs
from ranker.reports.contributions import correlations, extractor_columns, shares


def test_shares_are_covariances_inside_sources(findings):
    (measured,) = findings.measured
    owner = np.array([0, 0, 1, 2])
    result = shares([measured.contributions], [measured.dataset.candidate_source], owner)
    top, bottom = np.zeros(3), 0.0
    for first, last in zip(measured.dataset.candidate_offsets, measured.dataset.candidate_offsets[1:], strict=False):
        block = measured.contributions[first:last]
        block = block - block.mean(axis=0)
        total = block.sum(axis=1)
        top += [total @ block[:, owner == place].sum(axis=1) for place in range(3)]
        bottom += total @ total
    assert result == pytest.approx(top / bottom)
    assert result.sum() == pytest.approx(1)
    assert extractor_columns(findings.ranker).tolist() == [0, 1, 2, 3]


def test_judged_pairs_are_counted_by_source(findings, preferred_findings, sample, preferred):
    human = human_scores(sample, "fluency")
    blocks = np.split(human, sample.candidate_offsets[1:-1])
    brute = [sum(better > worse + 1e-9 for better in block for worse in block) for block in blocks]
    assert findings.measured[0].ordered.tolist() == brute
    better = preference_pairs(preferred).better
    counts = np.bincount(preferred.candidate_source[better], minlength=len(preferred.sources))
    assert preferred_findings.measured[0].ordered.tolist() == counts.tolist()


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
