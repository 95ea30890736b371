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

from ranker.errors import DataError
from ranker.files import display_name, read_text

_COLUMNS = 10
_ID, _FORM, _LEMMA, _UPOS, _HEAD, _RELATION, _MISC = 0, 1, 2, 3, 6, 7, 9
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


@dataclass
class _Word:
    form: str
    lemma: str
    tag: str
    head: int
    relation: str
    space_after: bool
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
    spans: list[tuple[int, int, str, bool, int]] = []
    text: str | None = None
    for number, line in lines:
        if line.startswith("#"):
            key, _, value = line[1:].partition("=")
            if key.strip() == "text":
                text = value.strip()
            continue
        columns = line.split("\t")
        if len(columns) != _COLUMNS:
            raise DataError(
                f"{len(columns)} columns, expected {_COLUMNS} separated by tabs (CoNLL-U)",
                file=file,
                line=number,
            )
        identifier = columns[_ID]
        if "." in identifier:
            continue
        if "-" in identifier:
            spans.append(_span(columns, file, number))
        else:
            words.append(_word(columns, len(words) + 1, file, number))
    if not words:
        raise DataError("a sentence without words", file=file, line=lines[0][0])
    _check_tree(words, file)
    surface = _surface(words, spans, file)
    if text is None:
        text = "".join(form + (" " if space else "") for form, space in surface).strip()
    for first, last, form, _, _ in reversed(spans):
        if "".join(word.form for word in words[first:last]) != form:
            words = _merged(words, first, last, form)
    return Sentence(
        tuple(word.form for word in words),
        tuple(word.lemma for word in words),
        tuple(word.tag for word in words),
        tuple(word.head for word in words),
        tuple(word.relation for word in words),
        text,
    )


def _word(columns: Sequence[str], expected: int, file: str, line: int) -> _Word:
    if columns[_ID] != str(expected):
        raise DataError(f"word id {columns[_ID]!r}, expected {expected}", file=file, line=line)
    if not columns[_FORM]:
        raise DataError("a word without a form", file=file, line=line)
    try:
        head = int(columns[_HEAD])
    except ValueError:
        raise DataError(f"head {columns[_HEAD]!r} is not an integer; 0 marks the root", file=file, line=line) from None
    space_after = "SpaceAfter=No" not in columns[_MISC].split("|")
    # some treebanks write numbers with inner spaces as one word; no tokenizer here gives such a word
    form = columns[_FORM].replace(" ", "\N{NO-BREAK SPACE}")
    return _Word(form, columns[_LEMMA], columns[_UPOS], head - 1, columns[_RELATION], space_after, line)


def _span(columns: Sequence[str], file: str, line: int) -> tuple[int, int, str, bool, int]:
    """Return (first word, past the last word, form, space after, line) of a multi-word token."""
    first, _, last = columns[_ID].partition("-")
    if not (first.isdecimal() and last.isdecimal() and len(first + last) < 10 and 1 <= int(first) < int(last)):
        raise DataError(f"id {columns[_ID]!r} is not a range such as 1-2", file=file, line=line)
    return int(first) - 1, int(last), columns[_FORM], "SpaceAfter=No" not in columns[_MISC].split("|"), line


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
    reaches_root = [word.head == ROOT for word in words]
    for position in range(count):
        path = []
        while not reaches_root[position]:
            if position in path:
                raise DataError("the heads form a cycle, expected a tree", file=file, line=words[position].line)
            path.append(position)
            position = words[position].head
        for passed in path:
            reaches_root[passed] = True


def _surface(
    words: Sequence[_Word], spans: Sequence[tuple[int, int, str, bool, int]], file: str
) -> list[tuple[str, bool]]:
    """Return the tokens as written, each with whether a space follows."""
    surface: list[tuple[str, bool]] = []
    position = 0
    for first, last, form, space, line in spans:
        if first < position or last > len(words):
            raise DataError(
                f"the range {first + 1}-{last} overlaps another one or leaves the sentence",
                file=file,
                line=line,
            )
        surface += [(word.form, word.space_after) for word in words[position:first]]
        surface.append((form, space))
        position = last
    return surface + [(word.form, word.space_after) for word in words[position:]]


def _merged(words: Sequence[_Word], first: int, last: int, form: str) -> list[_Word]:
    """Replace words[first:last] by one word that takes the place of the first whose head is outside."""
    group = range(first, last)
    top = words[next(position for position in group if words[position].head not in group)]
    merged = _Word(form, form, top.tag, top.head, top.relation, words[last - 1].space_after, top.line)

    def moved(head: int) -> int:
        return head if head <= first else first if head < last else head - (last - first - 1)

    result = [*words[:first], merged, *words[last:]]
    return [
        _Word(word.form, word.lemma, word.tag, moved(word.head), word.relation, word.space_after, word.line)
        for word in result
    ]
