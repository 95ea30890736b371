"""Evidence that words of a candidate are wrong: references and other candidates lack them or differ.

Words are compared by form, by stem and by the vectors of the included multilingual encoder, so that the evidence has
the same meaning in all languages of the encoder.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from unicodedata import category

import numpy as np

from ranker.arrays import BoolArray, FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.languages import language_name
from ranker.extractors.semantic.matching import TextVectors
from ranker.extractors.semantic.vectors import text_keys, text_vectors
from ranker.learning.encoder.embedding import Encoder, load
from ranker.learning.encoder.files import MULTILINGUAL
from ranker.text.lexical.stems import stemmer_of, stemmers
from ranker.text.target_languages import written_languages
from ranker.text.word_places import word_places

REFERENCE = ("new_pairs", "unlike", "unlike_near", "lacking", "digit")
OTHERS = ("others_unlike", "others_near", "others_pairs")
FORM = ("length", "capital")
COLUMNS = ("unmatched", *REFERENCE, *OTHERS, *FORM)
"""Evidence per word. From references: 1 if no reference has the word's stem; the mean share of references that lack the
pairs of the word and a neighbour; 1 minus the word's highest cosine with a reference word, and the mean of this for its
two neighbours; the largest distance of the words of the nearest reference that are closest to the word; 1 if the word
has a digit and no reference has its stem. From other candidates: the same distances and pairs, on average. From the
word's form: length up to 12 in twelfths, and 1 for a capital after the first word."""
_LONGEST = 12
_FEWEST_OTHERS, _MOST_OTHERS = 4, 30
"""Fewest other candidates that count as evidence if there are references, and the most to compare with."""

_TOGETHER = 32
"""Number of sources whose texts are encoded at a time."""


@dataclass(frozen=True, eq=False)
class WordEvidence:
    """Words of a candidate, with columns of evidence against each word; 0 where there are no texts to compare with."""

    places: Sequence[tuple[int, int]]
    columns: FloatArray
    against: tuple[bool, bool]
    """Two flags: True if there are references, and True if there are enough other candidates."""
    stems: Sequence[str]
    partner: Int64Array
    """Index of the word of the nearest reference that each word is most similar to, -1 if there is none."""
    reference: str | None
    reference_places: Sequence[tuple[int, int]]
    missing: FloatArray
    """Distance of every word of the nearest reference from the most similar words of the candidate."""
    lost: BoolArray
    """True for words of the nearest reference that the candidate lacks and that are no word's `partner`."""
    punctuation: BoolArray
    """True for punctuation marks among the words of the candidate."""

    @property
    def lost_words(self) -> str:
        """Words of the nearest reference that the candidate lacks, separated by spaces."""
        pairs = zip(self.reference_places, self.lost, strict=True)
        return " ".join(self.reference[slice(*place)] for place, lost in pairs if lost) if self.reference else ""

    def column(self, name: str) -> FloatArray:
        """Return the column of `COLUMNS` with this name, shape (words,)."""
        return np.asarray(self.columns[:, COLUMNS.index(name)])


class _Text:
    """A text with its words, their stems, pairs of neighbouring stems, and vectors of sub-words."""

    def __init__(self, text: str, vectors: TextVectors, encoder: Encoder, stemmer: str | None) -> None:
        self.text, self.places, self.tokens = text, word_places(text), vectors.tokens
        stem = stemmer_of(stemmer) if stemmer else str
        self.stems = [stem(text[slice(*place)].lower()) for place in self.places]
        self.counts = Counter(self.stems)
        self.pairs = list(zip(["", *self.stems], [*self.stems, ""], strict=True))
        self.has_pair = frozenset(self.pairs)
        self.punctuation = np.array([category(text[start])[0] == "P" for start, _ in self.places], dtype=bool)
        starts = [start for start, _ in self.places]
        # start of each sub-word, after the space that it may begin with
        at = [stop - len(text[start:stop].lstrip()) for start, stop in encoder.places(text)]
        self.word = np.maximum(np.searchsorted(starts, at, side="right") - 1, 0)

    def by_word(self, values: FloatArray) -> FloatArray:
        """Mean of the values of each word's sub-words; the overall mean for words without sub-words."""
        counts = np.bincount(self.word, minlength=len(self.places))
        sums = np.bincount(self.word, values, len(self.places))
        return np.where(counts > 0, sums / np.maximum(counts, 1), values.mean() if len(values) else 1.0)


class _Comparison:
    """Distances between the words of two texts, in both directions."""

    def __init__(self, own: _Text, other: _Text) -> None:
        if not len(own.tokens) or not len(other.tokens):
            self.unlike, self.missing = np.ones(len(own.places)), np.ones(len(other.places))
            self.lacking, self.partner = np.zeros(len(own.places)), np.full(len(own.places), -1)
            self.text = self.whole = 1.0
            return
        distance = 1.0 - (own.tokens @ other.tokens.T).astype(np.float64)
        lowest, back = distance.min(axis=1), distance.min(axis=0)
        self.unlike, self.missing = own.by_word(lowest), other.by_word(back)
        self.lacking = np.zeros(len(own.places))
        np.maximum.at(self.lacking, own.word[distance.argmin(axis=0)], back)
        self.partner = np.full(len(own.places), -1)
        # a word's closest sub-word comes last, so its partner is kept
        order = np.argsort(-lowest, kind="stable")
        self.partner[own.word[order]] = other.word[distance.argmin(axis=1)][order]
        self.text, self.whole = float(lowest.mean()), float(back.mean())


