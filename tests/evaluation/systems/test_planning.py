"""Documents as units, how many of them are needed, and how often people agree with a difference."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ranker import Ranker, compare_systems, from_records, share
from ranker.evaluation.resampling.bootstrap import index_draws
from ranker.evaluation.systems.pair_tests import compare_pairs
from ranker.evaluation.systems.people import FEWEST_SOURCES, agreement_curve, agreement_curves
from ranker.evaluation.systems.power import power_of, smallest_found, sources_needed
from ranker.extractors.base import mean_score
from ranker.extractors.registry import make_metric
from ranker.ranking import included as included_models
from ranker.ranking.scorers import scorer_of, systems_scorer
from ranker.text.target_languages import target_language
from tests.effort import THOROUGH

SIMULATIONS, RESAMPLES = (1000, 1000) if THOROUGH else (150, 200)


def texts(sources: int, documents: int) -> list[dict[str, object]]:
    """Records of two systems, the sources of a document one after the other."""
    generator = np.random.default_rng(5)
    words = np.array(["a", "b", "c", "d", "e", "f", "g", "h"])
    return [
        {
            "source": f"s{place}",
            "doc": f"d{place * documents // sources}",
            "references": [" ".join(generator.choice(words, 8))],
            "candidates": {name: " ".join(generator.choice(words, 8)) for name in "AB"},
        }
        for place in range(sources)
    ]


def test_documents_are_resampled_as_a_whole() -> None:
    data = from_records(texts(120, 40))
    (compared,) = compare_systems(data, ["chrf"], level="document", resamples=100).comparisons
    assert (compared.sources, compared.documents, compared.units) == (120, 40, 40)
    statistics = make_metric("chrf").statistics(data).reshape(40, 3, 2, -1).sum(axis=1)
    weights = np.concatenate([block for _, block in index_draws(40, 100, 0)])
    scores = make_metric("chrf").score(np.einsum("rd,dsk->rsk", weights, statistics))
    other = compared.systems[0] if compared.systems[0].difference else compared.systems[1]
    sample = scores[:, 1] - scores[:, 0] if other.system == "B" else scores[:, 0] - scores[:, 1]
    assert other.difference is not None
    assert (other.difference.low, other.difference.high) == pytest.approx(np.percentile(sample, [2.5, 97.5]), abs=1e-12)
    assert other.error == pytest.approx(sample.std() * np.sqrt(40 / 39), abs=1e-12)
    whole = compare_systems(data, ["chrf"], resamples=100).comparisons[0]
    assert [each.score.value for each in whole.systems] == [each.score.value for each in compared.systems]


def simulated(generator: np.random.Generator, documents: int, apart: float) -> np.ndarray:
    """Statistics (score, 1) of two systems on documents of five sources each, which share a part of the difference."""
    noise = generator.normal(0, 0.7, (documents, 5)) + generator.normal(0, 0.5, (documents, 1))
    quality = generator.normal(0, 1, (documents, 5))
    scores = np.stack([quality + apart + noise, quality], axis=2)
    return np.stack([scores, np.ones_like(scores)], axis=3)


def test_intervals_over_documents_cover_and_those_over_sources_do_not() -> None:
    held = {"source": 0, "document": 0}
    for number in range(SIMULATIONS):
        rows = simulated(np.random.default_rng([1, number]), 60, 0.2)
        for unit, cube in (("source", rows.reshape(-1, 2, 2)), ("document", rows.sum(axis=1))):
            sample = compare_pairs(mean_score, cube, resamples=RESAMPLES, seed=number).sample
            low, high = np.percentile(sample[:, 0] - sample[:, 1], [2.5, 97.5])
            held[unit] += low <= 0.2 <= high
    shares = {unit: count / SIMULATIONS for unit, count in held.items()}
    assert shares["document"] == pytest.approx(0.94, abs=0.02 if THOROUGH else 0.05)
    assert shares["source"] < shares["document"] - 0.05


def test_a_pilot_tells_the_power_of_larger_sets() -> None:
    pilot = simulated(np.random.default_rng(2), 400, 0.2).sum(axis=1)
    tests = compare_pairs(mean_score, pilot, resamples=500)
    error = (tests.sample[:, 0] - tests.sample[:, 1]).std() * np.sqrt(400 / 399)
    number = int(sources_needed(0.2, error, 400, alpha=0.05, power=0.8))
    scaled = error * np.sqrt(400 / number)
    assert power_of(0.2, scaled, number, 0.05) == pytest.approx(0.8, abs=0.01)
    assert smallest_found(scaled, number, alpha=0.05, power=0.8) == pytest.approx(0.2, rel=0.01)
    assert (power_of(0.0, 1.0, 100, 0.05), power_of(0.1, 0.0, 100, 0.05)) == (pytest.approx(0.05, abs=1e-3), 1)
    significant = 0
    for seed in range(SIMULATIONS):
        cube = simulated(np.random.default_rng([3, seed]), number, 0.2).sum(axis=1)
        significant += compare_pairs(mean_score, cube, resamples=RESAMPLES, seed=seed).p[0] < 0.05
    assert significant / SIMULATIONS == pytest.approx(0.8, abs=0.05 if THOROUGH else 0.1)


@pytest.mark.parametrize("effect", [1.8, 1.6, 1.4, 1.3, 1.2, 1.0, 0.9, 0.8])
def test_the_power_that_is_promised_is_that_of_randomisation(effect: float) -> None:
    """Normal differences, `effect` standard deviations from 0, as many as are said to be needed for a power of .8."""
    number = int(sources_needed(effect, 0.1, 100, alpha=0.05, power=0.8))
    assert 6 <= number <= 15
    generator = np.random.default_rng([number, int(10 * effect)])
    values = generator.normal(effect, size=(2000, number))
    signs = 1 - 2 * (np.arange(2 ** (number - 1))[:, np.newaxis] >> np.arange(number) & 1)
    p = np.mean([np.abs(values @ row) >= np.abs(values.sum(axis=1)) * (1 - 1e-9) for row in signs], axis=0)
    found = (p < 0.05).mean()
    assert found > 0.78 - 0.02
    assert found == pytest.approx(power_of(effect, 1 / np.sqrt(number), number, 0.05), abs=0.04)


def test_more_sources_find_smaller_differences() -> None:
    found = [smallest_found(1 / np.sqrt(number), number, alpha=0.05, power=0.8) for number in range(6, 600)]
    assert (np.diff(found) < 0).all()
    needed = sources_needed(found, 0.1, 100, alpha=0.05, power=0.8)
    assert needed == pytest.approx(np.arange(6, 600), abs=1)
    assert sources_needed(1e-9, 0.1, 100, alpha=0.05, power=0.8) == pytest.approx(7.85e18, rel=1e-3)
    assert power_of(9.0, 1.0, 5, 0.05) == 0


def test_curves_begin_at_one_half_and_never_fall() -> None:
    stored = json.loads((share.directory("data") / "agreement.json").read_text(encoding="utf-8"))
    assert {"bleu", "chrf", "ter", "full", "full-lexical", "full-any"} <= {*agreement_curves()} == {*stored}
    for curve in agreement_curves().values():
        figures = [curve.at(apart) for apart in np.linspace(0, 2 * curve.largest, 50)]
        assert (figures[0].value, figures[0].low, figures[0].high) == (0.5, 0.5, 0.5)
        assert figures == sorted(figures, key=lambda each: each.value)
        assert all(0.5 < each.low < each.value < each.high < 1 for each in figures[1:])
        assert figures[-1] == curve.at(curve.largest) == curve.at(-curve.largest)


def test_only_what_a_curve_was_learnt_from_has_one() -> None:
    names = [name for name, curve in agreement_curves().items() if curve.model is not None]
    assert all(agreement_curve(systems_scorer(scorer_of(name)), "en") for name in ("bleu", "chrf", "ter", *names))
    other = Ranker.load(included_models.locate("full-any"))
    other.model = other.model.changed(mean=other.mean + 1)
    for scorer in (other, "bleu[order=2]", "ribes"):
        assert agreement_curve(scorer_of(scorer), "en") is None


@pytest.mark.parametrize(
    ("lp", "reference", "target", "known"),
    [
        ("de-en", "the cat sat on the mat", "en", {"bleu", "chrf", "full"}),
        (None, "the cat sat on the mat", "en", {"bleu", "chrf", "full"}),
        ("en-de", "die Katze sitzt auf der Matte", "de", {"bleu", "chrf", "full-any"}),
        ("en-de_CH", "die Katze sitzt auf der Matte", "de", {"bleu", "chrf", "full-any"}),
        ("en-ru", "кошка сидит на коврике", "ru", {"bleu", "chrf"}),
        ("en-zh", "猫坐在垫子上。", "zh", set()),
        (None, "猫坐在垫子上。", "zh", set()),
        ("en-ja", "猫がマットの上に座っている。", "ja", set()),
        ("en-vi", "con mèo ngồi trên tấm thảm", "vi", set()),
        (None, "con mèo ngồi trên tấm thảm", "", set()),
    ],
)
def test_a_curve_is_of_the_languages_that_it_was_learnt_from(
    lp: str | None, reference: str, target: str, known: set[str]
) -> None:
    sources = [
        {"source": str(number), "references": [reference] * 20, "candidates": [reference], **({"lp": lp} if lp else {})}
        for number in range(20)
    ]
    data = from_records(sources)
    assert target_language(data, lp or "?") == target
    found = {name for name in agreement_curves() if agreement_curve(systems_scorer(scorer_of(name)), target)}
    assert found >= known
    assert bool(found) == bool(known)
    assert ("full" in found, "full-any" in found) == (target == "en", target in ("en", "de"))


@pytest.mark.parametrize("sources", [FEWEST_SOURCES - 1, FEWEST_SOURCES])
def test_few_sources_say_nothing_about_people(sources: int) -> None:
    result = compare_systems(from_records(texts(sources, 50)), ["bleu"], resamples=20)
    (pair,) = result.comparisons[0].pairs
    known = result.comparisons[0].people_known
    assert known == (sources == FEWEST_SOURCES) == (pair.agree is not None)
    assert not known or pair.agree == agreement_curves()["bleu"].at(pair.difference.value)
