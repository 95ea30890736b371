"""What all commands have in common: help, output, notes, names."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from ranker import threads
from ranker.cli.main import app

CANDIDATES = [
    {"src": "一", "ref": "the cat sat on the mat", "tgt": {"A": "the cat sat on the mat", "B": "a cat on mat"}},
    {"src": "二", "refs": ["it rains", "it is raining"], "tgt": {"A": "rain", "B": "it rains"}},
]


@pytest.fixture
def ranker(command, tmp_path, monkeypatch):
    """Run one command in a folder with candidates; return what it printed on stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    Path("c.json").write_text(json.dumps(CANDIDATES), encoding="utf-8")

    def call(line: str, code: int = 0) -> tuple[str, str]:
        return command(*line.split(), code=code)

    return call


def commands(command, name=""):
    for part, item in getattr(command, "commands", {}).items():
        yield from commands(item, f"{name} {part}".strip())
    yield name, command


COMMANDS = dict(commands(typer.main.get_command(app)))


def options_of(command) -> dict[str, str]:
    return {option: param.name for param in command.params for option in param.opts if option.startswith("-")}


@pytest.mark.parametrize("name", ["", "rank", "data", "data list"])
def test_h_is_help(ranker, name):
    assert ranker(f"{name} -h") == ranker(f"{name} --help")


def test_a_letter_means_the_same_everywhere():
    meanings: dict[str, set[str]] = {}
    for command in COMMANDS.values():
        for param in command.params:
            for letter in (option for option in param.opts if option.startswith("-") and len(option) == 2):
                meanings.setdefault(letter, set()).update(option for option in param.opts if option.startswith("--"))
    assert {letter: names for letter, names in meanings.items() if len(names) > 1} == {
        "-t": {"--translations", "--target"}
    }


def test_every_result_has_a_format_and_a_file():
    for name, command in COMMANDS.items():
        if not hasattr(command, "commands"):
            printed_otherwise = ("help", "report", "align apply", "collect serve", "collect link")
            written = ("data get", "data shard", "data select", "data convert", "nbest from-dataset")
            file = () if name in written else ("--output", "-o")
            assert {"--format", "-f", *file} <= {*options_of(command)} or name in printed_otherwise, name


@pytest.mark.parametrize(
    "line", ["-qj2 rank c.json -m bleu", "rank c.json -m bleu -qj2", "rank -q c.json -m bleu --jobs 2"]
)
def test_options_of_the_program_may_be_before_the_command_or_after_it(ranker, line):
    with threads.using(1):
        out, err = ranker(f"{line} --json")
        assert threads.jobs() == 2
    assert json.loads(out)["signature"]
    assert err == ""


def test_options_of_the_program_are_refused_as_those_of_a_command(refused):
    refused("rank", "c.json", "--jobs", says="Option '--jobs' requires an argument. See: ranker rank")
    refused("rank", "c.json", "--jobs", "many", says="Invalid value for '--jobs' / '-j': expected a whole number")
    refused("rank", "c.json", "--json", "-f", "csv", says="--json means --format json and conflicts with --format csv")
    refused("align", "apply", "--json", says="No such option: --json")
    refused("--json", "rank", "c.json", says="No such option: --json")


def test_a_result_is_written_to_a_file_in_the_format_of_its_name(ranker):
    printed, _ = ranker("rank c.json -m bleu -f csv")
    out, err = ranker("rank c.json -m bleu -o r.csv")
    assert (out, err) == ("", "ranker: note: written: r.csv\n")
    assert Path("r.csv").read_text(encoding="utf-8") == printed
    ranker("rank c.json -m bleu -o r.out")
    assert Path("r.out").read_text(encoding="utf-8") == ranker("rank c.json -m bleu")[0]
    printed, _ = ranker("score c.json -m bleu -f csv")
    ranker("score c.json -m bleu -o s.csv")
    assert Path("s.csv").read_text(encoding="utf-8") == printed
    ranker("score c.json -m bleu -o s.csv -f jsonl")
    assert json.loads(Path("s.csv").read_text(encoding="utf-8").splitlines()[0])["system"] == "A"


