from __future__ import annotations

import numpy as np
import pytest

from ranker import Ranker
from ranker.learning.svm.ranksvm import RankSVM
from ranker.reports.calibration import strict_pairs
from ranker.reports.learning_curve import SHARES, learning_curve
from ranker.reports.refits import TrainingColumns


@pytest.fixture(scope="module")
def learnt(model, sample):
    return TrainingColumns.of(model, sample)


def test_points_are_plain_fits_on_parts_of_the_other_folds(learnt, sample, monkeypatch):
    requested = []
    plain = TrainingColumns.weights

    def weights(self, used=None, rows=None):
        requested.append(rows)
        return plain(self, used, rows)

    monkeypatch.setattr(TrainingColumns, "weights", weights)
    curve = learning_curve(learnt, folds=3, seed=5)
    monkeypatch.undo()
    group, target = learnt.table.group, learnt.table.target
    better, worse = strict_pairs(sample, "fluency")
    assert curve.sources.tolist() == [5, 10, 20, 40, 80]
    parts = [set(group[rows]) for rows in requested]
    largest = parts[len(SHARES) - 1 :: len(SHARES)]
    # every source is held out once
    assert sorted(source for part in largest for source in set(range(120)) - part) == list(range(120))
    agreement = []
    for number, rows in enumerate(requested):
        sources = parts[number]
        whole = largest[number // len(SHARES)]
        assert sources <= whole
        if number % len(SHARES):
            assert parts[number - 1] < sources
        held_out = np.isin(group[better], list(set(range(120)) - whole))
        counts = np.array([rows[first] for first in better])
        svm = RankSVM(C=learnt.ranker.training.C * len(better) / counts.sum())
        scores = learnt.table.columns @ svm.fit(learnt.table.columns[rows], target[rows], group[rows]).coef_
        gain = (np.sign(np.round(scores[better] - scores[worse], 9)) + 1) / 2
        agreement.append(gain[held_out].mean())
    table = np.array(agreement).reshape(3, len(SHARES))
    assert curve.agreement == pytest.approx(table.mean(axis=0), abs=2e-3)
    assert curve.low == pytest.approx(table.min(axis=0), abs=2e-3)
    assert curve.high == pytest.approx(table.max(axis=0), abs=2e-3)


def test_preferences_count_by_their_weight(preferred_findings, preferred):
    curve = learning_curve(TrainingColumns.of(preferred_findings.ranker, preferred))
    assert curve.sources.tolist() == [4, 8, 16, 32]
    assert ((curve.low <= curve.agreement) & (curve.agreement <= curve.high)).all()


def test_few_sources_have_no_curve(model, sample):

    few = sample.select_sources(np.arange(120) < 8)
    assert learning_curve(TrainingColumns.of(Ranker("bleu", C=1.0).fit(few), few)) is None
