"""Speed and memory of the columns of `semantic`: `python bench/semantic.py [CORPUS]`.

Computes the columns of the judged candidates of CORPUS (default: wmt15-rr of the shared data, into English) with an
empty cache, then again from it. Processor time tells more than wall-clock time where other programs run.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time

import numpy as np

from bench.common import locate, run_main
from ranker.corpora.formats.reading import read_dataset
from ranker.corpora.judgements import judged
from ranker.corpora.selection import select_language_pairs
from ranker.extractors.registry import make
from ranker.extractors.semantic.features import Semantic
from ranker.extractors.text.tokens import distinct_sentences
from ranker.learning.encoder.encoder import load
from ranker.threads import jobs, set_jobs


def clock() -> tuple[float, float]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return time.perf_counter(), used.ru_utime + used.ru_stime


def report(title: str, start: tuple[float, float], sentences: int) -> None:
    wall, used = (after - before for after, before in zip(clock(), start, strict=True))
    print(f"| {title} | {sentences:,} | {sentences / wall:,.0f} | {1000 * used / sentences:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", nargs="?", default=locate("wmt15"))
    parser.add_argument("--features", default="semantic")
    parser.add_argument("--lp", nargs="*", default=["*-en"])
    parser.add_argument("--every", type=int, default=1, help="take every so many sources")
    parser.add_argument("--jobs", type=int)
    options = parser.parse_args()
    if options.jobs:
        set_jobs(options.jobs)
    dataset = read_dataset(options.corpus)
    dataset = select_language_pairs(dataset, options.lp) if options.lp else dataset
    dataset = dataset.select_candidates(judged(dataset))
    dataset = dataset.select_sources(np.arange(len(dataset.sources)) % options.every == 0)
    extractor = make(options.features)
    assert isinstance(extractor, Semantic)
    extractor = extractor.fit(dataset)
    texts = distinct_sentences(dataset).texts
    encoder = load(extractor.encoder)
    pieces = encoder.split(texts)
    encoder.embed(pieces.take(np.arange(1)))  # load the network
    mean = len(pieces.ids) / len(texts)
    print(f"{dataset.name}: {len(dataset):,} candidates, {len(texts):,} distinct sentences of {mean:.1f} sub-words")
    print(f"{jobs()} threads\n\n| what | sentences | a second | ms of processor time each |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as cache:
        os.environ["RANKER_CACHE"] = cache
        start = clock()
        columns = extractor.transform(dataset)
        report(str(extractor), start, len(texts))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        start = clock()
        again = extractor.transform(dataset)
        report("from the cache", start, len(texts))
    print(f"\npeak memory {peak:.2f} GB; the same from the cache: {np.array_equal(columns, again)}")


if __name__ == "__main__":
    run_main(main)
