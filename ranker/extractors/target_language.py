"""The target language of a data set, and notes on extractors made for another language.

It is taken from the language pairs of the data set. If these are unknown, English is recognised by its letters and
share of function words, unless there are only a few words.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ranker.arrays import BoolArray
from ranker.corpora.dataset import Dataset, view
from ranker.corpora.languages import ENGLISH
from ranker.extractors.base import Extractor
from ranker.notation import write
from ranker.text.lexical.word_classes import in_class
from ranker.text.tokens import token_batch

_ENOUGH_FUNCTION_WORDS = 0.2
_ENOUGH_WORDS = 50
_SENTENCES_LOOKED_AT = 1000


def looks_english(dataset: Dataset, *, fewest: int = 0) -> bool:
    """True if the references, or candidates if there are none, look English, judging by letters and function words."""
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
    """Mask of the sources whose target language is known or detected to be English, shape (sources,)."""
    unknown = dataset.target_languages == ""
    english = dataset.target_languages == ENGLISH
    if unknown.any():
        english |= unknown & unknown_looks_english(dataset)
    return np.asarray(english, dtype=bool)


@view
def unknown_looks_english(dataset: Dataset) -> bool:
    """True if the translations of sources whose target language is unknown look English."""
    return looks_english(dataset.select_sources(dataset.target_languages == ""), fewest=_ENOUGH_WORDS)


@view
def other_language(dataset: Dataset, language: str = ENGLISH) -> str | None:
    """Return the target languages that are certainly not `language`, joined in one text, or None if there are none."""
    known = set(dataset.target_languages.tolist())
    other_languages = sorted(known - {language, ""})
    if other_languages:
        return ", ".join(other_languages)
    if "" not in known or language != ENGLISH or unknown_looks_english(dataset):
        return None
    return "another language"


def english_note(extractors: Sequence[Extractor], dataset: Dataset) -> str | None:
    """Return a note that names English-only options if the translations are in another language, else None."""
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
