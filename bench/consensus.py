"""What consensus features are worth: `python bench/consensus.py --work DIR` prints the tables of `docs/consensus.md`.

Measures every feature of `consensus` alone and added to `full`, on corpora that the ranker did not see (scores and
rankers are kept in DIR, as those of `bench/leaderboard.py`); what near copies of a bad system do to it; and, with
--speed, its time beside one pass of chrF. Corpora are names, or files of the shared data ($RANKER_SHARED/data).
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from bench.board import INTO_ENGLISH, Board, load, read, say
from bench.with_less import ALONE, rows_of
from ranker.arrays import BoolArray, FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import human_scores, judged
from ranker.corpora.records import Candidate, Record, assemble
from ranker.corpora.schema import TEXT
from ranker.corpora.selection import select_language_pairs
from ranker.evaluation.compare.evaluation import evaluate
from ranker.extractors.consensus.votes import COLUMNS
from ranker.extractors.registry import make, make_metric
from ranker.ranking import Ranker
from ranker.ranks import merge_ties
from ranker.threads import set_jobs

VARIANTS = (
    "consensus",
    "consensus[trust=source]",
    "consensus[metric=chrf[word_order=2]]",
    "consensus[metric=bleu[smoothing=add-one]]",
)
WEIGHTS = (0.25, 0.5, 1.0)
CHOSEN = 0.5
CROWDS = (0, 3, 10)
CROWD_SOURCES = 300
NOISE = 0.1
WITHOUT = "full without consensus (with references)"


def scaled(dataset: Dataset, scores: FloatArray, used: BoolArray) -> FloatArray:
    """Return scores over their standard deviation within sources, one for all; only `used` candidates count."""
    source, number = dataset.candidate_source[used], len(dataset.sources)
    count = np.maximum(np.bincount(source, minlength=number), 1)
    centred = scores[used] - (np.bincount(source, scores[used], minlength=number) / count)[source]
    return scores / np.sqrt((centred**2).mean())


@dataclasses.dataclass
class Corpus:
    """A corpus into English with all its candidates, judged or not, since all of them vote."""

    dataset: Dataset
    full: FloatArray

    def __post_init__(self) -> None:
        self.judged = judged(self.dataset)
        self.kept = self.dataset.select_candidates(self.judged)
        self.statistic = "segment.tau.primary" if len(self.dataset.preferences) else "segment.spearman"

    def figures(self, scores: FloatArray) -> dict[str, float]:
        """Return tau, or Spearman's rho, of every language pair, and their mean under the name ``mean``."""
        comparison = evaluate(self.kept, scores[self.judged], resamples=0)
        values = {
            scope.lp: float(comparison.values(self.statistic, scope.id)[0]) for scope in comparison.scopes if scope.lp
        }
        return {**values, "mean": float(np.mean(list(values.values())))}

    def mixed(self, scores: FloatArray, weight: float) -> FloatArray:
        """Return the sum of `full` and `scores`, both scaled, the latter times `weight`."""
        parts = (scaled(self.dataset, column, self.judged) for column in (self.full, scores))
        return next(parts) + weight * next(parts)


def columns(text: str, dataset: Dataset) -> FloatArray:
    """Return the features that `text` stands for."""
    say(f"{dataset.name}: {text}")
    return make(text).fit_ranked(dataset).transform(dataset)


def row(name: str, values: Sequence[float]) -> str:
    """Write a row, Markdown."""
    return f"| {name} | " + " | ".join(f"{value:.4f}" for value in values) + " |"


def head(first: str, names: Sequence[str]) -> list[str]:
    """Write the head of a table, Markdown."""
    return [f"| {first} | {' | '.join(names)} |", f"|{'---|' * (len(names) + 1)}"]


