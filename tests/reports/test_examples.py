from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranker import Ranker
from ranker.extractors.text.tokens import tokenise
from ranker.reports.examples import choose, mark
from ranker.reports.findings import examine


def marks(text, known, matches=()):
    words = tokenise([text]).words(0)
    return [(one.text, one.word, one.triplet) for one in mark(text, words, Counter(known), list(matches))]


def test_words_match_as_often_as_a_reference_has_them():
    assert marks("The cat, the  cat ran", {"the": 1, "cat": 2, ",": 1}) == [
        ("The cat,", "same", False),
        (" ", "", False),
        ("the", "", False),
        ("  ", "", False),
        ("cat", "same", False),
        (" ", "", False),
        ("ran", "", False),
    ]


def test_triplets_and_near_matches_are_marked():
    found = marks(
        "old cats sleep",
        {"old": 1},
        ["noun-modifier(cats, old)", "cats ~ cat (stem)", "sleep ~ slumber (synonym)"],
    )
    assert [one for one in found if one[0] != " "] == [
        ("old", "same", True),
        ("cats", "near", True),
        ("sleep", "near", False),
    ]


def test_tokens_stand_in_for_a_text_that_they_are_not_part_of():
    # the tokeniser writes the entity as a character
    assert "".join(text for text, *_ in marks("A &quot;B&quot;", {})) == 'A " B "'


@given(st.text(alphabet="ab ,.-'İß1", max_size=20), st.dictionaries(st.sampled_from("ab,."), st.integers(1, 2)))
def test_pieces_put_together_are_the_text(text, known):
    assert "".join(one for one, *_ in marks(text, known)) == text


def test_worst_and_best_are_those_and_no_source_stands_twice():
    rho = np.array([0.5, -1, np.nan, 1, 1, -1, 0.2, np.nan])
    ordered = np.array([3, 1, 2, 1, 6, 5, 4, 0])
    found = choose(rho, ordered, 2, seed=0)
    assert found["worst"].tolist() == [5, 1]
    assert found["best"].tolist() == [4, 3]
    assert set(found["random"]) <= {0, 2, 6}
    assert len(found["random"]) == 2
    everything = choose(rho, ordered, 100, seed=1)
    # of the last one nothing is ordered
    assert sorted(np.concatenate(list(everything.values())).tolist()) == [0, 1, 2, 3, 4, 5, 6]
    assert choose(rho, ordered, 100, seed=1)["random"].tolist() == everything["random"].tolist()


def test_shown_sources_say_what_the_ranker_says(findings, model, sample):
    ranking = model.rank(sample)
    shown = [one for sort in findings.examples.values() for one in sort]
    assert len(shown) == 9
    worst = [one.rho for one in findings.examples["worst"]]
    assert worst == sorted(findings.rho)[:3]
    for one in shown:
        source = int(np.flatnonzero((sample.sources["text"] == one.text).to_numpy(bool))[0])
        rows = ranking[ranking["source"] == source]
        assert [candidate.system for candidate in one.candidates] == rows["system"].tolist()
        assert [candidate.rank for candidate in one.candidates] == rows["rank"].tolist()
        assert [candidate.score for candidate in one.candidates] == pytest.approx(rows["score"].tolist())
        for candidate in one.candidates:
            assert sum(candidate.contributions) == pytest.approx(candidate.score)
            better = sum(other.human > candidate.human + 1e-9 for other in one.candidates)
            assert candidate.human_rank == better + 1
        assert [system for tied in one.predicted for system in tied] == rows["system"].tolist()
        assert len([system for tied in one.by_people for system in tied]) == len(rows)


def test_contributions_are_the_rankers_own(findings, model, sample):
    assert findings.measured[0].contributions == pytest.approx(model.explain(sample))


def test_matched_triplets_are_shown(sample):
    few = sample.select_sources(np.arange(120) < 6)
    found = examine(Ranker("bleu,ds").fit(few), [few], examples=6, resamples=5)
    candidates = [one for sort in found.examples.values() for source in sort for one in source.candidates]
    matched = [match for one in candidates for match in one.matches]
    assert {extractor for extractor, *_ in matched} == {"ds"}
    assert all(triplets for *_, triplets in matched)
    assert any(piece.triplet for one in candidates for piece in one.pieces)
