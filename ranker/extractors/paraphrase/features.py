"""Features of the words that candidate and reference share, including substituted words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from ranker import notation, progress
from ranker.arrays import BoolArray, FloatArray, Int32Array, Int64Array, offsets_of
from ranker.corpora.dataset import Dataset, view
from ranker.corpora.source_keys import same_source
from ranker.errors import ModelError, OptionError
from ranker.extractors.base import Extractor, FitScope, FittedExtractor, unfitted
from ranker.extractors.needs import Needs
from ranker.extractors.paraphrase.matching import (
    EXACT,
    STEM,
    Lookup,
    WordFacts,
    compare,
    match_words,
    residual_pairs,
    substitute,
)
from ranker.extractors.paraphrase.table import Cooccurrences, Substitutions, estimate
from ranker.storage.array_rules import ArrayRule, check_arrays
from ranker.text.function_words import function_words
from ranker.text.lexical.stems import stemmer_of
from ranker.text.lexical.word_classes import in_class
from ranker.text.lexical.words import stem_numbers
from ranker.text.ratios import ratio
from ranker.text.reference_pairs import reference_pairs
from ranker.text.tokens import Tokenizer, token_batch

COLUMNS = (
    *("precision", "recall", "f"),
    *("weighted_precision", "weighted_recall", "weighted_f"),
    *("soft_precision", "soft_recall", "substituted", "content"),
)
_STEEPNESS = 8.0
# added to the number of references that contain a word; better than 1/2 or 2 on WMT 2012 to 2014
_SMOOTHING = 5.0
STATE = {
    "words": ArrayRule("uint8", ("bytes",)),
    "texts": ArrayRule("int32", ("words",), least=0),
    "total": ArrayRule("int64", (1,), least=0, most=1e15),
    "first": ArrayRule("int32", ("rows",), least=0, below="words"),
    "second": ArrayRule("int32", ("rows",), least=0, below="words"),
    "similarity": ArrayRule("float32", ("rows",), above=0.0, most=1.0),
}
"""Types and shapes of the arrays of `FittedParaphrase.state`."""


@dataclass(frozen=True, eq=False)
class LearntSubstitutions:
    """Data learnt by `Paraphrase`: words, their frequencies, and the table of substitutions."""

    words: list[str]
    texts: Int32Array
    total: int
    table: Substitutions

    def lookup(self, vocabulary: list[str]) -> tuple[Lookup, FloatArray]:
        """Return the table indexed by words of `vocabulary`, and weights that favour rare words, shape (words,)."""
        known = {word: number for number, word in enumerate(self.words)}
        number = np.fromiter((known.get(word, -1) for word in vocabulary), dtype=np.int32, count=len(vocabulary))
        texts = np.append(self.texts, 0)[number]
        offsets = np.searchsorted(self.table.first, np.arange(len(self.words) + 1)).astype(np.int64)
        weight = np.log((self.total + _SMOOTHING + 1) / (texts + _SMOOTHING))
        return Lookup(number, offsets, self.table.second, self.table.similarity), weight


@dataclass(frozen=True)
class Paraphrase(Extractor):
    r"""Precision, recall and F score of words, with substitutions by a table learnt in training, in 10 columns.

    Words match one to one: first equal forms, then equal Snowball stems (Porter 2001), each with the nearest free word
    of the reference by relative position; both count 1. Unmatched words then match by a table of substitutions, the
    most similar first, and count their similarity s in (0, 1]: *cargo* for *freight*. They match only words whose
    relative position differs by at most .4, and by at most 40 words of the longer sentence. With m words matched by
    form or stem, :math:`S = \sum s`, c words of the candidate and r of the reference,

    .. math:: P = (m + S) / c, \quad R = (m + S) / r, \quad F = 2 (m + S) / (c + r)

    The weighted columns weight a word by ln((N + 6) / (d + 5)) if d of the N distinct references of the training data
    contain it (after Spärck Jones 1972); words never seen there weigh most. ``soft_precision`` and ``soft_recall`` are
    S / c and S / r, ``substituted`` the number of substituted words / r, ``content`` the part of S / r that comes from
    candidate words outside a list of function words. All columns lie in [0, 1]. Of several references the one with the
    best F counts. If neither text has words, the first six columns are 1 and the others 0; if
    one text has none, all are 0.

    The table is learnt from the candidates and references of the training data, without any judgement: unmatched words
    at similar positions of both likely have the same meaning. The expectation-maximisation of IBM model 1 (Brown et al.
    1993) in both directions finds out which words belong together; see `ranker.extractors.paraphrase.table`.

    The table contains what each training source taught it, so with columns from this table a ranker would trust it too
    much. In training, columns are therefore cross-fitted: those of one part of the sources come from a table and word
    frequencies learnt on the other parts. Sources with a reference or a document in common stay in one part.

    Parameters
    ----------
    stemmer : str, default "english"
        Language of the Snowball stemmer, or ``none``.
    function_words : str, default "english"
        List of function words: ``english``, which is included, ``none``, or a file of words.
    least : float, default 0.03
        Similarity below which a pair of words is left out of the table; between 0 and 1.
    folds : int, default 5
        Number of parts of the training data, 2 or more.
    tokenizer : str, default "13a"
        Words are lower-cased.

    Notes
    -----
    Columns: ``paraphrase.precision``, ``.recall``, ``.f``, ``.weighted_precision``, ``.weighted_recall``,
    ``.weighted_f``, ``.soft_precision``, ``.soft_recall``, ``.substituted``, ``.content``.
    """

    name: ClassVar[str] = "paraphrase"
    family = "similarity"
    fit_scope: ClassVar[FitScope] = "train"
    stemmer: str = "english"
    function_words: str = "english"
    least: float = 0.03
    folds: int = 5
    tokenizer: Tokenizer = "13a"

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        if not 0 < self.least < 1:
            raise OptionError(f"paraphrase[least={self.least}]: expected a similarity between 0 and 1")
        if self.folds < 2:
            raise OptionError(f"paraphrase[folds={self.folds}]: expected 2 or more")
        if self.tokenizer in ("char", "spaced-characters"):
            raise OptionError(f"paraphrase[tokenizer={self.tokenizer}]: expected a tokenizer that produces words")

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names: ``paraphrase.precision`` and so on."""
        return tuple(f"{self}.{column}" for column in COLUMNS)

    def signed(self) -> dict[str, object]:
        """Option values for the signature, with the digest of the function words in place of the name of their list."""
        return {"function_words": function_words(self.function_words)[1]}

    @property
    def needs(self) -> Needs:
        """Needs of the columns: English translations if the stemmer or the function words are English, else any."""
        return Needs.english(
            *(option for option in ("function_words", "stemmer") if getattr(self, option) == "english")
        )

    def fit(self, dataset: Dataset) -> FittedParaphrase:
        """Learn the table and the word weights from the candidates and references of `dataset`."""
        return self._knowing(_TrainingSentences.of(dataset, self).learn(self))

    def fit_transform(self, dataset: Dataset) -> tuple[FittedParaphrase, FloatArray]:
        """Return the fitted extractor, and cross-fitted columns of the training data, shape (candidates, 10)."""
        training = _TrainingSentences.of(dataset, self)
        matrix = np.zeros((len(dataset), len(COLUMNS)))
        for fold in range(self.folds):
            rows = training.source_fold[dataset.candidate_source] == fold
            if rows.any():
                matrix[rows] = self._knowing(training.learn(self, without=fold))._columns(dataset, rows)
            progress.report("substitutions learnt", fold + 1, self.folds + 1)
        fitted = self._knowing(training.learn(self))
        progress.report("substitutions learnt", self.folds + 1, self.folds + 1)
        return fitted, matrix

    def with_state(self, arrays: Mapping[str, npt.NDArray[Any]]) -> FittedParaphrase:
        """Return the fitted extractor whose `state` is `arrays`."""
        sizes = check_arrays(arrays, STATE, str(self))
        try:
            text = arrays["words"].tobytes().decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise ModelError(f"{self}: words in the model are not UTF-8; copy or train the model again") from None
        words = text.split("\n") if text else []
        table = Substitutions(arrays["first"], arrays["second"], arrays["similarity"])
        pairs = table.first.astype(np.int64) << 32 | table.second
        sound = len(words) == sizes["words"] and bool((arrays["texts"] <= arrays["total"][0]).all())
        if not sound or (pairs[1:] <= pairs[:-1]).any():
            raise ModelError(f"{self}: damaged table of word similarities in the model; copy or train the model again")
        return self._knowing(LearntSubstitutions(words, arrays["texts"], int(arrays["total"][0]), table))

    def transform(self, dataset: Dataset) -> FloatArray:
        """Raise an error: columns can be computed only after `fit`."""
        raise unfitted(self)

    def evidence(self, dataset: Dataset, candidate: int) -> dict[str, list[str]]:
        """Raise an error: matches can be found only after `fit`."""
        raise unfitted(self)

    def _knowing(self, learnt: LearntSubstitutions) -> FittedParaphrase:
        return FittedParaphrase(**self._options(), learnt=learnt)