def word_evidence(dataset: Dataset, rows: Int64Array, voting: BoolArray) -> Iterator[WordEvidence]:
    """Yield evidence against the words of the candidates `rows`, from references and `voting` candidates.

    `rows` must be ascending.
    """
    encoder, languages, known = load(MULTILINGUAL), written_languages(dataset), stemmers()
    candidates, references = dataset.candidates["text"].tolist(), dataset.references["text"].tolist()
    source = dataset.candidate_source
    places = np.unique(source[rows]).tolist()
    for start in range(0, len(places), _TOGETHER):
        compared = []
        for place in places[start : start + _TOGETHER]:
            own = [candidates[row] for row in rows[source[rows] == place].tolist()]
            of_place = references[slice(*dataset.reference_offsets[place : place + 2])]
            given = list(dict.fromkeys(filter(str.strip, of_place)))
            block = np.arange(*dataset.candidate_offsets[place : place + 2])
            others = sorted({candidates[row] for row in block[voting[block]].tolist() if candidates[row].strip()})
            name = language_name(languages[place]).lower()
            stemmer = name if name in known else None
            compared.append((own, given, others[:: len(others) // _MOST_OTHERS + 1], stemmer))
        texts = list(dict.fromkeys(text for *lists, _ in compared for each in lists for text in each))
        pieces = encoder.split(texts)
        found = text_vectors(encoder, pieces, text_keys(pieces), encoder.files.layer, special=False)
        vectors = dict(zip(texts, found, strict=True))
        for own, given, others, stemmer in compared:
            made = {text: _Text(text, vectors[text], encoder, stemmer) for text in (*own, *given, *others)}
            evidence = {
                text: _evidence(
                    made[text], [made[each] for each in given], [made[each] for each in others if each != text]
                )
                for text in dict.fromkeys(own)
            }
            yield from (evidence[text] for text in own)


def _evidence(own: _Text, references: Sequence[_Text], others: Sequence[_Text]) -> WordEvidence:
    columns = np.zeros((len(own.places), len(COLUMNS)))

    def put(**values: FloatArray) -> None:
        for name, column in values.items():
            columns[:, COLUMNS.index(name)] = column

    words = [own.text[start:stop] for start, stop in own.places]
    put(
        length=np.minimum([len(word) for word in words], _LONGEST) / _LONGEST,
        capital=np.array([place > 0 and word[0].isupper() for place, word in enumerate(words)], dtype=np.float64),
    )
    if references and len(others) < _FEWEST_OTHERS:
        others = []
    if others:
        each = [_Comparison(own, other) for other in others]
        unlike = np.mean([other.unlike for other in each], axis=0)
        put(
            others_unlike=unlike,
            others_near=_neighbours(unlike),
            others_pairs=_new_pairs(own, others),
        )
    if not references:
        none = np.full(len(words), -1)
        nothing = np.zeros(0, dtype=bool)
        against = False, bool(others)
        return WordEvidence(
            own.places, columns, against, own.stems, none, None, [], np.zeros(0), nothing, own.punctuation
        )
    comparisons = [_Comparison(own, reference) for reference in references]
    at = min(range(len(references)), key=lambda number: comparisons[number].text + comparisons[number].whole)
    nearest, reference = comparisons[at], references[at]
    unlike = np.min([other.unlike for other in comparisons], axis=0)
    known: Counter[str] = Counter()
    for other in references:
        known |= other.counts
    unmatched = _unmatched(own, known)
    put(
        unmatched=unmatched,
        digit=unmatched * [any(map(str.isdigit, word)) for word in words],
        new_pairs=_new_pairs(own, references),
        unlike=unlike,
        unlike_near=_neighbours(unlike),
        lacking=nearest.lacking,
    )
    taken = np.isin(np.arange(len(reference.places)), nearest.partner)
    lost = (_unmatched(reference, own.counts) > 0) & ~taken
    return WordEvidence(
        own.places,
        columns,
        (True, bool(others)),
        own.stems,
        nearest.partner,
        reference.text,
        reference.places,
        np.where(reference.punctuation, 0.0, nearest.missing),
        lost,
        own.punctuation,
    )


def _unmatched(text: _Text, known: Counter[str]) -> FloatArray:
    """Return 1 for each word whose stem has come up more often than in `known`, 0 for other words and punctuation."""
    left, found = Counter(known), []
    for stem in text.stems:
        found.append(left[stem] <= 0)
        left[stem] -= 1
    return np.where(text.punctuation, 0.0, np.array(found, dtype=np.float64))


def _new_pairs(own: _Text, others: Sequence[_Text]) -> FloatArray:
    """Proportion of the other texts that lack the pair of a word and its neighbour, averaged over both neighbours."""
    lack = np.array([[pair not in other.has_pair for pair in own.pairs] for other in others]).mean(axis=0)
    return np.asarray((lack[:-1] + lack[1:]) / 2)


def _neighbours(values: FloatArray) -> FloatArray:
    """Mean of each value's two neighbours; a missing neighbour is replaced by the value itself."""
    if not len(values):
        return values
    padded = np.concatenate([values[:1], values, values[-1:]])
    return np.asarray((padded[:-2] + padded[2:]) / 2)
