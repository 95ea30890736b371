"""The experiments of Birch and Osborne (2011): LRscore, its parameter theta, and consistency with people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import PREFERENCES, PreferencePairs, judged, preference_pairs, resolve_kind
from ranker.evaluation.segment import tau_counts
from ranker.experiments import birch11_mert
from ranker.experiments.plan import Once, Plan, Task
from ranker.experiments.tables import Experiment, Table
from ranker.experiments.tuned_choices import TuningSettings
from ranker.extractors import registry
from ranker.extractors.bilingual_orders import aligned_batch
from ranker.extractors.lrscore import LRscore
from ranker.extractors.tokens import token_batch
from ranker.extractors.word_alignment import align_dataset, learn_aligner
from ranker.learning.grouped import merge_ties
from ranker.version import VERSION

FloatArray = npt.NDArray[np.float64]
TERCOM = "ter[search=tercom,tokenizer=13a]"
LEXICAL = {"1": "bleu[order=1,smoothing=add-one]", "4": "bleu[smoothing=add-one]"}
DISTANCES = {"H": "hamming", "K": "kendall_sqrt"}
VARIANTS = {f"LR-{letter}B{order}": (letter, order) for letter in DISTANCES for order in LEXICAL}
PUBLISHED_CONSISTENCY = {
    "BLEU1": 0.556,
    "BLEU": 0.571,
    "TER": 0.507,
    "LR-HB1": 0.575,
    "LR-HB4": 0.579,
    "LR-KB1": 0.575,
    "LR-KB4": 0.587,
}
PUBLISHED_REORDERING = {"de-en": 0.739, "es-en": 0.805, "fr-en": 0.804, "cs-en": 0.811, "zh-en": 0.661}
_STEPS = (0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.001)


@dataclass(frozen=True)
class Settings:
    """What the experiment depends on besides the data.

    Parameters
    ----------
    restarts : int, default 20
        Random starts of the hill climbing.
    seed : int, default 0
    learn_from_candidates : bool, default False
        Train the aligner on the candidates too, not only on the references.
    mert : TuningSettings, optional
        Tune the choice among outputs to BLEU and LRscore too, with these settings.
    """

    restarts: int = 20
    seed: int = 0
    learn_from_candidates: bool = False
    mert: TuningSettings | None = None


@dataclass(frozen=True, eq=False)
class LanguagePair:
    """One language pair of a corpus: sentence scores of the candidates, and what people preferred.

    Parameters
    ----------
    name : str
    monotonicity : float
        Mean d_k between references and source order, the paper's amount of reordering.
    offsets : int array, shape (sources + 1,)
        Block of candidates of every source.
    pairs : PreferencePairs
    lexical : dict of float array, shape (candidates,)
        BLEU of order 1 and 4.
    order : dict of float array, shape (candidates,)
        Distance times brevity penalty, Hamming (H) and Kendall (K).
    ter : float array, shape (candidates,), or None
        Negated TER, where that metric is available.
    """

    name: str
    monotonicity: float
    offsets: npt.NDArray[np.int64]
    pairs: PreferencePairs
    lexical: dict[str, FloatArray]
    order: dict[str, FloatArray]
    ter: FloatArray | None

    def consistency(self, scores: FloatArray) -> float:
        """Return the share of strict preferences that the scores agree with; a tie does not agree."""
        concordant, discordant, tied = tau_counts(
            merge_ties(scores, self.offsets), self.pairs, np.zeros(len(scores), dtype=int), 1
        )[0]
        return float(concordant / (concordant + discordant + tied))

    def lrscore(self, variant: str, theta: float) -> FloatArray:
        """Return LRscore of every candidate with alpha = theta^monotonicity (equation 4)."""
        letter, order = VARIANTS[variant]
        alpha = theta**self.monotonicity
        return np.asarray(alpha * self.order[letter] + (1 - alpha) * self.lexical[order])


def run(train: Dataset, tests: Sequence[Dataset], settings: Settings = Settings()) -> Experiment:
    """Train theta on one corpus and compare metrics with preferences on others.

    Parameters
    ----------
    train : Dataset
        With preferences; primary rows count.
    tests : sequence of Dataset
        If empty, consistency is that on `train` itself, which says so.
    settings : Settings

    Returns
    -------
    Experiment
        Amount of reordering and alpha per language pair, theta per variant, and consistency per language pair and
        metric; with `Settings.mert` the tables of `ranker.experiments.birch11_mert` too.

    Raises
    ------
    DataError
        If there are no preferences, or a text cannot be aligned.
    """
    return plan(train, tests, settings).run()


def plan(train: Dataset, tests: Sequence[Dataset], settings: Settings = Settings()) -> Plan:
    """Return the tables that `run` makes, to be made one by one.

    Raises
    ------
    DataError
        If there are no preferences.
    """
    for dataset in (train, *tests):
        resolve_kind(dataset, PREFERENCES)
    learnt_on = Once(lambda: prepare(train, settings))

    def climb() -> dict[str, float]:
        return {variant: _climb(_objective(learnt_on(), variant), settings) for variant in VARIANTS}

    theta = Once(climb)
    title = f"theta, trained on {train.name}"
    tasks = [Task(title, lambda: [_theta_table(title, learnt_on(), theta())])]
    for dataset in tests or [train]:
        prepared = Once(partial(prepare, dataset, settings)) if tests else learnt_on
        tasks += _tasks(dataset.name, prepared, theta, in_sample=not tests)
        if settings.mert is not None:
            tasks.append(birch11_mert.task(dataset, theta, settings.mert))
    parts: dict[str, object] = {
        "ranker": VERSION,
        "experiment": "birch11",
        "train": f"{train.name}#{train.fingerprint[:8]}",
        "test": ",".join(f"{test.name}#{test.fingerprint[:8]}" for test in tests) or None,
        "lexical": "+".join(LEXICAL.values()),
        "aligner": "references+candidates" if settings.learn_from_candidates else "references",
        "tokenizer": "13a",
        "restarts": settings.restarts,
        "seed": settings.seed,
    }
    if settings.mert is not None:
        parts.update({f"mert {key}": value for key, value in birch11_mert.signed(settings.mert).items()})
    signature = "|".join(f"{key}:{value}" for key, value in parts.items() if value is not None)
    return Plan("birch11", tuple(tasks), signature)


def prepare(dataset: Dataset, settings: Settings) -> list[LanguagePair]:
    """Align every language pair and compute what the scores are made of."""
    resolve_kind(dataset, PREFERENCES)
    kept = dataset.select_candidates(judged(dataset, PREFERENCES))
    filled = (kept.sources["text"].str.strip() != "").to_numpy(bool)
    kept = kept.select_sources(filled & (np.diff(kept.candidate_offsets) > 0))
    return [_language_pair(kept.select_language_pairs([name]), name, settings) for name in kept.language_pairs]


def _language_pair(dataset: Dataset, name: str, settings: Settings) -> LanguagePair:
    model = learn_aligner(dataset, candidates=settings.learn_from_candidates)
    links = align_dataset(model, dataset)
    batch = token_batch(dataset)
    with_orders = aligned_batch(batch, links.candidates, links.references, batch.sources.lengths)
    order = {}
    for letter, distance in DISTANCES.items():
        metric = LRscore(distance=distance, alpha=1.0)  # type: ignore[arg-type]
        order[letter] = metric.score(metric.statistics(with_orders))
    ter = -registry.make(TERCOM).transform(dataset)[:, 0] if "ter" in registry.BUILT_IN else None
    return LanguagePair(
        name,
        float(with_orders.monotonicity()[0]),
        dataset.candidate_offsets,
        preference_pairs(dataset),
        {key: registry.make(text).transform(dataset)[:, 0] for key, text in LEXICAL.items()},
        order,
        ter,
    )


def _objective(corpus: list[LanguagePair], variant: str) -> Callable[[float], float]:
    def mean_consistency(theta: float) -> float:
        return float(np.mean([one.consistency(one.lrscore(variant, theta)) for one in corpus]))

    return mean_consistency


def _climb(objective: Callable[[float], float], settings: Settings) -> float:
    """Return the best theta in [0, 1] of hill climbing with random restarts, of equal ones the first found."""
    generator = np.random.default_rng(settings.seed)
    best, best_value = 0.0, -1.0
    for start in generator.random(settings.restarts):
        theta, value = float(start), objective(float(start))
        for step in _STEPS:
            while True:
                neighbours = [min(1.0, theta + step), max(0.0, theta - step)]
                values = [objective(one) for one in neighbours]
                if max(values) <= value:
                    break
                value = max(values)
                theta = neighbours[values.index(value)]
        if value > best_value:
            best, best_value = theta, value
    return best


def _theta_table(title: str, corpus: list[LanguagePair], theta: dict[str, float]) -> Table:
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
    name: str, corpus: Once[list[LanguagePair]], theta: Once[dict[str, float]], *, in_sample: bool
) -> list[Task]:
    first, second = f"reordering and alpha, {name}", f"consistency with human preferences, {name}"
    return [
        Task(first, lambda: [_reordering_table(first, corpus(), theta())]),
        Task(second, lambda: [_consistency_table(second, corpus(), theta(), in_sample=in_sample)]),
    ]


def _reordering_table(title: str, corpus: list[LanguagePair], theta: dict[str, float]) -> Table:
    reordering = []
    for one in corpus:
        row: dict[str, Any] = {"language pair": one.name, "d_k to the source order": one.monotonicity}
        row.update({f"alpha {variant}": value**one.monotonicity for variant, value in theta.items()})
        row["published d_k"] = PUBLISHED_REORDERING.get(one.name)
        reordering.append(row)
    return Table(title, tuple(reordering), "The lower d_k, the more reordering.")


def _consistency_table(
    table_title: str, corpus: list[LanguagePair], theta: dict[str, float], *, in_sample: bool
) -> Table:
    scorers: dict[str, Callable[[LanguagePair], FloatArray | None]] = {
        "BLEU1": lambda one: one.lexical["1"],
        "BLEU": lambda one: one.lexical["4"],
        "TER": lambda one: one.ter,
        **{
            variant: lambda one, variant=variant: one.lrscore(variant, theta[variant])  # type: ignore[misc]
            for variant in VARIANTS
        },
    }
    rows = []
    for title, scorer in scorers.items():
        scores = [scorer(one) for one in corpus]
        values = [one.consistency(found) for one, found in zip(corpus, scores, strict=True) if found is not None]
        if len(values) == len(corpus):
            row = {"metric": title, **{one.name: value for one, value in zip(corpus, values, strict=True)}}
            rows.append({**row, "average": float(np.mean(values)), "published (WMT09)": PUBLISHED_CONSISTENCY[title]})
    pairs = sum(len(one.pairs.better) for one in corpus)
    note = f"{pairs:,} strict preferences; a tie of the metric does not agree."
    if in_sample:
        note += " Theta was trained on the same preferences."
    return Table(table_title, tuple(rows), note)
