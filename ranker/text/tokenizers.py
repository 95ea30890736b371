"""Tokenizers over batches of sentences.

Most tokenizers split by the kinds of adjacent characters alone. One kernel does this for all of these tokenizers and
numbers the words in the same pass over the code points (`split_and_number`); they differ only in a table of each
character's kind. The other tokenizers take sentences and return the tokens of each (`TOKENIZERS`).
"""

from __future__ import annotations

import functools
import re
import string
import unicodedata
from collections.abc import Callable, Sequence

import numpy as np

from ranker.arrays import Int32Array, Int64Array, UInt8Array, UInt32Array
from ranker.corpora.scripts import WITHOUT_SPACES
from ranker.storage.kernels import kernel
from ranker.text.meteor_tokenizer import tokenize_meteor, tokenize_meteor_words
from ranker.text.trained_tokenizers import SENTENCEPIECE_MODELS, tokenize_mecab, tokenize_pieces

_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))
# ASCII punctuation and symbols except - . , ' which mteval-v13a treats by their neighbours or leaves alone
_SYMBOLS = '!"#$%&()*+/:;<=>?@[\\]^_`{|}~'
_WHITE_SPACE = "".join(filter(str.isspace, map(chr, range(0x3001))))
ASIAN_PUNCTUATION = "、。〈〉《》「」『』【】〔〕〖〗〘〙〚〛〜〝〞〟｡｢｣､･・．，？：；！＂（）"
"""The marks that tercom's option -A adds."""
_ASIAN_BLOCKS = ("\u2e80\u2eff", "\u31c0\u31ef", "\u3200\u4dbf", "\u4e00\u9fff", "\uf900\ufaff", "\ufe30\ufe4f")
# Chinese characters and the marks and symbols set among them; general punctuation, arrows and mathematical signs too,
# and no character beyond the basic plane, as in sacreBLEU
_CHINESE_BLOCKS = (
    *("\u2001\u2a6d", "\u2e80\u2fdf", "\u2ff0\u303f", "\u3100\u312f", "\u31a0\u31ef", "\u3200\u4db5"),
    *("\u4e00\u9fbb", "\uf900\ufa2d", "\ufa30\ufa6a", "\ufa70\ufad9", "\ufe10\ufe1f", "\ufe30\ufe4f", "\uff00\uffef"),
)
_EAST_ASIAN_MARKS = ("\u3001\u303f", "\uff00\uff0f", "\uff1a\uff20", "\uff3b\uff40", "\uff5b\uff65")
_KANA_BLOCKS = ("\u3040\u309f", "\u30a0\u30ff", "\u31f0\u31ff")

# Kinds of characters. White space comes first: line breaks, which count as digits next to a full stop, then white space
# that may follow a possessive 's, then other white space. Kinds of characters whose runs are one token come last.
_EDGE, _SPACE, _TAB, _LETTER, _APOSTROPHE, _DIGIT, _DASH, _STOP, _SYMBOL, _RUN = range(10)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_LINE_BREAK = 10


@functools.cache
def _kinds(tokenizer: str) -> UInt8Array:
    """Return the kind of each Unicode character for one of the tokenizers in `SPLITTING`.

    ``none`` splits at white space, nothing else. ``13a`` splits as NIST's ``mteval-v13a``: every symbol is a token of
    its own, full stops and commas only beside a non-digit, dashes only after a digit. ``zh``, as in sacreBLEU, also
    splits off every Chinese character and mark, ``any`` every East Asian mark and every character of a script without
    spaces between words. ``terp`` is ``13a`` with a possessive 's as a token of its own, and so is ``tercom``, tercom's
    option ``-N``, which knows no white space beyond ASCII. ``tercom-asian``, tercom's options ``-N -A``, also splits
    off every Chinese character and East Asian mark, and every run of hiragana or of katakana.
    """
    kinds = np.full(0x110000, _LETTER, dtype=np.uint8)

    def set_blocks(blocks: Sequence[str], kind: int) -> None:
        for block in blocks:
            kinds[ord(block[0]) : ord(block[-1]) + 1] = kind

    if tokenizer == "zh":
        set_blocks(_CHINESE_BLOCKS, _SYMBOL)
    if tokenizer == "any":
        set_blocks([*(chr(first) + chr(last) for first, last in WITHOUT_SPACES), *_EAST_ASIAN_MARKS], _SYMBOL)
    if tokenizer == "tercom-asian":
        for number, block in enumerate(_KANA_BLOCKS):
            set_blocks([block], _RUN + number)
        set_blocks([*_ASIAN_BLOCKS, *ASIAN_PUNCTUATION], _SYMBOL)
    if tokenizer in ("tercom", "tercom-asian"):
        set_blocks("\t\x0b\x0c\r", _TAB)
        set_blocks(" \n", _SPACE)
    else:
        set_blocks(_WHITE_SPACE, _SPACE)
    if tokenizer == "zh":
        set_blocks("\n", _EDGE)
    if tokenizer != "none":
        for characters, kind in ((_SYMBOLS, _SYMBOL), (".,", _STOP), ("-", _DASH), (string.digits, _DIGIT)):
            set_blocks(characters, kind)
    if tokenizer in ("terp", "tercom", "tercom-asian"):
        set_blocks("'", _APOSTROPHE)
    return kinds


