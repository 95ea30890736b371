"""Token batches: each distinct sentence of a data set, tokenised once, with words as integers.

All lexical features read these arrays; no feature tokenises again or loops over Python strings.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, cast, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from ranker.arrays import Int32Array, Int64Array, offsets_of, take_rows
from ranker.corpora.dataset import Dataset, view
from ranker.errors import DataError, MissingError, OptionError, nearest
from ranker.text.target_languages import written_languages
from ranker.text.tokenizers import OF_LANGUAGE, SPLITTING, TOKENIZERS, WORDWISE, split_and_number

Tokenizer = Literal[
    "auto",
    "13a",
    "any",
    "none",
    "intl",
    "zh",
    "ja-mecab",
    "ko-mecab",
    "char",
    "spaced-characters",
    "spm",
    "flores101",
    "flores200",
    "chrf-words",
    "terp",
    "tercom",
    "tercom-asian",
    "meteor",
    "meteor-words",
]


def checked_tokenizer(name: str) -> Tokenizer:
    """Return `name`, or raise an error if no tokenizer has this name."""
    known = get_args(Tokenizer)
    if name not in known:
        raise OptionError(f"--tokenizer {name}: unknown tokenizer{nearest(name, known)}; available: {', '.join(known)}")
    return cast(Tokenizer, name)


_CHUNK, _SPLIT_CHUNK = 20_000, 100_000


@dataclass(frozen=True, eq=False)
class TokenisedTexts:
    """Distinct tokenised sentences in CSR form."""

    values: Int32Array
    offsets: Int64Array
    vocabulary: list[str]

    @property
    def lengths(self) -> Int64Array:
        """Number of tokens of each sentence, shape (sentences,)."""
        return np.diff(self.offsets)

    def take(self, sentences: npt.ArrayLike) -> tuple[Int32Array, Int64Array]:
        """Return the word numbers and offsets of `sentences`, in that order; repeated sentences are repeated."""
        positions, offsets = take_rows(self.offsets, np.asarray(sentences, dtype=np.int64))
        return self.values[positions], offsets

    def by_code_points(self) -> TokenisedTexts:
        """Return the same sentences with words numbered in code point order."""
        order = sorted(range(len(self.vocabulary)), key=self.vocabulary.__getitem__)
        number = np.argsort(order).astype(np.int32)
        return TokenisedTexts(number[self.values], self.offsets, [self.vocabulary[word] for word in order])

    def numbers(self, sentence: int) -> Int32Array:
        """Return the tokens of one sentence as numbers."""
        return self.values[slice(*self.offsets[sentence : sentence + 2])]

    def words(self, sentence: int) -> list[str]:
        """Return the tokens of one sentence."""
        return [self.vocabulary[word] for word in self.numbers(sentence)]


def tokenise(sentences: Sequence[str], tokenizer: Tokenizer = "13a", *, lowercase: bool = False) -> TokenisedTexts:
    """Tokenise `sentences` in batches and number their words; ``auto`` means ``13a``, because no language is known."""
    if tokenizer == "auto":
        tokenizer = "13a"
    if tokenizer in ("char", "spaced-characters"):
        return _characters(sentences, lowercase=lowercase, spaced=tokenizer == "spaced-characters")
    texts = [sentence.lower() for sentence in sentences] if lowercase else sentences
    if tokenizer in SPLITTING:
        chunks = range(0, len(texts), _SPLIT_CHUNK) or [0]
        return _joined(
            [TokenisedTexts(*split_and_number(texts[start : start + _SPLIT_CHUNK], tokenizer)) for start in chunks]
        )
    if tokenizer not in WORDWISE:
        return _number(TOKENIZERS[tokenizer], texts)
    # words recur, so each distinct word is tokenised once, and sentences are put together from the results
    words = tokenise(texts, "none")
    split_words = _number(TOKENIZERS[tokenizer], words.vocabulary)
    values, ends = split_words.take(words.values)
    return TokenisedTexts(values, ends[words.offsets], split_words.vocabulary)


def _number(tokenize: Callable[[Sequence[str]], list[list[str]]], sentences: Sequence[str]) -> TokenisedTexts:
    numbers: dict[str, int] = {}
    parts: list[Int32Array] = []
    lengths: list[int] = []
    for start in range(0, len(sentences), _CHUNK):
        tokenized = tokenize(sentences[start : start + _CHUNK])
        lengths.extend(map(len, tokenized))
        words = list(chain.from_iterable(tokenized))
        for word in dict.fromkeys(words):
            numbers.setdefault(word, len(numbers))
        parts.append(np.fromiter(map(numbers.__getitem__, words), dtype=np.int32, count=len(words)))
    return TokenisedTexts(
        np.concatenate([np.zeros(0, dtype=np.int32), *parts]),
        offsets_of(lengths),
        list(numbers),
    )


def _characters(sentences: Sequence[str], *, lowercase: bool, spaced: bool) -> TokenisedTexts:
    """Number the characters of `sentences`, including white space only if `spaced` is true."""
    texts = [sentence.lower() for sentence in sentences] if lowercase else sentences
    texts = texts if spaced else ["".join(text.split()) for text in texts]
    points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    present = np.zeros(int(points.max(initial=0)) + 1, dtype=bool)
    present[points] = True
    number = (np.cumsum(present) - 1).astype(np.int32)
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    return TokenisedTexts(
        number[points],
        offsets_of(lengths),
        [chr(point) for point in np.flatnonzero(present)],
    )


def _joined(parts: Sequence[TokenisedTexts]) -> TokenisedTexts:
    """Concatenate tokenised sentences and give them one vocabulary."""
    if len(parts) == 1:
        return parts[0]
    numbers: dict[str, int] = {}
    values = [
        np.array([numbers.setdefault(word, len(numbers)) for word in part.vocabulary], dtype=np.int32)[part.values]
        for part in parts
    ]
    lengths = np.concatenate([part.lengths for part in parts])
    return TokenisedTexts(np.concatenate(values), offsets_of(lengths), list(numbers))


@dataclass(frozen=True, eq=False)
class TokenBatch:
    """Tokenised candidates and references of a data set, with the source of each."""

    segments: TokenisedTexts
    candidate: Int64Array
    reference: Int64Array
    candidate_source: Int64Array
    candidate_offsets: Int64Array
    reference_offsets: Int64Array
    texts: Sequence[str]

    @functools.cached_property
    def candidate_lengths(self) -> Int64Array:
        """Number of tokens of each candidate, shape (candidates,)."""
        return self.segments.lengths[self.candidate]

    @functools.cached_property
    def reference_lengths(self) -> Int64Array:
        """Number of tokens of each reference, shape (references,)."""
        return self.segments.lengths[self.reference]

    def references_of(self, candidate: int) -> list[int]:
        """Return the sentence numbers of a candidate's references."""
        source = self.candidate_source[candidate]
        references: list[int] = self.reference[slice(*self.reference_offsets[source : source + 2])].tolist()
        return references


