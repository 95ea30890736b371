"""METEOR's speed, and its agreement with judges under several options: `python bench/meteor.py`.

Speed is that of scoring every judged candidate of --speed with one thread, tokenisation and all look-ups included, each
line in a process of its own; memory is the most that process held, the corpus included. A rate of the Java program
Meteor 1.5 measured on the same machine may be given to print ratios. Agreement is the WMT segment-level tau (variant
wmt14, every row of the pairs) into English on each of --corpora. Corpora are files or NAME-rr of the shared data
($RANKER_SHARED/data). Without WordNet the lines with synonyms go without them.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import sys
import time
from pathlib import Path

from ranker.corpora.selection import select_language_pairs

SHARED = Path(os.environ.get("RANKER_SHARED", Path(__file__).resolve().parents[2] / "shared"))
METRICS = (
    "meteor[modules=exact]",
    "meteor[modules=exact+stem]",
    "meteor[modules=exact+stem,parity=meteor-1.5]",
    "meteor",
    "meteor[parity=meteor-1.5]",
)


def locate(name: str) -> str:
    """Return the shared corpus of that name, or the name itself."""
    path = SHARED / "data" / f"{name}.jsonl.gz"
    return str(path) if path.is_file() else name


def measure_speed(task: tuple[str, str]) -> tuple[int, float, float]:
    """Score a corpus once; return candidates, seconds and the most memory held, in megabytes."""
    import numpy as np

    from ranker.corpora.formats.reading import read_dataset
    from ranker.corpora.judgements import judged
    from ranker.extractors.registry import make_metric
    from ranker.threads import set_jobs

    set_jobs(1)
    name, text = task
    dataset = read_dataset(locate(name))
    dataset = dataset.select_candidates(judged(dataset))
    metric = make_metric(text)
    metric.transform(
        dataset.select_candidates(np.arange(len(dataset)) < 10)
    )  # compile or load the kernels, read WordNet
    start = time.perf_counter()
    metric.transform(dataset)
    seconds = time.perf_counter() - start
    return len(dataset), seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure_agreement(task: tuple[str, tuple[str, ...]]) -> list[float]:
    """Return the mean tau over the language pairs into English of every metric on a corpus."""
    from ranker.corpora.formats.reading import read_dataset
    from ranker.corpora.judgements import judged
    from ranker.evaluation.compare.evaluation import evaluate
    from ranker.extractors.registry import make_metric

    name, metrics = task
    dataset = select_language_pairs(read_dataset(locate(name)), ["*-en"])
    dataset = dataset.select_candidates(judged(dataset))
    taus = []
    for text in metrics:
        comparison = evaluate(dataset, make_metric(text).transform(dataset)[:, 0], resamples=0)
        taus.append(comparison.estimate("segment.tau.official").value)
    return taus


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--metrics", nargs="+", default=METRICS)
    parser.add_argument("--speed", default="wmt15-rr")
    parser.add_argument("--java-rate", type=float, help="pairs a second of Meteor 1.5 on this machine")
    parser.add_argument("--corpora", nargs="*", default=["wmt12-rr", "wmt13-rr", "wmt14-rr"])
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    print(f"| metric | candidates of {options.speed} | a second | of Java | memory |\n|---|---|---|---|---|")
    for metric in options.metrics:
        with context.Pool(1) as pool:
            candidates, seconds, memory = pool.map(measure_speed, [(options.speed, metric)])[0]
        rate = candidates / seconds
        ratio = f"{rate / options.java_rate:.1f} x" if options.java_rate else "-"
        print(f"| {metric} | {candidates:,} | {rate:,.0f} | {ratio} | {memory:,.0f} MB |", flush=True)
    if not options.corpora:
        return
    columns = []
    for name in options.corpora:
        with context.Pool(1) as pool:
            columns += pool.map(measure_agreement, [(name, tuple(options.metrics))])
    print(f"\n| tau into English | {' | '.join(options.corpora)} |\n|---|{'---|' * len(columns)}")
    for metric, *taus in zip(options.metrics, *columns, strict=True):
        print(f"| {metric} | {' | '.join(f'{value:.4f}' for value in taus)} |")


if __name__ == "__main__":
    sys.exit(main())
