"""p-values and errors of comparing systems: `python bench/systems.py [parity] [errors] [few]`.

``parity`` prints the p-values of `ranker systems` and of sacreBLEU for the same seed, against the first system.

``errors`` counts how often systems that are equally good are found to differ. "Dealt": the outputs of one real system
are shuffled and dealt to several, as if they were outputs for the same sources. "Permuted": the outputs of several
real systems are shuffled within each source, for a random third of the sources. "Two groups": half of the systems are
dealt from the best system, half from the worst, and differences within a half are errors.

``few`` counts such errors for systems with normal scores of 30 to 200 sources.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections.abc import Callable

import numpy as np
import sacrebleu
from sacrebleu.significance import PairedTest

from bench.common import locate, row, run_main, table
from ranker.corpora import catalogue
from ranker.corpora.dataset import Dataset
from ranker.corpora.selection import select_language_pairs
from ranker.evaluation.choices import Correction, Parity, SystemTest
from ranker.evaluation.systems.human_ranking import rank_clusters
from ranker.evaluation.systems.pair_tests import Score, compare_pairs
from ranker.evaluation.systems.run import RESAMPLES, compare_systems
from ranker.extractors.base import mean_score
from ranker.extractors.registry import make_metric
from ranker.ranking.scorers import make_scorer

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
    parity: Parity | None = None,
    alpha: float = 0.05,
) -> tuple[float, float]:
    """Return how often any two systems of the same group differ significantly, and how often their clusters differ."""
    wrong = np.zeros((simulations, 2), dtype=bool)
    for number in range(simulations):
        cube = deal(np.random.default_rng([7, number]))
        tests = compare_pairs(
            score, cube, test=test, correction=correction, resamples=resamples, seed=number, parity=parity
        )
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
    cases = ["2 systems, dealt", "permuted", f"{count} systems, dealt", "permuted", "two groups"]
    print("\n".join(table(["metric", "test", *cases])))
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
            print(row(name, test, *(f"{pairs:.3f}, {clusters:.3f}" for pairs, clusters in rates)), flush=True)


def few(simulations: int, resamples: int) -> None:
    """Print a table of error rates with few sources; parity keeps the bootstrap where there are fewer than 200."""
    counts = (2, 6, 10)
    print("\n".join(table(["sources", *(f"{test}, {count} systems" for test in RESAMPLES for count in counts)])))
    for sources in (30, 40, 60, 100, 200):
        rates = []
        for test, count in itertools.product(RESAMPLES, counts):

            def deal(generator: np.random.Generator, shape: tuple[int, int] = (sources, count)) -> np.ndarray:
                return np.stack([generator.normal(size=shape), np.ones(shape)], axis=2)

            kept: Parity = "sacrebleu"
            rates.append(
                error_rate(mean_score, deal, test=test, simulations=simulations, resamples=resamples, parity=kept)[0]
            )
        print(row(sources, *(f"{rate:.3f}" for rate in rates)), flush=True)


def parity(dataset: Dataset, metrics: list[str]) -> None:
    """Print scores and uncorrected p-values of both programs for the same seed."""
    os.environ["SACREBLEU_SEED"] = "12345"
    names, texts = (dataset.candidates[column].to_numpy(object) for column in ("system", "text"))
    outputs = [(name, texts[names == name].tolist()) for name in dict.fromkeys(names)]
    references = [
        item.tolist() for item in dataset.references["text"].to_numpy(object).reshape(len(dataset.sources), -1).T
    ]
    theirs = {"bleu": sacrebleu.BLEU, "chrf": sacrebleu.CHRF, "ter": sacrebleu.TER}
    print("\n".join(table(["metric", "test", "system", "score", "sacreBLEU", "p", "p, parity", "sacreBLEU"])))
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
                scores = (100 * system.score.value, wanted[system.system].score)
                if system.p is not None:
                    largest = max(largest, abs(p[1] - p[2]))
                    print(row(name, test, system.system, *(f"{value:.4f}" for value in (*scores, *p))))
            sys.stdout.flush()
    print(f"\nlargest difference of the last two: {largest:.1e}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="*", default=["parity", "errors"])
    parser.add_argument("--data", default="wmt14")
    parser.add_argument("--lp", default="de-en")
    parser.add_argument("--metrics", nargs="+", default=["bleu", "chrf", "ter"])
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--simulations", type=int, default=1000)
    parser.add_argument("--systems", type=int, default=6)
    options = parser.parse_args()
    if "few" in options.what:
        few(options.simulations, options.resamples)
    if not {"parity", "errors"} & {*options.what}:
        return
    dataset = select_language_pairs(catalogue.load(locate(options.data)), [options.lp])
    if "parity" in options.what:
        parity(dataset, options.metrics)
    if "errors" in options.what:
        errors(dataset, options.metrics, options.simulations, options.resamples, options.systems)


if __name__ == "__main__":
    run_main(main)
