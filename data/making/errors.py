"""The known errors that the simulated systems of the ``sample`` corpus make.

A sentence is a tuple of `Token`. Each error type takes such a tuple and returns a new one that holds one
error more, or None where the sentence offers no place for it. A token that already carries an error is never
chosen again, so no error hides or undoes another.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from data.making.words import (
    CAPITALISED,
    CHOICE_CONFUSIONS,
    DROPPABLE,
    FORMS,
    FUNCTION_CONFUSIONS,
    FUNCTION_WORDS,
    MODIFIERS,
    REWORDINGS,
)

Item = TypeVar("Item")

# a word keeps its inner hyphens, points and apostrophes (10,000 p.m. o'clock) and a plural's final apostrophe
_TOKEN = re.compile(r"[ap]\.m\.|[^\W_]+(?:['.,:-][^\W_]+)*(?:(?<=s)'(?!\w))?|[^\w\s]")
_NO_SPACE_BEFORE = frozenset(".,;:!?)%")
_NO_SPACE_AFTER = frozenset("($")

_CAPITAL_OF = {word.lower(): word for word in CAPITALISED}
_AN_BEFORE = re.compile(r"(?!uni|use|usual|one\b|once|eu)[aeiou]|hour|honest|8|1[18]\b", re.IGNORECASE)


@dataclass(frozen=True)
class Token:
    """A word or a punctuation mark; `spoiled` once an error sits on it."""

    text: str
    spoiled: bool = False

    @property
    def key(self) -> str:
        """Lower-case form, by which every word list is asked."""
        return self.text.lower()

    @property
    def is_word(self) -> bool:
        """Whether this is a word, not a punctuation mark."""
        return self.text[0].isalnum()


Tokens = tuple[Token, ...]


@dataclass(frozen=True)
class Vocabulary:
    """What an error may draw on.

    Parameters
    ----------
    glossary : mapping of str to str
        English content words (lower case) of the sentence and the Chinese words they translate.
    document : mapping of str to str
        The same of the whole document.
    """

    glossary: Mapping[str, str]
    document: Mapping[str, str]


def pick(generator: np.random.Generator, items: Sequence[Item]) -> Item:
    """Return one of `items`, each as likely as the others."""
    return items[int(generator.random() * len(items))]


def tokenise(text: str) -> Tokens:
    """Split English `text`; the first word loses the capital that only the sentence start gave it."""
    tokens = [Token(piece) for piece in _TOKEN.findall(text)]
    for position, token in enumerate(tokens):
        if token.is_word:
            if token.text not in CAPITALISED:
                tokens[position] = Token(token.text[0].lower() + token.text[1:])
            break
    return tuple(tokens)


def detokenise(tokens: Tokens) -> str:
    """Join `tokens` as a writer would: spaces, quotation marks, a or an, a capital at the start."""
    text, glued, quoted = "", True, False
    for position, token in enumerate(tokens):
        following = tokens[position + 1] if position + 1 < len(tokens) else None
        word = token.text
        if token.key in ("a", "an") and following is not None and following.text.isascii():
            article = "an" if _AN_BEFORE.match(following.text) else "a"
            word = article.capitalize() if token.text[0].isupper() else article
        if word == '"':
            text += word if glued or quoted else " " + word
            glued, quoted = not quoted, not quoted
            continue
        text += word if glued or word in _NO_SPACE_BEFORE else " " + word
        glued = word in _NO_SPACE_AFTER
    first = next((place for place, letter in enumerate(text) if letter.isalnum()), 0)
    return text[:first] + text[first : first + 1].upper() + text[first + 1 :]


def _with(tokens: Tokens, position: int, *words: str) -> Tokens:
    """Put the wrong `words` at `position` in place of the word there."""
    new = tuple(Token(_CAPITAL_OF.get(word, word), spoiled=True) for word in words)
    return tokens[:position] + new + tokens[position + 1 :]


def _sites(tokens: Tokens, known: Callable[[str], bool]) -> list[int]:
    return [place for place, token in enumerate(tokens) if token.is_word and not token.spoiled and known(token.key)]


def drop_function_word(tokens: Tokens, vocabulary: Vocabulary, generator: np.random.Generator) -> Tokens | None:
    """Leave out an article, a preposition, an auxiliary or a conjunction."""
    sites = _sites(tokens, DROPPABLE.__contains__)
    if not sites:
        return None
    place = pick(generator, sites)
    return tokens[:place] + tokens[place + 1 :]


def wrong_function_word(tokens: Tokens, vocabulary: Vocabulary, generator: np.random.Generator) -> Tokens | None:
    """Replace a function word by another, or link a content word to the one before it by a needless "of"."""
    replaced = _sites(tokens, FUNCTION_CONFUSIONS.__contains__)
    linked = [
        place
        for place in _sites(tokens, vocabulary.document.__contains__)
        if place and tokens[place - 1].is_word and tokens[place - 1].key not in FUNCTION_WORDS
    ]
    if not replaced and not linked:
        return None
    place = pick(generator, replaced + linked)
    if tokens[place].key in FUNCTION_CONFUSIONS:
        return _with(tokens, place, pick(generator, FUNCTION_CONFUSIONS[tokens[place].key]))
    return (*tokens[:place], Token("of", spoiled=True), *tokens[place:])


def wrong_inflection(tokens: Tokens, vocabulary: Vocabulary, generator: np.random.Generator) -> Tokens | None:
    """Put a verb into another form, or a noun into the other number."""

    def plural(word: str) -> bool:
        return word in vocabulary.document and word.endswith("s") and not word.endswith(("ss", "us"))

    sites = _sites(tokens, lambda word: word in FORMS or plural(word))
    if not sites:
        return None
    place = pick(generator, sites)
    word = tokens[place].key
    return _with(tokens, place, pick(generator, FORMS[word]) if word in FORMS else singular(word))


def singular(plural: str) -> str:
    """Return the singular of a regular English `plural`."""
    if plural.endswith("ies"):
        return plural[:-3] + "y"
    return plural[:-2] if plural.endswith(("ches", "shes", "sses", "xes", "toes")) else plural[:-1]


def phrases(tokens: Tokens) -> list[tuple[int, int]]:
    """Return [start, end) of each phrase: function words and the content words that follow them."""
    spans: list[tuple[int, int]] = []
    start = 0
    for place, token in enumerate(tokens):
        starts_phrase = token.key in FUNCTION_WORDS and place and tokens[place - 1].key not in FUNCTION_WORDS
        if starts_phrase or not token.is_word:
            if place > start:
                spans.append((start, place))
            start = place if token.is_word else place + 1
    if len(tokens) > start:
        spans.append((start, len(tokens)))
    return spans


def wrong_order(tokens: Tokens, vocabulary: Vocabulary, generator: np.random.Generator) -> Tokens | None:
    """Swap two neighbouring phrases of at most six words that no punctuation mark separates."""
    spans = [span for span in phrases(tokens) if span[1] - span[0] <= 6]
    pairs = [
        (left, right)
        for left, right in itertools.pairwise(spans)
        if left[1] == right[0] and not any(token.spoiled for token in tokens[left[0] : right[1]])
    ]
    if not pairs:
        return None
    (start, middle), (_, end) = pick(generator, pairs)
    # the first words of both phrases carry the error, so that no second swap can undo this one
    first, second = ((replace(part[0], spoiled=True), *part[1:]) for part in (tokens[middle:end], tokens[start:middle]))
    return (*tokens[:start], *first, *second, *tokens[end:])


def untranslated_word(tokens: Tokens, vocabulary: Vocabulary, generator: np.random.Generator) -> Tokens | None:
    """Leave a content word in Chinese."""
    sites = _sites(tokens, vocabulary.glossary.__contains__)
    if not sites:
        return None
    place = pick(generator, sites)
    return _with(tokens, place, vocabulary.glossary[tokens[place].key])


def word_class(word: str) -> str:
    """Return what kind of place a content word fills: of a date, a modifier, a plural or any other noun."""
    if word in _CAPITAL_OF:
        return "date"
    if word in MODIFIERS:
        return "modifier"
    return "plural" if word.endswith("s") else "noun"


def wrong_choice(tokens: Tokens, vocabulary: Vocabulary, generator: np.random.Generator) -> Tokens | None:
    """Translate a wrong sense of a word, or put another content word of the document in its place."""
    listed = _sites(tokens, CHOICE_CONFUSIONS.__contains__)
    present = {token.key for token in tokens}
    others = {
        place: [
            word
            for word, chinese in vocabulary.document.items()
            if chinese != vocabulary.glossary[tokens[place].key]
            and word_class(word) == word_class(tokens[place].key)
            and word not in present
        ]
        for place in _sites(tokens, vocabulary.glossary.__contains__)
    }
    sites = listed + [place for place, words in others.items() if words]
    if not sites:
        return None
    place = pick(generator, sites)
    if tokens[place].key in CHOICE_CONFUSIONS:
        return _with(tokens, place, *pick(generator, CHOICE_CONFUSIONS[tokens[place].key]).split())
    return _with(tokens, place, pick(generator, others[place]))


def reword(tokens: Tokens, vocabulary: Vocabulary, generator: np.random.Generator) -> Tokens | None:
    """Use another word of the same meaning; not an error."""
    sites = _sites(tokens, REWORDINGS.__contains__)
    if not sites:
        return None
    place = pick(generator, sites)
    return (*tokens[:place], Token(pick(generator, REWORDINGS[tokens[place].key])), *tokens[place + 1 :])


@dataclass(frozen=True)
class ErrorType:
    """A kind of error and what one of them costs.

    Parameters
    ----------
    name : str
        Key of the rates of a simulated system.
    fluency, adequacy : float
        Points (of a scale of 1 to 5) that one such error costs a sentence of 20 words.
    apply : callable
        ``(tokens, vocabulary, generator) -> tokens or None``.
    """

    name: str
    fluency: float
    adequacy: float
    apply: Callable[[Tokens, Vocabulary, np.random.Generator], Tokens | None]


# applied in this order: phrases are cut best while their function words are still there
ERROR_TYPES = (
    ErrorType("order", 0.9, 0.5, wrong_order),
    ErrorType("choice", 0.3, 1.0, wrong_choice),
    ErrorType("untranslated", 0.7, 1.1, untranslated_word),
    ErrorType("inflection", 0.4, 0.1, wrong_inflection),
    ErrorType("function", 0.4, 0.3, wrong_function_word),
    ErrorType("dropped", 0.4, 0.2, drop_function_word),
)
