"""Writing language models as ARPA files, the text format that KenLM and other toolkits read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranker.arrays import FloatArray, Int64Array
from ranker.errors import DataError
from ranker.files import replacing
from ranker.learning.lm.counts import NgramTrie
from ranker.learning.lm.kneser_ney import NgramModel

SPECIAL_WORDS = ("<unk>", "<s>", "</s>")
"""Special words, which cannot be words of the text, in the order of their nodes."""

_FIELD_BREAK = re.compile(r"[\x00\t\n\v\f\r ]")
# n-grams turned into text at a time, which bounds the memory that strings take
_CHUNK = 1_000_000


def write_arpa(model: NgramModel, vocabulary: Sequence[str], path: str | Path, *, comment: str | None = None) -> None:
    """Write a language model as an ARPA file, which replaces `path` once it is complete.

    The n-grams of an order are sorted by their words (code point order, the first word first), so the bytes depend on
    the training text alone and not on how its words are numbered. Logarithms are the shortest decimals that give
    back the same single-precision numbers, the precision of KenLM. Orders that have no n-gram, because no sentence
    is as long, are left out. KenLM itself reads no model of order 1.
    """
    trie = model.trie
    words = _words_of(model, vocabulary)
    alphabetical = sorted(range(1, len(words)), key=words.__getitem__)
    rank_of_word = np.zeros(len(words), dtype=np.int64)
    rank_of_word[alphabetical] = np.arange(1, len(words))
    strings = pa.array(words)
    sizes = [trie.nodes(order).stop - trie.nodes(order).start for order in range(1, trie.order + 1)]
    highest = sum(size > 0 for size in sizes)

    rank = np.zeros(len(trie.word), dtype=np.int64)
    with replacing(path) as stream:
        header = f"# {comment}\n" if comment else ""
        counts = "".join(f"ngram {order}={size}\n" for order, size in enumerate(sizes[:highest], start=1))
        stream.write(f"{header}\\data\\\n{counts}".encode())
        for order in range(1, highest + 1):
            nodes = trie.nodes(order)
            place = np.argsort(rank[trie.context[nodes]] * len(words) + rank_of_word[trie.word[nodes]], kind="stable")
            rank[nodes.start + place] = np.arange(len(place))
            stream.write(f"\n\\{order}-grams:\n".encode())
            for start in range(0, len(place), _CHUNK):
                part = nodes.start + place[start : start + _CHUNK]
                backoff = model.log10_backoff[part] if order < highest else None
                stream.write(ngram_lines(strings, _words_at(trie, part, order), model.log10_prob[part], backoff))
        stream.write(b"\n\\end\\\n")


def _words_of(model: NgramModel, vocabulary: Sequence[str]) -> list[str]:
    """Return the word of each unigram node, or an empty string for the root."""
    word_ids = model.trie.word_ids
    if len(word_ids) and word_ids[-1] >= len(vocabulary):
        raise DataError(f"word id {word_ids[-1]}: expected ids below {len(vocabulary)}, the size of the vocabulary")
    words = [vocabulary[word_id] for word_id in word_ids]
    known: set[str] = set()
    for word in words:
        check_word(word)
        if word in known:
            raise DataError(f"word {word!r} has two ids: expected a vocabulary of distinct words")
        known.add(word)
    return ["", *SPECIAL_WORDS, *words]


def check_word(word: str) -> None:
    """Refuse a word that an ARPA file cannot contain."""
    if word in SPECIAL_WORDS:
        raise DataError(f"{word!r} occurs in the training text, but is reserved in ARPA files: replace it in the text")
    if not word or _FIELD_BREAK.search(word):
        raise DataError(f"word {word!r} of the training text: expected words without white space for an ARPA file")


def _words_at(trie: NgramTrie, nodes: Int64Array, order: int) -> list[npt.NDArray[np.integer]]:
    columns: list[npt.NDArray[np.integer]] = []
    node: npt.NDArray[np.integer] = nodes
    for _ in range(order):
        columns.insert(0, trie.word[node])
        node = trie.context[node]
    return columns


def ngram_lines(
    strings: pa.Array,
    words: Sequence[npt.NDArray[np.integer]],
    log10_prob: FloatArray,
    log10_backoff: FloatArray | None,
) -> bytes:
    """Return the lines of an ARPA file for the n-grams of one order."""
    columns = [strings.take(pa.array(numbers)) for numbers in words]
    fields = [_decimals(log10_prob), pc.binary_join_element_wise(*columns, " ")]
    if log10_backoff is not None:
        fields.append(_decimals(log10_backoff))
    text: str = "\n".join(pc.binary_join_element_wise(*fields, "\t").to_pylist())
    return f"{text}\n".encode()


def _decimals(values: FloatArray) -> pa.Array:
    # adding zero turns -0.0 into 0.0
    return pa.array(values.astype(np.float32) + np.float32(0)).cast(pa.string())
