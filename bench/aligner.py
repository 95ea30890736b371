"""Speed, memory and errors of the word aligner: ``python -m bench.aligner``.

First real text: trains on the sources and references of one language pair of a WMT corpus of the shared data
(``RANKER_SHARED``), applies the model to all its candidates, and prints times, the growth of the log-likelihood with
each direction trained alone, and how often a number that stands once on both sides is linked to itself. Then simulated
text with a known alignment: alignment error rate beside IBM model 1's, and time and memory for corpora of growing size.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
import tracemalloc
from pathlib import Path

import numpy as np

from bench.simulated_alignments import simulate_parallel_text
from ranker.corpora.formats.reading import read_dataset
from ranker.corpora.selection import select_language_pairs
from ranker.extractors.order.aligner import align_dataset, learn_aligner
from ranker.extractors.text.tokens import source_segments, token_batch
from ranker.learning.aligner.training import train
from ranker.links import Links

SHARED = Path(os.environ.get("RANKER_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def peak_memory() -> float:
    """Return the peak resident memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def compile_kernels() -> None:
    """Compile everything, or load it from numba's cache, so that it is not timed."""
    text = simulate_parallel_text(20)
    arrays = (text.source, text.source_offsets, text.target, text.target_offsets)
    train(*arrays).align(*arrays)


def real_text(corpus: str, lp: str) -> None:
    """Measure on real text."""
    dataset = select_language_pairs(read_dataset(SHARED / "data" / f"{corpus}.jsonl.gz"), [lp])
    batch, sources = token_batch(dataset, lowercase=True), source_segments(dataset, lowercase=True)
    print(f"{corpus} {lp}: {len(batch.reference):,} references, {len(dataset):,} candidates")
    for name, options in (
        ("HMM, agreement", {}),
        ("HMM, each alone", {"agreement": False}),
        ("IBM 1, agreement", {"iterations": (10, 0)}),
        ("HMM, agreement, from the candidates too", {"candidates": True}),
    ):
        start = time.perf_counter()
        model = learn_aligner(dataset, **options)
        trained = time.perf_counter()
        alignments = align_dataset(model, dataset)
        aligned = time.perf_counter()
        right = total = 0
        for row in range(len(batch.reference)):
            source, target = sources.words(row), batch.segments.words(batch.reference[row])
            links = alignments.references.of(row)
            for word in set(source) & set(target):
                if any(map(str.isdigit, word)) and source.count(word) == target.count(word) == 1:
                    total += 1
                    right += (source.index(word), target.index(word)) in links
        tokens = sources.lengths[dataset.references["source"].to_numpy()].sum()
        print(
            f"{name:<40} train {trained - start:6.2f} s ({model.pairs:,} pairs)  align all {aligned - trained:6.2f} s  "
            f"{len(alignments.references.source) / tokens:.3f} links a source word  numbers {right}/{total}"
        )
        if not model.agreement:
            growth = np.diff(model.log_likelihood, axis=0)
            print(f"{'':<40} least growth of the log-likelihood {growth.min():.2f}")
    print(f"peak memory of all this {peak_memory():.0f} MB")


def error_rates(pairs: int) -> None:
    """Print alignment error rates on simulated text."""
    text = simulate_parallel_text(pairs)
    arrays = (text.source, text.source_offsets, text.target, text.target_offsets)
    print(f"simulated: {pairs:,} pairs, {len(text.links.source):,} links")
    for name, iterations in (("IBM 1", (5, 0)), ("IBM 1", (10, 0)), ("IBM 1 and HMM", (5, 5))):
        for agreement in (False, True):
            links = train(*arrays, iterations=iterations, agreement=agreement).align(*arrays)
            rate = _error_rate(links, text.links)
            print(f"{name:<14} {iterations} {'agreement' if agreement else 'each alone':<11} AER {rate:.4f}")


def _error_rate(links: Links, gold: Links) -> float:
    """Return the alignment error rate (Och and Ney 2003) against sure links only."""
    common = sum(len({*links.of(pair)} & {*gold.of(pair)}) for pair in range(len(gold)))
    return 1 - 2 * common / (len(links.source) + len(gold.source))


def size(pairs: int) -> None:
    """Print time and memory of one simulated corpus."""
    text = simulate_parallel_text(pairs)
    arrays = (text.source, text.source_offsets, text.target, text.target_offsets)
    start = time.perf_counter()
    train(*arrays)
    seconds = time.perf_counter() - start
    tracemalloc.start()
    train(*arrays, iterations=(1, 1))
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    print(f"{pairs:8,} pairs  {len(text.source):10,} words  {seconds:7.2f} s  arrays at their peak {peak:.0f} MB")


def main() -> None:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", default="wmt13-rr")
    parser.add_argument("--lp", default="de-en")
    parser.add_argument("--pairs", type=int, default=2500)
    arguments = parser.parse_args()
    compile_kernels()
    real_text(arguments.corpus, arguments.lp)
    error_rates(arguments.pairs)
    for factor in (1, 2, 4, 8):
        size(factor * arguments.pairs)


if __name__ == "__main__":
    main()
