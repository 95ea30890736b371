"""Selection of sources to be judged, so that few judgements distinguish systems.

A metric's scores of a source's outputs are centred on their mean; a system's mean centred score over all sources shows
its place among the systems. The value of a source is the sum, over its outputs, of the centred score times the system's
mean. It is large if the outputs differ much, in the same direction as the systems (Zouhar, Cui and Sachan 2025 look for
such sources by other formulas). ``bench/source_selection.py`` compares this choice with others and with chance.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from ranker.arrays import BoolArray, FloatArray
from ranker.corpora.dataset import Dataset, source_place
from ranker.errors import DataError, counted
from ranker.ranking.scorers import Scorer, candidate_scores, systems_scorer


def informative_sources(dataset: Dataset, scorer: Scorer, number: int) -> BoolArray:
    """Return a mask of each language pair's most informative sources, at most `number` per pair."""
    _check_references(dataset, scorer)
    value, pairs = (
        source_values(dataset, candidate_scores(systems_scorer(scorer), dataset)),
        dataset.source_language_pairs,
    )
    chosen = np.zeros(len(value), dtype=bool)
    for lp in dataset.language_pairs:
        rows = np.flatnonzero(pairs == lp)
        chosen[rows[np.argsort(-value[rows], kind="stable")[:number]]] = True
    return chosen


def _check_references(dataset: Dataset, scorer: Scorer) -> None:
    """Refuse sources without a reference that the scorer requires, with the names of metrics that require none."""
    lacking = (np.diff(dataset.reference_offsets) == 0) & (np.diff(dataset.candidate_offsets) > 0)
    if lacking.any() and any(extractor.needs.references for extractor in scorer.feature_set.extractors):
        missing = f"missing in {int(lacking.sum()):,} of {counted(len(lacking), 'source')}"
        what = f"{source_place(dataset, int(np.argmax(lacking)))} has no reference, which {scorer.name} requires"
        others = "'semantic[encoder=encoder-any,against=source].f', or 'perp[model=shipped]' for English"
        raise DataError(f"{what} ({missing}): add references, or give a --metric that needs none: {others}")


def source_values(dataset: Dataset, scores: FloatArray) -> FloatArray:
    """Return the value of judging each source, higher is better, from the metric scores of the candidates."""
    source, sources = dataset.candidate_source, len(dataset.sources)
    pairs = dataset.source_language_pairs[source]
    system = pd.factorize(pd.MultiIndex.from_arrays([pairs, dataset.candidates["system"].to_numpy(object)]))[0]
    sizes = np.maximum(np.bincount(source, minlength=sources), 1)
    apart = scores - (np.bincount(source, scores, sources) / sizes)[source]
    mean = np.bincount(system, apart) / np.bincount(system)
    return np.asarray(np.bincount(source, apart * mean[system], sources), dtype=np.float64)
