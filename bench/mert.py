"""Times of tuning and re-ranking on made-up lists of realistic size: `python bench/mert.py`.

1,000 sentences x 100 hypotheses with 15 features: writing, reading and merging the list, extracting BLEU's statistics,
one iteration with 20 restarts; then minimum Bayes risk with chrF over 1,000 x 50. Wall-clock and processor time of this
process, compiling not counted, and its largest memory. Sentences are words of a Zipf distribution, hypotheses the
reference with some words exchanged, dropped or moved.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from ranker.corpora.formats.nbest import NBestList, from_columns, merge, write_nbest
from ranker.corpora.formats.nbest_reading import read_nbest
from ranker.extractors.registry import make_metric
from ranker.ranking import make_scorer
from ranker.threads import set_jobs
from ranker.tuning.hypotheses import StatisticsTable, references_of
from ranker.tuning.iterations import problem_of
from ranker.tuning.mert import MertSearch, optimise
from ranker.tuning.reranking import expected_gains
from ranker.tuning.weights import weight_space

T = TypeVar("T")


def words(random: np.random.Generator, number: int) -> list[str]:
    """Make `number` words of 2 to 10 letters."""
    letters = np.array(list("etaoinshrdlcumwfgypbvk"))
    chance = 1 / np.arange(2, len(letters) + 2)
    return ["".join(random.choice(letters, random.integers(2, 11), p=chance / chance.sum())) for _ in range(number)]


def made(sentences: int, hypotheses: int, columns: int) -> tuple[NBestList, list[str]]:
    """Make a list whose features know something of the quality of its hypotheses, and references."""
    random = np.random.default_rng(0)
    vocabulary = words(random, 20_000)
    chance = 1 / np.arange(10, len(vocabulary) + 10)
    chance /= chance.sum()
    references, texts, noise = [], [], random.uniform(0.1, 0.7, (sentences, hypotheses))
    for row in noise:
        truth = random.choice(len(vocabulary), random.integers(10, 36), p=chance)
        references.append(" ".join(vocabulary[word] for word in truth))
        other = random.choice(len(vocabulary), (hypotheses, len(truth)), p=chance)
        mixed = np.where(random.random(other.shape) < row[:, np.newaxis], other, truth)
        for line in mixed:
            start = random.integers(0, 3)
            at = random.integers(0, len(line))
            texts.append(" ".join(vocabulary[word] for word in [*line[at:], *line[start:at]]))
    direction = random.normal(size=columns)
    features = random.normal(size=(sentences * hypotheses, columns)) - 4 * noise.reshape(-1, 1) * direction
    sentence = np.repeat(np.arange(sentences), hypotheses)
    layout = (("LM0", 1), ("TM0", 4), ("LexicalReordering0", 6), ("Distortion0", 1), ("rest", columns - 12))
    return from_columns("list", sentence, texts, features, layout), references


def timed(what: str, work: Callable[[], T]) -> T:
    """Run and print a row."""
    wall, processor = time.perf_counter(), time.process_time()
    result = work()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"| {what} | {wall:.2f} | {processor:.2f} | {memory:.2f} |", flush=True)
    return result


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--hypotheses", type=int, default=100)
    parser.add_argument("--columns", type=int, default=15)
    parser.add_argument("--mbr", type=int, default=50, help="hypotheses a sentence for minimum Bayes risk")
    parser.add_argument("--metric", default="bleu[smoothing=epsilon]")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    set_jobs(options.jobs)
    nbest, texts = made(options.sentences, options.hypotheses, options.columns)
    references = references_of([""] * len(texts), np.arange(len(texts)), texts, "references")
    objective, chrf = make_scorer(options.metric, None), make_metric("chrf")
    warm = nbest.select(nbest.sentence < 3)
    few = references.select_sources(np.arange(len(texts)) < 3)
    start = np.full(options.columns, 1.0)
    space = weight_space(nbest.layout, start)
    optimise(problem_of(warm, StatisticsTable(objective, few)), space, MertSearch(restarts=1))
    expected_gains(warm, chrf)
    print(f"{len(nbest):,} hypotheses, {options.columns} columns, {options.metric}, {options.jobs} threads\n")
    print("| what | wall s | processor s | GiB so far |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "list"
        timed("write the list", lambda: write_nbest(nbest, path))
        again = timed("read it", lambda: read_nbest(path))
    merged = timed("merge it with itself", lambda: merge(again, nbest))
    assert len(merged) == len(again)
    problem = timed("extract statistics", lambda: problem_of(again, StatisticsTable(objective, references)))
    optimum = timed("search, 20 restarts", lambda: optimise(problem, space, MertSearch()))
    searches = sum(climb.searches for climb in optimum.climbs)
    place = np.arange(len(nbest)) - nbest.offsets(options.sentences)[nbest.sentence]
    some = nbest.select(place < options.mbr)
    timed(f"minimum Bayes risk with chrf, {options.mbr} a sentence", lambda: expected_gains(some, chrf))
    print(f"\n{objective.name} {optimum.start_score:.4f} -> {optimum.score:.4f}, {searches} line searches")


if __name__ == "__main__":
    sys.exit(main())
