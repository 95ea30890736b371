"""Runs a sentence encoder over many texts: a vector for each sub-word and one for each text.

The library that runs the network is imported only when an encoder is used; everything else works without it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol

import numpy as np

from ranker.arrays import Float32Array, Int32Array, Int64Array, offsets_of, take_rows
from ranker.corpora.scripts import UNSPACED_LETTERS
from ranker.errors import ModelError, OptionError
from ranker.learning.encoder.files import SMALL, EncoderFiles, check_installed, find, reading_encoder
from ranker.learning.encoder.tokenizer_check import problem
from ranker.storage.plain_data import parse_json

Counter = Callable[[int], None]
_LONGEST_PROBE = 64
_UNSPACED = re.compile(f"[{UNSPACED_LETTERS}]")
_UNKNOWN = ("[UNK]", "<unk>")


@dataclass(frozen=True, eq=False)
class Subwords:
    """Sub-words of texts; text ``i`` has the entries ``offsets[i]`` to ``offsets[i + 1]`` of `ids` and `word`.

    A text with more sub-words than the encoder accepts at once is cut into several *windows*, each with special tokens
    of its own; any other text is one window.
    """

    ids: Int32Array
    word: Int32Array
    offsets: Int64Array
    windows: Int64Array

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def take(self, texts: Int64Array) -> Subwords:
        """Return the sub-words of the texts at the indices `texts`, in that order."""
        at, offsets = take_rows(self.offsets, texts)
        first = np.searchsorted(self.windows, self.offsets)
        chosen, _ = take_rows(first, texts)
        windows = offsets_of(np.diff(self.windows)[chosen])
        return Subwords(self.ids[at], self.word[at], offsets, windows)


@dataclass(frozen=True, eq=False)
class Embeddings:
    """Vectors of length 1 for the sub-words (`pieces`) and for the texts."""

    pieces: Float32Array
    texts: Float32Array


class Network(Protocol):
    """The network of an encoder, with its number of layers and the number of sub-words to process in a batch."""

    layers: int
    batch: int

    def threads(self) -> AbstractContextManager[ThreadPoolExecutor]:
        """Provide a thread pool in which each thread runs the network single-threaded."""

    def run(self, ids: Int64Array, layer: int) -> tuple[Float32Array, Float32Array]:
        """Return the vectors of `layer` and of the last layer, each of shape (texts, sub-words, width)."""


class Encoder:
    """A sentence encoder: its tokeniser and its network.

    The files may be untrusted: `reading_encoder` turns any error of a library into one line, and `_vectors`, the only
    place where a network runs, refuses output that is not of the right shape or not finite.
    """

    def __init__(self, files: EncoderFiles) -> None:
        check_installed(files.directory, onnx=files.onnx)
        self.files = files
        with reading_encoder(files):
            self._tokenizer = _tokenizer(files)
            whole = self._tokenizer.encode("a")
            special = np.array(whole.special_tokens_mask, dtype=bool)
            inner = np.flatnonzero(~special)
            self._probe = np.array(whole.ids, dtype=np.int32)
        if not len(inner) or len(self._probe) > _LONGEST_PROBE:
            what = f"its tokenizer splits the letter a into {len(inner)} sub-words and {special.sum()} special tokens"
            raise ModelError(
                f"{files.directory}: {what}, expected at least 1 sub-word, and at most {_LONGEST_PROBE} in all: use "
                "another encoder"
            )
        self._before, self._after = self._probe[: inner[0]], self._probe[inner[-1] + 1 :]

    @functools.cached_property
    def _network(self) -> Network:
        with reading_encoder(self.files):
            if self.files.onnx:
                from ranker.learning.encoder.onnx_network import OnnxNetwork

                return OnnxNetwork(self.files)
            from ranker.learning.encoder.torch_network import TorchNetwork

            return TorchNetwork(self.files)

    @functools.cached_property
    def _width(self) -> int:
        """Width of a vector, measured on the network's output for the letter a."""
        return int(self._vectors(self._probe[np.newaxis], self.layers, None)[0].shape[2])

    def _vectors(self, ids: Int32Array, layer: int, width: int | None) -> tuple[Float32Array, Float32Array]:
        """Run the network, check its output, and return the vectors of `layer` and of the last layer.

        Both arrays have the shape (texts, sub-words, width).
        """
        with reading_encoder(self.files):
            outputs = self._network.run(ids.astype(np.int64), layer)
            for values in outputs:
                sound = np.ndim(values) == 3 and values.shape[2] == (width or values.shape[2]) and values.shape[2] > 0
                if not sound or values.shape[:2] != ids.shape or not np.issubdtype(values.dtype, np.floating):
                    found = f"{np.asarray(values).dtype} of shape {np.shape(values)}"
                    raise ValueError(
                        f"its network returns {found} for {ids.shape[0]} texts of {ids.shape[1]} sub-words, expected "
                        f"numbers of shape {(*ids.shape, width or 'width')}"
                    )
                if not np.isfinite(values).all():
                    raise ValueError("its network returns NaN or infinity, expected finite numbers")
        layer_vectors, last = (np.asarray(values, dtype=np.float32) for values in outputs)
        return layer_vectors, last

    @functools.cached_property
    def layers(self) -> int:
        """Number of layers of the network."""
        return self._network.layers

    def split(self, texts: Sequence[str]) -> Subwords:
        """Cut texts into sub-words, with the special tokens that the network expects."""
        with reading_encoder(self.files):
            texts = [_sound(text) for text in texts]
            encoded = self._tokenizer.encode_batch(texts, add_special_tokens=False)
            counts = np.array([len(encoding) for encoding in encoded], dtype=np.int64)
            ids = np.fromiter(chain.from_iterable(encoding.ids for encoding in encoded), np.int32, counts.sum())
            words = map(_words, encoded, texts)
            word = np.fromiter(chain.from_iterable(words), np.int32, counts.sum())
        return _windows(ids, word, counts, self._before, self._after, self.files.longest)

    def words(self, text: str) -> list[str]:
        """Return the words of `text` to which the numbers in `Subwords.word` refer."""
        text = _sound(text)
        with reading_encoder(self.files):
            encoded = self._tokenizer.encode(text, add_special_tokens=False)
        spans: dict[int, tuple[int, int]] = {}
        for word, (start, stop) in zip(_words(encoded, text), encoded.offsets, strict=True):
            if word >= 0:
                first, last = spans.get(word, (start, stop))
                spans[word] = min(first, start), max(last, stop)
        last_word = max(spans, default=-1)
        return [text[slice(*spans.get(word, (0, 0)))].strip() for word in range(last_word + 1)]

    def places(self, text: str) -> list[tuple[int, int]]:
        """Return the span [start, end) in `text` of each sub-word that belongs to a word, in order."""
        before = len(text) - len(text.lstrip())
        text = _sound(text)
        with reading_encoder(self.files):
            encoded = self._tokenizer.encode(text, add_special_tokens=False)
        spans = zip(_words(encoded, text), encoded.offsets, strict=True)
        return [(before + start, before + stop) for word, (start, stop) in spans if word >= 0]

    def unknown(self, texts: Sequence[str]) -> list[str]:
        """Return, for each text that has characters unknown to the encoder, the first such character."""
        unknown = {self._tokenizer.token_to_id(name) for name in _UNKNOWN}

        def having(texts: Sequence[str]) -> list[str]:
            encoded = self._tokenizer.encode_batch(texts, add_special_tokens=False)
            return [text for text, each in zip(texts, encoded, strict=True) if not unknown.isdisjoint(each.ids)]

        with reading_encoder(self.files):
            texts = [_sound(text) for text in texts]
            # a character may be unknown only where it stands alone
            characters = set(having(sorted(set().union(*texts))))
            found = having([text for text in texts if not characters.isdisjoint(text)])
        return [next(character for character in text if character in characters) for text in found]

    def check_layer(self, layer: int | None) -> None:
        """Refuse a layer that the network does not have."""
        if layer is not None and not 1 <= layer <= self.layers:
            raise OptionError(f"layer={layer}: this encoder has layers 1 to {self.layers}")

    def embed(self, pieces: Subwords, layer: int | None = None, count: Counter | None = None) -> Embeddings:
        """Run the network on sub-words, and return the vectors of the sub-words and of the texts.

        Windows of equal length are processed together, a batch in each thread, so that the vectors of a text do not
        depend on other texts.
        """
        self.check_layer(layer)
        network, layer, width = self._network, layer or self.layers, self._width
        vectors = np.zeros((len(pieces.ids), width), dtype=np.float32)
        pooled = np.zeros((len(pieces.windows) - 1, width), dtype=np.float32)

        def run(batch: Int64Array) -> int:
            length = pieces.windows[batch[0] + 1] - pieces.windows[batch[0]]
            at = pieces.windows[batch][:, np.newaxis] + np.arange(length)
            vectors[at], last = self._vectors(pieces.ids[at], layer, width)
            pooled[batch] = last.sum(axis=1) if self.files.pooling == "mean" else last[:, 0]
            return len(batch)

        with network.threads() as pool:
            for done in pool.map(run, _batches(np.diff(pieces.windows), network.batch)):
                if count is not None:
                    count(done)
        starts = np.searchsorted(pieces.windows, pieces.offsets[:-1])
        texts = pooled[starts] if self.files.pooling == "first" else _sums(pooled, starts)
        return Embeddings(unit(vectors), unit(texts))


