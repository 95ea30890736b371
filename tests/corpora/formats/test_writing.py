"""What is written is what is read, and nothing is ever half written."""

from __future__ import annotations

import dataclasses
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.reading import read_dataset
from ranker.corpora.formats.writing import records_of, write_dataset
from ranker.corpora.marked_errors import MarkedError
from ranker.corpora.own_references import own_texts
from ranker.corpora.records import Candidate, Record, assemble
from ranker.corpora.schema import table
from ranker.errors import DataError
from ranker.files import read_text
from ranker.storage.escapes import csv_text
from tests.effort import examples, further, thorough

TRICKY = [
    "",
    " ",
    "plain",
    'quo"ted, and "commas"',
    "'",
    "no\u00a0break, line\u2028separator, next\u0085line, form\x0cfeed",
    "🙂👩‍👩‍👧‍👦 𝒳",
    "日本語と한국어",
    "مرحبا ‏بالعالم",
    "e\u0301 against é",
    "\ufeffmark",
    "NaN",
    "null",
    "1e999",
    "=1+1",
    "#",
    "\\n\\",
]


def rich() -> Dataset:
    """A corpus with everything that a record can hold."""
    items = [
        Record(
            text,
            ["one reference", text + "x"][: index % 3],
            [
                Candidate(
                    "sys A", text, [("fluency", "j1", 3.0), ("fluency", "j 2", 1 / 3), ("mqm_total", None, -0.0)]
                ),
                Candidate("ü", TRICKY[-1 - index], [("mqm_total", None, 1e-300)], is_reference=index == 2),
                Candidate("unjudged", "x"),
            ][: 1 + index % 4],
            lp=("de-en", "zh-en", None)[index % 3],
            doc=None if index % 2 else f"doc {index}",
            seg_id=f"s{index}" if index % 2 else str(index),
            line=index,
        )
        for index, text in enumerate(TRICKY)
    ]
    return assemble(items, "rich")


@pytest.mark.parametrize(
    "ending", ["jsonl", "json", "csv", "tsv", "parquet", "jsonl.gz", "json.gz", "csv.gz", "tsv.gz"]
)
def test_everything_survives_writing_and_reading(ending: str, tmp_path: Path) -> None:
    dataset = rich()
    (written,) = write_dataset(dataset, tmp_path / f"rich.{ending}")
    again = read_dataset(written)
    assert records_of(again) == records_of(dataset)
    assert again.fingerprint == dataset.fingerprint
    assert again.name == "rich"
    write_dataset(again, tmp_path / f"again.{ending}")
    if "json" not in ending:
        assert (tmp_path / f"again.{ending}").read_bytes() == written.read_bytes()


@pytest.mark.parametrize("name", ["x.jsonl.GZ", "x.JSON", "x.json.jsonl", "x.Json.Gz"])
def test_the_last_ending_counts_in_upper_and_lower_case(name: str, tmp_path: Path) -> None:
    rows = [{"seg_id": text, "source": text, "candidates": {"A": "a", "B": "b"}} for text in "st"]
    (tmp_path / "in.json").write_text(json.dumps(rows))
    (tmp_path / "in.pairs.tsv").write_text("lp\tseg_id\tsysA\tsysB\trelation\n-\ts\tA\tB\t>\n")
    written = write_dataset(read_dataset(tmp_path / "in.json"), tmp_path / name)
    assert all(path.read_bytes().startswith(b"\x1f\x8b") == name.lower().endswith("gz") for path in written)
    assert read_text(written[0]).startswith("[\n" if "jsonl" not in name else "{")
    again = read_dataset(written[0])
    assert (len(again), len(again.preferences)) == (4, 1)


