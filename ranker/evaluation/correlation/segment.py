"""Agreement with people at segment level: Spearman's rho per source and Kendall's tau over preference pairs.

Figures are made for every language pair; their mean over language pairs, and over those into English, is the figure
that the shared tasks publish. Intervals are percentiles of a bootstrap over sources within language pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ranker.arrays import BoolArray, FloatArray, Int64Array, offsets_of
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import AUTO, PreferencePairs, human_scores, preference_pairs, resolve_kind
from ranker.errors import DataError
from ranker.evaluation.bootstrap import Estimate, estimate, resampled_sums, stream
from ranker.evaluation.correlation.pair_counts import TAU_VARIANTS, TauVariant, tau
from ranker.ranks import group_spearman, merge_ties

__all__ = [
    "TAU_VARIANTS",
    "Estimate",
    "Evaluation",
    "Row",
    "TauVariant",
    "evaluate",
    "source_spearman",
    "tau",
    "tau_counts",
]

SPEARMAN_FORMS = ("tie-corrected", "ye07")


@dataclass(frozen=True)
class Row:
    """The figures of one language pair, or means over several.

    Parameters
    ----------
    name : str
        Language pair, or ``mean into English``, ``mean``.
    sources : int
        Sources with judged candidates.
    undefined : int
        Those without a Spearman correlation: one judged candidate, or all alike on one side.
    spearman : dict
        Mean over the sources with a correlation, by form; of means over language pairs, the mean of their means.
    spearman_variance : dict
        Variance over those sources, by form.
    spearman_pooled : dict
        Mean over all sources of all language pairs together, by form.
    pairs : dict
        Number of strict preferences, by rows of the pairs file: ``official`` (all) and ``primary``.
    tau : dict
        Segment-level tau, by rows and then by variant.
    """

    name: str
    sources: int
    undefined: int
    spearman: Mapping[str, Estimate]
    spearman_variance: Mapping[str, float]
    spearman_pooled: Mapping[str, Estimate]
    pairs: Mapping[str, int]
    tau: Mapping[str, Mapping[str, Estimate]]


@dataclass(frozen=True)
class Evaluation:
    """What `evaluate` found; `rows` holds the language pairs first, then the means."""

    data: str
    kind: str
    rows: tuple[Row, ...]
    resamples: int
    seed: int


def source_spearman(
    dataset: Dataset,
    scores: npt.ArrayLike,
    human: npt.ArrayLike,
    *,
    tie_corrected: bool = True,
    constant: bool = False,
) -> FloatArray:
    """Spearman's rho between scores and human scores among the judged candidates of every source.

    Parameters
    ----------
    dataset : Dataset
    scores, human : array-like, shape (candidates,)
        Higher is better; `human` is NaN where a candidate was not judged. For ties see
        `ranker.ranks.merge_ties`.
    tie_corrected, constant : bool
        See `ranker.ranks.group_spearman`.

    Returns
    -------
    float array, shape (sources,)
        NaN where it is undefined.
    """
    target = np.asarray(human, dtype=np.float64)
    judged = ~np.isnan(target)
    counts = np.bincount(dataset.candidate_source[judged], minlength=len(dataset.sources))
    offsets = offsets_of(counts)
    sides = np.asarray(scores)[judged], target[judged]
    return group_spearman(*sides, offsets, tie_corrected=tie_corrected, constant=constant)


def tau_counts(scores: npt.ArrayLike, pairs: PreferencePairs, group: npt.ArrayLike, groups: int) -> Int64Array:
    """Count how the scores stand to strict human preferences.

    Parameters
    ----------
    scores : array-like, shape (candidates,)
        Compared exactly: ties are those of `ranker.ranks.merge_ties`, if they were merged by source.
    pairs : PreferencePairs
    group : array-like of int, shape (candidates,)
        Group to count a pair in, as its source.
    groups : int

    Returns
    -------
    int64 array, shape (groups, 3)
        Concordant, discordant and tied pairs.
    """
    values = np.asarray(scores, dtype=np.float64)
    difference = values[pairs.better] - values[pairs.worse]
    outcome = np.where(difference == 0, 2, np.where(difference > 0, 0, 1))
    code = np.asarray(group)[pairs.better] * 3 + outcome
    return np.bincount(code, minlength=3 * groups).reshape(groups, 3).astype(np.int64)


def evaluate(
    dataset: Dataset,
    scores: npt.ArrayLike,
    *,
    kind: str = AUTO,
    human: npt.ArrayLike | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> Evaluation:
    """Compare scores with human judgements.

    Parameters
    ----------
    dataset : Dataset
    scores : array-like, shape (candidates,)
        Higher is better. Only candidates that people judged count.
    kind : str
        Kind of judgement; see `ranker.corpora.judgements`.
    human : array-like, shape (candidates,), optional
        Human scores; by default those of `kind`.
    resamples : int, default 1000
        Bootstrap samples of sources, for 95 % intervals; 0 gives none.
    seed : int, default 0

    Returns
    -------
    Evaluation

    Raises
    ------
    DataError
        If nothing was judged so, or a judged candidate has no score.
    """
    kind = resolve_kind(dataset, kind)
    target = human_scores(dataset, kind) if human is None else np.asarray(human, dtype=np.float64)
    values = merge_ties(scores, dataset.candidate_offsets)
    selections = {"official": preference_pairs(dataset, primary=False), "primary": preference_pairs(dataset)}
    needed = ~np.isnan(target)
    for pairs in selections.values():
        needed[pairs.better] = needed[pairs.worse] = True
    if np.isnan(values[needed]).any():
        raise DataError("a judged candidate has no score", file=dataset.name)
    columns = _Columns.of(dataset, values, target, selections)
    source_lp = dataset.source_language_pairs
    names = sorted(set(source_lp[columns.judged]))
    blocks = [columns.statistics[columns.judged & (source_lp == name)] for name in names]
    samples = [resampled_sums(block, resamples, stream(seed, name)) for name, block in zip(names, blocks, strict=True)]
    rows = [columns.row(name, [block], [sample]) for name, block, sample in zip(names, blocks, samples, strict=True)]
    into_english = [index for index, name in enumerate(names) if name.endswith("-en")]
    for title, members in (("mean into English", into_english), ("mean", list(range(len(names))))):
        if len(names) > 1 and members:
            rows.append(columns.row(title, [blocks[index] for index in members], [samples[index] for index in members]))
    return Evaluation(dataset.name, kind, tuple(rows), resamples, seed)


@dataclass(frozen=True)
class _Columns:
    """Additive statistics of every source: per Spearman form (rho, defined), then per selection the tau counts."""

    statistics: FloatArray
    judged: BoolArray
    selections: tuple[str, ...]

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        scores: FloatArray,
        human: FloatArray,
        selections: Mapping[str, PreferencePairs],
    ) -> _Columns:
        size = len(dataset.sources)
        columns: list[FloatArray] = []
        for form in SPEARMAN_FORMS:
            rho = source_spearman(dataset, scores, human, tie_corrected=form == "tie-corrected")
            defined = ~np.isnan(rho)
            columns.extend((np.where(defined, rho, 0.0), defined.astype(np.float64)))
        judged = np.bincount(dataset.candidate_source[~np.isnan(human)], minlength=size) > 0
        used = {name: pairs for name, pairs in selections.items() if len(pairs.better)}
        for pairs in used.values():
            counts = tau_counts(scores, pairs, dataset.candidate_source, size)
            columns.extend(counts.T.astype(np.float64))
            judged |= counts.any(axis=1)
        return cls(np.stack(columns, axis=1), judged, tuple(used))

    def row(self, name: str, blocks: Sequence[FloatArray], samples: Sequence[FloatArray]) -> Row:
        totals = [np.asarray(block.sum(axis=0)) for block in blocks]
        spearman, variance, pooled = {}, {}, {}
        together = np.concatenate(blocks)
        for index, form in enumerate(SPEARMAN_FORMS):
            rho, defined = 2 * index, 2 * index + 1
            spearman[form] = _mean_ratio(totals, samples, rho, defined)
            pooled[form] = _mean_ratio([np.sum(totals, axis=0)], [np.sum(samples, axis=0)], rho, defined)
            values = together[together[:, defined] > 0, rho]
            variance[form] = float(values.var(ddof=1)) if len(values) > 1 else float("nan")
        taus: dict[str, dict[str, Estimate]] = {}
        pairs = {}
        for index, selection in enumerate(self.selections):
            at = slice(2 * len(SPEARMAN_FORMS) + 3 * index, 2 * len(SPEARMAN_FORMS) + 3 * index + 3)
            pairs[selection] = int(sum(total[at].sum() for total in totals))
            taus[selection] = {
                variant: estimate(
                    np.mean([tau(total[at], variant) for total in totals]),
                    np.mean([tau(sample[:, at], variant) for sample in samples], axis=0),
                )
                for variant in TAU_VARIANTS
            }
        undefined = int((together[:, 1] == 0).sum())
        return Row(name, len(together), undefined, spearman, variance, pooled, pairs, taus)


def _mean_ratio(
    totals: Sequence[FloatArray], samples: Sequence[FloatArray], numerator: int, denominator: int
) -> Estimate:
    with np.errstate(invalid="ignore"):
        return estimate(
            np.mean([total[numerator] / total[denominator] for total in totals]),
            np.mean([sample[:, numerator] / sample[:, denominator] for sample in samples], axis=0),
        )