def _tokenizer(files: EncoderFiles) -> Any:
    from tokenizers import Tokenizer

    text = files.tokenizer.read_text(encoding="utf-8")
    if not files.included and (what := problem(parse_json(text, files.tokenizer.name))):
        raise ValueError(f"{files.tokenizer.name}: {what}")
    tokenizer = Tokenizer.from_str(text)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    # words of a text are not special tokens, even if they look like them
    tokenizer.encode_special_tokens = True
    return tokenizer


def _words(encoding: Any, text: str) -> list[int]:
    """Return the index of the word that each sub-word belongs to, or -1 for a sub-word outside words.

    In scripts without spaces each sub-word is a word.
    """
    words = [-1 if word is None else word for word in encoding.word_ids]
    if not _UNSPACED.search(text):
        return words
    spans = encoding.offsets
    alone = [bool(_UNSPACED.search(text, *span)) for span in spans]
    # sub-words of one character, or of a space before it, stay together
    starts = [
        not at or words[at] != words[at - 1] or ((alone[at] or alone[at - 1]) and spans[at][0] >= spans[at - 1][1])
        for at in range(len(words))
        if words[at] >= 0
    ]
    number = iter((np.cumsum(starts) - 1).tolist())
    return [next(number) if word >= 0 else -1 for word in words]


