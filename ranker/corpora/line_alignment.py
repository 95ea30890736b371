"""Divides translations whose lines were merged or split into one text per source line.

Boundaries are sought between words, from the first line to the last, by dynamic programming. The cost of a text is the
difference of its length from the expected length (Gale and Church 1993), less what it shares with the references of its
line, or with the source where there is no reference: words, cut to five characters and weighted by their inverse
document frequency, so mainly numbers and names, each at most as often as there. A boundary inside a line costs more
than one after a sentence, and that more than one where a line ends; a line end inside a text costs too. A first pass by
lengths alone tells where to look.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ranker.arrays import BoolArray, FloatArray, Int64Array
from ranker.corpora.graphemes import cluster_starts
from ranker.corpora.scripts import SENTENCE_ENDS, UNSPACED_LETTERS, is_unspaced
from ranker.errors import DataError, counted, log_note

_WORD = re.compile(rf"[{UNSPACED_LETTERS}]|[^\W{UNSPACED_LETTERS}]+|[^\w\s]")
_SENTENCE_END = re.compile(rf"[{SENTENCE_ENDS}…]['\"”’»)\]」』]*\Z")
_INSEPARABLE = re.compile("[เแโใไເແໂໃໄ]|.[ะาๅๆฯະາໆຯ]", re.DOTALL)
"""Two characters of a Thai or Lao syllable: a vowel before its consonant, or a sign that begins no word."""
_STEM = 5
"""Number of characters to which words are cut before they are compared."""
_SHARED, _INSIDE, _AFTER_SENTENCE, _JOINED, _EMPTY = 0.5, 7.0, 3.0, 3.0, 10.0
"""Weight of shared words, and costs of a boundary in a line, after a sentence, of a line end in a text and of a line
without a text; chosen on wmt12 and mqm21, among few values of which most do as well."""
_VARIANCE = 6.8
"""Variance of the length of a translation per character, by Gale and Church."""
_HIGHEST = 50.0
"""Highest cost of a length, so that one text of a wrong length does not move all boundaries."""
_WINDOW = 150
"""Number of boundaries tried on each side of the one that the lengths suggest."""
_MOST_EMPTY = 0.2
"""Maximum proportion of lines that may be left without a text."""
_FEWEST = 100
"""Least number of lines assumed for document frequencies, so that words in a short file do not weigh too little."""
_NOWHERE = np.zeros(0, dtype=np.int64)
_LISTED = 5


@dataclass(frozen=True)
class _Stream:
    """The words of a file, and the boundaries between them at which a text may begin.

    `starts`, `ends` (words,) are positions of characters in `text`; `places` (boundaries,) are words before which a
    text may begin, from 0 to the number of words; `costs` are the costs of these boundaries, `line_ends` is true where
    a line ends.
    """

    text: str
    starts: Int64Array
    ends: Int64Array
    words: Mapping[str, Int64Array]
    places: Int64Array
    costs: FloatArray
    line_ends: BoolArray

    @classmethod
    def of(cls, lines: Sequence[str]) -> _Stream:
        text = "\n".join(lines)
        found = [match.span() for match in _WORD.finditer(text)]
        words = defaultdict(list)
        for number, (start, end) in enumerate(found):
            words[_key(text[start:end])].append(number)
        whole = {*cluster_starts(text)} if re.search(f"[{UNSPACED_LETTERS}]", text) else set[int]()
        places, costs, line_ends = [0], [0.0], [False]
        for number, ((before, end), (start, _)) in enumerate(itertools.pairwise(found), 1):
            between = text[end:start]
            ends_line = "\n" in between
            apart = is_unspaced(text[before]) or is_unspaced(text[start])
            if between or (apart and start in whole and not _INSEPARABLE.match(text[end - 1 : start + 1])):
                places.append(number)
                after_sentence = _SENTENCE_END.search(text, max(0, end - 4), end)
                costs.append(0.0 if ends_line else _AFTER_SENTENCE if after_sentence else _INSIDE)
                line_ends.append(ends_line)
        starts, ends = np.asarray(found, dtype=np.int64).reshape(-1, 2).T
        return cls(
            text,
            starts,
            ends,
            {word: np.array(numbers) for word, numbers in words.items()},
            np.array([*places, len(found)]),
            np.array([*costs, 0.0]),
            np.array([*line_ends, False]),
        )

    @property
    def characters(self) -> FloatArray:
        """Character index of each boundary at which a text may begin."""
        return np.append(self.starts, len(self.text) + 1)[self.places].astype(float)

    def between(self, first: int, last: int) -> str:
        """Return the text between two boundaries, on one line."""
        begin, end = self.places[first], self.places[last]
        if begin == end:
            return ""
        parts = self.text[self.starts[begin] : self.ends[end - 1]].split("\n")
        line = parts[0]
        for part in filter(None, parts[1:]):
            line += ("" if line and is_unspaced(line[-1]) and is_unspaced(part[0]) else " ") + part
        return line


def align_lines(lines: Sequence[str], wanted: Sequence[Sequence[str]], file: str) -> list[str]:
    """Divide a translation whose lines differ from the source's into one text per source line, in the same order.

    `wanted` has the references of each source line, or the line itself where it has none. Lines that the
    translation lacks get an empty text; it is an error if more than a fifth are such lines.
    """
    if not wanted:
        # callers compare the numbers of lines, and refuse lines without a source
        return [*lines]
    stream = _Stream.of(lines)
    words = [_most(texts) for texts in wanted]
    lengths = np.array([sum(map(len, texts)) / len(texts) + 1.0 for texts in wanted])
    expected = lengths * ((len(stream.text) + 1) / lengths.sum())
    rough = _boundaries(stream, expected, [{}] * len(words), words, None)
    frequency = Counter(word for of_line in words for word in of_line)
    total = max(len(words), _FEWEST)
    weights = [{word: _SHARED * math.log(total / frequency[word]) for word in of_line} for of_line in words]
    bounds = _boundaries(stream, expected, weights, words, rough)
    texts = [stream.between(first, last) for first, last in itertools.pairwise(bounds)]
    empty = sum(not text and any(map(str.strip, like)) for text, like in zip(texts, wanted, strict=True))
    if empty > _MOST_EMPTY * len(texts):
        what = f"cannot be aligned to {counted(len(texts), 'line')}: {empty} of them would have no translation"
        raise DataError(f"{what}; check that it is a translation of all of the source, in the same order", file=file)
    places = [*_differences(stream, bounds)]
    more = f" and {len(places) - _LISTED} other places" if len(places) > _LISTED else ""
    done = [f"{', '.join(places[:_LISTED])}{more}"] if places else []
    done += [f"{counted(empty, 'line')} without a translation"] if empty else []
    if done:
        log_note(f"aligned to {counted(len(texts), 'line')}: {'; '.join(done)}", file)
    return texts


def _boundaries(
    stream: _Stream,
    expected: FloatArray,
    weights: Sequence[Mapping[str, float]],
    counts: Sequence[Mapping[str, int]],
    near: Sequence[int] | None,
) -> list[int]:
    """Find the cheapest boundaries of all texts, in windows around `near` or, if None, around the expected ends."""
    characters, last = stream.characters, len(stream.places) - 1
    ends_before = np.concatenate([[0], np.cumsum(stream.line_ends)])
    low = high = 0
    cost = np.zeros(1)
    chosen: list[tuple[int, int, Int64Array]] = []
    for line, length in enumerate(expected):
        if near is None:
            middle = int(np.searchsorted(characters, characters[low + int(cost.argmin())] + length))
        else:
            middle = near[line + 1]
        next_low, next_high = max(low, min(middle - _WINDOW, last)), max(low, min(middle + _WINDOW, last))
        if line == len(expected) - 1:
            next_low = next_high = last
        before, after = slice(low, high + 1), slice(next_low, next_high + 1)
        gained = _shared(stream, weights[line], counts[line], stream.places[before], stream.places[after])
        size = characters[after] - characters[before, None]
        # line ends between the two boundaries, without those at them
        joined = np.maximum(ends_before[after] - ends_before[1:][before, None], 0)
        difference = (size - length) ** 2 / (_VARIANCE * (length + np.maximum(size, 0.0)))
        total = cost[:, None] - gained + np.minimum(difference, _HIGHEST) + _JOINED * joined
        total[size == 0] += _EMPTY if length > 2 else 0.0
        total[size < 0] = np.inf
        best = total.argmin(axis=0)
        chosen.append((low, next_low, best))
        cost = total[best, np.arange(len(best))] + stream.costs[after]
        low, high = next_low, next_high
    bounds = [last]
    for low, next_low, best in reversed(chosen):
        bounds.append(low + int(best[bounds[-1] - next_low]))
    return bounds[::-1]


def _shared(
    stream: _Stream, weights: Mapping[str, float], counts: Mapping[str, int], begins: Int64Array, ends: Int64Array
) -> FloatArray:
    """Return the weights of the words between boundaries, each at most as often as in `counts`, (begins, ends)."""
    first, last = begins[0], max(begins[-1], ends[-1])
    values, excess = np.zeros(last - first + 1), np.zeros((len(begins), len(ends)))
    for word, weight in weights.items():
        numbers = stream.words.get(word, _NOWHERE)
        numbers = numbers[slice(*np.searchsorted(numbers, (first, last)))]
        values[numbers - first + 1] = weight
        if len(numbers) > counts[word]:
            found = np.searchsorted(numbers, ends) - np.searchsorted(numbers, begins)[:, None]
            excess += weight * np.maximum(found - counts[word], 0)
    shared = np.cumsum(values)
    return np.asarray(shared[ends - first] - shared[begins - first, None] - excess)


def _most(texts: Sequence[str]) -> Counter[str]:
    """Count the words of texts, each as often as in the text that has most of it."""
    most: Counter[str] = Counter()
    for text in texts:
        most |= Counter(_key(match.group()) for match in _WORD.finditer(text))
    return most


def _differences(stream: _Stream, bounds: Sequence[int]) -> Iterator[str]:
    """Yield, for each text that is not exactly one whole line, the line or lines of the file that it comes from."""
    breaks = [match.start() for match in re.finditer("\n", stream.text)]
    line_of = np.searchsorted(breaks, stream.starts) + 1
    for number, (first, last) in enumerate(itertools.pairwise(bounds), 1):
        first_word, last_word = stream.places[first], stream.places[last] - 1
        if last_word < first_word:
            continue
        begins, ends = int(line_of[first_word]), int(line_of[last_word])
        whole = (first == 0 or stream.line_ends[first]) and (last == len(stream.places) - 1 or stream.line_ends[last])
        if begins < ends:
            yield f"line {number} from lines {begins} to {ends}"
        elif not whole:
            yield f"line {number} from a part of line {begins}"


def _key(word: str) -> str:
    return word.lower()[:_STEM]
