"""Similarity of texts by the embeddings of a sentence encoder (Zhang et al. 2020, BERTScore)."""

from __future__ import annotations

import dataclasses
import importlib.metadata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from ranker import notation, progress
from ranker.arrays import FloatArray, Int64Array, take_rows
from ranker.corpora.dataset import Dataset
from ranker.corpora.records import shown
from ranker.corpora.source_keys import UInt32Array
from ranker.errors import DataError, ModelError, OptionError, counted
from ranker.extractors.base import FitScope, FittedExtractor, join_notes
from ranker.extractors.english_only import english_note
from ranker.extractors.needs import Needs
from ranker.extractors.semantic.matching import TextVectors, match, word_matches
from ranker.extractors.semantic.vectors import text_keys, text_vectors
from ranker.learning.encoder.embedding import Encoder, Subwords, load
from ranker.learning.encoder.files import INCLUDED, MULTILINGUAL, SMALL, find
from ranker.storage.array_rules import ArrayRule, check_arrays
from ranker.storage.row_cache import RowCache

COLUMNS = ("precision", "recall", "f", "cosine")
_ROUND = 400_000
_LONGEST = 20_000
"""Square root of the largest product of two texts' numbers of sub-words that is compared."""
"""Number of characters of texts that are encoded at once, about 4,000 sentences; a sub-word takes 1.5 kB."""
_MATCHING = 2
"""Version of the cached columns; to be increased if they change, even in their last bits."""
STATE = {"encoder": ArrayRule("uint8", (32,))}
"""Type and shape of the array of `Semantic.state`."""


