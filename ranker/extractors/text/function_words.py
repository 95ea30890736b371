"""Function words: what a sentence is held together by, told from what it speaks of.

The list for English is made for this project from the closed classes of a grammar: articles, pronouns, prepositions,
conjunctions, auxiliaries, particles, the pieces that contractions leave behind, and punctuation.
"""

from __future__ import annotations

import functools

from ranker.errors import DataError
from ranker.extractors.text.function_word_lists import WORDS
from ranker.files import display_name, read_text, sha256

_ARTICLES = "a an the"
_DEMONSTRATIVES = "this that these those such"
_PERSONAL = "i me you he him she her it we us they them one"
_POSSESSIVE = "my mine your yours his hers its our ours their theirs whose"
_REFLEXIVE = "myself yourself himself herself itself ourselves yourselves themselves oneself"
_RELATIVE = "who whom which what whoever whatever whichever when where why how whether"
_QUANTIFIERS = "all any both each either every few less many more most much neither no none other others several some"
_BE = "be am is are was were been being"
_HAVE = "have has had having"
_DO = "do does did doing done"
_MODALS = "can cannot could may might must ought shall should will would"
_PREPOSITIONS = (
    "about above across after against along amid among around at before behind below beneath beside besides between "
    "beyond by despite down during except for from in inside into like near of off on onto out outside over past per "
    "since than through throughout till to toward towards under until unto up upon via with within without"
)
_CONJUNCTIONS = "and but or nor yet so if unless because although though while whereas as once"
_PARTICLES = "not also too only even just then there here again ever never now still already"
_CONTRACTIONS = (
    "'s 't 'd 'll 'm 're 've n't s t d ll m re ve don doesn didn isn aren wasn weren hasn haven hadn won wouldn couldn "
    "shouldn"
)
_PUNCTUATION = ". , : ; ! ? ' \" ` `` '' - -- – — ( ) [ ] { } … ... / & « » “ ” „ ‘ ’"

ENGLISH = frozenset(
    " ".join(
        (
            *(_ARTICLES, _DEMONSTRATIVES, _PERSONAL, _POSSESSIVE, _REFLEXIVE, _RELATIVE, _QUANTIFIERS),
            *(_BE, _HAVE, _DO, _MODALS, _PREPOSITIONS, _CONJUNCTIONS, _PARTICLES, _CONTRACTIONS, _PUNCTUATION),
        )
    ).split()
)
"""English function words, lower-cased."""
LISTS = {"english": ENGLISH, **{name: words | frozenset(_PUNCTUATION.split()) for name, words in WORDS.items()}}
"""Function words by name of the list, punctuation among them."""


@functools.cache
def function_words(name: str) -> tuple[frozenset[str], str]:
    """Return function words, lower-cased, and what a signature calls them.

    Parameters
    ----------
    name : str
        ``czech``, ``english``, ``french``, ``german`` or ``spanish``; ``none``, no words at all; or a file with one
        word or several a line.

    Raises
    ------
    DataError
        If the file cannot be read or holds no word.
    """
    if name in LISTS:
        return LISTS[name], name
    if name == "none":
        return frozenset(), name
    text = read_text(name)
    words = frozenset(text.lower().split())
    if not words:
        raise DataError("holds no function word, expected one or more a line", file=display_name(name))
    return words, sha256("\n".join(sorted(words)).encode())[:12]
