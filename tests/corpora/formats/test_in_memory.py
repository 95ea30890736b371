"""Data sets of frames, records and lists of texts."""

from __future__ import annotations

import doctest
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import ranker
from ranker import from_frame, from_records, from_texts
from ranker.corpora import catalogue
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats import in_memory
from ranker.corpora.formats.reading import read_dataset
from ranker.errors import DataError, OptionError
from ranker.extractors.registry import make_metric

FRAME = pd.DataFrame(
    {
        "src": ["a", "b", "a"],
        "ref": ["x", "y", "x"],
        "system": ["A", "A", "B"],
        "mt": ["x", "z", "y"],
        "fluency": [1, 2.5, np.nan],
    }
)
RECORDS = [
    {"source": "a", "references": ["x"], "candidates": {"A": "x", "B": "y"}, "seg_id": 1},
    {"source": "b", "references": ["y"], "candidates": {"A": "z"}, "seg_id": 2},
]


@pytest.fixture(scope="module")
def sample() -> Dataset:
    return catalogue.load("sample")


def test_a_frame_is_read_as_the_same_table_in_a_file(tmp_path):
    FRAME.to_csv(tmp_path / "frame.csv", index=False)
    assert from_frame(FRAME).fingerprint == read_dataset(tmp_path / "frame.csv").fingerprint


def test_types_of_columns_make_no_difference():
    same = FRAME.astype({"system": "category", "src": object, "fluency": "Float64"})
    assert from_frame(same).fingerprint == from_frame(FRAME).fingerprint


def test_records_are_read_as_the_same_lines_of_a_file(tmp_path):
    rows = FRAME.to_dict("records")
    assert from_records(rows).fingerprint == from_frame(FRAME).fingerprint
    assert from_records(iter(RECORDS)).candidates["text"].tolist() == ["x", "y", "z"]
    typed = [{"src": "a", "mt": "b", "ref": ("c", "d"), "fluency": np.float32(3)}]
    assert from_records(typed).ratings["value"].tolist() == [3.0]


def test_texts_are_parallel():
    data = from_texts({"A": ["x", "z"], "B": ["y", "z"]}, ["r", ["s", "t"]], ["eins", "zwei"], lp="de-en", name="mine")
    assert data.name == "mine"
    assert data.candidates["text"].tolist() == ["x", "y", "z", "z"]
    assert data.references["source"].tolist() == [0, 1, 1]
    assert data.sources["text"].tolist() == ["eins", "zwei"]
    assert data.language_pairs == ["de-en"]
    assert from_texts(["x"]).candidates["system"].tolist() == ["translation"]


@pytest.mark.parametrize("levels", [["src", "system"], ["system"], ["ref", "src", "system", "mt"]])
def test_names_in_the_index_are_those_of_columns(levels):
    assert from_frame(FRAME.set_index(levels)).fingerprint == from_frame(FRAME).fingerprint
    assert from_frame(FRAME.set_index(levels, drop=False)).fingerprint == from_frame(FRAME).fingerprint


def test_an_index_of_numbers_or_of_ratings_is_not_read():
    plain = from_frame(FRAME).fingerprint
    for name in (None, "candidate", "adequacy", "other"):
        assert from_frame(FRAME.set_axis(pd.Index([7, 8, 9], name=name))).fingerprint == plain


def test_a_frame_goes_round(sample):
    frame = sample.to_frame()
    assert {"source", "reference1", "system", "text"} <= {*frame}
    again = from_frame(frame)
    pd.testing.assert_frame_equal(again.candidates, sample.candidates)
    pd.testing.assert_frame_equal(again.ratings, sample.ratings)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"fluency": [1, "x", 3]}, "frame, row 1 (index 20): column 'fluency': expected a finite number"),
        ({"system": ["A", None, "B"]}, "frame, row 1 (index 20): column 'system': expected a name, found nothing"),
        ({"system": "A"}, "frame, row 2 (index 30): system 'A' is listed twice for one source"),
        ({"seg_id": 1}, "frame, row 1 (index 20): seg_id '1': source, references or doc differ from row 0"),
        ({"mt": ["a", "b\0", "c"]}, "frame, row 1 (index 20): text contains the character NUL"),
    ],
)
def test_errors_name_the_row(changed, message):
    with pytest.raises(DataError) as raised:
        from_frame(FRAME.assign(**changed).set_axis([10, 20, 30]))
    assert str(raised.value).startswith(message)


