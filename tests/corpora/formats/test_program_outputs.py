"""JSON as programs write it: outputs of models, exports of annotation tools."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ranker import from_frame, from_records, load_dataset
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.reading import read_dataset
from ranker.corpora.shards.streaming import parts_of
from ranker.errors import DataError


def written(path: Path, values: Any, *, lines: bool = True) -> Path:
    text = "".join(json.dumps(value) + "\n" for value in values) if lines else json.dumps(values, indent=1)
    path.write_text(text, encoding="utf-8")
    return path


def rows(dataset: Dataset) -> list[tuple[str, list[str], str, str]]:
    references = dataset.references["text"].tolist()
    return [
        (
            dataset.sources["text"][source],
            references[dataset.reference_offsets[source] : dataset.reference_offsets[source + 1]],
            dataset.candidates["system"][row],
            dataset.candidates["text"][row],
        )
        for row, source in enumerate(dataset.candidate_source)
    ]


def batch(custom_id: str, *texts: str, **body: Any) -> dict[str, Any]:
    choices = [{"index": at, "message": {"role": "assistant", "content": text}} for at, text in enumerate(texts)]
    body = {"id": "c", "object": "chat.completion", "model": "gpt-x", "choices": choices, "usage": {"n": 3}, **body}
    return {
        "id": "b",
        "custom_id": custom_id,
        "response": {"status_code": 200, "request_id": "r", "body": body},
        "error": None,
    }


FAILED = {"id": "b", "custom_id": "c3", "response": None, "error": {"code": "x", "message": "y"}}
VLLM = {
    "request_id": "0",
    "prompt": "Hallo",
    "prompt_token_ids": [1, 2],
    "prompt_logprobs": None,
    "outputs": [
        {
            "index": at,
            "text": text,
            "token_ids": [3],
            "cumulative_logprob": -1.5,
            "logprobs": None,
            "finish_reason": "x",
        }
        for at, text in enumerate(["hello", "hi"])
    ],
    "finished": True,
    "metrics": {"arrival_time": 1.0},
    "num_cached_tokens": 0,
}
LM_EVAL = {
    "doc_id": 4,
    "doc": {"translation": {"de": "Hallo", "en": "hello"}},
    "target": "hello",
    "arguments": [["Hallo", {"until": ["\n"]}]],
    "resps": [["hi "]],
    "filtered_resps": ["hi"],
    "bleu": [["hello", "hi"]],
    "doc_hash": "0a",
}
ASKED = [{"role": "system", "content": "Translate."}, {"role": "user", "content": "Hallo"}]


def sample(number: int, epoch: int, text: str, **more: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": [{"type": "reasoning", "reasoning": "?"}, {"type": "text", "text": text}]}
    output = {"model": "m", "choices": [{"message": said, "stop_reason": "stop"}], "usage": {"input_tokens": 1}}
    return {"id": number, "epoch": epoch, "input": "Hallo", "target": "hello", "output": output, **more}


INSPECT = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}, "results": None}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([batch("c1", "hello"), batch("c2", "day")], [("", [], "gpt-x", "hello"), ("", [], "gpt-x", "day")]),
        ([batch("c1", "hello", "hi")], [("", [], "candidate1", "hello"), ("", [], "candidate2", "hi")]),
        (
            [{"custom_id": "c1", "response": {"body": {"model": "m", "output": [
                {"type": "reasoning", "summary": []},
                {"type": "message", "content": [{"type": "output_text", "text": "hello"}]},
            ]}}}],
            [("", [], "m", "hello")],
        ),
        ([batch("c1", choices=[{"text": "hello", "index": 0}])], [("", [], "gpt-x", "hello")]),
        ([batch("c1", "hello")["response"]["body"]], [("", [], "gpt-x", "hello")]),
        (
            [{"custom_id": "c1", "result": {"type": "succeeded", "message": {
                "model": "m", "content": [{"type": "text", "text": "hello"}]}}}],
            [("", [], "m", "hello")],
        ),
        ([VLLM], [("Hallo", [], "candidate1", "hello"), ("Hallo", [], "candidate2", "hi")]),
        ([LM_EVAL], [("Hallo", ["hello"], "candidate1", "hi")]),
        (
            [{**LM_EVAL, "arguments": {"gen": {"arg_0": "Hallo", "arg_1": {}}}, "filtered_resps": [["hi", "ho"]]}],
            [("Hallo", ["hello"], "candidate1", "hi"), ("Hallo", ["hello"], "candidate2", "ho")],
        ),
        (
            [{**INSPECT, "samples": [sample(1, 1, "hi"), sample(2, 1, "ho", input=ASKED, target=["hello", "hallo"])]}],
            [("Hallo", ["hello"], "m", "hi"), ("Hallo", ["hello", "hallo"], "m", "ho")],
        ),
        (
            [{**INSPECT, "samples": [sample(1, 1, "hi"), sample(1, 2, "ho")]}],
            [("Hallo", ["hello"], "m 1", "hi"), ("Hallo", ["hello"], "m 2", "ho")],
        ),
        ([[{"generated_text": "hello"}], [{"generated_text": "day"}]],
         [("", [], "candidate1", "hello"), ("", [], "candidate1", "day")]),
        ([{"generated_text": [*ASKED, {"role": "assistant", "content": "hello"}]}],
         [("Hallo", [], "candidate1", "hello")]),
        ([{"prompt": "Hallo", "completions": ["hello", "hi"], "model": "m", "settings": {"top_p": "x"}}],
         [("Hallo", [], "candidate1", "hello"), ("Hallo", [], "candidate2", "hi")]),
        ([{"input": "Hallo", "responses": [{"response": "hello", "model": "m", "finish": None, "logs": [1]}]}],
         [("Hallo", [], "candidate1", "hello")]),
        ([{"prompt": "Hallo", "response": "hello", "model": "m"}], [("Hallo", [], "candidate1", "hello")]),
        ([{"input": "Hallo", "output": "hello", "model": "m", "stop": "x"}], [("Hallo", [], "candidate1", "hello")]),
    ],
    ids=["batch", "several choices", "responses", "completions", "one completion", "anthropic", "vllm", "lm-eval",
         "lm-eval, several", "inspect", "inspect, epochs", "pipeline", "chat pipeline", "completions", "answers",
         "response", "output"],
)  # fmt: skip
def test_outputs_of_models_are_read(tmp_path, values, expected):
    for read in (
        lambda: read_dataset(written(tmp_path / "a.jsonl", values)),
        lambda: read_dataset(written(tmp_path / "a.json", values, lines=False)),
        lambda: from_records([value for value in values if isinstance(value, dict)] or values),
    ):
        assert rows(read()) == expected


@pytest.mark.parametrize("answer", [batch("c1", "hello")["response"]["body"], {**VLLM, "prompt": "Translate: Hallo"}])
def test_what_is_added_to_outputs_of_programs_is_kept(tmp_path, answer):
    own = {"source": "Hallo", "reference": "hello", "lp": "de-en", "seg_id": "7"}
    dataset = read_dataset(written(tmp_path / "a.jsonl", [{**answer, **own}]))
    assert rows(dataset)[0][:2] == ("Hallo", ["hello"])
    assert (dataset.language_pairs, dataset.sources["seg_id"].tolist()) == (["de-en"], ["7"])


def test_failed_requests_of_a_batch_are_counted(tmp_path, caplog):
    read_dataset(written(tmp_path / "a.jsonl", [FAILED, batch("c1", "hello"), FAILED]))
    assert "left out: 2 requests of the batch that failed (first: line 1)" in caplog.text


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            {"custom_id": "c1", "method": "POST", "url": "/v1", "body": {"model": "m", "messages": ASKED}},
            "read as the input of a batch: these are requests without outputs: give the file of results that the batch "
            "returned",
        ),
        (
            {**LM_EVAL, "filtered_resps": [[-1.5, False]]},
            "read as samples of lm-eval: the task generates no text; expected samples of a task that generates text",
        ),
        (
            {"source": "Hallo", "candidates": [{"text": "hello", "sytem": "A"}]},
            "candidates[0].sytem: expected a number as a rating, or one of the keys system, text, human, is_reference, "
            "alignment (did you mean 'system'?), found 'A'",
        ),
        (
            {"source": "Hallo", "candidates": [{"text": "hello", "grade": "Good"}]},
            "candidates[0].grade: expected a number as a rating, or one of the keys system, text, human, is_reference, "
            "alignment, found 'Good'",
        ),
    ],
)
def test_what_holds_no_outputs_is_refused_by_name(tmp_path, value, message):
    with pytest.raises(DataError) as error:
        read_dataset(written(tmp_path / "a.jsonl", [value]))
    assert (error.value.what, error.value.line) == (message, 1)


def test_keys_that_hold_no_numbers_are_metadata(tmp_path, caplog):
    candidate = {"text": "hello", "model": "m", "logs": [1], "usage": {"note": "x"}, "fluency": 3}
    dataset = read_dataset(written(tmp_path / "a.jsonl", [{"source": "Hallo", "candidates": [candidate]}]))
    assert dataset.ratings["kind"].tolist() == ["fluency"]
    assert caplog.messages == [
        f"ranker: note: {tmp_path}/a.jsonl: ignored, because not judgements: model, logs, usage; "
        "if model names the systems, call it system"
    ]


@pytest.mark.parametrize(
    ("key", "numbers"),
    [
        ("settings", {"temperature": 0.2, "top_p": 0.9}),
        ("generation_config", {"max_length": 100, "beta": 2}),
        ("meta", {"a": 1}),
        ("usage", {"prompt_tokens": 3, "completion_tokens": 4}),
        ("made", {"temperature": 0.2, "prompt_tokens": 9}),
        ("automatic", {"bleu": 30.5, "rouge1": 0.5}),
    ],
)
def test_objects_of_settings_are_no_ratings_by_judges(key, numbers, caplog):
    candidate = {"text": "hello", key: numbers, "fluency": {"anna": 3, "user": 4}, "clarity": {"temperature": 1}}
    dataset = from_records([{"source": "Hallo", key: numbers, "candidates": [candidate]}])
    read = {("fluency", "anna"), ("fluency", "user"), ("clarity", "temperature")}
    assert {*zip(dataset.ratings["kind"], dataset.ratings["judge"], strict=True)} == read
    assert f"ignored, because not judgements: {key}" in caplog.text
    assert len(from_records([{"src": "Hallo", "mt": "hello", "polish": {"user": 3, "annotator": 4}}]).ratings) == 2


def by_two(key: str, first: dict[str, Any], second: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"source": "Hallo", "candidates": [{"text": "hello", key: first}, {"text": "hi", key: second}]}]


@pytest.mark.parametrize("judge", ["MS", "SD", "No", "Ter", "Given", "Length"])
@pytest.mark.parametrize("kind", ["enjoyment", "eval", "gut_feeling"])
def test_a_judge_may_have_the_name_of_a_setting(kind, judge, caplog):
    ratings = from_records(by_two(kind, {judge: 4}, {"AB": 3})).ratings
    assert [*ratings["judge"]] == [judge, "AB"]
    assert not caplog.messages


def test_initials_are_judges_and_null_is_no_rating():
    assert len(from_records(by_two("enjoyment", {"MS": 4, "SD": None}, {"SD": 3})).ratings) == 2
    human = from_records(by_two("human", {"esa": {"j1": None, "j2": 40}}, {"esa": None})).ratings
    assert human[["judge", "value"]].to_numpy().tolist() == [["j2", 40.0]]


@pytest.mark.parametrize(
    "settings",
    [
        {"temperature": 0.2, "repeat_penalty": 1.1, "num_ctx": 4096},
        {"temperature": 0.7, "no_repeat_ngram_size": 3, "num_beams": 4},
        {"topP": 0.7, "n": 1},
        {"beam_size": 5, "alpha": 0.6, "stop": None},
    ],
)
def test_one_key_that_is_always_a_setting_makes_all_objects_settings(settings, caplog):
    for first, second in ((settings, {"other": 3}), ({"other": 3}, settings)):
        assert not len(from_records(by_two("options", first, second)).ratings)
    assert len(caplog.messages) == 2
    assert "ignored, because not judgements: options" in caplog.text
    assert len(from_records([{"source": "Hallo", "options": settings, "candidates": ["hello"]}])) == 1


def test_ratings_by_judge_are_given_once():
    rows = [{"src": "a", "mt": "b", "system": "A", "judge": judge, "decoding": {"beam": 5}} for judge in "xy"]
    assert len(from_records(rows)) == 1
    with pytest.raises(DataError, match=r"records\[1\]: 'enjoyment': system 'A' is judged twice"):
        from_records([{**row, "enjoyment": {"AB": 3}} for row in rows])


def test_parts_of_a_file_agree_on_settings(tmp_path):
    path = tmp_path / "a.jsonl"
    records = [{**record, "source": key} for key in "ab" for record in by_two("fun", {"Ter": 4}, {"Ter": 3})]
    records[1]["candidates"][1]["fun"] = {"AB": 3}
    path.write_text("\n".join(map(json.dumps, records)))
    assert len(read_dataset(path).ratings) == 4
    with pytest.raises(DataError, match="key 'fun' holds settings in some records and ratings by judge in others: put"):
        [*parts_of(str(path), 2)]


def task(results: list[dict[str, Any]], **data: Any) -> dict[str, Any]:
    data = data or {"source": "Hallo", "translation": "hello", "system": "Nova"}
    return {"id": 1, "data": data, "annotations": [{"completed_by": 1, "result": results}], "predictions": []}


def test_a_ranking_of_label_studio_is_preferences(tmp_path):
    items = [{"id": f"n{at}", "title": title, "body": body} for at, (title, body) in enumerate(
        [("Nova", "hello"), ("Orion", "hi"), ("Lyra", "ho")])]  # fmt: skip
    answer = {"value": {"ranker": {"_": ["n1", "n0", "n2"]}}, "from_name": "rank", "type": "ranker"}
    dataset = read_dataset(written(tmp_path / "a.json", [task([answer], source="Hallo", items=items)], lines=False))
    systems = dataset.candidates["system"].to_numpy()
    assert [(systems[row.first], row.relation, systems[row.second]) for row in dataset.preferences.itertuples()] == [
        ("Orion", ">", "Nova"),
        ("Orion", ">", "Lyra"),
        ("Nova", ">", "Lyra"),
    ]
    assert dataset.preferences["judge"].tolist() == ["1"] * 3
    answer["value"]["ranker"] = {"good": ["n1"], "bad": ["n0", "n2"]}
    with pytest.raises(DataError, match="found items sorted into several lists, expected a single ranking"):
        read_dataset(written(tmp_path / "a.json", [task([answer], source="Hallo", items=items)], lines=False))


@pytest.mark.parametrize("ending", ["json", "csv"])
def test_flat_exports_of_label_studio_are_tables(tmp_path, ending):
    row = {"source": "Hallo", "translation": "hello", "system": "Nova", "id": 1, "quality": 4, "annotator": 1,
           "annotation_id": 7, "created_at": "2026-01-01T03:18:13Z", "updated_at": "2026-01-01T03:20:54Z",
           "lead_time": 6.7}  # fmt: skip
    path = tmp_path / f"a.{ending}"
    if ending == "json":
        written(path, [row], lines=False)
    else:
        path.write_text(f"{','.join(row)}\n{','.join(map(str, row.values()))}\n", encoding="utf-8")
    ratings = read_dataset(path).ratings
    assert ratings[["judge", "kind", "value"]].values.tolist() == [["1", "quality", 4.0]]


BOOKKEEPING = {"annotation_id": 7, "created_at": "x", "updated_at": "x", "lead_time": 2.5}


def flat(path, rows):
    """Write `rows` as Label Studio does: JSON-MIN, or quoted CSV or TSV with answers in JSON."""
    rows = [{"id": 1, **row, **BOOKKEEPING} for row in rows]
    if path.suffix == ".json":
        return written(path, rows, lines=False)
    keys = sorted({key for row in rows for key in row})
    with path.open("w", encoding="utf-8") as file:
        table = csv.DictWriter(
            file, keys, quoting=csv.QUOTE_NONNUMERIC, delimiter="\t" if path.suffix == ".tsv" else ","
        )
        table.writeheader()
        for row in rows:
            table.writerow(
                {key: json.dumps(cell) if isinstance(cell, list | dict) else cell for key, cell in row.items()}
            )
    return path


@pytest.mark.parametrize("ending", ["json", "csv", "tsv"])
def test_answers_in_flat_exports_of_label_studio_are_read_as_those_of_full_ones(tmp_path, ending, caplog):
    data = {"source": "Guten Tag", "mt": 'good "day"', "system": "A", "domain": "news"}
    answers = [
        [
            ("quality", {"rating": 4}),
            ("length", {"number": 3}),
            ("grade", {"choices": ["2"]}),
            ("why", {"text": ["x"]}),
        ],
        [("quality", {"rating": 3.5}), ("grade", {"choices": ["1"]})],
    ]
    plain = [
        {"quality": [{"rating": 4}], "length": [{"number": 3}], "grade": "2", "why": "x"},
        {"quality": [{"rating": 3.5}], "grade": {"choices": ["1"]}},
    ]
    tasks = [task([{"from_name": name, "value": value} for name, value in results], **data) for results in answers]
    for by, one in enumerate(tasks):
        one["annotations"][0]["completed_by"] = by
    full = read_dataset(written(tmp_path / "full.json", tasks, lines=False))
    rows = [{**data, **answered, "annotator": by, "agreement": 0.5} for by, answered in enumerate(plain)]
    read = read_dataset(flat(tmp_path / f"a.{ending}", rows))
    assert len(full.ratings) == 5
    assert read.fingerprint == full.fingerprint


@pytest.mark.parametrize("ending", ["json", "csv", "tsv"])
def test_pairwise_answers_in_flat_exports_of_label_studio_are_preferences(tmp_path, ending):
    data = {"source": "Guten Tag", "text1": "good day", "text2": "well day"}
    answers = [{"selected": "left"}, {"selected": "right"}, {"choices": ["tie"]}, None]
    tasks, rows = [], []
    for by, answer in enumerate(answers):
        name = "pw" if answer and "selected" in answer else "same"
        one = task([{"from_name": name, "value": answer}] if answer else [], **data)
        one["annotations"][0]["completed_by"] = by
        tasks.append(one)
        cell = {} if answer is None else {name: "tie" if "choices" in answer else [answer]}
        rows.append({**data, **cell, "annotator": by})
    full = read_dataset(written(tmp_path / "full.json", tasks, lines=False))
    read = read_dataset(flat(tmp_path / f"a.{ending}", rows))
    assert [*full.preferences["relation"]] == [">", "<", "="]
    assert read.preferences.drop(columns="judge").equals(full.preferences.drop(columns="judge"))
    assert [*read.preferences["judge"]] == ["0", "1", "2"]
    assert [*read.candidates["text"]] == ["good day", "well day"]
    words = [{**data, "choice": word, "annotator": by} for by, word in enumerate(["left", "tie"])]
    assert [*read_dataset(flat(tmp_path / f"b.{ending}", words)).preferences["relation"]] == [">", "="]
    asked = [{**row, "speaker_side": "left"} for row in rows]
    assert read_dataset(flat(tmp_path / f"d.{ending}", asked)).preferences.equals(read.preferences)
    mixed = [{**data, "choice": word, "annotator": 1} for word in ("left", {"choices": ["left", "right"]})]
    with pytest.raises(DataError, match="found several answers called 'choice'"):
        read_dataset(flat(tmp_path / f"c.{ending}", mixed))


@pytest.mark.parametrize("ending", ["json", "csv"])
@pytest.mark.parametrize("problem", ["grammar", {"choices": ["omission"]}, {"choices": ["omission", "grammar"]}])
@pytest.mark.parametrize("answer", ["left", {"choices": ["left"]}, [{"selected": "left"}]])
def test_checkboxes_beside_a_comparison_are_no_verdict(tmp_path, ending, problem, answer, caplog):
    row = {"source": "Hallo", "text1": '{"choices": ["x"]}', "text2": "hi", "better": answer, "annotator": 1}
    rows = [{**row, "problem": {"choices": ["omission"]}}, {**row, "problem": problem}, {**row, "better": ""}]
    read = read_dataset(flat(tmp_path / f"a.{ending}", rows[:2]))
    assert [*read.preferences["relation"]] == [">", ">"]
    assert [*read.candidates["text"]] == ['{"choices": ["x"]}', "hi"]
    assert "ignored, because not judgements: problem" in caplog.text
    if answer != "left":
        assert len(read_dataset(flat(tmp_path / f"b.{ending}", rows)).preferences) == 2
        assert "left out 1 row without an answer that compares texts (first: line " in caplog.text


def test_a_choice_that_is_no_verdict_is_refused_by_its_name(tmp_path):
    row = {"source": "Hallo", "text1": "hello", "text2": "hi", "annotator": 1}
    for words in (["omission"], ["left", "omission"]):
        rows = [{**row, "problem": {"choices": [word]}} for word in words]
        with pytest.raises(DataError, match=r"json:\d+: .* column 'problem': expected left, right, or a word "):
            read_dataset(flat(tmp_path / "a.json", rows))
    names = {"system1": "Nova", "system2": "Orion", "problem": {"choices": ["Orion"]}}
    assert [*read_dataset(flat(tmp_path / "a.json", [{**row, **names}])).preferences["relation"]] == ["<"]
    answer = {"source": "Hallo", "response": "hi", "mood": {"choices": ["good"]}}
    assert len(read_dataset(flat(tmp_path / "a.json", [answer]))) == 1


@pytest.mark.parametrize("ending", ["json", "csv"])
@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ({"mt": "x", "quality": [{"rating": 4}, {"rating": 2}]}, "found several answers called 'quality'"),
        ({"mt": "x", "grade": {"choices": ["1", "2"]}}, "found several answers called 'grade'"),
        ({"mt": "x", "order": [{"ranker": {"_": ["a", "b"]}}]}, "'order': rankings are read from the full JSON alone"),
        (
            {"text1": "x", "text2": "y", "pw": [{"selected": "left"}], "choice": "tie"},
            r"columns '(pw|choice)' and '(pw|choice)' both say which text is preferred: remove one of them",
        ),
    ],
)
def test_answers_in_flat_exports_that_cannot_be_read_are_refused(tmp_path, ending, answers, says):
    with pytest.raises(DataError, match=f"read as an export of Label Studio: .*{says}"):
        read_dataset(flat(tmp_path / f"a.{ending}", [{"source": "Hallo", **answers, "annotator": 1}]))


@pytest.mark.parametrize("ending", ["json", "csv"])
@pytest.mark.parametrize(
    "place",
    [
        {"start": 0, "end": 2, "labels": ["major"]},
        {"start": "/p", "startOffset": 0, "globalOffsets": {"start": 0, "end": 2}, "hypertextlabels": ["major"]},
    ],
)
def test_labels_in_flat_exports_are_left_out_with_a_note(tmp_path, ending, place, caplog):
    label = [{"text": "he", **place}]
    row = {"source": "Hallo", "mt": "[hello]", "label": label, "quality": [{"rating": 4}], "annotator": 1}
    assert [*read_dataset(flat(tmp_path / f"a.{ending}", [row])).ratings["value"]] == [4.0]
    assert "'label': labels of parts of a text are read from the full JSON alone" in caplog.text


@pytest.mark.parametrize(
    "results",
    [
        [{"value": {"choices": ["1", "2"]}, "from_name": "grade", "type": "choices"}],
        [{"value": {"rating": stars}, "from_name": "grade", "type": "rating"} for stars in (4, 2)],
        [{"value": {"number": 3}, "from_name": "system", "type": "number"}],
    ],
)
def test_several_answers_to_one_question_of_label_studio_are_refused(tmp_path, results):
    with pytest.raises(DataError, match=r"found several answers or data called '\w+', expected one answer by each"):
        read_dataset(written(tmp_path / "a.json", [task(results, system="A")], lines=False))


def test_two_comparisons_by_one_annotator_of_label_studio_are_refused(tmp_path):
    left = {"value": {"selected": "left"}, "from_name": "adequacy", "type": "pairwise"}
    others = ({"selected": "right"}, {"choices": ["tie"]})
    data = {"source": "Hallo", "text1": "hello", "text2": "hi"}
    for other in others:
        both = [left, {"value": other, "from_name": "fluency", "type": "x"}]
        for results in (both, both[::-1]):
            with pytest.raises(DataError, match=r"found several answers or data called '(fluency|adequacy|preferred)'"):
                read_dataset(written(tmp_path / "a.json", [task(results, **data)], lines=False))
    row = {**data, "adequacy": [{"selected": "left"}], "fluency": [{"selected": "right"}], "annotator": 1}
    with pytest.raises(DataError, match="columns 'adequacy' and 'fluency' both say which text is preferred"):
        read_dataset(flat(tmp_path / "b.json", [row]))


def test_choices_that_are_numbers_are_ratings_and_words_are_refused(tmp_path):
    answer = {"value": {"choices": ["2"]}, "from_name": "grade", "type": "choices"}
    dataset = read_dataset(written(tmp_path / "a.json", [task([answer])], lines=False))
    assert dataset.ratings[["kind", "value"]].values.tolist() == [["grade", 2.0]]
    answer["value"] = {"choices": ["Good"]}
    for results, found in (([answer], "; the answers of 'grade' are words such as 'Good'"), ([], "")):
        with pytest.raises(DataError) as error:
            read_dataset(written(tmp_path / "a.json", [task(results)], lines=False))
        assert error.value.what == (
            f"read as an export of Label Studio: no answer is a rating, a number, a comparison or a ranking{found}: "
            "export finished annotations; for grades that are words, use numbers as the values of the choices"
        )


def test_the_log_of_pearmut_is_read_as_its_download(tmp_path):
    def entry(user: str, score: int) -> dict[str, Any]:
        item = {"item_id": "0", "src": "Hallo", "tgt": {"Nova": "hello", "Orion": "hi"}}
        judged = {"Nova": {"score": score, "error_spans": []}, "Orion": {"score": 60}}
        return {"annotation": [judged], "actions": [], "item": [item], "user_id": user, "item_i": 0}

    entries = [entry("otter", 95), entry("heron", 80), entry("otter", 90)]
    log = read_dataset(written(tmp_path / "log.jsonl", entries))
    download = read_dataset(written(tmp_path / "download.json", {"camp": entries}, lines=False))
    assert log.fingerprint == download.fingerprint
    assert sorted(log.ratings["value"]) == [60, 60, 80, 90]


def test_answers_of_prodigy_are_no_outputs(tmp_path):
    words = [{"source": "annehmen", "answer": "accept"}, {"source": "ablehnen", "answer": "reject"}]
    assert [*from_records(words).candidates["text"]] == ["accept", "reject"]
    told = {"answer": "reject", "_input_hash": 9, "_task_hash": 3}
    with pytest.raises(DataError, match="'answer' holds accept and reject for different sources"):
        from_records([*words, {"source": "ignorieren", **told}])
    read = read_dataset(written(tmp_path / "x.jsonl", [{**word, **told, "mt": "x"} for word in words]))
    assert [*read.candidates["text"]] == ["x", "x"]


TRANSLATION = {"de": "Hallo", "en": "hello"}


@pytest.mark.parametrize(
    ("record", "lp", "noted"),
    [
        ({"translation": TRANSLATION, "candidates": {"A": "hi"}}, "de-en", True),
        ({"translation": TRANSLATION, "mt": "hi", "system": "A"}, "de-en", True),
        ({"translation": TRANSLATION, "candidates": {"A": "hi"}, "lp": "de-en"}, "de-en", False),
        ({"translation": TRANSLATION, "candidates": {"A": "hi"}, "src_lang": "en"}, "en-de", False),
        ({"translation": TRANSLATION, "candidates": {"A": "hi"}, "tgt_lang": "en_GB"}, "de-en_GB", False),
        ({"translation": TRANSLATION, "candidates": {"A": "hi"}, "lp": "en-de"}, "en-de", False),
        ({"Translation": {"deu_Latn": "Hallo", "eng_Latn": "hello"}, "hyps": ["hi"]}, "de_Latn-en_Latn", True),
    ],
)
def test_translations_of_hugging_face_are_a_source_and_a_reference(tmp_path, caplog, record, lp, noted):
    read = read_dataset(written(tmp_path / "x.jsonl", [record]))
    texts = ["Hallo", ["hello"]] if lp.startswith("de") else ["hello", ["Hallo"]]
    assert [[source, references] for source, references, *_ in rows(read)] == [texts]
    assert [*read.sources["lp"]] == [lp]
    assert ('is the reference, in the order of the keys: if not, give "lp" too' in caplog.text) == noted
    assert from_records([record]).fingerprint == read.fingerprint


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ({"translation": {**TRANSLATION, "fr": "salut"}, "candidates": ["hi"]}, "translation: expected a text, or .*"),
        ({"translation": {"A": "x", "B": "y"}, "mt": "hi"}, 'write "source", "references" and "lp"'),
        ({"translation": {"language": ["de"], "translation": ["x"]}, "mt": "hi"}, "translation: expected a text, or"),
        ({"translation": {"de": 1, "en": "hello"}, "mt": "hi"}, "translation.de: expected a string, found 1"),
        ({"translation": TRANSLATION, "source": "Hallo", "mt": "hi"}, "keys 'translation' and 'source' both hold"),
        ({"translation": TRANSLATION, "ref": "hello", "mt": "hi"}, "keys 'translation' and 'ref' both hold"),
        ({"translation": TRANSLATION, "candidates": ["hi"], "lp": "fr-en"}, "'fr-en'.*'de-en'"),
        ({"translation": TRANSLATION}, "expected keys .*candidates"),
    ],
)
def test_translations_of_hugging_face_that_can_be_read_in_several_ways_are_refused(tmp_path, record, says):
    with pytest.raises(DataError, match=rf"x\.jsonl:1: .*{says}"):
        read_dataset(written(tmp_path / "x.jsonl", [record]))


def test_translations_of_hugging_face_in_tables_are_refused(tmp_path):
    frame = pd.DataFrame({"translation": [TRANSLATION] * 2, "mt": ["hi", "ho"]})
    frame.to_parquet(tmp_path / "x.parquet")
    for read in (lambda: from_frame(frame), lambda: read_dataset(tmp_path / "x.parquet")):
        with pytest.raises(DataError, match=r"column 'translation' holds the texts of several languages, .*source.*lp"):
            read()


def test_a_source_in_a_translation_of_hugging_face_is_not_divided_between_shards(tmp_path, command):
    records = [
        {"translation": {"de": f"Satz {at}", "en": "x"}, "lp": "de-en", "mt": system, "system": system}
        for at in range(4)
        for system in "AB"
    ]
    path = written(tmp_path / "x.jsonl", records)
    command("data", "shard", str(path), "--out", str(tmp_path / "shards"), "--rows", "3")
    assert [*load_dataset(str(tmp_path / "shards")).candidates["system"]] == ["A", "B"] * 4
