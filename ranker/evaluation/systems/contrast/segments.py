"""Segments that one of two systems translates better than the other."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ranker.arrays import FloatArray
from ranker.evaluation.systems.contrast.pairing import ContrastedSystems
from ranker.evaluation.systems.contrast.result import SegmentContrast
from ranker.ranks import TIE
from ranker.text.matched_words import readable_batch, words_matched_by_one, words_missed_by_both


def differing_segments(
    pair: ContrastedSystems, scores: FloatArray, sign: float, count: int
) -> tuple[tuple[SegmentContrast, ...], tuple[SegmentContrast, ...]]:
    """Return, for each system, the segments that it translates better than the other system."""
    gain = sign * (scores[:, 0] - scores[:, 1])
    place = np.arange(len(gain))
    best = np.lexsort((place, -gain))[:count]
    worst = np.lexsort((place, gain))[:count]
    return (
        tuple(_segment(pair, scores, int(source)) for source in best if gain[source] > TIE),
        tuple(_segment(pair, scores, int(source)) for source in worst if gain[source] < -TIE),
    )


def _segment(pair: ContrastedSystems, scores: FloatArray, source: int) -> SegmentContrast:
    dataset = pair.dataset
    facts = dataset.sources.iloc[source]
    known = {name: None if pd.isna(facts[name]) else str(facts[name]) for name in ("lp", "doc", "seg_id")}
    rows = pair.rows[source]
    texts = dataset.candidates["text"].iloc[rows].tolist()
    references = slice(*dataset.reference_offsets[source : source + 2])
    batch = readable_batch(dataset)
    first_only, second_only = words_matched_by_one(batch, *rows)
    first, second = scores[source].tolist()
    return SegmentContrast(
        **known,
        source=str(facts["text"]),
        references=tuple(dataset.references["text"].iloc[references]),
        first_text=texts[0],
        second_text=texts[1],
        first_score=first,
        second_score=second,
        difference=first - second,
        first_only=first_only,
        second_only=second_only,
        missed=words_missed_by_both(batch, *rows),
    )
