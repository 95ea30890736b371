"""References as candidates: each against the others, above every output."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ranker.corpora import catalogue
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import human_scores, judged
from ranker.corpora.own_references import with_references_as_candidates
from ranker.corpora.records import Candidate, Record, assemble
from ranker.corpora.selection import without_references
from ranker.errors import DataError, OptionError
from ranker.evaluation.correlation.segment import source_spearman
from ranker.extractors.fluency.features import Perplexity
from ranker.learning.lm.counts import count_ngrams
from ranker.learning.lm.kneser_ney import estimate, log10_scores
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.ranker import Ranker
from ranker.ranking.reference_candidates import ReferenceCandidates, leave_one_out
from ranker.ranking.scorers import RankerScorer, reference_scores
from ranker.ranking.settings import Settings
from ranker.text.tokens import token_batch
from tests.effort import thorough


def small() -> Dataset:
    def outputs(*values: float) -> list[Candidate]:
        return [Candidate(f"s{i}", f"the cat {'sat ' * i}", [("rank", None, value)]) for i, value in enumerate(values)]

    return assemble(
        [
            Record("x", ["the cat sat", "a cat sat down", "cats sit"], outputs(2, 1), lp="de-en"),
            Record("y", ["only one"], outputs(1, 2), lp="de-en"),
            Record("z", ["it rains", "rain falls"], outputs(3), lp="de-en"),
        ],
        "small",
    )


@pytest.fixture(scope="module")
def sample() -> Dataset:
    return catalogue.load("sample").select_sources(np.arange(120) < 40)


def test_every_reference_is_scored_against_the_others_of_its_source() -> None:
    dataset = small().select_sources([True, False, True])
    columns = FeatureSet.parse("bleu,chrf").transform_references(dataset, exclude_self=True)
    texts = dataset.references["text"].tolist()
    for row, others in enumerate([[1, 2], [0, 2], [0, 1], [4], [3]]):
        left = assemble([Record("", [texts[right] for right in others], [Candidate("A", texts[row])])], "one")
        np.testing.assert_array_equal(columns[row], FeatureSet.parse("bleu,chrf").transform(left)[0])


@pytest.mark.parametrize("whole_source", [False, True])
def test_the_language_model_is_without_the_reference_it_scores(sample: Dataset, whole_source: bool) -> None:
    perp = Perplexity(leave_out=whole_source).fit(sample)
    result = perp.transform_references(sample, leave_one_out(sample))[:, 0]
    batch = token_batch(sample, lowercase=True)
    source = sample.references["source"].to_numpy()
    (learnt,) = perp.learnt.values()
    discounts = learnt.model.discounts
    for row in (0, 7, 159):
        selected = source != source[row] if whole_source else np.arange(len(source)) != row
        order = np.argsort(sample.references["text"].to_numpy(object)[selected], kind="stable")
        counts = count_ngrams(*batch.segments.take(batch.reference[selected][order]), 3)
        model = estimate(counts, discounts=discounts)
        alone = log10_scores(model, *batch.segments.take(batch.reference[[row]]))
        assert result[row] == pytest.approx(alone.log_perplexity[0], abs=1e-12)
    flattered = FeatureSet.parse("perp").transform_references(sample)[:, 0]
    assert (result > flattered).all()


def test_references_are_above_all_outputs_and_sources_with_one_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    dataset = small()
    added = ReferenceCandidates.of(dataset, "rank", exclude_self=True)
    assert caplog.messages == ["ranker: note: small: sources with fewer than 2 references, skipped: 1 of 3"]
    human = added.human
    assert human.tolist() == [-2, -1, 0, 0, 0, -3, 0, 0]
    assert added.together.is_reference.tolist() == [False, False, True, True, True, False, True, True]
    assert added.merge(np.zeros((3, 2)), np.ones((5, 2)))[:, 0].tolist() == [0, 0, 1, 1, 1, 0, 1, 1]
    with pytest.raises(DataError, match=r"small: no judged source has two references.*remove --exclude-self"):
        ReferenceCandidates.of(dataset.select_sources([False, True, False]), "rank", exclude_self=True)
    with pytest.raises(DataError, match=r"small: no judged source has a reference: remove --references-as-candidates"):
        ReferenceCandidates.of(without_references(dataset), "rank")
    with pytest.raises(DataError, match=r"small: references as candidates require scores.*--kind win-rate"):
        ReferenceCandidates.of(dataset, "preferences")


def test_a_reference_matches_itself_as_published_and_a_note_says_where_it_is_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    added = ReferenceCandidates.of(small(), "rank")
    what = "sources with one reference, which as a candidate is compared with itself alone"
    assert caplog.messages == [f"ranker: note: small: {what}: 1 of 3"]
    assert added.together.is_reference.tolist() == [*[False] * 2, *[True] * 3, *[False] * 2, True, False, True, True]
    np.testing.assert_allclose(FeatureSet.parse("chrf,bleu").transform_references(added.outputs), 1)


@thorough
def test_learning_from_references_as_published_keeps_the_order_of_outputs(sample: Dataset) -> None:
    """Without themselves references match less than outputs do, so what learns from that turns the order round."""
    human = human_scores(sample, "fluency")
    features = "bleu[smoothing=epsilon],ds,perp"

    def agreement(**options: bool) -> float:
        scores = Ranker(features, C=0.001, **options).fit(sample).candidate_scores(sample)
        return float(np.nanmean(source_spearman(sample, scores, human)))

    alone = agreement()
    assert agreement(references_as_candidates=True) > alone - 0.1
    assert agreement(references_as_candidates=True, exclude_self=True) < 0 < alone


def test_models_of_before_the_choice_learnt_without_themselves(sample: Dataset) -> None:
    ranker = Ranker("bleu", references_as_candidates=True, exclude_self=True).fit(sample)
    document = ranker.settings.document()
    assert Settings.read(document) == ranker.settings
    del document["exclude_self"]
    assert Settings.read(document) == ranker.settings
    assert "|exclude_self:true|" in ranker.signature()
    plain = Settings("bleu")
    assert "exclude_self" not in plain.document()
    assert Settings.read(plain.document()) == plain
    with pytest.raises(OptionError, match=r"exclude_self=True: .*set references_as_candidates too"):
        Settings("bleu", exclude_self=True)


def test_references_that_are_candidates_already_give_way() -> None:
    record = small().select_sources([True, False, False])
    joined = with_references_as_candidates(record)
    assert (
        ReferenceCandidates.of(joined, "rank").together.fingerprint == with_references_as_candidates(record).fingerprint
    )


def test_a_ranker_learns_from_references_too(sample: Dataset, tmp_path: Path) -> None:
    ranker = Ranker("bleu,perp", references_as_candidates=True).fit(sample)
    assert ranker.training is not None
    assert (ranker.training.candidates, ranker.training.references) == (280, 160)
    assert "|references_as_candidates:160|" in ranker.signature()
    selected = sample.select_candidates(judged(sample, "fluency"))
    columns = np.concatenate(
        [
            ranker.feature_set.transform(selected),
            ranker.feature_set.transform_references(selected),
        ]
    )
    np.testing.assert_allclose(ranker.mean, columns.mean(axis=0))
    ranker.save(tmp_path / "x.model")
    loaded = Ranker.load(tmp_path / "x.model")
    assert loaded.settings.references_as_candidates
    assert loaded.digest == ranker.digest
    first, second = (reference_scores(RankerScorer(each), selected) for each in (loaded, ranker))
    np.testing.assert_array_equal(first, second)
    plain = Ranker("bleu,perp").fit(sample)
    assert plain.training is not None
    assert plain.training.references is None
    assert not np.allclose(plain.weights, ranker.weights)
