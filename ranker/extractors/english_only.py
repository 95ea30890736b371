"""Notes on extractors with options that are for English alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import get_args

from ranker.corpora.dataset import Dataset
from ranker.extractors.base import Extractor
from ranker.notation import field_types, write
from ranker.text.target_languages import english_in_doubt, translations_in_others


def english_note(extractors: Sequence[Extractor], dataset: Dataset) -> str | None:
    """Return a note that names English-only options if the translations are in another language, else None."""
    english_only = {str(extractor): extractor for extractor in extractors if extractor.needs.english_options}
    translations = translations_in_others(dataset) if english_only else None
    if translations is None:
        return in_doubt_note(english_only, dataset)
    shown, settable = [], set[str]()
    for name, extractor in english_only.items():
        options, kinds = extractor.needs.english_options, field_types(type(extractor))
        shown.append(f"{name} ({', '.join(f'{option}={write(getattr(extractor, option))}' for option in options)})")
        settable |= {option for option in options if len(get_args(kinds[option])) != 1}
    advice = f"set {' and '.join(sorted(settable))} for that language, or " if settable else ""
    return (
        f"{', '.join(shown)}: for English only, but {translations}: {advice}use a language-independent metric "
        "such as chrf"
    )


def in_doubt_note(names: Iterable[object], dataset: Dataset) -> str | None:
    """Return a note that translations are assumed to be English if that is in doubt, else None."""
    shown = ", ".join(map(str, names))
    if not shown or not english_in_doubt(dataset):
        return None
    return f"{shown}: the translations are assumed to be English; if they are not, state the language pair (--lp)"
