"""RIBES beside the same algorithm sentence by sentence in plain Python, in one run: `python bench/ribes.py [CORPUS]`.

Both start from tokenised, lower-cased sentences. Prints ratios, which carry over to other machines better than times
do; each figure is the best of several runs. CORPUS is by default wmt15-rr.jsonl.gz of the shared data
($RANKER_SHARED/data).
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ranker.corpora.formats.reading import read_dataset
from ranker.extractors.order.ribes import Ribes
from ranker.extractors.registry import make_metric
from ranker.extractors.text.tokens import TokenBatch, token_batch
from ranker.threads import jobs, set_jobs

SHARED = Path(os.environ.get("RANKER_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def occurrences(part: str, whole: str) -> int:
    """Count the places of `part` in `whole`, overlapping ones too."""
    count, place = 0, whole.find(part)
    while place >= 0:
        count += 1
        place = whole.find(part, place + 1)
    return count


def word_order(candidate: str, reference: str) -> list[int]:
    """Align by ever wider contexts; every character stands for a word."""
    order = []
    for at, word in enumerate(candidate):
        if word not in reference:
            continue
        if candidate.count(word) == reference.count(word) == 1:
            order.append(reference.index(word))
            continue
        for width in range(1, max(at + 1, len(candidate) - at)):
            if width <= at:
                context = candidate[at - width : at + 1]
                if occurrences(context, candidate) == occurrences(context, reference) == 1:
                    order.append(reference.index(context) + width)
                    break
            if at + width < len(candidate):
                context = candidate[at : at + width + 1]
                if occurrences(context, candidate) == occurrences(context, reference) == 1:
                    order.append(reference.index(context))
                    break
    return order


def plain_ribes(candidate: list[str], reference: list[str], alpha: float = 0.25, beta: float = 0.1) -> float:
    """RIBES of one candidate and one reference, in plain Python."""
    if not candidate or not reference:
        return 0.0
    codes: dict[str, str] = {}
    coded = [
        "".join([codes.setdefault(word, chr(len(codes) + 1)) for word in words]) for words in (candidate, reference)
    ]
    order = word_order(*coded)
    if len(order) == 1 and len(reference) == 1:
        correlation = 1.0
    elif len(order) < 2:
        return 0.0
    else:
        ascending = 0
        for later in range(1, len(order)):
            for earlier in range(later):
                ascending += order[earlier] < order[later]
        correlation = ascending / (len(order) * (len(order) - 1) / 2)
    penalty = min(1.0, math.exp(1.0 - len(reference) / len(candidate)))
    return correlation * (len(order) / len(candidate)) ** alpha * penalty**beta


def plain_scores(batch: TokenBatch, candidates: int) -> Callable[[], list[float]]:
    """Return what scores the first `candidates` of `batch` in plain Python, from lists of words made beforehand."""
    words = {sentence: batch.segments.words(sentence) for sentence in {*batch.candidate, *batch.reference}}
    items = []
    for row in range(candidates):
        source = batch.candidate_source[row]
        references = batch.reference[slice(*batch.reference_offsets[source : source + 2])]
        items.append((words[batch.candidate[row]], [words[reference] for reference in references]))
    return lambda: [
        max(plain_ribes(candidate, reference) for reference in references) for candidate, references in items
    ]


def best_of(runs: int, work: Callable[[], object]) -> tuple[float, object]:
    """Return the shortest time of several runs, and what the last one returned."""
    times, result = [], None
    for _ in range(runs):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", nargs="?", default=str(SHARED / "data" / "wmt15-rr.jsonl.gz"))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--plain", type=int, default=10_000, help="sentences for plain Python")
    options = parser.parse_args()
    dataset = read_dataset(options.corpus)
    batch = token_batch(dataset, lowercase=True)
    size = len(dataset)
    few = min(options.plain, size)
    plain_time, plain = best_of(2, plain_scores(batch, few))
    plain_speed = few / plain_time
    threads = jobs()
    print(f"{dataset.name}: {size:,} candidates; plain Python {plain_speed:,.0f} sentences/s on the first {few:,}")
    print("\n| metric | threads | sentences/s | : plain Python RIBES | largest difference |\n|---|---|---|---|---|")
    others = ("nkt", "nsr", "kendall", "pef", "kendall[alpha=0.5]", "lrscore[alignment=isozaki]")
    for metric in (Ribes(), *(make_metric(name) for name in others)):
        for count in sorted({1, threads}):
            set_jobs(count)
            metric.statistics(dataset)  # compile or load the kernels
            times = []
            for _ in range(options.runs):
                fresh = dataclasses.replace(dataset)
                token_batch(fresh, metric.tokenizer, lowercase=metric.lowercase)
                time_taken, rows = best_of(1, lambda metric=metric, fresh=fresh: metric.statistics(fresh))
                times.append(time_taken)
            actual = min(times)
            same = "-"
            if isinstance(metric, Ribes):
                same = f"{np.abs(metric.score(rows)[:few] - np.array(plain)).max():.1e}"
            speed = size / actual
            print(f"| {metric} | {count} | {speed:,.0f} | {speed / plain_speed:.0f} x | {same} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