def split_and_number(sentences: Sequence[str], tokenizer: str) -> tuple[Int32Array, Int64Array, list[str]]:
    """Tokenise by one of the tokenizers in `SPLITTING`, and number the words by first occurrence."""
    prepare = _stripped if tokenizer in ("none", "zh") else _unmarked
    joined = "\n".join([*map(prepare, sentences), ""])
    values, offsets, words = _split(_code_points(joined), _kinds(tokenizer), len(sentences))
    return values, offsets, words.tobytes().decode("utf-32-le", "surrogatepass").split("\n")[:-1]


def _code_points(text: str) -> UInt32Array:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def _split_at_boundaries(
    points: UInt32Array, kinds: UInt8Array, sentences: int
) -> tuple[Int32Array, Int64Array, UInt32Array]:
    """Split like `_split`, but without compiled code: find all token boundaries, then cut the text there."""
    kind = kinds[points]
    is_space = np.append(kind <= _TAB, True)
    before, after = kind[:-1], kind[1:]
    is_symbol = (before == _SYMBOL) | (after == _SYMBOL)
    inside = ~is_space[: len(before)] & ~is_space[1 : len(kind)]
    ends = inside & is_symbol
    doubtful = inside & ~is_symbol & ((before != _LETTER) | (after != _LETTER))
    for at in (np.flatnonzero(doubtful) + 1).tolist():
        ends[at - 1] = _ends_before(points, kinds, at)
    cut = np.concatenate([[True], ends, [True]]) if len(points) else np.ones(1, dtype=bool)
    follows_space = np.append(True, is_space[:-1])
    begins = np.flatnonzero(~is_space & (follows_space | cut))
    stops = np.flatnonzero(~follows_space & (is_space | cut))
    text = points.tobytes().decode("utf-32-le", "surrogatepass")
    numbers: dict[str, int] = {}
    values = [
        numbers.setdefault(text[begin:stop], len(numbers))
        for begin, stop in zip(begins.tolist(), stops.tolist(), strict=True)
    ]
    offsets = np.append(0, np.searchsorted(begins, np.flatnonzero(points == _LINE_BREAK)))
    words = "".join(word + "\n" for word in numbers)
    return np.array(values, dtype=np.int32), offsets.astype(np.int64), _code_points(words).copy()


@kernel(elements=400_000, tables=("kinds",), plain=_split_at_boundaries)
def _split(points: UInt32Array, kinds: UInt8Array, sentences: int) -> tuple[Int32Array, Int64Array, UInt32Array]:
    """Return the word ids of all lines, the lines' offsets, and the distinct words, each followed by a line break."""
    values = np.empty(len(points), dtype=np.int32)
    offsets = np.zeros(sentences + 1, dtype=np.int64)
    words = np.empty(2 * len(points), dtype=np.uint32)
    size = 1 << 12
    begins = np.zeros(size + 1, dtype=np.int64)
    hashes = np.empty(size, dtype=np.uint64)
    slots = np.full(2 * size, -1, dtype=np.int32)
    tokens = known = lines = at = 0
    while at < len(points):
        kind = kinds[points[at]]
        if kind <= _TAB:
            if points[at] == _LINE_BREAK:
                lines += 1
                offsets[lines] = tokens
            at += 1
            continue
        start = at
        code = np.uint64(0)
        while True:
            code = (code ^ np.uint64(points[at])) * _MULTIPLIER
            code ^= code >> _HALF
            at += 1
            before, kind = kind, kinds[points[at]]
            if (kind != _LETTER or before != _LETTER) and _ends_before(points, kinds, at):
                break
        slot = np.int64(code) & (len(slots) - 1)
        while slots[slot] >= 0:
            word = slots[slot]
            if hashes[word] == code:
                begin = begins[word] - start
                same = start
                while same < at and words[begin + same] == points[same]:
                    same += 1
                if same == at and begins[word + 1] == begin + at + 1:
                    break
            slot = (slot + 1) & (len(slots) - 1)
        if slots[slot] < 0:
            if known == size:
                size *= 2
                begins = np.append(begins, np.empty(known, dtype=np.int64))
                hashes = np.append(hashes, np.empty(known, dtype=np.uint64))
                slots = np.full(2 * size, -1, dtype=np.int32)
                for word in range(known):
                    slots[_free_slot(slots, hashes[word])] = word
                slot = _free_slot(slots, code)
            slots[slot] = known
            hashes[known] = code
            begin = begins[known]
            words[begin : begin + at - start] = points[start:at]
            words[begin + at - start] = _LINE_BREAK
            known += 1
            begins[known] = begin + at - start + 1
        values[tokens] = slots[slot]
        tokens += 1
    return values[:tokens].copy(), offsets, words[: begins[known]].copy()


