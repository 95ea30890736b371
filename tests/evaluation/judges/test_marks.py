"""Agreement on marked errors equals what is counted character by character, and careless raters are named."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranker import from_records, load_dataset
from ranker.corpora.dataset import Dataset
from ranker.corpora.selection import of_language_pairs
from ranker.errors import DataError
from ranker.evaluation.judges.marks import careless_raters, marks_agreement
from tests.effort import thorough

ORDER = {"neutral": 0, "minor": 1, "major": 2, "critical": 3}
TEXTS = ["ab cd", "🙂 e\u0301x", "abcde"]
Span = tuple[int, int, str]


def record(outputs: list[tuple[str, dict[str, list[Span]]]], number: int = 1, lp: str = "de-en") -> dict[str, Any]:
    return {
        "source": f"s{number}",
        "lp": lp,
        "seg_id": number,
        "candidates": [
            {
                "system": f"S{system}",
                "text": text,
                "raters": [*marked],
                "errors": [
                    {"start": start, "end": end, "severity": severity, "rater": rater}
                    for rater, spans in marked.items()
                    for start, end, severity in spans
                ],
            }
            for system, (text, marked) in enumerate(outputs)
        ],
    }


def ratings_of(dataset: Dataset) -> dict[tuple[int, str], dict[str, tuple[list[str], list[Span]]]]:
    """Labels of characters, and spans, of every first rating of an output by a rater."""
    items: dict[tuple[int, str], dict[str, tuple[list[str], list[Span]]]] = {}
    texts = dataset.candidates["text"].tolist()
    seen: dict[tuple[int, str], dict[str, int]] = {}
    for candidate, rows in dataset.errors.groupby("candidate"):
        source = int(dataset.candidate_source[candidate])
        key = (source, texts[candidate])
        for rater, own in rows.groupby("rater"):
            if seen.setdefault(key, {}).setdefault(rater, candidate) != candidate:
                continue
            placed = own[own["start"].notna() & (own["side"] == "target")]
            spans = [(int(a), int(b), c) for a, b, c in placed[["start", "end", "severity"]].itertuples(index=False)]
            labels = []
            for at in range(len(texts[candidate])):
                marks = [severity for start, end, severity in spans if start <= at < end]
                labels.append(max(marks, key=lambda name: ORDER[name]) if marks else "")
            items.setdefault(key, {})[rater] = labels, spans
    return items


def by_hand(dataset: Dataset) -> dict[str, float]:
    credit = marked = Fraction(0)
    coincidences: dict[tuple[str, str], Fraction] = {}
    severities: dict[tuple[str, str], int] = {}
    for ratings in ratings_of(dataset).values():
        for (one, spans), (other, spans2) in itertools.combinations(ratings.values(), 2):
            for a, b in zip(one, other, strict=True):
                marked += bool(a) + bool(b)
                credit += (Fraction(1) if a == b else Fraction(1, 2)) if a and b else 0
            for (s, e, a), (s2, e2, b) in itertools.product(spans, spans2):
                if set(range(s, e)) & set(range(s2, e2)):
                    severities[a, b] = severities.get((a, b), 0) + 1
                    severities[b, a] = severities.get((b, a), 0) + 1
        if len(ratings) > 1:
            for values in zip(*(labels for labels, _ in ratings.values()), strict=True):
                for a, b in itertools.permutations(values, 2):
                    coincidences[a, b] = coincidences.get((a, b), Fraction(0)) + Fraction(1, len(values) - 1)
    return {
        "character F1": float(2 * credit / marked) if marked else math.nan,
        "krippendorff alpha": _alpha(coincidences),
        "severity kappa": _kappa(severities),
    }


def _alpha(coincidences: dict[tuple[str, str], Fraction]) -> float:
    total = sum(coincidences.values(), Fraction(0))
    sums: dict[str, Fraction] = {}
    for (a, _), value in coincidences.items():
        sums[a] = sums.get(a, Fraction(0)) + value
    observed = sum((value for (a, b), value in coincidences.items() if a != b), Fraction(0))
    expected = sum((sums[a] * sums[b] for a in sums for b in sums if a != b), Fraction(0))
    return float(1 - (total - 1) * observed / expected) if expected else math.nan


def _kappa(counts: dict[tuple[str, str], int]) -> float:
    total = sum(counts.values())
    if not total:
        return math.nan
    names = {a for a, _ in counts}
    share = {name: Fraction(sum(value for (a, _), value in counts.items() if a == name), total) for name in names}
    agreeing = Fraction(sum(value for (a, b), value in counts.items() if a == b), total)
    chance = sum((value**2 for value in share.values()), Fraction(0))
    return float((agreeing - chance) / (1 - chance)) if chance < 1 else math.nan


def values(dataset: Dataset) -> dict[str, float]:
    figures = marks_agreement(dataset, resamples=3)[-1].figures
    return {name: figure.value for name, figure in figures.items() if name != "same rater F1"}


SPANS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5), st.sampled_from([*ORDER])).map(
        lambda s: (min(s[:2]), max(s[:2]), s[2])
    ),
    max_size=3,
)
OUTPUT = st.tuples(st.sampled_from(TEXTS), st.dictionaries(st.sampled_from(["p", "q", "r"]), SPANS, max_size=3))


@given(st.lists(st.lists(OUTPUT, min_size=1, max_size=3), min_size=1, max_size=3))
def test_figures_are_those_counted_by_hand(sources: list[list[tuple[str, dict[str, list[Span]]]]]) -> None:
    fitting = [
        [(t, {r: [(s, min(e, len(t)), v) for s, e, v in spans if s <= len(t)] for r, spans in m.items()}) for t, m in o]
        for o in sources
    ]
    dataset = from_records([record(outputs, number) for number, outputs in enumerate(fitting)])
    if not any(len(ratings) > 1 for ratings in ratings_of(dataset).values()):
        with pytest.raises(DataError, match="found no output in which two raters marked errors"):
            marks_agreement(dataset)
        return
    assert values(dataset) == pytest.approx(by_hand(dataset), nan_ok=True)


def test_an_example() -> None:
    dataset = from_records(
        [
            record(
                [
                    ("abcdefghij", {"p": [(0, 4, "minor")], "q": [(2, 6, "major")], "gold": [(0, 9, "minor")]}),
                    ("abcdefghij", {"p": [(0, 2, "minor")], "r": []}),
                ]
            ),
            record([("abc", {"p": [(0, 3, "major")]})], 2),
        ]
    )
    (agreement,) = marks_agreement(dataset, resamples=10)
    # p-q: 2 of 8 characters shared at half, p-r and q-r: nothing shared
    assert agreement.figures["character F1"].value == 2 * 1 / (8 + 4 + 4)
    assert agreement.figures["same rater F1"].value == 2 * 2 / 6
    assert (agreement.judges, agreement.sources, agreement.units, agreement.judgements) == (3, 1, 1, 3)
    assert [(pair.first, pair.second, pair.units, pair.f1) for pair in agreement.pairs] == [
        ("p", "q", 1, 0.25),
        ("p", "r", 1, 0.0),
        ("q", "r", 1, 0.0),
    ]
    estimate = agreement.figures["character F1"]
    # of a single source
    assert np.isnan([estimate.low, estimate.high]).all()


def test_too_many_severities_are_refused() -> None:
    marked = {rater: [(0, 1, f"level {number}") for number in range(21)] for rater in ("p", "q")}
    with pytest.raises(DataError, match="contains 21 severities of marked errors: expected at most 20"):
        marks_agreement(from_records([record([("ab", marked)])]))


def test_language_pairs_are_apart_and_together() -> None:
    marked = {"p": [(0, 1, "minor")], "q": [(0, 2, "minor")]}
    both = from_records([record([("ab", marked)]), record([("ab", {**marked, "q": []})], 2, "en-de")])
    agreements = {agreement.lp: agreement.figures["character F1"].value for agreement in marks_agreement(both)}
    assert agreements == {"de-en": 2 / 3, "en-de": 0.0, "all": 0.5}


@thorough
@pytest.mark.parametrize(
    ("name", "lps"), [("bio21-mqm", ["pt-en", "en-ru"]), ("mqm21", ["en-de"]), ("wmt24-esa", ["en-cs"])]
)
def test_figures_of_real_data_are_those_counted_by_hand(name: str, lps: list[str], shared: Path) -> None:
    dataset = load_dataset(shared / "data" / f"{name}.spans.jsonl.gz")
    ORDER.setdefault("undecided", 1)
    for lp in lps:
        part = of_language_pairs(dataset, [lp])
        assert values(part) == pytest.approx(by_hand(part))


def many(rater: str, spans: list[Span], **more: float) -> list[dict[str, Any]]:
    """Twenty sources in which three raters mark something and `rater` the same each time."""
    records = []
    for number in range(20):
        given = {"o1": [(0, 2, "minor")], "o2": [(1, 3, "minor")], "o3": [(3, 5, "major")], rater: spans}
        one = record([("abcdefghij", given)], number)
        names = one["candidates"][0]["raters"]
        one["candidates"][0]["raters"] = [{"rater": name, **(more if name == rater else {})} for name in names]
        records.append(one)
    return records


@pytest.mark.parametrize(
    ("spans", "more", "expected"),
    [
        ([(0, 1, "minor")], {}, []),
        ([(0, 1, "minor")], {"esa": 40}, ["gave the same esa, 40, to all 20 outputs"]),
        ([], {}, ["marked no error in all 20 outputs (other raters: in 0% of outputs)"]),
        ([(0, 10, "major")], {}, ["marked all of the text in all 20 outputs (other raters: in 0% of outputs)"]),
        ([(0, 1, "minor")], {"seconds": 0.2}, ["read 62 characters per second (median)"]),
        ([(0, 1, "minor")], {"seconds": 2}, []),
    ],
)
def test_raters_who_did_not_read_are_named(spans: list[Span], more: dict[str, float], expected: list[str]) -> None:
    dataset = from_records(many("x", spans, **more))
    assert careless_raters(dataset) == [f"rater x {reason}; these ratings are counted" for reason in expected]


@pytest.mark.parametrize("more", [{}, {"esa": 40}])
def test_equal_outputs_count_once_in_notes_on_raters(more: dict[str, float]) -> None:
    records = many("x", [], **more)
    for one in records[10:]:
        one["candidates"][0]["errors"] = [error for error in one["candidates"][0]["errors"] if error["rater"] != "x"]
        one["candidates"][0]["raters"] = [name for name in one["candidates"][0]["raters"] if name["rater"] != "x"]
    for one in records:
        one["candidates"].append({**one["candidates"][0], "system": "copy"})
    assert careless_raters(from_records(records)) == []


def test_a_rater_without_others_is_not_compared_with_them() -> None:
    assert careless_raters(from_records([record([("abc", {"x": []})], number) for number in range(25)])) == []


def test_marks_in_sources_find_no_known_error_in_outputs() -> None:
    records = [record([("abcdef", {"x": [(3, 4, "minor")]})], number) for number in range(6)]
    for one in records:
        known = {"start": 0, "end": 2, "severity": "major"}
        one["candidates"][0]["errors"] += [{**known, "rater": "gold"}, {**known, "rater": "x", "side": "source"}]
    (note,) = careless_raters(from_records(records))
    assert note.startswith("rater x found 0 of 6 known errors")


def test_known_errors_that_are_missed_are_told() -> None:
    records = many("x", [(0, 1, "minor")])
    for one in records[:6]:
        one["candidates"][0]["errors"].append({"start": 3, "end": 4, "severity": "major", "rater": "gold"})
    notes = careless_raters(from_records(records))
    assert [note.split(";")[0] for note in notes] == [
        f"rater {rater} found 0 of 6 known errors" for rater in ("o1", "o2", "x")
    ]
