from __future__ import annotations

import dataclasses
import json
from itertools import combinations

import numpy as np
import pytest
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
        Candidate(f"s{i}", "t", [("fluency", judge, value) for judge, value in row.items()])
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
            candidates.append(Candidate(f"s{index}", "t", marks))
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


def test_judges_who_share_nothing_cannot_agree():
    with pytest.raises(DataError, match="found no candidates with preferences judgements by two judges"):
        judges_agreement(compared([(0, "a", ">"), (1, "b", "<")]))