def test_quiet_leaves_out_notes_but_no_errors(ranker, caplog):
    assert "note: using the included model" in ranker("rank c.json")[1]
    for line in ("rank c.json -q", "-q rank c.json"):
        out, err = ranker(line)
        assert (bool(out), err) == (True, "")
    assert ranker("rank nothing.json -q", code=2)[1].startswith("ranker: error: ")
    Path("m.csv").write_text("source,system,text,reference,comment\na,A,b,c,so so\n")
    ranker("score m.csv -m chrf --quiet")
    assert not caplog.records
    assert logging.getLogger("ranker").level == logging.NOTSET
    ranker("score m.csv -m chrf")
    assert "ignored" in caplog.text


def test_completion_completes_without_anything_heavy():
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "ranker"],
        env={"_RANKER_COMPLETE": "complete_bash", "COMP_WORDS": "ranker sc", "COMP_CWORD": "1", **_environment()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["score"]
    assert "numpy" not in done.stderr


def _environment() -> dict[str, str]:
    import os

    return {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "HOME") if name in os.environ}


def test_metrics_have_names_in_any_case(ranker):
    printed, _ = ranker("score c.json -m BLEU,chrF,Bleu[order=2],combine[BLEU-2*TER],NGRAMS.1.f1 --json")
    assert [*json.loads(printed)["rows"][0]][3:] == [
        *("bleu", "chrf", "bleu[order=2]", "combine[bleu - 2*ter]", "ngrams.1.f1")
    ]
    for name in ("perp", "BLEU1-4", "Bleu"):
        ranker(f"train -d sample -F {name} -o m --folds 0 --C 1")


@pytest.mark.parametrize(
    "lines",
    [
        ("score c.json -m bleu,chrf", "score -d c.json -m bleu -m chrf", "score --data c.json --metric bleu,chrf"),
        ("score c.json c2.json -m bleu", "score -d c.json -d c2.json -m bleu", "score -d c.json,c2.json -m bleu"),
        ("rank c.json -m bleu", "rank -d c.json -m bleu"),
        (
            "evaluate -d sample -m bleu,chrf --resamples 0 --level system",
            "evaluate sample -m bleu -m chrf --resamples 0 --level corpus",
        ),
        ("contrast c.json A B --parser none", "contrast A B -d c.json --parser none"),
    ],
)
def test_data_and_metrics_are_named_in_the_same_ways(ranker, lines):
    Path("c2.json").write_text(json.dumps([{**item, "lp": "zh-en"} for item in CANDIDATES]), encoding="utf-8")
    assert len({ranker(line)[0] for line in lines}) == 1


def test_spaces_are_part_of_the_names_of_files(command, ranker):
    Path("c.json").rename(" c.json")
    Path("d.json").write_text(Path(" c.json").read_text(encoding="utf-8"), encoding="utf-8")
    assert command("score", " c.json", "-m", "bleu").out.count("\n") > 3
    assert command("score", "-d", "d.json, d.json", "-m", "bleu").out


def test_a_corpus_is_a_system_over_one_text(ranker):
    assert ranker("score c.json -m bleu --level corpus") == ranker("score c.json -m bleu --level system")


def test_no_source_file_is_needed_where_nothing_reads_it(ranker):
    for name, text in {"ref": "the cat sat\nit rains\n", "A": "the cat\nit rains\n", "src": "一\n二\n"}.items():
        Path(name).write_text(text, encoding="utf-8")
    without, given = (
        json.loads(ranker(f"score {files} -m bleu --json")[0]) for files in ("-r ref -t A", "-s src -r ref -t A")
    )
    assert without["rows"] == given["rows"]
    assert "the cat" in ranker("rank -r ref -t A -m chrf")[0]
    assert "require source sentences" in ranker("score -r ref -t A -m lrscore", code=2)[1]


