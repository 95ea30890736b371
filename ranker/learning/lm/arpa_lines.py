r"""Lines of ARPA files, checked, and rewritten in the one spelling that KenLM reads.

Some toolkits put text before ``\data\``, or spaces where KenLM expects a tab or the end of a line, which means the
same. KenLM accepts words that have two unigrams or are not in UTF-8, and its errors do not name a line.
"""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

import numpy as np

from ranker.errors import DataError, counted

TRAINED_BY = "ranker lm train:"
"""Prefix of the comment that records the tokenization of the training text."""
_LONGEST_LINE, _MOST_LINES, _SHORTEST_NGRAM = 100_000, 500, 4
_COUNT = re.compile(rb"ngram\s+(\d{1,9})\s*=\s*(\d{1,15})")
# KenLM takes other white space for a part of words
_SPACE = re.compile(rb"[ \t]+")
_OF_IRSTLM = "in IRSTLM's own format: convert it with compile-lm --text=yes"
_OTHER_FORMATS = {
    b"iARPA": _OF_IRSTLM,
    b"qARPA": _OF_IRSTLM,
    b"blmt": _OF_IRSTLM,
    b"Qblmt": _OF_IRSTLM,
    b"BZh": "packed by bzip2: unpack it, or pack it by gzip",
    b"\xfd7zXZ": "packed by xz: unpack it, or pack it by gzip",
    b"PK\x03\x04": "a zip archive: unpack it, or pack the file in it by gzip",
    b"\x1f\x8b": "packed twice by gzip: unpack it once",
    codecs.BOM_UTF16_LE: "in UTF-16: save it in UTF-8",
    codecs.BOM_UTF16_BE: "in UTF-16: save it in UTF-8",
}


