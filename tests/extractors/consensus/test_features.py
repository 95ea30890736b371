"""Consensus features against plain loops, and what they do with crowds and with odd data."""

from __future__ import annotations

import dataclasses
import itertools
import logging

import numpy as np
import pytest

from ranker.corpora.own_references import with_references_as_candidates
from ranker.corpora.records import Candidate, Record, assemble
from ranker.extractors.base import fitted_on
from ranker.extractors.consensus import features as module
from ranker.extractors.consensus import similarities
from ranker.extractors.consensus.relatives import relatives, vote_weights
from ranker.extractors.consensus.votes import COLUMNS
from ranker.extractors.registry import make, make_metric
from ranker.extractors.semantic.features import Semantic
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.reference_candidates import leave_one_out
from tests.datasets import dataset_of
from tests.effort import thorough

WORDS = ["the", "a", "cat", "dog", "sat", "ran", "on", "under", "mat", "tree", "was", "is", "old", "new", "house"]


def sentence(rng, length: int = 10) -> list[str]:
    return [str(word) for word in rng.choice(WORDS, length)]


def translated(rng, right: list[str], errors: float) -> str:
    """Return a sentence with each word replaced with a chance of `errors`."""
    return " ".join(str(rng.choice(WORDS)) if rng.random() < errors else word for word in right)


def crowd(copies: int, *, sources: int = 40, noise: float = 0.05, names: bool = True):
    """Return independent systems, the last of them bad, and `copies` of that one with few changes."""
    rng = np.random.default_rng(copies)
    items = []
    for _ in range(sources):
        right = sentence(rng)
        texts = [translated(rng, right, errors) for errors in (0.2, 0.25, 0.3, 0.3, 0.35, 0.65)]
        texts += [translated(rng, texts[5].split(), noise) for _ in range(copies)]
        order = np.arange(len(texts)) if names else rng.permutation(len(texts))
        items.append(
            Record("source", [], [Candidate(f"system{place}", texts[at]) for place, at in enumerate(order)], lp="de-en")
        )
    return assemble(items, "crowd")


def column(text: str, dataset, name: str) -> np.ndarray:
    extractor = make(text)
    return fitted_on(extractor, dataset).transform(dataset)[:, COLUMNS.index(name)]


def shares_of_first(dataset, scores) -> float:
    """Return how often the bad system or a copy of it is first."""
    table = scores.reshape(len(dataset.sources), -1)
    return float((table.argmax(axis=1) >= 5).mean())


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(3)
    items = []
    for _ in range(15):
        right = sentence(rng, int(rng.integers(1, 8)))
        items.append([translated(rng, right, 0.3) for _ in range(rng.integers(1, 6))])
    items += [["", "", "a cat"], ["the cat", "the cat", "the cat"], [], ["alone"]]
    return dataset_of([([], item) for item in items], lp="de-en")


@pytest.mark.parametrize("metric", ["chrf", "bleu[smoothing=add-one]", "ter"])
def test_means_equal_plain_loops(small, metric):
    compared = make_metric(metric)
    texts = small.candidates["text"].tolist()
    columns = make(f"consensus[metric={metric},neighbours=2]").fit(small).transform(small)
    sign = 1 if compared.higher_is_better else -1
    pairs = list(itertools.product(dict.fromkeys(texts), repeat=2))
    scores_of_pairs = sign * compared.transform(dataset_of([([right], [pair]) for pair, right in pairs]))[:, 0]
    known = dict(zip(pairs, scores_of_pairs.tolist(), strict=True))

    def similarity(i: int, j: int) -> float:
        return known[texts[i], texts[j]]

    for first, last in itertools.pairwise(small.candidate_offsets.tolist()):
        for i in range(first, last):
            scores = [similarity(i, j) for j in range(first, last) if j != i]
            different = {texts[j]: similarity(i, j) for j in range(first, last) if texts[j] != texts[i]}
            wanted = [
                np.mean(scores) if scores else 0,
                np.mean(list(different.values())) if different else 0,
                np.mean(sorted(scores)[-2:]) if scores else 0,
            ]
            assert columns[i, :3] == pytest.approx(wanted, abs=1e-12)


