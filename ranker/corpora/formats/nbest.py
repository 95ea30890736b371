"""n-best lists: the translations a decoder considered for every sentence, with the features it weighed.

Columns instead of one Python object per hypothesis: sentence ids, codes of distinct texts, one float matrix of
features. The file format is that of Moses, one hypothesis per line, with `` ||| `` between the fields::

    0 ||| the house ||| LM0= -12.5 TM0= -1 -2.5 ||| -3.75 ||| 0-0 1-1

that is sentence, text, features (also without names), and, where they are given, the decoder's score and the word
alignment. `ranker.corpora.formats.nbest_reading` reads it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import block_offsets
from ranker.corpora.records import first_repeated, shown
from ranker.errors import DataError
from ranker.files import display_name, write_bytes

Layout = tuple[tuple[str, int], ...]
"""Name of each feature, empty if it has none, and the number of its values."""

SEPARATOR = "|||"
NAMELESS = "F"
"""Name of unnamed features."""


@dataclass(frozen=True, eq=False)
class NBestList:
    """Translation hypotheses with their features, sorted by sentence."""

    name: str
    sentence: Int64Array
    text: Int64Array
    texts: pa.Array
    features: FloatArray
    layout: Layout
    score: FloatArray | None = None
    alignment: pa.Array | None = None

    def __len__(self) -> int:
        """Return the number of hypotheses."""
        return len(self.sentence)

    def __repr__(self) -> str:
        """Return the list's name and sizes."""
        return f"<NBestList {self.name}: {len(self):,} hypotheses, {self.sentences:,} sentences, {self.described}>"

    @functools.cached_property
    def columns(self) -> tuple[str, ...]:
        """Column names: the features' names, followed by ``.1``, ``.2``, ... for features with several values."""
        return column_names(self.layout)

    @property
    def described(self) -> str:
        """Description of the features and the numbers of their values, for a message."""
        return describe_layout(self.layout)

    @functools.cached_property
    def sentences(self) -> int:
        """Number of sentences that have at least one hypothesis."""
        return int((np.diff(self.sentence) > 0).sum() + (len(self) > 0))

    def offsets(self, sentences: int) -> Int64Array:
        """Return offsets, shape (sentences + 1,), of each sentence's block of hypotheses."""
        return block_offsets(self.sentence, sentences)

    def text_of(self, hypotheses: npt.ArrayLike) -> list[str]:
        """Return the texts of the given `hypotheses`."""
        taken: list[str] = self.texts.take(pa.array(self.text[np.asarray(hypotheses, dtype=np.int64)])).to_pylist()
        return taken

    def select(self, keep: npt.ArrayLike) -> NBestList:
        """Select the hypotheses for which the mask `keep` (hypotheses,) is true, in the same order."""
        rows = np.flatnonzero(np.asarray(keep, dtype=bool))
        return _take(self, rows)


def column_names(layout: Layout) -> tuple[str, ...]:
    """Return the name of each column of a feature matrix, such as ``TM0.2`` for the second value of ``TM0``."""
    return tuple(
        (name or NAMELESS) + (f".{number + 1}" if size > 1 else "") for name, size in layout for number in range(size)
    )


def describe_layout(layout: Layout) -> str:
    """Describe the layout of features by their names, and by the number of values of those that have several."""
    sizes = (f"{name or 'nameless'} ({size} values)" if size > 1 else name or "nameless" for name, size in layout)
    return ", ".join(sizes) or "no feature"


def from_columns(
    name: str,
    sentence: npt.ArrayLike,
    texts: Sequence[str],
    features: npt.ArrayLike,
    layout: Layout,
    *,
    score: npt.ArrayLike | None = None,
) -> NBestList:
    """Make an n-best list from columns of equal length."""
    sentences = np.asarray(sentence, dtype=np.int64)
    matrix = np.ascontiguousarray(features, dtype=np.float64)
    for feature, _ in layout:
        if feature and (any(character.isspace() for character in feature) or SEPARATOR in feature or "=" in feature):
            raise DataError(f"feature {shown(feature)}: expected a name without white space, '=' or '|||'", file=name)
    twice = first_repeated(column_names(layout))
    if twice is not None:
        raise DataError(f"feature {shown(twice)} is duplicated; rename or remove one feature", file=name)
    if (np.diff(sentences, prepend=0) < 0).any():
        raise DataError("sentence numbers are negative or decrease: expected ascending numbers from 0", file=name)
    bad = np.argwhere(~np.isfinite(matrix))
    if len(bad):
        row, column = bad[0]
        what = f"feature {column_names(layout)[column]} of hypothesis {row + 1} is {matrix[row, column]}"
        raise DataError(f"{what}, expected a finite number", file=name)
    encoded = pc.dictionary_encode(pc.utf8_trim_whitespace(pa.array(texts, type=pa.large_string())))
    for bad_text in (SEPARATOR, "\n", "\r"):
        index = pc.index(pc.match_substring(encoded.dictionary, bad_text), True).as_py()
        if index >= 0:
            raise DataError(
                f"text {shown(encoded.dictionary[index].as_py())}: replace {bad_text!r}, not allowed in n-best lists",
                file=name,
            )
    return NBestList(
        name,
        sentences,
        encoded.indices.to_numpy().astype(np.int64),
        encoded.dictionary,
        matrix,
        tuple(layout),
        None if score is None else np.asarray(score, dtype=np.float64),
    )


