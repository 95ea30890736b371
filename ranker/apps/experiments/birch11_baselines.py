"""Baselines of LRscore in Birch and Osborne (2011): metrics with all relevant options, and published figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ranker.apps.experiments.published import published_table
from ranker.apps.experiments.tables import Table
from ranker.text.lexical.wordnet import optional_wordnet

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
REORDERING = {"de-en": 0.739, "es-en": 0.805, "fr-en": 0.804, "cs-en": 0.811, "zh-en": 0.661}
"""Mean d_k between references and source order (table 2, section 4.1)."""
TUNED = {
    "BLEU": (0.311, 0.321, 0.410, 0.607, 0.555),
    "LR-HB4": (0.311, 0.322, 0.413, 0.606, 0.557),
    "LR-KB4": (0.310, 0.322, 0.412, 0.610, 0.558),
}
"""Scores by BLEU, LR-HB4, LR-KB4, TER and METEOR of systems tuned to each of the first three (table 5)."""
PREFERENCES = {"LR-HB4": (93, 79), "LR-KB4": (96, 79)}
"""Numbers of preferences for the output tuned to LRscore, and for the output tuned to BLEU (table 6)."""


def meteor_notation(language_pairs: Sequence[str]) -> str:
    """Return the paper's METEOR in our notation: exact matches, and stem and synonym matches where available."""
    targets = {pair.partition("-")[2] for pair in language_pairs}
    target = targets.pop() if len(targets) == 1 else ""
    if target == "en":
        return _METEOR.format("modules=exact+stem+synonym,stemmer=english")
    if target in _STEMMERS:
        return _METEOR.format(f"modules=exact+stem,stemmer={_STEMMERS[target]}")
    return _METEOR.format("modules=exact")


def baselines(language_pair: str) -> dict[str, str]:
    """Return the notations of the metrics of table 3 by name; METEOR 1.5 is added if the target language is English."""
    metrics = {"METEOR": meteor_notation([language_pair])}
    if language_pair.endswith("-en"):
        metrics["METEOR 1.5"] = "meteor[parameters=rank,modules=exact+stem+synonym,stemmer=english]"
    return {**metrics, "TER": TER, **SENTENCE_BLEU}


def meteor_note(language_pairs: Sequence[str]) -> str:
    """Return a note on the parameters and the kinds of matches that METEOR uses."""
    note = "METEOR has the parameters of version 0.7 for rankings and matches equal words, stems"
    if all(pair.endswith("-en") for pair in language_pairs):
        known = optional_wordnet("auto", "meteor") is not None
        return note + (" and synonyms of WordNet." if known else ", but no synonyms: WordNet is not installed.")
    return note + " where the target language has a stemmer, and synonyms of WordNet in English alone."


def shared_pairs(language_pairs: tuple[str, ...]) -> tuple[str, ...]:
    """Return the given language pairs for which the paper reports consistency."""
    return tuple(pair for pair in language_pairs if pair in published_table("birch11").columns[:-1])


def consistency_table(name: str, language_pairs: tuple[str, ...]) -> Table:
    """Make the table of published consistency for the language pairs that the paper and the corpus `name` share."""
    shared = shared_pairs(language_pairs)
    frame = published_table("birch11")
    rows: list[dict[str, Any]] = [
        {
            "metric": metric,
            **row[list(shared)],
            "average of these": row[list(shared)].mean(),
            "published average of 8 pairs": row["average"],
            "mean of the 8 pairs": row.drop("average").mean(),
        }
        for metric, row in frame.iterrows()
    ]
    note = (
        "Birch and Osborne (2011), table 3, WMT 2009, for the language pairs that are in both. The 8 pairs are German, "
        "Spanish, French and Czech into and out of English. The published average of LR-KB4 is not the mean of its row."
    )
    return Table(f"consistency as published, language pairs of {name}", tuple(rows), note)