@kernel
def _free_slot(slots: Int32Array, code: np.uint64) -> np.int64:
    slot = np.int64(code) & (len(slots) - 1)
    while slots[slot] >= 0:
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@kernel
def _ends_before(points: UInt32Array, kinds: UInt8Array, at: int) -> bool:
    """True if a token ends just before the character at `at`; the last character must be a line break."""
    kind, before = kinds[points[at]], kinds[points[at - 1]]
    if kind <= _TAB or kind == _SYMBOL or before == _SYMBOL:
        return True
    if before == _STOP:
        return bool(kind != _DIGIT) or not _keeps_stop(points, kinds, at - 1)
    if kind == _STOP:
        return bool(before != _DIGIT) or kinds[points[at + 1]] not in (_DIGIT, _EDGE)
    if kind >= _RUN or before >= _RUN:
        return bool(kind != before)
    if before == _DASH and at > 1 and kinds[points[at - 2]] == _DIGIT:
        return True
    if kind == _DASH:
        return bool(before == _DIGIT)
    if kind != _APOSTROPHE or points[at + 1] != ord("s"):
        return False
    follower = points[at + 2]
    return bool(kinds[follower] == _SPACE or (kinds[follower] == _SYMBOL and follower < 128))


@kernel
def _keeps_stop(points: UInt32Array, kinds: UInt8Array, at: int) -> bool:
    """True if a full stop or comma stays joined to the digit after it, as in 1.5.

    mteval-v13a takes a run of stops and commas in twos. A run counts together with the character before it unless that
    is a digit. A mark without a partner stays joined, such as the comma of ``a.,5``.
    """
    start = at
    while start > 0 and kinds[points[start - 1]] == _STOP:
        start -= 1
    before = kinds[points[start - 1] if start else _LINE_BREAK]
    return bool(((at - start) % 2 == 0) == (before in (_DIGIT, _EDGE)))


def _stripped(sentence: str) -> str:
    return sentence.replace("\n", " ").strip()


def _unmarked(sentence: str) -> str:
    """Remove line breaks and mark-up from a sentence and resolve its entities, as ``mteval-v13a`` does."""
    sentence = sentence.rstrip()
    if "<skipped>" in sentence:
        sentence = sentence.replace("<skipped>", "")
    if "\n" in sentence:
        sentence = sentence.replace("-\n", "").replace("\n", " ")
    if "&" in sentence:
        for entity, character in _ENTITIES:
            sentence = sentence.replace(entity, character)
    return sentence


def tokenize_international(sentences: Sequence[str]) -> list[list[str]]:
    """Split off symbols, and punctuation not next to a number, as in ``mteval-v14 --international-tokenization``."""
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


def tokenize_chrf_words(sentences: Sequence[str]) -> list[list[str]]:
    """Split at white space, then split one ASCII punctuation mark off the end or else the start of words (chrF++)."""
    return [[part for word in sentence.split() for part in _without_mark(word)] for sentence in sentences]


def _without_mark(word: str) -> tuple[str, ...]:
    if len(word) > 1:
        if word[-1] in string.punctuation:
            return word[:-1], word[-1]
        if word[0] in string.punctuation:
            return word[0], word[1:]
    return (word,)


SPLITTING = ("13a", "any", "none", "zh", "terp", "tercom", "tercom-asian")
"""Tokenizers that `split_and_number` implements."""
TOKENIZERS: dict[str, Callable[[Sequence[str]], list[list[str]]]] = {
    "intl": tokenize_international,
    **{name: functools.partial(tokenize_mecab, name) for name in ("ja-mecab", "ko-mecab")},
    **{name: functools.partial(tokenize_pieces, name) for name in SENTENCEPIECE_MODELS},
    "chrf-words": tokenize_chrf_words,
    "meteor": tokenize_meteor,
    "meteor-words": tokenize_meteor_words,
}
WORDWISE = frozenset({"chrf-words"})
"""Tokenizers that split at white space first: the tokens of a sentence are the tokens of its words, in order."""
OF_LANGUAGE = {"zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab", **dict.fromkeys(("th", "lo", "bo", "my", "km"), "char")}
"""Tokenizers of ``auto`` by target language: as in sacreBLEU, characters for other scripts without spaces, else 13a."""
