"""The ranking SVM beside LinearSVC on the same pairs, and at scale, in one run: `python bench/ranksvm.py`.

LinearSVC gets ready differences, one for every pair, and only its fit is timed: in the primal for the squared hinge,
which is its faster solver there, in the dual for the hinge, which has no other. Its tolerance is lowered until its
objective is within 1e-4 of the minimum. The ranking SVM is timed from the candidates (or the list of pairs) to the
weights, once with a tolerance that gets its objective as low as LinearSVC's and once with its default of 1e-8. Ratios
carry over to other machines better than times do. Memory is that of a process of its own, the data and the interpreter
included.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from ranker.arrays import FloatArray, Int64Array
from ranker.learning.svm.ranksvm import RankSVM
from ranker.threads import jobs

COLUMNS = 20
GROUP = 10
SAME = 1e-4
"""Objectives closer than this to the minimum, relatively, count as reached."""
PATIENCE = 60.0
"""Seconds after which LinearSVC gets no lower tolerance."""


def candidates(n_rows: int) -> tuple[FloatArray, FloatArray]:
    """Make rows and noisy grades without ties."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, COLUMNS))
    return X, X @ rng.standard_normal(COLUMNS) + 3.0 * rng.standard_normal(n_rows)


def list_pairs(y: FloatArray) -> Int64Array:
    """List (better, worse) of every group of `GROUP` rows."""
    by_grade = np.argsort(-y.reshape(-1, GROUP), axis=1) + np.arange(0, len(y), GROUP)[:, None]
    better, worse = np.triu_indices(GROUP, 1)
    return np.stack([by_grade[:, better].ravel(), by_grade[:, worse].ravel()], axis=1)


def objective(w: FloatArray, differences: FloatArray, C: float, loss: str) -> float:
    """Evaluate the primal on the differences of all pairs."""
    slack = np.maximum(0.0, 1.0 - differences @ w)
    return float(0.5 * w @ w + C * (slack.sum() if loss == "hinge" else slack @ slack))


def best_of(runs: int, work: Callable[[], object]) -> float:
    """Return the shortest time of several runs, in seconds."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def time_linear_svc(
    signed: FloatArray, signs: FloatArray, C: float, loss: str, minimum: float, runs: int
) -> tuple[float, float]:
    """Return the time of LinearSVC at the highest tolerance that suffices, and how far it stays above the minimum."""
    seconds, excess = np.inf, np.inf
    for tol in (1e-1, 1e-2, 1e-3, 1e-4):
        svc = LinearSVC(C=C, loss=loss, dual=loss == "hinge", tol=tol, fit_intercept=False, random_state=0)
        seconds = best_of(1, lambda svc=svc: svc.fit(signed, signs))
        excess = objective(svc.coef_[0], signed * signs[:, None], C, loss) / minimum - 1.0
        if excess <= SAME:
            return min(seconds, best_of(runs - 1, lambda svc=svc: svc.fit(signed, signs))), excess
        if seconds > PATIENCE:
            break
    return seconds, excess


def against_linear_svc(n_pairs: int, constants: list[float], runs: int) -> None:
    """Print a table of times and ratios on the same pairs."""
    n_groups = n_pairs // (GROUP * (GROUP - 1) // 2)
    X, y = candidates(n_groups * GROUP)
    groups = np.repeat(np.arange(n_groups), GROUP)
    pairs = list_pairs(y)
    signs = np.where(np.random.default_rng(1).random(len(pairs)) < 0.5, 1.0, -1.0)
    differences = X[pairs[:, 0]] - X[pairs[:, 1]]
    signed = differences * signs[:, None]
    print(f"\n{len(pairs):,} pairs x {COLUMNS} columns from {n_groups:,} groups of {GROUP}")
    print("\n| loss | C | LinearSVC | above minimum | from | tol | RankSVM | above minimum | LinearSVC : RankSVM |")
    print("|---|---|---|---|---|---|---|---|---|")
    for loss in ("squared_hinge", "hinge"):
        for C in constants:
            proof = RankSVM(C=C, loss=loss).fit(X, y, groups)
            minimum = proof.objective_ - proof.duality_gap_
            peer, peer_excess = time_linear_svc(signed, signs, C, loss, minimum, runs)
            for source, arguments in (("grades", {"y": y, "groups": groups}), ("pairs", {"pairs": pairs})):
                for tol in (min(max(peer_excess, 1e-8), SAME), 1e-8):
                    svm = RankSVM(C=C, loss=loss, tol=tol)
                    own = best_of(max(runs, 3), lambda svm=svm, arguments=arguments: svm.fit(X, **arguments))
                    excess = objective(svm.coef_, differences, C, loss) / minimum - 1.0
                    print(
                        f"| {loss} | {C:g} | {peer:.2f} s | {peer_excess:.0e} | {source} | {tol:.0e} | {own:.3f} s "
                        f"| {excess:.0e} | {peer / own:.1f} x |",
                        flush=True,
                    )


def fit_at_scale(n_rows: int, size: int, loss: str) -> tuple[float, float, int, float]:
    """Return seconds, peak memory in GB, steps and relative duality gap of one fit."""
    X, y = candidates(n_rows)
    groups = np.arange(n_rows) // size
    RankSVM(loss=loss).fit(X[:2000], y[:2000], groups[:2000])  # import SciPy
    svm = RankSVM(loss=loss)
    seconds = best_of(1, lambda: svm.fit(X, y, groups))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e9 if sys.platform == "darwin" else 1e6)
    return seconds, peak, svm.n_iter_, svm.duality_gap_ / svm.objective_


def at_scale() -> None:
    """Print a table of times and memory for many pairs."""
    print(f"\n| loss | candidates x {COLUMNS} | in groups of | pairs | time | peak memory | steps | duality gap |")
    print("|---|---|---|---|---|---|---|---|")
    for n_rows, size in ((1_000_000, 10), (1_000_000, 100), (10_000, 10_000)):
        for loss in ("squared_hinge", "hinge"):
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                seconds, peak, steps, gap = pool.apply(fit_at_scale, (n_rows, size, loss))
            n_pairs = n_rows * (size - 1) / 2
            print(
                f"| {loss} | {n_rows:,} | {size:,} | {n_pairs:.1e} | {seconds:.2f} s | {peak:.2f} GB | {steps} "
                f"| {gap:.0e} |",
                flush=True,
            )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--C", type=float, nargs="+", default=[1e-4, 1e-2, 1.0])
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    # LinearSVC gives up after 1000 passes; how far it then is above the minimum is in the table.
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(f"{jobs()} threads for ranker")
    X, y = candidates(2000)
    RankSVM().fit(X, y, np.arange(2000) // GROUP)  # import SciPy
    RankSVM().fit(X, pairs=list_pairs(y))
    # First, because a process begins with the peak memory of the one that started it.
    at_scale()
    against_linear_svc(options.pairs, options.C, options.runs)


if __name__ == "__main__":
    sys.exit(main())
