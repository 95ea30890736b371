"""Language models of texts that memory need not hold: against the estimator in memory, ``lmplz`` and KenLM."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.errors import DataError, OptionError
from ranker.learning.lm.counts import count_ngrams
from ranker.learning.lm.kneser_ney import estimate, log10_scores
from ranker.learning.lm.on_disk import Batch, rows_for, train
from tests.effort import examples, further
from tests.learning.lm.test_kneser_ney import (
    assert_same_entries,
    entries_of,
    read_arpa,
    sentences_of_letters,
    tokenise,
)


def batches_of(sentences: list[list[str]], size: int = 3) -> list[Batch]:
    return [tokenise(sentences[start : start + size]) for start in range(0, len(sentences), size)]


def random_sentences(number: int, seed: int = 5) -> list[list[str]]:
    generator = np.random.default_rng(seed)
    lengths = generator.integers(0, 12, size=number)
    return [[f"w{word}" for word in generator.geometric(0.2, size=length)] for length in lengths]


@settings(max_examples=examples(60), deadline=None)
@given(sentences_of_letters, st.integers(2, 6), st.integers(1, 40))
def test_equals_the_estimator_in_memory(tmp_path_factory, sentences, order, rows) -> None:
    path = tmp_path_factory.mktemp("lm") / "model.arpa"
    values, offsets, vocabulary = tokenise(sentences)
    expected = estimate(count_ngrams(values, offsets, order))
    with pytest.MonkeyPatch.context() as patched:
        # all digits: ARPA files hold single precision
        patched.setattr("ranker.learning.lm.arpa._decimals", lambda values: [repr(float(value)) for value in values])
        model = train(batches_of(sentences), order, path, rows=rows)
    assert_same_entries(read_arpa(path.read_text()), entries_of(expected, vocabulary), 1e-9)
    np.testing.assert_array_equal(model.discounts, expected.discounts)
    assert model.fallback_orders == expected.fallback_orders
    assert (model.sentences, model.tokens) == (len(sentences), len(values))


@pytest.mark.parametrize("order", [2, 3, further(5)])
def test_same_bytes_whatever_is_worked_on_at_a_time(tmp_path: Path, order: int) -> None:
    sentences = random_sentences(300)
    for rows in (17, 100, 1_000, 100_000):
        train(batches_of(sentences, rows), order, tmp_path / str(rows), rows=rows, comment="from letters")
    first, *others = [(tmp_path / str(rows)).read_bytes() for rows in (17, 100, 1_000, 100_000)]
    assert first.startswith(b"# from letters\n\\data\\\nngram 1=")
    assert all(other == first for other in others)


@pytest.mark.parametrize(
    ("golden", "name", "train_on", "order", "fallback_orders"),
    [
        ("included", "lm3", "lm", 3, ()),
        ("shared", "lm2", "lm", 2, ()),
        ("shared", "lm4", "lm", 4, ()),
        ("shared", "tiny3", "tiny", 3, (3,)),
    ],
    indirect=["golden"],
)
def test_every_number_is_that_of_lmplz(golden: Path, tmp_path: Path, name, train_on, order, fallback_orders) -> None:
    lines = (golden / f"{train_on}_train.txt").read_text(encoding="utf-8").splitlines()
    model = train(batches_of([line.split() for line in lines], 50), order, tmp_path / "model.arpa", rows=500)
    assert model.fallback_orders == fallback_orders
    with gzip.open(golden / f"{name}.arpa.gz", "rt", encoding="utf-8") as stream:
        expected = read_arpa(stream.read())
    assert_same_entries(read_arpa((tmp_path / "model.arpa").read_text(encoding="utf-8")), expected, 1e-6)


@pytest.mark.parametrize("order", [2, 5])
def test_kenlm_reads_the_file_and_agrees(kenlm, tmp_path: Path, order: int) -> None:
    sentences = random_sentences(200)
    train(batches_of(sentences), order, tmp_path / "model.arpa", rows=300, comment="a comment")
    reader = kenlm.Model(str(tmp_path / "model.arpa"))
    assert reader.order == order
    values, offsets, vocabulary = tokenise(sentences)
    scored = random_sentences(100, seed=6)
    scores = log10_scores(
        estimate(count_ngrams(values, offsets, order)), *tokenise(scored, vocabulary)[:2]
    ).log_perplexity
    expected = [-np.log(10) * reader.score(" ".join(words)) / (len(words) + 1) for words in scored]
    np.testing.assert_allclose(scores, expected, atol=1e-6)


def test_one_word_that_repeats_needs_no_more_memory(tmp_path: Path) -> None:
    train(batches_of([["a"] * 500] * 3), 4, tmp_path / "model.arpa", rows=10)
    assert read_arpa((tmp_path / "model.arpa").read_text()).keys() >= {"a a a a", "<s> a a a", "a a a </s>"}


def test_nothing_is_left_however_training_ends(tmp_path: Path) -> None:
    def interrupted():
        yield from batches_of(random_sentences(200))
        # temporary files have no names that could stay
        assert list((tmp_path / "scratch").iterdir()) == []
        raise KeyboardInterrupt

    (tmp_path / "scratch").mkdir()
    with pytest.raises(KeyboardInterrupt):
        train(interrupted(), 3, tmp_path / "model.arpa", rows=10, directory=tmp_path / "scratch")
    assert [path.name for path in tmp_path.iterdir()] == ["scratch"]
    assert list((tmp_path / "scratch").iterdir()) == []


def test_wrong_input_is_named(tmp_path: Path) -> None:
    path = tmp_path / "model.arpa"
    for order in (1, 7):
        with pytest.raises(OptionError, match=f"n-gram order {order}: expected 2 to 6, as supported by KenLM"):
            train(batches_of([["a"]]), order, path, rows=10)
    with pytest.raises(DataError, match="at least one training sentence, found none"):
        train([], 3, path, rows=10)
    with pytest.raises(DataError, match=r"'</s>' occurs in the training text, but is reserved in ARPA files"):
        train(batches_of([["a", "</s>"]]), 3, path, rows=10)
    with pytest.raises(DataError, match=r"no-such: cannot write temporary files: No such file or directory"):
        train(batches_of([["a"]]), 3, path, rows=10, directory=tmp_path / "no-such")
    assert list(tmp_path.iterdir()) == []


def test_memory_is_counted_in_ngrams() -> None:
    assert rows_for(2 << 30, 5) > 1_000_000
    assert rows_for(1, 5) == 1
