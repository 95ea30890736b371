"""Notes on tokenizers that do not split references in scripts without spaces into words."""

from __future__ import annotations

import numpy as np

from ranker.corpora.dataset import Dataset
from ranker.corpora.languages import is_language, language_name
from ranker.corpora.scripts import HAN, HANGUL, KANA
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
    """Return a note if `tokenizer` cannot split the references' script, or was chosen due to that script, else None.

    The note names a better tokenizer; for Chinese and Japanese it is `asian` if the metric has such a tokenizer.
    """
    names, source_language = language_tokenizers(dataset)
    for pair, language in reference_scripts(dataset).items() if len(dataset.references) else ():
        if language is None:
            continue
        first = int(np.argmax(dataset.source_language_pairs == pair))
        used = names[source_language[first]] if tokenizer == "auto" else tokenizer
        of_pair = f" of {pair}" if pair.known else ""
        if used in _JOINING.get(language, _JOINING_OTHERS):
            better = (language in _BETTER and asian) or _BETTER.get(language, _BETTER_FOR_OTHERS)
            return (
                f"the references{of_pair} are {language_name(language)}, written without spaces, so tokenizer={used} "
                f"treats each clause as one word; use tokenizer={better} instead"
            )
        if tokenizer == "auto" and not is_language(pair.target or ""):
            return (
                f"tokenizer={used}, because the references{of_pair} are {language_name(language)} by their script; "
                "if they are in another language, state the language pair or the tokenizer"
            )
    return None
