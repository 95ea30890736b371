"""Scores of permutations: published figures, independent programs, plain twins, degenerate input."""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker import threads
from ranker.arrays import FloatArray, Int64Array
from ranker.extractors.order.scores import NAMES, permutation_scores
from tests.effort import thorough

Batch = tuple[Int64Array, Int64Array]
RECURSIVE = ("pet", "pet_flat", "pet_viterbi", "pef")
permutations = st.integers(2, 24).flatmap(lambda length: st.permutations(range(length)))


def batch(items: Sequence[Sequence[int]]) -> Batch:
    offsets = np.concatenate([[0], np.cumsum([len(item) for item in items])]).astype(np.int64)
    return np.array(list(itertools.chain.from_iterable(items)), dtype=np.int64), offsets


def score(name: str, permutation: Sequence[int], **options: float) -> float:
    return float(permutation_scores(name, permutation, [0, len(permutation)], **options)[0])


FILES_OF_BEER = [("included", "perm_beer11.tsv"), ("shared", "perm_beer11.tsv"), ("shared", "perm_meteor_beer11.tsv")]


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def golden_batch(golden: Path, file: str) -> tuple[list[dict[str, str]], Batch]:
    """Return the rows of a golden file and their permutations."""
    if file == "perm_meteor_beer11.tsv":
        result = {row["id"]: row["ignore_and_normalize"] for row in table(golden / "perm_null_beer11.tsv")}
    else:
        lines = (golden / "permutations.tsv").read_text().splitlines()
        result = dict(line.split("\t") for line in lines)
    rows = table(golden / file)
    return rows, batch([[int(value) for value in result[row["id"]].split()] for row in rows])


def check_column(
    rows: list[dict[str, str]], column: str, found: FloatArray, tolerance: float, shortest: int = 0
) -> None:
    used = [index for index, row in enumerate(rows) if row[column] and int(row["n"]) >= shortest]
    assert len(used) > 100
    expected = [float(rows[index][column]) for index in used]
    np.testing.assert_allclose(found[used], expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    ("column", "name"),
    [
        ("hamming", "hamming"),
        ("kendall_linear", "kendall"),
        ("kendall_sqrt", "kendall_sqrt"),
        ("spearman01", "spearman"),
        ("ulam", "ulam"),
        ("fuzzy", "fuzzy"),
        ("avg_arity_score", "pet_arity"),
    ],
)
def test_golden_formulas(golden, column, name):
    rows, items = golden_batch(golden, "perm_formula.tsv")
    check_column(rows, column, permutation_scores(name, *items), 1e-9)


@pytest.mark.parametrize(("golden", "file"), FILES_OF_BEER, indirect=["golden"])
def test_golden_scores_of_beer(golden, file):
    rows, items = golden_batch(golden, file)
    for column, name in (("PET", "pet"), ("PETflat", "pet_flat"), ("PETviterbi", "pet_viterbi"), ("PEF", "pef")):
        for suffix, beta in (("_b5", 0.5), ("_b6", 0.6)):
            check_column(rows, column + suffix, permutation_scores(name, *items, beta=beta), 1e-9)
    for column, name in (
        ("PETmaxArity", "pet_max_arity"),
        ("PETsize_nodeCount", "pet_size"),
        ("PEFsize_countRatio", "pef_size"),
    ):
        check_column(rows, column, permutation_scores(name, *items), 1e-9)
    # of one word BEER 1.1 has NaN and, for Spearman, .5; three scores are float32
    check_column(rows, "Kendall", permutation_scores("kendall", *items), 1e-9, shortest=2)
    check_column(rows, "Spearman", permutation_scores("spearman", *items), 1e-9, shortest=2)
    for column in ("Hamming", "Ulam", "Fuzzy"):
        check_column(rows, column, permutation_scores(column.lower(), *items), 1e-7, shortest=2)


def test_stanojevic_and_simaan_example():
    result = [score(name, [0, 1, 2, 4, 3], beta=0.5) for name in ("pef", "pet", "pet_flat", "pet_viterbi")]
    assert result == pytest.approx([0.918, 0.874, 0.8, 0.968], abs=1e-3)
    assert score("pef", [0, 1, 2, 4, 3], beta=0.6) == pytest.approx(0.93, abs=5e-3)