@dataclass(eq=False)
class ArpaLines:
    """The lines of an ARPA file, read once, from the first to the last: first by `header`, then by another method."""

    stream: IO[bytes]
    name: str
    line: bytes = b""
    number: int = 0
    ended: bool = False
    words: dict[bytes, int] = field(default_factory=dict)

    def header(self, size: float = math.inf) -> tuple[list[int], dict[str, str]]:
        """Return the numbers of n-grams by order and ``ranker lm train``'s options; a file has at most `size` bytes."""
        trained = self._before_data()
        counts: list[int] = []
        self._next()
        while not self.ended and not self.line.startswith(b"\\") and (self.line or not counts):
            if self.line:
                declared = _COUNT.fullmatch(self.line)
                if declared is None or int(declared[1]) != len(counts) + 1:
                    raise self._found(f"ngram {len(counts) + 1}=COUNT in an ARPA file")
                counts.append(int(declared[2]))
            self._next()
        for order, count in enumerate(counts, 1):
            # SRILM declares no n-grams of an order if the text is short, and of the orders after it
            if not count and (order == 1 or any(counts[order:])):
                raise DataError(f"declares 0 n-grams of order {order}, expected at least 1", file=self.name)
        if sum(counts) * _SHORTEST_NGRAM > size:
            what = f"is truncated: {size:,} bytes are too few for the {sum(counts):,} n-grams declared: copy it again"
            raise DataError(what, file=self.name)
        return counts, trained

    def has_distinct_words(self, counts: list[int]) -> bool:
        """True if the words of the unigrams are distinct and in UTF-8, in a file that KenLM accepts."""
        self._skip_blank()
        try:
            # eight bytes for each word of a large model; words with equal hashes only cause the file to be rewritten
            words = np.fromiter((hash(self._unigram()) for _ in range(counts[0])), np.int64, counts[0])
        except UnicodeDecodeError:
            return False
        words.sort()
        return not (words[1:] == words[:-1]).any()

    def rewritten(self, counts: list[int]) -> Iterator[bytes]:
        """Yield the lines of the file as KenLM reads them, or raise an error about the first wrong line."""
        yield b"\\data\\"
        yield from (b"ngram %d=%d" % each for each in enumerate(counts, 1))
        for order, count in enumerate(counts, 1):
            self._skip_blank()
            if self.line != b"\\%d-grams:" % order:
                raise self._found(f"\\{order}-grams:")
            yield b"\n" + self.line
            for number in range(count):
                self._next()
                if not self.line or self.line.startswith(b"\\"):
                    declared = f"{counted(count, f'{order}-gram')}, as ngram {order}={count} declares"
                    raise self._found(f"{declared}, but only {number:,} precede it")
                yield self._ngram(order, len(counts))
            self._next()
            for word in (b"<s>", b"</s>") if order == 1 else ():
                if word not in self.words:
                    what = f"has no unigram {word.decode()}, which KenLM requires: train it on sentences"
                    raise DataError(what, file=self.name)
        self._skip_blank()
        if self.line != b"\\end\\":
            order, count = len(counts), counts[-1]
            raise self._found(f"\\end\\ after {counted(count, f'{order}-gram')}, as ngram {order}={count} declares")
        self._next()
        self._skip_blank()
        if not self.ended:
            raise self._found("nothing after \\end\\")
        yield b"\n\\end\\"

    def _before_data(self) -> dict[str, str]:
        r"""Read the lines up to ``\data\``, and return the options in the comment of ``ranker lm train``."""
        trained: dict[str, str] = {}
        other: DataError | None = None
        while self._next() != b"\\data\\":
            if self.line.startswith(b"#"):
                _, by, options = self.line.decode(errors="replace").partition(TRAINED_BY)
                trained |= dict(part.split("=", 1) for part in options.split() if "=" in part) if by else {}
            elif self.line and other is None:
                if known := next((what for start, what in _OTHER_FORMATS.items() if self.line.startswith(start)), None):
                    raise DataError(f"is {known}", file=self.name)
                other = self._error(
                    f"is not a language model: found {_shown(self.line)}, "
                    r"expected an ARPA file starting with \data\, or a binary KenLM file"
                )
            if self.ended or self.number >= _MOST_LINES:
                empty = "is empty" if self.ended else rf"has no \data\ in its first {_MOST_LINES} lines"
                raise other or DataError(f"{empty}, expected a language model (ARPA or KenLM binary)", file=self.name)
        return trained

    def _unigram(self) -> str:
        return b"".join(self.stream.readline(_LONGEST_LINE).split(None, 2)[1:2]).decode()

    def _ngram(self, order: int, highest: int) -> bytes:
        """Check the current line, which has an n-gram of `order` words, and return it as KenLM reads it."""
        fields = _SPACE.split(self.line)
        words = fields[1 : order + 1]
        if len(fields) not in (order + 1, order + 2):
            raise self._found(f"a log10 probability, {counted(order, 'word')} and perhaps a backoff weight")
        for text, called, most in zip(fields[:: order + 1], ("probability", "backoff weight"), (0, 99), strict=False):
            number = _number(text)
            if math.isnan(number) or number > most or (called != "probability" and math.isinf(number)):
                expected = "a number such as -0.5" if most else "a number up to 0, such as -1.5"
                raise self._error(f"found {_shown(text)} as log10 {called}, expected {expected}: create the file again")
        if order == highest and any(map(_number, fields[order + 1 :])):
            raise self._error(f"found a backoff weight, {_shown(fields[-1])}, expected none in the highest order")
        if order == 1:
            self._add_word(*words)
        elif unknown := [word for word in words if word not in self.words]:
            raise self._error(f"word {_shown(unknown[0])} has no unigram, expected one: create the file again")
        return b"\t".join([fields[0], b" ".join(words), *fields[order + 1 :]])

    def _add_word(self, word: bytes) -> None:
        try:
            word.decode()
        except UnicodeDecodeError:
            what = "expected words in UTF-8: convert the file, as by iconv -f latin1 -t utf-8"
            raise self._error(f"found {_shown(word)}, {what}") from None
        before = self.words.setdefault(word, self.number)
        if before != self.number:
            what = f"word {_shown(word)} has a unigram in line {before} too, expected one"
            raise self._error(f"{what}: create the file again")

    def _next(self) -> bytes:
        """Read the next line, and return it without the white space around it."""
        raw = self.stream.readline(_LONGEST_LINE)
        self.number += 1
        self.ended = not raw
        self.line = raw.removeprefix(codecs.BOM_UTF8 if self.number == 1 else b"").strip(b" \t\r\n")
        return self.line

    def _skip_blank(self) -> None:
        while not self.line and not self.ended:
            self._next()

    def _found(self, expected: str) -> DataError:
        found = "the end of the file" if self.ended else _shown(self.line) if self.line else "an empty line"
        return self._error(f"found {found}, expected {expected}: create the file again")

    def _error(self, what: str) -> DataError:
        return DataError(what, file=self.name, line=self.number)


def _number(text: bytes) -> float:
    """Return the number in a field, or NaN if the field is not a number."""
    try:
        return math.nan if b"_" in text else float(text)
    except ValueError:
        return math.nan


def _shown(text: bytes) -> str:
    return repr(text[:20].decode(errors="replace"))
