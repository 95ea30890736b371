"""The experiments of Isozaki et al. (2010): correlations of metrics with people by the scores of whole systems."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ranker.apps.experiments.published import published_table
from ranker.apps.experiments.settings import Settings
from ranker.apps.experiments.tables import Plan, Table, TableTask
from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import (
    PREFERENCES,
    human_scores,
    judged,
    preference_pairs,
    resolve_kind,
)
from ranker.errors import DataError, OptionError
from ranker.evaluation.correlation.pearson import group_pearson, judged_rows
from ranker.evaluation.metrics.candidates import CandidateScores, LanguagePairData, by_language_pair, part_of
from ranker.evaluation.metrics.system_statistics import SystemStatistics
from ranker.evaluation.resampling.bootstrap import estimate, stream, weights_of_draws
from ranker.evaluation.resampling.significance import bootstrap_p
from ranker.extractors.base import Metric
from ranker.extractors.registry import make_metric
from ranker.ranking.scorers import MetricScorer
from ranker.ranks import group_spearman

CORRELATIONS: dict[str, Callable[[FloatArray, FloatArray, Int64Array], FloatArray]] = {
    "Spearman": group_spearman,
    "Pearson": group_pearson,
}
FEWEST_SYSTEMS = 3
BASELINE = "BLEU"
EXPECTED_WINS = "expected wins"
_EXPONENTS = {"": 0.0, " P^1/8": 0.125, " P^1/4": 0.25, " P^1/2": 0.5, " P": 1.0}
METRICS = {
    "P": "precision[alignment=isozaki]",
    "R": "recall[alignment=isozaki]",
    "F1": "f1[alignment=isozaki]",
    "BP": "bp",
    **{f"NSR{title}": f"nsr[precision={exponent}]" for title, exponent in _EXPONENTS.items()},
    "NSR x BP": "nsr[brevity=true]",
    **{f"NKT{title}": f"nkt[precision={exponent}]" for title, exponent in _EXPONENTS.items()},
    "NKT x BP": "nkt[brevity=true]",
    "sqrt(NKT)": "nkt",
    "1 - sqrt(1 - NKT)": "nkt",
    "ROUGE-L": "rouge_l",
    "ROUGE-S(4)": "rouge_s[distance=4]",
    "WER": "wer",
    "TER": "ter[search=tercom,tokenizer=13a]",
    "PER": "per",
    "METEOR": "meteor",
    "GTM": "gtm",
    "GTM(12)": "gtm[exponent=12.0]",
    "NIST": "nist",
    "BLEU": "bleu[smoothing=epsilon,tokenizer=13a]",
}
"""Notation of each metric by its name in the paper."""
ROOTS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "sqrt(NKT)": np.sqrt,
    "1 - sqrt(1 - NKT)": lambda scores: 1.0 - np.sqrt(1.0 - scores),
}
"""Transformations of the sentence scores of NKT before their mean is taken (section 5)."""
METEOR_ABROAD = "meteor[parameters=li,modules=exact,function_words=none]"
"""METEOR for target languages other than English: matches equal words only, so that all languages are treated alike."""


@dataclass(frozen=True, eq=False)
class PairCorrelations:
    """Correlations of all metrics in one language pair, or their means over several pairs or data sets."""

    data: str
    lp: str
    kind: str
    systems: int
    sources: int
    values: dict[str, FloatArray]
    samples: dict[str, FloatArray]


@dataclass(frozen=True, eq=False)
class JudgedPair:
    """One language pair of a data set, with the judgements of its systems."""

    data: str
    lp: str
    kind: str
    dataset: Dataset
    pair_data: LanguagePairData

    def correlate(self, settings: Settings) -> PairCorrelations:
        """Correlate all metrics with human judgements, on all sources and in resamples."""
        language_pair = self.pair_data
        statistics = SystemStatistics(language_pair, kind=self.kind)
        generator = stream(settings.seed, self.data, self.lp)
        weights = weights_of_draws(language_pair.sources, settings.resamples, generator)
        people = statistics.human(
            np.concatenate([statistics.shared.sum(axis=0, keepdims=True), weights @ statistics.shared])
        )
        values = {name: np.empty(len(METRICS)) for name in CORRELATIONS}
        samples = {name: np.empty((settings.resamples, len(METRICS))) for name in CORRELATIONS}
        for place, scored in enumerate(_scored(self.dataset, _target(self.lp))):
            part = part_of(scored, language_pair)
            columns = statistics.measure(part)[0]
            sums = np.concatenate([columns.sum(axis=0, keepdims=True), weights @ columns])
            by_people, by_metric, offsets = judged_rows(people, statistics.metric(sums, part))
            for name, correlation in CORRELATIONS.items():
                each = correlation(by_metric, by_people, offsets)
                values[name][place], samples[name][:, place] = each[0], each[1:]
        return PairCorrelations(
            self.data, self.lp, self.kind, len(language_pair.systems), language_pair.sources, values, samples
        )


def plan(data: Sequence[Dataset], settings: Settings) -> Plan:
    """Plan the paper's tables for this data, each as a separate task."""
    names = [dataset.name for dataset in data]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise OptionError(f"two data sets are called {twice[0]!r}; give each once or rename a file")
    judged_pairs = [judged_language_pairs(dataset, settings) for dataset in data]
    judged_rows = tuple(
        {
            "data": pair.data,
            "language pair": pair.lp,
            "judged by": EXPECTED_WINS if pair.kind == PREFERENCES else pair.kind,
            "systems": len(pair.pair_data.systems),
            "sources": pair.pair_data.sources,
        }
        for pairs in judged_pairs
        for pair in pairs
    )
    tasks = [TableTask("what was judged", lambda: [Table("what was judged", judged_rows)])]
    correlations = [functools.cache(partial(_correlate, pairs, settings)) for pairs in judged_pairs]
    for name, parts in zip(names, correlations, strict=True):
        tasks.append(TableTask(f"correlations, {name}", partial(_of_data_set, parts)))
    if len(correlations) > 1:
        tasks.append(TableTask("correlations, all data sets", partial(_of_all, correlations)))
    targets = {_target(pair.lp) for pairs in judged_pairs for pair in pairs}
    plain = [_metric(title, "en") for title in METRICS if title != "METEOR"]
    meteors = [_metric("METEOR", target).signature() for target in sorted(targets, key=str)]
    kinds = {pair.kind for pairs in judged_pairs for pair in pairs}
    texts = list(dict.fromkeys(metric.signature() for metric in plain))
    signed = {
        "data": ",".join(f"{dataset.name}#{dataset.fingerprint[:8]}" for dataset in data),
        "kind": "+".join(sorted(kinds)),
        "metrics": f"{len(texts)}#{hashlib.sha256(chr(10).join(texts).encode()).hexdigest()[:8]}",
        "meteor": "+".join(dict.fromkeys(meteors)),
        "resamples": settings.resamples,
        "seed": settings.seed if settings.resamples else None,
    }
    return Plan.of("isozaki10", tasks, signed)


