"""Features of differences in meaning between a candidate and a nearly identical reference."""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ranker.arrays import FloatArray
from ranker.corpora.dataset import Dataset, view
from ranker.extractors.base import FittedExtractor
from ranker.extractors.mismatch.texts import KINDS, Comparison, TextFacts, compare, may_be_near, text_facts, word_facts
from ranker.extractors.needs import Needs
from ranker.text.tokens import TokenBatch, token_batch


@dataclass(frozen=True)
class Mismatch(FittedExtractor):
    r"""Differences in meaning between a candidate and its nearest reference, in 7 columns; English only.

    - ``mismatch.negation``: negations (*not*, *never*, *nobody*, *n't*) in one text if the other has none. They are
      excused by a word such as *fail*, *poorly* or *insufficient* in the other text, or by an opposite.
    - ``mismatch.opposite``: words replaced by their opposites, from a list or as in *possible* and *impossible*.
    - ``mismatch.number``: numbers, in digits or words, replaced by other numbers.
    - ``mismatch.name``: capitalised words replaced by others, unless both may be spellings of one name.
    - ``mismatch.role``: 1 if two words changed sides of a third in otherwise equal words, as in *man bites dog*;
      passives are read as actives, and words in prepositional phrases are left out.
    - ``mismatch.tense``: 1 if only one of the two texts is about the future; *is to* may stand for *will*, and the
      present for *will* after a word such as *if* or *hope*.
    - ``mismatch.repetition``: stretches of up to six words that occur twice in a row.

    Such a difference is informative only if little else differs: in loose translations, other wording looks like it.
    So all columns are multiplied by ``min(1, max(0, (n - .94) / .03))``, where the nearness n is the share of words,
    by stem, that the two texts have in common, apart from the words of the differences. Columns lie in [0, words],
    lower is better, and they are 0 for an exact copy, for most candidates, and if a text has no words. Of several
    references the nearest counts; ties go to the reference with the fewest differences.

    Parameters
    ----------
    words : {"english"}
        The lists of words; there are none for other languages.

    Notes
    -----
    Texts are not parsed. Missing and added words are not counted, because they cannot be told from other wording.
    """

    name: ClassVar[str] = "mismatch"
    family = "mismatch"
    words: Literal["english"] = "english"

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names: ``mismatch.negation`` and so on."""
        return tuple(f"{self}.{kind}" for kind in KINDS)

    @property
    def lower_is_better(self) -> tuple[str, ...]:
        """Names of all columns."""
        return self.columns

    @property
    def needs(self) -> Needs:
        """Needs of the columns: English translations, because the included word lists are English."""
        return Needs.english("words")

    def transform(self, dataset: Dataset) -> FloatArray:
        """Return the columns, shape (candidates, 7)."""
        texts = _texts(dataset)
        columns = np.zeros((len(dataset), len(KINDS)))
        for candidate in range(len(dataset)):
            nearest = texts.nearest(candidate)
            if nearest and any(nearest[1].differences.values()):
                counts = [len(nearest[1].differences[kind]) for kind in KINDS]
                columns[candidate] = np.array(counts) * nearest[1].weight
        return columns

    def evidence(self, dataset: Dataset, candidate: int) -> dict[str, list[str]]:
        """Return a candidate's differences from its nearest reference, such as ``opposite: opened for closed``."""
        nearest = _texts(dataset).nearest(candidate)
        if not nearest or not nearest[1].weight:
            return {}
        found = nearest[1].differences
        return {f"reference {nearest[0]}": [f"{kind}: {each}" for kind in KINDS for each in found[kind]]}


class _Texts:
    """Texts of a data set; only pairs of texts with nearly equal stems are compared in detail."""

    def __init__(self, batch: TokenBatch) -> None:
        self.batch = batch
        facts = map(word_facts, batch.segments.vocabulary)
        self.stems = [fact.stem if fact.spelled else "" for fact in facts]
        # cached for references, because their candidates follow each other
        self.counted = functools.lru_cache(maxsize=256)(self._counted)
        self.facts = functools.lru_cache(maxsize=256)(self._facts)

    def _counted(self, sentence: int) -> Counter[str]:
        counts = Counter(self.stems[word] for word in self.batch.segments.numbers(sentence).tolist())
        del counts[""]
        return counts

    def _facts(self, sentence: int) -> TextFacts:
        return text_facts(tuple(self.batch.segments.words(sentence)))

    def nearest(self, candidate: int) -> tuple[int, Comparison] | None:
        """Return the nearest reference's number and comparison, or None if no reference is near or one is equal.

        References are numbered from 1.
        """
        own = int(self.batch.candidate[candidate])
        found: list[tuple[float, int, int, Comparison]] = []
        for number, reference in enumerate(self.batch.references_of(candidate), 1):
            if own == reference:
                return None
            if may_be_near(self.counted(own), self.counted(reference)):
                comparison = compare(self.facts(own), self.facts(reference))
                differences = sum(map(len, comparison.differences.values()))
                found.append((-comparison.nearness, differences, number, comparison))
        return min(found)[2:] if found else None


@view
def _texts(dataset: Dataset) -> _Texts:
    return _Texts(token_batch(dataset, "13a"))
