"""Preferences, one column per system, and other forms that people have."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from ranker import from_frame, from_records
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.reading import read_dataset, read_parallel
from ranker.corpora.formats.system_names import short_names
from ranker.errors import DataError
from tests.command_line import Command

SOURCES = ["Hallo", "Tag"]
TEXTS = {"source": SOURCES, "text_a": ["hello", "day"], "text_b": ["hi", "days"]}
MODELS = {"model_a": ["atlas", "birch"], "model_b": ["birch", "cedar"]}


def preferred(dataset: Dataset, column: str) -> list[tuple[str, str, str]]:
    rows, values = dataset.preferences, dataset.candidates[column].to_numpy()
    return [*zip(values[rows["first"]], rows["relation"], values[rows["second"]], strict=True)]


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "json", "parquet", "frame", "records", "arrow"])
def test_preferences_are_the_same_in_every_format(ending: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({**TEXTS, **MODELS, "winner": ["model_b", "tie"], "judge": ["x", "y"]})
    path = tmp_path / f"frame.{ending}"
    match ending:
        case "csv" | "tsv":
            frame.to_csv(path, sep="\t" if ending == "tsv" else ",", index=False)
        case "jsonl" | "json":
            frame.to_json(path, orient="records", lines=ending == "jsonl")
        case "parquet":
            frame.to_parquet(path)
    records = frame.to_dict("records")
    in_memory = {"frame": frame, "arrow": pa.Table.from_pandas(frame)}
    if ending == "records":
        read = from_records(records)
    else:
        read = from_frame(in_memory[ending]) if ending in in_memory else read_dataset(path)
    assert read.fingerprint == from_frame(frame).fingerprint
    assert preferred(read, "text") == [("hello", "<", "hi"), ("day", "=", "days")]
    assert preferred(read, "system") == [("atlas", "<", "birch"), ("birch", "=", "cedar")]
    assert read.preferences["judge"].tolist() == ["x", "y"]
    unknown = from_frame(frame.assign(judge=["", "y"])).preferences["judge"]
    assert unknown.isna().tolist() == [True, False]


@pytest.mark.parametrize(
    ("columns", "column", "expected"),
    [
        (
            {"prompt": SOURCES, "chosen": ["hello", "day"], "rejected": ["hi", "days"]},
            "text",
            [("hello", ">", "hi"), ("day", ">", "days")],
        ),
        (
            {"prompt": SOURCES, "winner": ["hello", "day"], "loser": ["hi", "days"]},
            "text",
            [("hello", ">", "hi"), ("day", ">", "days")],
        ),
        (
            {"prompt": SOURCES, "winner": ["atlas", "birch"], "loser": ["birch", "atlas"]},
            "system",
            [("atlas", ">", "birch"), ("birch", ">", "atlas")],
        ),
        (
            {"winner": ["atlas", "birch"], "loser": ["birch", "cedar"]},
            "system",
            [("atlas", ">", "birch"), ("birch", ">", "cedar")],
        ),
        ({**MODELS, "winner": ["birch", "birch"]}, "system", [("atlas", "<", "birch"), ("birch", ">", "cedar")]),
        ({**TEXTS, "preferred": [1, 2]}, "text", [("hello", ">", "hi"), ("day", "<", "days")]),
        ({**TEXTS, "preferred": ["Both bad", None]}, "text", [("hello", "=", "hi"), ("day", "-", "days")]),
        ({**TEXTS, "preference": ["A", "text_b"]}, "text", [("hello", ">", "hi"), ("day", "<", "days")]),
    ],
)
def test_preferences_have_many_forms(
    columns: dict[str, list[object]], column: str, expected: list[tuple[str, str, str]]
) -> None:
    assert preferred(from_frame(pd.DataFrame(columns)), column) == expected


def test_texts_of_conversations_are_their_last_messages() -> None:
    def said(text: str) -> list[dict[str, str]]:
        return [{"role": "user", "content": "Hallo"}, {"role": "assistant", "content": text}]

    read = from_records([{"prompt": "Hallo", "chosen": said("hello"), "rejected": said("hi")}])
    assert preferred(read, "text") == [("hello", ">", "hi")]


def said(question: str, answer: str) -> str:
    return json.dumps([{"role": "user", "content": question}, {"role": "assistant", "content": answer}])


def test_conversations_are_read_beside_plain_texts() -> None:
    columns = {
        "chosen": [said("Hallo", "hello"), "day", said("Auto", "car")],
        "rejected": [said("Hallo", "hi"), said("Tag", "days"), "[{1}] van"],
    }
    read = from_frame(pd.DataFrame(columns))
    assert preferred(read, "text") == [("hello", ">", "hi"), ("day", ">", "days"), ("car", ">", "[{1}] van")]
    assert read.sources["text"].tolist() == ["Hallo", "Tag", "Auto"]


@pytest.mark.parametrize(
    "cell", [said("Tag", "days")[:-3], str(json.loads(said("Tag", "days"))), "  [ { 'name': 'y', 'content': 'x' } ]"]
)
def test_a_conversation_that_is_no_json_is_refused(cell: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    chosen, rejected = [said("Hallo", "hello"), said("Tag", "day")], [said("Hallo", "hi"), cell]
    pd.DataFrame({"prompt": SOURCES, "chosen": chosen, "rejected": rejected}).to_csv(path, index=False)
    with pytest.raises(DataError, match=r"a.csv:3: column 'rejected': expected a list of messages in JSON, found "):
        read_dataset(path)


def test_equal_sources_are_apart_where_a_system_has_several_texts_for_them(caplog: pytest.LogCaptureFixture) -> None:
    again = {"source": ["Hallo"] * 2, "model_a": ["atlas"] * 2, "model_b": ["birch"] * 2, "winner": ["a", "b"]}
    same = from_frame(pd.DataFrame({**again, "text_a": ["hello"] * 2, "text_b": ["hi"] * 2}))
    assert (len(same.sources), len(same), caplog.messages) == (1, 2, [])
    apart = from_frame(pd.DataFrame({**again, "text_a": ["hello", "hallo"], "text_b": ["hi"] * 2}))
    assert (len(apart.sources), len(apart), len(caplog.messages)) == (2, 4, 1)


WIDE = {"source": ["Hallo", "Hallo"], "reference": ["hello", "hello"], "atlas": ["hello", "hi"], "birch": ["hey", ""]}


def test_a_table_may_have_one_column_per_system(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, command: Command
) -> None:
    frame = pd.DataFrame({**WIDE, "length": [1, 2]})
    frame.to_csv(tmp_path / "frame.csv", index=False)
    (tmp_path / "frame.jsonl").write_text(frame.to_json(orient="records", lines=True))
    read = from_frame(frame)
    assert "read as the outputs of systems: atlas, birch; if not, use --systems" in caplog.text
    assert read.candidates[["source", "system", "text"]].values.tolist() == [
        [0, "atlas", "hello"],
        [0, "birch", "hey"],
        [1, "atlas", "hi"],
        [1, "birch", ""],
    ]
    assert len(read.references) == 2
    for ending in ("csv", "jsonl"):
        assert read_dataset(tmp_path / f"frame.{ending}").fingerprint == read.fingerprint
        assert set(read_dataset(tmp_path / f"frame.{ending}", systems=["birch"]).candidates["system"]) == {"birch"}
    command("data", "convert", str(tmp_path / "frame.csv"), str(tmp_path / "one.jsonl"), "--systems", "birch")
    assert set(read_dataset(tmp_path / "one.jsonl").candidates["system"]) == {"birch"}
    with pytest.raises(DataError, match=r"no column 'brich' \(did you mean 'birch'\?\)"):
        read_dataset(tmp_path / "frame.csv", systems=["brich"])


@pytest.mark.parametrize(
    ("content", "references", "candidates"),
    [
        ({"prompt": "Hallo", "outputs": ["hello", "hi"]}, [], ["hello", "hi"]),
        ({"prompt": "Hallo", "outputs": [{"text": "hello"}]}, [], ["hello"]),
        ({"src": "Hallo", "ref": "hello", "hyps": ["hello", "hi"]}, ["hello"], ["hello", "hi"]),
        ([[{"translation_text": "hello"}, {"translation_text": "hi"}]], [], ["hello", "hi"]),
        ([{"translation_text": "hello"}, {"translation_text": "hi"}], [], ["hello", "hi"]),
        ("S-0\tHallo\nT-0\thello\nH-0\t-.1\thel@@ lo\nD-0\t-.1\thello\nD-0\t-.2\thi\n", ["hello"], ["hello", "hi"]),
    ],
)
def test_outputs_of_programs(content: object, references: list[str], candidates: list[str], tmp_path: Path) -> None:
    path = tmp_path / ("log" if isinstance(content, str) else "x.json")
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    read = read_dataset(path)
    assert (read.references["text"].tolist(), read.candidates["text"].tolist()) == (references, candidates)


def label_studio(by: object, kind: str, value: object, **more: object) -> dict[str, object]:
    return {"completed_by": by, "result": [{"from_name": "given", "type": kind, "value": value}], **more}


def test_exports_of_label_studio(tmp_path: Path) -> None:
    annotations = [
        label_studio(1, "pairwise", {"selected": "left"}),
        label_studio({"id": 2, "email": "b@x.org"}, "choices", {"choices": ["tie"]}),
        label_studio(3, "pairwise", {"selected": "right"}, was_cancelled=True),
    ]
    pair = {"id": 1, "data": {"source": "Hallo", "text1": "hello", "text2": "hi"}, "annotations": annotations}
    rated = {"data": {"src": "Hallo", "mt": "hello"}, "annotations": [label_studio(1, "rating", {"rating": 4})]}
    (tmp_path / "pairs.json").write_text(json.dumps([pair]))
    (tmp_path / "ratings.json").write_text(json.dumps([rated]))
    read = read_dataset(tmp_path / "pairs.json")
    assert preferred(read, "text") == [("hello", ">", "hi"), ("hello", "=", "hi")]
    assert read.preferences["judge"].tolist() == ["1", "b@x.org"]
    ratings = read_dataset(tmp_path / "ratings.json").ratings
    assert ratings[["judge", "kind", "value"]].values.tolist() == [["1", "given", 4.0]]


def test_tasks_of_label_studio_may_name_a_judge_and_a_preference_of_their_own(tmp_path: Path) -> None:
    data = {"source": "Hallo", "text1": "hello", "text2": "hi", "judge": "x", "preferred": ""}
    pair = {"data": data, "annotations": [label_studio(1, "pairwise", {"selected": "left"})]}
    data = {"src": "Hallo", "mt": "hello", "judge": "x"}
    rated = {"data": data, "annotations": [label_studio(1, "rating", {"rating": 4})]}
    (tmp_path / "pairs.json").write_text(json.dumps([pair]))
    (tmp_path / "ratings.json").write_text(json.dumps([rated]))
    assert preferred(read_dataset(tmp_path / "pairs.json"), "text") == [("hello", ">", "hi")]
    assert read_dataset(tmp_path / "ratings.json").ratings["judge"].tolist() == ["1"]


def test_empty_records_are_no_export(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("{}")
    with pytest.raises(DataError, match="expected keys"):
        read_dataset(path)
    path.write_text('{"source": "", "mt": ""}')
    assert len(read_dataset(path)) == 1


def test_output_of_fairseq_has_at_most_ten_million_sentences(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("H-12345678\t-.1\thello\n")
    with pytest.raises(DataError):
        read_dataset(path)


def test_exports_of_pearmut(tmp_path: Path) -> None:
    item = {"src": "Hallo", "tgt": {"atlas": "hello", "birch": "hi"}, "item_id": "d1"}
    scores = [{"atlas": {"score": 90, "error_spans": []}, "birch": {"score": None}}, {"atlas": {"score": 70}}]
    log = [
        *({"user_id": "u1", "item_i": 0, "item": [item], "annotation": [score]} for score in scores),
        {"user_id": "u2", "item_i": 0, "item": [item], "annotation": [{"birch": {"score": 40}}]},
        {"user_id": "u2", "item_i": "random_1", "item": [item], "annotation": [{"birch": {"score": 0}}]},
    ]
    (tmp_path / "x.json").write_text(json.dumps({"empty": [], "campaign": log}))
    read = read_dataset(tmp_path / "x.json")
    assert read.candidates["text"].tolist() == ["hello", "hi"]
    assert read.ratings[["judge", "kind", "value"]].values.tolist() == [["u1", "score", 70.0], ["u2", "score", 40.0]]


ENTRY = {"user_id": "u", "item": [{"src": "s", "tgt": {"B": "t"}}]}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ([{"data": {"text": "x"}, "annotations": [{}]}], "export of Label Studio: .*'result'.*annotations"),
        (
            [{"data": {"text": "x"}, "annotations": [label_studio(1, "rating", 3)]}],
            "export of Label Studio: .*got 'int'.*value",
        ),
        ({"c": [{**ENTRY, "annotation": [{"A": {"score": 3}}]}]}, "export of Pearmut: .*'A' without its translation"),
        ({"c": [{**ENTRY, "annotation": [[1]]}]}, "export of Pearmut: .*got 'array'.*annotation"),
    ],
)
def test_damaged_exports_are_refused(content: object, says: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps(content))
    with pytest.raises(DataError, match=rf"x\.json:1: read as an {says}"):
        read_dataset(tmp_path / "x.json")


def test_votes_without_rows_are_no_data(tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_text("model_a,model_b,winner\n")
    with pytest.raises(DataError, match=r"votes\.csv: "):
        read_dataset(tmp_path / "votes.csv")


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (["atlas.en", "birch.en"], ["atlas", "birch"]),
        (["test.online-A.0.de-en", "test.KIT.4017.de-en"], ["online-A.0", "KIT.4017"]),
        (["gpt-4.1.txt", "gpt-4.5.txt"], ["gpt-4.1", "gpt-4.5"]),
        (["out.1", "out.2"], ["out.1", "out.2"]),
        (["a.x", "a.b.x"], ["a", "a.b"]),
        (["atlas.en"], ["atlas.en"]),
    ],
)
def test_systems_are_called_by_what_differs(files: list[str], names: list[str]) -> None:
    assert short_names(files) == names


def test_files_may_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("ref", "out.en", "x=y.en"):
        Path(name).write_text("a\n")
    named = read_parallel(None, ["ref"], ["old=out.en", "out.en", "x=y.en"])
    assert named.candidates["system"].tolist() == ["old", "out", "x=y"]


ONE_HOT = {"winner_model_a": [1, 0, 0], "winner_model_b": [0, 1, 0], "winner_tie": [0, 0, 1]}
THREE = {"model_a": ["atlas", "atlas", "birch"], "model_b": ["birch", "cedar", "cedar"]}
VOTES = [("atlas", ">", "birch"), ("atlas", "<", "cedar"), ("birch", "=", "cedar")]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "json", "frame", "records"])
@pytest.mark.parametrize(
    "columns",
    [
        ONE_HOT,
        {name: [bool(value) for value in values] for name, values in ONE_HOT.items()},
        {name.replace("_model", ""): [float(value) for value in values] for name, values in ONE_HOT.items()},
        {"winner_model_a": [1, 0, 0], "winner_model_b": [0, 1, 0]},
        {"Winner_1": [1, 0, 0], "Winner_2": [0, 1, 0], "Winner_both_bad": [0, 0, 0], "Winner_draw": [0, 0, 1]},
        {"preferred_response_a": [1, 0, 0], "preferred_response_b": [0, 1, 0], "preferred_neither": [0, 0, 1]},
    ],
    ids=["0/1", "true/false", "floats", "no ties", "two kinds of ties", "responses"],
)
def test_the_winner_may_be_in_columns_of_zeros_and_ones(ending, columns, tmp_path):
    frame = pd.DataFrame({"id": [1, 2, 3], **THREE, **columns})
    path = tmp_path / f"votes.{ending}"
    match ending:
        case "csv":
            frame.to_csv(path, index=False)
        case "jsonl" | "json":
            frame.to_json(path, orient="records", lines=ending == "jsonl")
    read = {"frame": lambda: from_frame(frame), "records": lambda: from_records(frame.to_dict("records"))}
    assert preferred(read.get(ending, lambda: read_dataset(path))(), "system") == VOTES


def test_votes_of_an_arena_have_lists_of_texts_or_messages(tmp_path):
    path = tmp_path / "votes.csv"
    frame = pd.DataFrame(
        {
            **THREE,
            "prompt": ['["Hi", "And?"]', '["Bye"]', '["x"]'],
            "response_a": ['["Hello", null]', '["Bye!"]', '["y"]'],
            "response_b": ['["Hey", "So"]', '["\\u00e4"]', '["[z]"]'],
            **ONE_HOT,
        }
    )
    frame.to_csv(path, index=False)
    votes = read_dataset(path)
    assert votes.sources["text"].tolist() == ["Hi\nAnd?", "Bye", "x"]
    assert preferred(votes, "text") == [("Hello", ">", "Hey\nSo"), ("Bye!", "<", "ä"), ("y", "=", "[z]")]

    def said(*texts: str) -> list[dict[str, object]]:
        return [{"role": "assistant" if at % 2 else "user", "content": text} for at, text in enumerate(texts)]

    conversations = {
        "conversation_a": [said("Hi", "Hello", "And?", "no"), said("Bye", "Bye!"), said("x", "y")],
        "conversation_b": [said("Hi", "Hey", "And?", "So"), said("Bye", "ä"), said("x", "[z]")],
    }
    for message in (message for messages in conversations["conversation_b"] for message in messages):
        message["content"] = [{"type": "text", "text": message["content"]}]
    rows = pd.DataFrame({**THREE, **conversations, "winner": ["model_a", "model_b", "tie (bothbad)"]})
    expected = [("no", ">", "So"), ("Bye!", "<", "ä"), ("y", "=", "[z]")]
    for dataset in (from_records(rows.to_dict("records")), from_frame(rows)):
        assert dataset.sources["text"].tolist() == ["Hi\nAnd?", "Bye", "x"]
        assert preferred(dataset, "text") == expected


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"prompt": ["x"] * 3, "note": ["a", "b", "c"]},
            "columns 'model_a' and 'model_b' compare systems, but no column names the winner; expected winner "
            "(a, b, tie, ...), or winner_model_a, winner_model_b and winner_tie (0 or 1); found model_a, "
            "model_b, prompt, note",
        ),
        (
            {**ONE_HOT, "winner_tie": [0, 0, 0]},
            "columns winner_model_a, winner_model_b, winner_tie: expected 1 in one of them and 0 in the others, "
            "found 0, 0, 0",
        ),
        (
            {**ONE_HOT, "winner_model_b": [1, 0, 0]},
            "columns winner_model_a, winner_model_b, winner_tie: expected 1 in one of them and 0 in the others, "
            "found 1, 1, 0",
        ),
        (
            {"winner_model_a": [0.25, 0, 0], "winner_model_b": [0.75, 1, 0]},
            "columns winner_model_a, winner_model_b: expected 1 in one of them and 0 in the others, found 0.25, 0.75",
        ),
        (
            {**ONE_HOT, "winner": ["a", "b", "tie"]},
            "which is preferred can be read from 'winner' or from 'winner_model_a' and 'winner_model_b' and "
            "'winner_tie': rename or remove one of them",
        ),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_what_has_two_models_is_no_table_of_systems(ending, columns, message, tmp_path):
    path = tmp_path / f"votes.{ending}"
    frame = pd.DataFrame({**THREE, **columns})
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_json(path, orient="records", lines=True)
    with pytest.raises(DataError) as error:
        read_dataset(path)
    assert (error.value.what, error.value.file) == (message, str(path))


TWO = {"source": ["x", "y", "z"], "out1": ["a b", "c d", "e f"], "out2": ["g h", "i j", "k l"]}


@pytest.mark.parametrize("ending", ["csv", "jsonl", "frame"])
@pytest.mark.parametrize(
    ("columns", "column"),
    [
        ({"better_response_id": [0, 1, 0]}, "better_response_id"),
        ({"choice": ["A", "B", "A is better"]}, "choice"),
        ({"label": [1, 2, 1]}, "label"),
        ({"best": ["out1", "out2", "tie"]}, "best"),
        ({"result": ["win", "loss", "tie"]}, "result"),
        ({"Winner": ["a rather long comment on why the first output is preferred", "b", "a"]}, "Winner"),
        ({"human vote": ["left", None, "right"]}, "human vote"),
    ],
    ids=["number", "choice", "label", "best", "result", "winner", "vote"],
)
def test_a_vote_is_no_output_of_a_system(ending, columns, column, tmp_path):
    path = tmp_path / f"votes.{ending}"
    frame = pd.DataFrame({**TWO, **columns})
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_json(path, orient="records", lines=True)
    with pytest.raises(DataError) as error:
        from_frame(frame) if ending == "frame" else read_dataset(path)
    what = (
        f"column {column!r} seems to say which of two outputs or systems is better; expected columns text_a and text_b"
    )
    assert error.value.what.startswith(what)


@pytest.mark.parametrize("column", ["best", "result", "label", "choice"])
def test_systems_may_be_called_as_votes_are(column):
    texts = ["a sentence that was translated", "another of these sentences", "the last of these sentences"]
    dataset = from_frame(pd.DataFrame({"source": ["x", "y", "z"], "first": texts, column: texts[::-1], "other": texts}))
    assert (column in {*dataset.candidates["system"]}) == (column != "label")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"source": ["x"], "Target": ["y"], "pred": ["z"]},
            "column 'Target' may hold references or translations: call it reference or text, or use --systems",
        ),
        (
            {"source": ["x"], "prediction": ["y"], "Model": ["gpt"]},
            "column 'text' is missing; expected at least text (or mt, hyp, hypothesis), and source",
        ),
        (
            {"source": ["x"], "chosen": ["y"], "rejected": [None]},
            "column 'rejected': expected text, found nothing: remove this comparison",
        ),
        (
            {"source": ["x"], "text": ["y"], "references": [["r", "s"]]},
            "column 'references' holds lists, expected a text in each cell: divide it, as in reference1, reference2, ",
        ),
        (
            {"source": ["x"], "system": ["A"], "rater": ["r"], "target": ["y"], "severity": ["Major"]},
            "column 'text' is missing; expected at least text (or mt, hyp, hypothesis), and source",
        ),
    ],
)
def test_what_may_be_no_output_is_not_read_as_one(columns, message):
    with pytest.raises(DataError) as error:
        from_frame(pd.DataFrame(columns))
    assert error.value.what.startswith(message)


def test_lists_are_no_votes(caplog):
    rows = [{"source": "x", "first": "a b", "second": "c d", "labels": ["good", "fluent"]}]
    assert from_records(rows).candidates["system"].tolist() == ["first", "second"]
    assert "ignored, because not judgements: labels" in caplog.text


def test_votes_of_tables_with_missing_numbers_are_read():
    frame = pd.DataFrame({**THREE, "winner": ["1.0", "", "2.0"]})
    assert preferred(from_frame(frame), "system") == [
        ("atlas", ">", "birch"),
        *((first, sign, second) for (first, _, second), sign in zip(VOTES[1:], "-<", strict=True)),
    ]


def test_empty_cells_of_zeros_and_ones_are_an_unknown_preference():
    frame = pd.DataFrame({**THREE, **{name: [None, *values[1:]] for name, values in ONE_HOT.items()}})
    assert preferred(from_frame(frame), "system") == [("atlas", "-", "birch"), *VOTES[1:]]


@pytest.mark.parametrize("record", [{"source": "x", "text_a": "a\ud800", "text_b": "b", "preferred": "a"}])
def test_halves_of_surrogate_pairs_are_refused_in_rows_of_tables_too(record: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text(f"{json.dumps({**record, 'text_a': 'a'})}\n{json.dumps(record)}\n")
    with pytest.raises(DataError, match=r"c\.jsonl:2: expected text that can be encoded in UTF-8, found .*ud800"):
        read_dataset(path)