@dataclass(frozen=True)
class Semantic(FittedExtractor):
    """Similarity to the references by greedy matching of contextual vectors, and by the cosine of sentence vectors.

    A sentence encoder gives every sub-word a vector in its context. Precision is the mean over the candidate's
    sub-words of the highest cosine with one of the reference, recall the same the other way round, F their harmonic
    mean (Zhang, Kishore, Wu, Weinberger and Artzi 2020, BERTScore, section 3). The cosine is that of the sentence
    vectors: means over the last layer or, if the encoder says so, its first token. All four lie in [-1, 1] and are
    mostly positive; of several references each column takes the best. An empty text scores 0. Texts longer than
    the encoder takes at once are cut into windows, and no word is left out.

    Encoders in Hugging Face's format need the extra ``semantic-train``. Weights are read as ONNX or safetensors only,
    and nothing is downloaded.

    Parameters
    ----------
    encoder : str, default "encoder-en"
        ``encoder-en``, the included encoder for English, or ``encoder-any``, the included one for over ninety
        languages, which both learnt from human judgements; or the directory of a BERT-like encoder in ONNX or Hugging
        Face's format.
    layer : int, optional
        Layer whose vectors are matched, from 1. By default the layer that an encoder was trained for, the fourth of
        all-minilm-l6-v2, and the last of any other encoder.
    special_tokens : {"drop", "match"}, default "drop"
        ``match``: words may match the special tokens at either end of a sentence, as in the program bert-score;
        special tokens themselves never count.
    against : {"references", "source"}, default "references"
        ``source`` compares candidates with the source sentence. It needs no reference, but a multilingual encoder, such
        as ``encoder-any``.
    """

    name: ClassVar[str] = "semantic"
    family = "similarity"
    fit_scope: ClassVar[FitScope] = "train"
    encoder: str = INCLUDED
    layer: int | None = None
    special_tokens: Literal["drop", "match"] = "drop"
    against: Literal["references", "source"] = "references"
    # the digest of the encoder that a model was trained with
    learnt: str | None = notation.learnt()

    def __post_init__(self) -> None:
        """Refuse a layer number that no encoder has."""
        if self.layer is not None and self.layer < 1:
            raise OptionError(
                f"semantic[layer={self.layer}]: expected a whole number from 1, or none for the encoder's own layer"
            )

    @property
    def needs(self) -> Needs:
        """Needs of the columns: a reference or the text of the source; English for encoders of English only."""
        needs = Needs.english(*(("encoder",) if self.encoder in (INCLUDED, SMALL) else ()))
        return dataclasses.replace(needs, references=int(self.against == "references"), source=self.against == "source")

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names: ``semantic.precision``, ``.recall``, ``.f`` and ``.cosine``."""
        return tuple(f"{self}.{column}" for column in COLUMNS)

    @property
    def symmetric(self) -> tuple[str, ...]:
        """Names of the columns of F score and cosine if candidates are compared with references."""
        return (f"{self}.f", f"{self}.cosine") if self.against == "references" else ()

    @property
    def pretraining_sources(self) -> UInt32Array | None:
        """Hashes (`short_keys`) of the sources of judged translations that the encoder was trained on."""
        return find(self.encoder).training_sources

    def note(self, dataset: Dataset) -> str | None:
        """Return notes on target languages and characters that the encoder does not know, or None."""
        encoder, notes = self._encoder(), []
        made_for = encoder.files.languages
        if made_for and (others := sorted({*dataset.target_languages.tolist()} - {"", *made_for})):
            notes.append(
                f"the encoder {self.encoder} was not made for the language {', '.join(others)}: "
                "compare it with chrf on your own judgements"
            )
        if self.needs.language:
            # texts with characters unknown to an English encoder are not English
            return join_notes(notes) or english_note([self], dataset)
        texts = pd.concat([dataset.candidates["text"], _texts(dataset, self.against)]).drop_duplicates().tolist()
        if unknown := encoder.unknown(texts):
            notes.append(
                f"the encoder {self.encoder} does not know all characters of {len(unknown):,} of "
                f"{counted(len(texts), 'text')}: it cannot tell {unknown[0]!r} from other unknown characters"
            )
        return join_notes(notes)

    def check_ready(self) -> None:
        """Raise an error if the encoder or its runtime is missing, or the model was trained with another encoder."""
        self._encoder()

    def fit(self, dataset: Dataset) -> Semantic:
        """Record the digest of the encoder; nothing else is learnt."""
        return dataclasses.replace(self, learnt=load(self.encoder).files.digest)

    def signed(self) -> dict[str, object]:
        """Return the encoder's digest, which replaces its name in the signature; empty for an included encoder."""
        if self.encoder in (INCLUDED, MULTILINGUAL, SMALL):
            return {}
        return {"encoder": (self.learnt or find(self.encoder).digest)[:12]}

    def signature(self) -> str:
        """Return the notation with all options and, after `fit`, the beginning of the encoder's digest."""
        return super().signature() + (f"#{self.learnt[:8]}" if self.learnt else "")

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the digest of the encoder."""
        return {"encoder": np.frombuffer(bytes.fromhex(self.learnt), dtype=np.uint8)} if self.learnt else {}

    def with_state(self, arrays: Mapping[str, npt.NDArray[Any]]) -> Semantic:
        """Return the extractor whose `state` is `arrays`."""
        check_arrays(arrays, STATE, str(self))
        return dataclasses.replace(self, learnt=arrays["encoder"].tobytes().hex())

    def transform(self, dataset: Dataset) -> FloatArray:
        """Return the columns, shape (candidates, 4)."""
        result = np.full((len(dataset), len(COLUMNS)), -np.inf)
        candidate, target = self._pairs(dataset, np.arange(len(dataset)))
        # texts of like length meet in one batch
        targets = _texts(dataset, self.against)
        order = np.argsort(targets.str.len().to_numpy(np.int64)[target], kind="stable")
        candidate, target = candidate[order], target[order]
        sides = dataset.candidates["text"].iloc[candidate], targets.iloc[target]
        codes, texts = pd.factorize(pd.concat(sides, ignore_index=True))
        values = self.compare(texts.to_numpy(object).tolist(), codes.astype(np.int64).reshape(2, -1).T)
        np.maximum.at(result, candidate, values)
        return result

    def compare(self, texts: list[str], pairs: Int64Array) -> FloatArray:
        """Return the columns, (pairs, 4), for pairs of distinct `texts` given by their numbers, (pairs, 2)."""
        encoder = self._encoder()
        values = np.zeros((len(pairs), len(COLUMNS)))
        with RowCache("semantic", self._cache_name(encoder)) as cache:
            for start, stop in _blocks(texts, pairs):
                numbers, codes = np.unique(pairs[start:stop], return_inverse=True)
                some = [texts[number] for number in numbers.tolist()]
                values[start:stop] = self._values(encoder, cache, some, codes.reshape(-1, 2), (start, len(pairs)))
                progress.report("pairs compared", stop, len(pairs))
        return values

    def evidence(self, dataset: Dataset, candidate: int) -> dict[str, list[str]]:
        """Return matched words, as ``word~match 0.87``: for the candidate's words, then for the other text's."""
        encoder = self._encoder()
        _, targets = self._pairs(dataset, np.array([candidate]))
        target_texts = _texts(dataset, self.against)
        texts = [
            dataset.candidates["text"].iloc[candidate],
            *(target_texts.iloc[target] for target in targets.tolist()),
        ]
        vectors = self._vectors(encoder, encoder.split(texts))
        words = [encoder.words(text) for text in texts]
        evidence = {}
        for number in range(1, len(texts)):
            name = "source" if self.against == "source" else f"reference {number}"
            for title, left, right in ((name, 0, number), (f"{name}, its own words", number, 0)):
                evidence[title] = [
                    f"{words[left][each.word]}~{words[right][each.partner] if each.partner >= 0 else '(none)'} "
                    f"{each.similarity:.2f}"
                    for each in word_matches(vectors[left], vectors[right])
                ]
        return evidence

    def _encoder(self) -> Encoder:
        encoder = load(self.encoder)
        if self.learnt and self.learnt != encoder.files.digest:
            raise ModelError(
                f"the model was trained with a different encoder (SHA-256 {self.learnt[:8]}...) than the one "
                f"installed as {self.encoder!r} ({encoder.files.digest[:8]}...): "
                "install the encoder of the model, or train the model again"
            )
        return encoder

    def _layer(self, encoder: Encoder) -> int | None:
        return encoder.files.layer if self.layer is None else self.layer

    def _pairs(self, dataset: Dataset, rows: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Return the pairs to compare: indices into `rows`, and numbers of their references or sources."""
        source = dataset.candidate_source[rows]
        if self.against == "source":
            return np.arange(len(rows)), source
        references, offsets = take_rows(dataset.reference_offsets, source)
        return np.repeat(np.arange(len(rows)), np.diff(offsets)), references

    def _cache_name(self, encoder: Encoder) -> str:
        named = (encoder.files.digest, self._layer(encoder), self.special_tokens, _MATCHING, _version("onnxruntime"))
        return "|".join(map(str, named))

    def _vectors(
        self, encoder: Encoder, pieces: Subwords, count: Callable[[int], None] | None = None
    ) -> list[TextVectors]:
        special = self.special_tokens == "match"
        return text_vectors(encoder, pieces, text_keys(pieces), self._layer(encoder), special=special, count=count)

    def _values(
        self, encoder: Encoder, cache: RowCache, texts: list[str], codes: Int64Array, place: tuple[int, int]
    ) -> FloatArray:
        """Return features of the text pairs `codes` (pairs, 2) from the cache; compute and cache missing features."""
        pieces = encoder.split(texts)
        _refuse_long(np.diff(pieces.offsets)[codes], texts, codes, str(self))
        keys, different = pd.factorize(np.array(text_keys(pieces), dtype=object))
        size = len(codes)
        codes, which = np.unique(keys[codes], axis=0, return_inverse=True)
        names = [different[left] + different[right] for left, right in codes.tolist()]
        rows = cache.known(names)
        missing = [index for index, name in enumerate(names) if name not in rows]
        if missing:
            needed, pairs = np.unique(codes[missing], return_inverse=True)
            first = np.zeros(len(different), dtype=np.int64)
            first[keys[::-1]] = np.arange(len(keys))[::-1]
            encoded = 0

            def count(windows: int) -> None:
                nonlocal encoded
                encoded += windows
                done = min(encoded / len(needed), 1.0) * size
                progress.report("pairs compared", place[0] + int(done), place[1])

            vectors = self._vectors(encoder, pieces.take(first[needed]), count)
            values = match(vectors, pairs.reshape(-1, 2))
            fresh = {names[index]: row.tobytes() for index, row in zip(missing, values, strict=True)}
            cache.keep(fresh)
            rows |= fresh
        columns = np.frombuffer(b"".join(rows[name] for name in names), dtype=np.float64)
        return columns.reshape(-1, len(COLUMNS))[which.ravel()]


