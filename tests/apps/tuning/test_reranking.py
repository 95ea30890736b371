from __future__ import annotations

import itertools

import numpy as np
import pytest

from ranker.apps.tuning import pairwise
from ranker.apps.tuning.hypotheses import StatisticsTable, objective_gain, read_references
from ranker.apps.tuning.reranking import (
    best_hypotheses,
    expected_gains,
    expected_given_gains,
    model_scores,
    oracle_choice,
    posterior,
    score_of_choice,
    sentence_scores,
)
from ranker.apps.tuning.weights import Weights
from ranker.corpora.formats.nbest import from_columns
from ranker.errors import DataError, OptionError
from ranker.extractors.consensus import similarities
from ranker.extractors.registry import make_metric
from ranker.ranking.ranker import Ranker
from ranker.ranking.scorers import MetricScorer, candidate_scores, make_scorer, scorer_of, sign_of, systems_scorer
from tests.apps.tuning.lists import random_list
from tests.datasets import dataset_of
from tests.effort import further, thorough


def pair_scores(metric, texts: list[str], pairs: list[tuple[int, int]]) -> dict[tuple[int, int], float]:
    """Return the score of the first text of every pair against the second, higher is better."""
    scores = metric.transform(dataset_of(([texts[other]], texts[row]) for row, other in pairs))[:, 0].tolist()
    sign = 1 if metric.higher_is_better else -1
    return {pair: sign * score for pair, score in zip(pairs, scores, strict=True)}


@pytest.mark.parametrize("name", ["chrf", "bleu[smoothing=add-one]", "ter", "meteor"])
def test_minimum_bayes_risk_is_its_plain_twin(name, monkeypatch):
    nbest, _ = random_list(1, sentences=3, hypotheses=5)
    metric = make_metric(name)
    scores = np.random.default_rng(0).normal(size=len(nbest))
    texts = nbest.text_of(np.arange(len(nbest)))
    sentence = nbest.sentence.tolist()
    pairs = [pair for pair in itertools.product(range(len(nbest)), repeat=2) if sentence[pair[0]] == sentence[pair[1]]]
    gains = pair_scores(metric, texts, pairs)
    for probability in (None, posterior(nbest, scores, 2.0)):
        chances = posterior(nbest) if probability is None else probability
        expected = [sum(chances[b] * gain for (a, b), gain in gains.items() if a == row) for row in range(len(nbest))]
        result = expected_gains(nbest, metric, probability)
        assert result == pytest.approx(expected, abs=1e-12)
        monkeypatch.setattr(similarities, "PAIRS", 30)
        assert expected_gains(nbest, metric, probability).tolist() == result.tolist()


@pytest.mark.parametrize("name", ["perp", "perp[model=shipped]", "consensus.mean"])
def test_a_metric_that_compares_no_two_texts_is_no_gain(name):
    with pytest.raises(OptionError, match="expected a metric that compares a hypothesis with another as its reference"):
        expected_gains(random_list(1)[0], make_metric(name))


def test_a_ranker_that_learns_from_what_it_scores_is_no_gain():
    scorer = systems_scorer(scorer_of(Ranker("bleu,nist", C=0.01).fit("sample")))
    with pytest.raises(OptionError, match="nist learns from all texts that are scored, so one hypothesis is not a ref"):
        expected_gains(random_list(1)[0], scorer)


def brute_force(gains: dict[tuple[int, int], float], chances: np.ndarray) -> list[float]:
    """Return the expected gain of every hypothesis, of the gains by pairs of hypotheses."""
    return [sum(chances[b] * gain for (a, b), gain in gains.items() if a == row) for row in range(len(chances))]


