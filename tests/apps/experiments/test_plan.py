"""Tables are shown as they are made, and one that fails costs no other."""

from __future__ import annotations

import csv
import io
import json

import pytest

from ranker.apps.experiments import ye07
from ranker.apps.experiments.tables import Plan, Table, TableTask
from ranker.errors import DataError


def table(title):
    return Table(title, ({"value": 1},))


def failing(error):
    def make():
        yield table("before")
        raise error

    return make


def plan(error):
    return Plan(
        "made up",
        (
            TableTask("first", lambda: [table("first")]),
            TableTask("second", failing(error)),
            TableTask("third", lambda: [table("third")]),
        ),
        "signature",
    )


@pytest.fixture
def emit(monkeypatch, command):
    """Run a command whose plan is `made`, and return what it printed."""

    def call(made, *words, code=0):
        monkeypatch.setattr(ye07, "plan", lambda *_: made)
        return command("experiment", "ye07", "--train", "sample", *words, code=code)

    return call


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_each_table_is_printed_before_the_next_is_made(emit, capsys, form):
    printed = []

    def second():
        printed.append(capsys.readouterr().out)
        return [table("second")]

    tasks = (TableTask("first", lambda: [table("first")]), TableTask("second", second))
    assert "second" in emit(Plan("made up", tasks, "signature"), "--format", form).out
    assert "first" in printed[0]


def test_the_command_reports_what_failed_and_prints_the_rest(emit, tmp_path):
    experiment_plan = plan(DataError("too few sources", file="wmt12"))
    error = "ranker: error: table 'second' could not be computed: wmt12: too few sources\n"
    printed = emit(experiment_plan, code=2)
    assert printed.err == error
    titles = ["first", "before", "third"]
    assert [line for line in printed.out.splitlines() if line in (*titles, "second")] == titles
    assert printed.out.endswith("signature\n")
    files = [tmp_path / f"out{form}" for form in (".json", ".csv", ".md")]
    for path in files:
        printed = emit(experiment_plan, "--output", str(path), code=2)
        assert (printed.out, printed.err) == ("", f"{error}ranker: note: written: {path}\n")
    document = json.loads(files[0].read_text())
    assert [item["title"] for item in document["tables"]] == titles
    assert document["failures"] == [{"title": "second", "reason": "wmt12: too few sources"}]
    assert [row["table"] for row in csv.DictReader(io.StringIO(files[1].read_text()))] == titles
    assert "### second\n\nThis table could not be computed: wmt12: too few sources\n" in files[2].read_text()


def test_a_fault_of_the_program_is_shown_after_everything_else(emit, tmp_path):
    made = plan(ZeroDivisionError("division by zero"))
    printed = emit(made, "--output", str(tmp_path / "out.json"), code=2)
    assert "table 'second' could not be computed: unexpected ZeroDivisionError: division by zero" in printed.err
    assert "Traceback" in printed.err
    assert len(json.loads((tmp_path / "out.json").read_text())["tables"]) == 3


def test_the_name_of_a_file_is_checked_before_the_work(emit):
    experiment_plan = Plan("made up", (TableTask("first", lambda: pytest.fail("was made")),), "signature")
    printed = emit(experiment_plan, "--output", "out.xml", code=2)
    assert (
        "-o out.xml: the result cannot be written as .xml; expected a name ending in .json or .csv or .md"
        in printed.err
    )
