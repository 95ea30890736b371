"""Tokenisation and normalisation as in METEOR, with and without punctuation.

What Meteor 1.5 calls ``-norm``: typographic quotes and dashes become ASCII, sentences are split as Moses' tokeniser
does it for English (Koehn et al. 2007), hyphens inside words are dropped, everything is lower-cased. Character entities
are not resolved, and characters are not composed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

_PUNCTUATION = (
    ("“", '"'),
    ("”", '"'),
    ("„", '"'),
    ("«", '"'),
    ("»", '"'),
    ("‘", "'"),
    ("’", "'"),
    ("‚", "'"),
    ("`", "'"),
    ("''", '"'),
    ("–", "-"),
    ("…", "..."),
)
# Scripts that write words without spaces are split into characters.
_UNSPACED = "\u2e80-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_DASHES = re.compile("-{2,}")
_LETTER = r"[^\W\d_]"
_SPLITS = (
    (re.compile(rf"[^\w\s.',\-]|[_{_UNSPACED}]"), r" \g<0> "),
    (re.compile(r"\.{2,}"), r" \g<0> "),
    (re.compile(r"(?<!\d),|,(?!\d)"), " , "),
    (re.compile(r"(?<=[^\W_])-(?=[^\W_])"), " "),
    # an apostrophe that begins or ends a word stands alone, one inside begins the second part
    (re.compile(rf"(?<!{_LETTER})'(?!{_LETTER})|(?<![^\W_])'(?={_LETTER})|(?<={_LETTER})'(?!{_LETTER})"), " ' "),
    (re.compile(rf"(?<={_LETTER})'(?={_LETTER})|(?<=\d)'(?=s)"), " '"),
)
_NO_WORD = re.compile(rf"[^\w\s]|[_{_UNSPACED}]")

# Abbreviations that come before a name or a second party, so that their full stop never ends a sentence. Single capital
# letters (initials) are treated in the same way.
_TITLES = "Mr Mrs Ms Messrs Mme Mlle Dr Drs Prof Rev Msgr Hon St Sr"
_RANKS = "Gen Brig Col Maj Capt Lt Sgt Cpl Pvt Adm Cmdr"
_OFFICES = "Gov Sen Sens Rep Reps Insp Supt"
_ABBREVIATIONS = frozenset(f"{_TITLES} {_RANKS} {_OFFICES} vs v".split())
# Abbreviations whose full stop ends no sentence before a number.
_BEFORE_NUMBERS = frozenset({"No", "Nos", "Nr", "Art", "pp"})


def tokenize_meteor(sentences: Sequence[str]) -> list[list[str]]:
    """Tokenise, normalise punctuation and lower-case, as Meteor 1.5 does with ``-norm`` for English."""
    lines = [line.split() for line in _normalized(sentences)]
    table, open_ended = _token_table(set(chain.from_iterable(lines)))
    tokens = []
    for line in lines:
        parts = [table[string] for string in line]
        for position, string in enumerate(line[:-1]):
            if string in open_ended and _keeps_stop(open_ended[string], line[position + 1]):
                *before, word, _ = parts[position]
                parts[position] = [*before, word + "."]
        tokens.append(list(chain.from_iterable(parts)))
    return tokens


def tokenize_meteor_words(sentences: Sequence[str]) -> list[list[str]]:
    """Tokenise into runs of letters and digits, lower-cased, as Meteor 1.5 does with ``-norm -noPunct``."""
    joined = _NO_WORD.sub(" ", "\n".join(map(" ".join, tokenize_meteor(sentences))))
    return [line.split() for line in joined.split("\n")] if sentences else []


def _normalized(sentences: Sequence[str]) -> list[str]:
    joined = "\n".join(sentence.replace("\n", " ") if "\n" in sentence else sentence for sentence in sentences)
    for character, plain in _PUNCTUATION:
        if character in joined:
            joined = joined.replace(character, plain)
    return _DASHES.sub("-", joined).split("\n") if sentences else []


def _token_table(strings: set[str]) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Return the tokens of each string, and the last word of each string from which a final full stop was split off.

    The next string decides whether that stop belongs to the word after all: see `_keeps_stop`.
    """
    ordered = sorted(strings)
    text = "\n".join(f" {string} " for string in ordered)
    for pattern, replacement in _SPLITS:
        text = pattern.sub(replacement, text)
    table, open_ended = {}, {}
    for string, line in zip(ordered, text.split("\n") if ordered else [], strict=True):
        tokens = line.split()
        if "." in line:
            words = tokens
            tokens = []
            for position, word in enumerate(words):
                following = words[position + 1] if position + 1 < len(words) else ""
                stem = word[:-1]
                if not word.endswith(".") or not stem.strip("."):
                    tokens.append(word)
                elif "." in stem and any(map(str.isalpha, stem)):  # an abbreviation as U.S. loses its stops
                    tokens.append(word.replace(".", ""))
                elif _keeps_stop(stem, following):
                    tokens.append(word)
                else:
                    tokens += [stem, "."]
                    if not following:
                        open_ended[string] = stem
        table[string] = [token.lower() for token in tokens]
    return table, open_ended


def _keeps_stop(word: str, following: str) -> bool:
    """True if `word` keeps its full stop before the word `following`, which is empty if no word follows."""
    if word in _ABBREVIATIONS or (len(word) == 1 and "A" <= word <= "Z"):
        return True
    return following[:1].islower() or (word in _BEFORE_NUMBERS and following[:1].isdigit())