def test_blocks_change_nothing(small, monkeypatch):
    for text in ("consensus", "consensus[trust=source]", "consensus[metric=nist]"):
        whole = make(text).fit(small).transform(small)
        fresh = dataclasses.replace(small)
        with monkeypatch.context() as patch:
            patch.setattr(similarities, "PAIRS", 7)
            patch.setattr(module, "_KEPT", 0)
            np.testing.assert_allclose(make(text).fit(fresh).transform(fresh), whole, atol=1e-12)


@pytest.mark.parametrize(("copies", "most"), [(1, 0.05), (2, 0.05), (6, 0.1), (10, 0.25)])
def test_copies_of_a_bad_system_rarely_win(copies, most):
    data = crowd(copies)
    assert shares_of_first(data, column("consensus", data, "weighted")) <= most
    if copies > 5:
        assert shares_of_first(data, column("consensus", data, "mean")) > 0.5


@pytest.mark.parametrize("name", ["distinct", "weighted", "diverse"])
@pytest.mark.parametrize("copies", [1, 4, 10])
def test_exact_copies_rarely_win_in_a_single_source(copies, name):
    data = crowd(copies, noise=0.0, names=False)
    texts = data.candidates["text"].to_numpy(object).reshape(len(data.sources), -1)
    best = column("consensus[trust=source]", data, name).reshape(texts.shape).argmax(axis=1)
    assert np.mean([(row == row[first]).sum() > 1 for row, first in zip(texts, best, strict=True)]) <= 0.15


def test_without_relatives_weights_are_equal():
    data = crowd(0)
    columns = make("consensus").fit(data).transform(data)
    np.testing.assert_allclose(columns[:, 3], columns[:, 0], atol=0.01)


def test_systems_are_related_by_language_pair_and_unknown_ones_are_not():
    data = crowd(4)
    fitted = make("consensus").fit(data)
    renamed = data.candidates.assign(system="new" + data.candidates["system"])
    strangers = type(data)("new", data.sources, data.references, renamed, data.ratings, data.preferences)
    columns = fitted.transform(strangers)
    np.testing.assert_allclose(columns[:, 3], columns[:, 0], atol=1e-12)


def test_columns_of_odd_candidates(small, caplog):
    with caplog.at_level(logging.WARNING):
        columns = FeatureSet.parse("consensus,consensus[metric=ter]").transform(small)
    assert np.isfinite(columns).all()
    identical = slice(*small.candidate_offsets[16:18])
    assert (np.ptp(columns[identical], axis=0) <= 1e-12).all()
    assert columns[identical][0, :3] == pytest.approx([1, 0, 1])
    alone = small.candidate_offsets[18]
    assert (columns[alone] == 0).all()
    nothing = small.select_candidates(np.zeros(len(small), dtype=bool))
    assert make("consensus").fit(nothing).transform(nothing).shape == (0, 5)
    assert make("consensus").note(small).startswith(f"{int((np.diff(small.candidate_offsets) == 1).sum())} source")
    # references do not vote
    few = dataset_of([(["the cat sat"], ["a cat"]), (["it rains"], ["it rain", "rain"])])
    assert make("consensus").note(with_references_as_candidates(few)) == make("consensus").note(few)


@thorough
def test_large_sources_are_compared_with_some_of_their_texts():
    rng = np.random.default_rng(0)
    right = sentence(rng, 12)
    texts = [translated(rng, right, rng.uniform(0.1, 0.8)) for _ in range(600)]
    data = dataset_of([([], [*texts, *texts[:20]])])
    exact = make("consensus[trust=source]").fit(data).transform(data)
    sampled = make("consensus[trust=source,limit=200]").fit(data).transform(data)
    for name, column_of_all, column_of_some in zip(COLUMNS, exact.T, sampled.T, strict=True):
        assert np.corrcoef(column_of_some, column_of_all)[0, 1] > 0.9, name
    np.testing.assert_array_equal(sampled[:20], sampled[600:])
    # all texts as voters: nothing is left out
    everything = make("consensus[trust=source,limit=610]").fit(data).transform(data)
    np.testing.assert_allclose(everything[:, :2], exact[:, :2], atol=1e-9)


