from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.extractors.ngram.bleu import Bleu
from ranker.text.ngrams import ngram_matches
from ranker.text.tokens import token_batch
from tests.datasets import dataset_of
from tests.effort import examples
from tests.golden_values import inputs, items_of, rows_of


def scores(metric: Bleu, items) -> np.ndarray:
    return metric.transform(dataset_of(items))[:, 0]


def test_statistics_equal_sacrebleu(golden):
    rows = Bleu(order=5).statistics(dataset_of(items_of(golden)))
    wanted = rows_of(golden, "bleu_sacrebleu.tsv")
    for item, row in zip(inputs(golden), rows.tolist(), strict=True):
        want = wanted[item["id"]]
        counts = [int(n) for key in ("correct", "total", "sys_len", "ref_len") for n in want[key].split()]
        assert row == [*counts, 1], item["id"]


sentences = st.lists(st.sampled_from(["a", "b", "c", "the", "cat", ".", "12,5", "x-y"]), max_size=12).map(" ".join)


def plain_matches(candidate: list[str], references: list[list[str]], n: int) -> int:
    """Count clipped matches of n-grams in plain Python, the twin of the kernel."""

    def grams(words: list[str]) -> list[tuple[str, ...]]:
        return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]

    own = grams(candidate)
    return sum(
        min(own.count(gram), max((grams(reference).count(gram) for reference in references), default=0))
        for gram in set(own)
    )


@settings(deadline=None, max_examples=examples(60))
@given(st.lists(st.tuples(st.lists(sentences, max_size=3), st.lists(sentences, max_size=3)), min_size=1, max_size=3))
def test_kernel_equals_plain_python(items):
    batch = token_batch(dataset_of(items), "none")
    rows = iter(ngram_matches(batch, 9))
    for references, candidates in items:
        for candidate in candidates:
            row = next(rows)
            words = [reference.split() for reference in references]
            assert row.tolist() == [plain_matches(candidate.split(), words, n) for n in range(1, 10)]


@settings(deadline=None, max_examples=examples(30))
@given(st.lists(st.tuples(sentences, sentences), min_size=1, max_size=5), st.sampled_from(["epsilon", "add-one"]))
def test_range_and_identity(items, smoothing):
    metric = Bleu(smoothing=smoothing)
    values = scores(metric, [([reference], [candidate]) for reference, candidate in items])
    assert ((values >= 0) & (values <= 1)).all()
    same = scores(metric, [([reference], [reference]) for reference, _ in items])
    assert np.allclose(same, [1.0 if reference.split() else 0.0 for reference, _ in items])


def test_epsilon_is_the_stated_formula():
    value = scores(Bleu(smoothing="epsilon"), [(["the cat sat on the mat"], ["the cat ate"])])[0]
    e = 1e-7
    precisions = [(2 + e) / (3 + e), (1 + e) / (2 + e), e / (1 + e), e / e]
    assert value == pytest.approx(np.exp(np.mean(np.log(precisions)) + 1 - 6 / 3), rel=1e-12)


def test_degenerate_candidates():
    items = [(["a b"], ["", "   ", "z", "a"])]
    assert scores(Bleu(), items)[:3].tolist() == [0, 0, 0]
    assert scores(Bleu(smoothing="epsilon"), items)[:2].tolist() == [0, 0]
    assert scores(Bleu(smoothing="none", effective_order=False), items).tolist() == [0, 0, 0, 0]
