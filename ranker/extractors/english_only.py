"""Notes on extractors with options that are for English alone."""

from __future__ import annotations

from collections.abc import Sequence

from ranker.corpora.dataset import Dataset
from ranker.extractors.base import Extractor
from ranker.notation import write
from ranker.text.target_languages import other_language


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