def test_references_are_not_looked_at_and_do_not_vote(small):
    result = make("consensus").fit(small).transform(small)
    offsets = small.candidate_offsets
    texts = [small.candidates["text"].tolist()[a:b] for a, b in itertools.pairwise(offsets.tolist())]
    referenced = dataset_of([(["the old cat", "a cat"], text) for text in texts], lp="de-en")
    fitted = make("consensus").fit(referenced)
    np.testing.assert_array_equal(fitted.transform(referenced), result)
    together = with_references_as_candidates(referenced)
    outputs = ~together.candidates["is_reference"].to_numpy(bool)
    np.testing.assert_allclose(make("consensus").fit(together).transform(together)[outputs], result, atol=1e-12)
    # a reference as a candidate is compared with the outputs, and not with other references
    columns = fitted.transform_references(referenced, leave_one_out(referenced))
    chrf = make_metric("chrf")
    wanted = np.mean([chrf.transform(dataset_of([([text], ["the old cat"])]))[0, 0] for text in texts[0]])
    assert columns[0, 0] == pytest.approx(wanted)
    assert columns.shape == (2 * len(texts), 5)


def test_semantic_matching_as_similarity(small, monkeypatch):
    calls = []

    def compare(self, texts, pairs):
        calls.append((len(texts), len(set(texts)), len(pairs)))
        lengths = np.array([len(text) for text in texts])
        return np.repeat(1.0 / (1.0 + np.abs(np.subtract(*lengths[pairs].T)))[:, np.newaxis], 4, axis=1)

    monkeypatch.setattr(Semantic, "compare", compare)
    columns = make("consensus[metric=semantic]").fit(small).transform(small)
    assert np.isfinite(columns).all()
    assert calls
    assert all(number == different for number, different, _ in calls)
    texts = small.candidates["text"].tolist()[: small.candidate_offsets[1]]
    wanted = [
        np.mean([1 / (1 + abs(len(text) - len(right))) for j, right in enumerate(texts) if j != i])
        if len(texts) > 1
        else 0
        for i, text in enumerate(texts)
    ]
    assert columns[: len(texts), 0] == pytest.approx(wanted)


def test_which_texts_of_many_are_compared_does_not_depend_on_their_order():
    rng = np.random.default_rng(3)
    texts = [" ".join(sentence(rng)) for _ in range(60)]
    order = rng.permutation(60)
    extractor = make("consensus[trust=source,limit=20]")
    first, second = (
        extractor.fit(data).transform(data)
        for data in (dataset_of([(["r"], texts)]), dataset_of([(["r"], [texts[place] for place in order])]))
    )
    np.testing.assert_allclose(second, first[order], atol=1e-12)


def test_the_metric_is_part_of_the_signature():
    assert make("consensus[metric=chrf[order=6]]") == make("consensus")
    assert "metric=chrf[order=6,word_order=0" in make("consensus").signature()
    assert str(make("consensus[metric=chrf[word_order=2],trust=source]")) == (
        "consensus[metric=chrf[word_order=2],trust=source]"
    )
    assert make("consensus").fit_scope == "ranked"
    assert make("consensus[trust=source]").fit_scope == "none"
    assert not make("consensus").needs.references


@pytest.mark.parametrize(
    ("copies", "sources", "said"), [(7, 40, True), (8, 40, True), (2, 40, False), (0, 40, False), (8, 19, False)]
)
@pytest.mark.parametrize(
    "feature",
    ["consensus", "consensus[trust=source].weighted", "consensus[metric=semantic,trust=source].diverse"],
)
def test_a_note_says_that_most_systems_are_related(feature, copies, sources, said):
    data = crowd(copies, sources=sources)
    note = (make if feature == "consensus" else make_metric)(feature).note(data)
    crowded = sorted(f"system{place}" for place in range(5, 6 + copies))[:2]
    what = (
        f"de-en: {copies + 1} of {copies + 6} systems are related ({', '.join(crowded)}, ...) and agree with each other"
    )
    what = f"{what}, right or wrong"
    assert note == (f"{what}: if they are versions of one system, include only one" if said else None)


def test_variants_of_one_system_are_a_majority_among_few_systems_too():
    """Four of five are variants of one, so nothing tells what is usual between independent systems."""
    generator = np.random.default_rng(0)
    words = [f"word{number}" for number in range(60)]
    records = []
    for source in range(40):
        reference = generator.choice(words, size=12)
        own, other = (
            np.where(generator.random(12) < p, generator.choice(words, size=12), reference) for p in (0.35, 0.15)
        )
        texts = {"a": other, "m": own, "m1": own, "m2": np.delete(own, 3), "m3": np.delete(own, 8)}
        candidates = [Candidate(name, " ".join(text)) for name, text in texts.items()]
        records.append(Record(f"source {source}", [" ".join(reference)], candidates, lp="de-en"))
    note = make("consensus[trust=source]").note(assemble(records, "variants"))
    assert note is not None
    assert note.startswith("de-en: 4 of 5 systems are related (m, m1, ...) and agree with each other, right or wrong")


