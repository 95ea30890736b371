"""How often people agree with a difference between two systems: `python bench/agreement_curve.py` makes the curves.

Writes ``data/agreement.json``, which `ranker systems` reads. For each metric or model it takes all pairs of systems
that people judged, the difference ``d`` of their scores, and whether people's scores order them alike. The share that
agrees is ``1 / (1 + exp(-slope d^(2/3)))``, one half at 0, fitted by maximum likelihood with equal weight for every
language pair; its interval is from a bootstrap of language pairs and of the systems in each. The table has the log
loss of this form and of others on corpora that were left out, the agreement expected and found there, and the coverage
of the intervals in simulations. Models are measured neither on what they were trained on nor on wmt15, their last
test. The curves of --names are replaced in the file, and others stay.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from bench.common import ROOT, drawn_sources, locate, run_main, say, table
from bench.included import MODELS as INCLUDED
from ranker.arrays import FloatArray
from ranker.corpora import catalogue
from ranker.corpora.languages import LanguagePair
from ranker.evaluation.systems.human_ranking import rank_systems
from ranker.evaluation.systems.levels import Units
from ranker.evaluation.systems.people import EXPONENT
from ranker.ranking.ranker import Ranker
from ranker.ranking.scorers import make_scorer, sign_of, systems_scorer
from ranker.ranks import merge_ties

RECENT = ("wmt19-darr", "ted21-mqm", "wmt21-mqm")
METRICS = ("bleu", "chrf", "ter")
MODELS = ("full", "full-lexical", "full-any")
LEFT_OUT = {"wmt19-darr": "wmt19-darr", "ted21-mqm": "mqm21", "wmt21-mqm": "mqm21"}
"""Rankers that have not learnt from these corpora are made by `bench/included.py MODEL --left-out FOLDER/MODEL`."""
Group = tuple[str, FloatArray, FloatArray, str]
"""The systems of a language pair: the corpus, their scores and people's, higher is better, and the target language."""
Curve = Callable[[FloatArray], FloatArray]
Pairs = tuple[FloatArray, FloatArray, FloatArray]
"""Difference, agreement (one half where people tie) and weight of pairs of systems."""


def groups_of(name: str, most: int, left_out: Path) -> list[Group]:
    """Score the systems that people judged, by models on at most `most` sources of every language pair."""
    groups, is_model = [], name in MODELS
    for corpus in RECENT if is_model else ("wmt12", "wmt13", "wmt14", "wmt15", *RECENT):
        say(f"{name}: {corpus}")
        model = left_out / name / f"{LEFT_OUT[corpus]}.model" if name in INCLUDED else name
        scorer = systems_scorer(make_scorer(None, model) if is_model else make_scorer(name, None))
        dataset = catalogue.load(locate(corpus))
        people = {
            (each.lp, one.system): one.score for each in rank_systems(dataset, resamples=2) for one in each.systems
        }
        if is_model:
            pairs = dataset.source_language_pairs
            among = np.array([name == "full-any" or lp.endswith("-en") for lp in pairs])
            dataset = dataset.select_sources(drawn_sources(dataset, among, most))
        keys = zip(dataset.source_language_pairs[dataset.candidate_source], dataset.candidates["system"], strict=True)
        dataset = dataset.select_candidates(np.array([key in people for key in keys]))
        units = Units.of(dataset, "system")
        scores = sign_of(scorer) * units.score(scorer, scorer.statistics(dataset))
        judged = np.array([people[key] for key in zip(units.keys["lp"], units.keys["system"], strict=True)])
        for lp in units.keys["lp"].unique():
            inside = (units.keys["lp"] == lp).to_numpy()
            groups.append((corpus, scores[inside], merge_ties(judged[inside]), LanguagePair(lp).target or ""))
    return groups


def pairs_of(groups: list[Group], generator: np.random.Generator | None = None) -> Pairs:
    """Return all pairs of systems; with a generator, of language pairs and systems that are drawn."""
    parts = []
    for place in range(len(groups)) if generator is None else generator.integers(len(groups), size=len(groups)):
        scores, people = groups[place][1:3]
        size = len(scores)
        count = np.ones(size) if generator is None else np.bincount(generator.integers(size, size=size), minlength=size)
        first, second = np.triu_indices(size, 1)
        weight = count[first] * count[second]
        apart = scores[first] - scores[second]
        agree = (1 + np.sign(apart) * np.sign(people[first] - people[second])) / 2
        parts.append((np.abs(apart), agree, weight / max(weight.sum(), 1.0)))
    difference, agree, weight = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return difference, agree, weight


def fit(pairs: Pairs, exponent: float = EXPONENT) -> float:
    """Return the slope."""
    difference, agree, weight = pairs
    powers = difference**exponent
    unit = float(np.average(powers, weights=weight))

    def loss(log_slope: float) -> float:
        margin = np.exp(log_slope) / unit * powers
        return float(weight @ (np.logaddexp(0, -margin) + (1 - agree) * margin))

    return float(np.exp(minimize_scalar(loss, bounds=(-9, 4), method="bounded").x)) / unit