def language_pairs(dataset: Dataset, settings: Settings) -> list[PairCorrelations]:
    """Return the correlations in every language pair that has at least three judged systems."""
    return _correlate(judged_language_pairs(dataset, settings), settings)


def judged_language_pairs(dataset: Dataset, settings: Settings) -> list[JudgedPair]:
    """Return the language pairs with three or more judged systems, keeping only judged sources and system outputs."""
    kind = resolve_kind(dataset, settings.kind)
    human = human_scores(dataset, kind, repeated=True)
    outputs = ~dataset.is_reference
    seen = np.zeros(len(dataset.sources), dtype=bool)
    seen[dataset.candidate_source[judged(dataset, kind) & outputs]] = True
    judged_pairs = []
    for lp in dataset.language_pairs:
        chosen = seen & (dataset.source_language_pairs == lp)
        rows = outputs & chosen[dataset.candidate_source]
        judged_outputs = dataset.select_candidates(rows).select_sources(chosen)
        pairs = {"official": preference_pairs(judged_outputs, primary=False)} if kind == PREFERENCES else {}
        language_pairs = by_language_pair(judged_outputs, human[rows], pairs)
        if language_pairs and len(language_pairs[0].systems) >= FEWEST_SYSTEMS:
            judged_pairs.append(JudgedPair(dataset.name, lp, kind, judged_outputs, language_pairs[0]))
    if not judged_pairs:
        raise DataError(
            f"no language pair has {FEWEST_SYSTEMS} systems with judgements of {kind}, the minimum for a "
            "correlation of systems",
            file=dataset.name,
        )
    return judged_pairs


def _target(lp: str) -> str:
    """Return the target language; English if unknown."""
    return lp.rpartition("-")[2] if "-" in lp else "en"


def _metric(title: str, target: str) -> Metric:
    """Make the metric named `title` for candidates in the language `target`."""
    return make_metric(METEOR_ABROAD if title == "METEOR" and target != "en" else METRICS[title])