def test_a_missing_output_of_a_column_of_a_system_is_refused(tmp_path):
    """It was read as an empty output, as an empty cell of CSV is."""
    wide = pd.DataFrame({"source": ["x", "y"], "reference": ["a", "b"], "A": ["a", None], "B": ["c", "d"]})
    with pytest.raises(DataError, match=r"frame, row 1: column 'A': expected text, found nothing \(pandas reads NA"):
        from_frame(wide)
    wide.to_parquet(tmp_path / "wide.parquet")
    with pytest.raises(DataError, match=r"wide.parquet:2: column 'A': expected text, found nothing: write a text, whi"):
        read_dataset(tmp_path / "wide.parquet")
    with pytest.raises(DataError, match=r"records\[1\]: column 'A': expected text, found nothing: write a text, which"):
        from_records([{"source": "x", "A": "a", "B": "c"}, {"source": "y", "B": "d"}])
    (tmp_path / "wide.csv").write_text("source,A,B\nx,a,c\ny,,d\n", encoding="utf-8")
    assert read_dataset(tmp_path / "wide.csv").candidates["text"].tolist() == ["a", "c", "", "d"]


@pytest.mark.parametrize("column", ["ref", "mt", "fluency"])
def test_lists_beside_texts_are_refused(column):
    """They were read as what Python writes for a list."""
    mixed = FRAME.astype(object)
    mixed.at[1, column] = ["a", "b"]
    what = "finite number or nothing" if column == "fluency" else "text or a number in each cell"
    with pytest.raises(DataError, match=rf"frame, row 1: column '{column}': expected a {what}, found .*a.*b"):
        from_frame(mixed)


@pytest.mark.parametrize("column", ["meta", "foo", "error_spans", "domain_x"])
def test_lists_beside_texts_are_ignored_in_columns_that_are_not_read(column, caplog):
    mixed = {column: [{"a": 1}, "x", ("y", np.array([1.5]))]}
    wide = pd.DataFrame({"source": ["x"] * 3, "A": ["a"] * 3, "B": ["b"] * 3, "chosen": list("cde"), "rejected": "f"})
    assert len(from_frame(FRAME.assign(**mixed))) == 3
    assert len(from_frame(wide.assign(**mixed), systems=["A", "B"])) == 6
    assert len(from_frame(wide.assign(**mixed)).preferences) == 3
    assert sum("ignored, because not judgements" in note and column in note for note in caplog.messages) == 3


def test_marked_errors_may_be_lists_or_json():
    errors = from_frame(FRAME.assign(errors=[[{"severity": "Major"}], "[]", '[{"severity": "minor"}]'])).errors
    assert [*errors["severity"]] == ["major", "minor"]


def test_large_numbers_beside_missing_ones_are_not_rounded():
    table = pa.table(
        {
            "source": ["a", "a", "c"],
            "text": ["x", "y", "z"],
            "system": ["s", "t", "s"],
            "judge": pa.array([2**60 + 1, None, 2**60 + 3], pa.int64()),
            "fluency": [1, 2, 3],
        }
    )
    assert from_frame(table).ratings["judge"].fillna("").tolist() == [str(2**60 + 1), "", str(2**60 + 3)]


def test_errors_of_whole_frames():
    with pytest.raises(DataError, match="frame: column 'text' is missing"):
        from_frame(FRAME.drop(columns="mt"))
    with pytest.raises(DataError, match="mine: contains no source"):
        from_frame(FRAME.iloc[:0], name="mine")
    with pytest.raises(DataError, match="frame: multi-level columns"):
        from_frame(FRAME.set_axis(pd.MultiIndex.from_product([["a"], FRAME.columns]), axis=1))


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([*RECORDS, {"source": "y"}], "records[2]: expected keys"),
        ([RECORDS[0], RECORDS[0]], "records[1]: seg_id '1' is duplicated (first on record 0)"),
        ([{"source": "y", "candidates": {"A": 1}}], "records[0]: candidates.A: expected a string, found 1"),
        (["a"], "records[0]: record: expected a JSON object {...}, found 'a'"),
        ("abc", "records: expected a list of records, {...} each, found 'abc'"),
        ([], "records: contains no source"),
        ([{"source": "y", "candidates": []}], "records: contains no candidate"),
    ],
)
def test_errors_name_the_record(records, message):
    with pytest.raises(DataError) as raised:
        from_records(records)
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a", "b"], [["a", "b"]] * 3), "transpose them with list(zip(*references))"),
        ((["a", "b"], [["a", "b"]]), "transpose them with list(zip(*references))"),
        ((["a", "b"], ["a"]), "2 translations but references for 1"),
        ((["a", "b"], {"r": ["a"]}), "references['r']: expected one reference per translation, 2, found 1"),
        ((["a", "b"], {0: ["a", None]}), "references[0][1]: expected a string, found null"),
        (("ab", ["a"]), "translations: expected a list of strings, found 'ab'"),
        ((["a"], "a"), "references: expected a list, found a string"),
        (({"A": ["a"], "B": []}, ["a"]), "system 'B': expected 1 translation, as for 'A', found 0"),
        ((["a", None], ["a", "b"]), "translations[1]: expected a string, found null"),
        ((["a"], [["b", 3]]), "references[0][1]: expected a string, found 3"),
        ((["a"], ["b"], ["c", "d"]), "sources: expected 1, one per translation, found 2"),
        (({}, ["b"]), "no system"),
        (([],), "contains no source"),
        (({"a", "b"}, ["a", "b"]), "translations: expected a list, found set"),
        ((["a"], [{"a", "b"}]), "references[0]: expected a list, found set"),
        ((["a"], ["b"], {"c": "d"}), "sources: expected a list, found dict"),
        ((np.array("a"), ["a"]), "translations: expected a list, found ndarray"),
        ((pd.DataFrame([["a"]]), ["b"]), "translations: expected a list, found DataFrame: to give a list for each"),
        ((["a"], pd.DataFrame([["b"]])), "references: expected a list, found DataFrame: to give a list for each"),
        ((["a"], pa.table({"r": ["b"]})), "references: expected a list, found Table: to give a list for each"),
    ],
)
def test_errors_of_texts(arguments, message):
    with pytest.raises(DataError) as raised:
        from_texts(*arguments)
    assert message in str(raised.value)


