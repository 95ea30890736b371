"""Consensus features for sources with too many candidates to compare all pairs."""

from __future__ import annotations

import numpy as np

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.extractors.consensus.relatives import relatives, vote_weights
from ranker.extractors.consensus.similarities import PAIRS, Similarity
from ranker.extractors.consensus.texts import source_texts
from ranker.extractors.consensus.votes import COLUMNS, nearest, normalise, shared_votes, weighted_mean
from ranker.text.pairs import TextPairs

_AT_ONCE = 1000


def large_source(
    dataset: Dataset,
    source: int,
    similarity: Similarity,
    wording: Similarity,
    *,
    lower: bool,
    limit: int,
    neighbours: int,
) -> FloatArray:
    """Return the features of one source's candidates, each compared with at most `limit` distinct texts.

    `similarity` and `wording` must be fitted.
    """
    rows = np.arange(*dataset.candidate_offsets[source : source + 2])
    alone = dataset.select_sources(np.arange(len(dataset.sources)) == source)
    different = source_texts(alone)
    texts, number = different.texts, len(different.texts)
    voting = ~dataset.is_reference[rows]
    count = np.bincount(different.row, voting, minlength=number).astype(np.float64)
    # sorted, so that the choice does not depend on the order of the candidates
    order = np.argsort(texts.candidates["text"].to_numpy(object), kind="stable")
    possible = order[count[order] > 0]
    if not len(possible):
        return np.zeros((len(rows), len(COLUMNS)))
    voters = possible[np.unique(np.linspace(0, len(possible) - 1, min(limit, len(possible))).astype(np.int64))]
    among = _rectangle(texts, voters, voters, similarity)
    vote = vote_weights(relatives(normalise(among, lower=lower), np.ones(among.shape, dtype=bool)))
    copies_share = shared_votes(normalise(_rectangle(texts, voters, voters, wording)), np.ones(len(voters), dtype=bool))
    features = np.zeros((number, len(COLUMNS)))
    for start in range(0, number, _AT_ONCE):
        candidates = np.arange(start, min(start + _AT_ONCE, number))
        values = _rectangle(texts, candidates, voters, similarity)
        others = voters[:, np.newaxis] != candidates
        copies = np.maximum(count[voters][:, np.newaxis] - ~others, 0.0)
        features[candidates] = np.stack(
            [
                weighted_mean(values, copies),
                weighted_mean(values, others.astype(np.float64)),
                nearest(values, others, neighbours),
                weighted_mean(values, vote[:, np.newaxis] * others),
                weighted_mean(values, copies_share[:, np.newaxis] * others),
            ],
            axis=1,
        )
    return features[different.row]


def _rectangle(texts: Dataset, candidates: Int64Array, references: Int64Array, similarity: Similarity) -> FloatArray:
    """Return similarities of candidates to references, both given by row in `texts`, shape (references, candidates)."""
    used, places = np.unique(np.concatenate([references, candidates]), return_inverse=True)
    keep = np.zeros(len(texts), dtype=bool)
    keep[used] = True
    some = texts.select_candidates(keep)
    reference, candidate = np.split(places.astype(np.int64), [len(references)])
    order = np.argsort(reference)
    values = np.empty((len(references), len(candidates)))
    step = max(1, PAIRS // len(candidates))
    for start in range(0, len(references), step):
        part = order[start : start + step]
        pairs = TextPairs(some, np.tile(candidate, len(part)), np.repeat(reference[part], len(candidates)))
        values[part] = similarity.compare(pairs)[0].reshape(len(part), -1)
    return values
