"""Reads n-best lists of Moses, Marian and fairseq; errors name the line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from operator import itemgetter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ranker.arrays import BoolArray, FloatArray, Int64Array
from ranker.corpora.formats.nbest import SEPARATOR, Layout, NBestList, describe_layout, from_columns
from ranker.corpora.records import first_repeated, number_in, shown
from ranker.errors import DataError, log_note
from ranker.files import display_name, read_text

_FIELDS = ("sentence", "text", "features", "score", "alignment")
_DIGITS = 7
_FAIRSEQ = re.compile(rf"([SHDT])-([0-9]{{1,{_DIGITS}}})\t(.*)")
_HYPOTHESIS = re.compile(rf"^[HD]-[0-9]{{1,{_DIGITS}}}\t[^\t\n]*\t", re.MULTILINE)
_LINE = "expected: sentence ||| text ||| features [||| score [||| alignment]]"
_BEFORE_FEATURES = {
    "word alignments": r"^(\d+-\d+(\s+\d+-\d+)*)?$",
    "scores of words": r"^WordScores=[\s\d.eE+-]*$",
    "alignments with probabilities": r"^[\s\d.eE,+-]*$",
}
"""Fields that Marian writes between text and features: what they are, and a pattern of their content."""
_SPANS = r"^(\d+(-\d+)?=\d+(-\d+)?(\s+\d+(-\d+)?=\d+(-\d+)?)*)?$"
"""Pattern of a segmentation into phrases, which Moses writes between score and word alignment."""


def read_nbest(path: str | Path) -> NBestList:
    """Read an n-best list, plain or gzipped; ``-`` is standard input.

    All lines must have the same fields and the same features; features may be ``name= value value``, as in Moses,
    ``name: value``, ``name=value`` or values alone. Marian writes alignments and scores of words before the features.
    """
    return parse_nbest(read_text(path), display_name(path))


def parse_nbest(text: str, file: str) -> NBestList:
    """Parse the text of an n-best list, as `read_nbest` does."""
    text = text.removesuffix("\n")
    if not text:
        raise DataError(f"is empty; {_LINE}", file=file)
    if is_fairseq(text):
        raise DataError(f"this is output of fairseq, which has no features: use ranker rerank; {_LINE}", file=file)
    lines = pc.split_pattern(pa.array([text], type=pa.large_string()), "\n").values
    del text
    fields = _in_order_of_moses(_fields(lines, file), file)
    sentence = _sentences(fields[0], file)
    layout, features = _features(fields[2], file)
    encoded = pc.dictionary_encode(fields[1])
    score = None
    if len(fields) > 3 and not pc.all(pc.equal(fields[3], "")).as_py():
        score = _numbers(fields[3], np.arange(len(lines)), file, lambda _: "the score")
    return NBestList(
        file,
        sentence,
        encoded.indices.to_numpy().astype(np.int64),
        encoded.dictionary,
        features,
        layout,
        score,
        fields[4] if len(fields) > 4 else None,
    )


def is_fairseq(text: str) -> bool:
    """True if `text` is the output of fairseq's generation: lines ``S-0``, ``H-0``, ... among others."""
    return bool(_HYPOTHESIS.search(text))


def parse_fairseq(text: str, file: str) -> tuple[NBestList, dict[int, str], dict[int, str]]:
    """Parse hypotheses with scores (lines ``D-0``, else ``H-0``), and sources and references by sentence number."""
    sources: dict[int, str] = {}
    references: dict[int, str] = {}
    by_kind: dict[str, list[tuple[int, float, str, int]]] = {"H": [], "D": []}
    for number, line in enumerate(text.split("\n"), 1):
        matched = _FAIRSEQ.match(line)
        kind, sentence, rest = matched.groups() if matched else ("", "", "")
        if kind in ("S", "T"):
            (sources if kind == "S" else references)[int(sentence)] = rest
        elif kind in by_kind:
            score, _, hypothesis = rest.partition("\t")
            if not np.isfinite(number_in(score)):
                what = f"expected {kind}-{sentence}, a score and a hypothesis, separated by tabs, found {shown(rest)}"
                raise DataError(what, file=file, line=number)
            by_kind[kind].append((int(sentence), number_in(score), hypothesis, number))
    detokenised = Counter(sentence for sentence, *_ in by_kind["D"])
    for sentence, _, _, number in by_kind["H"] if detokenised else ():
        detokenised[sentence] -= 1
        if detokenised[sentence] < 0:
            what = f"H-{sentence} has no D-{sentence}, expected one for every hypothesis (is the file cut off?)"
            raise DataError(what, file=file, line=number)
    hypotheses = sorted(by_kind["D"] or by_kind["H"], key=itemgetter(0))
    sentence, score, texts, _ = zip(*hypotheses, strict=True)
    none = np.zeros((len(texts), 0))
    return from_columns(file, sentence, texts, none, (), score=score), sources, references


