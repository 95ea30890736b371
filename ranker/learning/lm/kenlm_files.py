"""Language models in files of any size, read and queried through the package ``kenlm``: ARPA, and KenLM's own format.

KenLM trusts a file's header: a wrong number in it can crash the process or keep it busy for ever. So headers are
checked here before KenLM sees the file.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import hashlib
import importlib.util
import math
import mmap
import os
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranker.arrays import BoolArray
from ranker.errors import DataError, MissingError
from ranker.files import display_name, printable, reading
from ranker.learning.lm.counts import MAX_ORDER, as_sentences
from ranker.learning.lm.kneser_ney import SentenceScores

INSTALL = "pip install 'mt-ranker[kenlm]'"
TRAINED_BY = "ranker lm train:"
"""Prefix of the comment that records the tokenization of the training text."""

_MAGIC = b"mmap lm http://kheafield.com/code "
_VERSION = _MAGIC + b"format version 5\n\0"
_TEST_VALUES = (0.0, 1.0, -0.5, 1, 2**32 - 1, 0, 1)
_GZIP = b"\x1f\x8b"
_DENSEST_GZIP, _SHORTEST_LINE = 1032, 4
_LONGEST_LINE, _MOST_LINES = 10_000, 1_000
_SECTION = re.compile(rb"ngram\s+(\d+)\s*=\s*(\d{1,15})\s*\Z")
_REASON = re.compile(r"\A.*? threw \w+(?: because `.*?')?\.? ", flags=re.DOTALL)
# KenLM splits at these, and takes the boundaries of sentences for words that cost nothing
_NOT_A_WORD = re.compile(r"[\t\n\v\f\r ]|\A\Z|\A</?s>\Z")
_SENTENCES = 20_000
_ZERO = -99.0
"""The logarithm of zero in ARPA files. KenLM takes -100 for ``<unk>`` in a file without it."""


@dataclass(frozen=True)
class LanguageModelHeader:
    """Header of a language model file: its order, its number of words and, if known, its training."""

    order: int
    words: int
    trained: Mapping[str, str] = field(default_factory=dict)


def check_installed() -> None:
    """Raise an error if ``kenlm`` is not installed."""
    if importlib.util.find_spec("kenlm") is None:
        raise MissingError(f"language model files require kenlm: {INSTALL}")


def read_header(path: str | Path) -> LanguageModelHeader:
    """Read and check the header of a language model file (ARPA, plain or gzipped, or KenLM's binary format)."""
    name = display_name(path)
    with reading(name, "a language model (ARPA or KenLM binary)"), Path(path).open("rb") as stream:
        start = stream.read(len(_MAGIC))
        size = stream.seek(0, 2)
        stream.seek(0)
        if start == _MAGIC:
            return _binary_header(stream, size, name)
        if start.startswith(_GZIP):
            with gzip.GzipFile(fileobj=stream) as unzipped:
                return _arpa_header(unzipped, size * _DENSEST_GZIP, name)
        header = _arpa_header(stream, size, name)
        stream.seek(max(size - _LONGEST_LINE, 0))
        if not stream.read().rstrip().endswith(b"\\end\\"):
            raise DataError(r"is truncated: expected \end\ at its end; copy or create it again", file=name)
        return header


def _arpa_header(stream: IO[bytes] | gzip.GzipFile, size: int, name: str) -> LanguageModelHeader:
    trained: dict[str, str] = {}
    counts: list[int] = []
    data = False
    for number in range(1, _MOST_LINES):
        raw = stream.readline(_LONGEST_LINE)
        line = raw.strip()
        if not data:
            if line == b"\\data\\":
                data = True
            elif line.startswith(b"#"):
                trained.update(_trained(line.decode(errors="replace")))
            elif line or number > _MOST_LINES // 2:
                what = line[:20].decode(errors="replace")
                expected = r"expected an ARPA file starting with \data\, or a binary KenLM file"
                raise DataError(f"is not a language model: found {what!r}, {expected}", file=name, line=number)
            elif not raw:
                raise DataError("is empty, expected a language model (ARPA or KenLM binary)", file=name)
            continue
        if not line:
            break
        section = _SECTION.match(line)
        if section is None or int(section[1]) != len(counts) + 1:
            what = line[:20].decode(errors="replace")
            expected = f"expected ngram {len(counts) + 1}=COUNT in an ARPA file"
            raise DataError(f"found {what!r}, {expected}", file=name, line=number)
        counts.append(int(section[2]))
    _check_order(len(counts), name)
    if 0 in counts:
        raise DataError(f"declares 0 n-grams of order {counts.index(0) + 1}, expected at least 1", file=name)
    if sum(counts) * _SHORTEST_LINE > size:
        raise DataError(
            f"is truncated: {size:,} bytes are too few for the {sum(counts):,} n-grams that it declares", file=name
        )
    return LanguageModelHeader(len(counts), counts[0], trained)


def _trained(comment: str) -> dict[str, str]:
    _, by, options = comment.partition(TRAINED_BY)
    return dict(part.split("=", 1) for part in options.split() if "=" in part) if by else {}


def _check_order(order: int, name: str) -> None:
    if not 2 <= order <= MAX_ORDER:
        raise DataError(
            f"is a model of order {order}: expected order 2 to {MAX_ORDER}, as supported by KenLM", file=name
        )


def _binary_header(stream: IO[bytes], size: int, name: str) -> LanguageModelHeader:
    again = "build it again with KenLM's build_binary"
    raw = stream.read(108 + 8 * MAX_ORDER)
    if not raw.startswith(_VERSION):
        what = "is incomplete" if b"incomplete" in raw[:60] else "was built by another version of KenLM, expected 5"
        raise DataError(f"this binary language model {what}: {again} from the ARPA file", file=name)
    if len(raw) < 108 + 8 * MAX_ORDER:
        raise DataError(f"is truncated after {size} bytes: copy it again, or {again}", file=name)
    order, multiplier, kind, has_words, _ = struct.unpack_from("<B3xfIB3xI", raw, 88)
    if struct.unpack_from("<3f3IQ", raw, 56) != _TEST_VALUES or kind > 5 or not 1 <= multiplier < math.inf:
        raise DataError(f"is damaged, or was built on another type of computer: {again}", file=name)
    _check_order(order, name)
    counts = struct.unpack_from(f"<{order}Q", raw, 108)
    if 0 in counts or sum(counts) > size * 8:
        raise DataError(f"is truncated or damaged: {size:,} bytes are too few for its n-grams; {again}", file=name)
    if has_words:
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            first = content.rfind(b"<unk>\0")
            words = content[first:].count(b"\0") if first >= 0 and content[-1] == 0 else 0
        # <unk> is added where the ARPA file lacked it
        if words not in (counts[0], counts[0] + 1):
            raise DataError(f"is truncated or damaged: found {words:,} of its {counts[0]:,} words; {again}", file=name)
    return LanguageModelHeader(order, counts[0])


def digest(path: str | Path) -> str:
    """Return the SHA-256 of a file in hexadecimal, cached as long as the file is unchanged."""
    return _digest(*_state(path))


@functools.lru_cache(maxsize=8)
def _digest(path: Path, *_: int) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _state(path: str | Path) -> tuple[Path, int, int, int]:
    """Return the resolved path of a file and the attributes that change when it is written."""
    try:
        resolved = Path(path).resolve()
        facts = resolved.stat()
    except (OSError, ValueError):
        read_header(path)
        raise
    return resolved, facts.st_size, facts.st_mtime_ns, facts.st_ino


class KenlmModel:
    """Language model loaded by KenLM; made by `load`."""

    def __init__(self, model: Any, header: LanguageModelHeader) -> None:
        self._model = model
        self.header = header

    @property
    def order(self) -> int:
        """Number of words in the longest n-grams."""
        return self.header.order

    @functools.cached_property
    def closed(self) -> bool:
        """True if the model gives unknown words no probability, as SRILM's models do by default."""
        return bool(self._model.score("<unk>", bos=False, eos=False) <= _ZERO)

    def knows(self, words: Sequence[str]) -> BoolArray:
        """True for words in the model's vocabulary, shape (words,)."""
        return np.fromiter((word in self._model for word in _model_words(words)), dtype=np.bool_, count=len(words))

    def scores(
        self, words: Sequence[str], values: npt.ArrayLike, offsets: npt.ArrayLike, *, matched: bool
    ) -> SentenceScores:
        """Score sentences enclosed by ``<s>`` and ``</s>``; a closed model skips unknown words, as SRILM does."""
        ids, bounds = as_sentences(values, offsets)
        tokens = np.diff(bounds)
        log10_prob, lengths = np.zeros(len(tokens)), np.zeros(len(tokens))
        strings = pa.array(_model_words(words), pa.string())
        sums = np.concatenate([[0], np.cumsum(~self.knows(words)[ids])])
        unknown = sums[bounds[1:]] - sums[bounds[:-1]]
        for start in range(0, len(tokens), _SENTENCES):
            part = bounds[start : start + _SENTENCES + 1]
            taken = strings.take(pa.array(ids[part[0] : part[-1]]))
            lists = pa.ListArray.from_arrays(pa.array(part - part[0], pa.int32()), taken)
            sentences = pc.binary_join(lists, " ").to_pylist()
            rows = slice(start, start + len(sentences))
            log10_prob[rows] = [
                self._score_known(sentence) if self.closed and outside else self._model.score(sentence)
                for sentence, outside in zip(sentences, unknown[rows].tolist(), strict=True)
            ]
            if matched:
                lengths[rows] = [
                    sum(length for _, length, _ in self._model.full_scores(sentence)) for sentence in sentences
                ]
        return SentenceScores(log10_prob, tokens, unknown, lengths / (tokens + 1), self.closed)

    def _score_known(self, sentence: str) -> float:
        words = self._model.full_scores(sentence)
        return float(sum(log10_prob for log10_prob, _, unknown in words if not unknown))


def _model_words(words: Sequence[str]) -> list[str]:
    return ["<unk>" if _NOT_A_WORD.search(word) else word for word in words]


def load(path: str | Path) -> KenlmModel:
    """Load the language model in a file, cached while the file is unchanged; binary files are mapped into memory."""
    check_installed()
    return _load(*_state(path), str(path))


@functools.lru_cache(maxsize=2)
def _load(path: Path, size: int, changed: int, inode: int, called: str) -> KenlmModel:
    import kenlm

    header = read_header(called)
    config = kenlm.Config()
    config.show_progress = False
    config.arpa_complain = kenlm.ARPALoadComplain.NONE
    config.load_method = kenlm.LoadMethod.LAZY
    try:
        with _silent():
            model = kenlm.Model(str(path), config)
    except MemoryError:
        raise DataError("needs more memory than available: use a binary file", file=display_name(called)) from None
    except (OSError, RuntimeError, UnicodeError) as error:
        raise DataError(f"cannot be read by KenLM: {_reason(error)}; rebuild it", file=display_name(called)) from None
    return KenlmModel(model, header)


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Suppress native code's output to standard error; the user gets a one-line error instead."""
    try:
        saved = os.dup(2)
    except OSError:
        # it is closed
        yield
        return
    try:
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


def _reason(error: Exception) -> str:
    """Return KenLM's reason for refusing a file, without locations in KenLM's source code."""
    _, _, inner = str(error).partition("(")
    return printable(_REASON.sub("", inner.removesuffix(")")).split("\n")[0].strip())[:200] or "no reason given"
