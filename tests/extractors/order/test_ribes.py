from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.errors import OptionError
from ranker.extractors.order.ribes import (
    NormalisedKendall,
    NormalisedSpearman,
    Ribes,
    normalised_kendall,
    normalised_spearman,
)
from ranker.extractors.registry import make_metric
from ranker.text.repeated_words import align_contexts
from tests import golden_values
from tests.datasets import dataset_of
from tests.effort import examples
from tests.golden_values import SHARED_ONLY


def word_orders(items, contexts: str, *, lowercase: bool = False) -> list[list[int]]:
    orders = align_contexts(dataset_of(items), contexts, "none", lowercase=lowercase)
    return [part.tolist() for part in np.split(orders.positions, orders.offsets[1:-1])]


def scores(metric, items) -> np.ndarray:
    return metric.transform(dataset_of(items))[:, 0]


@pytest.fixture(scope="module")
def inputs(golden) -> list[dict]:
    return golden_values.inputs(golden)


@pytest.fixture(scope="module")
def items(inputs) -> list[tuple[list[str], list[str]]]:
    return [(item["refs_tok"], [item["hyp_tok"]]) for item in inputs]


@pytest.fixture(scope="module")
def expected(golden, inputs) -> list[dict]:
    with gzip.open(golden / "ribes.jsonl.gz", "rt", encoding="utf-8") as stream:
        rows = {row["id"]: row for row in map(json.loads, stream)}
    return [rows[item["id"]] for item in inputs]


CASES = [("lc", True), ("cased", False)]


@pytest.mark.parametrize(("case", "lowercase"), CASES)
@pytest.mark.parametrize(("contexts", "column"), [("ribes", "refs"), ("isozaki", "fig1")])
def test_word_orders_equal_the_programs(items, expected, contexts, column, case, lowercase):
    wanted = [item["worder"] for row in expected for item in row[case][column]]
    assert word_orders(items, contexts, lowercase=lowercase) == wanted
    assert len(wanted) > 300


@pytest.mark.parametrize(("case", "lowercase"), CASES)
def test_correlations_equal_isozakis(items, expected, case, lowercase):
    orders = align_contexts(dataset_of(items), "isozaki", "none", lowercase=lowercase)
    wanted = [item for row in expected for item in row[case]["fig1"]]
    for actual, column in ((normalised_kendall(orders), "nkt"), (normalised_spearman(orders), "nsr")):
        np.testing.assert_allclose(actual, [item[column] or 0.0 for item in wanted], atol=1e-12, rtol=0)


@pytest.mark.parametrize("exponent", [0, 1 / 8, 1 / 4, 1 / 2, 1])
@pytest.mark.parametrize("kind", [NormalisedKendall, NormalisedSpearman])
@pytest.mark.parametrize(("case", "lowercase"), CASES)
def test_modified_correlations_equal_the_formula(items, expected, kind, exponent, case, lowercase):
    wanted = []
    for row in expected:
        of_references = [0.0]
        for item, program in zip(row[case]["fig1"], row[case]["refs"], strict=True):
            if item["nkt"] is not None:
                of_references.append(item[kind.name] * item["precision"] ** exponent * program["bp"])
        wanted.append(max(of_references))
    metric = kind(precision=exponent, brevity=True, tokenizer="none", lowercase=lowercase)
    np.testing.assert_allclose(scores(metric, items), wanted, atol=1e-9, rtol=0)


@pytest.mark.parametrize(
    ("column", "alpha", "beta"), [("a25b10", 0.25, 0.1), ("a25b0", 0.25, 0), ("a20b0", 0.2, 0), ("a0b0", 0, 0)]
)
@pytest.mark.parametrize(("case", "lowercase"), CASES)
def test_sentence_scores_equal_official_ribes(items, expected, column, alpha, beta, case, lowercase):
    metric = Ribes(alpha=alpha, beta=beta, tokenizer="none", lowercase=lowercase)
    np.testing.assert_allclose(scores(metric, items), [row[case][column] for row in expected], atol=1e-9, rtol=0)


@SHARED_ONLY
def test_corpus_scores_equal_official_ribes(golden, inputs):
    corpora = json.loads((golden / "ribes.corpus.json").read_text())
    compared = 0
    for group, wanted in corpora.items():
        chosen = [item for item in inputs if group in ("all", "all.ref0", item["group"])]
        first_only = group == "all.ref0"
        dataset = dataset_of(
            [(item["refs_tok"][:1] if first_only else item["refs_tok"], [item["hyp_tok"]]) for item in chosen]
        )
        for column, value in wanted.items():
            case, exponents, *printed = column.split(".")
            alpha, beta = {"a25b10": (0.25, 0.1), "a25b0": (0.25, 0), "a20b0": (0.2, 0), "a0b0": (0, 0)}[exponents]
            metric = Ribes(alpha=alpha, beta=beta, tokenizer="none", lowercase=case == "lc")
            total = metric.statistics(dataset).sum(axis=0)
            assert metric.score(total) == pytest.approx(value, abs=1e-6 if printed else 1e-9), (group, column)
            compared += 1
    assert compared > 40