def _fields(lines: pa.Array, file: str) -> list[pa.Array]:
    """Split the lines of an n-best list into one column per field, trimmed of white space."""
    split = pc.split_pattern(lines, SEPARATOR)
    sizes = pc.list_value_length(split).to_numpy()
    expected = int(sizes[0])
    first = [field.strip() for field in split[0].as_py()]
    if not 3 <= expected - _has_spans(first) <= len(_FIELDS) and not _is_of_marian(first):
        raise DataError(f"found {expected} field{'s' * (expected != 1)}; {_LINE}", file=file, line=1)
    unequal = np.flatnonzero(sizes != expected)
    if len(unequal):
        actual = int(sizes[unequal[0]])
        what = f"found {actual} field{'s' * (actual != 1)}, expected {expected} as in line 1"
        raise DataError(f"{what}; {_LINE}", file=file, line=int(unequal[0]) + 1)
    parts = split.values
    rows = np.arange(len(lines)) * expected
    return [pc.utf8_trim_whitespace(parts.take(pa.array(rows + column))) for column in range(expected)]


def _is_of_marian(fields: Sequence[str]) -> bool:
    """True if the last but one of the fields of a line has named features, and other fields precede it."""
    return len(fields) in (5, 6) and "=" in fields[-2] and not _has_spans(fields)


def _has_spans(fields: Sequence[str]) -> bool:
    """True if a line has a segmentation into phrases after the score."""
    return len(fields) > 4 and fields[4] != "" and re.match(_SPANS, fields[4]) is not None


def _in_order_of_moses(fields: list[pa.Array], file: str) -> list[pa.Array]:
    """Put word alignments that precede the features last, and leave out segmentations and others that precede them."""
    first = [field[0].as_py() for field in fields]
    if _has_spans(first):
        row = pc.index(pc.match_substring_regex(fields[4], _SPANS), False).as_py()
        if row >= 0:
            found = f"found {shown(fields[4][row].as_py())}, expected a segmentation into phrases"
            raise DataError(f"{found} such as {shown(first[4])}, as in line 1", file=file, line=row + 1)
        log_note("ignored a field after the score: segmentations into phrases", file)
        return [*fields[:4], *fields[5:]]
    if not _is_of_marian(first):
        return fields
    alignments: list[pa.Array] = []
    for field in fields[2:-2]:
        # the first line that does not match each pattern, -1 if all match
        unlike = {
            what: pc.index(pc.match_substring_regex(field, pattern), False).as_py()
            for what, pattern in _BEFORE_FEATURES.items()
        }
        what = next((what for what, line in unlike.items() if line < 0), None)
        if what is None:
            row = max(unlike.values())
            found = f"found {shown(field[row].as_py())} before the features"
            expected = "expected a word alignment such as 0-0 1-1, or WordScores= and numbers"
            raise DataError(f"{found}, {expected}; {_LINE}", file=file, line=row + 1)
        if what == "word alignments":
            alignments.append(field)
        else:
            log_note(f"ignored a field before the features: {what}", file)
    if len(alignments) > 1:
        raise DataError("found two word alignments before the features, expected one", file=file, line=1)
    return [*fields[:2], *fields[-2:], *alignments]


