"""Sources with so many candidates that not all are compared with each other."""

from __future__ import annotations

import numpy as np

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.extractors.base import Metric
from ranker.extractors.consensus.relatives import relation_to, relatives, vote_weights
from ranker.extractors.consensus.similarities import PAIRS, Similarity
from ranker.extractors.consensus.texts import source_texts
from ranker.extractors.consensus.votes import Likeness, nearest, quality, weighted_mean
from ranker.extractors.text.text_pairs import TextPairs

_AT_ONCE = 1000


def large_source(
    dataset: Dataset,
    source: int,
    similarity: Similarity,
    aggregated: Metric | None,
    *,
    lower: bool,
    limit: int,
    neighbours: int,
) -> FloatArray:
    """Return the features of the candidates of one source, compared with at most `limit` of its different texts.

    Parameters
    ----------
    dataset : Dataset
    source : int
    similarity : Similarity
    aggregated : Metric, optional
        What gives ``mean`` and ``distinct`` by the score of mean statistics over all texts, if it has them.
    lower : bool
        Whether `similarity` is an error rate negated.
    limit, neighbours : int

    Returns
    -------
    float array, shape (candidates of the source, 6)
    """
    rows = np.arange(*dataset.candidate_offsets[source : source + 2])
    alone = dataset.select_sources(np.arange(len(dataset.sources)) == source)
    different = source_texts(alone)
    texts, number = different.texts, len(different.texts)
    voting = ~dataset.candidates["is_reference"].to_numpy(bool)[rows]
    count = np.bincount(different.row, voting, minlength=number).astype(np.float64)
    possible = np.flatnonzero(count > 0)
    if not len(possible):
        return np.zeros((len(rows), 6))
    voters = possible[np.unique(np.linspace(0, len(possible) - 1, min(limit, len(possible))).astype(np.int64))]
    similarity = similarity.fit(texts, np.arange(number))
    among = _rectangle(texts, voters, voters, similarity)
    likeness = Likeness.of(among[np.newaxis], lower=lower)
    self_similarity = np.diagonal(among)
    relations = relatives(likeness.values, np.ones(likeness.values.shape, dtype=bool))
    vote = vote_weights(relations.relation)[0]
    other = ~np.eye(len(voters), dtype=bool)
    own = weighted_mean(
        (among - likeness.scaled(relations.excess)[0])[np.newaxis], (vote[:, np.newaxis] * other)[np.newaxis]
    )
    better = vote * quality(own, np.ones(own.shape, dtype=bool))[0]
    features = np.zeros((number, 6))
    for start in range(0, number, _AT_ONCE):
        mine = np.arange(start, min(start + _AT_ONCE, number))
        values = _rectangle(texts, mine, voters, similarity)
        here = _alone(texts, mine, similarity)
        like = Likeness.between(values, self_similarity, here, lower=lower)
        _, excess = relation_to(like.values, relations.nearness[0], vote)
        other = voters[:, np.newaxis] != mine
        less = values - like.scaled(excess)
        copies = np.where(other, 0.0, -1.0) + count[voters][:, np.newaxis]
        columns = [
            weighted_mean(values[np.newaxis], np.maximum(copies, 0.0)[np.newaxis]),
            weighted_mean(values[np.newaxis], other.astype(np.float64)[np.newaxis]),
            nearest(values[np.newaxis], other[np.newaxis], neighbours),
            *(
                weighted_mean(one[np.newaxis], (weight[:, np.newaxis] * other)[np.newaxis])
                for one, weight in ((values, vote), (less, vote), (less, better))
            ),
        ]
        features[mine] = np.concatenate(columns).T
    if aggregated is not None:
        _aggregate(texts, count, aggregated, lower=lower, features=features, similarity=similarity)
    return features[different.row]


def _aggregate(
    texts: Dataset, count: FloatArray, metric: Metric, *, lower: bool, features: FloatArray, similarity: Similarity
) -> None:
    """Replace ``mean`` and ``distinct`` by scores of mean statistics, if `metric` has them."""
    voters = (count > 0).astype(np.float64)
    for column, weight in enumerate((count, voters)):
        summed = metric.summed_statistics(texts, weight)
        if summed is None:
            return
        total = weight.sum() - weight
        mean = np.divide(summed, total[:, np.newaxis], out=np.zeros(summed.shape), where=total[:, np.newaxis] > 0)
        score = metric.score(mean) * (-1.0 if lower else 1.0)
        if column == 0:
            # other systems with the very same text
            again = np.maximum(count - 1.0, 0.0)
            score = (total * score + again * _alone(texts, np.arange(len(texts)), similarity)) / np.maximum(
                total + again, 1.0
            )
        features[:, column] = score


def _rectangle(texts: Dataset, candidates: Int64Array, references: Int64Array, similarity: Similarity) -> FloatArray:
    """Return the similarity of `candidates` to `references`, rows of `texts`, shape (references, candidates)."""
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
        values[part] = similarity.compare(pairs).reshape(len(part), -1)
    return values


def _alone(texts: Dataset, rows: Int64Array, similarity: Similarity) -> FloatArray:
    """Return the similarity of every one of `rows` with itself."""
    parts = [rows[start : start + PAIRS] for start in range(0, len(rows), PAIRS)]
    return np.concatenate([similarity.compare(TextPairs(texts, part, part)) for part in parts])
