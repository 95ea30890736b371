"""What comes from data never reaches a terminal as it is, and no spreadsheet runs it."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ranker.apps.experiments.tables import Experiment, Failure, Table
from ranker.cli.main import run
from ranker.cli.output import emit, print_table, print_text
from ranker.corpora.formats.reading import read_dataset
from ranker.files import printable
from tests.command_line import Command
from tests.effort import further, thorough

# the clipboard, the title, an erased screen, a C1 control, another direction, a line that looks like a row
HOSTILE = "\x1b]52;c;cm0=\x07\x1b]0;t\x07\x1b[2J\x9b2J\u202e\u2066\u2028\r\n1  evil  1.0"
UNSAFE = "\x1b\x07\x9b\u202e\u2066\u2028\r"


@pytest.mark.parametrize("rows", [2, 1500])
def test_cells_titles_and_heads_of_tables(rows: int, capsys: pytest.CaptureFixture[str]) -> None:
    print_table([{"system": HOSTILE, HOSTILE: 1.5}] * rows, HOSTILE)
    lines = capsys.readouterr().out.removesuffix("\n").split("\n")
    assert len(lines) == rows + 2
    assert all(line == printable(line) for line in lines)


@pytest.mark.parametrize("wide", [(), ("text",)])
@pytest.mark.parametrize("keys", [(), ("system",)])
def test_no_width_of_the_terminal_cuts_a_cell(
    keys: tuple[str, ...], wide: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    names = ["Unbabel-Tower70B-system-1", "Unbabel-Tower70B-system-12", "系统一号非常长的名字", HOSTILE, "x" * 60]
    rows = [
        {
            "ranks": f"{number}-{number + 2}",
            "system": name,
            "score": f"0.9{number} [0.8793 0.9423]  {number}",
            "margin": number / 7,
            "text": f"goes sleeps {number} woman the new quickly red house sleeps man",
        }
        for number, name in enumerate(names, 1)
    ]
    for width in range(1, 150):
        monkeypatch.setenv("COLUMNS", str(width))
        print_table(rows, wide=wide, keys=keys)
        out = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)
        cells = [
            *rows[0],
            *(f"{value:.4f}" if name == "margin" else value for row in rows for name, value in row.items()),
        ]
        together = "".join(out.split())
        for cell in map(printable, cells):
            assert cell in out or (wide and "".join(cell.split()) in together), (width, cell)


@pytest.fixture
def hostile(folder: Path) -> str:
    candidates = [
        {"system": f"{HOSTILE}{number}", "text": f"a b c {HOSTILE}", "human": {"fluency": number}}
        for number in range(1, 4)
    ]
    names = {"lp": f"de-en{HOSTILE}", "seg_id": HOSTILE, "doc": HOSTILE}
    record = {**names, "source": HOSTILE, "references": [f"a b c d {HOSTILE}"], "candidates": candidates}
    records = [record, {**record, "seg_id": "2", "candidates": candidates[::-1]}]
    (folder / "hostile.json").write_text(json.dumps(records))
    return "hostile.json"


@pytest.mark.parametrize(
    "arguments",
    [
        ["rank", "DATA", "-m", "bleu"],
        ["rank", "DATA", "-m", "bleu", "-f", "json"],
        ["rank", "DATA", "-m", "bleu", "-f", "jsonl"],
        ["score", "DATA", "-m", "bleu"],
        ["score", "DATA", "-m", "bleu", "--level", "segment"],
        ["evaluate", "--data", "DATA", "-m", "bleu", "--resamples", "10"],
        ["evaluate", "--data", "DATA", "-m", "bleu", "-m", "chrf", "--resamples", "10"],
        ["agreement", "--data", "DATA", "--systems"],
        ["contrast", "DATA", f"{HOSTILE}1", f"{HOSTILE}2", "-m", "bleu", "--parser", "none"],
        ["explain", "DATA", "-M", "full-any"],
        ["explain", "DATA", "-M", "full-any", "--spans"],
        ["check", "DATA", "--spans"],
        ["explain", "DATA", "-M", "full-any", "--pair", f"{HOSTILE}1", f"{HOSTILE}2"],
        ["experiment", "isozaki10", "--data", "DATA", "--kind", "fluency", "-f", "markdown"],
        ["data", "check", "DATA"],
        ["data", "check", f"no\x1b[2J{'such' * 1000}.json"],
        ["rank", "DATA", "-m", f"no{HOSTILE}"],
    ],
    ids=lambda words: " ".join(word for word in words if word.isprintable())[:40],
)
def test_no_command_prints_what_a_terminal_would_obey(
    arguments: list[str], hostile: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run([hostile if word == "DATA" else word for word in arguments])
    printed = capsys.readouterr()
    assert printed.out or printed.err
    assert not set(UNSAFE) & set(printed.out + printed.err)
    assert not any(line.startswith("1  evil") for line in printed.out.split("\n"))
    assert all(len(line) <= 2100 for line in printed.err.split("\n"))


def test_json_says_the_same_with_escapes(hostile: str, command: Command) -> None:
    document = json.loads(command("rank", hostile, "-m", "bleu", "-f", "json").out)
    assert document["sources"][0]["source"] == HOSTILE


def test_csv_holds_no_formulas_unless_they_are_wanted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["=1+1", "+1", "-1", "@a", "\t=1", "'-1", "a=1", ""]
    rows = [{"=head": text, "score": -0.5} for text in texts]
    emit("csv", None, rows, print)
    escaped = list(csv.reader(io.StringIO(capsys.readouterr().out)))
    assert escaped == [
        ["'=head", "score"],
        *([f"'{text}", "-0.5"] for text in texts[:6]),
        *([t, "-0.5"] for t in texts[6:]),
    ]
    monkeypatch.setenv("RANKER_CSV_FORMULAS", "1")
    emit("csv", None, rows, print)
    assert list(csv.reader(io.StringIO(capsys.readouterr().out)))[1:] == [[text, "-0.5"] for text in texts]


def test_forms_of_experiments_hold_nothing_that_is_run_or_obeyed() -> None:
    row = {f"=a{HOSTILE}": "=1+1|<b>`c`[d](e)", "b": 0.5}
    result = Experiment(
        "x", (Table(HOSTILE, (row,), HOSTILE),), f"`{HOSTILE}", (Failure(HOSTILE, ValueError(HOSTILE)),)
    )
    markdown = "".join([*(each.markdown() for each in (*result.tables, *result.failures)), result.closing()])
    assert "=1+1|" in result.json()
    assert not set(UNSAFE) & set(result.json() + markdown)
    assert r"| =1+1\|\<b>\`c\`[d]\(e) | 0.500 |" in markdown.split("\n")
    header, cells = csv.reader(io.StringIO(result.csv()))
    assert (header[1], cells[1:]) == (f"'=a{HOSTILE}", ["'=1+1|<b>`c`[d](e)", "0.5"])


@pytest.mark.parametrize("terminal", [True, False])
def test_forms_for_programs_are_printable_on_a_terminal_alone(
    terminal: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    print_text(f"a\n{HOSTILE}\n")
    emit("csv", None, [{"a": HOSTILE}], print)
    assert bool(set("\x1b\x9b\u202e") & set(capsys.readouterr().out)) is not terminal


@pytest.mark.parametrize("words", [further("systems --resamples 5 -m bleu -m chrf"), "contrast -m bleu --resamples 5"])
@thorough
def test_reports_isolate_names_and_their_plots_are_xml(
    words: str, hostile: str, folder: Path, command: Command
) -> None:
    records = json.loads((folder / hostile).read_text())
    if words.startswith("contrast"):
        for record in records:
            del record["candidates"][0 if record["seg_id"] == "2" else 2]
    (folder / hostile).write_text(json.dumps(records))
    command(*words.split(), hostile, "--html", "page.html")
    page = (folder / "page.html").read_text(encoding="utf-8")
    plots = re.findall("<svg.*?</svg>", page, flags=re.DOTALL)
    for plot in plots:
        ElementTree.fromstring(plot.replace("<svg ", '<svg xmlns:xlink="x" ', 1))
    outside = re.sub(r"<svg.*?</svg>|<script.*?</script>|<bdi>.*?</bdi>|\S+=\"[^\"]*\"", "", page, flags=re.DOTALL)
    assert plots or words.startswith("contrast")
    assert "\u202e" in page
    assert [outside[max(at.start() - 150, 0) : at.end()] for at in re.finditer("\u202e", outside)] == []


def test_converted_corpora_hold_the_texts_as_they_are(folder: Path, command: Command) -> None:
    record = {"source": "=1", "references": ["@r"], "candidates": [{"system": "-A", "text": "+1"}]}
    (folder / "formulas.json").write_text(json.dumps([record]))
    command("data", "convert", "formulas.json", "formulas.csv")
    rows = list(csv.reader(io.StringIO((folder / "formulas.csv").read_text())))
    assert {"=1", "@r", "-A", "+1"} <= set(rows[1])


def test_printed_csv_is_read_as_the_same_texts(folder: Path, command: Command) -> None:
    texts = {"-A": "- yes", "B": "'- yes", "C": "a\rb", "D": '"=1"'}
    (folder / "in.json").write_text(json.dumps([{"source": "=s", "references": ["- yes"], "candidates": texts}]))
    (folder / "ranked.csv").write_text(command("rank", "in.json", "-m", "chrf", "-f", "csv").out, newline="")
    again = read_dataset("ranked.csv")
    assert dict(again.candidates[["system", "text"]].to_numpy().tolist()) == texts
    assert again.sources["text"].tolist() == ["=s"]
    given = []
    for metric in ("chrf", "given[file=ranked.csv]"):
        printed = command("rank", "in.json", "-m", metric, "-f", "jsonl").out
        given.append([line.partition(",")[2] for line in printed.splitlines()])
    assert given[0] == given[1] != []


def test_the_file_that_failed_is_blamed(folder: Path, monkeypatch: pytest.MonkeyPatch, command: Command) -> None:
    def fail(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "secret\x1b.npz")

    monkeypatch.setattr("ranker.corpora.catalogue.load", fail)
    refused = command("data", "check", "good.json", code=2)
    assert refused.err == "ranker: error: secret\\x1b.npz: Permission denied\n"
