"""Notes on tokenizers that do not split references in scripts without spaces into words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ranker.corpora.dataset import Dataset
from ranker.corpora.languages import LanguagePair, is_language, language_name
from ranker.corpora.scripts import HAN, HANGUL, KANA
from ranker.errors import joined
from ranker.text.target_languages import reference_scripts
from ranker.text.tokens import Tokenizer, language_tokenizers

_SPACED: frozenset[Tokenizer] = frozenset({"13a", "none", "intl", "chrf-words", "terp", "tercom"})
_JOINING: dict[str, frozenset[Tokenizer]] = {
    HAN: _SPACED | {"meteor-words"},
    KANA: _SPACED | {"meteor-words", "zh"},
    HANGUL: frozenset(),
}
_JOINING_OTHERS = _SPACED | {"meteor-words", "meteor", "zh", "tercom-asian"}
_BETTER = {HAN: "zh", KANA: "ja-mecab or char"}
_BETTER_FOR_OTHERS = "char or flores200"


def tokenizer_note(dataset: Dataset, tokenizer: Tokenizer, asian: Tokenizer | None = None) -> str | None:
    """Return a note if `tokenizer` cannot split the references' scripts, or was chosen due to a script, else None.

    The note names a better tokenizer; for Chinese and Japanese it is `asian` if the metric has such a tokenizer.
    """
    names, source_language = language_tokenizers(dataset)
    advice: dict[tuple[str, str], list[tuple[LanguagePair, str]]] = {}
    for pair, language in reference_scripts(dataset).items() if len(dataset.references) else ():
        if language is None:
            continue
        first = int(np.argmax(dataset.source_language_pairs == pair))
        used = names[source_language[first]] if tokenizer == "auto" else tokenizer
        if used in _JOINING.get(language, _JOINING_OTHERS):
            better = (language in _BETTER and asian) or _BETTER.get(language, _BETTER_FOR_OTHERS)
            advice.setdefault((used, better), []).append((pair, language))
        elif tokenizer == "auto" and not is_language(pair.target or ""):
            advice.setdefault((used, ""), []).append((pair, language))
    notes = [
        f"{_named(written)}, written without spaces, so tokenizer={used} treats each clause as one word; use "
        f"tokenizer={better} instead"
        if better
        else f"tokenizer={used}, because {_named(written)} by their script; if they are in another language, state the "
        "language pair or the tokenizer"
        for (used, better), written in advice.items()
    ]
    return "; ".join(notes) or None


def _named(written: Sequence[tuple[LanguagePair, str]]) -> str:
    """Return "the references of en-zh and fr-zh are Chinese and of en-th Thai", or "the references are Chinese"."""
    pairs: dict[str, list[str]] = {}
    for pair, language in written:
        pairs.setdefault(language_name(language), []).append(pair.of("").strip())
    parts: list[str] = []
    for name, each in pairs.items():
        of_pairs = f"of {joined(each)} " if all(each) else ""
        parts.append(f"{of_pairs}{'' if parts else 'are '}{name}")
    return f"the references {joined(parts)}"
