"""Word alignments of a corpus: reading, writing, keeping them with the data set, and what is wrong with them."""

from __future__ import annotations

import json

import pytest

from ranker.corpora.dataset import Dataset, concatenate_datasets
from ranker.corpora.formats.pharaoh import Alignments, alignments_of, pharaoh_lines
from ranker.corpora.own_references import with_references_as_candidates
from ranker.corpora.records import Candidate, Record, assemble
from ranker.errors import DataError
from tests.datasets import with_alignments

LINES = ["0-0 1-2", "", "2-0 0-1 1-1"]


def corpus(name: str = "x") -> Dataset:
    """Three sources of three words; the second has two references, the third no output of B."""
    systems = [("A", "B"), ("A", "B"), ("A",)]
    records = [
        Record(
            f"eins zwei drei{index}",
            ["one two three"] * (2 if index == 1 else 1),
            [Candidate(system, f"one two {system}") for system in systems[index]],
        )
        for index in range(3)
    ]
    return assemble(records, name, name)


@pytest.fixture
def attached() -> Dataset:
    return with_alignments(corpus(), [LINES, ["2-2"]], {"A": ["0-0", "1-1", "2-2"], "B": ["0-2", ""]})


def shown(found: Alignments) -> tuple[list[str], list[str]]:
    return pharaoh_lines(found.references), pharaoh_lines(found.candidates)


@pytest.mark.parametrize("link", ["1:2", "-1-0", "1-", "0-0-0", "0-99999999999", "٣-٣"])
def test_what_is_no_link(link: str) -> None:
    dataset = with_alignments(corpus(), candidates={"A": ["0-0", f"0-0 {link}", ""]})
    with pytest.raises(DataError, match=rf"x\[2\]: alignment of 'A': found '{link}', expected links such as 0-0 1-2"):
        alignments_of(dataset)


def test_attached_alignments_are_found_again(attached: Dataset) -> None:
    alignments = alignments_of(attached, source_lengths=[3] * 3, reference_lengths=[3] * 4, candidate_lengths=[3] * 5)
    assert shown(alignments) == (["0-0 1-2", "", "2-2", "0-1 1-1 2-0"], ["0-0", "0-2", "1-1", "", "2-2"])
    assert alignments.references_given.all()
    assert alignments.candidates_given.all()
    assert alignments_of(attached) is alignments


def test_some_or_none() -> None:
    alignments = alignments_of(with_alignments(corpus(), candidates={"A": ["0-0", "1-1", "2-2"]}))
    assert alignments.candidates_given.tolist() == [True, False, True, False, True]
    assert not alignments.references_given.any()
    alignments = alignments_of(corpus())
    assert shown(alignments) == ([""] * 4, [""] * 5)
    assert not alignments.references_given.any()
    assert not alignments.candidates_given.any()


def test_they_stay_with_their_rows(attached: Dataset) -> None:
    selected = attached.select_sources([False, True, True])
    assert shown(alignments_of(selected)) == (["", "2-2", "0-1 1-1 2-0"], ["1-1", "", "2-2"])
    fewer = attached.select_candidates([False, True, True, False, True])
    assert shown(alignments_of(fewer))[1] == ["0-2", "1-1", "2-2"]
    ranked = with_references_as_candidates(attached)
    assert shown(alignments_of(ranked))[1] == ["0-0", "0-2", "0-0 1-2", "1-1", "", "", "2-2", "2-2", "0-1 1-1 2-0"]
    for pair in ([attached, corpus("y")], [corpus("y"), attached]):
        alignments = alignments_of(concatenate_datasets(pair))
        given = [item is attached for item in pair]
        assert alignments.candidates_given.tolist() == [value for value in given for _ in range(5)]
        assert alignments.references_given.tolist() == [value for value in given for _ in range(4)]
        assert len(concatenate_datasets(pair).fingerprint) == 64


def test_they_count_in_the_fingerprint(attached: Dataset) -> None:
    assert attached.fingerprint != corpus().fingerprint
    first, again, other = (with_alignments(corpus(), [[line, "", ""]]).fingerprint for line in ("0-0", "0-0", "0-1"))
    assert first == again != other
    bare = [rows.drop(columns="alignment") for rows in (attached.references, attached.candidates)]
    assert (
        Dataset("x", attached.sources, *bare, attached.ratings, attached.preferences).fingerprint
        == corpus().fingerprint
    )


def test_ranges_are_checked_when_the_words_are_known(attached: Dataset) -> None:
    with pytest.raises(
        DataError, match=r"x\[2\]: alignment of 'A': link 1-1 is out of range: the source sentence has 1 w"
    ):
        alignments_of(
            with_alignments(corpus(), candidates={"A": ["0-0", "1-1", "2-2"]}),
            source_lengths=[3, 1, 3],
            candidate_lengths=[3] * 5,
        )
    with pytest.raises(DataError, match=r"x\[2\]: alignment of 'a reference': link 2-2 .* the target .* has 2 words"):
        alignments_of(attached, reference_lengths=[3, 3, 2, 3])


def test_alignments_come_and_go_with_json(tmp_path):
    from ranker.corpora.formats.reading import read_dataset
    from ranker.corpora.formats.writing import write_dataset
    from ranker.extractors.registry import make

    record = {
        "source": "un deux trois",
        "references": ["one two three"],
        "reference_alignments": ["0-0 1-1 2-2"],
        "candidates": [
            {"system": "A", "text": "one two three", "alignment": "0-0 1-1 2-2"},
            {"system": "B", "text": "three two one", "alignment": "0-2 1-1 2-0"},
        ],
    }
    (tmp_path / "a.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    dataset = read_dataset(tmp_path / "a.jsonl")
    write_dataset(dataset, tmp_path / "b.jsonl")
    assert read_dataset(tmp_path / "b.jsonl").fingerprint == dataset.fingerprint
    order = make("lrscore[alpha=1]").transform(dataset)[:, 0]
    assert order.tolist() == [1, 0]
    record["reference_alignments"] = []
    (tmp_path / "a.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match="reference_alignments: expected 1 alignment, one for each reference, found"):
        read_dataset(tmp_path / "a.jsonl")
