"""The trained word aligner: alignment of sentence pairs, saving and loading."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray, Int32Array
from ranker.errors import ModelError, OptionError
from ranker.learning.aligner.decoding import KnownWords, link_posteriors
from ranker.learning.aligner.hmm import JUMPS, HmmTables
from ranker.learning.aligner.pairs import batches, make_pairs
from ranker.links import Links
from ranker.storage.array_rules import ArrayRule, check_arrays
from ranker.storage.model_files import StoredModel, read_model, write_model

THRESHOLD = 0.5
"""Default threshold for the product of the posteriors of both directions."""
_KIND = "word aligner"
TABLES = {
    "offsets": ArrayRule("int64", ("source words + 1",), offsets_into="entries"),
    "columns": ArrayRule("int32", ("entries",), least=0, below="target words"),
    "forward": ArrayRule("float32", ("entries",), least=0.0),
    "backward": ArrayRule("float32", ("entries",), least=0.0),
    "null_target": ArrayRule("float32", ("target words",), least=0.0),
    "null_source": ArrayRule("float32", ("source words",), least=0.0),
    "jumps": ArrayRule("float64", (2, JUMPS), above=0.0),
}
"""Types, shapes and bounds of the arrays of `HmmTables` in a model file."""
WORDS = {"utf8": ArrayRule("uint8", ("bytes",)), "lengths": ArrayRule("int32", ("words",), least=0)}
"""Types and shapes of the arrays of a vocabulary in a model file, as `_packed` makes them."""


@dataclass(frozen=True, eq=False)
class AlignmentModel:
    """A trained word aligner: its tables, null probability and vocabularies."""

    tables: HmmTables
    null_probability: float
    iterations: tuple[int, int]
    agreement: bool
    log_likelihood: FloatArray
    pairs: int
    source_vocabulary: tuple[str, ...]
    target_vocabulary: tuple[str, ...]
    text: Mapping[str, str | bool]

    def align(
        self,
        source_values: npt.ArrayLike,
        source_offsets: npt.ArrayLike,
        target_values: npt.ArrayLike,
        target_offsets: npt.ArrayLike,
        *,
        source_vocabulary: Sequence[str] | None = None,
        target_vocabulary: Sequence[str] | None = None,
        threshold: float = THRESHOLD,
    ) -> Links:
        """Link the words of sentence pairs if the product of the two directions' posteriors is at least `threshold`.

        A word unseen in training links to a word of the same spelling, or else by its position to a word that
        nothing else explains. A pair with an empty sentence has no links.
        """
        if not 0.0 < threshold <= 1.0:
            raise OptionError(f"threshold={threshold}: expected a number above 0 and at most 1")
        words = self._words(source_vocabulary, target_vocabulary)
        sizes = len(words.source), len(words.target)
        pairs = make_pairs(source_values, source_offsets, target_values, target_offsets, sizes)
        links = [np.zeros((3, 0), dtype=np.int64)]
        for first, batch in batches(pairs):
            product = np.zeros(batch.cell_offsets[-1])
            link_posteriors(
                batch, self.tables, words, self.null_probability, product, np.arange(len(batch.cell_offsets) - 1)
            )
            cells = np.flatnonzero(product >= threshold)
            pair = np.searchsorted(batch.cell_offsets, cells, side="right") - 1
            position = np.divmod(cells - batch.cell_offsets[pair], np.diff(batch.target_offsets)[pair])
            links.append(np.stack([pair + first, *position]))
        pair, source, target = np.concatenate(links, axis=1)
        offsets = np.searchsorted(pair, np.arange(len(pairs.cell_offsets))).astype(np.int64)
        return Links(source.astype(np.int32), target.astype(np.int32), offsets)

    def _words(self, source: Sequence[str] | None, target: Sequence[str] | None) -> KnownWords:
        if (source is None) != (target is None):
            raise OptionError("found only one of source_vocabulary and target_vocabulary, expected both or neither")
        own = self.source_vocabulary, self.target_vocabulary
        # a word of the vocabulary that occurred in no sentence has no entries
        met = np.diff(self.tables.offsets), np.bincount(self.tables.columns, minlength=len(self.tables.null_target))
        if source is None or target is None:
            numbers = [np.arange(len(numbers), dtype=np.int32) for numbers in met]
            twins = _numbers(*own) if all(own) else np.full(len(met[0]), -1, dtype=np.int32)
        elif all(own):
            numbers = [_numbers(words, known) for words, known in zip((source, target), own, strict=True)]
            twins = _numbers(source, target)
        else:
            raise ModelError("this aligner was trained on word ids only and cannot align words: give word ids")
        for ids, count in zip(numbers, met, strict=True):
            ids[(ids >= 0) & (count[ids] == 0)] = -1
        return KnownWords(numbers[0], numbers[1], twins)

    def save(self, path: str | Path) -> None:
        """Write the model to one file, as `ranker.storage.model_files` describes; equal models give equal bytes."""
        model = {
            "kind": _KIND,
            "null_probability": self.null_probability,
            "iterations": list(self.iterations),
            "agreement": self.agreement,
            "log_likelihood": self.log_likelihood.tolist(),
            "pairs": self.pairs,
            "text": dict(self.text),
        }
        words = {"source": _packed(self.source_vocabulary), "target": _packed(self.target_vocabulary)}
        write_model(path, StoredModel(model, {"tables": self.tables._asdict(), **words}), self._card())

    def _card(self) -> str:
        ibm1, hmm = self.iterations
        tables = self.tables
        return (
            f"# Word aligner\n\nLearnt from {self.pairs:,} sentence pairs with {len(tables.null_source):,} source and "
            f"{len(tables.null_target):,} target words: {ibm1} iterations of IBM model 1 and {hmm} of an HMM in both "
            f"directions{', trained to agree' if self.agreement else ''}.\n\nApply it with `ranker align apply`.\n"
        )

    @classmethod
    def load(cls, path: str | Path) -> AlignmentModel:
        """Read a model that `save` wrote."""
        if not Path(path).exists():
            raise ModelError(f"{path}: no such aligner; train one with: ranker align train -s SRC -t TGT -o {path}")
        stored = read_model(path)
        model, arrays = stored.model, stored.arrays
        if model.get("kind") != _KIND:
            raise ModelError(f"{path}: is not a word aligner; train one with: ranker align train -s SRC -t TGT -o M")
        try:
            sizes = check_arrays(arrays["tables"], TABLES, str(path))
            tables = HmmTables(**arrays["tables"])
            vocabularies = tuple(
                _unpacked(arrays[side], sizes[f"{side} words"], str(path)) for side in ("source", "target")
            )
            loaded = cls(
                tables=tables,
                null_probability=float(model["null_probability"]),
                iterations=(int(model["iterations"][0]), int(model["iterations"][1])),
                agreement=bool(model["agreement"]),
                log_likelihood=np.array(model["log_likelihood"], dtype=np.float64).reshape(-1, 2),
                pairs=int(model["pairs"]),
                source_vocabulary=vocabularies[0],
                target_vocabulary=vocabularies[1],
                text=dict(model["text"]),
            )
        except ModelError:
            raise
        except (KeyError, TypeError, ValueError, IndexError, OverflowError):
            loaded = None
        if loaded is None or not 0.0 < loaded.null_probability < 1.0 or not _sorted(loaded.tables):
            raise ModelError(f"{path}: a part of the aligner is missing or damaged; train it again")
        return loaded


def _sorted(tables: HmmTables) -> bool:
    """True if there are entries, and the target words of each source word are sorted and distinct."""
    word = np.repeat(np.arange(len(tables.offsets) - 1), np.diff(tables.offsets))
    keys = word * len(tables.null_target) + tables.columns
    return len(keys) > 0 and bool((keys[1:] > keys[:-1]).all())


def _numbers(words: Sequence[str], known: Sequence[str]) -> Int32Array:
    """Return the index of each word in `known`, or -1 if the word is not there."""
    number = {word: index for index, word in enumerate(known)}
    return np.array([number.get(word, -1) for word in words], dtype=np.int32)


def _packed(words: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """Return words as two arrays: the concatenated UTF-8 bytes, and the number of bytes of each word."""
    raw = [word.encode("utf-8", "surrogatepass") for word in words]
    lengths = np.array([len(word) for word in raw], dtype=np.int32)
    return {"utf8": np.frombuffer(b"".join(raw), dtype=np.uint8), "lengths": lengths}


def _unpacked(arrays: Mapping[str, npt.NDArray[Any]], size: int, what: str) -> tuple[str, ...]:
    """Return the words in arrays made by `_packed`; raise an error if their number is neither `size` nor 0."""
    sizes = check_arrays(arrays, WORDS, what)
    bounds = [0, *itertools.accumulate(arrays["lengths"].tolist())]
    if sizes["words"] not in (0, size) or bounds[-1] != sizes["bytes"]:
        raise ModelError(
            f"{what}: has a vocabulary of {sizes['words']:,} words with {bounds[-1]:,} bytes, expected {size:,} words "
            f"with {sizes['bytes']:,} bytes; train it again"
        )
    raw = arrays["utf8"].tobytes()
    return tuple(raw[first:last].decode("utf-8", "surrogatepass") for first, last in itertools.pairwise(bounds))
