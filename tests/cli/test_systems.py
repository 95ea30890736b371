"""``ranker systems``, ``plan`` and ``gate`` as a user runs them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ranker import share
from ranker.cli.main import run
from ranker.evaluation.systems.people import FEWEST_SOURCES
from tests.command_line import Command
from tests.effort import further, thorough

Printed = Callable[..., str]
LINES = {
    "src": ["eins", "zwei", "drei", "vier", "fünf"],
    "ref": ["the cat sat on the mat", "it rains", "two words here", "the end of it", "five more words"],
    "B": ["the cat sat on a mat", "rain", "two words", "end", "five words"],
    "A": ["a cat sat on the mat", "it rains", "two words here", "the end of it", "more words"],
    "C": ["the cat sat on a mat", "rain", "two words", "end", "five words"],
}
FILES = ("-s", "src", "-r", "ref", "-t", "B", "A", "C")
SAMPLE = ("sample", "-m", "bleu,ter", "--resamples", "100")


@pytest.fixture
def written(folder: Path) -> Path:
    for name, lines in LINES.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


@pytest.fixture
def printed(written: Path, capsys: pytest.CaptureFixture[str]) -> Printed:
    def call(*arguments: str, command: str = "systems") -> str:
        with pytest.raises(SystemExit) as exit_info:
            run([command, *arguments])
        out, err = capsys.readouterr()
        assert exit_info.value.code == 0, err
        return out

    return call


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("test", ["bs", "ar"])
def test_systems_are_compared_with_the_first_of_the_files(printed: Printed, test: str) -> None:
    rows = rows_of(printed(*FILES, "-m", "bleu,ter", "--test", test, "-f", "csv"))
    assert [(row["metric"], row["system"]) for row in rows] == [(m, s) for m in ("bleu", "ter") for s in "ABC"]
    level = rows_of(printed(*FILES, "-m", "bleu,ter", "--level", "system", "-f", "csv", command="score"))
    corpus = {row["system"]: row for row in level}
    for row in rows:
        assert float(row["score"]) == pytest.approx(float(corpus[row["system"]][row["metric"]]))
        assert float(row["low"]) <= float(row["score"]) <= float(row["high"])
        assert (row["baseline"], row["human"]) == ("B", "")
        if row["system"] == "B":
            assert (row["difference"], row["p"], row["needed"]) == ("", "", "")
        elif row["system"] == "C":
            assert (float(row["difference"]), float(row["p"]), row["needed"]) == (0, 1, "")
        else:
            assert (float(row["difference"]) > 0) == (row["metric"] == "bleu")
            assert 0 < float(row["p"]) < 1


@pytest.mark.parametrize("width", [80, 120])
def test_tables_fit_the_terminal(printed: Printed, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(width))
    words = ("sample", "-m", "bleu", "--resamples", "100", "--legend")
    lines = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in printed(*words).splitlines()]
    tables = [line for line in lines if "|" not in line]
    assert max(map(len, tables)) <= max(width, 96)
    heads = [line.split() for line in tables if "system" in line.split() and "score" in line.split()]
    assert ("difference" in heads[0]) == (width == 120)
    # in parts each system is named in every part
    assert sum("sys7" in line.split()[:2] for line in tables) == (2 if width == 80 else 1)
    assert [line for line in lines if line.startswith("needed: ")]


def test_forced_colours_fold_no_table_in_a_file(printed: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("sample", "-m", "bleu", "--resamples", "20")
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    expected = printed(*words)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert printed(*words) == expected


def test_twelve_systems_by_three_metrics_take_forty_lines(printed: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    words = [f"word{number}" for number in range(14)]
    records = [
        {
            "source": f"s{number}",
            "references": [" ".join([*words, str(number)])],
            "candidates": [
                {"system": f"system{cut:02}", "text": " ".join(words[: 14 - cut]), "human": {"fluency": 12 - cut}}
                for cut in range(12)
            ],
        }
        for number in range(30)
    ]
    Path("twelve.json").write_text(json.dumps(records), encoding="utf-8")
    for metrics in ("chrf", "bleu,chrf,ter"):
        lines = printed("twelve.json", "-m", metrics, "--resamples", "100").splitlines()
        assert lines[0].startswith(f"By {metrics.partition(',')[0]}, system00 is best; ")
        assert len(lines) <= 40


@pytest.mark.parametrize("options", [["chrf"], ["chrf", "--pairs"], ["chrf,ter"], further(["chrf,ter", "--pairs"])])
def test_a_legend_explains_the_columns_that_are_printed_and_no_others(printed: Printed, options: list[str]) -> None:
    legend_explains_columns(printed("sample", "--resamples", "20", "--legend", "-m", *options))


def legend_explains_columns(out: str) -> None:
    columns = re.split(" {2,}", next(line for line in out.splitlines() if line.startswith(("ranks  ", "better  "))))
    names = ("score", "ranks", "people", "people, all sources", "difference", "p", "adjusted", "needed", "people agree")
    explained = re.findall(rf"^({'|'.join(names)}): ", out, re.MULTILINE)
    assert explained == [name for name in names if name in columns]


def test_a_legend_explains_the_columns_of_people(printed: Printed) -> None:
    words = ("--resamples", "20", "--legend", "-m", "chrf", "--kind", "fluency")
    lines = gzip.decompress((share.directory("data") / "sample" / "sample.jsonl.gz").read_bytes()).splitlines()
    records = [json.loads(line) for line in lines]
    for record in records[20:]:
        for candidate in record["candidates"]:
            candidate.pop("human", None)
    Path("part.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    out = printed("part.jsonl", *words)
    legend_explains_columns(out)
    assert "\npeople: human score (mean, standardised per judge) and cluster\n" in out
    assert "\npeople, all sources: " in out


def test_pairs_and_json_hold_everything(printed: Printed) -> None:
    rows = rows_of(printed(*SAMPLE, "--pairs", "-f", "csv"))
    assert len(rows) == 2 * 21
    tested = ["difference", "low", "high", "p", "adjusted", "needed", "agree", "agree.low", "agree.high"]
    assert list(rows[0]) == ["lp", "metric", "better", "worse", *tested]
    table = printed(*SAMPLE, "--pairs")
    assert table.splitlines()[3].split() == [
        "better",
        "worse",
        "difference",
        "p",
        "adjusted",
        "needed",
        "people",
        "agree",
    ]
    assert "ranks" not in table
    document = json.loads(printed(*SAMPLE, "-f", "json"))
    assert document["format"] == "ranker-systems/1"
    assert document["settings"]["alpha"] == 0.05
    assert [item["name"] for item in document["metrics"]] == ["bleu", "ter"]
    bleu = document["comparisons"][0]
    assert bleu["systems"][0]["details"]["precision 1"] == pytest.approx(0.9245, abs=5e-5)
    assert [str(pair["p"]) for pair in bleu["pairs"]] == [row["p"] for row in rows[:21]]
    assert document["human"][0]["systems"][0]["system"] == "sys1"
    lines = [json.loads(line) for line in printed(*SAMPLE, "-f", "jsonl").splitlines()]
    assert lines[0]["human.cluster"] == 1


@thorough
def test_the_report_holds_what_the_tables_hold(printed: Printed, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("sample", "-m", "ter", "--resamples", "100", "--baseline", "sys2", "--percent")
    table = printed(*words)
    assert printed(*words, "--html", "report.html") == table
    page = Path("report.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page[: page.index('id="packed"')]))
    figures = re.findall(r"(?<!\S)[-+]?[\d,]*\.\d\d+", table[: table.index("fail checks")])
    assert len(figures) > 40
    assert [figure for figure in figures if figure not in text] == []
    # other forms of output are as they were, and say on stderr what was written
    with pytest.raises(SystemExit):
        run(["systems", *SAMPLE, "-f", "json", "--html", "report.html"])
    out, err = capsys.readouterr()
    assert json.loads(out)["format"] == "ranker-systems/1"
    notes = ("fewer than 200 sources: p-values are of randomisation", "written: report.html")
    assert err == "".join(f"ranker: note: {note}\n" for note in notes)


GATE = ("gate", "sample", "--baseline", "sys4", "--resamples", "100", "-m")


@pytest.mark.parametrize(
    ("options", "failing"),
    [
        (["chrf"], ["sys5", "sys6", "sys7"]),
        (["ter"], ["sys7"]),
        (["chrf", "--max-drop", "0.07"], ["sys7"]),
        further(["chrf", "--max-drop", "0.07", "--percent"], ["sys5", "sys6", "sys7"]),
        (["chrf", "--max-drop", "7", "--percent"], ["sys7"]),
        (["chrf", "--max-drop", "0.9"], []),
    ],
)
def test_a_gate_fails_if_a_system_is_significantly_worse(
    written: Path, capsys: pytest.CaptureFixture[str], options: list[str], failing: list[str]
) -> None:
    form = [] if "--percent" in options else ["-o", "result.csv"]
    with pytest.raises(SystemExit) as exit_info:
        run([*GATE, *options, *form, "-q"])
    out, err = capsys.readouterr()
    assert exit_info.value.code == (3 if failing else 0)
    assert re.findall(r"(\w+) is significantly worse than sys4", err) == failing
    assert len(err.splitlines()) == bool(failing)
    if form:
        rows = rows_of((written / "result.csv").read_text(encoding="utf-8"))
        assert [row["system"] for row in rows if row["passes"] == "False"] == failing
    else:
        assert re.findall(r"(\w+) .* fails$", out, re.MULTILINE) == failing
        assert out.startswith("The gate fails: ")


def test_a_gate_compares_by_preferences_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head, *votes = (folder / "arena.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    more = [f"Guten {vote}" for vote in votes]
    (folder / "votes.csv").write_text(head + "".join([*votes, *more]), encoding="utf-8")
    with pytest.raises(SystemExit) as exit_info:
        run(["gate", "votes.csv", "--baseline", "birch", "--resamples", "100", "--level", "segment"])
    out, _ = capsys.readouterr()
    assert exit_info.value.code in (0, 3)
    assert "preferences, votes" in out


@pytest.mark.parametrize(("sources", "p"), [(2, 0.5), (3, 0.25), (6, 0.03125)])
def test_preferences_on_few_sources_show_no_winner_that_randomisation_could_not(
    written: Path, command: Command, sources: int, p: float
) -> None:
    head = "source,reference,system_a,text_a,system_b,text_b,preferred,judge\n"
    rows = [
        f"q{at},r,A,a {at},B,b {at},{vote},j{judge}\n" for at in range(sources) for judge, vote in enumerate("aaaaab")
    ]
    (written / "votes.csv").write_text(head + "".join(rows), encoding="utf-8")
    out = command("systems", "votes.csv", "--resamples", "200").out
    assert out.startswith("By preferences, A is better than B.") == (p < 0.05)
    none = ", so that no difference can be significant" if p > 0.05 else "\n"
    assert f"narrow and p-values too small, but at least {p:.2g}{none}" in out
    if p > 0.05:
        assert "ranker gate would never fail" in command("gate", "votes.csv", "--resamples", "200", code=2).err
    (written / "one.csv").write_text(head + "".join(rows[:6]), encoding="utf-8")
    message = "one has only one source: comparing systems requires at least two sources"
    assert message in command("systems", "one.csv", code=2).err


def test_a_gate_refuses_a_language_pair_that_it_cannot_test(written: Path, command: Command) -> None:
    rows = [
        {"lp": lp, "source": f"s{at}", "reference": f"a word {at}", "system": name, "text": f"{word} word {at}"}
        for at, lp in enumerate(["de-en"] * 8 + ["fr-en"])
        for name, word in (("A", "a"), ("B", "the"))
    ]
    (written / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert "left out pairs fr-en, which has only one source" in command("systems", "pairs.jsonl", "-m", "chrf").out
    message = "pairs fr-en has only one source or system, so ranker gate would never fail: use more, or select"
    assert message in command("gate", "pairs.jsonl", "-m", "chrf", code=2).err


@pytest.mark.parametrize("by", ["metric", "preferences"])
def test_a_gate_has_one_baseline_for_all_language_pairs(written: Path, command: Command, by: str) -> None:
    def rows(lp: str, first: str, second: str, worse: str | None) -> list[dict[str, str]]:
        """Rows of 20 sources in which one system is `worse`, or none."""
        texts = {name: "no word" if name == worse else "a word" for name in (first, second)}
        made = []
        for at in range(20):
            source = {"lp": lp, "source": f"s{at}", "reference": f"the word {at}"}
            if by == "metric":
                made += [source | {"system": name, "text": f"{text} {at}"} for name, text in texts.items()]
            else:
                vote = "ab"[at % 2 if worse is None else (worse == first) == (at > 0)]
                sides = {"system_a": first, "text_a": f"{first} {at}", "system_b": second, "text_b": f"{second} {at}"}
                made.append(source | sides | {"preferred": vote})
        return made

    def gate(other: tuple[str, str], *options: str, code: int) -> str:
        pairs = [*rows("de-en", "old", "new", None), *rows("fr-en", *other, "new")]
        (written / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in pairs), encoding="utf-8")
        metric = ("-m", "chrf") if by == "metric" else ()
        return command("gate", "pairs.jsonl", *metric, *options, "--resamples", "100", code=code).err

    assert "new is significantly worse than old" in gate(("new", "old"), code=3)
    assert "ones: pairs de-en with 'old', pairs fr-en with 'new'; name one" in gate(("new", "other"), code=2)
    gate(("new", "other"), "--baseline", "new", code=0)


def test_a_gate_by_documents_refuses_by_their_number(written: Path, command: Command) -> None:
    for documents, what in (
        (1, "pairs fr-en has only one document or system, so ranker gate would never fail"),
        (3, "with 3 documents no difference can be significant, so ranker gate would never fail: use more documents"),
    ):
        rows = [
            {
                "lp": lp,
                "doc": f"{at % number}",
                "source": f"s{at}",
                "reference": f"a word {at}",
                "system": name,
                "text": f"{word} word {at}",
            }
            for lp, number in (("de-en", 12), ("fr-en", documents))
            for at in range(12)
            for name, word in (("A", "an odd"), ("B", "the"))
        ]
        (written / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        assert what in command("gate", "pairs.jsonl", "-m", "chrf", "--level", "document", code=2).err


def test_judgements_that_a_plan_and_a_gate_do_not_show_are_no_reason_to_refuse_them(
    folder: Path, command: Command
) -> None:
    texts = ["a dog in the park", "the dog park"]
    rows = [
        f"s{source},{texts[0]},{name},{texts[bad]},{bad}\n" for source in range(20) for bad, name in enumerate("AB")
    ]
    (folder / "doubt.csv").write_text(f"source,reference,system,text,quux\n{''.join(rows)}", encoding="utf-8")
    words = ("doubt.csv", "-m", "chrf", "--resamples", "20")
    assert "state it: --kind quux:lower or --kind quux:higher" in command("systems", *words, code=2).err
    for name in ("plan", "gate"):
        assert "people" not in "".join(command(name, *words, code=3 if name == "gate" else 0))


def test_a_plan_holds_the_power_and_what_is_needed(printed: Printed) -> None:
    def plan(*options: str) -> dict[str, dict[str, str]]:
        return {
            row["system"]: row for row in rows_of(printed(*SAMPLE[:2], "chrf", "-f", "csv", *options, command="plan"))
        }

    observed, given = plan("--resamples", "200"), plan("--resamples", "200", "--difference", "0.02")
    compared = rows_of(printed(*SAMPLE[:2], "chrf", "--resamples", "200", "-f", "csv"))
    assert [observed[row["system"]]["needed"] for row in compared[1:]] == [row["needed"] for row in compared[1:]]
    for row in given.values():
        assert float(row["difference"]) == 0.02
        assert (float(row["power"]) >= 0.8) == (int(row["needed"]) <= 120) == (float(row["detectable"]) <= 0.02)
    documents = plan("--resamples", "200", "--level", "document")
    assert {row["documents"] for row in documents.values()} == {"12"}
    table = printed(*SAMPLE[:2], "chrf", "--pairs", "--percent", command="plan")
    assert len(re.findall(r"chrf %", table)) == 21


def test_a_plan_from_few_sources_promises_no_significance(printed: Printed, tmp_path: Path) -> None:
    for name, lines in (("r", ["a b c d"] * 4), ("x", ["a b c d"] * 4), ("y", ["a b e d"] * 4)):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    words = ("-r", str(tmp_path / "r"), "-t", str(tmp_path / "x"), str(tmp_path / "y"), "-m", "chrf", "-f", "csv")
    (row,) = rows_of(printed(*words, command="plan"))
    assert (row["sources"], float(row["power"]), row["detectable"], row["needed"]) == ("4", 0, "", "6")


def test_bleu_chrf_and_the_suited_model_are_the_default(printed: Printed) -> None:
    rows = rows_of(printed(*FILES, "--resamples", "20", "-f", "csv"))
    assert list(dict.fromkeys(row["metric"] for row in rows)) == ["bleu", "chrf", "full"]
    scores = rows_of(printed(*FILES, "--level", "system", "-f", "csv", command="score"))
    assert list(scores[0]) == ["lp", "system", "segments", "bleu", "chrf", "full"]
    full = {row["system"]: row["score"] for row in rows if row["metric"] == "full"}
    assert {row["system"]: row["full"] for row in scores} == full


def test_names_that_a_terminal_would_obey_are_escaped(printed: Printed) -> None:
    texts = {"\u202eA\x1b[31m": "a b c d", "<b>": "a b x d"}
    records = [{"source": "s", "references": ["a b c d"], "candidates": texts} for _ in range(3)]
    Path("odd.json").write_text(json.dumps(records), encoding="utf-8")
    for form in ("table", "markdown", "latex"):
        out = printed("odd.json", "-m", "bleu", "--resamples", "20", "-f", form)
        assert "\u202e" not in out
        assert "\x1b" not in out
        assert "u202eA" in out


def test_plain_files_take_their_language_pair_from_lp(printed: Printed) -> None:
    rows = rows_of(printed(*FILES, "-m", "bleu", "--lp", "de-en", "-f", "csv"))
    assert {row["lp"] for row in rows} == {"de-en"}
    assert rows_of(printed(*FILES, "-m", "bleu", "-f", "csv"))[0]["lp"] == ""


def test_a_ranker_is_compared_too(printed: Printed) -> None:
    printed("-d", "sample", "-F", "chrf", "--C", "1", "-o", "x.model", "--folds", "0", command="train")
    rows = rows_of(printed("sample", "-m", "chrf", "-M", "x.model", "--resamples", "50", "-f", "csv"))
    assert {row["metric"] for row in rows} == {"chrf", "x.model"}


@pytest.mark.parametrize("language", ["zh", "ja"])
def test_a_table_of_chinese_or_japanese_says_of_each_metric_what_is_better(
    language: str, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BLEU reads characters or words by the script, TER does not: one line each, which do not contradict each other."""
    monkeypatch.chdir(tmp_path)
    text = {"zh": "我很喜欢那只坐在垫子上的猫", "ja": "私はマットの上に座っている猫がとても好きです"}[language]
    lines = [f"{text[number % 5 :]}{number}" for number in range(FEWEST_SOURCES)]
    for name, cut in (("ref", 0), ("a", 2), ("b", 4)):
        Path(name).write_text("".join(f"{line[cut:]}\n" for line in lines), encoding="utf-8")
    chars = "bleu" if language == "zh" else "bleu[tokenizer=char]"
    words = ["systems", "-r", "ref", "-t", "a", "b", "--resamples", "20"]
    printed, err = command(*words, "-m", f"{chars},ter,chrf")
    name = {"zh": "Chinese", "ja": "Japanese"}[language]
    notes = [line.removeprefix("ranker: note: ") for line in err.splitlines() if name in line]
    joined = f"the references are {name}, written without spaces, so tokenizer=none treats each clause as one word"
    assert notes[-1] == f"ter: {joined}; use tokenizer=tercom-asian instead"
    assert [note.partition(",")[0] for note in notes[:-1]] == ["bleu: tokenizer=zh"] * (language == "zh")
    assert "people agree" not in printed
    fine = command(*words, "-m", "ter[tokenizer=tercom-asian]", "--lp", f"en-{language}")
    assert "instead" not in fine[1]
    assert "people agree" not in fine[0]


def test_failing_outputs_of_a_system_are_counted_over_all_language_pairs(printed: Printed, written: Path) -> None:
    records = [
        {
            "lp": lp,
            "source": f"{lp} {number}",
            "references": ["a word or two"],
            "candidates": [
                {"system": "A", "text": "" if number < (5 if lp == "de-en" else 0) else "a word or one"},
                {"system": "B", "text": "" if number < 4 else "a word or none"},
            ],
        }
        for lp in ("de-en", "fr-en")
        for number in range(10)
    ]
    (written / "pairs.json").write_text(json.dumps(records))
    out = printed("pairs.json", "-m", "bleu", "--resamples", "10")
    assert "outputs that fail checks: 13, 8 of them of B: see ranker check" in out