H0 = "he read the book because he was interested in world history"
R0 = "he was interested in world history because he read the book"
H1, R1 = "Bob hit John yesterday", "John hit Bob yesterday"
H2, R2 = "the book was read by the boy", "the boy read the book"


def test_the_papers_word_orders():
    orders = word_orders([([R0], [H0]), ([R1], [H1]), ([R2], [H2])], "isozaki")
    assert [[position + 1 for position in item] for item in orders] == [
        [8, 9, 10, 11, 7, 1, 2, 3, 4, 5, 6],
        [3, 2, 1, 4],
        [4, 5, 3, 1, 2],
    ]


def test_the_papers_figures():
    examples = [([R0], [H0]), ([R1], [H1]), ([R2], [H2])]
    nkt, nsr = scores(NormalisedKendall(), examples), scores(NormalisedSpearman(), examples)
    assert nkt[0] == pytest.approx(0.382, abs=5e-4)
    assert nsr[0] == pytest.approx(0.205, abs=5e-4)
    assert 2 * nkt[0] - 1 == pytest.approx(-0.236, abs=5e-4)
    assert 2 * nsr[0] - 1 == pytest.approx(-0.591, abs=5e-4)
    assert 2 * nkt[1] - 1 == pytest.approx(0.0, abs=1e-12)
    assert 2 * nsr[1] - 1 == pytest.approx(0.2, abs=1e-12)
    assert scores(NormalisedKendall(precision=1), examples)[2] == pytest.approx(nkt[2] * 5 / 7)
    words = len(H2.split()) + len(R2.split())
    for metric, plain in ((NormalisedKendall, nkt), (NormalisedSpearman, nsr)):
        assert scores(metric(f=0.5), examples)[2] == pytest.approx(plain[2] * (10 / words) ** 0.5)
        assert scores(metric(f=1, precision=1), examples)[2] == pytest.approx(plain[2] * 10 / words * 5 / 7)
        assert ",f=1.0," in metric(f=1.0).signature()
        with pytest.raises(OptionError, match=rf"{metric.name}\[f=-1.0\]: expected an exponent of 0 or more"):
            metric(f=-1.0)


def plain_isozaki(candidate: list[str], reference: list[str]) -> list[int]:
    """Align by neighbours as the paper's figure 1 says, the twin of the kernel."""

    def places(part: list[str], words: list[str]) -> list[int]:
        return [at for at in range(len(words) - len(part) + 1) if words[at : at + len(part)] == part]

    order = []
    for at in range(len(candidate)):
        for start, stop in ((at, at + 1), (at, at + 2), (at - 1, at + 1)):
            if start < 0 or stop > len(candidate):
                continue
            part = candidate[start:stop]
            result = places(part, reference)
            if len(result) == 1 and len(places(part, candidate)) == 1:
                order.append(result[0] + at - start)
                break
    return order


words = st.lists(st.sampled_from("abcde"), max_size=14).map(" ".join)


@pytest.fixture(scope="module")
def random_pairs() -> list[tuple[str, str]]:
    """Candidates and references of few different words, some of them very repetitive."""
    random = np.random.default_rng(7)
    items = []
    for _ in range(3000):
        vocabulary = "abcdefgh"[: random.integers(1, 9)]
        sides = [random.choice(list(vocabulary), size=random.integers(0, 20)) for _ in range(2)]
        items.append((" ".join(sides[0]), " ".join(sides[1])))
    return items


def test_isozakis_alignment_equals_plain_python(random_pairs):
    orders = word_orders([([reference], [candidate]) for candidate, reference in random_pairs], "isozaki")
    assert orders == [plain_isozaki(candidate.split(), reference.split()) for candidate, reference in random_pairs]
    assert sum(map(len, orders)) > 4000


@settings(deadline=None, max_examples=examples(15))
@given(st.lists(words, min_size=1, max_size=3), words, st.sampled_from(["nkt", "nsr[precision=.25]", "ribes"]))
def test_the_best_reference_counts(references, candidate, name):
    metric = make_metric(name)
    value = scores(metric, [(references, [candidate])])[0]
    each = [scores(metric, [([reference], [candidate])])[0] for reference in references]
    assert value == pytest.approx(max(each), abs=1e-12)
    assert 0 <= value <= 1


def test_degenerate_sentences():
    items = [(["a b c"], ["", "x y", "b"]), (["a"], ["a x", "a"]), ([""], ["a"]), ([], ["a b"])]
    assert scores(NormalisedKendall(), items).tolist() == [0] * 7
    assert scores(NormalisedSpearman(), items).tolist() == [0] * 7
    result = scores(Ribes(), items)
    assert result[[0, 1, 2, 5, 6]].tolist() == [0] * 5
    assert result[3] == pytest.approx(0.5**0.25)
    assert result[4] == 1


def test_case_is_lowered_by_default_in_ribes_only():
    assert scores(Ribes(), [(["A b c"], ["a B c"])])[0] == 1
    assert scores(NormalisedKendall(), [(["A b c"], ["a B c"])])[0] == 0
