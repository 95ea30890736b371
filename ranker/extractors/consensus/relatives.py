r"""Detection of related voters by their similarity, so that copies of a voter do not add votes.

Let :math:`s_{jk}` be the mean similarity of voters j and k. If they translate independently, they are similar only as
far as both are close to a correct translation, and the similarity is a product of two terms, one for each voter:
:math:`e_{jk} = \exp(a_j + a_k)`. Relatives (variants of one program, or copies) are more similar than that. Their
excess, as a share of the largest possible excess, is chance-corrected agreement (Cohen 1960):

.. math:: r_{jk} = \frac{s_{jk} - e_{jk}}{1 - e_{jk}}, \qquad K_{jk} = \max\Bigl(0, \frac{r_{jk} - t}{1 - t}\Bigr)

with :math:`K_{jj} = 1`, 0 up to the excess t that is usual between programs that learn from the same data. A vote
weighs :math:`w_j = 1 / \sum_k K_{jk}`, as related sequences are weighed (Vingron and Argos 1989; Henikoff and Henikoff
1994): m copies together weigh as much as one, and the sum of the weights is the effective number of voters (Leinster
and Cobbold 2012, at order 0 and equal shares).

The terms a are fitted to :math:`\log s_{jk}` over all pairs by least squares with the weights
:math:`w_j w_k (1 - K_{jk})`, times `LENIENCE` where the pair is more similar than expected, since relation makes pairs
more similar, never less. The weights follow from a and a from the weights; both are iterated, beginning with
:math:`K = s^8`, which gives a group of relatives little weight. So a group cannot make its own similarity look usual:
copies of j add rows whose total weight is that of j alone, and pairs of copies have weight 0.
"""

from __future__ import annotations

import numpy as np

from ranker.arrays import BoolArray, FloatArray

USUAL = 0.3
"""The excess t; chosen together with `LENIENCE` on wmt12 to wmt14, wmt19-darr and ted21-mqm: see docs/consensus.md."""
LENIENCE = 0.3
_ROUNDS = 6
_SWEEPS = 30
_LEAST = 1e-3


def relatives(similarity: FloatArray, known: BoolArray) -> FloatArray:
    """Return the relation of each pair of voters, from 0 (independent) to 1 (copies), shape (..., voters, voters).

    `similarity` contains the voters' mean similarities. Pairs of different voters outside the mask `known` get 0.
    """
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
        expected = np.exp(np.minimum(_sums(nearness), np.log(0.99)))
        beyond_chance = (similarity - expected) / (1.0 - expected)
        relation = np.where(known, np.clip((beyond_chance - USUAL) / (1.0 - USUAL), 0.0, 1.0), same)
    return relation


def vote_weights(relation: FloatArray) -> FloatArray:
    """Return the weights of the voters' votes, shape (..., voters), for relations of shape (..., voters, voters)."""
    return np.asarray(1.0 / relation.sum(axis=-1))


def _sums(terms: FloatArray) -> FloatArray:
    return np.asarray(terms[..., :, np.newaxis] + terms[..., np.newaxis, :])
