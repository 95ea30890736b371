"""Every hypothesis against every other of its sentence as its reference, in batches, with any metric."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import ALIGNMENT, TEXT, Dataset, table
from ranker.corpora.formats.nbest import NBestList
from ranker.extractors.base import Metric, check_new_texts

PAIRS = 100_000
"""Pairs that are scored at once, which bounds the memory."""


def mean_pairwise(
    nbest: NBestList, hypotheses: Int64Array, metric: Metric, mass: FloatArray, sources: Dataset | None = None
) -> tuple[FloatArray, FloatArray]:
    """Score hypotheses against each other.

    Parameters
    ----------
    nbest : NBestList
    hypotheses : int array, shape (n,)
        Rows of the list, sorted by sentence, all different texts inside a sentence.
    metric : Metric
        Negated if lower is better. One that takes something from all references, as NIST does, takes it from the
        hypotheses that are scored at once.
    mass : float array, shape (n,)
        Weight of each as a reference.
    sources : Dataset, optional
        Source sentences, for metrics that read them.

    Returns
    -------
    sums : float array, shape (n,)
        ``sum over j of mass[j] * score(i against j)``, i itself among the j.
    alone : float array, shape (n,)
        Score of each against itself.
    """
    check_new_texts([metric], "hypotheses against each other")
    sentence = nbest.sentence[hypotheses]
    _, starts, sizes = np.unique(sentence, return_index=True, return_counts=True)
    sums, alone = np.zeros(len(hypotheses)), np.zeros(len(hypotheses))
    ends = np.cumsum(sizes.astype(np.int64) ** 2)
    block = 0
    while block < len(starts):
        done = ends[block - 1] if block else 0
        last = max(block + 1, int(np.searchsorted(ends, done + PAIRS, side="right")))
        rows = slice(int(starts[block]), int(starts[last - 1] + sizes[last - 1]))
        _score(nbest, hypotheses[rows], sizes[block:last], metric, mass[rows], sources, sums[rows], alone[rows])
        block = last
    return sums, alone


def _score(
    nbest: NBestList,
    hypotheses: Int64Array,
    sizes: Int64Array,
    metric: Metric,
    mass: FloatArray,
    sources: Dataset | None,
    sums: FloatArray,
    alone: FloatArray,
) -> None:
    """Fill `sums` and `alone` for the hypotheses of whole sentences, `sizes` of each."""
    number = len(hypotheses)
    # every hypothesis is the one reference of a source of its own, with all of its sentence as candidates
    width = np.repeat(sizes, sizes)
    reference = np.repeat(np.arange(number), width)
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    within = np.arange(int(width.sum())) - np.repeat(np.cumsum(width) - width, width)
    candidate = first[reference] + within
    texts = nbest.texts.take(pa.array(nbest.text[hypotheses]))
    source_texts = (
        pa.array([""] * number, pa.large_string())
        if sources is None
        else pa.array(sources.sources["text"].to_numpy(object)[nbest.sentence[hypotheses]], pa.large_string())
    )
    base = table("sources", {"seg_id": [str(index) for index in range(number)]})
    references = table("references", {"source": np.arange(number)})
    candidates = pd.DataFrame(
        {
            "source": reference,
            "system": _strings(pa.array(within).cast(pa.large_string())),
            "text": _strings(texts.take(pa.array(candidate))),
            "is_reference": np.zeros(len(candidate), dtype=bool),
        }
    )
    references["text"] = _strings(texts)
    base["text"] = _strings(source_texts)
    if nbest.alignment is not None:
        alignment = nbest.alignment.take(pa.array(hypotheses))
        references[ALIGNMENT] = _strings(alignment)
        candidates[ALIGNMENT] = _strings(alignment.take(pa.array(candidate)))
    dataset = Dataset(nbest.name, base, references, candidates, table("ratings"), table("preferences"))
    scores = metric.fit_ranked(dataset).transform(dataset)[:, 0]
    if not metric.higher_is_better:
        scores = -scores
    sums[:] = np.bincount(candidate, scores * mass[reference], minlength=number)
    same = candidate == reference
    alone[candidate[same]] = scores[same]


def _strings(values: pa.Array) -> pd.Series:
    return pd.Series(pd.arrays.ArrowStringArray(pa.chunked_array([values])), dtype=TEXT)
