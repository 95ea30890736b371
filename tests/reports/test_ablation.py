from __future__ import annotations

import numpy as np
import pytest

from ranker import Ranker, evaluate
from ranker.evaluation.compare.evaluation import main_scope
from ranker.reports.ablation import ablate, extractor_columns, shares
from ranker.reports.refits import TrainingColumns


def test_ablations_are_the_figures_of_rankers_trained_without(preferred, preferred_findings):
    full = preferred_findings.ranker

    def figures(features):
        ranker = Ranker(features, C=0.1, loss="hinge", pairs="judgements").fit(preferred)
        rows = []
        for measured in preferred_findings.measured:
            comparison = evaluate(measured.dataset, ranker.candidate_scores(measured.dataset), resamples=0)
            # the mean into English of two pairs, and the only pair
            _, scope = main_scope(comparison)
            rows.append(
                [comparison.estimate(f"segment.{item}", scope.id).value for item in ("spearman", "tau.primary")]
            )
        return np.mean(rows, axis=0)

    everything = figures(full.settings.features)
    names = [str(extractor) for extractor in full.feature_set.extractors]
    assert [item.extractor for item in preferred_findings.ablations] == names
    for ablation in preferred_findings.ablations:
        rest = figures(",".join(name for name in names if name != ablation.extractor))
        assert (ablation.spearman.value, ablation.tau.value) == pytest.approx(tuple(rest - everything), abs=1e-9)
        assert ablation.spearman.low <= ablation.spearman.value <= ablation.spearman.high


def test_intervals_are_paired(sample):
    """Leaving out what weighs nothing changes nothing, in every resample."""
    ranker = Ranker("bleu,ter").fit(sample)
    learnt = TrainingColumns.of(ranker, sample)
    learnt.columns[:, 1] = 0
    columns = [learnt.columns]
    without_bleu, without_ter = ablate(learnt, [sample], ["fluency"], columns, [np.ones(2, bool)], resamples=20)
    assert (without_ter.spearman.value, without_ter.spearman.low, without_ter.spearman.high) == (0, 0, 0)
    assert np.isnan(without_bleu.spearman.value)
    assert np.isnan(without_ter.tau.value)


def test_one_extractor_cannot_be_left_out(sample):
    ranker = Ranker("bleu").fit(sample)
    assert (
        ablate(TrainingColumns.of(ranker, sample), [sample], ["fluency"], [np.zeros((840, 1))], [np.ones(1, bool)])
        == ()
    )


def test_columns_that_cannot_learn_from_the_data_are_left_out(sample):
    ranker = Ranker("bleu,chrf,perp").fit(sample)
    few = sample.select_sources(np.arange(120) < 10)
    columns = [(ranker.feature_set.transform(few) - ranker.mean) / ranker.scale]
    result = ablate(
        TrainingColumns.of(ranker, sample), [few], ["fluency"], columns, [np.array([True, True, False])], resamples=5
    )
    assert [item.extractor for item in result] == ["bleu", "chrf"]


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
