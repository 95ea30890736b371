"""TERp's speed beside TER's in one run, and agreement with judges: `python bench/terp.py`.

Speed is that of scoring every judged candidate of --speed with one thread, tokenisation and look-ups included, as
processor time after kernels are compiled and WordNet is read. Agreement is the WMT segment-level tau (variant wmt14,
every row of the pairs) into English on each of --corpora. Corpora are files or NAME-rr of the shared data
($RANKER_SHARED/data).
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
import time
from pathlib import Path

import numpy as np

from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.reading import read_dataset
from ranker.corpora.judgements import judged
from ranker.corpora.selection import select_language_pairs
from ranker.evaluation.compare.evaluation import evaluate
from ranker.extractors.base import Metric
from ranker.extractors.registry import make_metric
from ranker.threads import set_jobs

SHARED = Path(os.environ.get("RANKER_SHARED", Path(__file__).resolve().parents[2] / "shared"))
METRICS = (
    *("ter[search=tercom,tokenizer=13a]", "terp[costs=ter]", "terp", "terp[costs=terpa]", "terp[costs=terph]"),
    "terp[costs=terpa,wordnet=none]",
)


def read(name: str) -> Dataset:
    """Read what was judged of a corpus into English."""
    path = SHARED / "data" / f"{name}.jsonl.gz"
    dataset = select_language_pairs(read_dataset(str(path) if path.is_file() else name), ["*-en"])
    return dataset.select_candidates(judged(dataset))


def seconds(metric: Metric, dataset: Dataset, runs: int) -> float:
    """Return the least processor time of some runs, nothing being remembered from one to the next."""
    metric.transform(dataset.select_candidates(np.arange(len(dataset)) < 10))
    times = []
    for _ in range(runs):
        fresh = dataclasses.replace(dataset)
        start = time.process_time()
        metric.transform(fresh)
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--metrics", nargs="+", default=METRICS)
    parser.add_argument("--speed", default="wmt13-rr")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--corpora", nargs="*", default=["wmt12-rr", "wmt13-rr", "wmt14-rr"])
    options = parser.parse_args()
    set_jobs(1)
    dataset, metrics = read(options.speed), [make_metric(text) for text in options.metrics]
    print(f"| metric | a second, {len(dataset):,} candidates | time of the first |\n|---|---|---|")
    times = [seconds(metric, dataset, options.runs) for metric in metrics]
    for metric, spent in zip(metrics, times, strict=True):
        print(f"| `{metric}` | {len(dataset) / spent:,.0f} | {spent / times[0]:.1f} x |")
    print(f"\n| tau into English | {' | '.join(options.corpora)} |\n|---|{'---|' * len(options.corpora)}")
    corpora = [read(name) for name in options.corpora]
    for metric in metrics:
        taus = []
        for corpus in corpora:
            scores = metric.transform(corpus)[:, 0] * (1 if metric.higher_is_better else -1)
            taus.append(evaluate(corpus, scores, resamples=0).estimate("segment.tau.official").value)
        print(f"| `{metric}` | {' | '.join(f'{value:.4f}' for value in taus)} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
