"""The experiments of Birch and Osborne (2011): LRscore, its parameter theta, and consistency with people."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ranker.apps.experiments import birch11_mert
from ranker.apps.experiments.aligners import WordAligner, language_pairs_of, with_spaces
from ranker.apps.experiments.aligners import table as aligner_table
from ranker.apps.experiments.birch11_baselines import (
    REORDERING,
    SENTENCE_BLEU,
    consistency_table,
    meteor_note,
    shared_pairs,
)
from ranker.apps.experiments.birch11_baselines import baselines as notations
from ranker.apps.experiments.settings import Settings
from ranker.apps.experiments.tables import Plan, Table, TableTask
from ranker.apps.experiments.tuned_choices import tuning_signed
from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.pharaoh import attach_all
from ranker.corpora.judgements import (
    PREFERENCES,
    Judged,
    PreferencePairs,
    resolve_kind,
)
from ranker.corpora.selection import select_language_pairs
from ranker.errors import DataError, log_note
from ranker.evaluation.correlation.segment import tau_counts
from ranker.extractors.base import fitted_on
from ranker.extractors.order.lrscore import Distance, LRscore
from ranker.extractors.order.source_orders import bilingual_orders
from ranker.extractors.registry import make_metric
from ranker.ranks import merge_ties

DISTANCES: dict[str, Distance] = {"H": "hamming", "K": "kendall_sqrt"}
VARIANTS = {
    f"LR-{letter}B{order}": (letter, lexical)
    for letter in DISTANCES
    for order, lexical in (("1", "BLEU1"), ("4", "BLEU"))
}
"""Letter of the distance and name of the lexical score for every variant of LRscore."""
_STEPS = (0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.001)


@dataclass(frozen=True, eq=False)
class ScoredPair:
    """One language pair of a corpus: sentence scores of the candidates, and human preferences."""

    name: str
    monotonicity: float
    offsets: Int64Array
    pairs: PreferencePairs
    baselines: dict[str, FloatArray]
    order: dict[str, FloatArray]
    aligner: WordAligner

    def consistency(self, scores: FloatArray) -> float:
        """Return the proportion of strict preferences that the scores agree with; tied scores do not agree."""
        concordant, discordant, tied = tau_counts(
            merge_ties(scores, self.offsets), self.pairs, np.zeros(len(scores), dtype=int), 1
        )[0]
        return float(concordant / (concordant + discordant + tied))

    def lrscore(self, variant: str, theta: float) -> FloatArray:
        """Return the LRscore of every candidate with alpha = theta^monotonicity (equation 4)."""
        letter, lexical = VARIANTS[variant]
        alpha = theta**self.monotonicity
        return np.asarray(alpha * self.order[letter] + (1 - alpha) * self.baselines[lexical])


def plan(train: Dataset, tests: Sequence[Dataset], settings: Settings) -> Plan:
    """Plan the paper's tables for this data, each as a separate task."""
    used = [resolve_kind(dataset) for dataset in (train, *tests)]
    settings.aligners.check([train, *tests])
    learnt_on = functools.cache(lambda: prepare(train, settings))

    def climb() -> dict[str, float]:
        return {variant: _climb(_objective(learnt_on(), variant), settings) for variant in VARIANTS}

    theta = functools.cache(climb)
    title = f"theta, trained on {train.name}"
    tasks = [TableTask(title, lambda: [_theta_table(title, learnt_on(), theta())])]
    if tests:
        tasks.append(_aligner_task(train.name, learnt_on))
    for dataset in tests or [train]:
        prepared = functools.cache(partial(prepare, dataset, settings)) if tests else learnt_on
        tasks += _tasks(dataset, prepared, theta, in_sample=not tests)
        if settings.mert:
            tasks.append(birch11_mert.task(dataset, theta, settings))
    baselines = {text for pair in language_pairs_of([train, *tests]) for text in notations(pair).values()}
    parts: dict[str, object] = {
        "train": f"{train.name}#{train.fingerprint[:8]}",
        "test": ",".join(f"{test.name}#{test.fingerprint[:8]}" for test in tests) or None,
        "kind": None if set(used) == {PREFERENCES} else ",".join(used),
        "lexical": "+".join(SENTENCE_BLEU.values()),
        "baselines": "+".join(sorted(make_metric(name).signature() for name in baselines - {*SENTENCE_BLEU.values()})),
        "aligner": settings.aligners.signed([train, *tests]),
        "tokenizer": "13a" if all(with_spaces(dataset) is dataset for dataset in (train, *tests)) else "any",
        "restarts": settings.restarts,
        "seed": settings.seed,
    }
    if settings.mert:
        parts.update({f"mert {key}": value for key, value in tuning_signed(settings).items()})
    return Plan.of("birch11", tasks, parts)


def prepare(dataset: Dataset, settings: Settings) -> list[ScoredPair]:
    """Return each language pair, with aligned words, the components of LRscore, and the scores of the baselines."""
    people = Judged.of(dataset)
    outputs, kind = people.dataset, people.kind
    filled = (outputs.sources["text"].str.strip() != "").to_numpy(bool)
    outputs = with_spaces(outputs.select_sources(filled & (np.diff(outputs.candidate_offsets) > 0)))
    parts = {name: select_language_pairs(outputs, [name]) for name in outputs.language_pairs}
    ordered = [name for name, part in parts.items() if len(Judged(part, kind).pairs.better)]
    if not ordered:
        what = f"judgements of kind {kind!r} do not order any two candidates of a source: give other judgements"
        raise DataError(what, file=dataset.name)
    if unordered := [name for name in parts if name not in ordered]:
        log_note(f"leaving out {', '.join(unordered)}, whose judgements order no two candidates", dataset.name)
    return [_language_pair(parts[name], name, kind, settings) for name in ordered]


