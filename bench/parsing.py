"""Speed of parsing and of its cache: `python bench/parsing.py [CORPUS]`.

Parses every distinct sentence of the judged candidates and references of CORPUS (default: wmt15-rr of the shared data,
into English) once with an empty cache and once from it, and prints how fast and how much faster.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from ranker.corpora.formats.reading import read_dataset
from ranker.corpora.judgements import judged
from ranker.corpora.selection import select_language_pairs
from ranker.extractors.dependency.cache import parse
from ranker.extractors.text.tokens import distinct_sentences
from ranker.threads import jobs

SHARED = Path(os.environ.get("RANKER_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", nargs="?", default=str(SHARED / "data" / "wmt15-rr.jsonl.gz"))
    parser.add_argument("--lp", nargs="*", default=["*-en"])
    options = parser.parse_args()
    dataset = select_language_pairs(read_dataset(options.corpus), options.lp)
    dataset = dataset.select_candidates(judged(dataset))
    sentences = distinct_sentences(dataset).texts
    with tempfile.TemporaryDirectory() as cache:
        os.environ["RANKER_CACHE"] = cache
        times, results = [], []
        for _ in range(2):
            start = time.perf_counter()
            results.append(parse(sentences))
            times.append(time.perf_counter() - start)
        size = sum(path.stat().st_size for path in Path(cache).rglob("*") if path.is_file())
    same = all(np.array_equal(getattr(results[0], name), getattr(results[1], name)) for name in ("heads", "relations"))
    print(f"{len(sentences):,} distinct sentences, {len(results[0].words):,} words, {jobs()} processes")
    print(f"first run: {len(sentences) / times[0]:.0f} sentences a second")
    print(f"from the cache: {times[0] / times[1]:.0f} times faster, {size / 2**20:.0f} MB on disk, same trees: {same}")


if __name__ == "__main__":
    sys.exit(main())
