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
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ranker.arrays import BoolArray
from ranker.errors import DataError, MissingError
from ranker.files import display_name, printable, reading
from ranker.learning.lm.arpa_lines import ArpaLines
from ranker.learning.lm.counts import MAX_ORDER, as_sentences
from ranker.learning.lm.kneser_ney import SentenceScores

INSTALL = "pip install 'mt-ranker[kenlm]'"
_MAGIC = b"mmap lm http://kheafield.com/code "
_VERSION = _MAGIC + b"format version 5\n\0"
_TEST_VALUES = (0.0, 1.0, -0.5, 1, 2**32 - 1, 0, 1)
_GZIP = b"\x1f\x8b"
_DENSEST_GZIP = 1032
_LAST_BYTES = 10_000
_REASON = re.compile(
    r"\A.*? threw \w+(?: because `.*?')?\.? |(?: in the \d-gram at byte \d+)? Byte: \d+.*", flags=re.DOTALL
)
# words that KenLM would split, or take for sentence boundaries, which cost nothing
_NOT_A_WORD = re.compile(r"[\t\n\v\f\r ]|\A\Z|\A</?s>\Z")
_SENTENCES = 20_000
_ZERO = -99.0
"""The logarithm of zero in ARPA files. KenLM takes -100 for ``<unk>`` in a file without it."""


@dataclass(frozen=True)
class LanguageModelHeader:
    """Header of a language model file: its order, number of words, training options if known, and format."""

    order: int
    words: int
    trained: Mapping[str, str] = field(default_factory=dict)
    binary: bool = False


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
        unpacked = _unpacked(stream)
        if unpacked is not stream:
            return _arpa_header(unpacked, size * _DENSEST_GZIP, name)
        header = _arpa_header(stream, size, name)
        stream.seek(max(size - _LAST_BYTES, 0))
        if not stream.read().rstrip().endswith(b"\\end\\"):
            raise DataError(
                r"is truncated, or has text after its end: expected \end\ there; copy or create it again", file=name
            )
        return header


def _arpa_header(stream: IO[bytes], size: int, name: str) -> LanguageModelHeader:
    lines = ArpaLines(stream, name)
    counts, trained = lines.header(size)
    _check_order(len(counts), name)
    return LanguageModelHeader(len(counts), counts[0], trained)


def _check_order(order: int, name: str) -> None:
    if not 2 <= order <= MAX_ORDER:
        raise DataError(
            f"is a model of order {order}: expected order 2 to {MAX_ORDER}, as supported by KenLM", file=name
        )


def _binary_header(stream: IO[bytes], size: int, name: str) -> LanguageModelHeader:
    again = "build it again with KenLM's build_binary"
    raw = stream.read(108 + 8 * MAX_ORDER)
    if not raw.startswith(_VERSION):
        what = "is incomplete" if b"incomplete" in raw[:60] else "is of another version of KenLM's format, expected 5"
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
    return LanguageModelHeader(order, counts[0], binary=True)


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
    header, name = read_header(called), display_name(called)
    try:
        with contextlib.suppress(*(() if header.binary else (OSError, RuntimeError))):
            model = _by_kenlm(path)
            if header.binary or _has_distinct_words(path, name):
                return KenlmModel(model, header)
        with _copy(path, name) as rewritten:
            return KenlmModel(_by_kenlm(rewritten), header)
    except MemoryError:
        binary = "" if header.binary else "convert it by KenLM's build_binary, or "
        raise DataError(f"needs more memory than available: {binary}use a smaller model", file=name) from None
    except (OSError, RuntimeError, UnicodeError) as error:
        raise DataError(f"cannot be read by KenLM: {_reason(error)}; rebuild it", file=name) from None


@contextlib.contextmanager
def _copy(path: Path, name: str) -> Iterator[Path]:
    """Provide a copy of an ARPA file in the spelling that KenLM reads."""
    with contextlib.ExitStack() as opened:
        try:
            rewritten = Path(opened.enter_context(tempfile.TemporaryDirectory())) / "rewritten.arpa"
            with rewritten.open("wb") as target:
                target.writelines(line + b"\n" for line in _rewritten(path, name))
        except OSError as error:
            what = f"a copy that KenLM can read cannot be written: {error.strerror or error}"
            raise DataError(f"{what}; set TMPDIR to a folder with more room", file=name) from None
        yield rewritten


def _rewritten(path: Path, name: str) -> Iterator[bytes]:
    with reading(name), path.open("rb") as stream:
        lines = ArpaLines(_unpacked(stream), name)
        yield from lines.rewritten(lines.header()[0])


def _has_distinct_words(path: Path, name: str) -> bool:
    with path.open("rb") as stream:
        lines = ArpaLines(_unpacked(stream), name)
        return lines.has_distinct_words(lines.header()[0])


def _unpacked(stream: IO[bytes]) -> IO[bytes]:
    """Return a stream, unpacked if it begins as a gzip file does."""
    start = stream.read(len(_GZIP))
    stream.seek(0)
    return cast(IO[bytes], gzip.GzipFile(fileobj=stream)) if start == _GZIP else stream


def _by_kenlm(path: Path) -> Any:
    import kenlm

    config = kenlm.Config()
    config.show_progress = False
    config.arpa_complain = kenlm.ARPALoadComplain.NONE
    config.load_method = kenlm.LoadMethod.LAZY
    with _silent():
        return kenlm.Model(str(path), config)


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Suppress native code's output to standard error; the user gets a one-line error instead."""
    try:
        saved = os.dup(2)
    except OSError:
        # standard error is closed
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