def test_long_permutations_agree_with_scipy():
    permutation = np.random.default_rng(5).permutation(10_000)
    identity = np.arange(10_000)
    tau = scipy.stats.kendalltau(permutation, identity).statistic
    rho = scipy.stats.spearmanr(permutation, identity).statistic
    assert score("kendall", permutation) == pytest.approx((tau + 1) / 2, abs=1e-12)
    assert score("kendall_sqrt", permutation) == pytest.approx(1 - math.sqrt((1 - tau) / 2), abs=1e-12)
    assert score("spearman", permutation) == pytest.approx((rho + 1) / 2, abs=1e-12)


def test_none_one_and_two_words():
    for name in NAMES:
        assert permutation_scores(name, [], [0]).shape == (0,)
        assert permutation_scores(name, [0], [0, 0, 1, 1]).tolist() == [0.0, 1.0, 0.0]
    in_order = {name: score(name, [0, 1]) for name in NAMES}
    assert {name for name, value in in_order.items() if value != 1} == {"pet_arity", "pet_max_arity"}
    assert in_order["pet_arity"] == in_order["pet_max_arity"] == 0
    assert {name for name in NAMES if score(name, [1, 0]) != 0} == {"pet_size"}
    assert score("pet_size", [1, 0]) == 1


@settings(deadline=None)  # the first call compiles
@given(permutations, st.sampled_from([0.05, 0.3, 0.5, 0.6, 0.75]))
def test_ranges(permutation, beta):
    length = len(permutation)
    for name in NAMES:
        value = score(name, permutation, beta=beta)
        assert value <= 1
        assert value >= 0 or name == "pet_flat"
    for name in (*RECURSIVE, "hamming", "kendall", "kendall_sqrt", "spearman", "ulam", "fuzzy", "pef_size", "pet_size"):
        assert score(name, range(length), beta=beta) == 1, name
    for name in (*RECURSIVE, "kendall", "kendall_sqrt", "spearman", "ulam", "fuzzy"):
        assert score(name, range(length)[::-1], beta=beta) == pytest.approx(0, abs=1e-15), name


@settings(deadline=None)  # the first call compiles
@given(permutations)
def test_turning_a_permutation_around_changes_no_score_of_all_trees(permutation):
    """Reversing positions and values keeps every operator's kind and every span."""
    turned = [len(permutation) - 1 - value for value in reversed(permutation)]
    for name in ("pef", "pet_viterbi", "pet_flat", "pet_arity", "pet_size", "pet_max_arity", "pef_size", "kendall"):
        assert score(name, turned) == pytest.approx(score(name, permutation), abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_is_its_items_one_by_one_whatever_the_type_and_threads(name):
    rng = np.random.default_rng(3)
    items = [rng.permutation(length).tolist() for length in rng.integers(0, 30, 300)]
    values, offsets = batch(items)
    scores = permutation_scores(name, values, offsets)
    assert scores.dtype == np.float64
    assert scores.tolist() == [score(name, item) for item in items]
    for kind in (np.int8, np.uint16, np.int32, np.uint64):
        np.testing.assert_array_equal(permutation_scores(name, values.astype(kind), offsets.astype(np.int32)), scores)
    np.testing.assert_array_equal(permutation_scores(name, np.repeat(values, 2)[::2], offsets), scores)
    with threads.using(1):
        np.testing.assert_array_equal(permutation_scores(name, values, offsets), scores)


@thorough
def test_many_permutations_are_scored_in_threads_as_one_by_one():
    rng = np.random.default_rng(4)
    items = [rng.permutation(length).tolist() for length in rng.integers(0, 30, 5_000)]
    values, offsets = batch(items)
    for name in NAMES:
        scores = permutation_scores(name, values, offsets)
        for start in range(0, 5_000, 250):
            few = permutation_scores(name, *batch(items[start : start + 250]))
            np.testing.assert_array_equal(scores[start : start + 250], few)


def test_only_the_root_counts_at_beta_one():
    for name in RECURSIVE:
        assert score(name, [1, 0, 3, 2], beta=1.0) == 1
        assert score(name, [2, 3, 0, 1], beta=1.0) == 0
        assert score(name, [1, 3, 0, 2], beta=1.0) == 0
