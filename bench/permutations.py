"""Speed of the scores of permutations: `python bench/permutations.py [--items N] [--length N]`.

Prints seconds for a batch of random permutations and for one near the identity, as of translations, and how time grows
with the length of a single permutation, with SciPy's Kendall tau beside ours.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np
import scipy.stats

from ranker.extractors.order.scores import NAMES, permutation_scores
from ranker.threads import jobs


def best_of(runs: int, work: Callable[[], object]) -> float:
    """Return the shortest time of several runs, in seconds."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--length", type=int, default=25)
    parser.add_argument("--runs", type=int, default=1)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    for name in NAMES:
        permutation_scores(name, [0, 2, 1, 3], [0, 4])  # compile or load the kernels

    identity = np.tile(np.arange(options.length), (options.items, 1))
    random = rng.permuted(identity, axis=1).ravel()
    near = rng.normal(identity, 2).argsort(axis=1).argsort(axis=1).ravel()
    offsets = np.arange(options.items + 1) * options.length
    print(f"{options.items:,} permutations of length {options.length}, {jobs()} threads, seconds\n")
    print("| score | random | near the identity |\n|---|---|---|")
    for name in NAMES:
        times = [
            best_of(options.runs, lambda name=name, values=values: permutation_scores(name, values, offsets))
            for values in (random, near)
        ]
        print(f"| {name} | {times[0]:.2f} | {times[1]:.2f} |", flush=True)

    print("\nOne random permutation, milliseconds\n")
    print("| length | kendall | SciPy kendalltau | pet (parse) | pef |\n|---|---|---|---|---|")
    for length in (1_000, 10_000, 100_000):
        values, ends, order = rng.permutation(length), [0, length], np.arange(length)
        kendall, parse, forest = (
            best_of(5, lambda name=name, item=values, ends=ends: permutation_scores(name, item, ends))
            for name in ("kendall", "pet", "pef")
        )
        peer = best_of(5, lambda item=values, order=order: scipy.stats.kendalltau(item, order))
        print(f"| {length:,} | {1e3 * kendall:.2f} | {1e3 * peer:.2f} | {1e3 * parse:.2f} | {1e3 * forest:.2f} |")


if __name__ == "__main__":
    sys.exit(main())