def worth(corpora: dict[str, Corpus]) -> list[str]:
    """Return tables of all features alone, and with `full`."""
    named: dict[str, dict[str, FloatArray]] = {name: {} for name in corpora}
    for name, corpus in corpora.items():
        for text in VARIANTS:
            for feature, values in zip(COLUMNS, columns(text, corpus.dataset).T, strict=True):
                named[name][f"{text}.{feature}"] = values
    features = list(next(iter(named.values())))
    lines = ["### Alone, without any reference", "", *head("feature", [*corpora, "mean"])]
    references: dict[str, list[float]] = {"chrf (with references)": [], WITHOUT: []}
    for corpus in corpora.values():
        chrf = make_metric("chrf").transform(corpus.dataset)[:, 0]
        for title, scores in zip(references, (chrf, corpus.full), strict=True):
            references[title].append(corpus.figures(scores)["mean"])
    lines += [row(title, [*values, float(np.mean(values))]) for title, values in references.items()]
    alone = {
        feature: [corpus.figures(named[name][feature])["mean"] for name, corpus in corpora.items()]
        for feature in features
    }
    lines += [row(f"`{feature}`", [*values, float(np.mean(values))]) for feature, values in alone.items()]
    mixed = {
        (feature, weight): [
            corpus.figures(corpus.mixed(named[name][feature], weight))["mean"] for name, corpus in corpora.items()
        ]
        for feature in features
        if feature.startswith("consensus.")
        for weight in WEIGHTS
    }
    lines += ["", "### Added to `full`", "", *head("feature, weight", [*corpora, "mean"])]
    lines += [row("`full` alone", [*(values := references[WITHOUT]), float(np.mean(values))])]
    lines += [
        row(f"`{feature}`, {weight:g}", [*values, float(np.mean(values))])
        for (feature, weight), values in mixed.items()
    ]
    if len(corpora) > 1:
        lines += ["", "### Chosen without the corpus that it is applied to", "", *head("corpus", ["`full`", "with"])]
    for place, name in enumerate(corpora if len(corpora) > 1 else ()):
        chosen = max(mixed, key=lambda item: float(np.mean(np.delete(mixed[item], place))))
        lines.append(
            f"| {name} | {references['full (with references)'][place]:.4f} | {mixed[chosen][place]:.4f}, "
            f"`{chosen[0]}`, {chosen[1]:g} |"
        )
    wanted = ("mean", "near", "weighted", "independent")
    titles = ["pair", "chrf", "`full`", *(f"`{item}`" for item in wanted), *(f"`full` + `{item}`" for item in wanted)]
    lines += ["", f"### By language pair; added with weight {CHOSEN:g}", "", *head("corpus", titles)]
    by_pair = {}
    for name, corpus in corpora.items():
        scores = [make_metric("chrf").transform(corpus.dataset)[:, 0], corpus.full]
        chosen_features = [named[name][f"consensus.{item}"] for item in wanted]
        scores += [*chosen_features, *(corpus.mixed(chosen_feature, CHOSEN) for chosen_feature in chosen_features)]
        by_pair[name] = [corpus.figures(item) for item in scores]
    pairs = [(name, lp) for name, corpus in corpora.items() for lp in corpus.kept.language_pairs]
    lines += [
        f"| {name} | {lp} | " + " | ".join(f"{item[lp]:.3f}" for item in by_pair[name]) + " |" for name, lp in pairs
    ]
    return lines


def perturbed(rng: np.random.Generator, text: str) -> str:
    """Return a sentence with words left out and neighbours exchanged, each with a chance of half of NOISE."""
    words: list[str] = []
    for word in text.split():
        chance = rng.random()
        if chance >= NOISE / 2:
            words.append(word)
        if chance > 1 - NOISE / 2 and len(words) > 1:
            words[-2:] = words[:-3:-1]
    return " ".join(words)


def crowded(dataset: Dataset, copies: int) -> tuple[Dataset, str, Int64Array]:
    """Return some sources with near copies of the system that people like least, its name, and the original rows."""
    rng = np.random.default_rng(0)
    keep = np.zeros(len(dataset.sources), dtype=bool)
    keep[rng.permutation(len(keep))[:CROWD_SOURCES]] = True
    some = dataset.select_sources(keep)
    system = some.candidates["system"].to_numpy(object)
    liked = pd.Series(human_scores(some, "win-rate")).groupby(system).mean().dropna()
    worst = str(liked.idxmin())
    numbered = some.candidates.assign(original=np.arange(len(some)))
    parts = [numbered]
    for number in range(copies):
        copy = numbered[system == worst]
        texts = [perturbed(rng, text) for text in copy["text"]]
        names = [f"{worst}~{number}"] * len(copy)
        parts.append(
            copy.assign(
                text=pd.Series(texts, dtype=TEXT, index=copy.index),
                system=pd.Series(names, dtype=TEXT, index=copy.index),
            )
        )
    together = pd.concat(parts, ignore_index=True)
    together = together.iloc[np.argsort(together["source"].to_numpy(), kind="stable")].reset_index(drop=True)
    rows = together.pop("original").to_numpy(np.int64)
    return (
        Dataset(some.name, some.sources, some.references, together, some.ratings.iloc[:0], some.preferences.iloc[:0]),
        worst,
        rows,
    )


