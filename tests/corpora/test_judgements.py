from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ranker.corpora.dataset import concatenate, table
from ranker.corpora.judgements import (
    PreferencePairs,
    balanced,
    human_scores,
    judged,
    kinds,
    preference_pairs,
    resolve_kind,
)
from ranker.corpora.records import Candidate, Record, assemble
from ranker.errors import DataError


def dataset(ratings: list[list[tuple[str, str | None, float]]], preferences: str = ""):
    """One source with a candidate for each list of ratings; preferences as "0>1 1=2" of candidates."""
    made = assemble(
        [Record("s", ["r"], [Candidate(f"s{i}", "t", one) for i, one in enumerate(ratings)], lp="xx-en")], "test"
    )
    rows = [(int(one[0]), int(one[2]), one[1]) for one in preferences.split()]
    columns = dict(zip(("first", "second", "relation"), zip(*rows, strict=True), strict=True)) if rows else {}
    filled = table("preferences", {**columns, "primary": [True] * len(rows)}) if rows else made.preferences
    return dataclasses.replace(made, preferences=filled)


def test_fluency_is_standardised_per_judge_and_averaged():
    made = dataset(
        [
            [("fluency", "a", 1), ("fluency", "b", 4)],
            [("fluency", "a", 3), ("fluency", "b", 5)],
            [("fluency", "b", 3)],
            [],
        ]
    )
    scores = human_scores(made, "fluency")
    b = np.array([0, 1, -1]) / np.sqrt(2 / 3)
    np.testing.assert_allclose(scores, [(-1 + b[0]) / 2, (1 + b[1]) / 2, b[2], np.nan])
    assert judged(made, "fluency").tolist() == [True, True, True, False]


def test_a_judge_who_always_says_the_same_says_nothing():
    made = dataset([[("fluency", "a", 3), ("fluency", "b", 1)], [("fluency", "a", 3), ("fluency", "b", 2)]])
    np.testing.assert_allclose(human_scores(made, "fluency"), [-0.5, 0.5])


def test_penalties_and_mean_ranks_are_turned_round():
    made = dataset([[("mqm_total", None, 5), ("rr_mean_rank", None, 1)], [("mqm_total", None, 0)]])
    assert human_scores(made, "mqm").tolist() == [-5, 0]
    np.testing.assert_array_equal(human_scores(made, "mean-rank"), [-1, np.nan])


def test_kinds_best_first_and_resolution():
    made = dataset([[("fluency_z", None, 1), ("believability_z", None, 2), ("fluency_n", None, 3)], []], "0>1")
    assert kinds(made) == ["preferences", "fluency", "win-rate", "believability_z", "fluency_z"]
    assert resolve_kind(made) == "preferences"
    assert resolve_kind(made, scores=True) == "win-rate"
    with pytest.raises(DataError, match=r"no judgements of kind 'fluancy'.*did you mean 'fluency'"):
        resolve_kind(made, "fluancy")
    with pytest.raises(DataError, match="no human judgements"):
        resolve_kind(dataset([[], []]))


def test_win_rates_leave_ties_out():
    made = dataset([[], [], [], []], "0>1 0>2 1<2 1=2 0<1")
    np.testing.assert_allclose(human_scores(made, "win-rate"), [2 / 3, 1 / 3, 1 / 2, np.nan])
    assert judged(made, "preferences").tolist() == [True, True, True, False]


def test_balanced_pairs_give_every_group_the_same_say():
    pairs = PreferencePairs(np.arange(5), np.arange(5, 10), np.array([1.0, 2.0, 3.0, 1.0, 1.0]))
    found = balanced(pairs, ["de", "de", "de", "fi", "fi"])
    assert found.weight == pytest.approx([4 / 6, 8 / 6, 12 / 6, 2.0, 2.0])
    assert found.better.tolist() == pairs.better.tolist()


def test_pairs_one_a_judgement_or_aggregated():
    made = dataset([[], [], []], "0>1 0>1 1>0 1=0 1<2 2>1 0>2 0<2 0-1")
    pairs = preference_pairs(made)
    assert list(zip(pairs.better.tolist(), pairs.worse.tolist(), strict=True)) == [
        (0, 1),
        (0, 1),
        (1, 0),
        (2, 1),
        (2, 1),
        (0, 2),
        (2, 0),
    ]
    assert pairs.weight.tolist() == [1] * 7
    pairs = preference_pairs(made, aggregated=True)
    assert list(zip(pairs.better.tolist(), pairs.worse.tolist(), strict=True)) == [(0, 1), (2, 1)]
    assert pairs.weight.tolist() == [1 / 4, 1]


def test_primary_rows_only_unless_asked():
    made = dataset([[], []], "0>1 0<1")
    made = dataclasses.replace(made, preferences=made.preferences.assign(primary=[True, False]))
    assert len(preference_pairs(made).better) == 1
    assert len(preference_pairs(made, primary=False).better) == 2


def test_selection_and_concatenation_keep_rows_together():
    one = dataset([[("fluency", "a", 1)], [("fluency", "a", 2)], [("fluency", "a", 3)]], "0>1 1>2")
    two = concatenate([one, one])
    assert len(two) == 6
    assert two.name == "test+test"
    second = two.select_sources([False, True])
    assert second.fingerprint == one.fingerprint
    kept = one.select_candidates([False, True, True])
    assert kept.candidates["system"].tolist() == ["s1", "s2"]
    assert kept.ratings[["candidate", "value"]].to_numpy().tolist() == [[0, 2], [1, 3]]
    assert kept.preferences[["first", "second"]].to_numpy().tolist() == [[0, 1]]
    assert one.select_language_pairs(["*-en"]).fingerprint == one.fingerprint
    with pytest.raises(DataError, match="no sources of language pair 'de-fr'; available: xx-en"):
        one.select_language_pairs(["de-fr"])


def test_fingerprint_sees_every_table():
    base = dataset([[("fluency", "a", 1)], []], "0>1")
    others = [
        dataset([[("fluency", "a", 2)], []], "0>1"),
        dataset([[("fluency", "b", 1)], []], "0>1"),
        dataset([[("fluency", "a", 1)], []], "0<1"),
        dataset([[("fluency", "a", 1)], [], []], "0>1"),
    ]
    assert len({base.fingerprint, *(one.fingerprint for one in others)}) == 5
    assert base.fingerprint == dataset([[("fluency", "a", 1)], []], "0>1").fingerprint
