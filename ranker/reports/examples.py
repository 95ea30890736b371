"""Sources to look at: where a ranker agrees worst and best with people, and some at random."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.extractors.text.tokens import token_batch
from ranker.ranking import Ranker
from ranker.ranks import merge_ties

_TRIPLET = re.compile(r"[\w-]+\((.+), (.+)\)")
_EQUAL = re.compile(r"(.+) = \1")
_NEAR = re.compile(r"(.+) ~ .+ \(.+\)")


@dataclass(frozen=True)
class Piece:
    """A run of characters of a candidate.

    Parameters
    ----------
    text : str
    word : {"", "same", "near"}
        It is of words that a reference has too, or of words that an extractor matched with others, as by stem or
        synonym.
    triplet : bool
        It is of words of a dependency triplet that a reference has too.
    """

    text: str
    word: Literal["", "same", "near"]
    triplet: bool


@dataclass(frozen=True)
class ShownCandidate:
    """One candidate of a source.

    Parameters
    ----------
    system : str
    pieces : tuple of Piece
        Its text.
    rank, human_rank : int
        1 best, ties share the better rank.
    score, human : float
    contributions : tuple of float
        What every extractor adds to the score.
    matches : tuple of (str, str, tuple of str)
        Extractor, reference, and what matched as the extractor tells it, equal words left out.
    """

    system: str
    pieces: tuple[Piece, ...]
    rank: int
    human_rank: int
    score: float
    human: float
    contributions: tuple[float, ...]
    matches: tuple[tuple[str, str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class ShownSource:
    """One source with its candidates, best score first.

    Parameters
    ----------
    data, name : str
        Data set, and language pair with segment.
    text : str
    references : tuple of str
    rho : float
        Spearman's correlation with people; NaN where undefined.
    candidates : tuple of ShownCandidate
    predicted, by_people : tuple of tuple of str
        Systems in order, best first; equal ones together.
    """

    data: str
    name: str
    text: str
    references: tuple[str, ...]
    rho: float
    candidates: tuple[ShownCandidate, ...]
    predicted: tuple[tuple[str, ...], ...]
    by_people: tuple[tuple[str, ...], ...]


def choose(rho: FloatArray, ordered: Int64Array, count: int, seed: int) -> dict[str, Int64Array]:
    """Choose sources: lowest and highest correlation, and at random.

    Parameters
    ----------
    rho : float array, shape (sources,)
        NaN where undefined.
    ordered : int array, shape (sources,)
        Pairs of candidates that people order; of equal correlations those that rest on more come first.
    count : int
        Sources of each sort at most.
    seed : int
        Orders what is equal still, and draws at random.

    Returns
    -------
    dict
        ``worst``, ``best`` and ``random``; no source stands twice.
    """
    tie = np.random.default_rng(seed).permutation(len(rho))
    defined = int((~np.isnan(rho)).sum())
    # NaN sorts last
    worst = np.lexsort((tie, -ordered, rho))[: min(count, defined // 2)]
    best = np.lexsort((tie, -ordered, -rho))[: min(count, defined - len(worst))]
    rest = np.setdiff1d(np.flatnonzero(ordered > 0), np.concatenate([worst, best]))
    drawn = rest[np.argsort(tie[rest])][:count]
    return {"worst": worst, "best": best, "random": drawn}


def show(
    ranker: Ranker,
    dataset: Dataset,
    contributions: FloatArray,
    human: FloatArray,
    rho: FloatArray,
    owner: Int64Array,
    source: int,
) -> ShownSource:
    """Put together what there is to see of one source.

    Parameters
    ----------
    ranker : Ranker
    dataset : Dataset
    contributions : float array, shape (candidates, columns)
    human : float array, shape (candidates,)
    rho : float array, shape (sources,)
    owner : int array, shape (columns,)
        Extractor of every column.
    source : int
    """
    first, last = dataset.candidate_offsets[source : source + 2]
    parts = contributions[first:last]
    scores, ratings = parts.sum(axis=1), human[first:last]
    ranks, human_ranks = _ranks(scores), _ranks(ratings)
    systems = dataset.candidates["system"].iloc[first:last].tolist()
    texts = dataset.candidates["text"].iloc[first:last].tolist()
    facts = dataset.sources.iloc[source]
    references = slice(*dataset.reference_offsets[source : source + 2])
    batch = token_batch(dataset, "13a")
    known: Counter[str] = Counter()
    for sentence in batch.reference[references]:
        known |= Counter(word.lower() for word in batch.segments.words(sentence))
    candidates = []
    for row in np.lexsort((np.arange(last - first), ranks)):
        matches = [
            (str(extractor), reference, tuple(one for one in found if not _EQUAL.fullmatch(one)))
            for extractor in ranker.feature_set.extractors
            for reference, found in extractor.evidence(dataset, int(first + row)).items()
        ]
        words = batch.segments.words(batch.candidate[first + row])
        candidates.append(
            ShownCandidate(
                system=systems[row],
                pieces=mark(texts[row], words, known, [one for *_, found in matches for one in found]),
                rank=int(ranks[row]),
                human_rank=int(human_ranks[row]),
                score=float(scores[row]),
                human=float(ratings[row]),
                contributions=tuple(np.bincount(owner, weights=parts[row]).tolist()),
                matches=tuple(match for match in matches if match[-1]),
            )
        )
    key = [str(facts[part]) for part in ("lp", "seg_id") if isinstance(facts[part], str)]
    return ShownSource(
        data=dataset.name,
        name=" ".join(key) or str(source + 1),
        text=facts["text"],
        references=tuple(dataset.references["text"].iloc[references]),
        rho=float(rho[source]),
        candidates=tuple(candidates),
        predicted=_order(systems, ranks),
        by_people=_order(systems, human_ranks),
    )


def mark(text: str, words: Sequence[str], known: Counter[str], matches: Sequence[str]) -> tuple[Piece, ...]:
    """Cut a candidate into runs of words that matched in the same way.

    Parameters
    ----------
    text : str
        The candidate as written.
    words : sequence of str
        Its tokens, in order.
    known : Counter
        How often a reference has each word, lower-cased; no word matches more often.
    matches : sequence of str
        Matched triplets, ``type(head, dependent)``, and near matches, ``word ~ other (module)``.

    Returns
    -------
    tuple of Piece
        Their texts joined are `text`, or the tokens with spaces between where those are not in `text` as they are.
    """
    found = [one for text_of in matches if (one := _TRIPLET.fullmatch(text_of))]
    in_triplet = {word for one in found for word in one.groups()}
    near = {word for text_of in matches if (one := _NEAR.fullmatch(text_of)) for word in one[1].lower().split()}
    text, spans = _spans(text, words)
    free = Counter(known)
    pieces: list[Piece] = []
    end = 0
    for word, (start, stop) in zip(words, spans, strict=True):
        lower = word.lower()
        same: Literal["", "same", "near"] = "same" if free[lower] > 0 else "near" if lower in near else ""
        here = (same, lower in in_triplet)
        free[lower] -= 1
        if pieces and (pieces[-1].word, pieces[-1].triplet) == here:
            pieces[-1] = Piece(pieces[-1].text + text[end:stop], *here)
        else:
            if start > end:
                pieces.append(Piece(text[end:start], "", False))
            pieces.append(Piece(text[start:stop], *here))
        end = stop
    if end < len(text):
        pieces.append(Piece(text[end:], "", False))
    return tuple(pieces)


def _spans(text: str, words: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    """Find the words in the text, in order; if they are not all there, return them joined by spaces instead."""
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


def _ranks(values: FloatArray) -> Int64Array:
    """Rank from 1 for the highest; what ties shares the better rank, and NaN comes last."""
    filled = np.where(np.isnan(values), -np.inf, merge_ties(values))
    return np.asarray(1 + (filled[np.newaxis, :] > filled[:, np.newaxis]).sum(axis=1), dtype=np.int64)


def _order(systems: Sequence[str], ranks: Int64Array) -> tuple[tuple[str, ...], ...]:
    return tuple(
        tuple(system for system, each in zip(systems, ranks, strict=True) if each == rank) for rank in np.unique(ranks)
    )
