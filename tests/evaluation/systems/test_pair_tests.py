from __future__ import annotations

import json
from itertools import combinations, product

import numpy as np
import pytest
import sacrebleu
from sacrebleu.significance import PairedTest

from ranker.corpora import catalogue
from ranker.errors import OptionError
from ranker.evaluation.resampling.bootstrap import index_draws, swap_draws
from ranker.evaluation.resampling.significance import holm
from ranker.evaluation.systems.pair_tests import compare_pairs
from ranker.evaluation.systems.power import fewest_sources, sources_needed
from ranker.extractors.registry import make_metric
from tests.datasets import dataset_of
from tests.effort import THOROUGH, further
from tests.evaluation.step_down import step_down_max_t

METRICS = {"bleu": sacrebleu.BLEU, "chrf": sacrebleu.CHRF, "ter": sacrebleu.TER}


def ratio(sums):
    return sums[..., 0] / (5 + np.abs(sums[..., 1]))


@pytest.fixture
def statistics():
    """Statistics of 40 sources and 4 systems, of which the last two are the same."""
    rows = np.random.default_rng(4).normal(size=(40, 4, 2)) + 3
    rows[:, 0, 0] += 1
    rows[:, 3] = rows[:, 2]
    return rows


def test_too_many_systems_are_refused_before_their_pairs_are_made(monkeypatch):
    monkeypatch.setattr(np, "triu_indices", lambda *_: pytest.fail("pairs were made"))
    with pytest.raises(
        OptionError, match="20,000 systems are too many to compare all 199,990,000 pairs, expected 2,500"
    ):
        compare_pairs(ratio, np.ones((2, 20_000, 2)), resamples=0)
    with pytest.raises(OptionError, match=r"--resamples 1000: 499,500 pairs .* expected at most 100, or fewer systems"):
        compare_pairs(ratio, np.ones((2, 1000, 2)), resamples=1000)


@pytest.mark.parametrize("size", [1, 7, 33, 150])
def test_draws_are_those_of_one_call_whatever_the_blocks(size, monkeypatch):
    monkeypatch.setattr("ranker.evaluation.resampling.bootstrap._INDICES", 70 * size)
    places = np.random.default_rng(5).choice(size, size=(200, size), replace=True)
    weights = np.concatenate([block for _, block in index_draws(size, 200, 5)])
    assert (weights == [np.bincount(row, minlength=size) for row in places]).all()
    selected = np.random.default_rng(5).integers(2, size=(200, size), dtype=bool)
    assert (np.concatenate([block for _, block in swap_draws(size, 200, 5)]) == selected).all()
    assert [start for start, _ in swap_draws(size, 200, 5)] == [0, 64, 128, 192]


@pytest.mark.parametrize("test", ["bs", "ar"])
@pytest.mark.parametrize("systems", [2, 4])
def test_adjusted_p_values_are_those_of_plain_python(statistics, test, systems, monkeypatch):
    rows = statistics[:, :systems]
    pairs = list(combinations(range(systems), 2))
    scores = ratio(rows.sum(axis=0))
    observed = np.array([scores[item] - scores[second] for item, second in pairs])
    null = np.empty((99, len(pairs)))
    draws = np.concatenate([block for _, block in (index_draws if test == "bs" else swap_draws)(40, 99, 3)])
    for row, weights in enumerate(draws):
        for place, (pair, right) in enumerate(pairs):
            if test == "bs":
                sums = [
                    sum(weight * each for weight, each in zip(weights, rows[:, s], strict=True)) for s in (pair, right)
                ]
            else:
                chosen = [(rows[i, pair], rows[i, right])[:: 1 if weights[i] else -1] for i in range(40)]
                sums = [sum(each[side] for each in chosen) for side in (0, 1)]
            null[row, place] = ratio(sums[0]) - ratio(sums[1])
    if test == "bs":
        null -= null.mean(axis=0)
    monkeypatch.setattr("ranker.evaluation.systems.pair_tests._CHUNK", 400)
    monkeypatch.setattr("ranker.evaluation.systems.pair_tests.RANDOMISED_BELOW", 40)
    result = compare_pairs(ratio, rows, test=test, resamples=99, seed=3)
    assert list(zip(result.first.tolist(), result.second.tolist(), strict=True)) == pairs
    varies = np.abs(null).max(axis=0) > 0
    assert result.adjusted[varies] == pytest.approx(step_down_max_t(null[:, varies], observed[varies]), abs=1e-12)
    extreme = (np.abs(null) >= np.abs(observed) - 1e-12).sum(axis=0)
    assert result.p == pytest.approx((1 + extreme) / 100, abs=1e-12)
    assert result.p[~varies].tolist() == result.adjusted[~varies].tolist() == [1.0] * (systems == 4)