@pytest.mark.parametrize("name", [further("full-lexical"), "full"])
@thorough
def test_minimum_bayes_risk_by_a_ranker_scores_every_pair_by_itself_without_consensus(name, monkeypatch):
    nbest, _ = random_list(2, sentences=2, hypotheses=4)
    scorer = systems_scorer(scorer_of(name))
    texts, chances = nbest.text_of(np.arange(len(nbest))), posterior(nbest, np.arange(len(nbest)), 0.5)
    pairs = [(a, b) for a, b in itertools.product(range(8), repeat=2) if nbest.sentence[a] == nbest.sentence[b]]
    gains = {(a, b): float(candidate_scores(scorer, dataset_of([([texts[b]], texts[a])]))[0]) for a, b in pairs}
    monkeypatch.setattr(similarities, "PAIRS", 5)
    assert expected_gains(nbest, scorer, chances) == pytest.approx(brute_force(gains, chances), abs=1e-9)


def test_minimum_bayes_risk_by_given_gains_is_that_of_the_same_gains(tmp_path):
    # the sentence without hypotheses has no gains, the repeated hypothesis has some for each of its lines
    texts, sentence = ["a b", "a c", "a b", "d e", "d d e", "e", "d"], [0, 0, 0, 2, 2, 2, 2]
    nbest = from_columns("x", sentence, texts, np.zeros((7, 1)), (("f", 1),))
    pairs = [(a, b) for a, b in itertools.product(range(7), repeat=2) if sentence[a] == sentence[b]]
    gains = pair_scores(make_metric("chrf"), texts, pairs)
    np.save(tmp_path / "g.npy", [*gains.values()])
    for chances in (None, posterior(nbest, np.arange(7.0), 0.7)):
        result = expected_given_gains(nbest, tmp_path / "g.npy", chances)
        assert result == pytest.approx(brute_force(gains, posterior(nbest) if chances is None else chances), abs=1e-12)
        assert result == pytest.approx(expected_gains(nbest, make_metric("chrf"), chances), abs=1e-12)
    for wrong, says in (
        (np.zeros((2, 4, 4)), "has 32 gains, expected 25, n x n for each sentence of n hypotheses: compute them for x"),
        (np.full(25, np.nan), "has gains that are NaN or infinite, expected finite numbers: compute them again"),
        (np.array(["a"]), "expected an array of numbers in NumPy's format"),
        (np.array([{}]), "expected an array of numbers in NumPy's format"),
    ):
        np.save(tmp_path / "g.npy", wrong)
        with pytest.raises(DataError, match=says):
            expected_given_gains(nbest, tmp_path / "g.npy")


def test_minimum_bayes_risk_of_a_long_list_is_the_same(monkeypatch):
    nbest = from_columns("x", [0] * 12, [f"a b {i} c {i % 5}" for i in range(12)], np.zeros((12, 1)), (("f", 1),))
    chances = posterior(nbest, np.arange(12.0))
    for name in ("chrf", "bleu[smoothing=add-one]"):
        expected = expected_gains(nbest, make_metric(name), chances)
        with monkeypatch.context() as patched:
            patched.setattr(pairwise, "PAIRS", 30)
            assert expected_gains(nbest, make_metric(name), chances) == pytest.approx(expected, abs=1e-12)


def test_minimum_bayes_risk_of_too_many_hypotheses_is_refused(monkeypatch):
    monkeypatch.setattr(pairwise, "MOST_HYPOTHESES", 3)
    texts = ["a", "b", "b", "a", "b", "c", "d"]
    nbest = from_columns("x", [0, 0, 0, 1, 1, 1, 1], texts, np.zeros((7, 1)), (("f", 1),))
    with pytest.raises(DataError) as error:
        expected_gains(nbest, make_metric("chrf"))
    what = "x:4: sentence 1 has 4 different hypotheses, all compared with each other; expected at most 3: "
    assert str(error.value) == what + "use a shorter n-best list"


def test_minimum_bayes_risk_takes_the_hypothesis_most_like_the_others():
    texts = ["the cat sat on the mat", "a cat sat on the mat", "the cat sat on a mat", "dogs ran home"]
    nbest = from_columns("x", [0, 0, 0, 0], texts, np.zeros((4, 1)), (("f", 1),))
    gains = expected_gains(nbest, make_metric("chrf"))
    assert best_hypotheses(nbest, gains).tolist() == [0]
    sure = expected_gains(nbest, make_metric("chrf"), np.array([0.0, 0, 0, 1]))
    assert best_hypotheses(nbest, sure).tolist() == [3]


