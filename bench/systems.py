"""Speed, memory and errors of comparing systems: `python bench/systems.py [speed] [parity] [errors]`.

``speed`` runs `ranker systems` with three metrics and sacreBLEU's ``--paired-bs`` with BLEU alone on the same files,
each as a command of its own, one after the other, and prints wall-clock times, the ratio and the peak memory.

``parity`` prints the p-values of both programs for the same seed, against the first system.

``errors`` counts how often systems that are equally good are found to differ. "Dealt": the outputs of one real system
are shuffled and dealt to several, as if they were outputs for the same sources. "Permuted": the outputs of several
real systems are shuffled within each source, for a random third of the sources. "Two groups": half of the systems are
dealt from the best system, half from the worst, and differences within a half are errors.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import sacrebleu
from sacrebleu.significance import PairedTest

from ranker.corpora import catalogue
from ranker.corpora.dataset import Dataset
from ranker.corpora.selection import select_language_pairs
from ranker.evaluation.choices import Correction, SystemTest
from ranker.evaluation.systems.human_ranking import rank_clusters
from ranker.evaluation.systems.pair_tests import Score, compare_pairs
from ranker.evaluation.systems.run import RESAMPLES, compare_systems
from ranker.extractors.registry import make_metric
from ranker.ranking import make_scorer

SHARED = Path(os.environ.get("RANKER_SHARED", Path(__file__).resolve().parents[2] / "shared"))
Deal = Callable[[np.random.Generator], np.ndarray]
"""Makes statistics of systems, shape (sources, systems, k)."""


def dealt(rows: np.ndarray, systems: int) -> Deal:
    """Deal the outputs of one system, shape (sources, k), to several."""
    sources = len(rows) // systems

    def deal(generator: np.random.Generator) -> np.ndarray:
        return rows[generator.permutation(len(rows))[: sources * systems]].reshape(sources, systems, -1)

    return deal


def permuted(cube: np.ndarray) -> Deal:
    """Shuffle the outputs of all systems, shape (sources, systems, k), within each of a third of the sources."""
    sources, systems, _ = cube.shape

    def deal(generator: np.random.Generator) -> np.ndarray:
        chosen = generator.permutation(sources)[: sources // 3]
        order = generator.permuted(np.tile(np.arange(systems), (len(chosen), 1)), axis=1)
        return cube[chosen[:, np.newaxis], order]

    return deal


def two_groups(better: np.ndarray, worse: np.ndarray, systems: int) -> Deal:
    """Deal each of two systems to half of the systems."""
    first, second = (dealt(rows, systems // 2) for rows in (better, worse))
    return lambda generator: np.concatenate([first(generator), second(generator)], axis=1)


def error_rate(
    score: Score,
    deal: Deal,
    *,
    test: SystemTest,
    simulations: int,
    resamples: int,
    groups: int = 1,
    correction: Correction = "westfall-young",
    alpha: float = 0.05,
) -> tuple[float, float]:
    """Return how often any two systems of the same group differ significantly, and how often their clusters differ."""
    wrong = np.zeros((simulations, 2), dtype=bool)
    for number in range(simulations):
        cube = deal(np.random.default_rng([7, number]))
        tests = compare_pairs(score, cube, test=test, correction=correction, resamples=resamples, seed=number)
        group = np.arange(cube.shape[1]) * groups // cube.shape[1]
        same = group[tests.first] == group[tests.second]
        order = np.argsort(-tests.scores, kind="stable")
        low, high = tests.rank_ranges(tests.scores, alpha)
        cluster = np.empty(len(order), dtype=np.int64)
        cluster[order] = rank_clusters(low[order], high[order])
        apart = cluster[tests.first] != cluster[tests.second]
        wrong[number] = (tests.adjusted[same] < alpha).any(), apart[same].any()
    pairs, clusters = wrong.mean(axis=0).tolist()
    return pairs, clusters


def errors(dataset: Dataset, metrics: list[str], simulations: int, resamples: int, count: int) -> None:
    """Print a table of error rates."""
    print(
        f"{dataset.name}, {simulations} simulations, {resamples} resamples: share of simulations with an error at .05\n"
    )
    print("| metric | test | 2 systems, dealt | permuted |", end="")
    print(f" {count} systems, dealt | permuted | two groups |\n|---|---|---|---|---|---|---|")
    names = dataset.candidates["system"].to_numpy(object)
    systems = list(dict.fromkeys(names))
    for name in metrics:
        metric = make_metric(name)
        rows = metric.statistics(dataset)
        cube = np.stack([rows[names == system] for system in systems], axis=1)
        order = np.argsort(metric.score(cube.sum(axis=0)))
        middle = cube[:, order[len(order) // 2]]
        near = order[len(order) // 2 - count // 2 :][:count]
        cases = [
            (dealt(middle, 2), 1),
            (permuted(cube[:, near[:2]]), 1),
            (dealt(middle, count), 1),
            (permuted(cube[:, near]), 1),
            (two_groups(cube[:, order[0]], cube[:, order[-1]], count), 2),
        ]
        for test in ("bs", "ar"):
            rates = [
                error_rate(metric.score, deal, test=test, simulations=simulations, resamples=resamples, groups=groups)
                for deal, groups in cases
            ]
            print(
                f"| {name} | {test} | {' | '.join(f'{pairs:.3f}, {clusters:.3f}' for pairs, clusters in rates)} |",
                flush=True,
            )


# A small process starts the command: the peak of a command begins with that of the process that starts it.
_MEASURED = """
import resource, subprocess, sys, time
start = time.perf_counter()
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
"""


def measured(arguments: list[str]) -> tuple[float, float]:
    """Run a command; return seconds and peak memory in MB."""
    printed = subprocess.run([sys.executable, "-c", _MEASURED, *arguments], capture_output=True, text=True, check=True)
    seconds, peak = map(float, printed.stdout.split())
    return seconds, peak


def speed(dataset: Dataset, metrics: list[str], resamples: int, runs: int, sources: int) -> None:
    """Print times and peak memory of both programs on so many sources; what is repeated gets another last word."""
    names, texts = (dataset.candidates[column].to_numpy(object) for column in ("system", "text"))
    with tempfile.TemporaryDirectory() as folder:
        files = {name: str(Path(folder) / re.sub(r"\W", "_", name)) for name in dict.fromkeys(names)}
        reference, source = (str(Path(folder) / name) for name in ("reference", "source"))
        lines = {reference: dataset.references["text"], source: dataset.sources["text"]}
        lines |= {path: texts[names == name] for name, path in files.items()}
        copy, place = np.divmod(np.arange(sources), len(dataset.sources))
        for path, written in lines.items():
            chosen = np.array(written, dtype=object)[place]
            lengthened = [f"{' '.join(line.split())}{' x' * times}\n" for line, times in zip(chosen, copy, strict=True)]
            Path(path).write_text("".join(lengthened), encoding="utf-8")
        ours = [sys.executable, "-m", "ranker.cli.main", "systems", "-s", source, "-r", reference]
        ours += ["-t", *files.values(), "-m", ",".join(metrics), "--resamples", str(resamples), "-f", "json"]
        theirs = [sys.executable, "-m", "sacrebleu", reference, "-i", *files.values(), "-m", "bleu"]
        theirs += ["--paired-bs", "--paired-bs-n", str(resamples), "--quiet"]
        measured(ours)  # compile or load the kernels
        print(f"{dataset.name}, {sources:,} sources, {len(files)} systems, {resamples} resamples\n")
        print("| program | metrics | seconds | peak MB |\n|---|---|---|---|")
        best = {}
        for program, arguments, what in (("ranker", ours, ", ".join(metrics)), ("sacreBLEU", theirs, "bleu")):
            results = [measured(arguments) for _ in range(runs)]
            best[program] = min(line[0] for line in results)
            print(f"| {program} | {what} | {best[program]:.1f} | {max(line[1] for line in results):.0f} |", flush=True)
    print(f"\nranker : sacreBLEU {best['ranker'] / best['sacreBLEU']:.2f}\n")


def parity(dataset: Dataset, metrics: list[str]) -> None:
    """Print scores and uncorrected p-values of both programs for the same seed."""
    os.environ["SACREBLEU_SEED"] = "12345"
    names, texts = (dataset.candidates[column].to_numpy(object) for column in ("system", "text"))
    outputs = [(name, texts[names == name].tolist()) for name in dict.fromkeys(names)]
    references = [
        item.tolist() for item in dataset.references["text"].to_numpy(object).reshape(len(dataset.sources), -1).T
    ]
    theirs = {"bleu": sacrebleu.BLEU, "chrf": sacrebleu.CHRF, "ter": sacrebleu.TER}
    print(
        "| metric | test | system | score | sacreBLEU | p | p, parity | sacreBLEU |\n|---|---|---|---|---|---|---|---|"
    )
    largest = 0.0
    for name in metrics:
        for test in RESAMPLES:
            scorer = {name: make_scorer(name, None)}
            plain, ours = (
                compare_systems(dataset, scorer, test=test, seed=12345, parity=item).comparisons[0]
                for item in (None, "sacrebleu")
            )
            counted = {item.system: item.p for item in ours.systems}
            _, results = PairedTest(outputs, {name: theirs[name](references=references)}, None, test_type=test)()
            key = next(result for result in results if result != "System")
            wanted = dict(zip(results["System"], results[key], strict=True))
            for system in plain.systems:
                p = (system.p, counted[system.system], wanted[system.system].p_value)
                scores = f"{100 * system.score.value:.4f} | {wanted[system.system].score:.4f}"
                if system.p is not None:
                    largest = max(largest, abs(p[1] - p[2]))
                    print(
                        f"| {name} | {test} | {system.system} | {scores} | {' | '.join(f'{item:.4f}' for item in p)} |"
                    )
            sys.stdout.flush()
    print(f"\nlargest difference of the last two: {largest:.1e}\n")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="*", default=["speed", "parity", "errors"])
    parser.add_argument("--data", default=str(SHARED / "data" / "wmt14-rr.jsonl.gz"))
    parser.add_argument("--lp", default="de-en")
    parser.add_argument("--metrics", nargs="+", default=["bleu", "chrf", "ter"])
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--sources", type=int, default=3000)
    parser.add_argument("--simulations", type=int, default=1000)
    parser.add_argument("--systems", type=int, default=6)
    parser.add_argument("--runs", type=int, default=1)
    options = parser.parse_args()
    dataset = select_language_pairs(catalogue.load(options.data), [options.lp])
    if "speed" in options.what:
        speed(dataset, options.metrics, options.resamples, options.runs, options.sources)
    if "parity" in options.what:
        parity(dataset, options.metrics)
    if "errors" in options.what:
        errors(dataset, options.metrics, options.simulations, options.resamples, options.systems)


if __name__ == "__main__":
    sys.exit(main())
