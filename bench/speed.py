"""Speed beside other programs, in one run on the same candidates: `python bench/speed.py [CORPUS]`.

Prints ratios, which carry over to other machines better than times do. Each figure is the best of several runs. Needs
the extra ``bench``; CORPUS is by default wmt15-rr.jsonl.gz of the shared data ($RANKER_SHARED/data).
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import sacrebleu

from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.reading import read_dataset
from ranker.corpora.judgements import judged
from ranker.extractors.ngram.bleu import Bleu
from ranker.threads import jobs

SHARED = Path(os.environ.get("RANKER_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def best_of(runs: int, work: Callable[[], object]) -> tuple[float, object]:
    """Return the shortest time of several runs, and what the last one returned."""
    times, result = [], None
    for _ in range(runs):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result


def theirs(dataset: Dataset, smoothing: str, value: float | None) -> list[float]:
    """Score sentence by sentence with sacreBLEU, as its users do."""
    metric = sacrebleu.metrics.BLEU(smooth_method=smoothing, smooth_value=value, effective_order=True)
    references = dataset.references["text"].tolist()
    offsets = dataset.reference_offsets
    return [
        metric.sentence_score(text, references[offsets[source] : offsets[source + 1]]).score / 100
        for text, source in zip(dataset.candidates["text"].tolist(), dataset.candidate_source.tolist(), strict=True)
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", nargs="?", default=str(SHARED / "data" / "wmt15-rr.jsonl.gz"))
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    whole = read_dataset(options.corpus)
    dataset = whole.select_candidates(judged(whole))
    print(f"{dataset.name}: {len(dataset):,} judged candidates, {jobs()} threads for ranker")
    print(
        "\n| metric | ranker with tokenisation : sacreBLEU | from a ready TokenBatch : sacreBLEU | largest difference |"
    )
    print("|---|---|---|---|")
    for ours, smoothing, value in (("exp", "exp", None), ("add-one", "add-k", 1)):
        metric = Bleu(smoothing=ours)
        metric.transform(dataset.select_candidates(np.arange(len(dataset)) < 10))  # compile or load the kernels
        other_time, other = best_of(1, lambda smoothing=smoothing, value=value: theirs(dataset, smoothing, value))

        def whole_way(metric: Bleu = metric) -> object:
            return metric.transform(dataclasses.replace(dataset))  # without its views

        full_time, scores = best_of(options.runs, whole_way)
        metric.transform(dataset)  # tokenise
        ready_time, _ = best_of(options.runs, lambda metric=metric: metric.transform(dataset))
        difference = np.abs(np.asarray(scores)[:, 0] - np.asarray(other)).max()
        print(
            f"| {metric} | {other_time / full_time:.1f} x | {other_time / ready_time:.0f} x | {difference:.1e} |",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
