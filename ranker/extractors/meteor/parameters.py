"""METEOR's parameter sets, and its stemmers and function words by target language."""

from __future__ import annotations

from typing import Literal, NamedTuple

ParameterSet = Literal["rank", "adq", "li", "METR", "METR-r", "METR:0.5", "METR-r:0.5"]


class Parameters(NamedTuple):
    """Parameters of METEOR's score, and the weights of exact, stem, synonym and paraphrase matches."""

    alpha: float
    beta: float
    gamma: float
    delta: float
    weights: tuple[float, float, float, float] = (1.0, 0.6, 0.8, 0.6)


OTHER = "other"
RANKING: dict[str, Parameters] = {
    "en": Parameters(0.85, 0.2, 0.6, 0.75, (1.0, 0.6, 0.8, 0.6)),
    "cs": Parameters(0.95, 0.2, 0.6, 0.8, (1.0, 0.0, 0.0, 0.4)),
    "de": Parameters(0.95, 1.0, 0.55, 0.55, (1.0, 0.8, 0.0, 0.2)),
    "es": Parameters(0.65, 1.3, 0.5, 0.8, (1.0, 0.8, 0.0, 0.6)),
    "fr": Parameters(0.9, 1.4, 0.6, 0.65, (1.0, 0.2, 0.0, 0.4)),
    OTHER: Parameters(0.75, 1.4, 0.7, 0.5, (1.0, 0.5, 0.5, 0.5)),
}
"""Meteor 1.5's parameters for ranking, by target language: alpha, beta, gamma, delta, and the weights of exact, stem,
synonym and paraphrase matches (Denkowski and Lavie 2014). `OTHER` has its language-independent parameters, which weight
content and function words alike."""
LANGUAGES = tuple(RANKING)

_EQUAL = (1.0, 1.0, 1.0, 1.0)
PARAMETER_SETS: dict[str, Parameters] = {
    "rank": RANKING["en"],
    "adq": Parameters(0.75, 1.4, 0.45, 0.7),
    "li": Parameters(0.75, 1.4, 0.7, 0.5),
    "METR": Parameters(0.8, 2.5, 0.4, 0.5, _EQUAL),
    "METR-r": Parameters(0.95, 0.5, 0.5, 0.5, _EQUAL),
    "METR:0.5": Parameters(0.5, 2.5, 0.4, 0.5, _EQUAL),
    "METR-r:0.5": Parameters(0.5, 0.5, 0.5, 0.5, _EQUAL),
}

STEMMERS = {
    **{"ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "english"},
    **{"es": "spanish", "eu": "basque", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi"},
    **{"hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian", "ne": "nepali"},
    **{"nl": "dutch", "no": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian"},
    **{"sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish"},
}
"""Snowball stemmers (Porter 2001) by language."""
FUNCTION_WORDS = {"cs": "czech", "de": "german", "en": "english", "es": "spanish", "fr": "french"}
"""Lists of function words by language (`ranker.text.function_words`); other languages need none, see `RANKING`."""


def parameter_language(language: str) -> str:
    """Return the member of `LANGUAGES` whose parameters are used for translations into `language`."""
    return language if language in RANKING else OTHER
