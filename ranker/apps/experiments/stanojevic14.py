"""The experiments of Stanojević and Sima'an (2014): permutation metrics with a lexical score, by Kendall's tau."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from ranker.apps.experiments.settings import Settings
from ranker.apps.experiments.tables import Plan, Table, TableTask
from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset, view
from ranker.corpora.judgements import PREFERENCES, Judged, PreferencePairs, preference_pairs
from ranker.errors import log_note
from ranker.evaluation.correlation.pair_counts import tau
from ranker.evaluation.correlation.segment import tau_counts
from ranker.extractors.order.metrics import alignment_signed
from ranker.ranking.feature_set import FeatureSet
from ranker.ranks import merge_ties

METRICS = {
    "PEF": "pef",
    "PET Viterbi": "pet_viterbi",
    "Kendall": "kendall",
    "Spearman": "spearman",
    "Hamming": "hamming",
    "Ulam": "ulam",
    "Fuzzy": "fuzzy",
}
WITH_TREES = ("PEF", "PET Viterbi")
ALPHAS = tuple(round(0.1 * step, 1) for step in range(11))
BETAS = tuple(round(0.1 * step, 1) for step in range(1, 11))
GAMMAS = tuple(round(0.1 * step, 1) for step in range(10))


ALPHA, BETA, GAMMA = 0.5, 0.6, 0.0
"""Parameters of the metrics in tables that do not vary them."""
LEXICAL = "bleu1"
"""Name of the lexical score with which every permutation metric is combined."""


@dataclass(frozen=True, eq=False)
class _Corpus:
    """Pairs of judged candidates, and the components of their scores, each component extracted only once."""

    dataset: Dataset
    pairs: PreferencePairs
    language_pair: Int64Array
    settings: Settings

    @property
    def tokenizer(self) -> str:
        """Name of the tokeniser for the permutations and the lexical score."""
        return "meteor" if self.settings.alignment == "meteor" else "13a"

    def part(self, text: str) -> FloatArray:
        """Return the scores of the metric with the notation `text`, shape (candidates,)."""
        return _column(self.dataset, text)

    def scores(self, name: str, alpha: float, beta: float, gamma: float) -> FloatArray:
        """Return a metric's scores, alpha x lexical + (1 - alpha) x penalised order, shape (candidates,)."""
        common = f"alignment={self.settings.alignment},lexical={LEXICAL},tokenizer={self.tokenizer}"
        trees = f",beta={beta},gamma={gamma}" if name in WITH_TREES else ""
        lexical = self.part(f"kendall[alpha=1.0,{common}]")
        return alpha * lexical + (1 - alpha) * self.part(f"{METRICS[name]}[{common}{trees}]")

    def taus(self, scores: FloatArray) -> FloatArray:
        """Return tau by language pair, shape (language pairs,), ignoring pairs tied in the judgements or the scores."""
        merged = merge_ties(scores, self.dataset.candidate_offsets)
        counts = tau_counts(merged, self.pairs, self.language_pair, len(self.dataset.language_pairs))
        return tau(counts, "wmt13")


@view
def _column(dataset: Dataset, text: str) -> FloatArray:
    return FeatureSet.parse(text).transform(dataset)[:, 0]


def plan(dataset: Dataset, settings: Settings) -> Plan:
    """Plan the paper's tables for this data, each as a separate task."""
    outputs = Judged.of(dataset, PREFERENCES).dataset
    pairs = outputs.source_language_pairs
    ordered = np.unique(pairs[outputs.candidate_source[preference_pairs(outputs).better]])
    if unordered := [name for name in outputs.language_pairs if name not in ordered and len(ordered)]:
        log_note(f"leaving out {', '.join(unordered)}, whose judgements order no two candidates", dataset.name)
    outputs = outputs.select_sources((np.diff(outputs.candidate_offsets) > 0) & ~np.isin(pairs, unordered))
    number = np.unique(outputs.source_language_pairs.astype(str), return_inverse=True)[1]
    corpus = _Corpus(outputs, preference_pairs(outputs), number[outputs.candidate_source], settings)
    tasks = [_comparison(corpus)]
    if settings.sweeps:
        tasks += _sweeps(corpus)
    parts = {
        "data": f"{dataset.name}#{dataset.fingerprint[:8]}",
        "alpha": ALPHA,
        "beta": BETA,
        "gamma": GAMMA,
        "alignment": settings.alignment,
        **alignment_signed(settings.alignment),
        "lexical": LEXICAL,
        "tokenizer": corpus.tokenizer,
        "lowercase": "false",
    }
    return Plan.of("stanojevic14", tasks, parts)


def _comparison(corpus: _Corpus) -> TableTask:
    title = f"Kendall's tau on {corpus.dataset.name}, alpha {ALPHA}, beta {BETA}"

    def make() -> list[Table]:
        taus = [corpus.taus(corpus.scores(name, ALPHA, BETA, GAMMA)) for name in METRICS]
        # 1 is best; equal taus share their mean rank
        ranks = stats.rankdata(-np.stack(taus), axis=0)
        rows = [
            {
                "metric": name,
                **dict(zip(corpus.dataset.language_pairs, values, strict=True)),
                "average rank": float(ranks[index].mean()),
                "average tau": float(values.mean()),
            }
            for index, (name, values) in enumerate(zip(METRICS, taus, strict=True))
        ]
        note = f"{len(corpus.pairs.better):,} strict preferences; ties of the metric dropped."
        return [Table(title, tuple(rows), note)]

    return TableTask(title, make)


def _sweeps(corpus: _Corpus) -> list[TableTask]:
    def average(name: str, alpha: float, beta: float, gamma: float) -> float:
        return float(corpus.taus(corpus.scores(name, alpha, beta, gamma)).mean())

    def task(parameter: str, values: Sequence[float], names: Sequence[str]) -> TableTask:
        title = f"average tau over {parameter}, {corpus.dataset.name}"

        def make() -> list[Table]:
            rows = []
            for value in values:
                chosen = {"alpha": ALPHA, "beta": BETA, "gamma": GAMMA, parameter: value}
                row: dict[str, Any] = {parameter: value}
                row.update({name: average(name, **chosen) for name in names})
                rows.append(row)
            return [Table(title, tuple(rows))]

        return TableTask(title, make)

    def by_language_pair(name: str) -> TableTask:
        title = f"Kendall's tau over gamma, {name}, {corpus.dataset.name}"

        def make() -> list[Table]:
            rows = []
            for gamma in GAMMAS:
                taus = corpus.taus(corpus.scores(name, ALPHA, BETA, gamma))
                values = dict(zip(corpus.dataset.language_pairs, taus, strict=True))
                rows.append({"gamma": gamma, **values, "average": float(taus.mean())})
            return [Table(title, tuple(rows))]

        return TableTask(title, make)

    return [
        task("alpha", ALPHAS, tuple(METRICS)),
        task("beta", BETAS, WITH_TREES),
        task("gamma", GAMMAS, WITH_TREES),
        *(by_language_pair(name) for name in WITH_TREES),
    ]