def test_posterior_adds_up_to_one_and_survives_large_scores():
    nbest = from_columns("x", [0, 0, 2], ["a", "b", "c"], np.zeros((3, 1)), (("f", 1),))
    assert posterior(nbest).tolist() == [0.5, 0.5, 1]
    result = posterior(nbest, [5000.0, 5001.0, -9e9])
    assert result == pytest.approx([1 / (1 + np.e), np.e / (1 + np.e), 1])
    # however much more probable the hypotheses are that have no vote
    assert posterior(nbest, [900, 0, 1], out=np.array([True, False, False])).tolist() == [0, 1, 1]
    with pytest.raises(OptionError, match="--scale nan"):
        posterior(nbest, [0, 0, 0], np.nan)
    with pytest.raises(OptionError, match=r"--scale -1e\+308: too large for the scores of x"):
        posterior(nbest, [-30, 1, 2], -1e308)


@pytest.mark.parametrize("name", ["bleu[order=2]", "chrf", "ter", "combine[bleu[order=1] - ter]"])
def test_the_oracle_is_close_to_the_best_of_all_choices(name):
    objective = MetricScorer(make_metric(name))
    for seed in range(6):
        nbest, references = random_list(seed, sentences=4, hypotheses=5)
        table = StatisticsTable(objective, references)
        row = table.rows(nbest)
        choices = np.array(list(itertools.product(*(range(start, start + 5) for start in (0, 5, 10, 15)))))
        best = objective_gain(objective, table.statistics[row[choices]].sum(axis=1)).max()
        result = oracle_choice(nbest, references, objective)
        alone = best_hypotheses(nbest, sentence_scores(nbest, references, objective), 4)
        own, start = (
            sign_of(objective) * score_of_choice(nbest, references, objective, item) for item in (result, alone)
        )
        assert start <= own <= best + 1e-12
        assert own >= best - 0.02


def test_the_oracle_of_a_mean_of_sentence_scores_is_the_best_of_every_sentence():
    objective = make_scorer("ribes", None)
    nbest, references = random_list(3, sentences=10)
    scores = sentence_scores(nbest, references, objective)
    assert oracle_choice(nbest, references, objective).tolist() == best_hypotheses(nbest, scores, 10).tolist()


def test_weights_choose_the_first_of_equals_and_miss_empty_sentences():
    nbest = from_columns(
        "x", [0, 0, 2, 2], ["a", "b", "c", "d"], [[1, 0], [1, 0], [0, 1], [0, 2]], (("f", 1), ("g", 1))
    )
    weights = Weights((("g", 1), ("f", 1)), (1.0, 0.5))
    scores = model_scores(nbest, weights)
    assert scores.tolist() == [0.5, 0.5, 1, 2]
    assert best_hypotheses(nbest, scores, 4).tolist() == [0, -1, 3, -1]
    with pytest.raises(DataError, match="the weights are for g"):
        model_scores(nbest, Weights((("g", 1),), (1.0,)))


def test_references_of_several_files(tmp_path):
    for name, text in {"a": "x\ny\n", "b": "\nz\n", "c": "x\n", "s": "1\n2\n"}.items():
        (tmp_path / name).write_text(text)
    result = read_references([tmp_path / "a", tmp_path / "b"], tmp_path / "s")
    assert result.references[["source", "text"]].to_numpy().tolist() == [[0, "x"], [1, "y"], [1, "z"]]
    assert result.sources["text"].tolist() == ["1", "2"]
    # an empty line of the only file is an empty reference
    assert read_references([tmp_path / "b"]).references["text"].tolist() == ["", "z"]
    with pytest.raises(DataError, match=r"c:1: has 1 line, expected 2 as in .*a"):
        read_references([tmp_path / "a", tmp_path / "c"])
