"""Tokenisers over batches of sentences.

Each takes distinct sentences and gives the tokens of each. A batch is joined by line breaks, so that one regular
expression runs over many sentences at once; no sentence holds a line break, which is white space to every tokeniser.
"""

from __future__ import annotations

import functools
import re
import string
import unicodedata
from collections.abc import Callable, Sequence

from ranker.extractors.text.meteor_tokenizer import tokenize_meteor, tokenize_meteor_words
from ranker.extractors.text.trained_tokenizers import SENTENCEPIECE_MODELS, tokenize_mecab, tokenize_pieces

_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))
# ASCII punctuation and symbols but for - . , ' which mteval-v13a treats by their neighbours or leaves alone
_SYMBOLS = '!"#$%&()*+/:;<=>?@[\\]^_`{|}~'
_STOP_AFTER_NON_DIGIT = re.compile(r"([^0-9\n])([.,])")
_STOP_BEFORE_NON_DIGIT = re.compile(r"([.,])([^0-9\n])")
_DASH_AFTER_DIGIT = re.compile(r"([0-9])(-)")
# white space to str.split but not to tercom, which knows that of ASCII only
_OTHER_SPACE = re.compile(r"[^\S \t\n\x0b\x0c\r]")
_ASCII_SPACE = re.compile(r"[ \t\n\x0b\x0c\r]+")
ASIAN_PUNCTUATION = "、。〈〉《》「」『』【】〔〕〖〗〘〙〚〛〜〝〞〟｡｢｣､･・．，？：；！＂（）"
"""The marks that tercom's option -A adds."""
_ASIAN_CHARACTER = re.compile(
    "([\u2e80-\u2eff\u31c0-\u31ef\u3200-\u4dbf\u4e00-\u9fff\uf900-\ufaff\ufe30-\ufe4f" + ASIAN_PUNCTUATION + "])"
)
# Chinese characters and the marks and symbols set among them; general punctuation, arrows and mathematical signs too,
# and no character beyond the basic plane, as in sacreBLEU
_CHINESE = re.compile(
    "([\u2001-\u2a6d\u2e80-\u2fdf\u2ff0-\u303f\u3100-\u312f\u31a0-\u31ef\u3200-\u4db5\u4e00-\u9fbb"
    "\uf900-\ufa2d\ufa30-\ufa6a\ufa70-\ufad9\ufe10-\ufe1f\ufe30-\ufe4f\uff00-\uffef])"
)
_KANA = re.compile("([\u3040-\u309f]+|[\u30a0-\u30ff]+|[\u31f0-\u31ff]+)")


def tokenize_none(sentences: Sequence[str]) -> list[list[str]]:
    """Split at white space, nothing else."""
    return [sentence.split() for sentence in sentences]


def tokenize_13a(sentences: Sequence[str]) -> list[list[str]]:
    """Tokenise as NIST's ``mteval-v13a`` does for languages written with spaces.

    The mark-up ``<skipped>`` is dropped, words hyphenated at a line's end are joined, four entities are unescaped, and
    every symbol becomes a token of its own; full stops and commas only beside a non-digit, dashes only after a digit.
    """
    joined = _separate_stops(_separate_symbols(sentences))
    return [line.split() for line in joined.split("\n")] if sentences else []


def tokenize_terp(sentences: Sequence[str]) -> list[list[str]]:
    """Tokenise as ``mteval-v13a`` does, and a possessive 's is a token of its own, as TERp makes of such tokens."""
    joined = _separate_stops(_separate_symbols(sentences).replace("'s ", " 's "))
    return [line.split() for line in joined.split("\n")] if sentences else []


def tokenize_tercom(sentences: Sequence[str]) -> list[list[str]]:
    """Tokenise as tercom does with its option ``-N``.

    That is as ``mteval-v13a``, but a possessive 's is a token of its own, and white space beyond ASCII is none.
    """
    return _split_at_ascii(_separate_stops(_separate_symbols(sentences).replace("'s ", " 's "))) if sentences else []


def tokenize_tercom_asian(sentences: Sequence[str]) -> list[list[str]]:
    """Tokenise as tercom does with its options ``-N -A``.

    That is as `tokenize_tercom`, and every Chinese character and East Asian mark is a token of its own, and so is every
    run of hiragana or of katakana.
    """
    joined = _separate_stops(_separate_symbols(sentences).replace("'s ", " 's "))
    joined = _KANA.sub(r" \1 ", joined)
    return _split_at_ascii(_ASIAN_CHARACTER.sub(r" \1 ", joined)) if sentences else []


