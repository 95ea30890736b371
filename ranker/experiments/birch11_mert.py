"""Table 5 of Birch and Osborne (2011): choices tuned to BLEU and to LRscore."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

from ranker.corpora.dataset import Dataset
from ranker.evaluation.significance import sign_test
from ranker.experiments.choice_comparison import People, compare_all, people_judged
from ranker.experiments.plan import Task
from ranker.experiments.tables import Marked, Table
from ranker.experiments.tuned_choices import TuningSettings, language_pairs, tune
from ranker.extractors.base import Metric
from ranker.extractors.registry import make_metric
from ranker.progress import report

IndexArray = npt.NDArray[np.int64]
PUBLISHED = {
    "BLEU": (0.311, 0.321, 0.410, 0.607, 0.555),
    "LR-HB4": (0.311, 0.322, 0.413, 0.606, 0.557),
    "LR-KB4": (0.310, 0.322, 0.412, 0.610, 0.558),
}
"""Scores by BLEU, LR-HB4, LR-KB4, TER and METEOR of what was tuned to each of the first three (table 5)."""
PUBLISHED_PREFERENCES = {"LR-HB4": (93, 79), "LR-KB4": (96, 79)}
"""How often people preferred the output tuned to LRscore, and that tuned to BLEU (table 6)."""


def metrics(theta: Mapping[str, float]) -> dict[str, Metric]:
    """Return what the table scores by, the first three of which are tuned to.

    Parameters
    ----------
    theta : mapping of str to float
        Of ``LR-HB4`` and ``LR-KB4``.
    """
    lrscore = "lrscore[distance={},theta={!r}]"
    return {
        "BLEU": make_metric("bleu[smoothing=epsilon]"),
        "LR-HB4": make_metric(lrscore.format("hamming", theta["LR-HB4"])),
        "LR-KB4": make_metric(lrscore.format("kendall_sqrt", theta["LR-KB4"])),
        "TER": make_metric("ter[search=tercom,tokenizer=13a]"),
        "METEOR": make_metric("meteor"),
    }


def signed(settings: TuningSettings) -> dict[str, object]:
    """Return what of the tuning belongs into a signature; METEOR scores by the WordNet that is installed."""
    return {**settings.signed(), "meteor": make_metric("meteor").signature()}


def task(dataset: Dataset, theta: Callable[[], Mapping[str, float]], settings: TuningSettings) -> Task:
    """Return the making of `tables` with the values of theta that `theta` returns."""
    return Task(f"tuned choices, {dataset.name}", lambda: tables(dataset, theta(), settings))


def tables(dataset: Dataset, theta: Mapping[str, float], settings: TuningSettings) -> Iterator[Table]:
    """Tune to BLEU, LR-HB4 and LR-KB4 on half of the documents, and score the choices on both halves.

    Parameters
    ----------
    dataset : Dataset
    theta : mapping of str to float
        Of the variants of LRscore.
    settings : TuningSettings

    Yields
    ------
    Table
        Scores of both sides, means over runs, per language pair and over all; and preferences of people between what is
        tuned to LRscore and to BLEU (table 6), of the first run, on the test side.
    """
    scored = metrics(theta)
    pairs = language_pairs(dataset, settings, align=True)
    found = {side: np.zeros((len(pairs), len(PUBLISHED), len(scored))) for side in ("tuning", "test")}
    choices: list[list[IndexArray]] = []
    for number, pair in enumerate(pairs):
        choices.append([])
        for row, name in enumerate(PUBLISHED):
            weights = [tune(pair, scored[name], settings, run).weights for run in range(settings.runs)]
            for side, part in (("tuning", pair.tuning), ("test", pair.test)):
                chosen = [part.choose(one) for one in weights]
                found[side][number, row] = [np.mean([part.score(one, c) for c in chosen]) for one in scored.values()]
            choices[-1].append(chosen[0])
            report("metrics tuned to", number * len(PUBLISHED) + row + 1, len(pairs) * len(PUBLISHED))
    names = [pair.name for pair in pairs]
    for side, values in found.items():
        rows = [
            {"language pair": pair, "tuned to": name, **dict(zip(scored, map(Marked, line), strict=True))}
            for pair, block in zip([*names, "average"], [*values, values.mean(axis=0)], strict=True)
            for name, line in zip(PUBLISHED, block, strict=True)
        ]
        if side == "test":
            rows += [
                {
                    "language pair": "zh-en, published",
                    "tuned to": name,
                    **dict(zip(scored, map(Marked, line), strict=True)),
                }
                for name, line in PUBLISHED.items()
            ]
        yield Table(f"tuned choices, {side} side, {dataset.name}", tuple(rows), f"Means of {settings.runs} runs.")
    if people_judged(dataset):
        people = [People(pair.test.dataset) for pair in pairs]
        yield _preferences(people, choices, f"{dataset.name}, {', '.join(names)}")


def _preferences(people: list[People], choices: list[list[IndexArray]], over: str) -> Table:
    rows = []
    for index, name in enumerate(PUBLISHED):
        if name in PUBLISHED_PREFERENCES:
            one = compare_all(people, choices, index, 0)
            won, lost = PUBLISHED_PREFERENCES[name]
            rows.append(
                {
                    "tuned to": name,
                    "against": "BLEU",
                    "different": one.different,
                    "judged": one.judged,
                    "first preferred": one.share,
                    "p": one.p,
                    "published": won / (won + lost),
                    "p of the published": sign_test(won, won + lost),
                }
            )
    note = (
        "Test sides, first run: sources for which the choices differ, of these the ones for which people preferred "
        "one, the share that preferred the first, and an exact two-sided sign test."
    )
    return Table(f"preferences of people, {over}", tuple(rows), note)
