from __future__ import annotations

import numpy as np
import pytest

from ranker.corpora.judgements import human_scores, preference_pairs
from ranker.reports.findings import extractor_columns, shares


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