def test_references_that_can_be_read_in_two_ways_are_refused():
    first, second = ["the cat sat", "it rains"], ["a cat sat down", "rain falls"]
    for references in ([first, second], [tuple(first), tuple(second)], (pd.Series(first), pd.Series(second))):
        for read in (from_texts, make_metric("bleu")):
            with pytest.raises(DataError) as raised:
                read(["the cat sat down", "it rains"], references)
            assert str(raised.value) == (
                "texts: references: 2 lists of 2 for 2 translations can be read in two ways: if each list has one "
                "reference per translation, as in sacreBLEU, pass dict(enumerate(references)); if each has the "
                "references of one translation, pass dict(enumerate(zip(*references)))"
            )
    streams, grouped = dict(enumerate([first, second])), dict(enumerate(zip(first, second, strict=True)))
    by_stream = from_texts(first, streams).references
    assert by_stream["text"].tolist() == [first[0], second[0], first[1], second[1]]
    assert from_texts(first, grouped).references["text"].tolist() == [*first, *second]
    assert from_texts(["a", "b"], {}).references["text"].tolist() == []


def test_references_that_can_be_read_in_one_way_are_read():
    assert from_texts(["a"], [["r"]]).references["text"].tolist() == ["r"]
    assert from_texts(["a", "b"], [["r", "s"], ["t"]]).references["source"].tolist() == [0, 0, 1]
    assert from_texts(["a", "b"], ["rs", "tu"]).references["text"].tolist() == ["rs", "tu"]
    assert from_texts(["a", "b"], [["r", "s", "t"], ["u", "v", "w"]]).references["source"].tolist() == [
        *[0] * 3,
        *[1] * 3,
    ]


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("listed", [list, iter, np.array, pd.Series, pa.array, lambda texts: pa.chunked_array([texts])])
def test_lists_of_texts_may_be_arrays_or_iterators(listed, align):
    first, second = ["the cat sat", "it rains"], ["a cat sat down", "rain falls"]
    expected = from_texts(first, {0: second}, first).fingerprint
    assert from_texts(listed(first), {0: listed(second)}, listed(first), align=align).fingerprint == expected
    assert from_texts(listed(first), listed(second), listed(first), align=align).fingerprint == expected
    assert make_metric("chrf").compute(predictions=listed(first), references=listed(second)) == {
        "chrf": float(make_metric("chrf")(first, second))
    }


@pytest.mark.parametrize("lp", ["german", "zh", "*-en"])
def test_a_language_pair_has_two_languages(lp):
    for read in (from_texts, make_metric("bleu")):
        with pytest.raises(DataError, match="expected --lp with one language pair, such as de-en"):
            read(["a"], ["b"], lp=lp)
    assert from_texts(["a"], lp="ENG>zho").language_pairs == ["en-zh"]


def test_a_notebook_shows_sizes_and_texts():
    shown = from_frame(FRAME.assign(mt="<b>"))._repr_html_()
    assert "2 systems" in shown
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown


def test_the_examples_of_the_docstrings():
    assert doctest.testmod(in_memory).failed == 0


def test_what_is_no_frame_is_refused():
    with pytest.raises(DataError, match="expected a data frame with one row per candidate, found list: use ranker"):
        from_frame([{"text": "a"}])  # type: ignore[arg-type]
    for series in (pd.Series(["a"]), pa.chunked_array([["a"]])):
        with pytest.raises(DataError, match=r"one row per candidate, found (Series|ChunkedArray): use ranker"):
            ranker.score(series, "chrf")