TABLES = {
    "m.csv": "src,hyp,ref\n一,the cat,the cat sat\n二,it rains,it rains\n",
    "n.csv": "src;hypothesis;ref\n一;the cat;the cat sat\n二;it rains;it rains\n",
    "t.tsv": "source\tmt\treference\n一\tthe cat\tthe cat sat\n二\tit rains\tit rains\n",
    "j.jsonl": '{"src": "一", "hyp": "the cat", "ref": "the cat sat"}\n'
    '{"src": "二", "hypothesis": "it rains", "ref": "it rains"}\n',
    "o.csv": "hyp,ref\nthe cat,the cat sat\nit rains,it rains\n",
    "p.jsonl": '{"mt": "the cat", "ref": "the cat sat"}\n{"mt": "it rains", "ref": "it rains"}\n',
    "capitals.csv": "Source,MT,Ref_1\n一,the cat,the cat sat\n二,it rains,it rains\n",
    "noending": "ref;mt\nthe cat sat;the cat\nit rains;it rains\n",
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_as_people_have_them(ranker, name):
    Path(name).write_text(TABLES[name], encoding="utf-8")
    rows = json.loads(ranker(f"score {name} -m chrf --json")[0])["rows"]
    assert [row["system"] for row in rows] == ["candidate1", "candidate1"]
    assert rows[0]["chrf"] < rows[1]["chrf"] == pytest.approx(1)


def test_it_is_said_when_columns_may_be_separated_by_either(ranker, caplog):
    Path("x.csv").write_text("mt,ref,x;mt;ref\nyes,yes,1\n")
    ranker("score x.csv -m chrf")
    assert "columns may be separated by ',' or ';'; using ','" in caplog.text
    Path("y.csv").write_text("produced;ref\nyes;yes\n")
    assert "column 'text' is missing; expected at least text (or mt, hyp, " in ranker("score y.csv -m chrf", code=2)[1]


def test_features_are_grouped_and_one_is_shown_with_its_options(ranker):
    everything, _ = ranker("features")
    headings = [line for line in everything.splitlines() if line in ("words", "word order", "fluency", "feature sets")]
    assert headings == ["words", "word order", "fluency", "feature sets"]
    assert "  order=4" not in everything
    single, _ = ranker("features BLEU")
    assert "  order=4" in single
    assert "\nchrf " not in single
    rows = json.loads(ranker("features --json")[0])
    assert {"group": "words", "name": "  order=4", "metric": "", "what": "a whole number"} in rows


def test_signatures_are_short_in_tables_and_long_on_request_and_in_json(ranker):
    short = ranker("score c.json -m bleu[order=2] --level system")[0].splitlines()[-1]
    long = ranker("score c.json -m bleu[order=2] --level system --long-signatures")[0].splitlines()[-1]
    assert json.loads(ranker("score c.json -m bleu[order=2] --level system --json")[0])["signature"] == long
    assert "|sacrebleu:" not in short
    assert "smoothing=exp" in long
    head, _, options = short.partition("|metric:")
    assert long.startswith(f"{head}|metric:bleu[order=2,")
    assert re.fullmatch(r"bleu#[0-9a-f]{8}\|ranked:c#[0-9a-f]{8}\|level:system", options)
    other = ranker("score c.json -m bleu[order=3] --level system")[0].splitlines()[-1]
    assert other != short
    assert len(ranker("rank c.json -q")[0].splitlines()[-1]) < 100


def test_test_sets_in_sgml_need_no_source_either(ranker):
    for role in ("ref", "tst"):
        Path(f"{role}.sgm").write_text(
            f'<{role}set setid="x" srclang="de" trglang="en"><doc docid="d" sysid="{role}">'
            f'<seg id="1">the cat sat</seg><seg id="2">it rains</seg></doc></{role}set>'
        )
    rows = json.loads(ranker("score -r ref.sgm -t tst.sgm -m chrf --json")[0])["rows"]
    assert [(row["lp"], row["chrf"]) for row in rows] == [("de-en", 1.0), ("de-en", 1.0)]
