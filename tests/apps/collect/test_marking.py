"""Errors that judges mark: forms, storage, export, known errors, errors that are marked at first, documents."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing

import pytest

from ranker import from_records
from ranker.apps.collect.campaign import opened
from ranker.apps.collect.exporting import dataset_of
from ranker.apps.collect.marking import (
    CATEGORIES,
    categories_in,
    gold_share,
    marks_by_candidate,
    prefilled,
    severities_in,
)
from ranker.apps.collect.tasks import KINDS, direction, languages
from ranker.apps.collect.web import pages
from ranker.corpora import catalogue
from ranker.corpora.formats.writing import write_dataset
from ranker.corpora.marked_errors import MarkedError
from ranker.corpora.records import Candidate, Record, assemble
from ranker.errors import DataError, OptionError
from tests.apps.collect.conftest import Client, serving, settings, small
from tests.apps.collect.test_marking_in_browser import SCRIPTS
from tests.apps.collect.test_quality import judge_in_file, qualities

ESA, MQM = settings("esa"), settings("mqm", categories="\n".join(CATEGORIES))
TEXT = "\U0001f600 cafe\u0301  x "


def one(text=TEXT, systems=("A",), **more):
    return assemble(
        [Record("s", [], [Candidate(name, text) for name in systems], lp="de-en", seg_id="1", **more)], "one"
    )


def stored(path):
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT answer FROM assignment WHERE answer IS NOT NULL ORDER BY id").fetchall()
    return [json.loads(answer) for (answer,) in rows]


@pytest.mark.parametrize(
    "marks",
    [
        "",
        "[",
        "[[0]]",
        "[[0,0,1]]",
        "[[0,0,3,3]]",
        "[[0,0,4,3]]",
        f"[[0,0,0,{len(TEXT) + 1}]]",
        "[[2,0,0,1]]",
        "[[0,2,0,1]]",
        "[[0,0,-1,1]]",
        "[[0,0,0,1.5]]",
        "[[0,0,0,1],]",
        "[[0,0,0,1][0,0,0,1]]",
        "[[0,null,0,1]]",
        "[[0,0,0,1,0]]",
        "[" * 3000,
        "[" + ",".join(["[0,0]"] * 201) + "]",
        '{"a":1}',
        "[[٠,0]]",
        "[[0,0,0,2,1]]",
        "[[0,0,0,1,2]]",
        "[[0,0,0]]",
    ],
)
def test_marks_that_the_page_does_not_offer_are_not_saved(campaign, marks):
    path, created = campaign("mqm", data=one(), categories="A\nB")
    with serving(path) as address:
        judge = Client(address)
        fields = judge.enter(created.links["judge1"]).page().forms["/judge"]
        refused = judge.post("/judge", {**fields, "marks": marks})
        assert refused.status == 422
        assert "Not saved:" in refused.text
        assert ("needs JavaScript" if not marks else "expected up to 200 errors") in refused.text
        assert stored(path) == []
        assert judge.post("/judge", {**fields, "marks": f"[[1,1,0,{len(TEXT)}],[0,0],[0,1,0,1,1]]"}).status == 200
    assert stored(path) == [[0, [1, 1, 0, len(TEXT)], [0, 0], [0, 1, 0, 1, 1]]]


@pytest.mark.parametrize("score", ["", "101", "-1", "x"])
def test_a_score_is_needed_and_the_marks_of_a_refused_form_stay(campaign, score):
    path, created = campaign("esa", data=one())
    with serving(path) as address:
        judge = Client(address)
        fields = {**judge.enter(created.links["judge1"]).page().forms["/judge"], "marks": "[[1,0,2,6]]"}
        refused = judge.post("/judge", {**fields, "value0": score})
        assert refused.status == 422
        assert 'data-marks="[[1,0,2,6]]"' in refused.text
    assert stored(path) == []


def test_carriage_returns_and_spaces_reach_the_browser_as_they_are(campaign):
    text = " a\r\nb\rc\n\u00a0\u2028\u3000 <b>&amp;"
    path, created = campaign("esa", data=one(text))
    with serving(path) as address:
        page = Client(address).enter(created.links["judge1"])
    assert (
        f">{text.replace('&', '&amp;').replace('<', '&lt;').replace('>', '&gt;').replace(chr(13), '&#13;')}</p>"
        in page.text
    )


@pytest.mark.parametrize(
    ("pair", "directions"),
    [
        ("de-ar_EG", ["ltr", "rtl"]),
        ("fas_Arab-zho_Hans", ["rtl", "ltr"]),
        ("arz_Arab-ckb", ["rtl", "rtl"]),
        ("en-iw", ["ltr", "rtl"]),
        ("pa_Arab-uz_Latn", ["rtl", "ltr"]),
        ("pa-uz", ["auto", "auto"]),
        ("arb_Latn-ha_Arab", ["ltr", "rtl"]),
        (None, ["auto", "auto"]),
    ],
)
def test_the_text_tells_its_direction_where_language_and_script_do_not(pair, directions):
    assert [direction(language) for language in languages(pair)] == directions


def test_browsers_are_told_script_and_region():
    assert languages("en_GB-zh_Hant_TW") == ("en-GB", "zh-Hant-TW")


def test_the_source_is_marked_only_where_it_is_shown(campaign):
    data = assemble([Record("source", ["r"], [Candidate("A", TEXT)], lp="de-en", seg_id="1")], "one")
    for show, status in (("reference", 422), ("both", 200)):
        path, created = campaign("mqm", data=data, categories="A", show=show)
        with serving(path) as address:
            judge = Client(address)
            page = judge.enter(created.links["judge1"])
            assert ("data-side=1" in page.text, "in the source those" in page.text) == (status == 200, status == 200)
            assert judge.post("/judge", {**page.page().forms["/judge"], "marks": "[[0,0,0,6,1]]"}).status == status
        path.unlink()


def test_the_points_of_esa_scores_that_have_a_meaning_are_shown(campaign):
    for kind, shown in (("esa", [0, 33, 66, 100]), ("score", [0, 50, 100])):
        path, created = campaign(kind, data=one(), show="source")
        with serving(path) as address:
            page = Client(address).enter(created.links["judge1"]).text
        ends = re.search(r'class="ends" aria-hidden="true">(.*?)</div>', page, re.DOTALL)
        assert [*map(int, re.findall(r"\d+", ends[1]))] == shown
        assert all(str(value) in KINDS[kind].help for value in shown if value != 50)
        path.unlink()


def exported(path, command, output):
    command("collect", "export", str(path), "-o", str(output))
    dataset = catalogue.load(str(output))
    names = ["candidate", "rater", "start", "end", "severity", "category", "side"]
    assert list(dataset.errors) == names
    return dataset, [
        tuple(None if value != value else value for value in row)
        for row in dataset.errors.astype(object).where(dataset.errors.notna(), None).to_numpy().tolist()
    ]


def test_the_marks_of_all_judges_are_exported_for_every_system_with_the_text(campaign, command, tmp_path):
    path, _ = campaign("esa", data=one(systems=("A", "B")), judges_per_item=2)
    answers = {"judge1": [80, [0, 0], [1, 0, 0, 1, 1], [1, 0, 2, 6], [0, 0, 0, 1]], "judge2": [100]}
    judge_in_file(path, {code: (lambda texts, code=code: answers[code], 9) for code in answers}, 1)[0].close()
    dataset, errors = exported(path, command, tmp_path / "x.jsonl")
    each = [
        ("judge1", 0, 1, "minor", "", "target"),
        ("judge1", 2, 6, "major", "", "target"),
        ("judge1", 0, 1, "major", "", "source"),
        ("judge1", None, None, "minor", "Accuracy/Omission", "target"),
        ("judge2", None, None, "no-error", "", "target"),
    ]
    assert errors == [(row, *error) for row in (0, 1) for error in each]
    assert dataset.ratings[["candidate", "judge", "kind", "value"]].to_numpy().tolist() == [
        [row, code, "esa", value] for row in (0, 1) for code, value in (("judge1", 80), ("judge2", 100))
    ]
    told = command("collect", "export", str(path), "-o", str(tmp_path / "x.jsonl")).out
    following = f"agreement --data {tmp_path / 'x.jsonl'} --systems mean"
    assert f"8 errors marked in 2 outputs; next: ranker {following}" in told
    assert "as people rank them" in command(*following.split()).out


@pytest.mark.parametrize("form", ["mqm", "esa", "pearmut", "label-studio"])
def test_marks_are_written_for_other_programs(campaign, command, tmp_path, form):
    data = assemble([Record(TEXT.strip(), [], [Candidate("A", TEXT.strip())], lp="de-en", seg_id="1", doc="d")], "one")
    path, _ = campaign("esa", data=data)
    answer = [80, [0, 0, 0, 1], [1, 0, 0, 6, 1], [1, 0, 2, 7]]
    judge_in_file(path, {"judge1": (lambda texts: answer, 9)}, 1)[0].close()
    marks, converted = (str(tmp_path / name) for name in ("x.jsonl", f"y.{'tsv' if form == 'mqm' else 'json'}"))
    command("collect", "export", str(path), "-o", marks)
    command("data", "convert", marks, converted, "--to", form)
    errors = catalogue.load(converted).errors
    places = errors[["rater", "severity", "start", "end", "side"]].astype(object).fillna("")
    assert places.to_numpy().tolist() == [
        ["judge1", "minor", 0, 1, "target"],
        ["judge1", "major", 2, 7, "target"],
        # these have no errors of the source
        ["judge1", "major", *(["", "", "target"] if form in ("esa", "pearmut") else [0, 6, "source"])],
    ]


@pytest.mark.parametrize("form", ["jsonl", "mqm", "label-studio"])
def test_marks_in_texts_and_sources_of_six_scripts_are_read_back(campaign, command, tmp_path, form):
    # tables have no line breaks
    scripts = [each._replace(text=each.text.replace("\r\n", "")) for each in SCRIPTS]
    texts = [each.text for each in scripts]
    records = [
        Record(source, [], [Candidate("A", text)], lp="de-en", doc="d", seg_id=str(number))
        for number, (source, text) in enumerate(zip([*texts[1:], texts[0]], texts, strict=True))
    ]
    path, created = campaign("mqm", data=assemble(records, "scripts"), judges=1, categories="Fluency/Spelling")
    words = {text: each.mouse for each, text in zip(scripts, texts, strict=True)}
    after = dict(zip(texts, [*texts[1:], texts[0]], strict=True))

    def place(text):
        start = text.index(words[text])
        return [start, start + len(words[text])]

    def choose(shown):
        return [0, [0, 0, *place(shown[0])], [1, 0, *place(after[shown[0]]), 1]]

    judge_in_file(path, {"judge1": (choose, 9)}, created.items)[0].close()
    marks, converted = str(tmp_path / "x.jsonl"), str(tmp_path / f"y.{form if form == 'jsonl' else 'txt'}")
    command("collect", "export", str(path), "-o", marks)
    command("data", "convert", marks, converted, *(["--to", form] if form != "jsonl" else []))
    read = catalogue.load(converted)
    columns = ["severity", "start", "end", "category", "rater", "side"]
    found = read.errors[columns].set_axis([read.candidates["text"][row] for row in read.errors["candidate"]])
    for text in texts:
        common = "Fluency/Spelling", "judge1"
        expected = [["minor", *place(text), *common, "target"], ["major", *place(after[text]), *common, "source"]]
        assert found.loc[[text]].to_numpy(object).tolist() == expected


def test_penalties_are_means_over_the_judges_of_an_output(campaign, command, tmp_path):
    path, _ = campaign("mqm", data=one(), judges_per_item=3, judges=3, categories="\n".join(CATEGORIES))
    punctuation, other = CATEGORIES.index("Fluency/Punctuation"), CATEGORIES.index("Non-translation")
    answers = {"judge1": [0, [0, punctuation, 0, 1], [1, 0]], "judge2": [0, [1, other, 0, 2]], "judge3": [0]}
    connection, settings = judge_in_file(
        path, {code: (lambda texts, code=code: answers[code], 9) for code in answers}, 1
    )
    by_judge = dataset_of(connection, settings, by_judge=True).ratings
    connection.close()
    assert by_judge[["judge", "kind", "value"]].to_numpy().tolist() == [
        ["judge1", "mqm_total", 5.1],
        ["judge2", "mqm_total", 25],
        ["judge3", "mqm_total", 0],
    ]
    dataset, errors = exported(path, command, tmp_path / "x.jsonl")
    assert dataset.ratings["value"].tolist() == [pytest.approx(30.1 / 3)]
    assert dataset.ratings["judge"].isna().all()
    assert errors[0][-3:] == ("minor", "Fluency/Punctuation", "target")
    assert json.loads(command("collect", "status", str(path), "-f", "json").out)["agreement"]["judges"] == 3
    refused = command("agreement", str(tmp_path / "x.jsonl"), code=2).err
    assert "expected at least two; for the agreement on marked errors, use --spans" in refused


def test_categories_are_listed_or_in_a_file(tmp_path):
    assert categories_in(None, KINDS["mqm"]) == CATEGORIES
    assert categories_in(None, KINDS["esa"]) == ()
    assert categories_in(" Wrong , Ugly", KINDS["mqm"]) == ("Wrong", "Ugly")
    assert categories_in("Section 1.2", KINDS["mqm"]) == ("Section 1.2",)
    (tmp_path / "list").write_text("Wrong, very\n\nUgly\n", encoding="utf-8")
    assert categories_in(str(tmp_path / "list"), KINDS["mqm"]) == ("Wrong, very", "Ugly")
    for given, message in (
        (",", "expected 1 to 200 names"),
        ("a,b,A", "'a' is listed twice"),
        ("x" * 101, "up to 100"),
        ("a\x1b,b", r"found 'a\\x1b'"),
        (",", "found 0 names"),
        (str(tmp_path), "is not a file"),
        ("missing.txt", "'missing.txt' is not a file; expected names separated by commas, or a file"),
    ):
        with pytest.raises(OptionError, match=message):
            categories_in(given, KINDS["mqm"])
    with pytest.raises(OptionError, match="--categories: only available with --kind mqm; found --kind esa"):
        categories_in("a", KINDS["esa"])


def test_severities_are_some_of_those_of_mqm():
    assert severities_in(None, KINDS["esa"]) is None
    assert severities_in("Major, critical,minor", KINDS["mqm"]) == "minor,major,critical"
    for given, message in (
        (
            "minor,bad",
            "expected some of the names neutral, minor, major, critical, separated by commas, found 'minor,bad'",
        ),
        ("", "found ''"),
    ):
        with pytest.raises(OptionError, match=message):
            severities_in(given, KINDS["mqm"])
    with pytest.raises(OptionError, match="--severities: only available with --kind mqm; found --kind esa"):
        severities_in("minor", KINDS["esa"])


def test_chosen_severities_are_shown_marked_weighted_and_exported(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    errors = [MarkedError(name, 0, 1, "Other", "r") for name in ("neutral", "minor", "major", "critical")]
    write_dataset(marked_data(*errors), "marked.jsonl")
    options = ["--kind", "mqm", "--severities", "critical,neutral,major", "--categories", "Other", "--prefill", "r"]
    made = json.loads(command("collect", "new", "x.campaign", "--data", "marked.jsonl", *options, "-f", "json").out)
    with serving(tmp_path / "x.campaign") as address:
        judge = Client(address)
        page = judge.enter(made["rows"][1]["link"])
        assert re.findall(r'data-severity="(\d)".*</kbd> (\w+)', page.text) == [
            ("0", "Neutral"),
            ("1", "Major"),
            ("2", "Critical"),
        ]
        assert "Critical: it may do harm, or makes the text useless. Major: it" in page.text
        # minor errors become the highest
        assert 'data-marks="[[0, 0, 0, 1], [2, 0, 0, 1], [1, 0, 0, 1]]"' in page.text
        fields = page.page().forms["/judge"]
        assert judge.post("/judge", {**fields, "marks": "[[3,0,0,1]]"}).status == 422
        assert judge.post("/judge", {**fields, "marks": "[[2,0,0,1],[0,0,2,3]]"}).status == 200
    dataset, found = exported("x.campaign", command, "y.jsonl")
    assert [error[4] for error in found] == ["critical", "neutral"]
    assert dataset.ratings["value"].tolist() == [5]
    assert json.loads(command("collect", "status", "x.campaign", "-f", "json").out)["settings"]["severities"] == (
        "neutral,major,critical"
    )


def marked_data(*errors, text="a bad text", name="A"):
    record = Record("s", ["r"], [Candidate(name, text, errors=list(errors))], lp="de-en", seg_id="1")
    return assemble([record], "marked")


ERRORS = (
    MarkedError("critical", 2, 5, "Accuracy/Mistranslation", "r1"),
    MarkedError("minor", 6, 10, "style / awkward", "r1"),
    MarkedError("neutral", 0, 1, "", "r1"),
    MarkedError("minor", 0, 1, "Unheard of", "r1"),
    MarkedError("major", 0, 1, "Accuracy/Omission", "r1", "source"),
    MarkedError("no-error", rater="r2"),
)


def test_marked_errors_become_marks_of_the_kind():
    errors = marked_data(*ERRORS).errors
    assert marks_by_candidate(errors, ESA) == {0: [[1, 0, 2, 5], [0, 0, 6, 10], [0, 0, 0, 1], [1, 0, 0, 1, 1]]}
    without_source = marks_by_candidate(errors, settings("esa", show="reference"))
    assert without_source == {0: [[1, 0, 2, 5], [0, 0, 6, 10], [0, 0, 0, 1], [1, 0]]}
    places = [CATEGORIES.index(name) for name in ("Accuracy/Mistranslation", "Style/Awkward", "Accuracy/Omission")]
    assert marks_by_candidate(errors, MQM) == {
        0: [[1, places[0], 2, 5], [0, places[1], 6, 10], [0, len(CATEGORIES), 0, 1], [1, places[2], 0, 1, 1]]
    }


def test_a_page_starts_from_the_marks_of_a_rater_or_a_file_and_says_so(campaign, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = marked_data(*ERRORS)
    write_dataset(data, "marked.jsonl")
    write_dataset(marked_data(), "plain.jsonl")
    for number, (words, who, marks) in enumerate(
        (
            (("marked.jsonl", "r1"), "r1", "[[1, 0, 2, 5], [0, 0, 6, 10], [0, 0, 0, 1], [1, 0, 0, 1, 1]]"),
            (("marked.jsonl", "r2"), "r2", "[]"),
            (
                ("plain.jsonl", "marked.jsonl"),
                "marked.jsonl",
                "[[1, 0, 2, 5], [0, 0, 6, 10], [0, 0, 0, 1], [1, 0, 0, 1, 1]]",
            ),
        )
    ):
        path = f"{number}.campaign"
        made = command("collect", "new", path, "--data", words[0], "--kind", "esa", "--prefill", words[1], "-f", "json")
        assert f"1 item to judge, 1 translation marked by {who}; start with" in json.loads(made.out)["signature"]
        with serving(tmp_path / path) as address:
            page = Client(address).enter(json.loads(made.out)["rows"][1]["link"])
        assert f"Errors are marked already, by {who}." in page.text
        assert f'data-marks="{marks}"' in page.text
        assert json.loads(command("collect", "status", path, "-f", "json").out)["settings"]["prefill"] == who


def test_control_items_are_prefilled_as_others_and_known_by_other_raters(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gold = [
        Record("s", [], [Candidate("A", f"{number} a bad text", errors=list(errors))], lp="de-en", seg_id=str(number))
        for number, errors in enumerate(
            (
                (MarkedError("minor", 0, 1, rater="r1"), MarkedError("major", 4, 7, rater="r2")),
                (MarkedError("minor", 0, 1, rater="r1"),),
                (MarkedError("major", 0, 1, rater="r2"),),
            )
        )
    ]
    write_dataset(assemble(gold, "gold"), "gold.jsonl")
    by_r1 = [MarkedError("minor", 0, 3, rater="r1")]
    ours = [Record(f"source {n}", [], [Candidate("A", f"one says {n}", errors=by_r1)]) for n in range(9)]
    write_dataset(assemble(ours, "data"), "data.jsonl")
    options = ["--kind", "esa", "--gold", "gold.jsonl", "--gold-share", "0.5", "--prefill", "r1", "--lp", "de-en"]
    made = command("collect", "new", "x.campaign", "--data", "data.jsonl", *options, "-f", "json")
    assert "9 items to judge, 2 gold items, 9 translations marked by r1; start" in json.loads(made.out)["signature"]
    assert "1 gold item without errors marked in advance by r1: judges may recognise gold items" in made.err
    ours = [Record(f"source {n}", [], [Candidate("A", f"one says {n}", errors=by_r1[n:])]) for n in range(9)]
    write_dataset(assemble(ours, "few"), "few.jsonl")
    made = command("collect", "new", "y.campaign", "--data", "few.jsonl", *options)
    assert "not marked by" not in made.err
    with opened(tmp_path / "x.campaign") as (connection, _):
        rows = connection.execute("SELECT known, item.prefill FROM item WHERE role = 'gold' ORDER BY id").fetchall()
    assert [tuple(row) for row in rows] == [
        ("[null, [[1, 0, 4, 7]]]", "[[0, 0, 0, 1]]"),
        ("[null, [[1, 0, 0, 1]]]", None),
    ]


def test_degraded_copies_keep_the_marks_of_words_that_are_left(campaign):
    text = "one two three four five six seven eight nine ten"
    data = assemble([Record(f"s{n}", [], [Candidate("A", f"{text} {n}")], lp="de-en") for n in range(9)], "data")
    at = [[text.index(word), text.index(word) + len(word)] for word in text.split()]
    marks = [[0, 0, *place] for place in at] + [[1, 0], [0, 0, 0, 2, 1]]
    path, _ = campaign("esa", data=data, judges=1, degraded=1.0, prefill="r", marks=[dict.fromkeys(range(9), marks)])
    connection, _ = judge_in_file(path, {"judge1": (lambda texts: [90], 9)}, 8)
    rows = connection.execute("SELECT copy, prefill FROM item WHERE role = 'degraded'").fetchall()
    connection.close()
    assert rows
    for copy, prefill in rows:
        kept = json.loads(prefill)
        words = [copy[mark[2] : mark[3]] for mark in kept if len(mark) == 4]
        assert words == [word for word in text.split() if word in copy]
        assert kept[-2:] == [[1, 0], [0, 0, 0, 2, 1]]


def test_a_page_starts_from_what_costs_most_in_a_metric():
    candidates = {"source": "Es regnet.", "references": ["It rains."], "candidates": ["It burns.", "It rains."]}
    data = from_records([candidates])
    who, (marks,) = prefilled([data], "metric", MQM)
    assert who == "a metric"
    assert [mark[1:] for mark in marks[0] if len(mark) == 4] == [[len(CATEGORIES), 3, 8]]
    assert marks[1] == []


def test_a_prefill_that_names_nothing_is_refused(tmp_path):
    with pytest.raises(OptionError, match=r"--prefill: 'r3' is neither .* raters of marked errors in marked: r1, r2"):
        prefilled([marked_data(*ERRORS)], "r3", ESA)
    with pytest.raises(OptionError, match="a task in which judges mark errors: use --kind esa or mqm"):
        prefilled([marked_data(*ERRORS)], "r1", settings("score"))
    with pytest.raises(DataError, match="contains no marked errors for the translations of marked"):
        prefilled([marked_data(*ERRORS)], "sample", ESA)


@pytest.mark.parametrize(
    ("known", "answer", "share"),
    [
        ([None, [[1, 0, 2, 5], [0, 0]]], [0, [0, 0, 4, 6], [0, 0]], 1),
        ([None, [[1, 0, 2, 5], [0, 0]]], [0, [0, 0, 4, 6]], 0.5),
        ([None, [[1, 0, 2, 5]]], [0, [1, 0, 5, 6]], 0),
        ([None, [[1, 0, 2, 5]]], [0, [1, 0, 0, 20]], 0),
        ([None, []], [0, [0, 0, 0, 2]], 1),
        ([None, []], [0, [1, 0, 0, 2]], 0),
        ([50.0, None], [65, [1, 0, 0, 20]], 1),
        ([50.0, None], [66], 0),
        ([50.0, [[1, 0, 2, 5]]], [50], 0.5),
        ([None, [[1, 0, 2, 5, 1]]], [0, [0, 0, 4, 6, 1]], 1),
        ([None, [[1, 0, 2, 5, 1]]], [0, [0, 0, 2, 5]], 0),
        ([None, [[1, 0, 2, 5, 1]]], [0, [0, 0]], 1),
        ([None, [[1, 0]]], [0, [0, 0, 0, 1, 1]], 1),
        ([None, [[1, 0]]], [0, [0, 0, 0, 1]], 0),
        ([None, [[1, 0, 2, 5, 1]]], [0, [0, 0, 0, 9, 1]], 0),
        ([None, [[1, 0, 2, 5, 1], [1, 0, 2, 5]]], [0, [0, 0, 0, 5, 1]], 0.5),
    ],
)
def test_what_is_known_of_a_text_and_what_a_judge_marked(known, answer, share):
    assert gold_share(answer, known, ("x" * 20, "y" * 10), ESA) == share


def test_known_errors_are_shown_and_count(campaign):
    errors = MarkedError("major", 2, 5, rater="r"), MarkedError("minor", 0, 1, rater="r", side="source")
    gold = marked_data(*errors, text="a bad text that is longer")
    path, created = campaign("esa", data=small(sources=9), gold=1.0, gold_data=gold, show_gold=True)
    with serving(path) as address:
        judge = Client(address)
        fields = {**judge.enter(created.links["judge1"]).page().forms["/judge"], "value0": 70, "marks": "[[0,0,3,6]]"}
        known = judge.post("/judge", fields)
        assert "The known answer to this item" in known.text
        for words in ("bad", "ad ", "s"):
            assert f">{words}</mark>" in known.text
        assert "minor, in the source" in known.text
    right = {"judge1": (lambda texts: [90, *([[1, 0, 2, 5], [0, 0, 0, 1, 1]] if "bad" in texts[0] else [])], 9)}
    path.unlink()
    path, _ = campaign("esa", data=small(sources=9), gold=1.0, gold_data=gold)
    connection, settings = judge_in_file(path, right, 5)
    assert (qualities(connection, settings)[0].gold, qualities(connection, settings)[0].checks) == (1, 1)
    connection.close()


def test_known_errors_are_needed_for_control_items(campaign):
    for kind, what in (("mqm", "marked errors"), ("esa", "judgements of kind 'esa' or marked errors")):
        with pytest.raises(DataError, match=f"contains no {what} to make control items from"):
            campaign(kind, gold=0.1, gold_data=small())
        gold = marked_data(MarkedError("minor", 0, 1, rater="r1"))
        with pytest.raises(DataError, match=f"contains no {what} of other raters than r1 to make"):
            campaign(kind, gold=0.1, gold_data=gold, prefill="r1")


def documents():
    """Three documents with three sources each, of two systems; the second has one output of both."""
    records = [
        Record(
            f"{doc} {at}",
            [],
            [Candidate(name, f"{doc} {at} {name if at != 1 else ''}") for name in "AB"],
            lp="de-en",
            doc=doc,
        )
        for at in range(3)
        for doc in ("x", "y", "z")
    ]
    return assemble(records, "documents")


@pytest.mark.parametrize(("next_item", "several"), [("uniform", 1), ("uniform", 2), ("overlap", 2)])
def test_documents_are_judged_in_their_order_and_each_by_the_same_judge(campaign, next_item, several):
    path, created = campaign("esa", data=documents(), judges_per_item=several, next=next_item, overlap=0.5)
    seen: dict[str, list[str]] = {"judge1": [], "judge2": []}

    def choose(code):
        return lambda texts: seen[code].append(texts[0]) or [50]

    # where items go to one judge, the last to finish is helped with his document
    rounds = created.items if several > 1 else 5
    judge_in_file(path, {code: (choose(code), 9) for code in seen}, rounds)[0].close()
    for texts in seen.values():
        runs = [[texts[0]]]
        for text in texts[1:]:
            if text[0] == runs[-1][0][0] and text[2] > runs[-1][-1][2]:
                runs[-1].append(text)
            else:
                runs.append([text])
        assert all([text[2] for text in run] in (["0", "1", "2"], ["0", "2"]) for run in runs[:-1])
        assert runs[-1][0][2] == "0" or next_item == "overlap"
        assert len(texts) == len(set(texts))
    assert len({*seen["judge1"], *seen["judge2"]}) == min(created.items, 2 * rounds)


def test_every_document_is_begun_before_any_goes_to_a_second_judge(campaign):
    path, _ = campaign("esa", judges=5, data=documents(), judges_per_item=2)
    codes = [f"judge{number}" for number in range(1, 6)]
    connection, _ = judge_in_file(path, dict.fromkeys(codes, (lambda texts: [50], 9)), 8)
    query = "SELECT judge, document FROM assignment JOIN item ON item.id = item ORDER BY assignment.id"
    begun = list(dict.fromkeys((row["judge"], row["document"]) for row in connection.execute(query)))
    connection.close()
    assert len({document for _, document in begun[:6]}) == 6
    assert len(begun) > 6


@pytest.mark.parametrize("show", ["source", "reference"])
def test_what_precedes_in_a_document_is_shown_for_checks_too(campaign, show, monkeypatch):
    monkeypatch.setattr(pages, "_EARLIER", 4)
    words = "one two three four five six seven eight"
    records = []
    for number in range(12):
        doc, at = "xy"[number % 2], number // 2
        outputs = [Candidate(name, f"{name} {doc} {at} {words}") for name in "AB"]
        records.append(Record(f"<{doc} {at}>", ["r"], outputs, lp="de-ar", doc=doc))
    path, created = campaign("esa", data=assemble(records, "x"), judges=1, degraded=0.3, repeat=0.2, show=show)
    query = (
        "SELECT item.role, source.text, system FROM assignment JOIN item ON item.id = assignment.item "
        "JOIN source ON source.id = item.source JOIN item AS first ON first.id = coalesce(item.below, item.id) "
        "JOIN candidate ON candidate.id = json_extract(first.outputs, '$[0][0]') ORDER BY assignment.id DESC LIMIT 1"
    )
    roles = set()
    with serving(path) as address:
        judge = Client(address)
        page = judge.enter(created.links["judge1"])
        while "/judge" in page.page().forms:
            with opened(path) as (connection, _):
                role, text, system = connection.execute(query).fetchone()
            roles.add(role)
            doc, at = text.strip("<>").split()
            source = '<p lang="de" dir="ltr">&lt;{} {}&gt;</p>' if show == "source" else ""
            target = '<p lang="ar" dir="rtl">{} {} {} {}</p>'
            earlier = [source.format(doc, n) + target.format(system, doc, n, words) for n in range(int(at))][-4:]
            assert re.findall(r"<li>(<p.*?)</li>", page.text) == earlier
            assert (f"Document: {doc} (earlier segments)" in page.text) == bool(earlier)
            page = judge.judge(page, lambda texts: [80])
    assert roles == {"plain", "degraded"}


def test_without_documents_items_come_in_random_order(campaign):
    path, _ = campaign("esa", data=small(sources=9))
    with opened(path) as (connection, _settings):
        assert {row["document"] for row in connection.execute("SELECT document FROM item")} == {None}
        places = [row["place"] for row in connection.execute("SELECT place FROM item ORDER BY id")]
    assert places != sorted(places)