def _refuse_long(lengths: Int64Array, texts: Sequence[str], codes: Int64Array, name: str) -> None:
    """Refuse pairs of texts, with `lengths` in sub-words, that take too long to be compared; both are (pairs, 2)."""
    long = np.flatnonzero(lengths.prod(axis=1) > _LONGEST**2)
    if len(long):
        (first, second), text = lengths[long[0]].tolist(), texts[codes[long[0], 0]]
        what = f"texts of {first:,} and {second:,} sub-words are too long for {name} (the first: {shown(text[:60])})"
        limit = f"expected a product of at most {_LONGEST**2:,}, as of {_LONGEST:,} each"
        raise DataError(f"{what}, {limit}: split the texts or use another metric")


def _version(package: str) -> str:
    """Return the version of an installed package for the cache key of its results; empty if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _texts(dataset: Dataset, against: str) -> pd.Series:
    return (dataset.sources if against == "source" else dataset.references)["text"]


def _blocks(texts: Sequence[str], pairs: Int64Array) -> Iterator[tuple[int, int]]:
    """Yield blocks (start, stop) of pairs, each with about `_ROUND` characters in texts not in earlier blocks."""
    first = np.zeros(pairs.size, dtype=bool)
    first[np.unique(pairs, return_index=True)[1]] = True
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    new = np.where(first, lengths[pairs.ravel()], 0).reshape(-1, 2).sum(axis=1)
    block = np.cumsum(new) // _ROUND
    yield from pairwise([*np.flatnonzero(np.diff(block, prepend=-1)).tolist(), len(pairs)])
