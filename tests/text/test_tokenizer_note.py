from __future__ import annotations

import itertools

import pytest

from ranker.corpora import catalogue
from ranker.corpora.selection import without_references
from ranker.extractors.registry import make
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.ranker import Ranker
from ranker.text.tokens import language_tokenizers
from tests.datasets import dataset_of
from tests.golden_messages import check_messages

CHINESE = "我很喜欢那只坐在垫子上的猫，因为它很安静。"
JAPANESE = "私はマットの上に座っている猫がとても好きです。"
THAI = "ฉันชอบแมวที่นั่งอยู่บนเสื่อเพราะมันเงียบมาก"
KOREAN = "나는 매트 위에 앉아 있는 고양이를 아주 좋아한다."
SPLIT = "我 很 喜欢 那 只 坐 在 垫子 上 的 猫 ， 因为 它 很 安静 。"


def translations(reference: str, *pairs: str | None):
    return dataset_of([([reference], reference)] * max(len(pairs), 1), lp=pairs or None)


def test_a_tokenizer_that_cannot_split_the_references_is_named_with_a_better_one():
    texts = {"Chinese": CHINESE, "Japanese": JAPANESE, "Thai": THAI, "Korean": KOREAN}
    texts |= {"Split": SPLIT, "Mixed": "The 猫 sat on the mat"}

    def note(asked):
        text, pair, metric = asked.split(" ", 2)
        return make(metric).note(translations(texts[text], None if pair == "-" else pair)) or "nothing to say"

    check_messages("tokenizer_notes", note)


@pytest.mark.parametrize(
    ("references", "pairs", "tokenizer"),
    [
        ([CHINESE], ["en-xx", "en-lzh", "en-any", "en"], "zh"),
        ([THAI], ["en-xx", "en-lzh", "en-any", "en"], "char"),
        (["The cat sat."], ["en-xx", "en-lzh", "en-any", "en"], "13a"),
        ([JAPANESE], ["en-de", "zh-en"], "13a"),  # a known language outweighs the script
        ([CHINESE], [None], "zh"),
        ([JAPANESE], [None], "ja-mecab"),
        ([KOREAN], [None], "ko-mecab"),
        ([THAI], [None], "char"),
        ([SPLIT, "The 猫 sat on the mat", "", "Der Hund bellt.", "Кошка сидит на коврике."], [None], "13a"),
    ],
)
def test_where_the_target_language_is_not_known_the_script_chooses_the_tokenizer(references, pairs, tokenizer):
    for reference, pair in itertools.product(references, pairs):
        assert language_tokenizers(translations(reference, pair))[0] == (tokenizer,), (reference, pair)
    assert language_tokenizers(without_references(translations(THAI)))[0] == ("char",)


def test_bleu_of_chinese_does_not_depend_on_whether_the_languages_are_stated():
    pairs = [([CHINESE], CHINESE.replace("猫", "狗")), ([SPLIT.replace(" ", "")], CHINESE)]
    bleu = make("bleu")
    stated, unstated = dataset_of(pairs, lp=["en-zh"] * 2), dataset_of(pairs)
    assert bleu.transform(unstated).tolist() == bleu.transform(stated).tolist()
    assert bleu.transform(unstated)[0, 0] > 0.5


def test_the_language_pair_is_named():
    together = translations(CHINESE, "en-zh", "de-zh")
    assert make("bleu").note(together) is None
    assert "the references of de-zh and en-zh are Chinese" in make("ter").note(together)


def test_all_scripts_of_a_file_are_named_and_no_other_note_is_left_out():
    data = dataset_of(
        [([text], text) for text in (THAI, CHINESE, CHINESE, "The cat.")], lp=["en-th", "en-zh", "de-zh", "th-en"]
    )
    what = "written without spaces, so tokenizer"
    treats = "treats each clause as one word; use tokenizer"
    assert make("ter").note(data) == (
        f"the references of de-zh and en-zh are Chinese, {what}=none {treats}=tercom-asian instead; "
        f"the references of en-th are Thai, {what}=none {treats}=char or flores200 instead"
    )
    assert make("meteor").note(data) == (
        f"the references of en-th are Thai, {what}=meteor {treats}=char or flores200 instead; "
        "meteor: no stemmer for th, zh, so only identical words match"
    )
    khmer = "ខ្ញុំចូលចិត្តឆ្មាដែលអង្គុយលើកន្ទេលព្រោះវាស្ងាត់ណាស់"
    several = dataset_of([([text], text) for text in (THAI, khmer)], lp=["en-th", "en-km"])
    assert make("wer").note(several).startswith(f"the references of en-km are Khmer and of en-th Thai, {what}=13a ")


def test_a_ranker_says_it_once_for_all_its_extractors():
    features = FeatureSet.parse("wer,per,rouge_l,chrf")
    note = features.note(translations(CHINESE))
    assert note == make("wer").note(translations(CHINESE))
    ranker = Ranker("wer,per", C=0.1).fit(catalogue.load("sample"))
    assert ranker.note(translations(CHINESE, "de-en")) == features.note(translations(CHINESE, "de-en"))
    assert features.note(translations("The cat.")) is None
