"""Reads dependency treebanks in CoNLL-U, the format of Universal Dependencies.

A sentence is kept as columns: one entry a word. Empty nodes (``8.1``) are left out, since only the basic tree
is read. A multi-word token (``1-2``) whose words spell it, such as ``don't`` = ``do`` + ``n't``, stays split; one
whose words do not spell it, such as French ``du`` = ``de`` + ``le``, becomes one word, because no tokenizer
working on raw text could split it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ranker.errors import DataError, counted
from ranker.files import display_name, read_text

_COLUMNS = 10
_ID, _FORM, _LEMMA, _UPOS, _HEAD, _RELATION = 0, 1, 2, 3, 6, 7
ROOT = -1


@dataclass(frozen=True)
class Sentence:
    """One sentence of a treebank; every tuple has one entry a word."""

    forms: tuple[str, ...]
    lemmas: tuple[str, ...]
    tags: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]
    text: str

    def __len__(self) -> int:
        return len(self.forms)


class _Word(NamedTuple):
    form: str
    lemma: str
    tag: str
    head: int
    relation: str
    line: int


def read_conllu(path: str | Path) -> list[Sentence]:
    """Read the sentences of a CoNLL-U file, plain or gzipped."""
    return parse_conllu(read_text(path), display_name(path))


def parse_conllu(text: str, file: str) -> list[Sentence]:
    """Parse the text of a CoNLL-U file; `file` is the name that messages give it."""
    return [_sentence(lines, file) for lines in _blocks(text)]


def _blocks(text: str) -> Iterator[list[tuple[int, str]]]:
    """Yield the numbered lines of each sentence that has any word."""
    block: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            block.append((number, line))
        elif block:
            if any(not line.startswith("#") for _, line in block):
                yield block
            block = []
    if any(not line.startswith("#") for _, line in block):
        yield block


def _sentence(lines: Sequence[tuple[int, str]], file: str) -> Sentence:
    words: list[_Word] = []
    spans: list[tuple[int, int, str, int]] = []
    text = ""
    for number, line in lines:
        if line.startswith("#"):
            key, _, value = line[1:].partition("=")
            text = value.strip() if key.strip() == "text" else text
            continue
        columns = line.split("\t")
        if len(columns) != _COLUMNS:
            what = f"{counted(len(columns), 'column')}, expected {_COLUMNS} separated by tabs (CoNLL-U)"
            raise DataError(what, file=file, line=number)
        if "." in columns[_ID]:
            continue
        if "-" in columns[_ID]:
            spans.append((*_span(columns[_ID], file, number), columns[_FORM], number))
        else:
            words.append(_word(columns, len(words) + 1, file, number))
    if not words:
        raise DataError("a sentence without words", file=file, line=lines[0][0])
    _check_tree(words, file)
    end = len(words)
    for first, last, form, number in reversed(spans):
        if last > end:
            what = f"the range {first + 1}-{last} overlaps another one or leaves the sentence"
            raise DataError(what, file=file, line=number)
        end = first
        if "".join(word.form for word in words[first:last]) != form:
            words = _merged(words, first, last, form)
    forms, lemmas, tags, heads, relations, _ = zip(*words, strict=True)
    return Sentence(forms, lemmas, tags, heads, relations, text or " ".join(forms))


def _word(columns: Sequence[str], expected: int, file: str, line: int) -> _Word:
    if columns[_ID] != str(expected):
        raise DataError(f"word id {columns[_ID]!r}, expected {expected}", file=file, line=line)
    if not columns[_FORM]:
        raise DataError("a word without a form", file=file, line=line)
    try:
        head = int(columns[_HEAD])
    except ValueError:
        raise DataError(f"head {columns[_HEAD]!r} is not an integer; 0 marks the root", file=file, line=line) from None
    # some treebanks write numbers with inner spaces as one word; no tokenizer here gives such a word
    form = columns[_FORM].replace(" ", "\N{NO-BREAK SPACE}")
    return _Word(form, columns[_LEMMA], columns[_UPOS], head - 1, columns[_RELATION], line)


def _span(identifier: str, file: str, line: int) -> tuple[int, int]:
    """Return the index of the first word of a multi-word token, and the index after its last word."""
    first, _, last = identifier.partition("-")
    if not (first.isdecimal() and last.isdecimal() and len(first + last) < 10 and 1 <= int(first) < int(last)):
        raise DataError(f"id {identifier!r} is not a range such as 1-2", file=file, line=line)
    return int(first) - 1, int(last)


def _check_tree(words: Sequence[_Word], file: str) -> None:
    count = len(words)
    roots = []
    for position, word in enumerate(words):
        if not ROOT <= word.head < count:
            raise DataError(
                f"head {word.head + 1} is outside the sentence, expected 0 to {count}",
                file=file,
                line=word.line,
            )
        if word.head == position:
            raise DataError(f"word {position + 1} is its own head; 0 marks the root", file=file, line=word.line)
        if word.head == ROOT:
            roots.append(word)
    if len(roots) != 1:
        line = roots[1].line if roots else words[0].line
        raise DataError(f"{len(roots)} roots (head 0) in one sentence, expected 1", file=file, line=line)
    reached = {ROOT}
    while new := {place for place, word in enumerate(words) if word.head in reached} - reached:
        reached |= new
    if loose := set(range(count)) - reached:
        raise DataError("the heads form a cycle, expected a tree", file=file, line=words[min(loose)].line)


def _merged(words: Sequence[_Word], first: int, last: int, form: str) -> list[_Word]:
    """Replace words[first:last] by one word that takes the place of the first whose head is outside."""
    top = next(word for word in words[first:last] if not first <= word.head < last)

    def moved(head: int) -> int:
        return head if head <= first else first if head < last else head - (last - first - 1)

    result = [*words[:first], top._replace(form=form, lemma=form), *words[last:]]
    return [word._replace(head=moved(word.head)) for word in result]
