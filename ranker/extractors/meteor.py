"""METEOR (Banerjee and Lavie 2005; Denkowski and Lavie 2014)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from ranker import notation
from ranker.corpora.dataset import Dataset
from ranker.errors import OptionError
from ranker.extractors.base import FloatArray, Metric
from ranker.extractors.function_words import function_words
from ranker.extractors.meteor_alignment import align, alignment_orders, alignment_statistics
from ranker.extractors.meteor_matching import (
    EXACT,
    MODULES,
    PARAPHRASE,
    STEM,
    SYNONYM,
    WordTables,
    list_matches,
    word_tables,
)
from ranker.extractors.paraphrases import find_phrases, no_phrases, table_digest
from ranker.extractors.tokens import IdArray, IndexArray, Segments, TokenBatch, Tokenizer
from ranker.extractors.wordnet import WordNet, optional_wordnet

Matchers = Literal["exact", "exact+stem", "exact+synonym", "exact+stem+synonym"]
ParameterSet = Literal["rank", "adq", "li", "METR", "METR-r", "METR:0.5", "METR-r:0.5"]


class Parameters(NamedTuple):
    """Parameters of the score, and the weights of exact, stem, synonym and paraphrase matches."""

    alpha: float
    beta: float
    gamma: float
    delta: float
    weights: tuple[float, float, float, float] = (1.0, 0.6, 0.8, 0.6)


class Parts(NamedTuple):
    """What a score is made of, each of shape (...): precision, recall, their weighted mean, and the penalty."""

    precision: FloatArray
    recall: FloatArray
    mean: FloatArray
    penalty: FloatArray


_EQUAL = (1.0, 1.0, 1.0, 1.0)
PARAMETER_SETS: dict[str, Parameters] = {
    "rank": Parameters(0.85, 0.2, 0.6, 0.75),
    "adq": Parameters(0.75, 1.4, 0.45, 0.7),
    "li": Parameters(0.75, 1.4, 0.7, 0.5),
    "METR": Parameters(0.8, 2.5, 0.4, 0.5, _EQUAL),
    "METR-r": Parameters(0.95, 0.5, 0.5, 0.5, _EQUAL),
    "METR:0.5": Parameters(0.5, 2.5, 0.4, 0.5, _EQUAL),
    "METR-r:0.5": Parameters(0.5, 0.5, 0.5, 0.5, _EQUAL),
}


@dataclass(frozen=True)
class Meteor(Metric):
    r"""Weighted harmonic mean of unigram precision and recall, less a penalty for scattered matches, in [0, 1].

    .. math:: F (1 - \gamma (c / m)^\beta), \quad F = \frac{P R}{\alpha P + (1 - \alpha) R}, \quad
              P = \frac{\sum_i w_i (\delta m^c_i + (1 - \delta) m^f_i)}{\delta n^c + (1 - \delta) n^f}

    with the :math:`n^c` content and :math:`n^f` function words of the candidate, of which module i (exact, stem,
    synonym, paraphrase) matched :math:`m^c_i` and :math:`m^f_i`; likewise R with the words of the reference; m is the
    mean number of matched words of both sides and c their number of chunks, runs that are contiguous and in the same
    order (Denkowski and Lavie 2014, section 2). A candidate that matches the whole reference in one chunk counts as
    having none, one that matches nothing scores 0. Of several references the one with the best score counts.

    Parameters
    ----------
    parameters : {"rank", "adq", "li", "METR", "METR-r", "METR:0.5", "METR-r:0.5"}, default "rank"
        Values of the next seven options: Meteor 1.5 for ranking, for adequacy and for languages without resources, and
        the four of Cer, Manning and Jurafsky (2010), with content and function words and all modules weighted alike.
    alpha, beta, gamma, delta : float, optional
        Weight of recall, 0 to 1; shape and greatest value of the penalty; weight of content words, 0 to 1.
    stem_weight, synonym_weight, paraphrase_weight : float, optional
        Weight of a match of that module, 0 to 1; an exact match has 1.
    modules : {"exact", "exact+stem", "exact+synonym", "exact+stem+synonym"}, default "exact+stem+synonym"
        Which words match besides equal ones. Where no WordNet is installed synonyms are left out, which is said once.
    stemmer : str, default "english"
        Language of the Snowball stemmer (Porter 2001).
    wordnet : str, default "auto"
        Where the files of WordNet 3.x are (Fellbaum 1998); ``auto`` looks where they are usually installed.
    paraphrases : str, optional
        A paraphrase table in Meteor's format; with it phrases match too.
    function_words : str, default "english"
        Which words are function words: ``english``, a list made for this project, ``none``, or a file of words.
    beam : int, default 40
        Partial alignments kept.
    parity : {"meteor-1.5"}, optional
        Align with the two peculiarities of Meteor 1.5 that `ranker.extractors.meteor_alignment` describes.
    tokenizer : default "meteor"
        ``meteor`` is Meteor's option ``-norm``, ``meteor-words`` is ``-norm -noPunct``; both lower-case.
    lowercase : bool, default False
        For the other tokenisers.

    Notes
    -----
    Statistics: 21 counts, of the reference with the best score; see `ranker.extractors.meteor_alignment.STATISTICS`.
    With ``parity=meteor-1.5`` and Meteor's list of function words segment and corpus scores equal those of Meteor 1.5.
    """

    name: ClassVar[str] = "meteor"
    parameters: ParameterSet = "rank"
    alpha: float | None = None
    beta: float | None = None
    gamma: float | None = None
    delta: float | None = None
    stem_weight: float | None = None
    synonym_weight: float | None = None
    paraphrase_weight: float | None = None
    modules: Matchers = "exact+stem+synonym"
    stemmer: str = "english"
    wordnet: str = "auto"
    paraphrases: str | None = None
    function_words: str = "english"
    beam: int = 40
    parity: Literal["meteor-1.5"] | None = None
    tokenizer: Tokenizer = "meteor"
    lowercase: bool = False

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        for option in ("alpha", "delta", "stem_weight", "synonym_weight", "paraphrase_weight", "gamma"):
            value = getattr(self, option)
            if value is not None and not 0 <= value <= 1:
                raise OptionError(f"meteor[{option}={value}]: expected 0 to 1")
        if self.beta is not None and not 0 <= self.beta < np.inf:
            raise OptionError(f"meteor[beta={self.beta}]: expected a number not below 0")
        if self.beam < 1:
            raise OptionError(f"meteor[beam={self.beam}]: expected 1 or more")
        if self.lowercase and self.tokenizer in ("meteor", "meteor-words"):
            raise OptionError(f"meteor[lowercase=true]: tokenizer {self.tokenizer!r} lower-cases by itself")

    @property
    def values(self) -> Parameters:
        """The parameters in force."""
        base = PARAMETER_SETS[self.parameters]
        given = [self.alpha, self.beta, self.gamma, self.delta]
        numbers = [theirs if mine is None else mine for mine, theirs in zip(given, base[:4], strict=True)]
        modules = [None, self.stem_weight, self.synonym_weight, self.paraphrase_weight]
        weights = [theirs if mine is None else mine for mine, theirs in zip(modules, base.weights, strict=True)]
        return Parameters(
            numbers[0], numbers[1], numbers[2], numbers[3], (weights[0], weights[1], weights[2], weights[3])
        )

    def signature(self) -> str:
        """Return the notation with all options in force: contents instead of the names of files."""
        found = self._wordnet()
        used = [module for module in self.modules.split("+") if module != MODULES[SYNONYM] or found]
        if self.paraphrases:
            used.append(MODULES[PARAPHRASE])
        weights = dict(zip(MODULES, self.values.weights, strict=True))
        replaced: dict[str, object] = {
            "parameters": None,
            **dict(zip(Parameters._fields[:4], self.values[:4], strict=True)),
            **{f"{module}_weight": weights[module] if module in used else None for module in MODULES},
            "modules": "+".join(used),
            "stemmer": self.stemmer if MODULES[STEM] in used else None,
            "wordnet": found.digest if found else None,
            "paraphrases": table_digest(self.paraphrases) if self.paraphrases else None,
            "function_words": function_words(self.function_words)[1],
        }
        names = [option for option, *_ in notation.option_table(Meteor)]
        options = [(name, replaced.get(name, getattr(self, name))) for name in names]
        written = tuple((name, notation.write(value)) for name, value in options if value is not None)
        return str(notation.Spec(self.name, written))

    def statistics(self, batch: TokenBatch) -> FloatArray:
        """Return the counts against the reference that gives the best score, shape (candidates, 21)."""
        pairs, candidate = _pairs(batch)
        distinct, place = np.unique(pairs, axis=0, return_inverse=True)
        rows = self._rows(batch.segments, distinct)
        best = _first_best(self.score(rows)[place.reshape(-1)], candidate, len(batch.candidate))
        chosen: FloatArray = rows[place.reshape(-1)[best]]
        return chosen

    def score(self, statistics: npt.ArrayLike) -> FloatArray:
        """Return METEOR of statistics of shape (..., 21), shape (...)."""
        parts = self.parts(statistics)
        return np.asarray(parts.mean * (1 - parts.penalty))

    def parts(self, statistics: npt.ArrayLike) -> Parts:
        """Return what the score of statistics of shape (..., 21) is made of; all 0 where nothing matches."""
        rows = np.asarray(statistics, dtype=np.float64)
        alpha, beta, gamma, delta, weights = self.values
        lengths, functions, chunks = rows[..., 0:2], rows[..., 2:4], rows[..., 4]
        # modules, sides, content and function words
        matched = rows[..., 5:].reshape(*rows.shape[:-1], len(MODULES), 2, 2)
        importance = delta, 1 - delta
        total = (lengths - functions) * importance[0] + functions * importance[1]
        hits, words = np.zeros(lengths.shape), np.zeros(lengths.shape)
        for module, weight in enumerate(weights):
            for kind in range(2):
                hits += matched[..., module, :, kind] * (weight * importance[kind])
                words += matched[..., module, :, kind]
        with np.errstate(divide="ignore", invalid="ignore"):
            precision, recall = np.moveaxis(np.where(total > 0, hits / total, 0.0), -1, 0)
            mean = precision * recall / (alpha * precision + (1 - alpha) * recall)
            penalty = np.where(chunks > 0, gamma * (chunks / words.mean(axis=-1)) ** beta, 0.0)
        return Parts(precision, recall, np.where((precision > 0) & (recall > 0), mean, 0.0), penalty)

    def orders(self, segments: Segments, pairs: IndexArray) -> tuple[IdArray, IndexArray]:
        """Return the order of candidates relative to references, by their matches.

        Parameters
        ----------
        segments : Segments
        pairs : int64 array, shape (pairs, 2)
            Sentence of a candidate and sentence of a reference.

        Returns
        -------
        values : int32 array
            A permutation of ``0 .. n - 1`` for every pair: the rank in the reference of each of the n matches, in the
            order of the candidate.
        offsets : int64 array, shape (pairs + 1,)
        """
        distinct, place = np.unique(pairs, axis=0, return_inverse=True)
        room = segments.lengths[distinct].min(axis=1)
        bounds = np.concatenate([[0], np.cumsum(room)]).astype(np.int64)
        ranks, counts = alignment_orders(
            segments.values,
            segments.offsets,
            distinct,
            self._tables(segments),
            np.array(self._alignment_weights),
            self.beam,
            self.parity is not None,
            bounds,
        )
        number = counts[place.reshape(-1)]
        offsets = np.concatenate([[0], np.cumsum(number)]).astype(np.int64)
        start = bounds[:-1][place.reshape(-1)]
        values: IdArray = ranks[np.repeat(start - offsets[:-1], number) + np.arange(offsets[-1])]
        return values, offsets

    def evidence(self, dataset: Dataset, candidate: int) -> dict[str, list[str]]:
        """Return the matches of one candidate with each reference, as ``word = word`` and ``word ~ word (module)``."""
        batch = self.batch(dataset)
        segments = batch.segments
        tables = dataset.memo(("word tables", self.signature()), lambda: self._tables(segments))
        sentence, source = int(batch.candidate[candidate]), batch.candidate_source[candidate]
        mine = segments.words(sentence)
        evidence = {}
        for number, reference in enumerate(batch.reference[slice(*batch.reference_offsets[source : source + 2])], 1):
            theirs, shown = segments.words(int(reference)), []
            places, matches = self._align(segments, tables, sentence, int(reference))
            for place, (start, size, length, module) in zip(places, matches, strict=True):
                pair = " ".join(mine[start : start + size]), " ".join(theirs[place : place + length])
                shown.append(" = ".join(pair) if module == EXACT else f"{' ~ '.join(pair)} ({MODULES[module]})")
            evidence[f"reference {number}"] = shown
        return evidence

    def _align(
        self, segments: Segments, tables: WordTables, candidate: int, reference: int
    ) -> tuple[list[int], list[list[int]]]:
        """Return the first reference word of every match, and the matches as `list_matches` describes them."""
        sentences = (candidate, reference)
        ids = [segments.values[slice(*segments.offsets[sentence : sentence + 2])] for sentence in sentences]
        offsets, matches = list_matches(ids[0], ids[1], sentences, tables)
        weights = np.array(self._alignment_weights)
        _, places, chosen = align(
            len(ids[0]), len(ids[1]), offsets, matches, weights, self.beam, self.parity is not None
        )
        return places.tolist(), matches[chosen].tolist()

    @property
    def _alignment_weights(self) -> tuple[float, float, float, float]:
        return self.values.weights if self.parity is None else PARAMETER_SETS["rank"].weights

    def _wordnet(self) -> WordNet | None:
        """Return WordNet if synonyms are to be matched and it is installed; a WordNet that is named must be there."""
        if MODULES[SYNONYM] not in self.modules.split("+"):
            return None
        return optional_wordnet(self.wordnet, self.name)

    def _tables(self, segments: Segments) -> WordTables:
        phrases = find_phrases(self.paraphrases, segments) if self.paraphrases else no_phrases(len(segments.lengths))
        stemmer = self.stemmer if MODULES[STEM] in self.modules.split("+") else None
        return word_tables(segments.vocabulary, stemmer, self._wordnet(), phrases)

    def _rows(self, segments: Segments, pairs: IndexArray) -> FloatArray:
        """Return the statistics of pairs of sentences, shape (pairs, 21)."""
        words, _ = function_words(self.function_words)
        is_function = np.fromiter((word.lower() in words for word in segments.vocabulary), dtype=np.bool_)
        rows: FloatArray = alignment_statistics(
            segments.values,
            segments.offsets,
            pairs,
            self._tables(segments),
            is_function,
            np.array(self._alignment_weights),
            self.beam,
            self.parity is not None,
        )
        return rows


def _pairs(batch: TokenBatch) -> tuple[IndexArray, IndexArray]:
    """Return sentences of every candidate with every reference of its source, shape (pairs, 2), and the candidates."""
    first = batch.reference_offsets[batch.candidate_source]
    counts = batch.reference_offsets[batch.candidate_source + 1] - first
    candidate = np.repeat(np.arange(len(batch.candidate)), counts)
    starts = np.cumsum(counts) - counts
    reference = np.arange(len(candidate)) + np.repeat(first - starts, counts)
    return np.stack([batch.candidate[candidate], batch.reference[reference]], axis=1), candidate


def _first_best(scores: FloatArray, group: IndexArray, groups: int) -> IndexArray:
    """Return the place of the first best score of every group; `group` does not decrease and leaves none out."""
    starts = np.searchsorted(group, np.arange(groups))
    best = np.maximum.reduceat(scores, starts) if groups else scores
    candidates = np.flatnonzero(scores == best[group])
    _, first = np.unique(group[candidates], return_index=True)
    places: IndexArray = candidates[first]
    return places
