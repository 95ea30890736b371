from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh

from ranker.extractors.text import tokens as tokens_module
from ranker.extractors.text.tokenizers import ASIAN_PUNCTUATION, SPLITTING, TOKENIZERS, WORDWISE
from ranker.extractors.text.tokens import tokenise
from tests.effort import examples

KANA = re.compile("([\u3040-\u309f]+|[\u30a0-\u30ff]+|[\u31f0-\u31ff]+)")
ASIAN = re.compile(
    f"([\u2e80-\u2eff\u31c0-\u31ef\u3200-\u4dbf\u4e00-\u9fff\uf900-\ufaff\ufe30-\ufe4f{ASIAN_PUNCTUATION}])"
)
CHINESE = re.compile(
    "([\u2001-\u2a6d\u2e80-\u2fdf\u2ff0-\u303f\u3100-\u312f\u31a0-\u31ef\u3200-\u4db5\u4e00-\u9fbb"
    "\uf900-\ufa2d\ufa30-\ufa6a\ufa70-\ufad9\ufe10-\ufe1f\ufe30-\ufe4f\uff00-\uffef])"
)

# what the rules tell apart, in pieces that random characters alone would hardly ever make
CHARACTERS = "aB1s' .,-\t\r\n\x1c\x85\u00a0\u200b\u2028\u3000é²٣中。・アあㇰ€\U00020000\U0001f600&;<!"
STRINGS = ("'s", "-\n", "1.5", "..", "&quot;", "&amp;", "&lt;", "<skipped>")
pieces = st.sampled_from([*CHARACTERS, *STRINGS])
texts = st.lists(st.lists(pieces, max_size=12).map("".join) | st.text(max_size=12), max_size=4)


def tokens(sentences: list[str], tokenizer: str) -> list[list[str]]:
    segments = tokenise(sentences, tokenizer)
    return [segments.words(index) for index in range(len(sentences))]


def plain(sentence: str, tokenizer: str) -> list[str]:
    """Tokenise one sentence rule after rule."""
    if tokenizer == "zh":
        return separated(CHINESE.sub(r" \1 ", sentence.replace("\n", " ").strip())).split()
    if tokenizer == "none":
        return sentence.split()
    line = sentence.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, character in (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")):
        line = line.replace(entity, character)
    if tokenizer == "13a":
        return separated(f" {line} ").split()
    if tokenizer == "terp":
        return [token for word in line.split() for token in separated(f" {word} ", possessive=True).split()]
    line = separated(f" {line} ", possessive=True)
    if tokenizer == "tercom-asian":
        line = ASIAN.sub(r" \1 ", KANA.sub(r" \1 ", line))
    return [word for word in re.split("[ \t\n\x0b\x0c\r]+", line) if word]


def separated(line: str, *, possessive: bool = False) -> str:
    """Put spaces around symbols, stops and dashes."""
    line = re.sub(r"([!-&(-+/:-@\[-`{-~])", r" \1 ", line)
    if possessive:
        line = line.replace("'s ", " 's ")
    line = re.sub(r"([^0-9])([.,])", r"\1 \2 ", line)
    line = re.sub(r"([.,])([^0-9])", r" \1 \2", line)
    return re.sub(r"([0-9])(-)", r"\1 \2 ", line)


@pytest.mark.parametrize("name", [name for name in SPLITTING if name != "any"])
@settings(deadline=None, max_examples=examples(300))
@given(texts)
@example(["1.5 1..5 a.,5 .5 5. 1.,5 ...5 1...5", ",5", "5,", "5-5 5--5 -5 a-5"])
@example(["x's! x's. x's\ty's 5-'s 's", "'s中 'sあ アー・アあ。"])
def test_kinds_of_characters_split_as_the_rules_one_after_the_other(name, sentences):
    assert tokens(sentences, name) == [plain(sentence, name) for sentence in sentences]


@pytest.mark.parametrize(("name", "oracle"), [("13a", Tokenizer13a), ("zh", TokenizerZh)])
@settings(deadline=None, max_examples=examples(300))
@given(texts)
def test_any_unicode_text_is_split_as_by_sacrebleu(name, oracle, sentences):
    assert tokens(sentences, name) == [oracle()(sentence.rstrip()).split() for sentence in sentences]


@settings(deadline=None, max_examples=examples(200))
@given(texts, st.sampled_from(sorted(WORDWISE)))
def test_word_by_word_equals_sentence_by_sentence(sentences, tokenizer):
    assert tokens(sentences, tokenizer) == TOKENIZERS[tokenizer](sentences)


def test_many_words_keep_their_numbers(monkeypatch):
    words = [f"w{number}{letter}" for number in range(9000) for letter in "ab"]
    sentences = [" ".join(words[start : start + 900]) for start in range(0, 18000, 450)]
    for chunk in (100_000, 7):
        monkeypatch.setattr(tokens_module, "_SPLIT_CHUNK", chunk)
        segments = tokenise(sentences)
        assert segments.vocabulary == words
        assert tokens(sentences, "13a") == [sentence.split() for sentence in sentences]