def _language_pair(dataset: Dataset, name: str, kind: str, settings: Settings) -> ScoredPair:
    aligner = settings.aligners.aligner(dataset, name)
    aligned = attach_all(dataset, aligner.align(dataset))
    order = {}
    for letter, distance in DISTANCES.items():
        metric = LRscore(distance=distance, alpha=1.0)
        order[letter] = metric.transform(aligned)[:, 0]
    baselines = {}
    for title, text in notations(name).items():
        baseline = make_metric(text)
        scores = fitted_on(baseline, dataset).transform(dataset)[:, 0]
        baselines[title] = scores if baseline.higher_is_better else -scores
    return ScoredPair(
        name,
        bilingual_orders(aligned).monotonicity(aligned)[name],
        dataset.candidate_offsets,
        Judged(dataset, kind).pairs,
        baselines,
        order,
        aligner,
    )


def _objective(corpus: list[ScoredPair], variant: str) -> Callable[[float], float]:
    def mean_consistency(theta: float) -> float:
        return float(np.mean([part.consistency(part.lrscore(variant, theta)) for part in corpus]))

    return mean_consistency


def _climb(objective: Callable[[float], float], settings: Settings) -> float:
    """Return the best theta in [0, 1] found by hill climbing with random restarts; the first if several are equal."""
    generator = np.random.default_rng(settings.seed)
    best, best_value = 0.0, -1.0
    for start in generator.random(settings.restarts):
        theta, value = float(start), objective(float(start))
        for step in _STEPS:
            while True:
                neighbours = [min(1.0, theta + step), max(0.0, theta - step)]
                values = [objective(neighbour) for neighbour in neighbours]
                if max(values) <= value:
                    break
                value = max(values)
                theta = neighbours[values.index(value)]
        if value > best_value:
            best, best_value = theta, value
    return best


def _theta_table(title: str, corpus: list[ScoredPair], theta: dict[str, float]) -> Table:
    rows = [
        {
            "variant": variant,
            "theta": value,
            "mean consistency in training": _objective(corpus, variant)(value),
        }
        for variant, value in theta.items()
    ]
    return Table(title, tuple(rows))


def _tasks(
    dataset: Dataset, corpus: Callable[[], list[ScoredPair]], theta: Callable[[], dict[str, float]], *, in_sample: bool
) -> list[TableTask]:
    name, language_pairs = dataset.name, tuple(language_pairs_of([dataset]))
    first, second = f"reordering and alpha, {name}", f"consistency with human preferences, {name}"
    tasks = [
        _aligner_task(name, corpus),
        TableTask(first, lambda: [_reordering_table(first, corpus(), theta())]),
        TableTask(
            second,
            lambda: [_consistency_table(second, corpus(), theta(), resolve_kind(dataset), in_sample=in_sample)],
        ),
    ]
    if shared_pairs(language_pairs):
        tasks.append(TableTask(f"consistency as published, {name}", lambda: [consistency_table(name, language_pairs)]))
    return tasks


def _aligner_task(name: str, corpus: Callable[[], list[ScoredPair]]) -> TableTask:
    return TableTask(
        f"word aligners, {name}", lambda: [aligner_table(name, [part.aligner.row(part.name) for part in corpus()])]
    )


def _reordering_table(title: str, corpus: list[ScoredPair], theta: dict[str, float]) -> Table:
    reordering = []
    for part in corpus:
        row: dict[str, Any] = {"language pair": part.name, "d_k to the source order": part.monotonicity}
        row.update({f"alpha {variant}": value**part.monotonicity for variant, value in theta.items()})
        row["published d_k"] = REORDERING.get(part.name)
        reordering.append(row)
    return Table(title, tuple(reordering), "The lower d_k, the more reordering.")


def _consistency_table(
    table_title: str, corpus: list[ScoredPair], theta: dict[str, float], kind: str, *, in_sample: bool
) -> Table:
    titles = [title for title in corpus[0].baselines if all(title in part.baselines for part in corpus)]
    names = [part.name for part in corpus]
    published = [names.index(pair) for pair in shared_pairs(tuple(names))]
    rows = []
    for title in (*titles, *VARIANTS):
        scores = [part.lrscore(title, theta[title]) if title in VARIANTS else part.baselines[title] for part in corpus]
        values = [part.consistency(score) for part, score in zip(corpus, scores, strict=True)]
        row = {"metric": title, **dict(zip(names, values, strict=True)), "average": float(np.mean(values))}
        if 0 < len(published) < len(names):
            row[f"average of {', '.join(names[at] for at in published)}"] = float(
                np.mean([values[at] for at in published])
            )
        rows.append(row)
    pairs = sum(len(part.pairs.better) for part in corpus)
    preferences = "strict preferences" if kind == PREFERENCES else f"pairs of outputs with different {kind}"
    note = f"{pairs:,} {preferences}; a tie of the metric does not agree. {meteor_note(names)}"
    if in_sample:
        note += " Theta was trained on the same preferences."
    return Table(table_title, tuple(rows), note)
