r"""Which voters are relatives, from how like each other they are: so that a vote does not grow by copying.

Let :math:`s_{jk}` be how like voters j and k are on the mean. If they translate independently, both are alike only as
far as both come near to what is right, and the likeness is a product of two terms, one for each:
:math:`e_{jk} = \exp(a_j + a_k)`. Relatives (one program under several names, tuned differently; copies) are more alike.
What they have in excess, as a share of what they could have, is chance-corrected agreement (Cohen 1960):

.. math:: r_{jk} = \frac{s_{jk} - e_{jk}}{1 - e_{jk}}, \qquad K_{jk} = \max\Bigl(0, \frac{r_{jk} - t}{1 - t}\Bigr)

with :math:`K_{jj} = 1`, 0 up to the excess t that is usual between programs that learn from the same data. A vote
weighs :math:`w_j = 1 / \sum_k K_{jk}`, as related sequences are weighed (Vingron and Argos 1989; Henikoff and Henikoff
1994): m copies together weigh as much as one, and the sum of the weights is the effective number of voters (Leinster
and Cobbold 2012, at order 0 and equal shares). And what j says of its relative k is less what they have in excess,
:math:`s_{jk} - K_{jk} (1 - e_{jk})`, in every source: a copy says of its original no more than that it is as good as it
is, but still where it is better or worse than usual.

The terms a are those of weighted least squares of :math:`\log s_{jk}` over all pairs, weights
:math:`w_j w_k (1 - K_{jk})`, times `LENIENCE` where the pair is more alike than expected, since relation makes pairs
more alike, never less. The weights follow from a and a from the weights; both are iterated, beginning with
:math:`K = s^8`, under which a crowd of relatives weighs little. So a crowd cannot make its own likeness look usual:
copies of j add rows that together weigh what j weighed, and pairs of copies weigh 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ranker.arrays import BoolArray, FloatArray

USUAL = 0.3
"""t; together with `LENIENCE` chosen over wmt12 to wmt14, wmt19-darr and ted21-mqm: see docs/consensus.md."""
LENIENCE = 0.3
_ROUNDS = 6
_SWEEPS = 30
_LEAST = 1e-3


@dataclass(frozen=True, eq=False)
class Relations:
    """How much voters are relatives: K and the excess K (1 - e) of pairs, (..., n, n), and the terms a, (..., n)."""

    relation: FloatArray
    excess: FloatArray
    nearness: FloatArray


def relatives(similarity: FloatArray, known: BoolArray) -> Relations:
    """Return which voters are relatives, given their mean similarities, (..., n, n), and which of these are `known`."""
    same = np.eye(similarity.shape[-1], dtype=bool)
    known = known & ~same
    logarithm = np.log(np.maximum(similarity, _LEAST))
    relation = np.where(known, np.clip(similarity, 0.0, 1.0) ** 8, same)
    nearness = np.zeros(similarity.shape[:-1])
    for step in range(_ROUNDS):
        vote = vote_weights(relation)
        weight = 1.0 - relation
        weight *= known
        weight *= vote[..., :, np.newaxis]
        weight *= vote[..., np.newaxis, :]
        if step:
            np.multiply(weight, LENIENCE, out=weight, where=logarithm > _sums(nearness))
        total = np.maximum(weight.sum(axis=-1), 1e-12)
        own = np.einsum("...jk,...jk->...j", weight, logarithm) / total
        for _ in range(_SWEEPS):
            others = (weight @ nearness[..., np.newaxis])[..., 0] / total
            nearness = 0.5 * (nearness + own - others)
        relation, excess = _compare(similarity, _sums(nearness))
        relation = np.where(known, relation, same)
    return Relations(relation, np.where(known, excess, 0.0), nearness)


def relation_to(similarity: FloatArray, nearness: FloatArray, vote: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return relation and excess of voters with candidates that do not vote."""
    rest = np.log(np.maximum(similarity, _LEAST)) - nearness[:, np.newaxis]
    weight = np.broadcast_to(vote[:, np.newaxis], similarity.shape)
    relation = excess = np.zeros(similarity.shape)
    for _ in range(_ROUNDS):
        used = weight * (1.0 - relation)
        own = (used * rest).sum(axis=0) / np.maximum(used.sum(axis=0), 1e-12)
        relation, excess = _compare(similarity, nearness[:, np.newaxis] + own)
        weight = vote[:, np.newaxis] * np.where(rest > own, LENIENCE, 1.0)
    return relation, excess


def _compare(similarity: FloatArray, expected_logarithm: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return relation and excess of pairs, given the logarithms of e."""
    expected = np.exp(np.minimum(expected_logarithm, np.log(0.99)))
    possible = 1.0 - expected
    relation = (similarity - expected) / possible
    relation -= USUAL
    relation /= 1.0 - USUAL
    np.clip(relation, 0.0, 1.0, out=relation)
    possible *= relation
    return relation, possible


def vote_weights(relation: FloatArray) -> FloatArray:
    """Return the weight of the vote of each, shape (..., n), of relations (..., n, n)."""
    return np.asarray(1.0 / relation.sum(axis=-1))


def _sums(terms: FloatArray) -> FloatArray:
    return np.asarray(terms[..., :, np.newaxis] + terms[..., np.newaxis, :])