def crowds(corpora: dict[str, Corpus]) -> list[str]:
    """Return a table of what near copies of the worst system do, mean over language pairs."""
    names = [f"{count} copies" for count in CROWDS]
    lines = [*head("feature", names)]
    judged_corpora = {name: corpus for name, corpus in corpora.items() if len(corpus.dataset.preferences)}
    shares_by_feature: dict[str, list[list[float]]] = {feature: [[] for _ in CROWDS] for feature in COLUMNS}
    for corpus in judged_corpora.values():
        for lp in corpus.dataset.language_pairs:
            pair_data = select_language_pairs(corpus.dataset, [lp])
            for place, copies in enumerate(CROWDS):
                dataset, worst, _ = crowded(pair_data, copies)
                system = dataset.candidates["system"].to_numpy(object)
                of_crowd = np.array([name == worst or name.startswith(f"{worst}~") for name in system])
                for feature, scores in zip(COLUMNS, columns("consensus", dataset).T, strict=True):
                    merged = merge_ties(scores, dataset.candidate_offsets)
                    best = np.lexsort((-merged, dataset.candidate_source))[dataset.candidate_offsets[:-1]]
                    shares_by_feature[feature][place].append(float(of_crowd[best].mean()))
    return lines + [
        row(f"`consensus.{feature}`", [float(np.mean(share)) for share in shares])
        for feature, shares in shares_by_feature.items()
    ]


def speed() -> list[str]:
    """Return times of consensus and of chrF over as many pairs, and how far mean statistics are from the mean."""
    load(("wmt14",), (INTO_ENGLISH,))

    def timed(action: Callable[[], object]) -> float:
        start = time.perf_counter()
        action()
        return time.perf_counter() - start

    def fresh(dataset: Dataset) -> Dataset:
        return dataclasses.replace(dataset)

    dataset = load(("wmt14",), (INTO_ENGLISH,))
    texts = [
        dataset.candidates["text"].iloc[first:last].drop_duplicates().tolist()
        for first, last in zip(dataset.candidate_offsets[:-1], dataset.candidate_offsets[1:], strict=True)
    ]
    records = [
        Record("", [reference], [Candidate(str(place), text) for place, text in enumerate(text)])
        for text in texts
        for reference in text
    ]
    pairs = assemble(records, "pairs")
    small = dataset.select_sources(np.arange(len(dataset.sources)) < 20)
    for warm in ("consensus", "consensus[limit=3]"):
        columns(warm, fresh(small))
    make_metric("chrf").transform(small)
    consensus = min(timed(lambda: columns("consensus", fresh(dataset))) for _ in range(2))
    once = min(timed(lambda: make_metric("chrf").transform(fresh(pairs))) for _ in range(2))
    lines = [
        f"- wmt14 into English, {sum(map(len, texts)):,} different texts, {len(pairs):,} ordered pairs: consensus "
        f"{consensus:.1f} s, chrF of the same pairs one by one {once:.1f} s."
    ]
    set_jobs(1)
    rng = np.random.default_rng(0)
    words = " ".join(dataset.candidates["text"].iloc[:200]).split()
    right = rng.choice(words, 22)
    for number in (1_000, 10_000):
        variants = [
            " ".join(str(rng.choice(words)) if rng.random() < errors else str(word) for word in right)
            for errors in rng.uniform(0.1, 0.8, number)
        ]
        data = assemble([Record("", [], [Candidate(str(place), text) for place, text in enumerate(variants)])], "one")
        taken = timed(functools.partial(columns, "consensus", fresh(data)))
        lines.append(f"- {number:,} candidates of one source, one thread: {taken:.1f} s.")
        if number == 1_000:
            exact, summed = (columns(text, fresh(data))[:, 0] for text in ("consensus", "consensus[limit=999]"))
            lines.append(
                f"- Mean statistics instead of all pairs, 1,000 candidates: correlation of `mean` "
                f"{np.corrcoef(exact, summed)[0, 1]:.5f}, largest difference {np.abs(exact - summed).max():.4f}."
            )
    return lines


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", type=Path, default=Path("work"))
    parser.add_argument("--corpora", nargs="+", default=["wmt12", "wmt13", "wmt14", "wmt19-darr", "ted21-mqm"])
    parser.add_argument("--crowds", action="store_true", help="Only what near copies of a bad system do.")
    parser.add_argument("--speed", action="store_true", help="Only times.")
    options = parser.parse_args()
    if options.speed:
        print("\n".join(speed()))
        return
    ranker = Ranker.load("full")
    board = Board(options.work, {"full": ranker})
    corpora = {}
    for name in options.corpora:
        dataset = dataclasses.replace(load((name,), (INTO_ENGLISH,)), name=name)
        scores = np.zeros(len(dataset))
        if not options.crowds:
            scores[judged(dataset)] = rows_of(board, read(name))[f"full {ALONE}"]
        corpora[name] = Corpus(dataset, scores)
    print("\n".join(crowds(corpora) if options.crowds else worth(corpora)))


if __name__ == "__main__":
    sys.exit(main())
