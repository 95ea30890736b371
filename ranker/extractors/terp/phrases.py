"""Paraphrase tables of TERp, one entry per line: ``probability <p>reference phrase</p> <p>candidate phrase</p>``.

An entry applies in that direction only. An entry that begins with two probabilities applies in both directions; the
second is that of the candidate phrase in a reference. Phrases are tokens with spaces between them.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence

import numpy as np

from ranker.arrays import FloatArray, Int32Array, Int64Array, offsets_of
from ranker.errors import DataError
from ranker.extractors.terp.model import EditModel, PhraseTable, no_phrases
from ranker.extractors.terp.shifts import edit_costs
from ranker.files import display_name, read_text
from ranker.text.lexical.phrases import Phrase, find_occurrences
from ranker.text.tokens import TokenisedTexts

_ENTRY = re.compile(r"([^\s<]+)(?:\s+([^\s<]+))?\s+<p>(.*)</p>\s+<p>(.*)</p>")


def find_phrases(
    path: str,
    segments: TokenisedTexts,
    references: Int64Array,
    model: EditModel,
    parameters: tuple[float, float, float, float] | None,
    *,
    lowercase: bool,
) -> PhraseTable:
    """Return the phrases of the table at `path` that occur in some of `references`, with their costs."""
    entries = list(_known_entries(path, segments.vocabulary, lowercase=lowercase))
    sentence_offsets, occurrences, numbers = find_occurrences(
        (phrase for _, phrase, _ in entries), segments, references
    )
    known_entries = sorted(
        (numbers[phrase], phrase, paraphrase, p) for p, phrase, paraphrase in entries if phrase in numbers
    )
    words, ends = _concatenate([paraphrase for _, _, paraphrase, _ in known_entries])
    cost = np.array([p for *_, p in known_entries], dtype=np.float64)
    if parameters is not None:
        edits = _edits(words, ends, [phrase for _, phrase, _, _ in known_entries], model)
        a, b, c, d = parameters
        cost = np.maximum(a + b * np.log10(cost) * edits + c * cost * edits + d * edits, 0.0)
    entry_offsets = np.searchsorted([number for number, *_ in known_entries], np.arange(len(numbers) + 1))
    return PhraseTable(sentence_offsets, occurrences, entry_offsets.astype(np.int64), ends, words, cost)


def _known_entries(path: str, vocabulary: Sequence[str], *, lowercase: bool) -> Iterator[tuple[float, Phrase, Phrase]]:
    """Yield the probability, reference phrase and candidate phrase of each table entry that has only known words."""
    numbers = {word: number for number, word in enumerate(vocabulary)}
    text = read_text(path)
    for number, line in enumerate(io.StringIO(text.lower() if lowercase else text), 1):
        line = line.strip()
        if not line:
            continue
        match = _ENTRY.fullmatch(line)
        probabilities = _positive_numbers(match[1], match[2]) if match else []
        if match is None or not probabilities:
            raise DataError(
                f"expected 'probability <p>phrase</p> <p>phrase</p>' with a number above 0, found {line!r}",
                file=display_name(path),
                line=number,
            )
        first, second = (tuple(numbers.get(word, -1) for word in match[side].split()) for side in (3, 4))
        if not first or not second or first == second or -1 in first or -1 in second:
            continue
        yield probabilities[0], first, second
        if len(probabilities) > 1:
            yield probabilities[1], second, first


def _positive_numbers(*texts: str | None) -> list[float]:
    """Return the texts as numbers, or an empty list if one of them is not a number above 0."""
    try:
        numbers = [float(text) for text in texts if text is not None]
    except ValueError:
        return []
    return numbers if all(0 < number < np.inf for number in numbers) else []


def _concatenate(phrases: Sequence[Phrase]) -> tuple[Int32Array, Int64Array]:
    """Return the words of phrases in CSR form."""
    ends = offsets_of([len(phrase) for phrase in phrases])
    return np.array([word for phrase in phrases for word in phrase], dtype=np.int32), ends


def _edits(words: Int32Array, ends: Int64Array, phrases: Sequence[Phrase], model: EditModel) -> FloatArray:
    """Return the costs of editing candidate phrases into reference phrases without using paraphrases."""
    paraphrase_words, their_ends = _concatenate(phrases)
    pairs = np.arange(len(phrases), dtype=np.int64)
    return edit_costs(
        np.concatenate([words, paraphrase_words]),
        np.concatenate([ends, ends[-1] + their_ends[1:]]),
        pairs,
        pairs + len(phrases),
        np.zeros(len(phrases), dtype=np.int64),
        model._replace(phrases=no_phrases()),
    )
