"""Languages of sources and outputs, and whether translations are expected, also for data without language pairs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from ranker.arrays import BoolArray, FloatArray, Int64Array
from ranker.checks.texts import Texts, length_without, tables
from ranker.corpora.languages import is_language

_SHARE, _LEAD = 0.15, 0.08
"""Least share of frequent words in a text of a language, and its least lead over any other language."""
_SHARED = 0.34
"""Share of words in common with the source from which on an output counts as an edited source, not a translation."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Languages of each source and of its outputs, and a mask of the sources whose outputs should be translations.

    An unknown language is an empty string.
    """

    source: npt.NDArray[np.object_]
    target: npt.NDArray[np.object_]
    translated: BoolArray


class PairedTexts(Texts):
    """The texts of a data set, with the languages that the texts should be in."""

    @cached_property
    def expected(self) -> Pairs:
        """The expected languages of all texts, and a mask of the sources whose outputs should be translations."""
        return expected_pairs(self)

    @property
    def translated(self) -> BoolArray:
        """True for candidates that are expected to be translations."""
        return self.expected.translated[self.source]

    @cached_property
    def scripts(self) -> npt.NDArray[np.object_]:
        """Codes of the scripts that language pairs state for outputs, shape (sources,); "" where none is stated."""
        stated = {pair: pair.target_script for pair in {*self.pairs}}
        return np.array([stated[pair] for pair in self.pairs], dtype=object)

    @cached_property
    def stated(self) -> list[npt.NDArray[np.object_]]:
        """Languages that language pairs state for sources and for outputs, both of shape (sources,); "" if unknown."""
        codes = {pair: (pair.source or "", pair.target or "") for pair in {*self.pairs}}
        known = (
            [codes[pair][side] if is_language(codes[pair][side]) else "" for pair in self.pairs] for side in (0, 1)
        )
        return [np.array(side, dtype=object) for side in known]

    def script(self, row: int) -> str:
        """Return the code of the script that a candidate's language pair states, or ""."""
        return str(self.scripts[self.source[row]])

    def pair(self, row: int) -> tuple[str, str]:
        """Return the expected languages of a candidate's source and of the candidate, "" if unknown."""
        source = self.source[row]
        return self.expected.source[source], self.expected.target[source]


def expected_pairs(texts: Texts) -> Pairs:
    """Return the languages of each source and its outputs, by the name of its language pair or else by the texts.

    Outputs, and references, in another language or script than their source show that a translation is expected. If no
    language can be recognised, a translation is expected unless outputs have many words of their sources.
    """
    sides = {
        pair: (pair.source or "", _written(pair.source_tag) != _written(pair.target_tag)) for pair in {*texts.pairs}
    }
    source = np.array([sides[pair][0] for pair in texts.pairs], dtype=object)
    source[[not is_language(code) for code in source]] = ""
    target = np.array([code if is_language(code) else "" for code in texts.languages], dtype=object)
    translated = np.array([sides[pair][1] for pair in texts.pairs], dtype=bool) & (source != "") & (target != "")
    unknown = (source == "") | (target == "")
    if unknown.any():
        _tell(texts, source, target, translated, unknown)
    return Pairs(source, target, translated)


def _written(tag: str | None) -> str:
    return (tag or "").partition("_")[0]


def _tell(
    texts: Texts,
    source: npt.NDArray[np.object_],
    target: npt.NDArray[np.object_],
    translated: BoolArray,
    unknown: BoolArray,
) -> None:
    """Fill in, from the texts, the languages of `unknown` sources and whether their outputs should be translations."""
    size, own = len(texts.sources), len(texts.own)
    owner = np.concatenate([texts.source, np.arange(size), np.repeat(np.arange(size), np.diff(texts.slots))])
    is_source = np.zeros(len(owner), dtype=bool)
    is_source[own : own + size] = True
    looked_at = unknown[owner]
    codes = _languages(texts, looked_at)
    spoken = codes[own : own + size]
    other = looked_at & ~is_source
    other[:own] &= ~texts.copies & texts.outputs
    told = other & (codes != "") & (spoken[owner] != "")
    votes = np.bincount(owner[told], np.where(codes != spoken[owner], 1.0, -1.0)[told], minlength=size)
    outputs = np.flatnonzero(other[:own])
    number = np.bincount(texts.source[outputs], minlength=size)
    shared = np.bincount(texts.source[outputs], texts.shared_words[outputs], minlength=size)
    untold = unknown & (votes == 0)
    translated[unknown] = votes[unknown] > 0
    translated[untold] = (shared < _SHARED * np.maximum(number, 1))[untold]
    source[unknown] = np.where(source == "", spoken, source)[unknown]
    # references, if there are any, are in the language that is wanted
    wanted = translated & (target == "")
    foreign = other & wanted[owner] & (codes != "") & (codes != source[owner])
    foreign[:own] &= (np.diff(texts.slots) == 0)[texts.source] & (source != "")[texts.source]
    places = np.flatnonzero(foreign)
    said = texts.every.take(pa.array(places)).to_pylist()
    distinct = ~pd.DataFrame({"source": owner[places], "text": said}).duplicated().to_numpy()
    counts = pd.crosstab(owner[places[distinct]], codes[places[distinct]])
    most = counts[2 * counts.max(axis=1) > counts.sum(axis=1)].idxmax(axis=1)
    target[most.index.to_numpy(np.int64)] = most.to_numpy(object)


def _languages(texts: Texts, looked_at: BoolArray) -> npt.NDArray[np.object_]:
    """Guess the language of each text in the mask `looked_at` by script and frequent words; "" without a guess."""
    codes = np.full(len(looked_at), "", dtype=object)
    rows = np.flatnonzero(looked_at)
    chosen = texts.every.take(pa.array(rows))
    letters = length_without(chosen, r"\P{L}+")
    table = tables()["language"]
    own_script: dict[str, str] = {}
    for names, listed in table["scripts"].items():
        first = listed.split()[0]
        for name in names.split():
            if name not in ("Latin", "Han"):
                own_script.setdefault(name, first)
    del own_script["Hiragana"], own_script["Katakana"]
    counted: list[tuple[str, Int64Array]] = [
        (code, length_without(chosen, rf"[^\p{{{name}}}]+")) for name, code in own_script.items()
    ]
    kana = length_without(chosen, r"[^\p{Hiragana}\p{Katakana}]+")
    han = length_without(chosen, r"[^\p{Han}]+") + kana
    counted += [("ja", np.where(kana > 0.1 * han, han, 0)), ("zh", np.where(kana > 0.1 * han, 0, han))]
    by_script = np.full(len(rows), "", dtype=object)
    for code, count in counted:
        by_script[(count > 0.5 * letters) & (count > 0)] = code
    codes[rows] = by_script
    undecided = looked_at & np.isin(codes, ["", "ru"])
    best, second = np.zeros(len(codes)), np.zeros(len(codes))
    name = np.full(len(codes), "", dtype=object)
    for code in table["words"]:
        shares: FloatArray = texts.frequent_words(code, undecided)
        better = shares > best
        second = np.where(better, best, np.maximum(second, shares))
        best, name[better] = np.maximum(best, shares), code
    told = undecided & (best >= _SHARE) & (best - second >= _LEAD)
    codes[told] = name[told]
    return codes
