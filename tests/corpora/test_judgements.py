from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ranker.corpora.judgements import (
    Judged,
    PreferencePairs,
    balanced,
    human_scores,
    judged,
    kinds,
    preference_pairs,
    resolve_kind,
)
from ranker.corpora.records import Candidate, Record, assemble
from ranker.corpora.schema import table
from ranker.errors import DataError


def dataset(ratings: list[list[tuple[str, str | None, float]]], preferences: str = ""):
    """One source with a candidate for each list of ratings; preferences as "0>1 1=2" of candidates."""
    data = assemble(
        [Record("s", ["r"], [Candidate(f"s{i}", "t", rating) for i, rating in enumerate(ratings)], lp="xx-en")], "test"
    )
    rows = [(int(item[0]), int(item[2]), item[1]) for item in preferences.split()]
    columns = dict(zip(("first", "second", "relation"), zip(*rows, strict=True), strict=True)) if rows else {}
    filled = table("preferences", {**columns, "primary": [True] * len(rows)}) if rows else data.preferences
    return dataclasses.replace(data, preferences=filled)


def test_fluency_is_standardised_per_judge_and_averaged():
    data = dataset(
        [
            [("fluency", "a", 1), ("fluency", "b", 4)],
            [("fluency", "a", 3), ("fluency", "b", 5)],
            [("fluency", "b", 3)],
            [],
        ]
    )
    scores = human_scores(data, "fluency")
    b = np.array([0, 1, -1]) / np.sqrt(2 / 3)
    np.testing.assert_allclose(scores, [(-1 + b[0]) / 2, (1 + b[1]) / 2, b[2], np.nan])
    assert judged(data, "fluency").tolist() == [True, True, True, False]


def test_a_judge_who_gives_all_outputs_the_same_score_adds_nothing():
    data = dataset([[("fluency", "a", 0.1)], [("fluency", "a", 0.1)], [("fluency", "a", 0.1)], [("fluency", "b", 5)]])
    np.testing.assert_array_equal(human_scores(data, "fluency"), [0, 0, 0, np.nan])
    assert judged(data, "fluency").tolist() == [True, True, True, False]


def test_penalties_of_several_raters_are_averaged_as_they_are():
    data = dataset([[("mqm", "a", 5), ("mqm", "b", 1)], [("mqm", "a", 0)], [("mqm", "b", 2)]])
    assert human_scores(data, "mqm").tolist() == [-3, 0, -2]


def test_judges_of_different_systems_are_noted(caplog):
    def notes(*judges: str) -> str:
        caplog.clear()
        rated = [[("esa", judge, float(place + at)) for at, judge in enumerate(by)] for place, by in enumerate(judges)]
        human_scores(dataset(rated), "esa")
        return caplog.text

    assert "no judge rated systems of both s0, s1 and s2, s3: scores standardised per judge do not" in notes(
        "a", "a", "b", "b"
    )
    assert not notes("a", "ab", "b", "b")


def in_pairs(*outputs: tuple[str, str, str, float]):
    """Make a data set of the language pair, system, judge and rating of outputs, each of a source of its own."""
    return assemble(
        [
            Record(f"s{place}", ["r"], [Candidate(system, "t", [("score", judge, value)])], lp=lp)
            for place, (lp, system, judge, value) in enumerate(outputs)
        ],
        "test",
    )


def test_ratings_are_standardised_in_every_language_pair_by_itself():
    rated = [
        ("en-cs", "X", "a", 2),
        ("en-cs", "Y", "a", 1),
        ("en-de", "X", "a", 8),
        ("en-de", "Y", "a", 6),
    ]
    assert human_scores(in_pairs(*rated), "score").tolist() == [1, -1, 1, -1]
    assert human_scores(in_pairs(*rated[2:]), "score").tolist() == [1, -1]


def test_the_only_rating_of_a_judge_is_left_out(caplog):
    data = in_pairs(("en-de", "X", "a", 2), ("en-de", "Y", "a", 1), ("en-de", "Y", "b", 9), ("en-cs", "X", "a", 5))
    people = Judged.of(data, "score")
    assert people.human.tolist() == [1, -1, 5]
    assert judged(data, "score").tolist() == [True, True, False, True]
    # en-cs has no judge with two ratings
    what = "left out 1 score rating by judges who gave no other in the language pair: a single rating cannot be"
    as_it_is = "en-cs: no judge gave two score ratings, so they are compared as they are, not standardised per judge"
    assert caplog.messages == [f"ranker: note: test: {what} standardised", f"ranker: note: test: {as_it_is}"]


def test_an_output_keeps_the_ratings_of_its_other_judges():
    data = dataset([[("score", "a", 1), ("score", "b", 7)], [("score", "a", 3)]])
    assert human_scores(data, "score").tolist() == [-1, 1]


def test_judges_named_once_each_identify_nobody(caplog):
    data = in_pairs(*((lp, "X", f"{lp}{value}", value) for lp in ("en-cs", "en-de") for value in (1, 2, 3)))
    assert human_scores(data, "score").tolist() == [1, 2, 3] * 2
    (note,) = caplog.messages
    assert "en-cs, en-de: no judge gave two score ratings" in note


