"""Speed of comparing metrics: `python bench/compare.py --metrics 20 --pairs 50000 --resamples 1000`.

Made-up scores of known quality beside made-up preferences, so that nothing but the comparison is timed; then, unless
``--no-command``, the whole of `ranker compare` on a corpus, scoring included. CPU time is that of all threads.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
import itertools
import os
import sys
import time
from pathlib import Path
from typing import get_args

import numpy as np

from ranker.cli.main import run
from ranker.corpora.dataset import Dataset
from ranker.corpora.schema import table
from ranker.evaluation.choices import Correction
from ranker.evaluation.compare.candidates import CandidateScores
from ranker.evaluation.compare.run import compare

SHARED = Path(os.environ.get("RANKER_SHARED", Path(__file__).resolve().parents[2] / "shared"))
METRICS = (
    *(f"bleu[order={order},smoothing=epsilon]" for order in range(1, 5)),
    *("bleu[smoothing=add-one]", "bleu"),
    *("chrf", "chrf[word_order=2]", "chrf[order=4]", "nist", "ribes", "nkt", "nsr", "rouge_l", "rouge_n", "rouge_s"),
    *("rouge_w", "gtm", "wer", "per"),
)


def made_up(pairs: int, lps: int, systems: int, seed: int = 0) -> tuple[Dataset, np.ndarray]:
    """Make a data set with about that many strict preferences, five candidates per source; return their quality too."""
    generator = np.random.default_rng(seed)
    sources = pairs // 10
    source = np.repeat(np.arange(sources), systems)
    quality = generator.normal(size=systems)[np.tile(np.arange(systems), sources)] / 2
    quality = quality + generator.normal(size=len(source))
    first, second = (np.concatenate(side) for side in zip(*_compared(generator, sources, systems), strict=True))
    noise = generator.normal(size=(2, len(first)))
    better = quality[first] + noise[0] > quality[second] + noise[1]
    dataset = Dataset(
        "made-up",
        table(
            "sources",
            {
                "lp": [f"{'abcdefgh'[index * lps // sources] * 2}-en" for index in range(sources)],
                "doc": [f"doc{index // 20}" for index in range(sources)],
                "seg_id": [str(index) for index in range(sources)],
                "text": ["x"] * sources,
            },
        ),
        table("references", {"source": np.arange(sources), "name": ["r"] * sources, "text": ["x"] * sources}),
        table(
            "candidates",
            {
                "source": source,
                "system": [f"s{index}" for index in np.tile(np.arange(systems), sources)],
                "text": ["x"] * len(source),
                "is_reference": np.zeros(len(source), dtype=bool),
            },
        ),
        table("ratings"),
        table(
            "preferences",
            {
                "first": first,
                "second": second,
                "relation": np.where(better, ">", "<"),
                "primary": np.ones(len(first), dtype=bool),
            },
        ),
    )
    return dataset, quality


def _compared(generator: np.random.Generator, sources: int, systems: int) -> list[tuple[np.ndarray, np.ndarray]]:
    left, right = np.triu_indices(5, 1)
    chosen = [generator.permutation(systems)[:5] + source * systems for source in range(sources)]
    return [(rows[left], rows[right]) for rows in chosen]


def timed(title: str, action) -> None:
    """Print how long `action` takes, wall clock and CPU."""
    wall, cpu = time.perf_counter(), time.process_time()
    action()
    print(f"| {title} | {time.perf_counter() - wall:.1f} | {time.process_time() - cpu:.1f} |", flush=True)


def main() -> None:
    """Time and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--metrics", type=int, default=20)
    parser.add_argument("--pairs", type=int, default=50_000)
    parser.add_argument("--lps", type=int, default=5)
    parser.add_argument("--systems", type=int, default=12)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--tests", nargs="+", default=["bootstrap", "randomisation", "perm-both"])
    parser.add_argument("--corrections", nargs="+", choices=get_args(Correction), default=["westfall-young"])
    parser.add_argument("--data", default=str(SHARED / "data" / "wmt12-rr.jsonl.gz"))
    parser.add_argument("--no-command", action="store_true")
    options = parser.parse_args()
    dataset, quality = made_up(options.pairs, options.lps, options.systems)
    generator = np.random.default_rng(1)
    scored = [
        CandidateScores(f"m{index}", quality + generator.normal(size=len(quality)) * (1 + index / 10))
        for index in range(options.metrics)
    ]
    print(
        f"{options.metrics} metrics, {len(dataset.preferences):,} preferences, {len(dataset):,} candidates, "
        f"{options.lps} language pairs, {options.resamples} resamples"
    )
    print("\n| what | seconds | CPU seconds |\n|---|---|---|")
    compare([(dataset, [CandidateScores(metric.name, metric.scores) for metric in scored[:2]])], resamples=2)
    for test, correction in itertools.product(options.tests, options.corrections):
        timed(
            f"precomputed scores, {test}, {correction}",
            functools.partial(
                compare, [(dataset, scored)], resamples=options.resamples, test=test, correction=correction
            ),
        )
    if not options.no_command:
        arguments = ["compare", "--data", options.data, "--lp", "*-en", "-f", "json"]
        arguments += [word for metric in METRICS for word in ("--metric", metric)]

        def command() -> None:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
                run([*arguments, "--resamples", str(options.resamples)])

        timed(f"ranker compare, {len(METRICS)} metrics, {Path(options.data).name}", command)


if __name__ == "__main__":
    sys.exit(main())