def test_names_of_references_are_kept_by_json_alone(tmp_path: Path) -> None:
    record = {"source": "x", "references": ["r", "s"], "reference_names": ["me", "you"], "candidates": {"A": "a"}}
    (tmp_path / "x.json").write_text(json.dumps(record))
    dataset = read_dataset(tmp_path / "x.json")
    write_dataset(dataset, tmp_path / "y.jsonl")
    assert read_dataset(tmp_path / "y.jsonl").references["name"].tolist() == ["me", "you"]
    write_dataset(dataset, tmp_path / "y.csv")
    assert read_dataset(tmp_path / "y.csv").references["text"].tolist() == ["r", "s"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_tables_refuse_references_that_only_their_names_tell(ending: str, tmp_path: Path) -> None:
    outputs = [{"system": "me", "text": "r", "is_reference": True}, {"system": "A", "text": "a"}]
    record = {"source": "x", "references": ["r", "s"], "reference_names": ["me", "you"], "candidates": outputs}
    path = tmp_path / "x.json"
    path.write_text(json.dumps(record))
    write_dataset(read_dataset(path), tmp_path / f"y.{ending}")
    assert own_texts(read_dataset(tmp_path / f"y.{ending}")) == own_texts(read_dataset(path)) == {0: "r"}
    outputs[0]["text"] = "corrected"
    path.write_text(json.dumps(record))
    says = f"(?i)x: contains a candidate whose text differs from the reference of its name, which {ending} cannot"
    with pytest.raises(DataError, match=says):
        write_dataset(read_dataset(path), tmp_path / f"z.{ending}")
    write_dataset(read_dataset(path), tmp_path / "z.jsonl")
    assert own_texts(read_dataset(tmp_path / "z.jsonl")) == {0: "r"}


def test_a_judge_of_white_space_differs_from_none(tmp_path: Path) -> None:
    rows = [
        {"source": text, "candidates": [{"system": "A", "text": "a", "human": {"x": value}}]}
        for text, value in zip("st", (1, {" ": 2}), strict=True)
    ]
    (tmp_path / "x.json").write_text(json.dumps(rows))
    dataset = read_dataset(tmp_path / "x.json")
    write_dataset(dataset, tmp_path / "y.parquet")
    assert read_dataset(tmp_path / "y.parquet").fingerprint == dataset.fingerprint


# arbitrary texts ---------------------------------------------------------------------------------------------------

anything = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
names = anything.filter(bool)
numbers = st.floats(-1e15, 1e15)
ratings = st.dictionaries(names, numbers | st.dictionaries(names, numbers, max_size=2), max_size=2)


@st.composite
def corpora(draw: st.DrawFn) -> list[dict[str, Any]]:
    return [
        {
            "lp": draw(st.none() | anything),
            "doc": draw(st.none() | anything),
            "seg_id": f"{draw(anything)}{index}",
            "source": draw(anything),
            "references": draw(st.lists(anything, max_size=3)),
            "candidates": [
                {"system": system, "text": draw(anything), "human": draw(ratings), "is_reference": draw(st.booleans())}
                for system in draw(st.lists(names, min_size=1, max_size=3, unique=True))
            ],
        }
        for index in range(draw(st.integers(1, 3)))
    ]


@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(corpora())
def test_any_text_survives_or_the_format_says_what_it_cannot_hold(
    tmp_path_factory: pytest.TempPathFactory, corpus: list[dict[str, Any]]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / "in.json").write_text(json.dumps(corpus))
    try:
        dataset = read_dataset(folder / "in.json")
    except DataError as error:
        if "look the same" not in str(error):
            raise
        return
    assert dataset.sources["text"].tolist() == [record["source"] for record in corpus]
    for ending in ("jsonl", "json.gz", "csv", "tsv", "parquet"):
        path = folder / f"out.{ending}"
        refusal = ""
        try:
            write_dataset(dataset, path)
        except DataError as error:
            refusal = str(error)
        if refusal:
            assert "json" not in ending, refusal
            assert "use JSONL" in refusal
            assert not path.exists()
            continue
        assert read_dataset(path).fingerprint == dataset.fingerprint, ending


# like formulas, with and without an apostrophe before
formulas = st.builds("".join, st.tuples(st.sampled_from(["", "'", "''"]), st.sampled_from("=+-@\t\rx"), anything))


@pytest.mark.parametrize("raw", ["0", "1"])
@settings(max_examples=examples(60), deadline=None)
@given(rows=st.lists(st.tuples(formulas, formulas, formulas), min_size=1, max_size=4))
@thorough
def test_texts_like_formulas_survive_csv(
    tmp_path_factory: pytest.TempPathFactory, raw: str, rows: list[tuple[str, str, str]]
) -> None:
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    items = [
        Record(source, [reference], [Candidate("A", text), Candidate(f"{text}.", "b")], seg_id=str(number))
        for number, (source, reference, text) in enumerate(rows)
    ]
    dataset = assemble(items, "x")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RANKER_CSV_FORMULAS", raw)
        write_dataset(dataset, path)
        assert read_dataset(path).fingerprint == dataset.fingerprint
        frame = dataset.to_frame().drop(columns=["lp", "doc"])
        path.write_text(csv_text([[*frame], *frame.itertuples(index=False)]), newline="")
    assert read_dataset(path).fingerprint == dataset.fingerprint


def test_what_a_table_cannot_hold(tmp_path: Path) -> None:
    def refusal(path: str, record: Record) -> str:
        with pytest.raises(DataError) as refused:
            write_dataset(assemble([record], "mine"), tmp_path / path)
        assert not list(tmp_path.iterdir())
        return str(refused.value)

    tabbed = Record("x\ty", [], [Candidate("A", "a")])
    what = "mine: contains tabs or line breaks in column 'source', which TSV cannot represent: use JSONL or Parquet"
    assert refusal("x.tsv", tabbed) == what
    aligned = Record("x", ["r"], [Candidate("A", "a", alignment="0-0")])
    for kind in ("csv", "tsv", "parquet"):
        assert refusal(f"x.{kind}", aligned) == (
            f"mine: contains word alignments, which {kind.upper() if kind != 'parquet' else 'Parquet'} cannot "
            "represent: use JSONL"
        )
    assert "an empty reference" in refusal("x.csv", Record("x", [""], [Candidate("A", "a")]))
    assert "mine[1] has no candidate" in refusal("x.parquet", Record("x", [], []))
    for kind in ("text", "reference1", "mt", " fluency", "judge"):
        rated = Record("x", [], [Candidate("A", "a", [(kind, None, 1.0)])])
        assert f"kind of judgement {kind!r} cannot be a column name" in refusal("x.csv", rated)


@pytest.mark.parametrize("corpus", ["wmt12-rr", further("wmt15-rr"), "ted-fluency", "ted21-mqm"])
@thorough
def test_real_data_survive(corpus: str, shared: Path, tmp_path: Path) -> None:
    with gzip.open(shared / "data" / f"{corpus}.jsonl.gz", "rt", encoding="utf-8") as stream:
        lines = [next(stream) for _ in range(60)]
    keys = {(record["lp"], str(record["seg_id"])) for record in map(json.loads, lines)}
    (tmp_path / "real.jsonl").write_text("".join(lines), encoding="utf-8")
    pairs = shared / "data" / f"{corpus}.pairs.tsv.gz"
    if pairs.exists():
        with gzip.open(pairs, "rt", encoding="utf-8") as stream:
            selected = [next(stream), *(line for line in stream if tuple(line.split("\t")[:2]) in keys)]
        (tmp_path / "real.pairs.tsv").write_text("".join(selected), encoding="utf-8")
    dataset = read_dataset(tmp_path / "real.jsonl")
    assert len(dataset.sources) == 60
    assert len(dataset) == sum(len(json.loads(line)["candidates"]) for line in lines)
    assert len(dataset.preferences) == (len(selected) - 1 if pairs.exists() else 0)
    assert len(dataset.ratings) == sum(len(item["human"]) for line in lines for item in json.loads(line)["candidates"])
    nameless = table("references", {"source": dataset.references["source"], "text": dataset.references["text"]})
    unnamed = dataclasses.replace(dataset, references=nameless)
    for ending in ("jsonl.gz", "json", "csv", "tsv.gz", "parquet"):
        folder = tmp_path / ending
        folder.mkdir()
        again = read_dataset(write_dataset(dataset, folder / f"x.{ending}")[0])
        assert again.fingerprint == (dataset if "json" in ending else unnamed).fingerprint, ending


def one_source() -> Dataset:
    return assemble([Record("x", ["r"], [Candidate("A", "a")])], "mine")


@pytest.mark.parametrize("ending", ["jsonl", "json.gz", "csv", "tsv", "parquet"])
@pytest.mark.parametrize("fails", ["os.fsync", "pathlib.Path.replace"])
def test_a_full_disk_leaves_what_was_there(
    ending: str, fails: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"x.{ending}"
    path.write_bytes(b"before")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fails, full)
    with pytest.raises(DataError, match="cannot be written: No space left on device"):
        write_dataset(one_source(), path)
    assert [item.name for item in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == b"before"


def test_a_rating_by_nobody_beside_those_of_judges_is_kept(tmp_path: Path) -> None:
    ratings = [("fluency", "J", 4.0), ("fluency", None, 3.0)]
    dataset = assemble([Record("x", ["r"], [Candidate("A", "a", ratings)])], "mine")
    assert read_dataset(write_dataset(dataset, tmp_path / "x.jsonl")[0]).fingerprint == dataset.fingerprint


def test_ratings_called_errors_are_not_lost_beside_marked_errors(tmp_path: Path) -> None:
    marked = Candidate("A", "a", [("errors", None, 3.0)], errors=[MarkedError("major")])
    with pytest.raises(DataError, match="kind of judgement 'errors' cannot be a column name"):
        write_dataset(assemble([Record("x", ["r"], [marked])], "mine"), tmp_path / "x.csv")
