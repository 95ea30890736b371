from __future__ import annotations

import re

import pytest
from snowballstemmer.porter_stemmer import PorterStemmer

from ranker.text.lexical.porter import porter_stem
from tests.golden_values import inputs

# what all steps together make of the words that Porter (1980) illustrates the rules with
EXAMPLES = """
    caresses caress  ponies poni  ties ti  caress caress  cats cat  feed feed  agreed agre  plastered plaster  bled bled
    motoring motor  sing sing  conflated conflat  troubled troubl  sized size  hopping hop  tanned tan  falling fall
    hissing hiss  fizzed fizz  failing fail  filing file  happy happi  sky sky  relational relat  conditional condit
    rational ration  valenci valenc  hesitanci hesit  digitizer digit  conformabli conform  radicalli radic
    differentli differ  vileli vile  analogousli analog  vietnamization vietnam  predication predic  operator oper
    feudalism feudal  decisiveness decis  hopefulness hope  callousness callous  formaliti formal  sensitiviti sensit
    sensibiliti sensibl  triplicate triplic  formative form  formalize formal  electriciti electr  electrical electr
    hopeful hope  goodness good  revival reviv  allowance allow  inference infer  airliner airlin
    gyroscopic gyroscop  adjustable adjust  defensible defens  irritant irrit  replacement replac  adjustment adjust
    dependent depend  adoption adopt  homologou homolog  communism commun  activate activ  angulariti angular
    homologous homolog  effective effect  bowdlerize bowdler  probate probat  rate rate  cease ceas  controll control
    roll roll  generalizations gener  oscillators oscil
"""
PAIRS = list(zip(EXAMPLES.split()[::2], EXAMPLES.split()[1::2], strict=True))


@pytest.mark.parametrize(("word", "stem"), PAIRS)
def test_examples_of_the_paper(word, stem):
    assert porter_stem(word) == stem


def test_changes_after_the_paper():
    assert porter_stem("possibly") == "possibl"
    assert porter_stem("technology") == "technolog"
    assert [porter_stem(word) for word in ("as", "s", "")] == ["as", "s", ""]


@pytest.mark.parametrize("word", ["125km", "'s", "fünftägigen", "über", "日本", "3-4", "..."])
def test_what_is_no_english_word_stays(word):
    assert porter_stem(word) == word


def test_every_word_equals_snowball_but_for_the_changes(golden):
    sentences = [text for item in inputs(golden) for text in (item["hyp_tok"], *item["refs_tok"])]
    words = {word for text in sentences for word in re.findall("[a-z]{3,}", text.lower())}
    expected = PorterStemmer()
    words = {word for word in words if not re.search("bl[iy]|logi|logy", word)}
    assert len(words) > 100
    assert {word: porter_stem(word) for word in words} == {word: expected.stemWord(word) for word in words}