@dataclass(frozen=True, eq=False)
class DistinctSentences:
    """The distinct sentences among the candidates and references of a data set."""

    texts: list[str]
    candidate: Int64Array
    reference: Int64Array


@view
def distinct_sentences(dataset: Dataset) -> DistinctSentences:
    """Return the distinct sentences among the candidates and references of `dataset`."""
    candidates, references = dataset.candidates["text"], dataset.references["text"]
    codes, distinct = pd.factorize(pd.concat([candidates, references], ignore_index=True))
    codes = codes.astype(np.int64)
    return DistinctSentences(distinct.to_numpy(object).tolist(), codes[: len(candidates)], codes[len(candidates) :])


@view
def token_batch(dataset: Dataset, tokenizer: Tokenizer = "13a", *, lowercase: bool = False) -> TokenBatch:
    """Tokenise the candidates and references of `dataset`; ``auto`` chooses by each source's target language."""
    distinct = distinct_sentences(dataset)
    if tokenizer == "auto":
        names, source_language = language_tokenizers(dataset)
        if len(names) == 1:
            return token_batch(dataset, names[0], lowercase=lowercase)
        distinct, segments = _by_language(dataset, distinct, names, source_language, lowercase=lowercase)
    else:
        segments = tokenise(distinct.texts, tokenizer, lowercase=lowercase)
    return TokenBatch(
        segments,
        distinct.candidate,
        distinct.reference,
        dataset.candidate_source,
        dataset.candidate_offsets,
        dataset.reference_offsets,
        distinct.texts,
    )


def _by_language(
    dataset: Dataset,
    distinct: DistinctSentences,
    tokenizers: Sequence[Tokenizer],
    source_language: Int64Array,
    *,
    lowercase: bool,
) -> tuple[DistinctSentences, TokenisedTexts]:
    """Tokenise sentences by their source's target language; a text in two languages counts as two sentences."""
    reference_source = np.repeat(np.arange(len(source_language)), np.diff(dataset.reference_offsets))
    candidate, reference = np.zeros_like(distinct.candidate), np.zeros_like(distinct.reference)
    texts: list[str] = []
    parts: list[TokenisedTexts] = []
    for code, tokenizer in enumerate(tokenizers):
        of_candidates = source_language[dataset.candidate_source] == code
        of_references = source_language[reference_source] == code
        sentences, place = np.unique(
            np.concatenate([distinct.candidate[of_candidates], distinct.reference[of_references]]), return_inverse=True
        )
        places = np.split(len(texts) + place, [int(of_candidates.sum())])
        candidate[of_candidates], reference[of_references] = places
        chosen = [distinct.texts[sentence] for sentence in sentences]
        parts.append(tokenise(chosen, tokenizer, lowercase=lowercase))
        texts.extend(chosen)
    return DistinctSentences(texts, candidate, reference), _joined(parts)


@view
def source_segments(dataset: Dataset, tokenizer: Tokenizer = "13a", *, lowercase: bool = False) -> TokenisedTexts:
    """Tokenise the source sentences of `dataset`, with a vocabulary of their own."""
    return tokenise(dataset.sources["text"].tolist(), tokenizer, lowercase=lowercase)


def check_sources(dataset: Dataset) -> None:
    """Refuse data without source sentences."""
    if len(dataset.sources) and not (dataset.sources["text"].str.strip() != "").any():
        raise DataError("word alignments require source sentences: give them as sources (-s SRC)", file=dataset.name)


@view
def language_tokenizers(dataset: Dataset) -> tuple[tuple[Tokenizer, ...], Int64Array]:
    """Return the tokenizers that ``auto`` chooses for target languages, and the index of each source's tokenizer."""
    codes, languages = pd.factorize(written_languages(dataset))
    chosen = [OF_LANGUAGE.get(language, "13a") for language in languages] or ["13a"]
    names = sorted(set(chosen))
    by_language = np.array([names.index(name) for name in chosen], dtype=np.int64)
    return cast("tuple[Tokenizer, ...]", tuple(names)), by_language[codes]


def missing_tokenizer(dataset: Dataset) -> str | None:
    """Return a short message about the first tokenizer that ``auto`` needs but that is not installed, or None."""
    for name in language_tokenizers(dataset)[0]:
        try:
            tokenise(["a"], name)
        except MissingError as error:
            return str(error).partition(":")[0]
    return None