def curve(pairs: Pairs, exponent: float = EXPONENT) -> Curve:
    """Fit the curve."""
    slope = fit(pairs, exponent)
    return lambda values: expit(slope * values**exponent)


FORMS: dict[str, Callable[[Pairs], Curve]] = {
    "exponent 2/3": curve,
    "exponent 1": lambda pairs: curve(pairs, 1.0),
    "isotonic": lambda pairs: IsotonicRegression(y_min=0.5, out_of_bounds="clip").fit(*pairs).predict,
    "constant": lambda pairs: lambda values: np.full(len(values), np.average(pairs[1], weights=pairs[2])),
}


def left_out(groups: list[Group]) -> list[str]:
    """Return the log loss in bits of every form on corpora left out, and expected and found agreement by thirds."""
    parts = []
    for corpus in dict.fromkeys(group[0] for group in groups):
        inside = pairs_of([group for group in groups if group[0] == corpus])
        others = pairs_of([group for group in groups if group[0] != corpus])
        parts.append([*inside[1:], *(form(others)(inside[0]) for form in FORMS.values())])
    agree, weight, *shares = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    cells = []
    for share in np.clip(shares, 0.01, 0.99):
        loss = agree * np.log2(share) + (1 - agree) * np.log2(1 - share)
        cells.append(f"{-np.average(loss, weights=weight):.3f}")
    third = np.searchsorted(np.quantile(shares[0], [1 / 3, 2 / 3]), shares[0])
    for part in (third == number for number in range(3)):
        expected, found = (np.average(values[part], weights=weight[part]) for values in (shares[0], agree))
        cells.append(f"{expected:.2f} / {found:.2f}")
    return cells


def interval(groups: list[Group], resamples: int, seed: int) -> FloatArray:
    """Return the ends of the interval of the slope."""
    generator = np.random.default_rng(seed)
    sample = [fit(pairs_of(groups, generator)) for _ in range(resamples)]
    return np.percentile(sample, [2.5, 97.5])


def coverage(groups: list[Group], simulations: int, resamples: int) -> float:
    """Return how often the interval holds the true slope for new language pairs like those of the data.

    People's scores of a language pair are its metric's times a slope plus noise, both as in one of the language pairs.
    """
    lines = [np.polyfit(scores, people, 1) for _, scores, people, _ in groups]
    noise = [
        np.std(people - np.polyval(line, scores)) for line, (_, scores, people, _) in zip(lines, groups, strict=True)
    ]

    def simulated(generator: np.random.Generator, count: int) -> list[Group]:
        made = []
        for place in generator.integers(len(groups), size=count):
            scores = groups[place][1]
            made.append(("", scores, lines[place][0] * scores + generator.normal(0, noise[place], len(scores)), ""))
        return made

    truth = fit(pairs_of(simulated(np.random.default_rng(1), 2000)))
    held = 0
    for number in range(simulations):
        low, high = interval(simulated(np.random.default_rng([2, number]), len(groups)), resamples, number)
        held += low <= truth <= high
    return held / simulations


def main() -> None:
    """Write the curves, and print how good they are."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--names", nargs="+", default=[*METRICS, *MODELS])
    parser.add_argument("--sources", type=int, default=300, help="of every language pair, for models")
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--simulations", type=int, default=100)
    parser.add_argument("--output", type=Path, default=ROOT / "data" / "agreement.json")
    parser.add_argument("--left-out", type=Path, default=Path("left-out"), help="folder with a folder for every model")
    options = parser.parse_args()
    curves, rows = json.loads(options.output.read_text(encoding="utf-8")), []
    for name in options.names:
        groups = groups_of(name, options.sources, options.left_out)
        pairs = pairs_of(groups)
        corpora = ", ".join(dict.fromkeys(group[0] for group in groups))
        figures = [fit(pairs), *interval(groups, options.resamples, 0), np.quantile(pairs[0], 0.95)]
        slope, low, high, largest = (float(f"{figure:.4g}") for figure in figures)
        curves[name] = {
            "model": Ranker.load(name).digest[:8] if name in MODELS else None,
            "data": f"{len(pairs[0]):,} pairs of systems, {len(groups)} language pairs of {corpora}",
            "targets": sorted({group[3] for group in groups}),
            **{"slope": slope, "low": low, "high": high, "largest": largest},
        }
        rows.append([name, *left_out(groups), f"{coverage(groups, options.simulations, 100):.2f}"])
    options.output.write_text(json.dumps(curves, indent=1) + "\n", encoding="utf-8")
    print("\n".join(table(["", *FORMS, "least, expected / found", "middle", "most", "coverage"], rows)))


if __name__ == "__main__":
    run_main(main)
