from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

from ranker.corpora.dataset import Dataset
from ranker.corpora.joining import join_corpora
from ranker.corpora.judgements import human_scores
from ranker.corpora.marked_errors import MarkedError, error_columns
from ranker.corpora.records import Candidate, Record, assemble
from ranker.corpora.schema import table

Rating = tuple[str, str | None, float]


def rated(name: str, sources: Sequence[Sequence[Sequence[Rating]]]) -> Dataset:
    """Sources with candidates A, B, ... and the ratings of each."""
    records = [
        Record(f"{name} {number}", [], [Candidate("ABCDE"[at], "x", [*some]) for at, some in enumerate(candidates)])
        for number, candidates in enumerate(sources)
    ]
    return assemble(records, name)


def by_one_judge(name: str, kind: str, values: Sequence[Sequence[float]], judge: str | None = None) -> Dataset:
    return rated(name, [[[(kind, judge, value)] for value in some] for some in values])


def compared(data: Dataset, judge: str) -> Dataset:
    """The data set with a preference for the first candidate of each source over the second."""
    first = data.candidate_offsets[:-1]
    rows = {"first": first, "second": first + 1, "relation": [">"] * len(first), "judge": [judge] * len(first)}
    preferences = table("preferences", {**rows, "primary": [True] * len(first)})
    return dataclasses.replace(data, preferences=preferences)


@pytest.mark.parametrize(
    ("kind", "names"),
    [("fluency", ("fluency_z", "fluency")), ("mqm", ("mqm", "mqm_total")), ("mean-rank", ("rr_mean_rank", "MeanRank"))],
)
def test_ratings_of_a_kind_count_whatever_their_names(kind: str, names: tuple[str, str]) -> None:
    parts = [by_one_judge(name, name, [[1, 2], [4, 3]]) for name in names]
    for order in (parts, parts[::-1]):
        expected = np.concatenate([human_scores(part, kind) for part in order])
        assert human_scores(join_corpora(order), kind).tolist() == expected.tolist()


def test_win_rates_come_from_ratings_and_from_preferences() -> None:
    parts = [compared(rated("voted", [[[], []]]), "j"), by_one_judge("counted", "rr_win_rate", [[0.25, 0.75]])]
    assert human_scores(join_corpora(parts), "win-rate").tolist() == [1, 0, 0.25, 0.75]


@pytest.mark.parametrize("kind", ["errors", "mqm", "penalty"])
def test_penalties_may_be_negated_in_one_of_the_corpora(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    parts = [by_one_judge("n1", kind, [[0, 2], [5, 1]]), by_one_judge("n2", kind, [[0, -2], [-5, -1]])]
    joined = join_corpora(parts)
    assert human_scores(joined, kind).tolist() == [0, -2, -5, -1] * 2
    what = f"no {kind} is above 0, so these are negated penalties: read without their sign, as the other data have them"
    assert f"ranker: note: n2: {what}" in caplog.messages
    caplog.clear()
    assert human_scores(join_corpora([parts[1], by_one_judge("n3", kind, [[0, -1]])]), kind).tolist()[-2:] == [0, -1]
    assert not any("without their sign" in message for message in caplog.messages)


def test_judges_with_one_name_are_different_people_in_different_corpora() -> None:
    values = [[1.0, 2.0, 5.0], [4.0, 3.0, 1.0]]
    parts = [by_one_judge("x", "adequacy", values, "j1"), by_one_judge("y", "adequacy", [[90, 10, 40]], "j1")]
    expected = np.concatenate([human_scores(part) for part in parts])
    joined = join_corpora(parts)
    np.testing.assert_allclose(human_scores(joined), expected)
    assert joined.ratings["judge"].unique().tolist() == ["x/j1", "y/j1"]
    twice = join_corpora([parts[0], parts[0], by_one_judge("z", "adequacy", values, "k")])
    assert twice.name == "x-1+x-2+z"
    assert twice.ratings["judge"].unique().tolist() == ["x-1/j1", "x-2/j1", "k"]


def test_a_judge_keeps_one_name_in_all_tables() -> None:
    mark = MarkedError("major", 0, 1, rater="j1")
    part = compared(by_one_judge("x", "esa", [[1, 2]], "j1"), "j1")
    part = dataclasses.replace(part, errors=table("errors", error_columns([(0, mark)])))
    joined = join_corpora([part, by_one_judge("y", "esa", [[1, 2]], "j1"), by_one_judge("z", "esa", [[1, 2]])])
    assert {*joined.preferences["judge"], *joined.errors["rater"]} == {"x/j1"}
    assert joined.ratings["judge"].fillna("").unique().tolist() == ["x/j1", "y/j1", ""]
    assert joined.name == "x+y+z"


def test_other_corpora_stay_as_they_are() -> None:
    parts = [by_one_judge("x", "esa", [[1, 2]], "j1"), by_one_judge("y", "quality", [[1, 2]], "j2")]
    joined = join_corpora(parts)
    assert joined.ratings["kind"].tolist() == ["esa", "esa", "quality", "quality"]
    assert join_corpora(parts[:1]) is parts[0]


def in_documents(name: str, *documents: str | None, lp: str = "de-en") -> Dataset:
    records = [Record("s", ["r"], [Candidate("A", "x")], lp=lp, doc=doc) for doc in documents]
    return assemble(records, name)


def documents_of(corpora: list[Dataset]) -> list[str | None]:
    return [None if pd.isna(doc) else doc for doc in join_corpora(corpora).sources["doc"]]


def test_documents_of_the_same_name_in_several_corpora_are_different_documents(
    caplog: pytest.LogCaptureFixture,
) -> None:
    first, second = in_documents("a", "d0", "d0", "d1", None), in_documents("b", "d2", None, "d0")
    assert documents_of([first, second]) == ["a/d0", "a/d0", "d1", None, "d2", None, "b/d0"]
    assert caplog.messages == [
        "ranker: note: several data sets have documents of the same name (1, first: d0): they are told apart as a/d0 "
        "and b/d0; if they are parts of one document, give them in one file"
    ]
    again = documents_of([first, dataclasses.replace(second, name="a")])
    assert again == ["a-1/d0", "a-1/d0", "d1", None, "d2", None, "a-2/d0"]


def test_document_names_that_tell_documents_apart_are_kept(caplog: pytest.LogCaptureFixture) -> None:
    first = in_documents("a", "d0", None)
    french = in_documents("b", "d0", None, lp="fr-en")
    for other in (in_documents("b", "d1", None), french, in_documents("b", None)):
        expected = [None if pd.isna(doc) else doc for each in (first, other) for doc in each.sources["doc"]]
        assert documents_of([first, other]) == expected
    assert not caplog.messages
    assert documents_of([first, french, in_documents("c", "d0")]) == ["a/d0", None, "d0", None, "c/d0"]
