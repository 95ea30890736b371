"""Example sources: lowest and highest agreement with the judges, or largest score differences, and random ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.evaluation.explanations.pairs import PairExplanation
from ranker.evaluation.explanations.spans import CandidateSpans, Span
from ranker.extractors.base import Extractor
from ranker.reports.sources import Output, SourceOutputs
from ranker.reports.texts import start_of
from ranker.text.matched_words import flags, readable_batch, words_of

Mark = Literal["", "same", "near", "missing", "only", "minor", "major"]
_TRIPLET = re.compile(r"[\w-]+\((.+), (.+)\)")
_EQUAL = re.compile(r"(.+) = \1")
_NEAR = re.compile(r"(.+) ~ (.+) \(.+\)")


@dataclass(frozen=True)
class TextRun:
    """A run of characters of a candidate or of a reference."""

    text: str
    word: Mark
    triplet: bool = False
    title: str = ""


@dataclass(frozen=True)
class ShownCandidate:
    """One output of a source, with the matches and errors that an example shows."""

    output: Output
    runs: tuple[TextRun, ...]
    missing: tuple[str, ...]
    matches: tuple[tuple[str, str, tuple[str, ...]], ...]
    errors: tuple[TextRun, ...] = ()


@dataclass(frozen=True)
class ShownSource:
    """One source with its outputs, best score first, as shown in an example."""

    source: SourceOutputs
    references: tuple[tuple[TextRun, ...], ...]
    candidates: tuple[ShownCandidate, ...]
    why: PairExplanation | None = None


def choose(rho: FloatArray, ordered: Int64Array, count: int, seed: int) -> dict[str, Int64Array]:
    """Choose sources with the lowest and highest correlations, and random sources."""
    tie = np.random.default_rng(seed).permutation(len(rho))
    defined = int((~np.isnan(rho)).sum())
    # NaN sorts last
    worst = np.lexsort((tie, -ordered, rho))[: min(count, defined // 2)]
    best = np.lexsort((tie, -ordered, -rho))[:defined]
    best = best[~np.isin(best, worst)][:count]
    rest = np.setdiff1d(np.flatnonzero(ordered > 0), np.concatenate([worst, best]))
    drawn = rest[np.argsort(tie[rest])][:count]
    return {"worst": worst, "best": best, "random": drawn}


def choose_unjudged(spread: FloatArray, count: int, seed: int) -> dict[str, Int64Array]:
    """Choose unjudged sources: those with the largest score differences, and random sources."""
    tie = np.random.default_rng(seed).permutation(len(spread))
    apart = np.lexsort((tie, -spread))[: min(count, int((spread > 0).sum()))]
    rest = np.setdiff1d(np.flatnonzero(~np.isnan(spread)), apart)
    return {"apart": apart, "random": rest[np.argsort(tie[rest])][:count]}


def show(
    extractors: Sequence[Extractor],
    dataset: Dataset,
    source: SourceOutputs,
    why: PairExplanation | None = None,
    spans: Mapping[int, CandidateSpans] | None = None,
) -> ShownSource:
    """Return a source with outputs in which word matches, extractors' matches and errors are marked.

    `spans` has the error spans of each candidate, by row.
    """
    batch = readable_batch(dataset, lowercase=False)
    place = int(dataset.candidate_source[source.outputs[0].row])
    references = [words_of(batch, batch.reference[row]) for row in range(*dataset.reference_offsets[place : place + 2])]
    counted = [Counter(map(str.lower, words)) for words in references]
    known: Counter[str] = Counter()
    for counts in counted:
        known |= counts
    present: Counter[str] = Counter()
    candidates = []
    for output in source.outputs:
        words = words_of(batch, batch.candidate[output.row])
        evidence = [
            (str(extractor), reference, matched)
            for extractor in extractors
            for reference, matched in extractor.evidence(dataset, output.row).items()
        ]
        matched = [match for *_, each in evidence for match in each]
        near = [pair for match in matched if (pair := _NEAR.fullmatch(match))]
        has = Counter(map(str.lower, words)) + Counter(word for pair in near for word in pair[2].lower().split())
        present |= has
        nearest = max(range(len(references)), key=lambda row: (counted[row] & has).total(), default=None)
        candidates.append(
            ShownCandidate(
                output,
                mark(output.text, words, known, matched),
                () if nearest is None else _lacking(references[nearest], has),
                tuple(
                    (name, reference, unequal)
                    for name, reference, each in evidence
                    if (unequal := tuple(match for match in each if not _EQUAL.fullmatch(match)))
                ),
                _error_runs(output.text, spans[output.row].spans) if spans and output.row in spans else (),
            )
        )
    marked = tuple(
        _cut(_runs(text, words, [("" if has else "missing", False) for has in _present(words, present)]))
        for text, words in zip(source.references, references, strict=True)
    )
    return ShownSource(source, marked, tuple(candidates), why)


def _error_runs(text: str, spans: Sequence[Span]) -> tuple[TextRun, ...]:
    """Split a candidate into error spans and the text between spans; empty if no span has a place in the text."""
    runs: list[TextRun] = []
    end = 0
    for span in spans:
        if span.side == "target" and span.start is not None and span.end is not None and span.start >= end:
            instead = f"; in the reference: {span.instead}" if span.instead else ""
            title = f"{span.severity}: {span.category}, costs {span.cost:.2f}{instead}"
            kind: Mark = "major" if span.severity == "major" else "minor"
            runs += [TextRun(text[end : span.start], ""), TextRun(text[span.start : span.end], kind, title=title)]
            end = span.end
    return _cut([*runs, TextRun(text[end:], "")]) if runs else ()


def differences(dataset: Dataset, first: int, second: int) -> tuple[tuple[TextRun, ...], tuple[TextRun, ...]]:
    """Mark the words of two (possibly truncated) candidates that are not in their longest common subsequence."""
    batch = readable_batch(dataset, lowercase=False)
    rows = [int(batch.candidate[row]) for row in (first, second)]
    texts = [dataset.candidates["text"].iloc[row] for row in (first, second)]
    # the visible part of a long text has no more words than characters
    words = [words_of(batch, row)[: len(start_of(text))] for row, text in zip(rows, texts, strict=True)]
    common = _common([word.lower() for word in words[0]], [word.lower() for word in words[1]])
    kinds: list[list[tuple[Mark, bool]]] = [[("" if same else "only", False) for same in side] for side in common]
    left, right = (_cut(_runs(*parts)) for parts in zip(texts, words, kinds, strict=True))
    return left, right


def _common(first: Sequence[str], second: Sequence[str]) -> tuple[list[bool], list[bool]]:
    """Return a mask for each of two texts of the words in the longest common subsequence.

    If there are several such subsequences, it is the one that the page's script finds.
    """
    best = np.zeros((len(first) + 1, len(second) + 1), dtype=np.int64)
    second_words = np.array(second, dtype=object)
    for place in range(len(first) - 1, -1, -1):
        below = best[place + 1]
        reached = np.where(second_words == first[place], below[1:] + 1, below[:-1])
        best[place, :-1] = np.maximum.accumulate(reached[::-1])[::-1]
    in_first, in_second = [False] * len(first), [False] * len(second)
    i = j = 0
    while i < len(first) and j < len(second):
        if first[i] == second[j]:
            in_first[i] = in_second[j] = True
            i, j = i + 1, j + 1
        elif best[i + 1, j] >= best[i, j + 1]:
            i += 1
        else:
            j += 1
    return in_first, in_second


def _present(words: Sequence[str], known: Counter[str]) -> list[bool]:
    return flags([word.lower() for word in words], known)


def _lacking(words: Sequence[str], has: Counter[str]) -> tuple[str, ...]:
    return tuple(word for word, present in zip(words, _present(words, has), strict=True) if not present)


def mark(text: str, words: Sequence[str], known: Counter[str], matches: Sequence[str]) -> tuple[TextRun, ...]:
    """Split a candidate into runs of words that matched in the same way."""
    in_triplet = {word for match in matches if (parsed := _TRIPLET.fullmatch(match)) for word in parsed.groups()}
    near = {word for match in matches if (parsed := _NEAR.fullmatch(match)) for word in parsed[1].lower().split()}
    kinds: list[tuple[Mark, bool]] = [
        ("same" if present else "near" if word.lower() in near else "", word.lower() in in_triplet)
        for word, present in zip(words, _present(words, known), strict=True)
    ]
    return _cut(_runs(text, words, kinds))


def _runs(text: str, words: Sequence[str], kinds: Sequence[tuple[Mark, bool]]) -> list[TextRun]:
    """Split the text into runs, each with neighbouring words of the same kind."""
    text, spans = _spans(text, words)
    runs: list[TextRun] = []
    end = 0
    for (start, stop), marking in zip(spans, kinds, strict=True):
        if runs and (runs[-1].word, runs[-1].triplet) == marking:
            runs[-1] = TextRun(runs[-1].text + text[end:stop], *marking)
        else:
            if start > end:
                runs.append(TextRun(text[end:start], ""))
            runs.append(TextRun(text[start:stop], *marking))
        end = stop
    if end < len(text):
        runs.append(TextRun(text[end:], ""))
    return runs


def _cut(runs: Sequence[TextRun]) -> tuple[TextRun, ...]:
    """Cut off the runs of a long text after its initially visible part."""
    left = len(start_of("".join(run.text for run in runs)))
    cut = []
    for run in runs:
        if left > 0:
            cut.append(replace(run, text=run.text[:left]))
        left -= len(run.text)
    return tuple(cut)


def _spans(text: str, words: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    """Return a text and the span of each word in it: `text`, or the words joined by spaces if a word is not found."""
    for attempt in (text, " ".join(words)):
        spans: list[tuple[int, int]] = []
        at = 0
        for word in words:
            start = attempt.find(word, at)
            if start < 0:
                break
            at = start + len(word)
            spans.append((start, at))
        if len(spans) == len(words):
            text = attempt
            break
    return text, spans