def unit(vectors: Float32Array) -> Float32Array:
    """Scale `vectors`, shape (n, width), to length 1; zero vectors stay zero."""
    length = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    return (vectors / np.where(length > 0, length, 1)[:, np.newaxis]).astype(np.float32, copy=False)


def _sums(rows: Float32Array, starts: Int64Array) -> Float32Array:
    sums: Float32Array = np.add.reduceat(rows, starts, axis=0) if len(starts) else rows
    return sums


def _windows(
    ids: Int32Array,
    word: Int32Array,
    counts: Int64Array,
    before: Int32Array,
    after: Int32Array,
    longest: int,
) -> Subwords:
    """Split each text's sub-words (`counts` per text) into windows of at most `longest`, special tokens included."""
    room = max(longest - len(before) - len(after), 1)
    windows = np.maximum(-(-counts // room), 1)
    first = offsets_of(windows)
    number = np.arange(first[-1]) - np.repeat(first[:-1], windows)
    inside = np.minimum(np.repeat(counts, windows) - number * room, room)
    ends = offsets_of(inside + len(before) + len(after))
    all_ids = np.zeros(ends[-1], dtype=np.int32)
    all_words = np.full(ends[-1], -1, dtype=np.int32)
    content = np.ones(ends[-1], dtype=bool)
    for tokens, starts in ((before, ends[:-1]), (after, ends[1:] - len(after))):
        for place, token in enumerate(tokens):
            all_ids[starts + place], content[starts + place] = token, False
    all_ids[content], all_words[content] = ids, word
    return Subwords(all_ids, all_words, ends[first], ends)


def _batches(lengths: Int64Array, size: int) -> list[Int64Array]:
    """Group windows of equal length into batches of about `size` sub-words, longest first."""
    batches = []
    for length in np.unique(lengths[lengths > 0])[::-1].tolist():
        equal, most = np.flatnonzero(lengths == length), max(1, size // length)
        batches += [equal[start : start + most] for start in range(0, len(equal), most)]
    return batches


def _sound(text: str) -> str:
    """Strip white space around `text`, and replace characters that are invalid in UTF-8."""
    return text.strip().encode("utf-8", "replace").decode()


@functools.lru_cache(maxsize=2)
def _encoder(files: EncoderFiles, _digest: str) -> Encoder:
    encoder = Encoder(files)
    if files.onnx and not files.included:
        # a network from elsewhere is tried out before work begins that needs it
        encoder._width  # noqa: B018
    return encoder


def load(encoder: str) -> Encoder:
    """Load the encoder with the name `encoder`, or the one in the directory `encoder`, once per process."""
    # missing packages come first: an encoder known by name may lack its weights too
    check_installed(encoder, onnx=encoder != SMALL)
    files = find(encoder)
    return _encoder(files, files.digest)
