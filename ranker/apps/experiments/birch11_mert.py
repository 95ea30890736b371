"""Table 5 of Birch and Osborne (2011): choices tuned to BLEU and to LRscore."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from ranker.apps.experiments.aligners import table as aligner_table
from ranker.apps.experiments.birch11_baselines import BLEU, PREFERENCES, TER, TUNED, meteor_notation
from ranker.apps.experiments.choice_comparison import PREFERENCES_NOTE, People, compare_all, people_judged
from ranker.apps.experiments.settings import Settings
from ranker.apps.experiments.tables import Marked, Table, TableTask
from ranker.apps.experiments.tuned_choices import language_pairs, tune_and_score
from ranker.arrays import Int64Array
from ranker.corpora.dataset import Dataset
from ranker.evaluation.resampling.significance import sign_test
from ranker.extractors.base import Metric
from ranker.extractors.registry import make_metric


def metrics(theta: Mapping[str, float], language_pairs: Sequence[str]) -> dict[str, Metric]:
    """Return the metrics of table 5 by name; the first three also serve as tuning objectives."""
    lrscore = "lrscore[distance={},theta={!r},lexical=bleu[smoothing=add-one,tokenizer=13a]]"
    return {
        "BLEU": make_metric(BLEU),
        "LR-HB4": make_metric(lrscore.format("hamming", theta["LR-HB4"])),
        "LR-KB4": make_metric(lrscore.format("kendall_sqrt", theta["LR-KB4"])),
        "TER": make_metric(TER),
        "METEOR": make_metric(meteor_notation(language_pairs)),
    }


def task(dataset: Dataset, theta: Callable[[], Mapping[str, float]], settings: Settings) -> TableTask:
    """Return the task that computes the tables of tuned choices; the function `theta` is called only when it runs."""
    return TableTask(f"tuned choices, {dataset.name}", lambda: tables(dataset, theta(), settings))


def tables(dataset: Dataset, theta: Mapping[str, float], settings: Settings) -> Iterator[Table]:
    """Yield the tables of choices tuned to BLEU, LR-HB4 and LR-KB4 on half of the documents, scored on both halves."""
    pairs = language_pairs(dataset, settings, align=True)
    rows_of_aligners = [pair.aligner.row(pair.name) for pair in pairs if pair.aligner is not None]
    yield aligner_table(f"tuned choices of {dataset.name}", rows_of_aligners)
    scored = metrics(theta, [pair.name for pair in pairs])
    tuned_to = {name: scored[name] for name in TUNED}
    outcomes = [
        tune_and_score(pair, tuned_to, scored, settings, (number, len(pairs))) for number, pair in enumerate(pairs)
    ]
    names = [pair.name for pair in pairs]
    for side in ("tuning", "test"):
        values = np.array([outcome.scores[side].mean(axis=2) for outcome in outcomes])
        rows = [
            {"language pair": pair, "tuned to": name, **dict(zip(scored, map(Marked, line), strict=True))}
            for pair, block in zip([*names, "average"], [*values, values.mean(axis=0)], strict=True)
            for name, line in zip(TUNED, block, strict=True)
        ]
        if side == "test":
            rows += [
                {
                    "language pair": "zh-en, published",
                    "tuned to": name,
                    **dict(zip(scored, map(Marked, line), strict=True)),
                }
                for name, line in TUNED.items()
            ]
        yield Table(f"tuned choices, {side} side, {dataset.name}", tuple(rows), f"Means of {settings.runs} runs.")
    judged = [outcome for outcome in outcomes if people_judged(outcome.pair.test.dataset)]
    if judged:
        people = [People(outcome.pair.test.dataset) for outcome in judged]
        over = ", ".join(outcome.pair.name for outcome in judged)
        yield _preferences(people, [outcome.choices for outcome in judged], f"{dataset.name}, {over}")


def _preferences(people: list[People], choices: list[list[Int64Array]], over: str) -> Table:
    rows = []
    for index, name in enumerate(TUNED):
        if name in PREFERENCES:
            preference = compare_all(people, choices, index, 0)
            won, lost = PREFERENCES[name]
            published = {"published": won / (won + lost), "p of the published": sign_test(won, won + lost)}
            rows.append(preference.row(name, "BLEU") | published)
    return Table(f"preferences of people, {over}", tuple(rows), f"Test sides, {PREFERENCES_NOTE}")