def merge(first: NBestList, second: NBestList) -> NBestList:
    """Merge two lists by sentence, `first` before `second`, dropping entries with equal sentence, text and features."""
    if first.layout != second.layout:
        raise DataError(
            f"has the features {second.described}; expected {first.described}, as in {first.name}",
            file=second.name,
        )
    encoded = pc.dictionary_encode(pa.chunked_array([first.texts, second.texts]).combine_chunks())
    number = encoded.indices.to_numpy().astype(np.int64)
    text = np.concatenate([number[: len(first.texts)][first.text], number[len(first.texts) :][second.text]])
    sentence = np.concatenate([first.sentence, second.sentence])
    features = np.concatenate([first.features, second.features])
    keys = pd.DataFrame(np.column_stack([sentence, text]), columns=["sentence", "text"])
    values = pd.DataFrame(features, columns=[f"f{column}" for column in range(features.shape[1])])
    distinct = np.flatnonzero(~pd.concat([keys, values], axis=1).duplicated().to_numpy())
    scored = first.score is not None and second.score is not None
    aligned = first.alignment is not None and second.alignment is not None
    together = NBestList(
        first.name,
        sentence,
        text,
        encoded.dictionary,
        features,
        first.layout,
        np.concatenate([first.score, second.score]) if scored else None,
        pa.chunked_array([first.alignment, second.alignment]).combine_chunks() if aligned else None,
    )
    return _take(together, distinct[np.argsort(sentence[distinct], kind="stable")])


def _take(nbest: NBestList, rows: Int64Array) -> NBestList:
    return NBestList(
        nbest.name,
        nbest.sentence[rows],
        nbest.text[rows],
        nbest.texts,
        nbest.features[rows],
        nbest.layout,
        None if nbest.score is None else nbest.score[rows],
        None if nbest.alignment is None else nbest.alignment.take(pa.array(rows)),
    )


def write_nbest(nbest: NBestList, path: str | Path) -> None:
    """Write a list in Moses format, gzipped if the name ends in ``.gz``; reading it back gives equal columns."""
    write_bytes(path, nbest_bytes(nbest, path))


def nbest_bytes(nbest: NBestList, path: str | Path) -> bytes:
    """Return the bytes of a list in Moses format, to be written to `path`."""
    if not len(nbest):
        raise DataError("found no hypothesis to write, expected at least one", file=display_name(path))
    if not nbest.layout:
        raise DataError("has no features, expected at least one in an n-best list", file=nbest.name)
    numbers = iter(range(nbest.features.shape[1]))
    features: list[pa.Array | pa.Scalar] = []
    for name, size in nbest.layout:
        if name:
            features.append(pa.scalar(f"{name}=", pa.large_string()))
        features.extend(_written(nbest.features[:, next(numbers)]) for _ in range(size))
    fields = [
        pc.cast(pa.array(nbest.sentence), pa.large_string()),
        nbest.texts.take(pa.array(nbest.text)),
        _joined(features, " "),
    ]
    if nbest.score is not None:
        fields.append(_written(nbest.score))
    if nbest.alignment is not None:
        if nbest.score is None:
            fields.append(pa.array([""] * len(nbest), pa.large_string()))
        fields.append(nbest.alignment)
    lines = _joined(fields, f" {SEPARATOR} ")
    joined = _joined([lines, pa.scalar("", pa.large_string())], "\n")
    # the offsets of a fresh array begin at 0, so its buffer is the text of all lines one behind the other
    end = int(np.frombuffer(joined.buffers()[1], dtype=np.int64)[len(joined)])
    written: bytes = joined.buffers()[2].slice(0, end).to_pybytes()
    return written


def _written(values: FloatArray) -> pa.Array:
    """Format numbers as the shortest texts that read back as the same floats; whole numbers have no decimal point."""
    # + 0.0 makes -0 a 0, which is what merging takes it for
    return pc.cast(pa.array(np.ascontiguousarray(values + 0.0)), pa.large_string())


def _joined(parts: Sequence[pa.Array | pa.Scalar], between: str) -> pa.Array:
    joined = pc.binary_join_element_wise(*parts, pa.scalar(between, pa.large_string()))
    return joined.combine_chunks() if isinstance(joined, pa.ChunkedArray) else joined
