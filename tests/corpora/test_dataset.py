"""Data sets: selections, concatenation, offsets and fingerprints keep every row with what it belongs to."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ranker.corpora import catalogue
from ranker.corpora.dataset import Dataset, block_offsets, concatenate_datasets, source_place, view
from ranker.corpora.own_references import with_references_as_candidates
from ranker.corpora.records import Candidate, Record, assemble
from ranker.corpora.schema import SCHEMA, table
from ranker.corpora.selection import select_language_pairs
from ranker.errors import DataError
from tests.effort import examples


def small(name: str = "small") -> Dataset:
    """Four sources: one with two references, one without candidates, one without references, of an unknown language."""

    def outputs(letter: str, number: int) -> list[Candidate]:
        return [
            Candidate(f"s{i}", f"{letter}{i}", [("adequacy", "j", float(i)), ("fluency", None, -1.0)][: i + 1])
            for i in range(number)
        ]

    data = assemble(
        [
            Record("first", ["r1", "r2"], outputs("a", 3), lp="de-en", doc="d", seg_id="x"),
            Record("second", ["r3"], [], lp="de-en", seg_id="y"),
            Record("third", [], outputs("c", 2), lp="fr-en_GB"),
            Record("fourth", ["r4"], outputs("d", 2)),
        ],
        name,
    )
    columns = {
        "first": [0, 1, 3, 5],
        "second": [1, 2, 4, 6],
        "relation": [">", "<", "=", "<"],
        "judge": ["j", "k", None, "j"],
        "primary": [True, True, True, False],
    }
    return dataclasses.replace(data, preferences=table("preferences", columns))


def content(dataset: Dataset) -> tuple[list, ...]:
    """Return what a data set says, by texts and not by row numbers."""
    sources, texts = dataset.sources["text"].tolist(), dataset.candidates["text"].tolist()
    return (
        sources,
        [(sources[row.source], row.text) for row in dataset.references.itertuples()],
        [(sources[row.source], row.system, row.text) for row in dataset.candidates.itertuples()],
        [(texts[row.candidate], row.kind, row.value) for row in dataset.ratings.itertuples()],
        [(texts[row.first], row.relation, texts[row.second]) for row in dataset.preferences.itertuples()],
    )


def test_tables_have_the_columns_and_types_of_the_schema():
    for name, columns in SCHEMA.items():
        for example in (table(name), getattr(small(), name)):
            assert example.dtypes.to_dict() == {
                column: pd.Series([], dtype=kind).dtype for column, kind in columns.items()
            }
            assert example.index.tolist() == list(range(len(example)))
    assert table("sources", {"text": ["x", "y"]})["lp"].isna().all()
    with pytest.raises((ValueError, TypeError)):
        table("references", {"source": ["no number"]})


def test_offsets_are_the_blocks_of_every_source():
    dataset = small()
    assert len(dataset) == 7
    assert dataset.candidate_source.tolist() == [0, 0, 0, 2, 2, 3, 3]
    assert dataset.candidate_offsets.tolist() == [0, 3, 3, 5, 7]
    assert dataset.reference_offsets.tolist() == [0, 2, 3, 3, 4]
    assert block_offsets([], 2).tolist() == [0, 0, 0]


@given(st.lists(st.integers(0, 4), max_size=6))
def test_offsets_bound_blocks_of_any_size(sizes):
    codes = np.repeat(np.arange(len(sizes)), sizes)
    assert block_offsets(codes, len(sizes)).tolist() == [0, *np.cumsum(sizes)]


def test_language_pairs():
    dataset = small()
    assert dataset.language_pairs == ["?", "de-en", "fr-en_GB"]
    assert dataset.source_language_pairs.tolist() == ["de-en", "de-en", "fr-en_GB", "?"]
    assert dataset.target_languages.tolist() == ["en", "en", "en", ""]


@pytest.mark.parametrize(
    ("wanted", "kept"),
    [
        (["de-en"], ["first", "second"]),
        (["*-en"], ["first", "second", "third"]),
        (["deu_eng"], ["first", "second"]),
        (["fr-*"], ["third"]),
        (["fr-*", "de-en"], ["first", "second", "third"]),
        (["?"], ["fourth"]),
    ],
)
def test_language_pairs_are_selected_by_name_or_wild_card(wanted, kept):
    assert select_language_pairs(small(), wanted).sources["text"].tolist() == kept


@pytest.mark.parametrize("keep", [np.array(keep) for keep in product([False, True], repeat=4)], ids=str)
def test_selecting_sources_keeps_all_that_belongs_to_them(keep):
    dataset = small()
    selected = {text for text, chosen in zip(dataset.sources["text"], keep, strict=True) if chosen}
    sources, references, candidates, ratings, preferences = content(dataset)
    texts = {text for source, _, text in candidates if source in selected}
    result = dataset.select_sources(keep)
    assert content(result) == (
        [source for source in sources if source in selected],
        [row for row in references if row[0] in selected],
        [row for row in candidates if row[0] in selected],
        [row for row in ratings if row[0] in texts],
        [row for row in preferences if row[0] in texts],
    )
    assert result.name == "small"
    assert result.candidate_offsets[-1] == len(result)
    assert content(dataset) == content(small()), "the data set itself is not changed"


@settings(max_examples=examples(40))
@given(arrays(bool, 7))
def test_selecting_candidates_keeps_their_judgements_and_every_source(keep):
    dataset = small()
    sources, references, candidates, ratings, preferences = content(dataset)
    selected = [row for row, chosen in zip(candidates, keep, strict=True) if chosen]
    texts = {text for *_, text in selected}
    assert content(dataset.select_candidates(keep)) == (
        sources,
        references,
        selected,
        [row for row in ratings if row[0] in texts],
        [row for row in preferences if row[0] in texts and row[2] in texts],
    )


def test_data_sets_are_put_one_behind_the_other():
    first, second = small("one"), small("two").select_sources([True, False, True, True])
    joined = concatenate_datasets([first, second])
    assert joined.name == "one+two"
    size = len(first.sources)
    head, tail = (joined.select_sources(np.arange(len(joined.sources)) // size == half) for half in (0, 1))
    assert content(head) == content(first)
    assert content(tail) == content(second)
    # the first source of both is (de-en, x), and remains two sources
    assert joined.sources["seg_id"].tolist().count("x") == 2
    assert concatenate_datasets([first]) is first


def test_references_become_candidates_behind_the_others():
    result = with_references_as_candidates(small())
    assert result.candidates["system"].tolist() == [
        *("s0", "s1", "s2", "reference1", "reference2", "reference1", "s0", "s1", "s0", "s1", "reference1"),
    ]
    assert result.candidates["text"].tolist() == ["a0", "a1", "a2", "r1", "r2", "r3", "c0", "c1", "d0", "d1", "r4"]
    assert result.candidates["is_reference"].tolist() == [text.startswith("r") for text in result.candidates["text"]]
    assert content(result)[3:] == content(small())[3:], "judgements are of the same candidates as before"
    with pytest.raises(DataError, match="the system name 'reference1' is reserved for references"):
        with_references_as_candidates(result)


def test_a_fingerprint_is_that_of_the_content():
    assert small().fingerprint == small("another name").fingerprint
    chunked = dataclasses.replace(
        small(), candidates=pd.concat([small().candidates[:3], small().candidates[3:]]).reset_index(drop=True)
    )
    assert chunked.fingerprint == small().fingerprint


CHANGES = {
    "a text": ("candidates", "text", 2, "changed"),
    "where a text ends": ("candidates", "text", slice(0, 2), ["a0a", "1"]),
    "empty for missing": ("sources", "doc", 1, ""),
    "a reference's source": ("references", "source", 1, 1),
    "a value": ("ratings", "value", 0, 0.5),
    "a relation": ("preferences", "relation", 0, "<"),
    "a flag": ("preferences", "primary", 0, False),
}


@pytest.mark.parametrize("change", CHANGES)
def test_any_change_of_the_content_changes_the_fingerprint(change):
    name, column, rows, value = CHANGES[change]
    dataset = small()
    changed = getattr(dataset, name).copy()
    changed.iloc[rows, changed.columns.get_loc(column)] = value
    assert dataclasses.replace(dataset, **{name: changed}).fingerprint != dataset.fingerprint


def test_sources_are_named_for_messages():
    dataset = small()
    assert [source_place(dataset, source) for source in range(2)] == ["small[de-en:x]", "small[de-en:y]"]
    assert source_place(dataset, 2).startswith("small[fr-en_GB:")
    assert repr(dataset) == "<Dataset small: 4 sources, 4 references, 7 candidates, 11 ratings, 4 preferences>"


def test_candidates_in_context_know_the_others() -> None:
    dataset = catalogue.load("sample")
    rows = np.arange(len(dataset)) % 3 > 0
    part, plain = dataset.in_context(rows), dataset.select_candidates(rows)
    assert part.fingerprint == plain.fingerprint
    assert part.context is dataset
    assert plain.context is plain
    assert dataset.in_context(np.ones(len(dataset), dtype=bool)) is dataset
    # again, by sources, and with other tables
    again = part.in_context(np.arange(len(part)) % 2 == 0)
    assert again.context is dataset
    np.testing.assert_array_equal(np.flatnonzero(again.context_rows), np.flatnonzero(rows)[::2])
    keep = np.arange(len(dataset.sources)) < 5
    some = part.select_sources(keep)
    assert some.fingerprint == plain.select_sources(keep).fingerprint
    assert some.context.fingerprint == dataset.select_sources(keep).fingerprint
    assert some.context.select_candidates(some.context_rows).fingerprint == some.fingerprint
    changed = dataclasses.replace(part, references=part.references.iloc[:0])
    assert changed.context is changed


@view
def never_pickled(data: Dataset) -> object:
    return lambda: len(data)


def copies(data: Dataset) -> list[Dataset]:
    return [pickle.loads(pickle.dumps(data)), copy.copy(data), copy.deepcopy(data)]


def test_a_data_set_is_pickled_and_copied_with_its_context_but_without_views() -> None:
    data = small()
    part = data.in_context(np.arange(len(data)) != 1)
    for each in (data, part):
        never_pickled(each)
        for copied in copies(each):
            assert copied.fingerprint == each.fingerprint
            assert copied.context.fingerprint == each.context.fingerprint
            np.testing.assert_array_equal(copied.context_rows, each.context_rows)
            assert never_pickled(copied) is not never_pickled(each)


@pytest.mark.parametrize("keep", [[0, 2], [True], [[True] * 7], [1, 0, 1, 1, 0, 1, 1], "x", None, []])
def test_a_selection_takes_a_mask_and_no_numbers_of_rows(keep: object) -> None:
    data = small()
    for select, rows in ((data.select_candidates, 7), (data.in_context, 7), (data.select_sources, 4)):
        with pytest.raises(DataError, match=rf"small: expected a mask, true or false for each of {rows} \w+, found "):
            select(keep)  # type: ignore[arg-type]
        for value, found in (("False", "'False'"), (None, "None"), (pd.NA, "<NA>"), (1, "1")):
            with pytest.raises(DataError, match=rf"each of {rows} \w+, found {found} for \w+ {rows - 1}"):
                select(np.array([True] * (rows - 1) + [value], dtype=object))
        with pytest.raises(DataError, match="found <NA> for"):
            select(pd.array([True] * (rows - 1) + [None], dtype="boolean"))
    kept = data.candidates["system"] == "s0"
    for mask in (kept, kept.to_numpy(), kept.tolist(), kept.astype("boolean"), kept.astype(object)):
        assert data.select_candidates(mask).candidates["system"].tolist() == ["s0"] * 3
