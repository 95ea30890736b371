"""Every format and shape gives the same data set, and what is written is what is read."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ranker import from_frame, from_records
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.reading import read_dataset, read_parallel
from ranker.corpora.formats.writing import write_dataset
from ranker.corpora.records import Candidate, Record, assemble
from ranker.corpora.shards.streaming import parts_of
from ranker.errors import DataError

SOURCES = ["一只猫", "下雨了"]
REFERENCES = ["the cat, sat", "it 'rains'"]
OUTPUTS = {"A": ["a cat sat", "it rain\u2028s"], "B": ["the  cat", ""]}
ROWS = [
    {"source": source, "reference": reference, "system": system, "text": OUTPUTS[system][index]}
    for index, (source, reference) in enumerate(zip(SOURCES, REFERENCES, strict=True))
    for system in OUTPUTS
]


@pytest.fixture(scope="module")
def plain() -> Dataset:
    """The corpus that all shapes below hold."""
    return assemble(
        [
            Record(source, [reference], [Candidate(system, OUTPUTS[system][index]) for system in OUTPUTS])
            for index, (source, reference) in enumerate(zip(SOURCES, REFERENCES, strict=True))
        ],
        "plain",
    )


def records(shape: str) -> list[dict[str, Any]]:
    """The corpus in one of the shapes of a JSON record."""
    if shape == "mt":
        return [
            {"src": row["source"], "ref": row["reference"], "system": row["system"], "mt": row["text"]} for row in ROWS
        ]
    items = []
    for index, (source, reference) in enumerate(zip(SOURCES, REFERENCES, strict=True)):
        outputs = {system: texts[index] for system, texts in OUTPUTS.items()}
        listed = [{"system": system, "text": text} for system, text in outputs.items()]
        items.append(
            {
                "list": {"source": source, "references": [reference], "candidates": listed},
                "object": {"source": source, "references": [reference], "candidates": outputs},
                "one reference": {
                    "source": source,
                    "reference": reference,
                    "candidates": listed,
                    "lp": None,
                    "doc": "",
                },
                "tgt": {"src": source, "ref": reference, "tgt": outputs},
                "refs": {"src": source, "refs": [reference], "tgt": outputs, "meta": {"of": ["another program"]}},
                "ids": {"seg_id": index + 1, "source": source, "references": [reference], "candidates": outputs},
            }[shape]
        )
    return items


SHAPES = ["list", "object", "one reference", "tgt", "refs", "ids", "mt"]


def json_lines(shape: str, **options: Any) -> str:
    return "".join(json.dumps(record, **options) + "\n" for record in records(shape))


def delimited(delimiter: str) -> str:
    frame = pd.DataFrame(ROWS)
    if delimiter == "\t":
        return "".join("\t".join(row) + "\n" for row in [list(frame), *frame.to_numpy().tolist()])
    return frame.to_csv(index=False, lineterminator="\n")


TEXTS = {
    **{f"{shape} lines": (".jsonl", json_lines(shape)) for shape in SHAPES},
    **{f"{shape} array": (".json", json.dumps(records(shape))) for shape in SHAPES},
    "raw characters": (".jsonl", json_lines("list", ensure_ascii=False)),
    "indented array": (".json", json.dumps(records("list"), indent=2)),
    "blank lines between": (".jsonl", "\n \n" + json_lines("tgt").replace("\n", "\n\n\t\n")),
    "no last line end": (".jsonl", json_lines("list").rstrip()),
    "ndjson": (".ndjson", json_lines("list")),
    "lines in .json": (".json", json_lines("list")),
    "array in .jsonl": (".jsonl", json.dumps(records("list"))),
    "csv": (".csv", delimited(",")),
    "csv with blank lines": (".csv", "\n" + delimited(",").replace("\n", "\n\n")),
    "tsv": (".tsv", delimited("\t")),
    "other heads": (".csv", delimited(",").replace("source,reference,system,text", "src, ref_1 ,system,mt")),
    "empty last column": (".csv", delimited(",").replace("\n", ",\n")),
    "upper case": (".CSV", delimited(",")),
    "tabs in .csv": (".csv", delimited("\t")),
    "sniffed json": (".txt", json.dumps(records("list"))),
    "sniffed lines": ("", json_lines("mt")),
    "sniffed csv": (".txt", delimited(",")),
    "sniffed tsv": (".txt", delimited("\t")),
}
LINE_ENDS = {
    "unix": lambda text: text,
    "windows": lambda text: text.replace("\n", "\r\n"),
    "old mac": lambda text: text.replace("\n", "\r"),
    "byte order mark": lambda text: "\ufeff" + text,
    "mark and windows": lambda text: "\ufeff" + text.replace("\n", "\r\n"),
}


@pytest.mark.parametrize("ends", LINE_ENDS)
@pytest.mark.parametrize("form", TEXTS)
def test_every_form_gives_the_same_data_set(form: str, ends: str, plain: Dataset, tmp_path: Path) -> None:
    ending, text = TEXTS[form]
    path = tmp_path / f"corpus{ending}"
    path.write_bytes(LINE_ENDS[ends](text).encode())
    assert read_dataset(path).fingerprint == plain.fingerprint


def test_a_csv_is_quoted_between_tabs_too(plain: Dataset, tmp_path: Path) -> None:
    pd.DataFrame(ROWS).to_csv(tmp_path / "x.csv", index=False, sep="\t", quoting=csv.QUOTE_ALL)
    assert read_dataset(tmp_path / "x.csv").fingerprint == plain.fingerprint
    (tmp_path / "x.csv").write_text('source\ttext\nx\t"a" b\n')
    with pytest.raises(DataError, match=r"x\.csv:2: badly quoted row .*: expected a quote that closes it"):
        read_dataset(tmp_path / "x.csv")


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("first", ["sep={}", '"sep={}"', "SEP={}"])
@pytest.mark.parametrize("separator", [";", ",", "\t"])
def test_the_first_line_for_excel_is_skipped(
    separator: str, first: str, ends: str, plain: Dataset, tmp_path: Path
) -> None:
    table = pd.DataFrame(ROWS).to_csv(index=False, sep=separator, lineterminator=ends)
    for name in ("x.csv", *(["x.tsv", "x"] if separator == "\t" else ["x"])):
        (tmp_path / name).write_bytes(f"{first.format(separator)}{ends}{table}".encode())
        assert read_dataset(tmp_path / name).fingerprint == plain.fingerprint
    (tmp_path / "x.csv").write_text(f"sep={separator}\nsource{separator}text\n\nx\n", newline="")
    with pytest.raises(DataError, match=r"x\.csv:4: expected 2 fields"):
        read_dataset(tmp_path / "x.csv")
    (tmp_path / "x.csv").write_text("sep=|\nsource|text\nx|y\n")
    with pytest.raises(
        DataError, match=r"x\.csv:1: columns are separated by '\|', expected commas, semicolons or tabs"
    ):
        read_dataset(tmp_path / "x.csv")


@pytest.mark.parametrize("form", TEXTS)
def test_gzip_and_stdin_too(form: str, plain: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ending, text = TEXTS[form]
    raw = gzip.compress(text.encode())
    for name in (f"corpus{ending}.gz", f"corpus{ending}"):
        (tmp_path / name).write_bytes(raw)
        assert read_dataset(tmp_path / name).fingerprint == plain.fingerprint
    for piped in (raw, text.encode()):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(piped)))
        dataset = read_dataset("-")
        assert dataset.fingerprint == plain.fingerprint
        assert dataset.name == "stdin"


@pytest.mark.parametrize("kind", ["string", "bytes", "category"])
def test_parquet_with_text_stored_as_programs_do(kind: str, plain: Dataset, tmp_path: Path) -> None:
    frame = pd.DataFrame(ROWS)
    if kind == "bytes":
        frame = frame.map(str.encode)
    elif kind == "category":
        frame = frame.astype("category")
    frame.to_parquet(tmp_path / "corpus.parquet", index=False)
    assert read_dataset(tmp_path / "corpus.parquet").fingerprint == plain.fingerprint
    packed = tmp_path / "packed.parquet.gz"
    packed.write_bytes(gzip.compress((tmp_path / "corpus.parquet").read_bytes()))
    assert read_dataset(packed).fingerprint == plain.fingerprint


def test_a_file_that_does_not_fit_into_memory_is_named(tmp_path, monkeypatch):
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("ranker.corpora.formats.reading._read", fail)
    with pytest.raises(DataError, match=r"x\.json: does not fit into memory: split it"):
        read_dataset(tmp_path / "x.json")


def test_parquet_numbers_as_names(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"seg_id": [1.0, 1.0, None], "source": ["x", "x", "y"], "system": [1, 2, 1], "text": ["a", "", "c"]}
    )
    frame.to_parquet(tmp_path / "x.parquet", index=False)
    dataset = read_dataset(tmp_path / "x.parquet")
    assert dataset.sources["seg_id"].tolist() == ["1", "2"]
    assert dataset.candidates["system"].tolist() == ["1", "2", "1"]
    assert dataset.candidates["text"].tolist() == ["a", "", "c"]
    frame.assign(text=["a", None, "c"]).to_parquet(tmp_path / "x.parquet", index=False)
    with pytest.raises(DataError, match=r"x\.parquet:2: column 'text': expected text, found nothing: write a text"):
        read_dataset(tmp_path / "x.parquet")


NAMES_OF_NOTHING = ["NA", "N/A", "null", "None", "nan", "NaN", "none", "NULL", "-", "<NA>", "#N/A"]


@pytest.mark.parametrize("ending", ["jsonl", "json", "csv", "tsv", "parquet"])
def test_a_word_for_nothing_is_a_text(ending: str, tmp_path: Path) -> None:
    items = [Record(f"{word} {n}", [word], [Candidate(word, word)]) for n, word in enumerate(NAMES_OF_NOTHING)]
    (path,) = write_dataset(assemble(items, "x"), tmp_path / f"x.{ending}")
    again = read_dataset(path)
    assert again.candidates["text"].tolist() == NAMES_OF_NOTHING
    assert again.candidates["system"].tolist() == NAMES_OF_NOTHING
    assert again.references["text"].tolist() == NAMES_OF_NOTHING


@pytest.mark.parametrize("ends", LINE_ENDS)
@pytest.mark.parametrize("last", ["\n", ""])
def test_parallel_files_give_the_same_data_set(ends: str, last: str, plain: Dataset, tmp_path: Path) -> None:
    def write(name: str, lines: list[str]) -> Path:
        (tmp_path / name).write_bytes(LINE_ENDS[ends]("\n".join(lines) + last).encode())
        return tmp_path / name

    outputs = {system: list(texts) for system, texts in OUTPUTS.items()}
    # without a line end an empty last line could not be seen
    outputs["B"][1] = outputs["B"][1] if last else "x"
    dataset = read_parallel(
        write("source", SOURCES),
        [write("reference", REFERENCES)],
        [write(system, texts) for system, texts in outputs.items()],
    )
    if last:
        assert dataset.fingerprint == plain.fingerprint
    assert dataset.candidates["system"].tolist() == ["A", "B", "A", "B"]
    assert dataset.candidates["text"].tolist() == [outputs[system][index] for index in (0, 1) for system in "AB"]
    assert dataset.references["text"].tolist() == REFERENCES


def test_parallel_files_from_stdin_and_gzip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "s.gz").write_bytes(gzip.compress("\n".join(SOURCES).encode()))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"one\ntwo\n")))
    dataset = read_parallel(tmp_path / "s.gz", [], ["-"])
    assert dataset.candidates[["system", "text"]].to_numpy().tolist() == [["stdin", "one"], ["stdin", "two"]]
    assert dataset.name == "s"
    assert not len(dataset.references)


def test_single_records_and_defaults(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    record = {"source": "x", "candidates": ["first", {"text": "second"}, {"system": 7, "text": "third"}]}
    for text in (json.dumps(record), json.dumps(record, indent=4), f"\n\n{json.dumps(record, indent=4)}\n\n"):
        path.write_text(text)
        dataset = read_dataset(path)
        assert dataset.candidates["system"].tolist() == ["candidate1", "candidate2", "7"]
        assert dataset.candidates["text"].tolist() == ["first", "second", "third"]
        assert len(dataset.references) == 0
        assert dataset.sources.to_numpy(object, na_value=None).tolist() == [[None, None, "1", "x"]]
    path.write_text('{"src": "x", "ref": "r", "mt": "only"}')
    assert read_dataset(path, name="mine").name == "mine"
    assert read_dataset(path).candidates["system"].tolist() == ["candidate1"]


def test_records_of_one_candidate_are_grouped_by_source_references_and_ids(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    items = [
        {"src": "x", "ref": "r", "mt": "1"},
        {"src": "y", "ref": "r", "mt": "2"},
        {"src": "x", "ref": "r", "mt": "3", "human": {"fluency": 2}, "is_reference": True},
        {"src": "x", "ref": "r", "mt": "4", "seg_id": "other"},
        {"src": "x", "ref": "s", "mt": "5"},
        {"source": "x", "references": ["r"], "mt": "6", "doc": "d"},
    ]
    path.write_text("\n".join(map(json.dumps, items)))
    dataset = read_dataset(path)
    assert dataset.candidate_source.tolist() == [0, 0, 1, 2, 3, 4]
    assert dataset.candidates["text"].tolist() == ["1", "3", "2", "4", "5", "6"]
    assert dataset.sources["seg_id"].tolist() == ["1", "2", "other", "4", "5"]
    assert dataset.candidates["is_reference"].tolist() == [False, True, False, False, False, False]
    assert dataset.ratings[["candidate", "kind", "value"]].to_numpy().tolist() == [[1, "fluency", 2.0]]


# pairs beside corpora ----------------------------------------------------------------------------------------------

HEADER = "lp\tseg_id\tjudge\tsysA\tsysB\trelation\trankA\trankB\ttask\tprimary"
PAIRS = [
    "-\t1\tj1\tA\tB\t>\t1\t2\t7\t1",
    "-\t2\t-\tB\tA\t<\t-\t-\t-\t0",
    "-\t2\tj2\tA\tB\t=\t1\t1\t8\t1",
    "-\t1\tj2\tB\tA\t-\t-\t-\t-\t1",
]
EXPECTED = [
    [0, 1, ">", "j1", "7", "1", "2", True],
    [3, 2, "<", None, None, None, None, False],
    [2, 3, "=", "j2", "8", "1", "1", True],
    [1, 0, "-", "j2", None, None, None, True],
]


def preferences(dataset: Dataset) -> list[list[Any]]:
    frame = dataset.preferences.astype(object)
    return frame.where(frame.notna(), None).to_numpy().tolist()


@pytest.mark.parametrize("corpus", ["x.jsonl", "x.jsonl.gz", "x.csv", "x.tsv.gz", "x.parquet"])
@pytest.mark.parametrize("pairs", ["x.pairs.tsv", "x.pairs.tsv.gz"])
def test_pairs_beside_a_corpus_are_read_with_it(corpus: str, pairs: str, plain: Dataset, tmp_path: Path) -> None:
    write_dataset(plain, tmp_path / corpus)
    raw = "\r\n".join([HEADER, *PAIRS, ""]).encode("utf-8-sig")
    (tmp_path / pairs).write_bytes(gzip.compress(raw) if pairs.endswith(".gz") else raw)
    dataset = read_dataset(tmp_path / corpus)
    assert preferences(dataset) == EXPECTED
    (tmp_path / "out").mkdir()
    written = write_dataset(dataset, tmp_path / "out" / corpus)
    assert [path.name for path in written] == [corpus, "x.pairs.tsv.gz" if corpus.endswith(".gz") else "x.pairs.tsv"]
    again = read_dataset(written[0])
    assert preferences(again) == EXPECTED
    assert again.fingerprint == dataset.fingerprint


def test_pairs_with_the_required_columns_alone(plain: Dataset, tmp_path: Path) -> None:
    write_dataset(plain, tmp_path / "x.jsonl")
    (tmp_path / "x.pairs.tsv").write_text("sysB\tsysA\tnote\trelation\tseg_id\tlp\nA\tB\tn\t>\t2\t-\n")
    assert preferences(read_dataset(tmp_path / "x.jsonl")) == [[3, 2, ">", None, None, None, None, True]]
    (tmp_path / "x.pairs.tsv").write_text("lp\tseg_id\tjudge\tsysA\tsysB\trelation\n-\t2\t\tA\tB\t>\n")
    assert read_dataset(tmp_path / "x.jsonl").preferences["judge"].isna().all()
    (tmp_path / "x.pairs.tsv").write_text(HEADER)
    assert preferences(read_dataset(tmp_path / "x.jsonl")) == []


def test_pairs_of_another_corpus_are_not_left_beside_what_is_written(plain: Dataset, tmp_path: Path) -> None:
    (tmp_path / "x.pairs.tsv").write_text("\n".join([HEADER, *PAIRS]))
    with pytest.raises(DataError, match=r"x\.pairs\.tsv is next to it and would be read with it: delete it"):
        write_dataset(plain, tmp_path / "x.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["x.pairs.tsv"]
    write_dataset(plain, tmp_path / "y.jsonl")
    (tmp_path / "x.pairs.tsv").rename(tmp_path / "y.pairs.tsv")
    judged = read_dataset(tmp_path / "y.jsonl")
    assert len(write_dataset(judged, tmp_path / "y.csv")) == 2
    with pytest.raises(DataError, match=r"y\.pairs\.tsv is next to it"):
        write_dataset(judged, tmp_path / "y.jsonl.gz")


@pytest.mark.parametrize("target", ["y.csv", "y.csv.gz", "y.pairs.tsv", "y.tsv"])
def test_pairs_of_another_file_are_not_replaced(plain: Dataset, target: str, tmp_path: Path) -> None:
    write_dataset(plain, tmp_path / "y.jsonl")
    (tmp_path / "y.pairs.tsv").write_text("\n".join([HEADER, *PAIRS]))
    judged = read_dataset(tmp_path / "y.jsonl")
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    fewer = replace(judged, preferences=judged.preferences[1:].reset_index(drop=True))
    for dataset in (fewer, plain):
        with pytest.raises(DataError, match=r"y\.pairs\.tsv: holds the preferences of .*y\.jsonl, which need it"):
            write_dataset(dataset, tmp_path / target)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == files
    assert len(write_dataset(fewer, tmp_path / "y.jsonl")) == 2


# size --------------------------------------------------------------------------------------------------------------


ONE_SYSTEM = [
    ("a", "r", "1"),
    ("yes", "ja", "2"),
    ("b", "r", "3"),
    ("yes", "ja", "4"),
    ("c", "r", "5"),
    ("d", "r", "6"),
]


def in_every_form(rows: list[dict[str, Any]], folder: Path) -> list[Path]:
    frame = pd.DataFrame(rows)
    frame.to_csv(folder / "x.csv", index=False)
    frame.to_csv(folder / "x.tsv", index=False, sep="\t")
    frame.to_parquet(folder / "x.parquet", index=False)
    (folder / "x.json").write_text(json.dumps(rows))
    (folder / "x.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return [folder / f"x.{ending}" for ending in ("csv", "tsv", "parquet", "json", "jsonl")]


def test_a_table_of_one_system_has_one_system(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = [{"source": source, "ref": reference, "mt": text} for source, reference, text in ONE_SYSTEM]
    for path in in_every_form(rows, tmp_path):
        caplog.clear()
        dataset = read_dataset(path)
        assert dataset.candidates["system"].tolist() == ["candidate1"] * 6, path
        assert dataset.sources["text"].tolist() == [source for source, *_ in ONE_SYSTEM]
        assert dataset.candidates["text"].tolist() == list("123456")
        assert [*next(parts_of(str(path), 3)).sources["seg_id"]] == ["1", "2", "3"]
        first = {".parquet": "lines 2 and 4", ".json": "lines 1 and 1", ".jsonl": "lines 2 and 4"}
        where = first.get(path.suffix, "lines 3 and 5")
        assert caplog.messages[0] == (
            f"ranker: note: {path}: no column 'system', and only 1 source with several rows (first: {where}): read as "
            "the output of one system; if they are candidates of one source, give them the same seg_id"
        )
    caplog.clear()
    frame = pd.DataFrame(rows)
    for data in (from_frame(frame), from_records(rows)):
        assert data.candidates["system"].tolist() == ["candidate1"] * 6
    assert ["(first: rows 1 and 3)" in caplog.messages[0], "(first: records 1 and 3)" in caplog.messages[1]] == [
        True
    ] * 2


@pytest.mark.parametrize(
    ("rows", "systems"),
    [
        ([("a", "r", "1"), ("a", "r", "2"), ("b", "r", "3")], [1, 2, 1]),
        ([("a", "r", "1"), ("b", "r", "2"), ("a", "r", "3"), ("b", "r", "4")], [1, 2, 1, 2]),
        ([("a", "r", "1"), ("b", "r", "2"), ("c", "r", "2")], [1, 1, 1]),
        ([(*row, "1" if row[0] == "yes" else f"{row[2]}a") for row in ONE_SYSTEM], [1, 1, 2, 1, 1, 1]),
    ],
    ids=["several of most", "several of all", "one of each", "ids"],
)
def test_candidates_of_a_source_without_systems_are_numbered(
    rows: list[tuple[str, ...]], systems: list[int], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    keys = ("source", "ref", "mt", "seg_id")
    for path in in_every_form([dict(zip(keys, row, strict=False)) for row in rows], tmp_path):
        assert read_dataset(path).candidates["system"].tolist() == [f"candidate{number}" for number in systems], path
    assert not caplog.messages


def test_an_output_without_a_system_that_several_people_judged_is_one(tmp_path: Path) -> None:
    rows = [
        {"source": source, "ref": "r", "mt": text, "judge": judge, "adequacy": score}
        for source, text, judge, score in [
            ("a", "x", "j1", 1),
            ("a", "x", "j2", 2),
            ("b", "x", "j1", 3),
            ("b", "x", "j2", 4),
            ("b", "y", "j1", 5),
            ("b", "x", "j1", 6),
        ]
    ]
    for path in in_every_form(rows, tmp_path):
        dataset = read_dataset(path)
        assert dataset.candidates["system"].tolist() == ["candidate1", *(f"candidate{n}" for n in (1, 2, 3))], path
        assert dataset.candidates["text"].tolist() == ["x", "x", "y", "x"]
        assert dataset.ratings[["candidate", "judge", "value"]].to_numpy().tolist() == [
            [0, "j1", 1.0],
            [0, "j2", 2.0],
            [1, "j1", 3.0],
            [1, "j2", 4.0],
            [2, "j1", 5.0],
            [3, "j1", 6.0],
        ]


PLACES = ("source", "reference", "translation")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.jsonl", "x\n", "is JSON or a table by its name, expected one segment per line: give it with --data"),
        ("a.csv.gz", "x\n", "is JSON or a table by its name"),
        ("a.txt", '{"translation": "x"}\n', "looks like JSON or an n-best list, expected one segment per line"),
        ("a.out", "0 ||| x ||| LM= -1 ||| -1\n", "looks like JSON or an n-best list, expected one segment per line"),
    ],
)
@pytest.mark.parametrize("place", PLACES)
def test_what_is_no_plain_text_is_not_read_line_by_line(
    tmp_path: Path, name: str, text: str, message: str, place: str
) -> None:
    (tmp_path / "plain").write_text("x\n", encoding="utf-8")
    (tmp_path / name).write_text(text, encoding="utf-8")
    source, reference, translation = (tmp_path / (name if at == place else "plain") for at in PLACES)
    with pytest.raises(DataError, match=re.escape(message)):
        read_parallel(source, [reference], [translation])


def test_text_that_begins_like_json_is_text(tmp_path: Path) -> None:
    (tmp_path / "a").write_text('{"x"} is a set\n', encoding="utf-8")
    assert read_parallel(None, [], [tmp_path / "a"]).candidates["text"].tolist() == ['{"x"} is a set']


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Hello, world\nA plain line\n", "expected 2 fields as in the first line, found 1"),
        ('Hello, world\n"Quoted" and more, then\n', "badly quoted row (',' expected after '\"')"),
    ],
)
def test_plain_text_with_a_comma_in_its_first_line(tmp_path, text, says):
    (tmp_path / "out.en").write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_dataset(tmp_path / "out.en")
    assert f"out.en:2: {says}" in str(caught.value)
    assert str(caught.value).endswith("; commands that need no human judgements read plain text from -s, -r and -t")


TABS = "have {}, as in a table or with several texts per line, but each line is read as one text: keep one column, as "
TAGS = "are in tags <seg>, which are read as text: remove them, or give the whole test set (SGML or XML)"


@pytest.mark.parametrize(
    ("lines", "note"),
    [
        (["a reference\tanother one"] * 12, f"12 of 12 lines {TABS.format('1 tab')}with cut -f1"),
        (["1\ta text"] * 11 + ["no tab"], f"11 of 12 lines {TABS.format('1 tab')}with cut -f2"),
        ([f"H-{n}\t-0.3\ta text" for n in range(2)], f"2 of 2 lines {TABS.format('2 tabs')}with cut -f3"),
        ([f'<seg id="{n}">a text</seg>' for n in range(12)], f"12 of 12 lines {TAGS}"),
        (["a\ttext"] + ["a text"] * 11, None),
        (["a\ttext"], None),
        (["a\ttext\there", "a\ttext"] * 6, None),
        (["a <seg> in a text"] * 12, None),
    ],
)
@pytest.mark.parametrize("role", ["source", "reference", "translation"])
def test_lines_of_a_table_or_of_a_test_set_are_noted(
    role: str, lines: list[str], note: str | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("source", "reference", "translation"):
        texts = lines if name == role else ["text"] * len(lines)
        (tmp_path / name).write_text("".join(f"{text}\n" for text in texts))
    read_parallel(tmp_path / "source", [tmp_path / "reference"], [tmp_path / "translation"])
    assert caplog.messages == ([f"ranker: note: {tmp_path / role}: {note}"] if note else [])
    caplog.clear()
    read_parallel(None, [tmp_path / "reference"], [tmp_path / "translation"])
    assert len(caplog.messages) == (note is not None and role != "source")


def test_an_empty_cell_before_another_reference_is_no_reference_and_noted(tmp_path, caplog):
    header = "seg_id,source,reference1,reference2,system,text\n"
    (tmp_path / "gap.csv").write_text(f"{header}1,s,a,b,A,a\n2,t,,c,A,c\n3,u,d,,A,d\n")
    dataset = read_dataset(tmp_path / "gap.csv")
    assert dataset.references["text"].tolist() == ["a", "b", "c", "d"]
    (note,) = caplog.messages
    assert note == (
        f"ranker: note: {tmp_path / 'gap.csv'}: 1 line with an empty cell before another reference (first: line 3), "
        "read as no reference; write an empty reference in JSONL"
    )
    caplog.clear()
    (tmp_path / "ragged.csv").write_text(f"{header}1,s,a,b,A,a\n3,u,d,,A,d\n4,v,,,A,d\n")
    assert len(read_dataset(tmp_path / "ragged.csv").references) == 3
    assert not caplog.messages
