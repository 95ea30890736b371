from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from ranker.corpora.records import Candidate, Record, assemble
from ranker.extractors.tokenizers import TOKENIZERS, WORDWISE, tokenize_13a
from ranker.extractors.tokens import intern, token_batch

odd = st.text(alphabet="aB1\x1c\x1f\x85\u3000\u200b .,-'&;quotampl<>skiped\n\u00a0\u2028()%é中", max_size=25)


def tokens(sentences: list[str], tokenizer: str) -> list[list[str]]:
    segments = intern(sentences, tokenizer)
    return [segments.words(index) for index in range(len(sentences))]


@settings(deadline=None, max_examples=300)
@given(st.lists(odd, max_size=4))
def test_13a_equals_sacrebleu(sentences):
    theirs = [Tokenizer13a()(sentence.rstrip()).split() for sentence in sentences]
    assert tokenize_13a(sentences) == theirs
    assert tokens(sentences, "13a") == theirs


@settings(deadline=None, max_examples=200)
@given(st.lists(odd, max_size=4), st.sampled_from(sorted(WORDWISE)))
def test_word_by_word_equals_sentence_by_sentence(sentences, tokenizer):
    assert tokens(sentences, tokenizer) == TOKENIZERS[tokenizer](sentences)


def test_13a_equals_sacrebleu_on_real_text(shared):
    with gzip.open(shared / "data" / "wmt14-rr.jsonl.gz", "rt", encoding="utf-8") as stream:
        records = [json.loads(line) for _, line in zip(range(600), stream, strict=False)]
    sentences = [one["text"] for record in records for one in record["candidates"]]
    tokenizer = Tokenizer13a()
    assert tokens(sentences, "13a") == [tokenizer(sentence.rstrip()).split() for sentence in sentences]


@given(st.lists(st.text(max_size=8), max_size=5))
def test_characters(sentences):
    assert tokens(sentences, "spaced-characters") == [list(sentence) for sentence in sentences]
    assert tokens(sentences, "characters") == [list("".join(sentence.split())) for sentence in sentences]


def test_words_are_numbered_by_first_occurrence_and_lowered():
    segments = intern(["The cat.", "A cat, the dog"], lowercase=True)
    assert segments.vocabulary == ["the", "cat", ".", "a", ",", "dog"]
    assert segments.values.tolist() == [0, 1, 2, 3, 1, 4, 0, 5]
    values, offsets = segments.take([1, 0, 1])
    assert offsets.tolist() == [0, 5, 8, 13]
    assert values.tolist() == [3, 1, 4, 0, 5, 0, 1, 2, 3, 1, 4, 0, 5]


@pytest.mark.parametrize("tokenizer", ["13a", "none"])
def test_batches_know_who_belongs_to_whom_and_are_made_once(tokenizer):
    dataset = assemble(
        [
            Record("q", ["a b", "c"], [Candidate("s", "a b"), Candidate("t", "x")]),
            Record("r", [], [Candidate("s", "c")]),
        ],
        "test",
    )
    batch = token_batch(dataset, tokenizer)
    assert batch.candidate.tolist() == [0, 1, 2]
    assert batch.reference.tolist() == [0, 2]
    assert batch.candidate_offsets.tolist() == [0, 2, 3]
    assert batch.reference_offsets.tolist() == [0, 2, 2]
    assert batch.candidate_lengths.tolist() == [2, 1, 1]
    assert batch.sources.vocabulary == ["q", "r"]
    assert token_batch(dataset, tokenizer) is batch
    assert token_batch(dataset, tokenizer, lowercase=True) is not batch
    np.testing.assert_array_equal(batch.tokenized("characters").segments.lengths, [2, 1, 1])
