"""Whether the systems of one test set score differently from a baseline: paired tests over sources."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ranker.arrays import FloatArray
from ranker.corpora.dataset import Dataset
from ranker.errors import DataError, OptionError, nearest
from ranker.evaluation.bootstrap import Estimate, estimate, resampled_sums, stream
from ranker.evaluation.choices import Paired
from ranker.evaluation.significance import approximate_randomisation, bootstrap_p
from ranker.extractors.scorers import Scorer


@dataclass(frozen=True)
class PairedScore:
    """A system and how it differs from the baseline.

    Parameters
    ----------
    lp : str
        Language pair; ``?`` where it is not known.
    system : str
    sources : int
    score : Estimate
        Corpus score, with its 95 % bootstrap interval over sources.
    difference : Estimate or None
        Score minus that of the baseline, with its interval; None of the baseline itself.
    p : float or None
        Two-sided p-value of the difference; None of the baseline.
    """

    lp: str
    system: str
    sources: int
    score: Estimate
    difference: Estimate | None = None
    p: float | None = None


def paired_scores(
    scorer: Scorer,
    dataset: Dataset,
    statistics: FloatArray,
    test: Paired,
    *,
    baseline: str | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> list[PairedScore]:
    """Test every system of every language pair against a baseline.

    Parameters
    ----------
    scorer : Scorer
    dataset : Dataset
        All systems of a language pair translate the same sources.
    statistics : float array, shape (candidates, k)
        Those of `scorer` for `dataset`.
    test : {"bs", "ar"}
        Paired bootstrap (Koehn 2004) or approximate randomisation (Riezler and Maxwell 2005).
    baseline : str, optional
        By default the first system of every language pair.
    resamples : int, default 1000
        Bootstrap samples, and swaps of ``ar``.
    seed : int, default 0

    Returns
    -------
    list of PairedScore
        The baseline of a language pair first, then its other systems in their order.

    Raises
    ------
    OptionError
        If a language pair has only one system, or none called `baseline`.
    DataError
        If a system lacks a translation of a source.
    """
    found = []
    for lp in dict.fromkeys(dataset.source_language_pairs[dataset.candidate_source]):
        names, cube = _by_system(dataset, statistics, lp)
        if len(names) < 2:
            what = f"{_where(dataset, lp)} holds the output of one system, {names[0]!r}"
            raise OptionError(f"--paired compares systems, and {what}: give those of two or more")
        if baseline is not None and baseline not in names:
            listed = ", ".join(map(repr, names))
            what = f"no system {baseline!r} in {_where(dataset, lp)}{nearest(baseline, names)}; there are: {listed}"
            raise OptionError(f"--baseline: {what}")
        first = 0 if baseline is None else names.index(baseline)
        sources, systems, width = cube.shape
        sums = resampled_sums(cube.reshape(sources, -1), resamples, stream(seed, lp))
        sample = scorer.score(sums.reshape(resamples, systems, width))
        scores = scorer.score(cube.sum(axis=0))
        for place in sorted(range(systems), key=lambda one: one != first):
            score = estimate(scores[place], sample[:, place])
            if place == first:
                found.append(PairedScore(lp, names[place], sources, score))
                continue
            apart, apart_sample = scores[place] - scores[first], sample[:, place] - sample[:, first]
            if test == "bs":
                p = float(bootstrap_p(apart_sample, apart))
            else:
                p = approximate_randomisation(
                    cube[:, place], cube[:, first], scorer.score, permutations=resamples, seed=seed
                )
            found.append(PairedScore(lp, names[place], sources, score, estimate(apart, apart_sample), p))
    return found


def _by_system(dataset: Dataset, statistics: FloatArray, lp: str) -> tuple[list[str], FloatArray]:
    """Return the systems of a language pair, and their statistics, shape (sources, systems, k)."""
    rows = np.flatnonzero(dataset.source_language_pairs[dataset.candidate_source] == lp)
    source, sources = pd.factorize(dataset.candidate_source[rows])
    system, names = pd.factorize(dataset.candidates["system"].to_numpy(object)[rows])
    there = np.bincount(source * len(names) + system, minlength=len(sources) * len(names)).reshape(-1, len(names))
    if (there != 1).any():
        place, which = np.argwhere(there != 1)[0]
        what = f"no translation by system {names[which]!r}" if not there[place, which] else "two translations by one"
        raise DataError(
            f"{dataset.where(sources[place])} has {what}, and paired tests compare systems on the same sources: score "
            "systems that translate all of them"
        )
    cube = np.zeros((len(sources), len(names), statistics.shape[1]))
    cube[source, system] = statistics[rows]
    return [str(name) for name in names], cube


def _where(dataset: Dataset, lp: str) -> str:
    return dataset.name if lp == "?" else f"{dataset.name} {lp}"


def flat(scores: Iterable[PairedScore], metric: str) -> list[dict[str, object]]:
    """Return rows of one shape, as programs read them."""
    return [
        {
            "lp": None if one.lp == "?" else one.lp,
            "metric": metric,
            "system": one.system,
            "sources": one.sources,
            "score": one.score.value,
            "low": one.score.low,
            "high": one.score.high,
            "difference": one.difference and one.difference.value,
            "difference.low": one.difference and one.difference.low,
            "difference.high": one.difference and one.difference.high,
            "p": one.p,
        }
        for one in scores
    ]
