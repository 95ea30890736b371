from __future__ import annotations

import dataclasses
import json
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from ranker.corpora.dataset import Dataset
from ranker.corpora.records import Candidate, Record, assemble
from ranker.corpora.schema import table
from ranker.errors import DataError
from ranker.evaluation.judges.agreement import cohen_kappa, consistency, judges_agreement
from ranker.evaluation.judges.coefficients import (
    DISTANCES,
    agreement_sums,
    cohen_kappa_of,
    coincidences,
    consistency_counts,
    fleiss_kappa_of,
    krippendorff_alpha_of,
    randolph_kappa_of,
    scott_pi_of,
)


def confusion(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Count how often one judge said this while another said that, NaN where a judge said nothing."""
    left, right = (np.asarray(each, dtype=np.float64) for each in (first, second))
    common = ~np.isnan(left) & ~np.isnan(right)
    labels = np.unique([left[common], right[common]])
    size = len(labels)
    code = np.searchsorted(labels, left[common]) * size + np.searchsorted(labels, right[common])
    return np.bincount(code, minlength=size * size).reshape(size, size).astype(np.float64)


def category_counts(ratings: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Count how many judges, the rows of `ratings`, put each unit into each category; return the categories too."""
    known = ~np.isnan(ratings)
    labels = np.unique(ratings[known])
    unit = np.broadcast_to(np.arange(ratings.shape[1]), ratings.shape)[known]
    code = unit * len(labels) + np.searchsorted(labels, ratings[known])
    counts = np.bincount(code, minlength=ratings.shape[1] * len(labels)).reshape(-1, len(labels))
    return counts.astype(np.float64), labels


@pytest.fixture(scope="module")
def tables(golden):
    with (golden / "agreement.jsonl").open() as stream:
        return [json.loads(line) for line in stream if line.strip()]


def test_coefficients_equal_other_programs(tables):
    compared = 0
    for row in tables:
        sparse, whole = (np.array(row[key], dtype=float) for key in ("ratings", "complete_ratings"))
        result = {}
        for distance in DISTANCES:
            for name, ratings in ((distance, sparse), (f"complete.{distance}", whole)):
                counts, categories = category_counts(ratings)
                sums = coincidences(counts).sum(axis=0)
                result[f"krippendorff.{name}"] = krippendorff_alpha_of(sums, distance, categories)
        pair = confusion(whole[0], whole[1])
        result["cohen.rater01"] = cohen_kappa_of(pair)
        result["cohen.linear"] = cohen_kappa_of(pair, "linear")
        result["cohen.quadratic"] = cohen_kappa_of(pair, "quadratic")
        result["scott_pi.rater01"] = scott_pi_of(pair)
        sums = agreement_sums(category_counts(whole)[0]).sum(axis=0)
        result["fleiss"] = fleiss_kappa_of(sums)
        result["randolph_free_marginal"] = randolph_kappa_of(sums)
        for name, value in result.items():
            if row[name] is not None:
                assert value == pytest.approx(row[name], abs=1e-9), (row["id"], name)
                compared += 1
    assert compared > 100


def test_coefficients_take_leading_axes():
    pair = confusion([1, 2, 3, 1, np.nan], [1, 2, 1, 1, 2])
    assert pair.tolist() == [[2, 0, 0], [0, 1, 0], [1, 0, 0]]
    assert cohen_kappa_of(np.stack([pair, 2 * pair])).tolist() == pytest.approx([float(cohen_kappa_of(pair))] * 2)
    assert np.isnan(cohen_kappa_of(confusion([1, 1], [1, 1])))


@pytest.mark.parametrize("judges", [2, 3])
def test_consistency_counts_equal_the_enumeration(judges):
    generator = np.random.default_rng(0)
    for _ in range(30):
        votes = generator.integers(-1, 2, size=generator.integers(0, 7))
        total, same, tolerant = consistency_counts([(votes == vote).sum() for vote in (-1, 0, 1)], judges)
        groups = list(combinations(votes.tolist(), judges))
        assert total == len(groups)
        assert same == sum(len(set(group)) == 1 for group in groups)
        assert tolerant == sum(not {-1, 1} <= set(group) for group in groups)


def scored(rows: list[dict[str, float]]):
    """One source; a candidate for each mapping of judges to fluency."""
    candidates = [
        Candidate(f"s{i}", f"t{i}", [("fluency", judge, value) for judge, value in row.items()])
        for i, row in enumerate(rows)
    ]
    return assemble([Record("s", ["r"], candidates)], "test")


def test_consistency_counts_agreement_and_contradiction():
    example = scored([{"a": 1, "b": 1}, {"a": 2, "b": 3}, {"a": 2, "b": 2}])
    # pairs: 0<1 both; 0<2 both; 1=2 for a, 1>2 for b: a tie contradicts nothing
    result = consistency(example, "fluency")
    assert (result.pairs, result.agreeing, result.with_ties) == (3, pytest.approx(2 / 3), 1)
    example = scored([{"a": 1, "b": 2, "c": 1}, {"a": 2, "b": 1, "c": 1}])
    result = consistency(example, "fluency", 3)
    assert (result.pairs, result.agreeing, result.with_ties) == (1, 0, 0)
    assert consistency(example, "fluency", 2).pairs == 3
    assert consistency(example, "fluency", 2).with_ties == pytest.approx(2 / 3)


def compared(votes: list[tuple[int, str, str]], lps: tuple[str, ...] = ("a-en", "a-en")) -> Dataset:
    """Sources of two candidates each; votes are (source, judge, relation)."""
    records = [
        Record("s", ["r"], [Candidate("A", "x"), Candidate("B", "y")], lp=lp, seg_id=str(index))
        for index, lp in enumerate(lps)
    ]
    columns = {
        "first": [2 * source for source, _, _ in votes],
        "second": [2 * source + 1 for source, _, _ in votes],
        "relation": [relation for _, _, relation in votes],
        "judge": [judge for _, judge, _ in votes],
        "primary": np.ones(len(votes), dtype=bool),
    }
    return dataclasses.replace(assemble(records, "test"), preferences=table("preferences", columns))


def test_agreement_on_preferences_per_language_pair_and_pair_of_judges():
    of_first = [(0, "j1", ">"), (0, "j2", ">"), (0, "j3", "<"), (1, "j1", "="), (1, "j2", "<"), (1, "j1", ">")]
    example = compared([*of_first, (2, "j3", ">"), (2, "j1", ">")], ("a-en", "a-en", "b-en"))
    first, second, together = judges_agreement(example, resamples=20)
    assert (first.lp, second.lp, together.lp) == ("a-en", "b-en", "all")
    assert (first.judges, first.units, first.judgements) == (3, 2, 5)
    assert first.figures["consistency 2"].value == pytest.approx(1 / 4)
    assert first.figures["consistency 2 with ties"].value == pytest.approx(2 / 4)
    assert first.figures["consistency 3"].value == 0
    assert first.figures["same judge"].value == 0
    assert [(pair.first, pair.second, pair.units, pair.agreeing) for pair in first.pairs] == [
        *(("j1", "j2", 2, 0.5), ("j1", "j3", 1, 0), ("j2", "j3", 1, 0)),
    ]
    assert second.figures["consistency 2"].value == 1
    assert consistency(example, "preferences").pairs == 5


RELATIONS = {">": 1, "=": 0, "<": -1}
VOTES = st.lists(st.lists(st.sampled_from([*RELATIONS, None]), min_size=3, max_size=3), min_size=2, max_size=6).filter(
    lambda rows: any(sum(each is not None for each in row) > 1 for row in rows)
)


def votes_of(rows: list[list[str | None]]) -> list[tuple[int, str, str]]:
    """Votes of judges a, b and c; a row per source."""
    return [(n, "abc"[k], each) for n, row in enumerate(rows) for k, each in enumerate(row) if each is not None]


def of_orders(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Confusions of votes -1, 0 and 1, NaN where a judge said nothing."""
    return np.array([[((first == a) & (second == b)).sum() for b in (-1, 0, 1)] for a in (-1, 0, 1)])


@given(VOTES)
def test_orders_agree_as_on_the_mean_of_all_ways_to_list_the_candidates(rows):
    ways = []
    for signs in product((1, -1), repeat=len(rows)):
        values = [
            [np.nan if each is None else sign * RELATIONS[each] for each in row]
            for sign, row in zip(signs, rows, strict=True)
        ]
        ways.append(np.array(values).T)
    categories = np.array([-1, 0, 1])
    counts = np.array([(way[:, :, np.newaxis] == categories).sum(axis=0) for way in ways])
    (agreement,) = judges_agreement(compared(votes_of(rows), ("a-en",) * len(rows)), resamples=0)
    together = np.mean([coincidences(each).sum(axis=0) for each in counts], axis=0)
    shares = np.mean([agreement_sums(each).sum(axis=0) for each in counts], axis=0)
    wanted = {"fleiss": fleiss_kappa_of(shares), "randolph": randolph_kappa_of(shares)}
    wanted |= {f"krippendorff {each}": krippendorff_alpha_of(together, each, categories) for each in DISTANCES}
    for name, value in wanted.items():
        assert agreement.figures[name].value == pytest.approx(value, abs=1e-12, nan_ok=True)
    for pair in agreement.pairs:
        first, second = ("abc".index(judge) for judge in (pair.first, pair.second))
        table = np.mean([of_orders(way[first], way[second]) for way in ways], axis=0)
        assert pair.units == table.sum()
        assert pair.kappa == pytest.approx(float(cohen_kappa_of(table)), abs=1e-12, nan_ok=True)
        assert pair.quadratic == pytest.approx(float(cohen_kappa_of(table, "quadratic")), abs=1e-12, nan_ok=True)
        assert pair.pi == pytest.approx(float(scott_pi_of(table)), abs=1e-12, nan_ok=True)


@given(VOTES, st.randoms(use_true_random=False))
def test_agreement_on_preferences_depends_neither_on_rows_nor_on_sides_nor_on_the_order_of_candidates(rows, chance):
    expected = judges_agreement(compared(votes_of(rows), ("a-en",) * len(rows)), resamples=0)
    data = compared(votes_of(rows), ("a-en",) * len(rows))
    listed = [chance.sample((0, 1), 2) for _ in rows]
    candidates = data.preferences[["first", "second"]].to_numpy()
    candidates = np.array([[2 * (each // 2) + listed[each // 2][each % 2] for each in pair] for pair in candidates])
    swapped = np.array([chance.random() < 0.5 for _ in candidates])
    candidates[swapped] = candidates[swapped, ::-1]
    relation = data.preferences["relation"].to_numpy(object).copy()
    relation[swapped] = [{"<": ">", ">": "<", "=": "="}[each] for each in relation[swapped]]
    changed = data.preferences.assign(first=candidates[:, 0], second=candidates[:, 1], relation=relation)
    changed = changed.iloc[chance.sample(range(len(changed)), len(changed))].reset_index(drop=True)
    (result,), (wanted,) = judges_agreement(dataclasses.replace(data, preferences=changed), resamples=0), expected
    for name, figure in wanted.figures.items():
        assert result.figures[name].value == pytest.approx(figure.value, abs=1e-12, nan_ok=True)
    for mine, pair in zip(result.pairs, wanted.pairs, strict=True):
        assert dataclasses.astuple(mine) == pytest.approx(dataclasses.astuple(pair), abs=1e-12, nan_ok=True)


def test_two_judges_who_agree_on_best_and_worst_agree_although_systems_are_listed_best_first():
    votes = [(n, judge, ">" if n or judge == "a" else "=") for n in range(10) for judge in "ab"]
    (agreement,) = judges_agreement(compared(votes, ("a-en",) * 10), resamples=20)
    # chance: 1/2 times 9/20, twice
    assert agreement.pairs[0].kappa == pytest.approx((0.9 - 0.45) / (1 - 0.45))
    assert agreement.figures["cohen"].low > 0
    assert cohen_kappa(compared(votes, ("a-en",) * 10), "preferences") == agreement.pairs[0].kappa


def simulated(judges: int, sources: int, seed: int) -> Dataset:
    generator = np.random.default_rng(seed)
    records = []
    for source in range(sources):
        truth = generator.normal(size=3)
        candidates = []
        for index, value in enumerate(truth):
            scores = np.clip(np.round(3 + value + generator.normal(size=judges)), 1, 5)
            marks = [
                ("fluency", f"judge{judge}", float(score))
                for judge, score in enumerate(scores)
                if generator.random() < 0.7
            ]
            candidates.append(Candidate(f"s{index}", f"t{index}", marks))
        records.append(Record("s", ["r"], candidates, lp="a-en", seg_id=str(source)))
    return assemble(records, "test")


def test_agreement_on_ratings_equals_what_scikit_learn_says_of_every_pair():
    data = simulated(4, 40, 1)
    (agreements,) = judges_agreement(data, "fluency", resamples=30)
    table = np.full((4, len(data)), np.nan)
    for row in data.ratings.itertuples():
        table[int(row.judge[5:]), row.candidate] = row.value
    weighted = dict.fromkeys(("kappa", "linear", "quadratic"), 0.0)
    total = 0
    for pair, (a, b) in zip(agreements.pairs, combinations(range(4), 2), strict=True):
        common = ~np.isnan(table[a]) & ~np.isnan(table[b])
        total += common.sum()
        assert (pair.first, pair.second, pair.units) == (f"judge{a}", f"judge{b}", common.sum())
        for name in weighted:
            wanted = cohen_kappa_score(
                table[a][common].astype(int),
                table[b][common].astype(int),
                labels=[1, 2, 3, 4, 5],
                weights=None if name == "kappa" else name,
            )
            assert getattr(pair, name) == pytest.approx(wanted, abs=1e-12)
            weighted[name] += wanted * common.sum()
    assert agreements.figures["cohen"].value == pytest.approx(weighted["kappa"] / total)
    assert cohen_kappa(data, "fluency") == pytest.approx(weighted["kappa"] / total)
    assert agreements.figures["cohen quadratic"].value == pytest.approx(weighted["quadratic"] / total)
    counts, categories = category_counts(table)
    alpha = krippendorff_alpha_of(coincidences(counts).sum(axis=0), "ordinal", categories)
    assert agreements.figures["krippendorff ordinal"].value == pytest.approx(alpha)
    for name, figure in agreements.figures.items():
        if name != "same judge":
            assert figure.low < figure.value < figure.high, name
    assert judges_agreement(data, "fluency", resamples=30) == (agreements,)


def test_kappa_weighs_how_far_apart_values_are_even_if_nobody_gave_those_between():
    first, second = [0, 1, 5, 10, 2, 5], [1, 1, 6, 5, 0, 2]
    (agreement,) = judges_agreement(scored([{"a": a, "b": b} for a, b in zip(first, second, strict=True)]), "fluency")
    for name in ("linear", "quadratic"):
        wanted = cohen_kappa_score(first, second, labels=[*range(11)], weights=name)
        assert getattr(agreement.pairs[0], name) == pytest.approx(wanted)
        assert agreement.figures[f"cohen {name}"].value == pytest.approx(wanted)


def test_values_that_differ_by_rounding_alone_are_one_category():
    example = scored([{"a": 0.1 + 0.2, "b": 0.3}, {"a": 0.3, "b": 0.1 + 0.2}, {"a": 1.2, "b": 1 + 0.1 + 0.1}])
    assert consistency(example, "fluency").agreeing == 1
    (agreement,) = judges_agreement(example, "fluency", resamples=0)
    assert {agreement.figures[name].value for name in ("cohen", "fleiss", "krippendorff nominal")} == {1.0}


def test_a_language_pair_has_the_scale_that_its_judges_used():
    def scores(lp: str, scale: list[float]) -> list[Record]:
        chance = np.random.default_rng(len(scale))

        def candidate(system: str) -> Candidate:
            return Candidate(system, system, [("fluency", judge, chance.choice(scale)) for judge in "aba"])

        return [Record("s", ["r"], [candidate("A"), candidate("B")], lp=lp) for _ in range(20)]

    coarse, middle, fine = scores("a-en", [1, 2, 3]), scores("b-en", list(range(9))), scores("c-en", list(range(1, 20)))
    (alone,) = judges_agreement(assemble(coarse, "test"), "fluency", resamples=20)
    for others in ([], middle, fine):
        agreements = judges_agreement(assemble([*others, *coarse], "test"), "fluency", resamples=20)
        (first,) = (agreement for agreement in agreements if agreement.lp == "a-en")
        assert list(first.figures) == list(alone.figures)
        for name, figure in alone.figures.items():
            assert dataclasses.astuple(first.figures[name]) == pytest.approx(dataclasses.astuple(figure), nan_ok=True)
    assert alone.figures["randolph"].value == pytest.approx(1.5 * (alone.pairs[0].agreeing - 1 / 3))
    of_fine = judges_agreement(assemble([*coarse, *fine], "test"), "fluency", resamples=20)[1]
    assert of_fine.lp == "c-en"
    assert "cohen" not in of_fine.figures
    assert "consistency 2" in of_fine.figures


def copied(texts: list[str], scores: list[dict[str, float]], sources: int = 12) -> Dataset:
    """Sources with the outputs `texts`, and mappings of judges to fluency for each of these."""
    candidates = [
        Candidate(f"s{n}", text, [("fluency", judge, value) for judge, value in row.items()])
        for n, (text, row) in enumerate(zip(texts, scores, strict=True))
    ]
    return assemble([Record(f"s{n}", ["r"], candidates, lp="a-en", seg_id=str(n)) for n in range(sources)], "test")


@pytest.mark.parametrize("places", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_equal_outputs_of_a_source_count_once(places):
    texts, scores = ["x", "x", "y"], [{"a": 5, "b": 1}, {"a": 5, "b": 1}, {"a": 1, "b": 5}]
    data = copied([texts[n] for n in places], [scores[n] for n in places])
    single = copied(texts[1:], scores[1:])
    (agreement,), (wanted,) = (judges_agreement(each, "fluency", resamples=20) for each in (data, single))
    assert (agreement.units, agreement.judgements) == (24, 48)
    assert "same judge" not in agreement.figures
    for name, figure in wanted.figures.items():
        assert agreement.figures[name].value == pytest.approx(figure.value, nan_ok=True), name
    assert agreement.figures["consistency 2 with ties"].value == 0
    assert consistency(data, "fluency") == consistency(single, "fluency")


def test_of_scores_of_equal_outputs_the_first_counts_and_judges_of_different_ones_are_compared():
    data = copied(["x", "x", "y"], [{"a": 5}, {"a": 3, "b": 4}, {"a": 1, "b": 2}])
    (agreement,) = judges_agreement(data, "fluency", resamples=0)
    (wanted,) = judges_agreement(copied(["x", "y"], [{"a": 5, "b": 4}, {"a": 1, "b": 2}]), "fluency", resamples=0)
    assert agreement.pairs == wanted.pairs
    assert agreement.pairs[0].units == 24


def test_a_second_score_of_an_output_is_compared_with_the_first():
    candidates = [
        Candidate(name, "x", [("fluency", judge, value) for judge, value in rows])
        for name, rows in (
            ("A", [("a", 1), ("a", 2), ("b", 1)]),
            ("B", [("a", 1), ("b", 1)]),
        )
    ]
    (agreement,) = judges_agreement(assemble([Record("s", ["r"], candidates)], "test"), "fluency", resamples=0)
    assert (agreement.units, agreement.figures["same judge"].value) == (1, 0)


def test_judges_who_share_nothing_cannot_agree():
    with pytest.raises(DataError, match="found no candidates with preferences judgements by two judges"):
        judges_agreement(compared([(0, "a", ">"), (1, "b", "<")]))