def _sentences(written: pa.Array, file: str) -> Int64Array:
    bad = pc.index(pc.match_substring_regex(written, f"^0*[0-9]{{1,{_DIGITS}}}$"), False).as_py()
    if bad >= 0:
        what = f"sentence {shown(written[bad].as_py())}: expected a whole number from 0 to {10**_DIGITS - 1:,}"
        raise DataError(what, file=file, line=bad + 1)
    sentence: Int64Array = pc.cast(written, pa.int64()).to_numpy().astype(np.int64)
    falling = np.flatnonzero(np.diff(sentence) < 0)
    if len(falling):
        row = int(falling[0]) + 1
        what = f"sentence {sentence[row]} follows {sentence[row - 1]}; expected increasing numbers: sort the list"
        raise DataError(what, file=file, line=row + 1)
    return sentence


def _features(written: pa.Array, file: str) -> tuple[Layout, FloatArray]:
    """Return the feature layout of the first line, which all lines must have, and the feature matrix."""
    # Moses writes "name= value", others "name=value"
    split = pc.utf8_split_whitespace(pc.utf8_trim_whitespace(pc.replace_substring(written, "=", "= ")))
    offsets = split.offsets.to_numpy().astype(np.int64)
    words = split.values
    names = pc.or_(pc.ends_with(words, "="), pc.ends_with(words, ":")).to_numpy(zero_copy_only=False)
    lines, size = len(written), int(offsets[1] - offsets[0])
    layout = _layout(words.slice(0, size).to_pylist(), file)
    _check_layout(words, offsets, names, layout, file)
    row = np.repeat(np.arange(lines), np.diff(offsets))[~names]
    width = sum(count for _, count in layout)
    columns = [f"feature {name}" if name else "a feature" for name, count in layout for _ in range(count)]
    numbers = _numbers(words.filter(pa.array(~names)), row, file, lambda place: columns[place % width])
    return layout, np.ascontiguousarray(numbers.reshape(lines, width))


def _layout(words: Sequence[str], file: str, line: int = 1) -> Layout:
    """Parse the feature layout from the words of one line."""
    layout: list[tuple[str, int]] = []
    for word in words:
        if word.endswith(("=", ":")):
            layout.append((word[:-1], 0))
        elif layout:
            layout[-1] = (layout[-1][0], layout[-1][1] + 1)
        elif word:
            layout.append(("", 1))
    empty = [name for name, count in layout if not count]
    twice = first_repeated(name for name, _ in layout)
    if empty:
        raise DataError(f"feature {shown(empty[0])} has no value, expected at least one", file=file, line=line)
    if twice is not None:
        raise DataError(f"feature {shown(twice)} is duplicated; rename or remove one feature", file=file, line=line)
    if not layout:
        raise DataError(f"has no features; {_LINE}", file=file, line=line)
    return tuple(layout)


def _check_layout(words: pa.Array, offsets: Int64Array, names: BoolArray, layout: Layout, file: str) -> None:
    """Refuse lines whose features differ from those of the first line."""
    lines, size = len(offsets) - 1, int(offsets[1] - offsets[0])
    bad = np.diff(offsets) != size
    if not bad.any():
        placed = names.reshape(lines, size)
        bad = (placed != placed[0]).any(axis=1)
    if not bad.any() and names.any():
        codes = pc.dictionary_encode(words.filter(pa.array(names))).indices.to_numpy().reshape(lines, -1)
        bad = (codes != codes[0]).any(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        row_layout = _layout(words.slice(offsets[row], offsets[row + 1] - offsets[row]).to_pylist(), file, row + 1)
        what = f"has the features {describe_layout(row_layout)}; expected {describe_layout(layout)}, as in line 1"
        raise DataError(what, file=file, line=row + 1)


def _numbers(written: pa.Array, row: Int64Array, file: str, called: Callable[[int], str]) -> FloatArray:
    """Parse finite numbers; error messages take a number's line from `row` and its name from `called`."""
    try:
        numbers = pc.cast(written, pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        encoded = pc.dictionary_encode(written)
        distinct = [number_in(word) for word in encoded.dictionary.to_pylist()]
        numbers = np.array(distinct, dtype=np.float64)[encoded.indices.to_numpy()]
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        place = int(bad[0])
        what = f"{called(place)} is {shown(written[place].as_py())}, expected a finite number"
        raise DataError(what, file=file, line=int(row[place]) + 1)
    return np.asarray(numbers, dtype=np.float64)