def _scored(dataset: Dataset, target: str) -> list[CandidateScores]:
    """Score all outputs by all metrics, in the order of `METRICS`; higher is better."""
    results = []
    for title in METRICS:
        metric = _metric(title, target)
        scored = CandidateScores.of(MetricScorer(metric), dataset, name=title)
        results.append(CandidateScores(title, ROOTS[title](scored.scores)) if title in ROOTS else scored)
    return results


def _mean(parts: Sequence[PairCorrelations]) -> PairCorrelations:
    """Return the mean correlations over language pairs or data sets; a mean is NaN if a correlation is NaN in any."""
    return PairCorrelations(
        parts[0].data,
        "",
        parts[0].kind if len({part.kind for part in parts}) == 1 else "",
        sum(part.systems for part in parts),
        sum(part.sources for part in parts),
        {name: np.mean([part.values[name] for part in parts], axis=0) for name in CORRELATIONS},
        {name: np.mean([part.samples[name] for part in parts], axis=0) for name in CORRELATIONS},
    )


def _correlate(pairs: Sequence[JudgedPair], settings: Settings) -> list[PairCorrelations]:
    return [pair.correlate(settings) for pair in pairs]


def _of_data_set(correlated: Callable[[], list[PairCorrelations]]) -> list[Table]:
    parts = correlated()
    return _tables(_mean(parts), parts, [f"{part.lp} ({part.systems})" for part in parts])


def _of_all(correlated: Sequence[Callable[[], list[PairCorrelations]]]) -> list[Table]:
    means = [_mean(parts()) for parts in correlated]
    return _tables(_mean(means), means, [mean.data for mean in means])


def _tables(mean: PairCorrelations, parts: Sequence[PairCorrelations], heads: Sequence[str]) -> list[Table]:
    """Make a table per correlation coefficient: means, language pairs or data sets (`parts`), and published figures."""
    over = "data sets" if len({part.data for part in parts}) > 1 else "language pairs"
    where = "all data sets" if over == "data sets" else mean.data
    baseline = list(METRICS).index(BASELINE)
    tables = []
    for name in CORRELATIONS:
        value, sample = mean.values[name], mean.samples[name]
        p = bootstrap_p(sample - sample[:, [baseline]], value - value[baseline])
        rows = []
        for place, title in enumerate(METRICS):
            # an undefined mean has no interval, even if it is defined in some resamples
            interval = estimate(value[place], sample[:, place] if np.isfinite(value[place]) else sample[:0, place])
            row: dict[str, Any] = {"metric": title, name: interval.value, "low": interval.low, "high": interval.high}
            row["p against BLEU"] = None if title == BASELINE or not len(sample) else p[place]
            if len(parts) > 1:
                row.update({head: part.values[name][place] for head, part in zip(heads, parts, strict=True)})
            row.update(_published(name, mean.kind, title))
            rows.append(row)
        people = EXPECTED_WINS if mean.kind == PREFERENCES else mean.kind or "several kinds of judgements"
        tables.append(Table(f"{name} with {people}, {where}", tuple(rows), _note(mean, parts, over)))
    return tables


def _note(mean: PairCorrelations, parts: Sequence[PairCorrelations], over: str) -> str:
    what = f"Mean over {len(parts)} {over}" if len(parts) > 1 else f"{parts[0].lp}, {parts[0].systems} systems"
    return (
        f"{what}, {mean.sources:,} sources; low and high: 95% bootstrap interval over sources, of the same systems. "
        "Published figures are of other data."
    )


def _published(correlation: str, kind: str, title: str) -> dict[str, float | None]:
    """Return a metric's published figures: for fluency if `kind` is fluency, otherwise for adequacy.

    NTCIR-7 (tables 1 and 3): Japanese-English patents, 15 systems, error rates negated; without TER against fluency,
    whose two figures are those of NIST in the text that was consulted. WMT 2007 (table 2): Spearman with ranks given by
    people, the mean over three languages into English, News and Europarl.
    """
    ntcir7 = published_table("isozaki10-ntcir7").to_dict("index")
    wmt07 = published_table("isozaki10-wmt07").mean(axis=1).to_dict()
    published_kind = kind if kind == "fluency" else "adequacy"
    figures = {f"published NTCIR-7 {published_kind}": ntcir7[title][f"{published_kind} {correlation}"]}
    if kind == PREFERENCES and correlation == "Spearman":
        figures["published WMT07"] = wmt07.get(title)
    return figures
