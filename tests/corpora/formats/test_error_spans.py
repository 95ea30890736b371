"""Files of marked errors for other programs hold what was marked, character by character."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranker import from_records
from ranker.cli.data import MarkedForm
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.error_spans import (
    FORMS,
    place_of_units,
    units_of,
    units_of_place,
    with_errors_of,
    write_marked,
)
from ranker.corpora.formats.reading import read_dataset
from ranker.corpora.formats.writing import write_dataset
from ranker.corpora.marked_errors import MarkedError
from ranker.errors import DataError
from tests.command_line import Command

ENDINGS = {"mqm": ".tsv", "esa": ".jsonl", "pearmut": ".json", "label-studio": ".json"}
TEXTS = [
    "👍🏽 good 🙂 day",
    "e\u0301te\u0301 d\u2019ici",
    "שלום 🙂 עולם",
    "नमस्ते दुनिया",
    "您好，世界。",
    "ошибка 𝒳 здесь",
]


def record(number: int, text: str) -> dict[str, Any]:
    size = len(text)
    marks = [
        {"start": 0, "end": 2, "severity": "major", "category": "Accuracy/Omission", "rater": "p"},
        {"start": 2, "end": size, "severity": "minor", "rater": "p"},
        {"severity": "minor", "category": "Accuracy/Omission", "rater": "q"},
    ]
    candidates = [
        {"system": "A", "text": text, "human": {"esa": {"p": 60, "q": 90}}, "raters": ["p", "q"], "errors": marks},
        {"system": "B", "text": "x", "human": {"esa": {"p": 100}}, "raters": ["p"], "errors": []},
    ]
    return {
        "source": "🙂 abc",
        "references": ["r"],
        "lp": "de-en",
        "doc": "d",
        "seg_id": number,
        "candidates": candidates,
    }


def marks(dataset: Dataset) -> list[list[object]]:
    errors = dataset.errors.astype(object)
    rows = errors.where(errors.notna(), None).drop(columns="candidate").to_numpy().tolist()
    systems = dataset.candidates["system"].iloc[dataset.errors["candidate"]]
    seg_ids = dataset.sources["seg_id"].iloc[dataset.candidate_source[dataset.errors["candidate"]]]
    keys = zip(seg_ids.str.rsplit(":").str[-1], systems, strict=True)
    return sorted(([*key, *row] for key, row in zip(keys, rows, strict=True)), key=repr)


def test_every_form_is_an_option() -> None:
    assert {*get_args(MarkedForm)} == {*FORMS} == {*ENDINGS}


@pytest.mark.parametrize("form", FORMS)
def test_what_was_marked_is_written_and_read_again(form: str, tmp_path: Path) -> None:
    dataset = from_records([record(number, text) for number, text in enumerate(TEXTS, 1)])
    (path,) = write_dataset(dataset, tmp_path / f"x{ENDINGS[form]}", form)
    again = read_dataset(path)
    assert marks(again) == marks(dataset)
    kind = {"mqm": None, "pearmut": "score"}.get(form, "esa")
    if kind:
        scores = again.ratings[again.ratings["kind"] == kind]
        assert sorted(scores["value"]) == sorted(dataset.ratings["value"])
    assert again.candidates["text"][again.candidates["system"] == "A"].tolist() == TEXTS


@pytest.mark.parametrize("form", FORMS)
def test_marks_need_no_scores(form: str, tmp_path: Path) -> None:
    records = [record(number, text) for number, text in enumerate(TEXTS, 1)]
    for candidate in (candidate for one in records for candidate in one["candidates"]):
        del candidate["human"]
    dataset = from_records(records)
    (path,) = write_dataset(dataset, tmp_path / f"x{ENDINGS[form]}", form)
    assert marks(read_dataset(path)) == marks(dataset)


@pytest.mark.parametrize("form", ["pearmut", "label-studio"])
@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("scored", [True, False])
def test_judgements_without_errors_are_kept_or_noted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, form: str, marked: bool, scored: bool
) -> None:
    errors = [{"severity": "major", "rater": "r1", "start": 0, "end": 1}] * marked
    first = {"system": "A", "text": "a dog", "errors": errors, "raters": ["r1", "r2"], "human": {}}
    score = {"score": {"r1": 90}} if scored else {}
    second = {"system": "B", "text": "the dog", "errors": [], "raters": ["r1", "r2"], "human": score}
    record = {"lp": "de-en", "seg_id": "1", "source": "Der Hund", "references": [], "candidates": [first, second]}
    (tmp_path / "x.jsonl").write_text(json.dumps(record), encoding="utf-8")
    dataset = read_dataset(tmp_path / "x.jsonl")
    what = "without an error or a score, which this format does not tell from unfinished ones"
    if not marked and not scored:
        with pytest.raises(DataError, match=f"contains only judgements {what}: use another format"):
            write_marked(dataset, form)
        return
    (tmp_path / "y.json").write_bytes(write_marked(dataset, form))
    again = read_dataset(tmp_path / "y.json")
    lost = len(dataset.errors) - len(again.errors)
    notes = [message for message in caplog.messages if what in message]
    if marked and (form == "label-studio" or not scored):
        assert (lost, notes) == (0, [])
        return
    # the output with a score was looked at
    assert lost == (2 if marked else 4)
    assert len(notes) == 1
    assert f"left out {2 if marked else 3} judgements {what}" in notes[0]


def test_the_last_answer_in_pearmut_counts_and_who_skips_gives_none(tmp_path: Path) -> None:
    item = {"src": "s", "tgt": {"A": "abc", "B": "xyz"}, "item_id": 1}
    span = {"start_i": 0, "end_i": 1, "severity": "minor"}
    answers = [
        {"A": {"score": 10, "error_spans": [span]}, "B": {"score": None, "error_spans": []}},
        {"A": {"score": 20, "error_spans": [{**span, "end_i": 2}]}},
        {"A": {"score": None, "error_spans": []}},
    ]
    log = [{"user_id": "u", "item": [item], "annotation": [answer]} for answer in answers]
    (tmp_path / "x.json").write_text(json.dumps({"c": log}))
    read = read_dataset(tmp_path / "x.json")
    assert read.ratings["value"].tolist() == [20]
    assert [row[1:5] for row in marks(read)] == [["A", "u", 0, 3]]


def pearmut_entry(user: str, item: object, score: float, validation: object = None) -> dict[str, Any]:
    told = {"src": f"s{item}", "tgt": {"A": f"a{item}"}, "item_id": item}
    told |= {} if validation is None else {"validation": validation}
    return {"user_id": user, "item_i": item, "item": [told], "annotation": [{"A": {"score": score}}]}


def pearmut_reset(user: str | None, item: object) -> dict[str, Any]:
    return {"user_id": user, "item_i": item, "annotation": "__RESET__"}


def scores(dataset: Dataset) -> list[list[object]]:
    seg_ids = dataset.sources["seg_id"].iloc[dataset.candidate_source[dataset.ratings["candidate"]]]
    return sorted([*row] for row in zip(seg_ids, dataset.ratings["judge"], dataset.ratings["value"], strict=True))


@pytest.mark.parametrize(
    ("resets", "kept", "count"),
    [
        ([pearmut_reset("u", 0), pearmut_reset("u", 1)], [["0", "v", 2.0]], "2 annotations"),
        ([pearmut_reset("v", 0)], [["1", "u", 3.0]], "1 annotation"),
        ([pearmut_reset(None, 0)], [["1", "u", 3.0]], "2 annotations"),
        ([pearmut_reset("None", 0), pearmut_reset("u", "welcome_0")], [["0", "v", 2.0], ["1", "u", 3.0]], ""),
    ],
)
def test_annotations_that_were_reset_in_pearmut_are_left_out(
    resets: list[dict[str, Any]], kept: list[list[object]], count: str, tmp_path: Path, caplog: Any
) -> None:
    before = [pearmut_entry("u", 0, 1), pearmut_entry("v", 0, 2), pearmut_entry("u", 1, 3)]
    log = [*resets[:1], *before, *resets, pearmut_entry("u", 0, 5)]
    # a campaign that is downloaded with it has users of its own
    other = [pearmut_entry("u", 2, 4), pearmut_entry("u", 1, 6)]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in log))
    (tmp_path / "x.json").write_text(json.dumps({"c": log, "d": other}))
    found = scores(read_dataset(tmp_path / "x.jsonl"))
    assert found == [["0", "u", 5.0], *kept]
    note = f"left out {count} reset in Pearmut (the first on line "
    assert (note in caplog.text) if count else not caplog.text
    assert scores(read_dataset(tmp_path / "x.json")) == [
        *(row for row in found if row[0] == "0"),
        ["1", "u", 6.0],
        ["2", "u", 4.0],
    ]


@pytest.mark.parametrize("rules", [{"A": {"score": [0, 15]}}, {"A": [{"score": [0, 15]}]}, [{"score": [0, 15]}]])
@pytest.mark.parametrize("none", [None, {}, [], {"A": None}, [[]]])
def test_attention_checks_of_pearmut_are_left_out(
    rules: object, none: object, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = [pearmut_entry("u", 0, 1, none), pearmut_entry("u", 1, 2, rules), pearmut_entry("v", 1, 3, rules)]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in log))
    assert scores(read_dataset(tmp_path / "x.jsonl")) == [["0", "u", 1.0]]
    note = "left out 2 annotations of tutorials or attention checks (the first on line 2)"
    assert [record.message for record in caplog.records] == [f"ranker: note: {tmp_path / 'x.jsonl'}: {note}"]


def test_sliders_of_pearmut_are_ratings(tmp_path: Path) -> None:
    item = {"src": "Hallo", "tgt": {"A": "Hello", "B": "Hi"}, "item_id": "i0"}
    span = {"start_i": 0, "end_i": 1, "severity": "minor", "category": None}
    answers: list[dict[str, Any]] = [
        {"A": {"score": None, "sliders": {"Fluency": 5, "Adequacy": 4.5}, "error_spans": []}},
        {"B": {"score": None, "sliders": {"Fluency": 2, "Adequacy": None}, "error_spans": [span]}},
        # who moves no slider has not answered
        {"A": {"score": None, "sliders": {"Fluency": None}}, "B": {"score": None, "sliders": None}},
    ]
    for at, answered in enumerate((answers, answers[:1])):
        log = [
            {"user_id": f"u{by}", "item_i": 0, "item": [item], "annotation": [answer]}
            for by, answer in enumerate(answered)
        ]
        (tmp_path / f"{at}.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in log))
    read = read_dataset(tmp_path / "0.jsonl")
    assert read.ratings[["candidate", "judge", "kind", "value"]].values.tolist() == [
        [0, "u0", "Adequacy", 4.5],
        [0, "u0", "Fluency", 5],
        [1, "u1", "Fluency", 2],
    ]
    assert [row[1:6] for row in marks(read) if row[3] is not None] == [["B", "u1", 0, 2, "minor"]]
    assert {*read.errors["rater"]} == {"u0", "u1"}
    assert [*read_dataset(tmp_path / "1.jsonl").ratings["value"]] == [4.5, 5]


@pytest.mark.parametrize(
    ("judged", "name"), [({"score": 3, "sliders": {"Score": 5}}, "Score"), ({"sliders": {"Source": 1}}, "Source")]
)
def test_sliders_of_pearmut_called_like_other_columns_are_refused(
    judged: dict[str, Any], name: str, tmp_path: Path
) -> None:
    entry = {"user_id": "u", "item": [{"src": "s", "tgt": {"A": "a"}}], "annotation": [{"A": judged}]}
    (tmp_path / "x.json").write_text(json.dumps({"c": [entry]}))
    with pytest.raises(DataError, match=f"read as an export of Pearmut: slider '{name}' has the name of another"):
        read_dataset(tmp_path / "x.json")


@pytest.mark.parametrize("form", ["mqm", "label-studio"])
def test_marks_in_the_source_are_kept(form: str, tmp_path: Path) -> None:
    wanted = record(1, "abc")
    wanted["candidates"][0]["errors"][1]["side"] = "source"
    dataset = from_records([wanted])
    (path,) = write_dataset(dataset, tmp_path / f"x{ENDINGS[form]}", form)
    assert marks(read_dataset(path)) == marks(dataset)
    (path,) = write_dataset(dataset, tmp_path / "x.json", "pearmut")
    assert [row[3:6] for row in marks(read_dataset(path)) if row[5] == "minor"] == [[None, None, "minor"]] * 2


def test_marks_of_the_source_without_a_place_are_noted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    mark = {"severity": "minor", "rater": "p", "side": "source"}
    candidate = {"system": "A", "text": "a", "errors": [mark, {**mark, "start": 0, "end": 1}]}
    write_dataset(from_records([{"source": "s", "candidates": [candidate]}]), tmp_path / "x.tsv", "mqm")
    assert "1 error of the source without a place: written as errors of the translation" in caplog.text


@pytest.mark.parametrize("form", ["esa", "pearmut"])
def test_marks_that_become_missing_content_are_noted(
    form: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    places = [{"side": "source", "start": 0, "end": 1}, {"side": "source"}, {"start": 1, "end": 1}]
    errors = [{"severity": "minor", "rater": "p", **place} for place in [*places, {"start": 0, "end": 1}, {}]]
    candidate = {"system": "A", "text": "ab", "errors": errors, "raters": ["p", "q"]}
    (path,) = write_dataset(
        from_records([{"source": "s", "lp": "de-en", "candidates": [candidate]}]), tmp_path / f"x{ENDINGS[form]}", form
    )
    assert "3 errors in the source, or between characters: written as missing content" in caplog.text
    assert [row[3:5] for row in marks(read_dataset(path))].count([None, None]) == 4 + 1


@pytest.mark.parametrize(
    ("form", "lost"), [("mqm", "esa, fluency"), ("esa", "fluency"), ("pearmut", "fluency"), ("label-studio", "")]
)
def test_ratings_that_a_format_does_not_have_are_noted(
    form: str, lost: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    human = {"esa": {"p": 40}, "fluency": {"p": 4}, "mqm_total": 1}
    candidate = {"system": "A", "text": "ab", "human": human, "errors": [{"severity": "minor", "rater": "p"}]}
    dataset = from_records([{"source": "s", "lp": "de-en", "candidates": [candidate]}])
    (path,) = write_dataset(dataset, tmp_path / f"x{ENDINGS[form]}", form)
    noted = [
        message.rpartition(": ")[2].replace("'", "") for message in caplog.messages if "left out ratings" in message
    ]
    assert noted == ([lost] if lost else [])
    kept = {*read_dataset(path).ratings["kind"]} - {"mqm_total"}
    assert not kept & {*filter(None, lost.split(", "))}


def test_line_breaks_have_no_units_in_pearmut(tmp_path: Path) -> None:
    text = "a\nb🙂\nc"
    candidate = {"system": "A", "text": text, "errors": [{"start": 2, "end": 6, "severity": "minor", "rater": "p"}]}
    dataset = from_records([{"source": "s", "candidates": [candidate], "lp": "de-en"}])
    for form, span in (("pearmut", [1, 4]), ("esa", [2, 6])):
        (path,) = write_dataset(dataset, tmp_path / f"x{ENDINGS[form]}", form)
        written = json.loads(path.read_text())
        entry = written["records"][0]["annotation"][0]["A"]["error_spans"] if form == "pearmut" else None
        (found,) = entry or written["scores"]["A"]["errors1"]
        assert [found["start_i"], found["end_i"]] == span
        assert marks(read_dataset(path)) == marks(dataset)


@given(st.text(alphabet="ab\n🙂e\u0301ש", max_size=12), st.data(), st.booleans())
def test_units_and_characters(text: str, data: st.DataObject, line_breaks: bool) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    units = units_of_place(text, MarkedError("minor", start, end), line_breaks=line_breaks)
    counted = text if line_breaks else text.replace("\n", "")
    assert len(units_of(text, line_breaks=line_breaks)) == len(counted.encode("utf-16-le")) // 2
    visible = text[start:end] if line_breaks else text[start:end].replace("\n", "")
    if units is None:
        assert not visible
        return
    encoded = counted.encode("utf-16-le")
    assert encoded[2 * units[0] : 2 * units[1] + 2].decode("utf-16-le") == visible
    first, last = place_of_units(text, *units, line_breaks=line_breaks)
    assert text[first:last] == (text[start:end] if line_breaks else text[start:end].strip("\n"))


@pytest.mark.parametrize(
    "wrong", [(-1, 2), (0, 3), (2, 1), ("missing", "missing"), (None, None), (0.0, 1), (True, True)]
)
def test_what_is_no_place(wrong: tuple[object, object]) -> None:
    assert place_of_units("abc", *wrong) == (None, None)


@pytest.mark.parametrize("form", ["esa", "pearmut", "label-studio"])
@pytest.mark.parametrize("wrong", [(-1, 0), (0, 7), (2, 1), ("0", "1"), ([0], {}), (0.5, 1)])
def test_places_that_are_not_in_the_text_are_counted(
    form: str, wrong: tuple[object, object], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    errors = [{"start": 0, "end": 1, "severity": "minor", "rater": "r"}, {"severity": "major", "rater": "r"}]
    candidate = {"system": "A", "text": "ab🙂", "errors": errors, "raters": ["r"]}
    (path,) = write_dataset(
        from_records([{"source": "s", "lp": "de-en", "candidates": [candidate]}]), tmp_path / "x.json", form
    )
    caplog.clear()
    read_dataset(path)
    assert "not in the text" not in caplog.text
    names = ("start", "end") if form == "label-studio" else ("start_i", "end_i")
    found = 0

    def change(value: dict[str, Any]) -> dict[str, Any]:
        nonlocal found
        if {*names} <= {*value} and value[names[0]] == 0:
            found += 1
            value |= dict(zip(names, wrong, strict=True))
        return value

    path.write_text(json.dumps(json.loads(path.read_text(), object_hook=change)))
    errors_read = read_dataset(path).errors
    assert found == 1
    assert errors_read["start"].isna().all()
    assert len(errors_read) == 2
    assert (
        "x.json: 1 marked error with a place that is not in the text (the first on line 1): kept without a place"
        in (caplog.text)
    )


def test_units_of_label_studio_are_those_of_its_text(tmp_path: Path) -> None:
    values = [
        {"start": 2, "end": 4, "text": "bc", "labels": ["Minor"]},
        {"start": 3, "end": 5, "text": "bc", "labels": ["minor"]},
        {"start": 3, "end": 5, "labels": ["MAJOR"]},
        {"start": 3, "end": 6, "text": "bcd", "labels": ["Style"]},
    ]
    results = [{"from_name": "l", "to_name": "mt", "type": "labels", "value": value} for value in values]
    annotations = [{"completed_by": 1, "result": results}, {"completed_by": 2, "result": []}]
    task = {"data": {"src": "s", "mt": "🙂abcd"[:1] + "abcd"}, "annotations": annotations}
    (tmp_path / "x.json").write_text(json.dumps([task]))
    assert [row[2:6] for row in marks(read_dataset(tmp_path / "x.json"))] == [
        ["1", 2, 4, "minor"],
        ["1", 2, 4, "minor"],
        ["1", 2, 5, ""],
        ["1", 3, 5, "major"],
        ["2", None, None, "no-error"],
    ]


def test_an_error_of_label_studio_with_a_lost_place_counts_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = {"start": 90, "end": 95}
    results = [
        {
            "id": "a",
            "from_name": "severity",
            "to_name": "mt",
            "type": "labels",
            "value": {**place, "labels": ["major"]},
        },
        {"id": "a", "from_name": "category", "to_name": "mt", "type": "choices", "value": {**place, "choices": ["x"]}},
    ]
    task = {"data": {"src": "s", "mt": "abcd"}, "annotations": [{"completed_by": 1, "result": results}]}
    (tmp_path / "x.json").write_text(json.dumps([task]))
    assert len(read_dataset(tmp_path / "x.json").errors) == 1
    assert "1 marked error with a place that is not in the text" in caplog.text


def region(kind: str, value: dict[str, Any], name: str = "label") -> dict[str, Any]:
    return {"id": "a", "from_name": name, "to_name": "mt", "type": kind, "value": value}


def read_regions(folder: Path, text: str, *results: dict[str, Any]) -> Dataset:
    task = {"data": {"src": "s", "mt": text}, "annotations": [{"completed_by": 1, "result": [*results]}]}
    (folder / "x.json").write_text(json.dumps([task]))
    return read_dataset(folder / "x.json", severity_weights={"major": 7})


@pytest.mark.parametrize("kind", ["hypertextlabels", "htmllabels", "labels"])
@pytest.mark.parametrize(
    ("text", "offsets", "quoted", "place"),
    [
        ("see the text", (4, 7), "the", [4, 7]),
        ("🙂 the text", (3, 6), "the", [2, 5]),
        ("see the text", (4, 7), None, [4, 7]),
        ("<p>the</p> text", (0, 3), "the", [None, None]),
        ("<p>the</p> text", (0, 3), None, [None, None]),
        ("see the text", (14, 17), "the", [None, None]),
    ],
)
def test_labels_of_html_in_label_studio_are_marked_errors(
    kind: str, text: str, offsets: tuple[int, int], quoted: str | None, place: list[int | None], tmp_path: Path
) -> None:
    path = {"start": "/p[1]/text()[1]", "end": "/p[1]/text()[1]", "startOffset": 0, "endOffset": 3}
    value = {**path, "globalOffsets": dict(zip(("start", "end"), offsets, strict=True)), kind: ["Major"]}
    read = read_regions(tmp_path, text, region(kind, value | ({} if quoted is None else {"text": quoted})))
    assert [row[3:6] for row in marks(read)] == [[*place, "major"]]
    assert read.ratings.set_index("kind")["value"]["mqm_total"] == 7


def test_labels_of_paragraphs_and_taxonomies_in_label_studio_are_kept(tmp_path: Path) -> None:
    place = {"start": "0", "end": "0", "startOffset": 0, "endOffset": 3}
    results = [
        region("paragraphlabels", {**place, "text": "the", "paragraphlabels": ["Major"]}),
        region("taxonomy", {**place, "taxonomy": [["Accuracy", "Omission"]]}, "category"),
    ]
    read = read_regions(tmp_path, "the text", *results)
    assert read.errors[["severity", "category"]].to_numpy().tolist() == [["major", "Accuracy/Omission"]]


def test_other_answers_about_marked_parts_in_label_studio_are_noted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = {"start": 3, "end": 6}
    results = [
        region("textarea", {**place, "text": ["because"]}, "why"),
        region("labels", {**place, "text": "the", "labels": ["Major"]}),
        region("rating", {**place, "text": "the", "rating": 2}, "sure"),
    ]
    # the place is that of the answer that quotes the text
    for order in (results, results[::-1]):
        caplog.clear()
        assert [row[3:6] for row in marks(read_regions(tmp_path, "🙂 the text", *order))] == [[2, 5, "major"]]
        note = "x.json: ignored, because neither labels nor choices: answers about marked parts, 'sure', 'why'"
        assert [record.message for record in caplog.records] == [f"ranker: note: {tmp_path / note}"]


@pytest.mark.parametrize(
    ("change", "form", "message"),
    [
        ({"text": "a\tb"}, "mqm", "contains tabs or line breaks, which this format cannot represent: use JSONL"),
        ({"errors": [{"severity": "minor", "category": "a\nb"}]}, "mqm", "contains tabs or line breaks"),
        ({"text": "a<v>"}, "mqm", "contains texts with <v> or </v>"),
        ({"errors": [{"severity": ""}]}, "mqm", "contains errors without a severity"),
        ({"errors": None, "raters": None}, "mqm", "contains no marked errors"),
        ({"doc": "a_#_b"}, "esa", "contains documents or ids with _#_, which this format cannot represent: use JSONL"),
        ({"lp": None}, "esa", "has sources without a language pair, which this format needs: give --lp"),
    ],
)
def test_what_a_form_cannot_hold(change: dict[str, Any], form: str, message: str, tmp_path: Path) -> None:
    candidate = {"system": "A", "text": "ab", "errors": [{"severity": "minor"}], **change}
    wanted = {"source": "s", "lp": "de-en", "candidates": [candidate]}
    if "doc" in change:
        wanted["doc"] = candidate.pop("doc")
    if "lp" in change:
        wanted |= {"lp": None}
        candidate.pop("lp")
    with pytest.raises(DataError, match=message.replace("<", ".")):
        write_dataset(from_records([wanted]), tmp_path / "x", form)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("form", ["esa", "pearmut", "label-studio"])
def test_errors_without_a_severity_keep_their_category(form: str, tmp_path: Path) -> None:
    errors = [{"start": 0, "end": 1, "severity": "", "category": "Style"}, {"start": 1, "end": 2, "severity": ""}]
    candidate = {"system": "A", "text": "ab", "errors": errors, "raters": [{"rater": "r", "esa": 9}]}
    write_dataset(from_records([{"source": "s", "lp": "de-en", "candidates": [candidate]}]), tmp_path / "x.json", form)
    errors_read = read_dataset(tmp_path / "x.json").errors
    assert errors_read[["severity", "category"]].to_numpy().tolist()[:2] == [["", "Style"], ["", ""]]


@pytest.mark.parametrize("form", ["mqm", "pearmut"])
def test_forms_without_language_pairs_hold_one(form: str, tmp_path: Path) -> None:
    both = from_records([record(1, "abc"), {**record(1, "abc"), "lp": "en-de"}])
    with pytest.raises(DataError, match=r"contains 2 language pairs, .*: choose one with --lp"):
        write_dataset(both, tmp_path / "x", form)


def test_marks_of_another_file_are_added_to_the_same_outputs(tmp_path: Path, command: Command) -> None:
    marked = from_records([record(number, text) for number, text in enumerate(TEXTS, 1)])
    write_dataset(marked, tmp_path / "marks.jsonl")
    records = [record(number, text) for number, text in enumerate(TEXTS, 1)][::-1]
    for one in records:
        one["references"] = ["other"]
        one["candidates"] = [{"system": "C", "text": "y"}, *reversed(one["candidates"])]
        for candidate in one["candidates"]:
            candidate.pop("errors", None)
    plain = from_records(records)
    assert not len(plain.errors)
    write_dataset(plain, tmp_path / "x.jsonl")
    paths = [str(tmp_path / name) for name in ("x.jsonl", "y.jsonl", "marks.jsonl")]
    command("data", "convert", *paths[:2], "--judgements", paths[2])
    joined = read_dataset(tmp_path / "y.jsonl")
    assert marks(joined) == marks(marked)
    assert joined.references["text"].tolist() == ["other"] * len(TEXTS)
    assert joined.errors["candidate"].is_monotonic_increasing
    assert len(with_errors_of(joined, marked).errors) == 2 * len(marked.errors)


def test_marks_of_other_language_pairs_than_those_chosen_are_left_out(tmp_path: Path, command: Command) -> None:
    both = from_records([{**record(number, "abc"), "lp": lp} for number, lp in enumerate(("de-en", "en-de"), 1)])
    write_dataset(both, tmp_path / "marks.jsonl")
    write_dataset(dataclasses.replace(both, errors=both.errors[:0]), tmp_path / "x.jsonl")
    paths = [str(tmp_path / name) for name in ("x.jsonl", "y.jsonl", "marks.jsonl")]
    command("data", "convert", *paths[:2], "--judgements", paths[2], "--lp", "en-de")
    joined = read_dataset(tmp_path / "y.jsonl")
    assert joined.sources["lp"].tolist() == ["en-de"]
    assert 0 < len(joined.errors) < len(both.errors)
    write_dataset(both.select_sources(both.source_language_pairs == "de-en"), tmp_path / "marks.jsonl")
    command("data", "convert", *paths[:2], "--judgements", paths[2], "--lp", "en-de", "--lp", "de-en")
    assert len(read_dataset(tmp_path / "y.jsonl").errors) == len(read_dataset(tmp_path / "marks.jsonl").errors)
    refused = command("data", "convert", *paths[:2], "--judgements", paths[2], "--lp", "en-de", code=2).err
    assert "no sources of language pair 'en-de'; available: de-en" in refused


def test_preferences_of_other_language_pairs_than_those_chosen_are_left_out(tmp_path: Path, command: Command) -> None:
    rows = [{**record(number, "abc"), "lp": lp} for number, lp in enumerate(("de-en", "en-de"), 1)]
    write_dataset(from_records(rows), tmp_path / "x.jsonl")
    pairs = "lp\tseg_id\tsysA\tsysB\trelation\nde-en\t1\tA\tB\t>\nen-de\t2\tA\tB\t<\n"
    (tmp_path / "pairs.tsv").write_text(pairs, encoding="utf-8")
    paths = [str(tmp_path / name) for name in ("x.jsonl", "y.jsonl", "pairs.tsv")]
    command("data", "convert", *paths[:2], "--judgements", paths[2], "--lp", "en-de")
    assert read_dataset(tmp_path / "y.jsonl").preferences["relation"].tolist() == ["<"]


@pytest.mark.parametrize(("form", "name"), [("esa", "x.tsv"), ("pearmut", "x.csv.gz"), ("mqm", "x.jsonl")])
def test_a_file_name_of_another_format_is_refused(form: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=rf"{name}: expected a file name ending in \.(jsonl or|tsv) .*for {form}"):
        write_dataset(from_records([record(1, "abc")]), tmp_path / name, form)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("change", "why"), [({"text": "other"}, "has another text in"), ({"system": "Z"}, "is not in")]
)
def test_marks_of_other_outputs_are_refused(change: dict[str, str], why: str) -> None:
    wanted = record(1, "abc")
    plain = from_records([wanted])
    wanted["candidates"][1] |= change
    system = wanted["candidates"][1]["system"]
    message = f"1 output with marked errors cannot be added; the first, de-en:1:{system}, {why} records: expected"
    with pytest.raises(DataError, match=message):
        with_errors_of(plain, from_records([wanted]))


def test_marks_in_another_source_are_refused() -> None:
    wanted = record(1, "abc")
    wanted["candidates"][0]["errors"] = [{"start": 0, "end": 1, "severity": "major", "rater": "r", "side": "source"}]
    plain = from_records([{**wanted, "source": "another"}])
    with pytest.raises(DataError, match="has another text in"):
        with_errors_of(plain, from_records([wanted]))
    wanted["candidates"][0]["errors"][0]["side"] = "target"
    assert len(with_errors_of(plain, from_records([wanted])).errors)


def test_errors_of_wmt_that_are_none_are_passed_over(tmp_path: Path) -> None:
    judged = {"human1": 80, "annotator1": "p", "errors1": [{"start_i": 0, "end_i": 2, "severity": "Minor"}]}
    judged |= {"human5": None, "annotator5": "s", "errors5": [{"start_i": 0, "end_i": 0}]}
    other = {"human2": 90, "annotator2": "q", "errors2": ["a"], "human3": None, "annotator3": "r", "errors3": []}
    other |= {"human4": None, "annotator4": None, "errors4": []}
    line = {"doc_id": "de-en_#_n_#_d_#_1", "src_text": "s", "tgt_text": {"A": "abc"}, "scores": {"A": judged | other}}
    (tmp_path / "x.jsonl").write_text(json.dumps(line) + "\n")
    assert [row[2:6] for row in marks(read_dataset(tmp_path / "x.jsonl"))] == [
        ["p", 0, 3, "minor"],
        ["r", None, None, "no-error"],
        ["s", 0, 1, ""],
    ]