def test_penalties_and_mean_ranks_are_turned_round():
    data = dataset([[("mqm_total", None, 5), ("rr_mean_rank", None, 1)], [("mqm_total", None, 0)]])
    assert human_scores(data, "mqm").tolist() == [-5, 0]
    np.testing.assert_array_equal(human_scores(data, "mean-rank"), [-1, np.nan])


def test_kinds_best_first_and_resolution():
    data = dataset([[("fluency_z", None, 1), ("believability_z", None, 2), ("fluency_n", None, 3)], []], "0>1")
    assert kinds(data) == ["preferences", "fluency", "win-rate", "believability_z", "fluency_z"]
    assert resolve_kind(data) == "preferences"
    assert resolve_kind(data, scores=True) == "win-rate"
    with pytest.raises(DataError, match=r"no judgements of kind 'fluancy'.*did you mean 'fluency'"):
        resolve_kind(data, "fluancy")
    with pytest.raises(DataError, match="no human judgements"):
        resolve_kind(dataset([[], []]))


def mqm(*values, name="mqm"):
    return dataset([[(name, None, value)] for value in values])


def test_negated_penalties_are_better_where_they_are_higher(caplog):
    assert human_scores(mqm(5, 0, 1)).tolist() == [-5, 0, -1]
    assert resolve_kind(mqm(5, 0)) == resolve_kind(mqm(0, 0)) == "mqm"
    assert not caplog.messages
    negated = mqm(-5, 0, -1)
    assert human_scores(negated).tolist() == [-5, 0, -1]
    assert resolve_kind(negated) == resolve_kind(negated, "mqm") == "mqm:higher"
    (note,) = caplog.messages
    what = "no value is above 0, so these are negated penalties, and higher values are better"
    assert note == f"ranker: note: test: judged by 'mqm': {what}; if not, use --kind mqm:lower"
    assert human_scores(negated, "mqm:lower").tolist() == [5, 0, 1]
    assert human_scores(negated.select_candidates([True, True, False]), resolve_kind(negated)).tolist() == [-5, 0]
    assert human_scores(mqm(-2, -1, name="errors"), "errors").tolist() == [-2, -1]
    assert human_scores(mqm(-2, 1, name="errors"), "errors").tolist() == [2, -1]


def test_mqm_means_the_same_whichever_sign_a_ranker_learnt_it_from():
    for learnt in (["mqm"], ["mqm:higher"], ["mqm", "mqm:higher"]):
        assert resolve_kind(mqm(5, 0), learnt=learnt) == "mqm"
        assert resolve_kind(mqm(-5, 0), learnt=learnt) == "mqm:higher"


def test_mqm_on_both_sides_of_0_needs_a_direction():
    both = mqm(-1, 3)
    with pytest.raises(DataError) as raised:
        human_scores(both)
    assert str(raised.value) == (
        "test: mqm: found values from -1 to 3, expected only penalties (at least 0) or only negated "
        "penalties; give the direction: --kind mqm:lower or --kind mqm:higher"
    )
    assert human_scores(both, "mqm:lower").tolist() == [1, -3]
    assert human_scores(both, "mqm:higher").tolist() == [-1, 3]
    assert resolve_kind(both, learnt=["mqm:higher"]) == "mqm:higher"


def test_win_rates_leave_ties_out():
    data = dataset([[], [], [], []], "0>1 0>2 1<2 1=2 0<1")
    np.testing.assert_allclose(human_scores(data, "win-rate"), [2 / 3, 1 / 3, 1 / 2, np.nan])
    assert judged(data, "preferences").tolist() == [True, True, True, False]


def test_balanced_pairs_give_every_group_the_same_say():
    pairs = PreferencePairs(np.arange(5), np.arange(5, 10), np.array([1.0, 2.0, 3.0, 1.0, 1.0]))
    result = balanced(pairs, ["de", "de", "de", "fi", "fi"])
    assert result.weight == pytest.approx([4 / 6, 8 / 6, 12 / 6, 2.0, 2.0])
    assert result.better.tolist() == pairs.better.tolist()


def test_pairs_one_a_judgement_or_aggregated():
    data = dataset([[], [], []], "0>1 0>1 1>0 1=0 1<2 2>1 0>2 0<2 0-1")
    pairs = preference_pairs(data)
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
    pairs = preference_pairs(data, aggregated=True)
    assert list(zip(pairs.better.tolist(), pairs.worse.tolist(), strict=True)) == [(0, 1), (2, 1)]
    assert pairs.weight.tolist() == [1 / 4, 1]


def test_primary_rows_only_unless_asked():
    data = dataset([[], []], "0>1 0<1")
    data = dataclasses.replace(data, preferences=data.preferences.assign(primary=[True, False]))
    assert len(preference_pairs(data).better) == 1
    assert len(preference_pairs(data, primary=False).better) == 2
