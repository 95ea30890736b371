"""Marked errors stay with their candidates through selection, concatenation and files, and add up to penalties."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranker import from_frame, from_records
from ranker.corpora.dataset import Dataset, concatenate_datasets
from ranker.corpora.formats.reading import read_dataset
from ranker.corpora.formats.shards import Shards
from ranker.corpora.formats.writing import write_dataset
from ranker.corpora.judgements import resolve_kind
from ranker.corpora.own_references import with_references_as_candidates
from ranker.corpora.schema import table
from ranker.corpora.severity_weights import WEIGHTS, penalties, weight_of, weights_of
from ranker.corpora.shards.making import make_shards
from ranker.errors import DataError, OptionError

TEXT = "🙂 e\u0301t שלום d"
RECORDS: list[dict[str, Any]] = [
    {
        "source": "eins zwei",
        "references": ["one two"],
        "candidates": [
            {"system": "A", "text": "one"},
            {
                "system": "B",
                "text": TEXT,
                "human": {"esa": {"p": 70}},
                "raters": ["p", "q", ""],
                "errors": [
                    {"start": 2, "end": 5, "severity": "Major", "category": "Accuracy/Omission", "rater": "p"},
                    {"severity": "minor", "rater": "p", "text": "anything"},
                    {"start": 0, "end": len(TEXT), "severity": "neutral"},
                ],
                "source_errors": [{"start": 5, "end": 9, "severity": "critical", "rater": "p"}],
            },
        ],
    },
    {"source": "drei", "references": ["three"], "candidates": [{"system": "A", "text": "", "errors": []}]},
    {
        "source": "vier",
        "references": ["four"],
        "candidates": [
            {
                "system": "A",
                "text": "fore",
                "raters": [{"rater": "p", "esa": 40}],
                "errors": [],
                "missing": [{"severity": "minor", "rater": "q"}],
            }
        ],
    },
]
ROWS = [
    [1, "p", 2, 5, "major", "Accuracy/Omission", "target"],
    [1, "p", None, None, "minor", "", "target"],
    [1, "", 0, len(TEXT), "neutral", "", "target"],
    [1, "p", 5, 9, "critical", "", "source"],
    [1, "q", None, None, "no-error", "", "target"],
    [3, "q", None, None, "minor", "", "target"],
    [3, "p", None, None, "no-error", "", "target"],
]


def rows(dataset: Dataset) -> list[list[object]]:
    errors = dataset.errors.astype(object)
    return errors.where(errors.notna(), None).to_numpy().tolist()


def test_json_has_marked_errors_and_those_who_looked() -> None:
    dataset = from_records(RECORDS)
    assert rows(dataset) == ROWS
    assert dataset.ratings[["candidate", "judge", "kind", "value"]].to_numpy().tolist() == [
        [1, "p", "esa", 70],
        [3, "p", "esa", 40],
    ]
    assert repr(dataset).endswith("0 preferences, 7 errors>")
    assert (
        from_records([{**RECORDS[1]}]).fingerprint
        == from_records([json.loads(json.dumps(RECORDS[1]).replace(', "errors": []', ""))]).fingerprint
    )


@pytest.mark.parametrize("name", ["x.jsonl.gz", "x.json", "x.parquet", "x.csv", "x.tsv"])
def test_files_keep_them(name: str, tmp_path: Path) -> None:
    dataset = from_records(RECORDS)
    write_dataset(dataset, tmp_path / name)
    again = read_dataset(tmp_path / name)
    assert rows(again) == ROWS
    assert (
        again.fingerprint
        == dataset.fingerprint
        != from_records(
            [
                {**record, "candidates": [{"system": c["system"], "text": c["text"]} for c in record["candidates"]]}
                for record in RECORDS
            ]
        ).fingerprint
    )
    assert rows(from_frame(dataset.to_frame())) == ROWS


def test_selections_keep_them() -> None:
    dataset = from_records(RECORDS)
    later = [[row[0] - 1, *row[1:]] for row in ROWS]
    assert rows(dataset.select_candidates([False, True, True, True])) == later
    assert rows(dataset.in_context([False, True, True, True])) == later
    assert rows(dataset.select_candidates([True, False, True, True])) == [[row[0] - 1, *row[1:]] for row in ROWS[5:]]
    assert rows(dataset.select_sources([True, False, False])) == ROWS[:5]
    both = concatenate_datasets([dataset, from_records(RECORDS[:2])])
    assert rows(both) == [*ROWS, *([row[0] + 4, *row[1:]] for row in ROWS[:5])]
    first = with_references_as_candidates(dataset)
    assert first.candidates["text"].iloc[first.errors["candidate"]].tolist() == [TEXT] * 5 + ["fore"] * 2


@pytest.mark.parametrize("ending", [".parquet", ".jsonl.gz"])
def test_shards_keep_them(ending: str, tmp_path: Path) -> None:
    write_dataset(from_records(RECORDS), tmp_path / "x.jsonl")
    make_shards(str(tmp_path / "x.jsonl"), tmp_path / "shards", 2, ending=ending)
    shards = Shards.open([str(tmp_path / "shards")])
    assert shards is not None
    assert len(shards) == 2
    assert rows(shards.load()) == ROWS


def test_rows_of_judges_are_marked_by_them() -> None:
    row = {"source": "a", "reference": "b", "system": "A", "text": "cd"}
    error = {"start": 0, "end": 1, "severity": "minor"}
    records = [{**row, "judge": "p", "errors": [error]}, {**row, "judge": "q", "errors": []}]
    wanted = [[0, "p", 0, 1, "minor", "", "target"], [0, "q", None, None, "no-error", "", "target"]]
    assert rows(from_records(records)) == wanted
    assert rows(from_frame(pd.DataFrame(records))) == wanted


def test_tables_of_other_shapes_have_no_system_called_errors() -> None:
    errors = json.dumps([{"start": 0.0, "end": 1.0, "severity": "minor"}])
    answers = from_frame(pd.DataFrame({"source": ["a", "b"], "answer": ["x", "y"], "errors": [errors, None]}))
    assert rows(answers) == [[0, "", 0, 1, "minor", "", "target"]]
    wide = from_frame(pd.DataFrame({"source": ["a"], "atlas": ["x"], "birch": ["y"], "errors": [errors]}))
    assert wide.candidates["system"].tolist() == ["atlas", "birch"]
    assert not len(wide.errors)


@pytest.mark.parametrize("other", [3, "none", ["typo", "omission"], {"p": 1, "q": 2}, None, {"a": {}}])
def test_errors_of_another_form_are_as_before(other: object) -> None:
    candidate = {"system": "A", "text": "c", "errors": other}
    dataset = from_records([{"source": "a", "references": ["b"], "candidates": [candidate]}])
    assert not len(dataset.errors)
    numbers = [other] if other == 3 else [1, 2] if other == {"p": 1, "q": 2} else []
    assert dataset.ratings["value"].tolist() == numbers


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            {"start": 0, "end": 3},
            "start and end of an error are 0 and 3: expected places from 0 to 2, in characters of",
        ),
        ({"start": 2, "end": 1}, "start and end of an error are 2 and 1"),
        ({"start": 1}, "start and end of an error are 1 and nothing"),
        ({"start": 0, "end": 2, "side": "source"}, "places from 0 to 1, in characters of the source text"),
        ({"start": -1, "end": 1}, "candidates[0].errors[0].start: expected a whole number from 0, or null, found -1"),
        ({"start": 0.5, "end": 1}, "candidates[0].errors[0].start: expected a whole number from 0, or null, found 0.5"),
        ({"start": True, "end": 1}, "errors[0].start: expected a whole number from 0, or null, found true"),
        ({"start": "0", "end": 1}, "errors[0].start: expected a whole number from 0, or null, found '0'"),
        ({"start": 0, "end": 10**30}, "errors[0].end: expected a whole number from 0, or null, found 1000"),
        ({"side": "reference"}, "errors[0].side: expected target or source, found 'reference'"),
        ({"severity": ["a"]}, "errors[0].severity: expected a string"),
        ({"rater": "p\0"}, "rater contains the character NUL"),
    ],
)
def test_wrong_places_are_refused_with_their_line(error: Mapping[str, object], message: str, tmp_path: Path) -> None:
    candidate = {"system": "A", "text": "🙂d", "errors": [{"severity": "minor", **error}]}
    first = {"source": "z", "references": ["b"], "candidates": {"A": "x"}}
    record = {"source": "a", "references": ["b"], "candidates": [candidate]}
    (tmp_path / "x.jsonl").write_text(f"{json.dumps(first)}\n{json.dumps(record)}\n")
    with pytest.raises(DataError) as raised:
        read_dataset(tmp_path / "x.jsonl")
    assert message in raised.value.what
    assert raised.value.line == 2


def by_hand(errors: pd.DataFrame, weights: Mapping[str, float]) -> dict[int, dict[str, float]]:
    totals: dict[int, dict[str, dict[str, float]]] = {}
    for candidate, rater, severity, category in errors[["candidate", "rater", "severity", "category"]].to_numpy():
        part = category.split("/")[0].strip().lower()
        part = part if part in ("accuracy", "fluency", "style", "terminology") else "other"
        of_rater = totals.setdefault(candidate, {}).setdefault(rater, {})
        of_rater[part] = of_rater.get(part, 0.0) + weight_of(severity, category, weights)
    return {
        candidate: {
            "mqm_n": len(raters),
            "mqm_total": sum(sum(parts.values()) for parts in raters.values()) / len(raters),
            **{
                f"mqm_{part}": sum(parts.get(part, 0.0) for parts in raters.values()) / len(raters)
                for part in ("accuracy", "fluency", "style", "terminology", "other")
            },
        }
        for candidate, raters in totals.items()
    }


@given(
    st.lists(
        st.tuples(
            st.integers(0, 3),
            st.sampled_from(["", "p", "q", "r"]),
            st.sampled_from(["minor", "major", "critical", "neutral", "no-error", ""]),
            st.sampled_from(
                ["", "Fluency/Punctuation", "fluency / Spelling", "Non-translation!", "Style", "Accuracy/X"]
            ),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_penalties_are_means_of_sums(cells: list[tuple[int, str, str, str]]) -> None:
    columns = dict(
        zip(("candidate", "rater", "severity", "category"), map(list, zip(*cells, strict=True)), strict=True)
    )
    errors = table("errors", {**columns, "side": ["target"] * len(cells)})
    weights = {**WEIGHTS, "minor:fluency/s": 0.3}
    wide = penalties(errors, {"Minor:Fluency/S": 0.3})
    expected = by_hand(errors, weights)
    assert wide.index.tolist() == sorted(expected)
    for candidate, values in expected.items():
        assert {name: wide.loc[candidate, name] for name in values} == values


def test_categories_and_severities_have_weights() -> None:
    assert [
        weight_of(*pair, WEIGHTS)
        for pair in (
            ("minor", "Fluency/Punctuation"),
            ("minor", "fluency / punctuation"),
            ("major", "Fluency/Punctuation"),
            ("major", "Non-translation!"),
            ("critical", "Non-translation"),
            ("minor", "Non-translation!"),
            ("critical", ""),
            ("severe", ""),
        )
    ] == [0.1, 0.1, 5, 25, 25, 1, 5, None]
    errors = from_records(RECORDS).errors
    assert penalties(errors, {"critical": 25})["mqm_total"].tolist() == pytest.approx([(5 + 1 + 25) / 3, 0.5])
    assert np.isclose(penalties(errors, {"major:accuracy": 0.5})["mqm_accuracy"].iloc[0], 0.5 / 3)
    with pytest.raises(DataError, match=r"expected major, minor, .*, found 'severe'; give it a weight, as in: ranker"):
        penalties(table("errors", {"candidate": [0], "rater": ["p"], "severity": ["severe"], "category": [""]}))


def marked_file(folder: Path, errors: object, **more: object) -> Path:
    candidate = {"system": "A", "text": "hello", "errors": errors, **more}
    path = folder / "x.jsonl"
    path.write_text(json.dumps({"source": "s", "references": ["r"], "candidates": [candidate]}), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("errors", "more", "message"),
    [
        ([{"severity": "minor", "start_i": 0, "end_i": 3}], {}, r"key 'end_i' is unknown \(did you mean 'end'\?\)"),
        ([{"severtiy": "minor", "start": 0, "end": 3}], {}, r"'severtiy' is unknown \(did you mean 'severity'\?\)"),
        ([{"start": 0, "end": 3}], {}, r"severity: expected a severity, such as \"major\", found null"),
        ([{"severity": "minor"}, "typo"], {}, r"errors\[1\]: expected a JSON object"),
        ([{"severity": "minor"}], {"raters": "r1"}, "raters: expected a list of names, found 'r1'"),
    ],
)
def test_errors_that_would_be_misread_are_refused(
    errors: object, more: Mapping[str, object], message: str, tmp_path: Path
) -> None:
    path = marked_file(tmp_path, errors, **more)
    with pytest.raises(DataError, match=rf"x.jsonl:1: candidates\[0\].*{message}"):
        read_dataset(path)


@pytest.mark.parametrize("ending", [".json", ".csv", ".parquet"])
def test_lists_of_other_objects_are_no_marked_errors(
    ending: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [
        {"source": "s", "reference": "r", "system": system, "text": "t", "errors": errors}
        for system, errors in (("A", [{"type": "grammar", "id": 3}]), ("B", []))
    ]
    path = tmp_path / f"x{ending}"
    if ending == ".json":
        path.write_text(json.dumps(rows), encoding="utf-8")
    elif ending == ".csv":
        pd.DataFrame([{**row, "errors": json.dumps(row["errors"])} for row in rows]).to_csv(path, index=False)
    else:
        pd.DataFrame(rows).to_parquet(path)
    assert not len(read_dataset(path).errors)
    assert "ignored, because not judgements: errors" in caplog.text


def test_keys_of_errors_that_are_not_read_are_noted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    error = {"severity": "minor", "severtiy": None, "offset": 3, "category": "Fluency", "subcategory": "Spelling"}
    read_dataset(marked_file(tmp_path, [error]))
    assert "ignored, because not judgements: errors.offset, errors.subcategory" in caplog.text
    caplog.clear()
    table_of = pd.DataFrame({"source": "s", "reference": "r", "system": "A", "text": "t", "errors": [[error]]})
    table_of.assign(errors=json.dumps([error])).to_csv(tmp_path / "x.csv", index=False)
    read_dataset(tmp_path / "x.csv")
    assert "ignored, because not judgements: errors.offset, errors.subcategory" in caplog.text


@pytest.mark.parametrize(
    ("weights", "note"),
    [
        ({"cirtical": 25.0}, "'cirtical', so its weight changes nothing; the data has only major, minor"),
        ({"critical": 25.0, "Minor : Style": 0.5}, None),
        ({"cirtical:style": 25.0}, "no marked error has the severity 'cirtical:style', so its weight changes nothing"),
    ],
)
def test_weights_of_unknown_severities_are_noted(
    weights: Mapping[str, float], note: str | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = marked_file(tmp_path, [{"severity": "Major"}, {"severity": "minor", "category": "Style / Awkward"}])
    dataset = read_dataset(path, severity_weights=weights)
    assert dataset.ratings.set_index("kind")["value"]["mqm_total"] == (5.5 if note is None else 6)
    assert (note in caplog.text) if note else (not caplog.text)


@pytest.mark.parametrize(
    ("weights", "found"),
    [
        ({"major": -3}, "'major': -3"),
        ({"major": float("nan")}, "'major': nan"),
        ({"major": "5"}, "'major': '5'"),
        ({1: 5}, "1: 5"),
        ([1], r"\[1\]"),
    ],
)
def test_weights_that_are_none_are_refused_in_python(weights: Any, found: str, tmp_path: Path) -> None:
    path = marked_file(tmp_path, [{"severity": "major"}])
    with pytest.raises(OptionError, match=f"severity_weights: expected weights from 0 to 1,000,000 .* found {found}"):
        read_dataset(path, severity_weights=weights)


def test_weights_for_data_without_errors_are_noted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    read_dataset(marked_file(tmp_path, None), severity_weights={"major": 5.0})
    assert "contains no marked errors: --severity-weights changes nothing" in caplog.text


def test_errors_without_a_severity_are_noted_where_they_are_weighted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = marked_file(tmp_path, [{"severity": "", "category": "Accuracy"}, {"severity": "minor"}, {"severity": ""}])
    assert not len(read_dataset(path).ratings)
    assert not caplog.text
    dataset = read_dataset(path, severity_weights={"minor": 3})
    assert dataset.ratings.set_index("kind")["value"]["mqm_total"] == 3
    assert "2 of 3 marked errors without a severity: counted with weight 0; to count these too, add" in caplog.text
    caplog.clear()
    weights = {":accuracy": 2.0, "": 1.0}
    assert read_dataset(path, severity_weights=weights).ratings.set_index("kind")["value"]["mqm_total"] == 4
    assert not caplog.text
    read_dataset(marked_file(tmp_path, [{"severity": ""}]), severity_weights={"cirtical": 3})
    assert "has the severity 'cirtical', so its weight changes nothing\n" in caplog.text


@pytest.mark.parametrize("text", ["a=b=3", ":style=3", "major:=3"])
def test_weights_without_a_name_are_refused(text: str) -> None:
    with pytest.raises(OptionError, match="expected SEVERITY=WEIGHT"):
        weights_of([text])


def test_two_weights_of_a_severity_are_refused() -> None:
    assert weights_of(["Major : Style / Awkward=5"]) == {"major:style/awkward": 5}
    with pytest.raises(OptionError, match="'major' has the weights 5 and 6: give one"):
        weights_of(["major=5", "Major=6"])


def test_marked_errors_without_ratings_are_no_judgements_until_they_are_weighted(tmp_path: Path) -> None:
    path = marked_file(tmp_path, [{"severity": "major"}, {"severity": "minor"}])
    message = ", but 2 marked errors: ranker data convert FILE NEW --severity-weights major=5 .* agreement --spans"
    with pytest.raises(DataError, match=f"contains no human judgements{message}"):
        resolve_kind(read_dataset(path))
    with pytest.raises(DataError, match=f"no judgements of kind 'mqm'; available: none{message}"):
        resolve_kind(read_dataset(path), "mqm")
    assert resolve_kind(read_dataset(path, severity_weights={"major": 5.0})) == "mqm"


def test_reports_on_systems_and_data_say_how_marked_errors_are_used(
    tmp_path: Path, command: Callable[..., Any]
) -> None:
    hint = ", but 8 marked errors: ranker data convert FILE NEW --severity-weights major=5 makes ratings of them"
    candidates = [
        {"system": name, "text": f"{name} text", "errors": [{"start": 0, "end": 1, "severity": "minor"}]}
        for name in ("A", "B")
    ]
    # who found none has marked none
    candidates[0]["raters"] = ["r"]
    records = [{"source": f"s{number}", "references": ["A text"], "candidates": candidates} for number in range(4)]
    (tmp_path / "x.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    path = str(tmp_path / "x.jsonl")
    assert f"no human ranking: x: contains no human judgements{hint}" in command("systems", path, "-m", "chrf").out
    assert f"judgements: none{hint}" in command("data", "check", path).out
