"""The metrics that the experiments of Birch and Osborne (2011) compare LRscore with, with all options that matter."""

from __future__ import annotations

from collections.abc import Sequence

from ranker.extractors.text.wordnet import optional_wordnet

BLEU = "bleu[smoothing=epsilon,tokenizer=13a]"
TER = "ter[search=tercom,tokenizer=13a]"
SENTENCE_BLEU = {
    "BLEU1": "bleu[order=1,smoothing=add-one,tokenizer=13a]",
    "BLEU": "bleu[smoothing=add-one,tokenizer=13a]",
}
"""Lexical scores of sentences; smoothed by adding one, as the paper has it (Lin and Och 2004)."""
# parameters of METEOR 0.7 for rankings (Lavie and Agarwal 2008), in which function words weigh as much as others
_METEOR = "meteor[parameters=METR-r,gamma=0.45,function_words=none,{}]"
_STEMMERS = {"de": "german", "es": "spanish", "fi": "finnish", "fr": "french", "ru": "russian"}


def meteor_notation(language_pairs: Sequence[str]) -> str:
    """Return METEOR as in the paper for the target language of the language pairs.

    Words match exactly, by stems where the target language has a stemmer, and in English by synonyms if WordNet is
    installed; exactly alone if there are several target languages.
    """
    targets = {pair.partition("-")[2] for pair in language_pairs}
    target = targets.pop() if len(targets) == 1 else ""
    if target == "en":
        return _METEOR.format("modules=exact+stem+synonym,stemmer=english")
    if target in _STEMMERS:
        return _METEOR.format(f"modules=exact+stem,stemmer={_STEMMERS[target]}")
    return _METEOR.format("modules=exact")


def baselines(language_pair: str) -> dict[str, str]:
    """Return the notations of the metrics of table 3 by name; METEOR 1.5 is added where the target is English."""
    found = {"METEOR": meteor_notation([language_pair])}
    if language_pair.endswith("-en"):
        found["METEOR 1.5"] = "meteor[parameters=rank,modules=exact+stem+synonym,stemmer=english]"
    return {**found, "TER": TER, **SENTENCE_BLEU}


def meteor_note(language_pairs: Sequence[str]) -> str:
    """Say what METEOR matches."""
    note = "METEOR has the parameters of version 0.7 for rankings and matches equal words, stems"
    if all(pair.endswith("-en") for pair in language_pairs):
        known = optional_wordnet("auto", "meteor") is not None
        return note + (" and synonyms of WordNet." if known else ", but no synonyms: WordNet is not installed.")
    return note + " where the target language has a stemmer, and synonyms of WordNet in English alone."