@pytest.mark.parametrize("correction", ["westfall-young", "holm", "none"])
@pytest.mark.parametrize("parity", [None, "sacrebleu"])
@pytest.mark.parametrize("test", ["bs", "ar"])
def test_identical_systems_have_p_1_and_corrections_only_raise_p(statistics, test, parity, correction):
    result = compare_pairs(ratio, statistics, test=test, parity=parity, correction=correction, resamples=200)
    same = (result.first == 2) & (result.second == 3)
    assert result.p[same] == result.adjusted[same] == 1
    assert (result.p[~same] < 1).all()
    assert (result.adjusted >= result.p).all()
    if parity is None:
        wanted = {"holm": holm(result.p), "none": result.p}.get(correction, result.adjusted)
        assert result.adjusted.tolist() == wanted.tolist()


def test_swaps_equal_the_exact_enumeration():
    generator = np.random.default_rng(4)
    rows = np.stack([generator.normal(size=(9, 2)) + 0.6, generator.normal(size=(9, 2))], axis=1)
    swaps = np.array(list(product([0.0, 1.0], repeat=9)))
    moved = swaps @ (rows[:, 0] - rows[:, 1])
    total = rows.sum(axis=0)
    differences = ratio(total[1] + moved) - ratio(total[0] - moved)
    exact = (np.abs(differences) >= abs(ratio(total[0]) - ratio(total[1])) - 1e-12).mean()
    result = compare_pairs(ratio, rows, test="ar", resamples=20_000)
    assert result.p[0] == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 20_000))


def records(dataset, systems):
    """Return the texts of `systems` by name, and the references, transposed as sacreBLEU takes them."""
    name, text = (dataset.candidates[column].to_numpy(object) for column in ("system", "text"))
    hypotheses = [(system, text[name == system].tolist()) for system in systems]
    references = dataset.references["text"].to_numpy(object).reshape(len(dataset.sources), -1).T
    return hypotheses, [list(reference) for reference in references]


def check_parity(dataset, systems, metrics, test, resamples, monkeypatch):
    """Compare p-values, uncorrected, of `systems` and the first of them with those of the installed sacreBLEU."""
    monkeypatch.setenv("SACREBLEU_SEED", "12345")
    hypotheses, references = records(dataset, systems)
    scorers = {name: METRICS[name](references=references) for name in metrics}
    _, results = PairedTest(hypotheses, scorers, None, test_type=test, n_samples=resamples)()
    names = [item for item in results if item != "System"]
    wanted = dict(zip(metrics, ([item.p_value for item in results[key][1:]] for key in names), strict=True))
    chosen = dataset.candidates["system"].to_numpy(object)
    for name in metrics:
        metric = make_metric(name)
        statistics = metric.statistics(dataset)
        cube = np.stack([statistics[chosen == system] for system in systems], axis=1)
        result = compare_pairs(
            metric.score, cube, test=test, resamples=resamples, seed=12345, parity="sacrebleu", scale=100
        )
        assert result.p[result.first == 0].tolist() == wanted[name]


@pytest.mark.parametrize("test", ["bs", further("ar")])
def test_p_values_equal_sacrebleus_on_the_sample(test, monkeypatch):
    sample = catalogue.load("sample")
    check_parity(sample, ["sys3", "sys1", "sys4", "sys5"], ["bleu", "chrf"], test, 100, monkeypatch)
    if THOROUGH:  # sacreBLEU's TER takes long
        check_parity(sample, ["sys4", "sys3"], ["ter"], test, 100, monkeypatch)