@pytest.mark.parametrize("metric", ["chrf", "bleu[smoothing=add-one]"])
@thorough
def test_candidates_of_like_wording_share_a_vote(metric):
    texts = ["the cat sat on the mat", "the cat sat on the mats", "a cat was on the rug", "dogs bark", "a cat was here"]
    chrf, gain = make_metric("chrf"), make_metric(metric)

    def alike(one, other):
        both, alone = (chrf([one], [other]), chrf([other], [one])), (chrf([one], [one]), chrf([other], [other]))
        return np.mean([each.corpus for each in both]) / np.sqrt(np.prod([each.corpus for each in alone]))

    weights = [1 / sum(alike(text, other) ** 8 for other in texts) for text in texts]
    wanted = [
        np.average(
            [gain([text], [other]).segments[0] for place, other in enumerate(texts) if place != number],
            weights=[weight for place, weight in enumerate(weights) if place != number],
        )
        for number, text in enumerate(texts)
    ]
    data = dataset_of([(["unused"], texts)])
    np.testing.assert_allclose(column(f"consensus[metric={metric},trust=source]", data, "diverse"), wanted)
    # the two that are nearly equal have little more than one vote together
    assert sum(weights[:2]) < 1.4


def independent(nearness) -> np.ndarray:
    """Return similarities of voters that are alike only as far as they are near to what is right."""
    example = np.multiply.outer(nearness, nearness)
    np.fill_diagonal(example, 1.0)
    return example


def everyone(similarity) -> np.ndarray:
    return np.ones(similarity.shape, dtype=bool)


def copied(similarity, voter: int, copies: int) -> np.ndarray:
    """Return similarities with `copies` more of one voter at the end."""
    rows = [*range(len(similarity)), *[voter] * copies]
    example = similarity[np.ix_(rows, rows)].copy()
    group = [voter, *range(len(similarity), len(rows))]
    example[np.ix_(group, group)] = 1.0
    return example


def test_independent_voters_of_any_quality_are_no_relatives():
    similarity = independent([0.9, 0.8, 0.8, 0.5, 0.3])
    np.testing.assert_allclose(relatives(similarity, everyone(similarity)), np.eye(5), atol=1e-6)


@pytest.mark.parametrize("copies", [1, 3, 10])
@pytest.mark.parametrize("voter", [0, 4])
def test_copies_share_one_vote_and_change_nobody_elses(copies, voter):
    rng = np.random.default_rng(0)
    noise = 1 + 0.05 * rng.normal(size=(6, 6))
    similarity = np.clip(independent(rng.uniform(0.5, 0.9, 6)) * (noise + noise.T) / 2, 0, 1)
    np.fill_diagonal(similarity, 1.0)
    before = vote_weights(relatives(similarity, everyone(similarity)))
    more = copied(similarity, voter, copies)
    after = vote_weights(relatives(more, everyone(more)))
    group = [voter, *range(6, 6 + copies)]
    assert after[group].sum() == pytest.approx(before[voter], abs=0.02)
    np.testing.assert_allclose(np.delete(after, group), np.delete(before, voter), atol=0.02)
    assert after.sum() == pytest.approx(before.sum(), abs=0.05)


def test_a_batch_is_its_members_and_unknown_pairs_are_no_relatives():
    rng = np.random.default_rng(1)
    batch = np.stack([copied(independent(rng.uniform(0.3, 0.9, 5)), 2, 3) for _ in range(4)])
    together = relatives(batch, everyone(batch))
    for number, item in enumerate(batch):
        np.testing.assert_allclose(together[number], relatives(item, everyone(item)), atol=1e-12)
    known = everyone(batch[0])
    known[2, 5:] = known[5:, 2] = False
    assert (relatives(batch[0], known)[2, 5:] == 0).all()


def test_voters_without_anything_in_common_are_fine():
    nothing = np.eye(3)
    assert np.isfinite(relatives(nothing, everyone(nothing))).all()
    alone = np.ones((1, 1))
    assert relatives(alone, everyone(alone)).tolist() == [[1.0]]
