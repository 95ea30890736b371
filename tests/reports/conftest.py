from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest

from ranker import Ranker
from ranker.corpora.records import Candidate, Record, assemble
from ranker.corpora.schema import table
from ranker.corpora.selection import select_language_pairs
from ranker.evaluation.metrics.result import (
    Cell,
    ComparedMetric,
    Comparison,
    ComparisonSettings,
    PairwiseTests,
    Scope,
    Statistic,
)
from ranker.evaluation.systems.contrast.result import SystemContrast
from ranker.evaluation.systems.contrast.run import contrast
from ranker.evaluation.systems.run import compare_systems
from ranker.ranking.scorers import make_scorer
from ranker.reports.comparison_page import comparison_report
from ranker.reports.contrast_page import contrast_report
from ranker.reports.findings import RankerFindings, examine
from ranker.reports.ranker_page import ranker_report
from ranker.reports.systems_page import SystemsFindings, systems_report

FINDINGS = ["preferred_findings", "compared", "compared_systems", "contrasted"]
"""Fixtures with what the reports are made of."""
EVIL = '<script>document.title = "run"</script> & "quoted" <b>bold</b>'
WORDS = ["the", "a", "cat", "dog", "sat", "runs", "on", "under", "mat", "tree", "old", "new", "house", "sees", "green"]


def sentences(generator: np.random.Generator, count: int) -> list[str]:
    return [" ".join(generator.choice(WORDS, size=generator.integers(4, 9))) for _ in range(count)]


@pytest.fixture(scope="session")
def model(sample):
    return Ranker("bleu1-4", C=1.0, loss="hinge").fit(sample)


@pytest.fixture(scope="session")
def findings(model, sample):
    return examine(model, [sample], examples=3, resamples=50)


@pytest.fixture(scope="session")
def preferred():
    """Two language pairs of candidates with preferences; the first source is there to do harm."""
    generator = np.random.default_rng(7)
    records = []
    for index in range(40):
        reference, *others = sentences(generator, 4)
        candidates = [Candidate("A", reference)] + [
            Candidate(system, text) for system, text in zip("BCD", others, strict=True)
        ]
        if index == 0:
            candidates = [
                Candidate(f"{EVIL}{place}", f"{candidate.text} {EVIL}") for place, candidate in enumerate(candidates)
            ]
        records.append(Record(f"source {index}", [reference], candidates, lp="de-en" if index % 2 else "fr-en"))
    records[0] = dataclasses.replace(records[0], source=EVIL, references=[EVIL])
    data = assemble(records, EVIL)
    first, second, relation = [], [], []
    for start in data.candidate_offsets[:-1]:
        for _ in range(5):
            pair = generator.choice(4, size=2, replace=False)
            first.append(start + pair.min())
            second.append(start + pair.max())
            relation.append(generator.choice([">", "<", "="], p=[0.7, 0.2, 0.1]))
    columns = {"first": first, "second": second, "relation": relation, "primary": np.ones(len(first), dtype=bool)}
    return dataclasses.replace(data, preferences=table("preferences", columns))


@pytest.fixture(scope="session")
def preferred_findings(preferred):
    ranker = Ranker("bleu[order=1],bleu[order=2],chrf", C=0.1, loss="hinge", pairs="judgements").fit(preferred)
    return examine(ranker, [preferred, select_language_pairs(preferred, ["de-en"])], examples=20, resamples=50)


HOSTILE = [
    "<script>document.title='run'</script>",
    "\u202eevil\u2066",
    "escape\x1b[31m",
    "<img src=x onerror=document.title='run'>",
]


@pytest.fixture(scope="session")
def translated():
    """The outputs of four systems for two language pairs, judged; names and texts are there to do harm."""
    generator = np.random.default_rng(3)
    records = []
    for index in range(30):
        reference, other = sentences(generator, 2)
        texts = [reference, f"{other} {EVIL}", *sentences(generator, 2)]
        ratings = generator.permutation(4).tolist()
        candidates = [
            Candidate(name, text, [("fluency", None, float(rating))])
            for name, text, rating in zip(HOSTILE, texts, ratings, strict=True)
        ]
        source = EVIL if index == 1 else f"source {index} {'x' * 100_000 if index == 2 else ''}"
        records.append(
            Record(source, [reference, EVIL], candidates, lp="de-en" if index % 2 else "fr-en", doc=HOSTILE[index % 4])
        )
    return assemble(records, EVIL)


@pytest.fixture(scope="session")
def compared_systems(translated):
    scorers = {name: make_scorer(name, None) for name in ("ter", "bleu")}
    statistics = {name: scorer.statistics(translated) for name, scorer in scorers.items()}
    result = compare_systems(translated, scorers, resamples=40)
    return SystemsFindings.of(result, translated, scorers, statistics)


@pytest.fixture(scope="session")
def contrasted(translated):
    return contrast(translated, HOSTILE[0], HOSTILE[1], make_scorer("ter", None), parser="none", resamples=20)


def page_of(found):
    """Write the report of any findings."""
    if isinstance(found, SystemContrast):
        return contrast_report(found, f"ranker:0|{EVIL}")
    kinds = {Comparison: comparison_report, SystemsFindings: systems_report, RankerFindings: ranker_report}
    return kinds[type(found)](found)


@pytest.fixture(scope="session")
def pages(request):
    """Give the report of the findings in a fixture, written once however many tests look at it."""
    return functools.cache(lambda name: page_of(request.getfixturevalue(name)))


@pytest.fixture(scope="session")
def compared():
    """Three metrics on two language pairs; one figure is missing, and names are there to do harm."""
    names = [f"best {EVIL}", "middle", "undefined"]
    statistics = (
        Statistic("segment.tau", "segment", "tau", "Kendall's tau <of> segments.", -1, 1, 0, True),
        Statistic("system.r", "system", "Pearson", "Pearson's r of systems.", -1, 1, 0, False),
    )
    scopes = (
        Scope("d/de-en", "language-pair", "d de-en", "d", "de-en", (), "preferences", 10, 0, 0, 40, {"official": 9}),
        Scope("d/fr-en", "language-pair", "d fr-en", "d", "fr-en", (), "preferences", 12, 0, 0, 48, {}),
        Scope("d/mean", "mean", f"d mean {EVIL}", "d", "", ("d/de-en", "d/fr-en"), "preferences", 22, 0, 0, 88, {}),
    )
    nan = float("nan")
    figures = [(0.4, 0.3, 0.5, 1, 1), (0.2, 0.1, 0.3, 2, 2), (nan, nan, nan, 0, 0)]
    cells = [
        Cell(statistic.id, scope.id, name, *figure, 10, 1)
        for statistic in statistics
        for scope in scopes
        for name, figure in zip(names, figures, strict=True)
    ]
    p = ((1.0, 0.0123, nan), (0.0123, 1.0, nan), (nan, nan, 1.0))
    ahead = ((False, True, False), (False, False, False), (False, False, False))
    return Comparison(
        f"ranker:0|{EVIL}",
        ComparisonSettings("auto", 100, 0, 0.95, "bootstrap", "holm", 0.05),
        tuple(ComparedMetric(name, "metric", f"metric:{name}", (EVIL,)) for name in names),
        statistics,
        scopes,
        tuple(cells),
        tuple(PairwiseTests(statistic.id, "d/mean", "bootstrap", p, p, ahead) for statistic in statistics),
    )