class HubDataset:
    """What `datasets.Dataset` has: no Arrow stream, but rows and `to_pandas`."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, key: object) -> object:
        return self.rows[key] if isinstance(key, int) else [row[key] for row in self.rows]

    def to_pandas(self) -> pd.DataFrame:
        return pa.Table.from_pylist(self.rows).to_pandas()


def test_data_sets_of_the_hub_are_frames() -> None:
    flat = [{"source": "Hallo", "reference": "hello", "system": system, "text": system} for system in ("hi", "ho")]
    nested = [
        {"source": "Hallo", "references": ["hello"], "candidates": [{"system": s, "text": s} for s in ("hi", "ho")]}
    ]
    for rows in (flat, nested):
        dataset = ranker.from_frame(HubDataset(rows))
        assert dataset.candidates["text"].tolist() == ["hi", "ho"]
        assert dataset.references["text"].tolist() == ["hello"]
        ranked = ranker.rank(HubDataset(rows), model="full-any")
        assert sorted(ranked["text"]) == ["hi", "ho"]


@pytest.mark.parametrize("column", ["source", "reference", "system", "text", "comment", "chosen"])
def test_halves_of_surrogate_pairs_in_frames_are_refused(column: str) -> None:
    rows = {"source": ["s"], "reference": ["r"], "system": ["A"], "text": ["x"], column: ["x\ud800"]}
    if column == "chosen":
        rows = {"source": ["s"], "rejected": ["x"], column: ["x\ud800"]}
    with pytest.raises(DataError, match=r"frame: expected text that can be encoded in UTF-8, found 'x\\ud800': remove"):
        from_frame(pd.DataFrame(rows, dtype=object))


@pytest.mark.parametrize("place", range(3))
def test_halves_of_surrogate_pairs_in_texts_are_refused(place: int) -> None:
    given = [["x\ud800"] if at == place else ["a"] for at in range(3)]
    with pytest.raises(DataError, match=r"texts: expected text that can be encoded in UTF-8, found 'x\\ud800': remove"):
        from_texts(*given)


ROWS = pd.DataFrame({"source": [*"abcd"] * 2, "reference": "r", "system": ["A"] * 4 + ["B"] * 4, "text": ["x"] * 8})


@pytest.mark.parametrize(
    ("column", "value"),
    [("text", "a\x00b"), ("system", "B" * 5000), ("system", "B "), ("fluency", 1e20), ("judge", "J" * 5000)],
)
def test_messages_name_the_row_of_the_candidate(column: str, value: object) -> None:
    frame = ROWS.assign(fluency=1.0, judge="J")
    frame.loc[7, column] = value
    with pytest.raises(DataError, match=r"^frame, row 7: "):
        from_frame(frame)


def test_an_id_that_was_numbered_is_named_as_such() -> None:
    frame = ROWS.assign(seg_id=[None, "1", "c", "d"] * 2)
    what = r": seg_id '1' is duplicated \(first on {} 0\); one of the two has none and was numbered: give all or none"
    for make, given, unit in ((from_frame, frame, "row"), (from_records, frame.to_dict("records"), "record")):
        with pytest.raises(DataError, match=what.format(unit)):
            make(given)
    with pytest.raises(DataError, match="each source needs a unique one"):
        from_records([{"source": text, "seg_id": "7", "candidates": ["x"]} for text in "ab"])


@pytest.mark.parametrize("call", [ranker.rank, ranker.explain])
@pytest.mark.parametrize("model", [3, ["full"], True, b"full"])
def test_what_is_no_model_is_refused(call: Any, model: object) -> None:
    with pytest.raises(OptionError, match="model: expected the name of an included ranker or the path of a model"):
        call(ROWS, model=model)


def test_what_is_no_scorer_is_refused() -> None:
    with pytest.raises(OptionError, match="scorers: expected a metric or ranker, or several, found int"):
        ranker.compare_systems(ROWS, 3)


@pytest.mark.parametrize("by", [{"annotator": "anna"}, {"annotatorId": 7}, {"judge_id": "j"}, {"evaluator": 3}])
def test_a_column_that_may_name_the_judges_is_pointed_out(by, caplog):
    rows = [{"source": "a", "text": "b", "system": "A", "score": 3, **by}]
    advice = f"if {next(iter(by))} names the judges, call it judge"
    assert [*from_frame(pd.DataFrame(rows)).ratings["kind"]][-1] == "score"
    assert [message.endswith(advice) for message in caplog.messages] == [True]
    for make, given in ((from_frame, pd.DataFrame(rows * 2)), (from_records, rows * 2)):
        with pytest.raises(DataError, match=f"listed twice for one source; .*; {advice}"):
            make(given)
    caplog.clear()
    from_frame(pd.DataFrame(rows).assign(judge="x"))
    from_frame(pd.DataFrame(rows).drop(columns="score"))
    assert "names the judges" not in caplog.text
