from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from ranker.corpora.dataset import Dataset
from ranker.errors import DataError
from ranker.extractors.dependency.parsed import tag_batch
from ranker.extractors.fluency.features import Perplexity
from ranker.learning.lm.arpa import write_arpa
from ranker.learning.lm.counts import count_ngrams
from ranker.learning.lm.kneser_ney import estimate
from ranker.text.tokens import tokenise
from tests.datasets import dataset_of
from tests.golden_values import inputs


def columns_of(perplexity: Perplexity, data: Dataset) -> np.ndarray:
    """Return the columns under the model of the references of the same data."""
    return perplexity.fit(data).transform(data)


WORDS = np.array(["a", "b", "c", "d", "e", "the", "of", "cat"])


def corpus(sources: int = 120):
    generator = np.random.default_rng(0)

    def sentence() -> str:
        return " ".join(generator.choice(WORDS, size=generator.integers(2, 8)))

    return dataset_of([([sentence()], [sentence(), sentence(), ""]) for _ in range(sources)])


@pytest.mark.parametrize("order", [2, 3, 4])
def test_equals_kenlm_on_lmplz_models(shared_golden, order):
    with gzip.open(shared_golden / f"lm{order}.scores.jsonl.gz", "rt", encoding="utf-8") as stream:
        wanted = {row["id"]: row for row in map(json.loads, stream)}
    data = dataset_of([(item["refs"], [item["hyp"]]) for item in inputs(shared_golden)])
    columns = columns_of(Perplexity(order=order, oov=True, match=True), data)
    for item, (perp, oov, match) in zip(inputs(shared_golden), columns, strict=True):
        row = wanted[item["id"]]
        tokens = row["n"] - 1
        assert perp == pytest.approx(np.log(row["ppl"]), abs=1e-5), item["id"]
        assert oov == pytest.approx(row["oov"] / max(tokens, 1))
        assert 1 <= match <= order


def by_kenlm(lines: list[str], texts: list[str], path) -> list[float]:
    """Return log perplexities under the trigram model of lines in the order given, read from its ARPA file."""
    kenlm = pytest.importorskip("kenlm", reason="KenLM is not installed")
    segments = tokenise(lines, "13a", lowercase=True)
    write_arpa(estimate(count_ngrams(segments.values, segments.offsets, 3)), segments.vocabulary, path)
    model = kenlm.Model(str(path))
    words = tokenise(texts, "13a", lowercase=True)
    result = []
    for row in range(len(texts)):
        tokens = words.words(row)
        result.append(-np.log(10) * model.score(" ".join(tokens)) / (len(tokens) + 1))
    return result


def test_the_model_is_that_of_the_sorted_references(tmp_path):
    generator = np.random.default_rng(0)
    # case and accents sort by code point: W before w, é after z
    names = [f"{letter}{number}" for number in range(20) for letter in ("w", "W", "é")]

    def sentence() -> str:
        return " ".join(names[min(word, 59)] for word in generator.geometric(0.08, size=generator.integers(2, 8)))

    lines, texts = ([sentence() for _ in range(120)] for _ in range(2))
    # the last word to appear in sorted lines, three times after one and the same word, is what lmplz counts its own way
    lines[:3] = ["ê p q"] * 3
    data = dataset_of([([line], [text]) for line, text in zip(lines, texts, strict=True)])
    result = columns_of(Perplexity(), data)[:, 0]
    turned = dataset_of([([line], [text]) for line, text in zip(lines[::-1], texts, strict=True)])
    np.testing.assert_allclose(columns_of(Perplexity(), turned)[:, 0], result, rtol=1e-12)
    in_order = sorted(lines, key=str.encode)
    np.testing.assert_allclose(by_kenlm(in_order, texts, tmp_path / "lm.arpa"), result, atol=1e-5)
    # in other orders lmplz estimates other discounts
    others = [by_kenlm(generator.permutation(lines).tolist(), texts, tmp_path / "lm.arpa") for _ in range(5)]
    assert np.abs(np.array(others) - result).max() > 1e-3


def test_a_model_falls_back_on_what_it_can_use():
    from ranker import Ranker, load_dataset

    sample = load_dataset("sample")
    ranker = Ranker("bleu,perp").fit(sample)
    few = sample.select_sources(np.arange(len(sample.sources)) < 3)
    assert ranker.note(sample) is None
    assert ranker.note(few) == (
        "12 reference sentences are too few for a language model, which needs 100; ranked without perp"
    )
    assert (ranker.contributions(few)[:, 1] == 0).all()
    assert ranker.contributions(sample)[:, 1].any()
    assert ranker.weight_sets.weights[1][0] == pytest.approx(Ranker("bleu").fit(sample).weights[0])
    with pytest.raises(DataError, match=r"too few.*the model has nothing else to compare candidates with"):
        Ranker("perp").fit(sample).candidate_scores(few)
    with pytest.raises(DataError, match=r"12 reference sentences are too few.*: add references or leave out perp$"):
        Ranker("bleu,perp").fit(few)
    with pytest.raises(DataError, match=r"nothing can be learnt: 12 .*; add references$"):
        Ranker("perp").fit(few)


def test_a_model_of_parts_of_speech_is_one_of_tags_for_words():
    sentences = ["the cat sat on the mat .", "a man saw a small house .", "they slept .", "dogs bark loudly at night ."]
    data = dataset_of([([sentences[i % 4]], [sentences[(i + 1) % 4], "cat the the on . mat", ""]) for i in range(120)])
    batch = tag_batch(data, "shipped")
    assert batch.segments.words(int(batch.reference[0]))[:3] == ["DET", "NOUN", "VERB"]
    text = [" ".join(batch.segments.words(sentence)) for sentence in range(len(batch.segments.lengths))]
    as_words = dataset_of(
        [([text[batch.reference[i]]], [text[row] for row in batch.candidate[3 * i : 3 * i + 3]]) for i in range(120)]
    )
    for options in ({}, {"leave_out": True, "oov": True, "match": True}):
        result = columns_of(Perplexity(unit="tags", **options), data)
        expected = columns_of(Perplexity(tokenizer="none", lowercase=False, **options), as_words)
        np.testing.assert_allclose(result, expected, rtol=1e-9)
    usual, odd, empty = columns_of(Perplexity(unit="tags"), data)[:3, 0]
    assert usual < odd < empty
