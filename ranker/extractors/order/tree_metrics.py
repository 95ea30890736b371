"""Metrics of word order that score the permutation as a hierarchy of phrases: permutation trees and forests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ranker.arrays import FloatArray, Int32Array, Int64Array
from ranker.errors import OptionError
from ranker.extractors.order.metrics import PermutationMetric
from ranker.extractors.order.scores import permutation_scores


@dataclass(frozen=True)
class TreeMetric(PermutationMetric):
    """Base class of recursive scores of permutation trees; `CanonicalTree` documents the options."""

    beta: float = 0.6
    gamma: float = 0.0

    def __post_init__(self) -> None:
        """Refuse options out of range."""
        super().__post_init__()
        if not 1e-6 <= self.beta <= 1:
            raise OptionError(f"{self.name}[beta={self.beta}]: expected a number from 0.000001 to 1")
        if not 0 <= self.gamma < 1:
            raise OptionError(f"{self.name}[gamma={self.gamma}]: expected a number of at least 0 and below 1")

    def _permutation_scores(self, values: Int32Array, offsets: Int64Array) -> FloatArray:
        return permutation_scores(self.name, values, offsets, beta=self.beta, gamma=self.gamma)


@dataclass(frozen=True)
class CanonicalTree(TreeMetric):
    r"""Recursive score of the left-branching permutation tree, in [0, 1].

    .. math:: \phi(\mathrm{node}) = \beta\, o(\mathrm{node}) + (1 - \beta) \sum_{\mathrm{child}}
              \frac{|\mathrm{child}|}{|\mathrm{node}|} \phi(\mathrm{child}), \quad \phi(\mathrm{leaf}) = 1

    where the operator score o is 1 if the children are in order, gamma if there are two and they are swapped, else 0,
    and \|x\| the number of words below x; rescaled so that the inverted permutation has 0: (phi - phi_inv) /
    (1 - phi_inv) (Stanojević and Sima'an 2014). Other options and degenerate values as for `kendall`.

    Parameters
    ----------
    alignment, aligner, alpha, lexical, brevity, tokenizer, lowercase
        As for `kendall`.
    beta : float, default 0.6
        Weight of a node's own operator score against its children's scores, above 0 and at most 1.
    gamma : float, default 0.0
        Operator score of two swapped children, at least 0 and below 1. If it is above 0, some scores are below 0.
    """

    name: ClassVar[str] = "pet"


@dataclass(frozen=True)
class FlatTree(TreeMetric):
    """Recursive score of the permutation tree with nested equal binary operators merged into one node, at most 1.

    The formula of `pet` on the flattened tree (Stanojević and Sima'an 2014), where o is gamma for any number of
    children in inverted order, because such a node is a run of swaps. Other permutations than the inverted one can
    have the lowest value, so some scores are below 0. Options and degenerate values as for `pet`.
    """

    name: ClassVar[str] = "pet_flat"


@dataclass(frozen=True)
class ViterbiTree(TreeMetric):
    """Recursive score of the best-scoring permutation tree of the forest, in [0, 1].

    The formula of `pet`, its highest value over all trees (Stanojević and Sima'an 2014). Options and degenerate values
    as for `pet`.
    """

    name: ClassVar[str] = "pet_viterbi"


@dataclass(frozen=True)
class Forest(TreeMetric):
    """Mean recursive score of all permutation trees of the forest, in [0, 1].

    The formula of `pet`, averaged over all trees with equal weight (Stanojević and Sima'an 2014). Options and
    degenerate values as for `pet`.
    """

    name: ClassVar[str] = "pef"


@dataclass(frozen=True)
class TreeArity(PermutationMetric):
    r"""Score that is higher the fewer children the permutation tree's nodes have on average, in [0, 1].

    .. math:: (n - \mathrm{mean\ arity}) / (n - 2)

    with the mean number of children of the inner nodes, for n words, of the trees of Stanojević and Sima'an (2014);
    n = 2 scores 0. Options and other degenerate values as for `kendall`.
    """

    name: ClassVar[str] = "pet_arity"


@dataclass(frozen=True)
class TreeMaximalArity(PermutationMetric):
    r"""Score that is higher the fewer children the permutation tree's widest node has, in [0, 1].

    .. math:: (n - \mathrm{largest\ arity}) / (n - 2)

    with the largest number of children of a node, for n words, of the trees of Stanojević and Sima'an (2014); n = 2
    scores 0. Options and other degenerate values as for `kendall`.
    """

    name: ClassVar[str] = "pet_max_arity"


@dataclass(frozen=True)
class TreeSize(PermutationMetric):
    r"""Number of inner nodes of the permutation tree, as a share of the largest possible number, in [0, 1].

    .. math:: (\mathrm{nodes} - 1) / (n - 2)

    with the inner nodes of the permutation tree of n words (Stanojević and Sima'an 2014); n = 2 scores 1. Options and
    other degenerate values as for `kendall`.
    """

    name: ClassVar[str] = "pet_size"


@dataclass(frozen=True)
class ForestSize(PermutationMetric):
    r"""Number of permutation trees in the forest, as a share of the largest possible number, in [0, 1].

    .. math:: (\mathrm{trees} - 1) / (C_{n-1} - 1)

    with the Catalan number C of n - 1, the trees of a monotone order of n words (Stanojević and Sima'an 2014). Options
    and degenerate values as for `kendall`.
    """

    name: ClassVar[str] = "pef_size"
