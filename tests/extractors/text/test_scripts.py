from __future__ import annotations

import re

import pytest

from ranker.corpora import catalogue
from ranker.corpora.selection import without_references
from ranker.extractors.feature_sets import FeatureSet
from ranker.extractors.registry import make
from ranker.extractors.text.tokens import language_tokenizers
from ranker.ranking import Ranker
from tests.datasets import dataset_of

CHINESE = "我很喜欢那只坐在垫子上的猫，因为它很安静。"
JAPANESE = "私はマットの上に座っている猫がとても好きです。"
THAI = "ฉันชอบแมวที่นั่งอยู่บนเสื่อเพราะมันเงียบมาก"
KOREAN = "나는 매트 위에 앉아 있는 고양이를 아주 좋아한다."
SPLIT = "我 很 喜欢 那 只 坐 在 垫子 上 的 猫 ， 因为 它 很 安静 。"


def translations(reference: str, *pairs: str | None):
    return dataset_of([([reference], reference)] * max(len(pairs), 1), lp=pairs or None)


@pytest.mark.parametrize(
    ("metric", "reference", "note"),
    [
        *(
            (name, CHINESE, "Chinese.*tokenizer=zh")
            for name in ("bleu[tokenizer=13a]", "nist", "wer", "per", "rouge_l", "gtm", "ribes")
        ),
        ("ter", CHINESE, "Chinese, written without spaces, so tokenizer=none treats .*; better use tokenizer=zh"),
        ("terp", CHINESE, "tokenizer=terp.*tokenizer=zh"),
        ("meteor[tokenizer=none]", CHINESE, "tokenizer=none.*tokenizer=zh"),
        ("meteor[tokenizer=meteor-words]", CHINESE, "tokenizer=meteor-words.*tokenizer=zh"),
        ("combine[wer - chrf]", CHINESE, "tokenizer=13a.*tokenizer=zh"),
        ("lrscore[lexical=ter,tokenizer=zh,alignment=isozaki]", CHINESE, "tokenizer=none.*tokenizer=zh"),
        ("bleu[tokenizer=13a]", JAPANESE, "Japanese.*tokenizer=ja-mecab or char"),
        ("wer[tokenizer=zh]", JAPANESE, "tokenizer=zh treats .*tokenizer=ja-mecab or char"),
        ("nist", THAI, "Thai.*tokenizer=char or flores200"),
        ("meteor", THAI, "tokenizer=meteor .*tokenizer=char"),
    ],
)
def test_a_tokenizer_that_cannot_split_the_references_is_named_with_a_better_one(metric, reference, note):
    result = make(metric).note(translations(reference))
    assert result is not None
    assert re.search(note, result)
    assert "\n" not in result


@pytest.mark.parametrize(
    ("metric", "reference", "pair"),
    [
        ("bleu", CHINESE, "en-zh"),
        ("bleu[tokenizer=char]", THAI, None),
        ("wer[tokenizer=zh]", CHINESE, None),
        ("ter[tokenizer=tercom-asian]", CHINESE, None),
        ("meteor[modules=exact,function_words=none]", CHINESE, "en-zh"),
        ("chrf", THAI, None),
        ("bleu", THAI, "en-th"),
        ("wer", KOREAN, None),
        ("bleu", KOREAN, "en-ko"),
        ("bleu", SPLIT, None),
        ("ter", "The 猫 sat on the mat", None),
        ("ter", "", None),
    ],
)
def test_nothing_is_said_where_words_are_told_apart(metric, reference, pair):
    assert make(metric).note(translations(reference, pair)) is None


@pytest.mark.parametrize(
    ("reference", "tokenizer", "language"),
    [
        (CHINESE, "zh", "Chinese"),
        (JAPANESE, "ja-mecab", "Japanese"),
        (KOREAN, "ko-mecab", "Korean"),
        (THAI, "char", "Thai"),
    ],
)
def test_without_a_language_pair_the_script_of_the_references_chooses_the_tokenizer(reference, tokenizer, language):
    dataset = translations(reference)
    assert language_tokenizers(dataset)[0] == (tokenizer,)
    assert make("bleu").note(dataset) == (
        f"tokenizer={tokenizer}, because the references are {language} by their script; state their language with --lp "
        "if it is another"
    )


@pytest.mark.parametrize("pair", ["en-xx", "en-yue", "en-any", "en"])
def test_where_the_target_language_is_not_known_the_script_chooses_the_tokenizer(pair):
    for reference, tokenizer in ((CHINESE, "zh"), (THAI, "char"), ("The cat sat.", "13a")):
        dataset = translations(reference, pair)
        assert language_tokenizers(dataset)[0] == (tokenizer,)
    assert f"because the references of {pair} are Chinese by their script" in make("bleu").note(
        translations(CHINESE, pair)
    )


@pytest.mark.parametrize("pair", ["en-de", "zh-en"])
def test_a_language_pair_that_is_stated_outweighs_the_script(pair):
    dataset = translations(JAPANESE, pair)
    assert language_tokenizers(dataset)[0] == ("13a",)


def test_without_references_the_script_of_the_candidates_chooses_the_tokenizer():
    dataset = without_references(translations(THAI))
    assert language_tokenizers(dataset)[0] == ("char",)


@pytest.mark.parametrize("text", [SPLIT, "The 猫 sat on the mat", "", "Der Hund bellt.", "Кошка сидит на коврике."])
def test_words_between_spaces_are_left_to_13a(text):
    assert language_tokenizers(translations(text))[0] == ("13a",)


def test_bleu_of_chinese_does_not_depend_on_whether_the_languages_are_stated():
    pairs = [([CHINESE], CHINESE.replace("猫", "狗")), ([SPLIT.replace(" ", "")], CHINESE)]
    bleu = make("bleu")
    stated, unstated = dataset_of(pairs, lp=["en-zh"] * 2), dataset_of(pairs)
    assert bleu.transform(unstated).tolist() == bleu.transform(stated).tolist()
    assert bleu.transform(unstated)[0, 0] > 0.5


def test_the_language_pair_is_named():
    together = translations(CHINESE, "en-zh", "de-zh")
    assert make("bleu").note(together) is None
    assert "the references of de-zh are Chinese" in make("ter").note(together)


def test_a_ranker_says_it_once_for_all_its_extractors():
    features = FeatureSet.parse("wer,per,rouge_l,chrf")
    note = features.note(translations(CHINESE))
    assert note == make("wer").note(translations(CHINESE))
    ranker = Ranker("wer,per", C=0.1).fit(catalogue.load("sample"))
    assert ranker.note(translations(CHINESE, "de-en")) == features.note(translations(CHINESE, "de-en"))
    assert features.note(translations("The cat.")) is None