def tokenize_chinese(sentences: Sequence[str]) -> list[list[str]]:
    """Tokenise as sacreBLEU's ``zh``: every Chinese character and mark alone, the rest as ``13a`` without entities."""
    joined = "\n".join(sentence.replace("\n", " ").strip() for sentence in sentences)
    joined = _separate_stops(_spaced_symbols(_CHINESE.sub(r" \1 ", joined)))
    return [line.split() for line in joined.split("\n")] if sentences else []


def tokenize_international(sentences: Sequence[str]) -> list[list[str]]:
    """Tokenise as NIST's ``mteval-v14`` does with ``--international-tokenization``.

    Every symbol of Unicode is a token of its own, and every punctuation mark beside anything but a number.
    """
    joined = "\n".join(sentence.replace("\n", " ").rstrip() for sentence in sentences)
    kinds: dict[str, list[str]] = {"N": [], "P": [], "S": []}
    for character in sorted(set(joined)):
        kinds.setdefault(unicodedata.category(character)[0], []).append(re.escape(character))
    numbers, marks, symbols = ("".join(kinds[kind]) for kind in "NPS")
    if marks:
        joined = re.sub(rf"([^\n{numbers}])([{marks}])", r"\1 \2 ", joined)
        joined = re.sub(rf"([{marks}])([^\n{numbers}])", r" \1 \2", joined)
    if symbols:
        joined = re.sub(rf"([{symbols}])", r" \1 ", joined)
    return [line.split() for line in joined.split("\n")] if sentences else []


def _split_at_ascii(joined: str) -> list[list[str]]:
    if _OTHER_SPACE.search(joined):
        return [[word for word in _ASCII_SPACE.split(line) if word] for line in joined.split("\n")]
    return [line.split() for line in joined.split("\n")]


def _separate_symbols(sentences: Sequence[str]) -> str:
    """Join sentences by line breaks, each with spaces around it and around its symbols, entities unescaped."""
    joined = "\n".join(f" {one_line(sentence)} " for sentence in sentences)
    for entity, character in _ENTITIES:
        joined = joined.replace(entity, character)
    return _spaced_symbols(joined)


def _spaced_symbols(joined: str) -> str:
    for symbol in _SYMBOLS:  # 30 passes of str.replace take half the time of one regular expression or translate
        joined = joined.replace(symbol, f" {symbol} ")
    return joined


def _separate_stops(joined: str) -> str:
    joined = _STOP_AFTER_NON_DIGIT.sub(r"\1 \2 ", joined)
    joined = _STOP_BEFORE_NON_DIGIT.sub(r" \1 \2", joined)
    return _DASH_AFTER_DIGIT.sub(r"\1 \2 ", joined)


def one_line(sentence: str) -> str:
    """Take the line breaks and mark-up out of a sentence as ``mteval-v13a`` does."""
    sentence = sentence.rstrip()
    if "<skipped>" in sentence:
        sentence = sentence.replace("<skipped>", "")
    if "\n" in sentence:
        sentence = sentence.replace("-\n", "").replace("\n", " ")
    return sentence


def tokenize_chrf_words(sentences: Sequence[str]) -> list[list[str]]:
    """Split at white space, and one ASCII punctuation mark off a word's end, else off its beginning, as chrF++ does."""
    return [[part for word in sentence.split() for part in _without_mark(word)] for sentence in sentences]


def _without_mark(word: str) -> tuple[str, ...]:
    if len(word) > 1:
        if word[-1] in string.punctuation:
            return word[:-1], word[-1]
        if word[0] in string.punctuation:
            return word[0], word[1:]
    return (word,)


TOKENIZERS: dict[str, Callable[[Sequence[str]], list[list[str]]]] = {
    "13a": tokenize_13a,
    "none": tokenize_none,
    "intl": tokenize_international,
    "zh": tokenize_chinese,
    **{name: functools.partial(tokenize_mecab, name) for name in ("ja-mecab", "ko-mecab")},
    **{name: functools.partial(tokenize_pieces, name) for name in SENTENCEPIECE_MODELS},
    "chrf-words": tokenize_chrf_words,
    "terp": tokenize_terp,
    "tercom": tokenize_tercom,
    "tercom-asian": tokenize_tercom_asian,
    "meteor": tokenize_meteor,
    "meteor-words": tokenize_meteor_words,
}
WORDWISE = frozenset({"13a", "none", "chrf-words", "terp"})
"""Tokenisers that never look beyond white space: a sentence has the tokens of its words, one behind the other."""
OF_LANGUAGE = {"zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}
"""What ``auto`` is for a target language, as in sacreBLEU; ``13a`` for all others."""
