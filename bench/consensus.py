"""What consensus features are worth: `python bench/consensus.py --work DIR` prints the tables of `docs/consensus.md`.

Measures every feature of `consensus` alone and added to `full-lexical`, on corpora that the ranker did not see (scores
and rankers are kept in DIR, as those of `bench/leaderboard.py`); what near copies of a bad system do to it; and, with
--speed, its time beside one pass of chrF. Corpora are names, or files of the shared data ($RANKER_SHARED/data).
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from bench.board import Board, load, read
from bench.common import INTO_ENGLISH, best_of, run_main, say, table
from bench.with_less import ALONE, evaluated, rows_of
from ranker.arrays import BoolArray, FloatArray
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import human_scores, judged
from ranker.corpora.records import Candidate, Record, assemble
from ranker.corpora.schema import TEXT
from ranker.corpora.selection import select_language_pairs
from ranker.extractors.base import fitted_on
from ranker.extractors.consensus.votes import COLUMNS
from ranker.extractors.registry import make, make_metric
from ranker.ranking.ranker import Ranker
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
WITHOUT = "full-lexical without consensus (with references)"


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

    def figures(self, scores: FloatArray) -> dict[str, float]:
        """Return tau, or Spearman's rho, of every language pair, and their mean under the name ``mean``."""
        values = evaluated(self.kept, scores[self.judged])
        return {**values, "mean": float(np.mean(list(values.values())))}

    def mixed(self, scores: FloatArray, weight: float) -> FloatArray:
        """Return the sum of `full-lexical` and `scores`, both scaled, the latter times `weight`."""
        parts = (scaled(self.dataset, column, self.judged) for column in (self.full, scores))
        return next(parts) + weight * next(parts)


def columns(text: str, dataset: Dataset) -> FloatArray:
    say(f"{dataset.name}: {text}")
    return fitted_on(make(text), dataset).transform(dataset)


def worth(corpora: dict[str, Corpus]) -> list[str]:
    """Return tables of all features alone, and with `full-lexical`."""
    named: dict[str, dict[str, FloatArray]] = {name: {} for name in corpora}
    for name, corpus in corpora.items():
        for text in VARIANTS:
            for feature, values in zip(COLUMNS, columns(text, corpus.dataset).T, strict=True):
                named[name][f"{text}.{feature}"] = values
    features = list(next(iter(named.values())))

    def with_mean(title: str, values: Sequence[float]) -> list[str]:
        return [title, *(f"{value:.4f}" for value in [*values, float(np.mean(values))])]

    references: dict[str, list[float]] = {"chrf (with references)": [], WITHOUT: []}
    chrfs = {name: make_metric("chrf").transform(corpus.dataset)[:, 0] for name, corpus in corpora.items()}
    for name, corpus in corpora.items():
        for title, scores in zip(references, (chrfs[name], corpus.full), strict=True):
            references[title].append(corpus.figures(scores)["mean"])
    rows = [with_mean(title, values) for title, values in references.items()]
    for feature in features:
        rows.append(
            with_mean(
                f"`{feature}`", [corpus.figures(named[name][feature])["mean"] for name, corpus in corpora.items()]
            )
        )
    lines = ["### Alone, without any reference", "", *table(["feature", *corpora, "mean"], rows)]
    mixed = {
        (feature, weight): [
            corpus.figures(corpus.mixed(named[name][feature], weight))["mean"] for name, corpus in corpora.items()
        ]
        for feature in features
        if feature.startswith("consensus.")
        for weight in WEIGHTS
    }
    rows = [with_mean("`full-lexical` alone", references[WITHOUT])]
    rows += [with_mean(f"`{feature}`, {weight:g}", values) for (feature, weight), values in mixed.items()]
    lines += ["", "### Added to `full-lexical`", "", *table(["feature, weight", *corpora, "mean"], rows)]
    if len(corpora) > 1:
        rows = []
        for place, name in enumerate(corpora):
            chosen = max(mixed, key=lambda item: float(np.mean(np.delete(mixed[item], place))))
            better = f"{mixed[chosen][place]:.4f}, `{chosen[0]}`, {chosen[1]:g}"
            rows.append([name, f"{references[WITHOUT][place]:.4f}", better])
        head = ["corpus", "`full-lexical`", "with"]
        lines += ["", "### Chosen without the corpus that it is applied to", "", *table(head, rows)]
    wanted = ("mean", "near", "weighted")
    rows = []
    for name, corpus in corpora.items():
        chosen_features = [named[name][f"consensus.{item}"] for item in wanted]
        scores = [chrfs[name], corpus.full, *chosen_features]
        scores += [corpus.mixed(feature, CHOSEN) for feature in chosen_features]
        figures = [corpus.figures(item) for item in scores]
        rows += [[name, lp, *(f"{item[lp]:.3f}" for item in figures)] for lp in corpus.kept.language_pairs]
    titles = ["corpus", "pair", "chrf", "`full-lexical`", *(f"`{item}`" for item in wanted)]
    titles += [f"`full-lexical` + `{item}`" for item in wanted]
    return [*lines, "", f"### By language pair; added with weight {CHOSEN:g}", "", *table(titles, rows)]


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


