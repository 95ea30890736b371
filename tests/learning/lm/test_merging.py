"""Counts of the parts of a text, added up: against the counts of the whole text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.errors import DataError
from ranker.learning.lm.counts import count_ngrams
from ranker.learning.lm.kneser_ney import estimate, log10_scores
from ranker.learning.lm.leave_out import leave_out_scores
from ranker.learning.lm.merging import MergedCounts, PartCounts, is_merged, merge
from tests.effort import examples
from tests.learning.lm.test_kneser_ney import sentences_of_letters, tokenise

Sentences = list[list[str]]


def counted(sentences: Sentences, order: int) -> PartCounts:
    by_text = sorted(sentences, key=" ".join)
    return PartCounts.of(*tokenise(by_text), [" ".join(words) for words in by_text], order)


def merged(parts: list[Sentences], order: int, folder: Path, *, model: bool = True, rows: int = 7) -> MergedCounts:
    folder.mkdir(exist_ok=True)
    merge(lambda: [counted(part, order) for part in parts], order, folder, signature="s", model=model, rows=rows)
    return MergedCounts(folder)


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(sentences_of_letters, min_size=2, max_size=4),
    sentences_of_letters,
    st.integers(1, 5),
    st.integers(1, 40),
)
def test_scores_are_those_of_the_whole_text(tmp_path_factory, parts: list[Sentences], others, order, rows) -> None:
    whole = sorted((words for part in parts for words in part), key=" ".join)
    values, offsets, vocabulary = tokenise(whole)
    counts = count_ngrams(values, offsets, order)
    model = estimate(counts)
    counts_of_all = merged(parts, order, tmp_path_factory.mktemp("merged"), rows=rows)
    scored = tokenise([*parts[1], *others], vocabulary)
    of_part, sums = counts_of_all.part(*scored, range(len(parts[1])))
    of_part_model = estimate(of_part, discounts=counts_of_all.discounts, sums=sums)
    np.testing.assert_array_equal(of_part_model.discounts, model.discounts)
    expected, scores = log10_scores(model, *scored[:2]), log10_scores(of_part_model, *scored[:2])
    for name in ("log10_prob", "unknown", "matched_length"):
        np.testing.assert_array_equal(getattr(scores, name), getattr(expected, name))
    if len(whole) == len(parts[1]):
        return
    rest = [list(words) for words in whole]
    own = np.zeros(len(whole), dtype=int)
    for words in parts[1]:
        place = next(row for row, other in enumerate(rest) if other == words and not own[row])
        own[place] = 1
    groups = np.ones(len(parts[1]) + len(others), dtype=int)
    expected = leave_out_scores(counts, model.discounts, own, *scored[:2], groups)
    scores = leave_out_scores(of_part, model.discounts, np.ones(len(parts[1]), int), *scored[:2], groups, sums)
    np.testing.assert_array_equal(scores.log10_prob, expected.log10_prob)
    np.testing.assert_array_equal(scores.unknown, expected.unknown)


def test_ngrams_are_found_with_their_occurrences(tmp_path: Path) -> None:
    counts = merged([[["b", "a"], ["b", "a", "c"]], [], [["a", "b", "a"]]], 2, tmp_path, model=False)
    assert (counts.sentences, counts.tokens) == (3, 8)
    a, b, c, unknown = counts.numbers(["a", "b", "c", "d"])
    assert (a, b, c, unknown) == (4, 5, 6, -1)
    places = counts.find(2, np.array([b, a, c, unknown, b]), np.array([a, b, a, a, unknown]))
    assert counts.occurrences(2, places).tolist() == [3, 1, 0, 0, 0]
    assert counts.occurrences(1, np.array([a, b, c, unknown])).tolist() == [4, 3, 1, 0]


def test_nothing_can_be_counted(tmp_path: Path) -> None:
    counts = merged([[], []], 3, tmp_path, model=False)
    assert (counts.sentences, counts.tokens) == (0, 0)
    assert counts.find(2, np.array([2]), np.array([3])).tolist() == [-1]


def test_damaged_files_are_named(tmp_path: Path) -> None:
    counts = merged([[["a"]]], 2, tmp_path)
    (tmp_path / "2.keys.npy").write_bytes(b"")
    with pytest.raises(DataError, match=r"cannot be read \(.*\): delete it and run the command again"):
        counts.find(2, np.array([2]), np.array([4]))
    (tmp_path / "facts.json").write_text("{}")
    with pytest.raises(DataError, match="cannot be read"):
        MergedCounts(tmp_path)


def test_counts_that_a_killed_run_did_not_move_are_never_mixed_with_older_ones(tmp_path) -> None:
    merged([[["a", "b"]]], 2, tmp_path / "there")
    new = [[["c", "d"], ["c", "d"]]]
    expected = merged(new, 2, tmp_path / "undisturbed")
    complete, committed = tmp_path / "complete", tmp_path / "there" / ".ranker-committed"
    complete.mkdir()
    merge(lambda: [counted(part, 2) for part in new], 2, complete, signature="t", model=True, rows=7)
    complete.rename(committed)
    (committed / "facts.json").replace(tmp_path / "there" / "facts.json")
    assert is_merged(tmp_path / "there", "t")
    counts = MergedCounts(tmp_path / "there")
    assert counts.numbers(["a", "c", "d"]).tolist() == expected.numbers(["a", "c", "d"]).tolist()
    assert counts.tokens == expected.tokens
    assert not committed.exists()


def test_what_is_not_there_occurs_never(tmp_path) -> None:
    counts = merged([[["a"]]], 3, tmp_path / "one")
    assert counts.occurrences(3, np.array([-1, -1])).tolist() == [0, 0]
    empty = merged([[]], 2, tmp_path / "none")
    assert empty.occurrences(2, np.array([-1])).tolist() == [0]