@dataclass(frozen=True)
class FittedParaphrase(Paraphrase, FittedExtractor):
    """`Paraphrase` after `fit`, with a table of substitutions and word frequencies."""

    learnt: LearntSubstitutions = notation.learnt()

    def transform(self, dataset: Dataset) -> FloatArray:
        """Return the columns, shape (candidates, 10)."""
        return self._columns(dataset, np.ones(len(dataset), dtype=bool))

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return arrays of words, their reference counts, the number of references and the table of substitutions."""
        learnt = self.learnt
        return {
            "words": np.frombuffer("\n".join(learnt.words).encode("utf-8", "surrogatepass"), dtype=np.uint8),
            "texts": learnt.texts,
            "total": np.array([learnt.total]),
            "first": learnt.table.first,
            "second": learnt.table.second,
            "similarity": learnt.table.similarity,
        }

    def evidence(self, dataset: Dataset, candidate: int) -> dict[str, list[str]]:
        """Return one candidate's matches with each reference, such as ``word = word`` or ``word ~ word (stem)``.

        The number in ``word ~ word (.43)`` is the similarity of a substitution.
        """
        batch = token_batch(dataset, self.tokenizer, lowercase=True)
        words = _words(dataset, self.tokenizer, self.stemmer)
        table, _ = _lookup(dataset, self.tokenizer, self.learnt)
        segments = batch.segments
        sentence = int(batch.candidate[candidate])
        candidate_words, ids = segments.words(sentence), segments.numbers(sentence)
        evidence = {}
        for number, reference in enumerate(batch.references_of(candidate), 1):
            reference_words, reference_ids = segments.words(reference), segments.numbers(reference)
            shown = []
            if len(ids) and len(reference_ids):
                partner, kind, taken = match_words(ids, reference_ids, words.stems)
                similarity = substitute(ids, reference_ids, table, partner, kind, taken)
                for i in np.flatnonzero(partner >= 0).tolist():
                    pair = candidate_words[i], reference_words[partner[i]]
                    why = "stem" if kind[i] == STEM else f"{similarity[i]:.2f}".lstrip("0")
                    shown.append(" = ".join(pair) if kind[i] == EXACT else f"{' ~ '.join(pair)} ({why})")
            evidence[f"reference {number}"] = shown
        return evidence

    def _columns(self, dataset: Dataset, rows: BoolArray) -> FloatArray:
        """Return the columns of the candidates in the mask `rows`, shape (candidates in the mask, 10)."""
        batch = token_batch(dataset, self.tokenizer, lowercase=True)
        segments = batch.segments
        pairs = reference_pairs(dataset)
        wanted = np.flatnonzero(rows[pairs.candidate])
        table, weight = _lookup(dataset, self.tokenizer, self.learnt)
        content = in_class(segments.vocabulary, "content", self.function_words)
        sums = compare(
            segments.values,
            segments.offsets,
            batch.candidate[pairs.candidate[wanted]],
            batch.reference[pairs.reference[wanted]],
            _words(dataset, self.tokenizer, self.stemmer),
            table,
            weight,
            content,
        )
        (
            candidate_totals,
            reference_totals,
            equal,
            soft,
            number,
            soft_content,
            weight_mine,
            weight_theirs,
            found_mine,
            found_theirs,
        ) = sums.T
        columns = np.stack(
            [
                ratio(equal + soft, candidate_totals),
                ratio(equal + soft, reference_totals),
                ratio(2 * (equal + soft), candidate_totals + reference_totals),
                ratio(found_mine, weight_mine),
                ratio(found_theirs, weight_theirs),
                ratio(found_mine + found_theirs, weight_mine + weight_theirs),
                ratio(soft, candidate_totals),
                ratio(soft, reference_totals),
                ratio(number, reference_totals),
                ratio(soft_content, reference_totals),
            ],
            axis=1,
        )
        columns[(candidate_totals == 0) & (reference_totals == 0), :6] = 1.0
        every = np.full((len(pairs.candidate), len(COLUMNS)), -1.0)
        every[wanted] = columns
        best = pairs.best(every[:, 2], every)[rows]
        return np.where((best >= 0)[:, np.newaxis], every[best], 0.0)


@view
def _words(dataset: Dataset, tokenizer: Tokenizer, stemmer: str) -> WordFacts:
    """Return the stems of the vocabulary of `dataset`, and a mask of its words other than punctuation."""
    vocabulary = token_batch(dataset, tokenizer, lowercase=True).segments.vocabulary
    stems = stem_numbers(vocabulary, str if stemmer == "none" else stemmer_of(stemmer))
    return WordFacts(stems, ~in_class(vocabulary, "punctuation"))


@view
def _lookup(dataset: Dataset, tokenizer: Tokenizer, learnt: LearntSubstitutions) -> tuple[Lookup, FloatArray]:
    """Return the substitution table indexed by words of `dataset`, and weights that favour rare words."""
    return learnt.lookup(token_batch(dataset, tokenizer, lowercase=True).segments.vocabulary)


@dataclass(frozen=True, eq=False)
class _TrainingSentences:
    """Sentences that the table is learnt from, sorted so that sums do not depend on the order of sources."""

    words: list[str]
    cooccurrences: Cooccurrences
    pair_fold: Int64Array
    word: Int32Array
    word_fold: Int64Array
    reference_fold: Int64Array
    source_fold: Int64Array

    @classmethod
    def of(cls, dataset: Dataset, options: Paraphrase) -> _TrainingSentences:
        batch = token_batch(dataset, options.tokenizer, lowercase=True)
        segments, words = batch.segments, _words(dataset, options.tokenizer, options.stemmer)
        order = np.argsort(np.array(segments.vocabulary, dtype=object), kind="stable")
        rank = np.empty(len(order), dtype=np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        place = np.empty(len(batch.texts), dtype=np.int64)
        place[np.argsort(np.array(batch.texts, dtype=object), kind="stable")] = np.arange(len(batch.texts))
        sentence = np.argsort(place)
        source_fold = source_folds(dataset, options.folds)
        fold = np.zeros(len(batch.texts), dtype=np.int64)
        fold[batch.reference] = source_fold[dataset.references["source"].to_numpy(np.int64)]
        sides = reference_pairs(dataset)
        different = np.unique(
            np.stack([place[batch.candidate[sides.candidate]], place[batch.reference[sides.reference]]], axis=1), axis=0
        )
        pairs = sentence[different]
        values = rank[segments.values]
        known = WordFacts(words.stems[order], words.replaceable[order])
        sizes, places, closeness = residual_pairs(
            values, segments.offsets, pairs[:, 0].copy(), pairs[:, 1].copy(), known, _STEEPNESS
        )
        references = np.unique(batch.reference)
        text = np.repeat(np.arange(len(references)), segments.lengths[references])
        once = np.unique((text << 32) | rank[segments.take(references)[0]])
        return cls(
            [segments.vocabulary[word] for word in order.tolist()],
            Cooccurrences.of(offsets_of(sizes), places, closeness),
            fold[pairs[:, 1]],
            (once & 0xFFFFFFFF).astype(np.int32),
            fold[references[once >> 32]],
            fold[references],
            source_fold,
        )

    def learn(self, options: Paraphrase, without: int = -1) -> LearntSubstitutions:
        """Return the substitutions and word frequencies learnt from all folds but `without`."""
        table = estimate(self.cooccurrences, self.pair_fold != without, least=options.least)
        texts = np.bincount(self.word[self.word_fold != without], minlength=len(self.words)).astype(np.int32)
        used = texts > 0
        used[table.first] = used[table.second] = True
        number = (np.cumsum(used) - 1).astype(np.int32)
        return LearntSubstitutions(
            [self.words[word] for word in np.flatnonzero(used).tolist()],
            texts[used],
            int((self.reference_fold != without).sum()),
            Substitutions(number[table.first], number[table.second], table.similarity),
        )


def source_folds(dataset: Dataset, folds: int) -> Int64Array:
    """Return each source's fold; folds have similar sizes and keep equal texts and, if possible, documents together."""
    count = len(dataset.sources)
    codes, texts = dataset.references["text"].factorize(sort=True)
    links = [
        (dataset.references["source"].to_numpy(np.int64), codes.astype(np.int64)),
        (np.arange(count), same_source(dataset) + len(texts)),
    ]
    documents, _ = dataset.sources["doc"].factorize()
    has = np.flatnonzero(documents >= 0)
    links.append((has, documents[has].astype(np.int64) + len(texts) + count))
    group = np.zeros(count, dtype=np.int64)
    for used in (links, links[:2]):
        source, text_code = (np.concatenate(side) for side in zip(*used, strict=True))
        nodes = count + int(text_code.max(initial=-1)) + 1
        graph = sparse.coo_matrix((np.ones(len(source)), (source, text_code + count)), shape=(nodes, nodes))
        group = connected_components(graph, directed=False)[1][:count].astype(np.int64)
        if count == 0 or np.bincount(group).max() * folds <= count:
            break
    # groups of sources, in alphabetical order of their first reference
    first = np.full(group.max(initial=-1) + 1, len(texts), dtype=np.int64)
    np.minimum.at(first, group[links[0][0]], links[0][1])
    sizes = np.bincount(group, minlength=len(first))
    order = np.argsort(first, kind="stable")
    before = np.empty(len(first), dtype=np.int64)
    before[order] = np.cumsum(sizes[order]) - sizes[order]
    return (before * folds // max(count, 1))[group]