def crowded(dataset: Dataset, copies: int) -> tuple[Dataset, str]:
    """Return some sources with near copies of the system that people like least, and its name."""
    rng = np.random.default_rng(0)
    keep = np.zeros(len(dataset.sources), dtype=bool)
    keep[rng.permutation(len(keep))[:CROWD_SOURCES]] = True
    some = dataset.select_sources(keep)
    system = some.candidates["system"].to_numpy(object)
    liked = pd.Series(human_scores(some, "win-rate", repeated=True)).groupby(system).mean().dropna()
    worst = str(liked.idxmin())
    parts, copied = [some.candidates], some.candidates[system == worst]
    for number in range(copies):
        texts = pd.Series([perturbed(rng, text) for text in copied["text"]], dtype=TEXT, index=copied.index)
        names = pd.Series([f"{worst}~{number}"] * len(copied), dtype=TEXT, index=copied.index)
        parts.append(copied.assign(text=texts, system=names))
    together = pd.concat(parts, ignore_index=True).sort_values("source", kind="stable", ignore_index=True)
    ratings, preferences = some.ratings.iloc[:0], some.preferences.iloc[:0]
    return dataclasses.replace(some, candidates=together, ratings=ratings, preferences=preferences), worst


def crowds(corpora: dict[str, Corpus]) -> list[str]:
    """Return a table of what near copies of the worst system do, mean over language pairs."""
    shares_by_feature: dict[str, list[list[float]]] = {feature: [[] for _ in CROWDS] for feature in COLUMNS}
    for corpus in (each for each in corpora.values() if len(each.dataset.preferences)):
        for lp in corpus.dataset.language_pairs:
            pair_data = select_language_pairs(corpus.dataset, [lp])
            for place, copies in enumerate(CROWDS):
                dataset, worst = crowded(pair_data, copies)
                system = dataset.candidates["system"].to_numpy(object)
                of_crowd = np.array([name == worst or name.startswith(f"{worst}~") for name in system])
                for feature, scores in zip(COLUMNS, columns("consensus", dataset).T, strict=True):
                    merged = merge_ties(scores, dataset.candidate_offsets)
                    best = np.lexsort((-merged, dataset.candidate_source))[dataset.candidate_offsets[:-1]]
                    shares_by_feature[feature][place].append(float(of_crowd[best].mean()))
    rows = [
        [f"`consensus.{feature}`", *(f"{np.mean(share):.4f}" for share in shares)]
        for feature, shares in shares_by_feature.items()
    ]
    return table(["feature", *(f"{count} copies" for count in CROWDS)], rows)


def speed() -> list[str]:
    """Return times of consensus and of chrF over as many pairs."""
    fresh = dataclasses.replace
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
    consensus, _ = best_of(2, lambda: columns("consensus", fresh(dataset)), time.perf_counter)
    once, _ = best_of(2, lambda: make_metric("chrf").transform(fresh(pairs)), time.perf_counter)
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
        taken, _ = best_of(1, functools.partial(columns, "consensus", fresh(data)), time.perf_counter)
        lines.append(f"- {number:,} candidates of one source, one thread: {taken:.1f} s.")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", type=Path, default=Path("work"))
    parser.add_argument("--corpora", nargs="+", default=["wmt12", "wmt13", "wmt14", "wmt19-darr", "ted21-mqm"])
    parser.add_argument("--crowds", action="store_true", help="Only what near copies of a bad system do.")
    parser.add_argument("--speed", action="store_true", help="Only times.")
    options = parser.parse_args()
    if options.speed:
        print("\n".join(speed()))
        return
    ranker = Ranker.load("full-lexical")
    board = Board(options.work, {"full-lexical": ranker})
    corpora = {}
    for name in options.corpora:
        dataset = dataclasses.replace(load((name,), (INTO_ENGLISH,)), name=name)
        scores = np.zeros(len(dataset))
        if not options.crowds:
            scores[judged(dataset)] = rows_of(board, read(name))[f"full-lexical {ALONE}"]
        corpora[name] = Corpus(dataset, scores)
    print("\n".join(crowds(corpora) if options.crowds else worth(corpora)))


if __name__ == "__main__":
    run_main(main)
