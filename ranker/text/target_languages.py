"""The target language of each source: from its language pair, else detected by the script or words of its translations.

English is detected by its letters and its proportion of function words. In doubt, translations count as English.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ranker.arrays import BoolArray, Int64Array
from ranker.corpora.dataset import Dataset, view
from ranker.corpora.languages import ENGLISH, LanguagePair, is_language
from ranker.corpora.scripts import BLOCKS, HAN, HANGUL, KANA
from ranker.text.function_words import LISTS, is_among
from ranker.text.tokenizers import split_and_number

_SAMPLED = 1000
"""Maximum number of translations by which a language is detected."""
_ENOUGH_FUNCTION_WORDS = 0.2
_NO_FUNCTION_WORDS = 0.1
"""Maximum proportion of function words by which a few words are known not to be English."""
_SENTENCE, _FEW_WORDS, _ENOUGH_WORDS = 4, 10, 50
_LEAST_KANA = 0.1
"""Minimum proportion of kana for a text with Chinese characters to be Japanese."""
_LONGEST_MEAN = {HAN: 3.0, KANA: 3.0}
_LONGEST_MEAN_OF_OTHERS = 8.0
"""Maximum mean number of letters between spaces in text that is segmented into words."""


def language_of(texts: Sequence[str]) -> str | None:
    """Return the language identified by the script of most letters in `texts`; None if the script identifies none.

    Text that is segmented into words gives None, because a tokenizer for its language would segment the text again.
    """
    joined = "\n".join(texts)
    if joined.isascii():
        return None
    characters = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    points, counts = np.unique(characters, return_counts=True)
    letters: dict[str, int] = {}
    for language, first, last in BLOCKS:
        letters[language] = letters.get(language, 0) + int(counts[(points >= first) & (points <= last)].sum())
    total = sum(letters.values())
    if 2 * total <= _number_of_letters(points, counts):
        return None
    written, other = (HAN, KANA) if letters[KANA] < _LEAST_KANA * (letters[HAN] + letters[KANA]) else (KANA, HAN)
    letters[written] += letters.pop(other)
    language = max(letters, key=lambda name: letters[name])
    mean = total / len(joined.split())
    return language if language == HANGUL or mean > _LONGEST_MEAN.get(language, _LONGEST_MEAN_OF_OTHERS) else None


def _number_of_letters(points: npt.NDArray[np.uint32], counts: Int64Array) -> int:
    return int(counts[[chr(point).isalpha() for point in points]].sum())


def sampled(rows: Int64Array) -> Int64Array:
    """Return a sample of `rows`, evenly spaced and large enough to detect the language of their texts."""
    return rows[:: max(1, -(-len(rows) // _SAMPLED))]


@view
def reference_scripts(dataset: Dataset) -> dict[LanguagePair, str | None]:
    """Identify each language pair's target language by the script of references or, if there are none, candidates."""
    languages: dict[LanguagePair, str | None] = {}
    for pair in dataset.language_pairs:
        inside = dataset.source_language_pairs == pair
        table, rows = dataset.references, np.flatnonzero(inside[dataset.references["source"]])
        if not len(rows):
            table, rows = dataset.candidates, np.flatnonzero(inside[dataset.candidate_source])
        languages[pair] = language_of(table["text"].iloc[sampled(rows)].tolist())
    return languages


@view
def written_languages(dataset: Dataset) -> npt.NDArray[np.object_]:
    """Return the target language of each source, from the data or else identified by its script, shape (sources,)."""
    named = dataset.target_languages
    unknown = {name for name in set(named) if not is_language(name)}
    if not unknown:
        return named
    scripts = reference_scripts(dataset)
    pairs = zip(named, dataset.source_language_pairs, strict=True)
    return np.array([(name in unknown and scripts[pair]) or name for name, pair in pairs], dtype=object)


@view
def looks_english(dataset: Dataset) -> bool | None:
    """True if the translations of sources whose target language is unknown look English; None if words are too few.

    The references, or candidates if there are none, are judged by letters and function words.
    """
    function, number = _function_words(dataset)
    if function >= _ENOUGH_FUNCTION_WORDS * max(number, 1):
        return True
    too_few = number < _FEW_WORDS or (number < _ENOUGH_WORDS and function >= _NO_FUNCTION_WORDS * number)
    return None if too_few else False


@view
def english_in_doubt(dataset: Dataset) -> bool:
    """True if translations in an unknown language have no English function word, but too few words to judge by."""
    function, number = _function_words(dataset)
    return function == 0 and _SENTENCE <= number < _FEW_WORDS


@view
def _function_words(dataset: Dataset) -> tuple[int, int]:
    """Return the numbers of English function words and of all words, of sources whose target language is unknown.

    Where most letters are not ASCII, no word is a function word.
    """
    unknown = dataset.select_sources(dataset.target_languages == "")
    table = unknown.references if len(unknown.references) else unknown.candidates
    texts = table["text"].iloc[sampled(np.arange(len(table)))].tolist()
    letters = [letter for text in texts for letter in text if letter.isalpha()]
    if 2 * sum(map(str.isascii, letters)) < len(letters):
        return 0, _ENOUGH_WORDS
    words, _, vocabulary = split_and_number([text.lower() for text in texts], "13a")
    lettered = np.fromiter(map(str.isalpha, vocabulary), dtype=bool, count=len(vocabulary))
    function = is_among(vocabulary, LISTS["english"]) & lettered
    return int(function[words].sum()), int(lettered[words].sum())


@view
def in_english(dataset: Dataset) -> BoolArray:
    """Mask of the sources whose target language is known or detected to be English, shape (sources,)."""
    unknown = dataset.target_languages == ""
    english = dataset.target_languages == ENGLISH
    if unknown.any():
        english |= unknown & (looks_english(dataset) is not False)
    return np.asarray(english, dtype=bool)


@view
def other_language(dataset: Dataset, language: str = ENGLISH) -> str | None:
    """Return the target languages other than `language`, joined in one text, or None if there are none.

    An unknown language counts if it clearly is not English; the text is then "another language".
    """
    known = set(dataset.target_languages.tolist())
    other_languages = sorted(known - {language, ""})
    if other_languages:
        return ", ".join(other_languages)
    if "" not in known or language != ENGLISH or looks_english(dataset) is not False:
        return None
    return "another language"


def translations_in_others(dataset: Dataset, language: str = ENGLISH) -> str | None:
    """Return "the translations are in" and `other_language`, or "some translations" if not all are; or None."""
    others = other_language(dataset, language)
    if others is None:
        return None
    every = set(dataset.target_languages.tolist()) in ({""}, {*others.split(", ")})
    return f"{'the' if every else 'some'} translations are in {others}"


def target_language(dataset: Dataset, lp: str) -> str:
    """Return the code, without region, of a pair's target language, named or else detected; empty if unknown."""
    source = int(np.flatnonzero(dataset.source_language_pairs == lp)[0])
    named = str(written_languages(dataset)[source]).partition("_")[0]
    return named or (ENGLISH if in_english(dataset)[source] else "")
