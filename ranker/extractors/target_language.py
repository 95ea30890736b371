"""The language of translations, and notes about extractors that are made for another.

The language pairs of a data set say it. Where they are not known, English is told by its letters and the share of its
function words. Nothing is said of a few words.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ranker.arrays import BoolArray
from ranker.corpora.dataset import Dataset, target_languages, view
from ranker.corpora.languages import ENGLISH
from ranker.extractors.base import Extractor
from ranker.notation import write
from ranker.text.lexical.word_classes import in_class
from ranker.text.tokens import token_batch

_ENOUGH_FUNCTION_WORDS = 0.2
_ENOUGH_WORDS = 50
_SENTENCES_LOOKED_AT = 1000


def looks_english(dataset: Dataset, *, fewest: int = 0) -> bool:
    """True if references, or candidates without references, are in English by letters and function words."""
    batch = token_batch(dataset, "13a", lowercase=True)
    sentences = batch.reference if len(batch.reference) else batch.candidate
    letters = [
        letter for sentence in sentences[:_SENTENCES_LOOKED_AT] for letter in batch.texts[sentence] if letter.isalpha()
    ]
    if 2 * sum(map(str.isascii, letters)) < len(letters):
        return False
    words = batch.segments.take(sentences[:_SENTENCES_LOOKED_AT])[0]
    vocabulary = batch.segments.vocabulary
    lettered = np.fromiter(map(str.isalpha, vocabulary), dtype=bool, count=len(vocabulary))
    function = in_class(vocabulary, "function") & lettered
    number = int(lettered[words].sum())
    return number < fewest or float(function[words].sum() / max(number, 1)) >= _ENOUGH_FUNCTION_WORDS


@view
def in_english(dataset: Dataset) -> BoolArray:
    """True for sources with translations into English, as far as this is known or detected, shape (sources,)."""
    unknown = target_languages(dataset) == ""
    english = target_languages(dataset) == ENGLISH
    if unknown.any():
        english |= unknown & unknown_looks_english(dataset)
    return np.asarray(english, dtype=bool)


@view
def unknown_looks_english(dataset: Dataset) -> bool:
    """True if the sources of unknown language pairs are translated into English."""
    return looks_english(dataset.select_sources(target_languages(dataset) == ""), fewest=_ENOUGH_WORDS)


@view
def other_language(dataset: Dataset, language: str = ENGLISH) -> str | None:
    """Name of the language of translations, for a message, if it is surely not `language` or varies, else None."""
    known = set(target_languages(dataset).tolist())
    other_languages = sorted(known - {language, ""})
    if other_languages:
        return ", ".join(other_languages)
    if "" not in known or language != ENGLISH or unknown_looks_english(dataset):
        return None
    return "another language"


def english_note(extractors: Sequence[Extractor], dataset: Dataset) -> str | None:
    """Return one line that names the options for English alone, if the translations are in another language."""
    english_only = {str(extractor): extractor for extractor in extractors if extractor.needs.english_options}
    language = other_language(dataset) if english_only else None
    if language is None:
        return None
    shown = []
    for name, extractor in english_only.items():
        values = (f"{option}={write(getattr(extractor, option))}" for option in extractor.needs.english_options)
        shown.append(f"{name} ({', '.join(values)})")
    options = sorted({option for extractor in english_only.values() for option in extractor.needs.english_options})
    return (
        f"{', '.join(shown)}: for English only, but the translations are in {language}: set {' and '.join(options)} "
        "for that language, or use a language-independent metric such as chrf"
    )