@pytest.mark.parametrize("name", ["BLEU", "chrF2"])
@pytest.mark.parametrize("test", ["bs", "ar"])
def test_golden_p_values_equal_sacrebleus(shared_golden, name, test):
    stored = json.loads((shared_golden / "sacrebleu_paired.json").read_text())
    lines = (shared_golden / "inputs.jsonl").read_text(encoding="utf-8").splitlines()
    items = {item["id"]: item for item in map(json.loads, lines)}
    dataset = dataset_of(
        [(items[a]["refs"][:1], [items[a]["hyp"], items[b]["hyp"]]) for a, b in stored["ids"]],
        sources=[""] * len(stored["ids"]),
    )
    metric = make_metric({"BLEU": "bleu", "chrF2": "chrf"}[name])
    cube = metric.statistics(dataset).reshape(len(stored["ids"]), 2, -1)
    settings = {"test": test, "resamples": 1000, "seed": stored[test]["seed"]}
    rows = stored[test]["results"][name]
    result = compare_pairs(metric.score, cube, parity="sacrebleu", scale=100, **settings)
    assert 100 * result.scores == pytest.approx([rows[0]["score"], rows[1]["score"]], abs=1e-9)
    assert result.p.tolist() == [rows[1]["p"]]
    plain = compare_pairs(metric.score, cube, **settings)
    # two-sided, about twice as many resamples count for the bootstrap; the swaps are the same
    assert plain.p[0] == result.p[0] if test == "ar" else result.p[0] < plain.p[0] < 0.5


def test_sources_needed_give_the_power_that_is_asked_for():
    generator = np.random.default_rng(0)
    values = generator.normal(0.2, 1, size=200)
    spread = values.std() / np.sqrt(200)
    number = sources_needed(values.mean(), spread, 200, alpha=0.05, power=0.8)
    drawn = generator.choice(values, size=(4000, int(number)))
    z = drawn.mean(axis=1) / (drawn.std(axis=1) / np.sqrt(number))
    assert (z > 1.96).mean() == pytest.approx(0.8, abs=0.03)
    assert sources_needed([0, -1], [1, 0], 10, alpha=0.05, power=0.8).tolist() == [np.inf, 6]
    assert [fewest_sources(alpha) for alpha in (0.1, 0.05, 0.01)] == [5, 6, 8]


def test_what_does_not_fit_into_memory_is_refused():
    with pytest.raises(OptionError, match=r"10000: 5,050 pairs of 101 systems .* expected at most 9,900, or fewer"):
        compare_pairs(ratio, np.ones((2, 101, 2)), resamples=10_000)


def mean_of(sums):
    return sums[..., 0] / sums[..., 1]


def counted(differences):
    """Return statistics of two systems whose scores differ so, source by source."""
    rows = np.ones((len(differences), 2, 2))
    rows[:, 0, 0], rows[:, 1, 0] = differences, 0.0
    return rows


@pytest.mark.parametrize("test", ["bs", "ar"])
def test_p_values_of_few_sources_are_those_of_all_swaps(test):
    assert compare_pairs(mean_of, counted([0.3, 0.2, 0.4]), test=test).p == pytest.approx([0.25])
    differences = np.random.default_rng(1).normal(0.4, 1, 9)
    signs = np.array(list(product([1, -1], repeat=9)))
    wanted = (np.abs(signs @ differences) >= abs(differences.sum()) * (1 - 1e-9)).mean()
    result = compare_pairs(mean_of, counted(differences), test=test)
    assert (result.test, result.resamples) == ("exact", 255)
    assert result.p == pytest.approx([wanted], abs=1e-12)
    assert result.adjusted == pytest.approx([wanted], abs=1e-12)


def test_the_test_follows_from_the_number_of_sources():
    generator = np.random.default_rng(2)
    known = [("bs", size, parity) for size in (2, 10, 11, 199, 200) for parity in (None, "sacrebleu")]
    tests = [
        compare_pairs(mean_of, counted(generator.normal(size=size)), parity=parity).test for _, size, parity in known
    ]
    assert tests == ["exact", "bs", "exact", "bs", "ar", "bs", "ar", "bs", "bs", "bs"]
    many = [
        compare_pairs(mean_of, counted(generator.normal(size=size)), test="ar", resamples=10_000).test
        for size in (14, 15, 40)
    ]
    assert many == ["exact", "ar", "ar"]
