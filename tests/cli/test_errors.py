"""What a user gets wrong: one line on stderr, exit code 2, nothing on stdout, nothing written."""

from __future__ import annotations

import json
import logging
import pickle
import re
from pathlib import Path

import pytest

from ranker import progress
from ranker.cli.main import run
from tests.cli.conftest import RATED, Refused

# words of a command line -> what the message must say
REFUSALS: dict[str, str] = {
    # commands and options
    "trian": "No such command 'trian'.*'train'",
    "--nope": "No such option",
    "train --nope": "No such option.*See: ranker train --help",
    "train extra": "'extra' is neither a file nor a known corpus",
    "train --data": "'--data' requires an argument",
    "data nope": "No such command 'nope'.*See: ranker data --help",
    "data show": "(?i)missing argument.*CORPUS",
    "data convert good.json": "(?i)missing argument.*FILE",
    "features extra": "unknown metric, feature or feature set 'extra'",
    # choices and numbers
    "train -d good.json --loss hinje": "'--loss'.*'hinge', 'squared_hinge'",
    "train -d good.json --pairs some": "'--pairs'.*'judgements', 'aggregated', .*'balanced'",
    "train -d good.json --format xml": "'--format'.*'table', 'json'",
    "train -d good.json --format csv": "'--format'.*'table', 'json'",
    "rank good.json -m bleu -f yaml": "'--format'.*'table', 'json', 'jsonl', 'csv'",
    "score good.json -m bleu --level word": "'--level'.*'segment', 'document', 'system'",
    "train -d good.json --seed -1": "'--seed'",
    "train -d good.json --seed x": "'--seed': expected a whole number, found 'x'",
    "train -d good.json --jobs 0": "'--jobs'.*expected a whole number from 1",
    "train -d good.json --jobs many": "'--jobs' / '-j': expected a whole number, found 'many'",
    "evaluate -d good.json -m bleu --resamples -1": "'--resamples'",
    "evaluate -d good.json -m bleu --resamples x": "'--resamples': expected a whole number, found 'x'",
    "train -d good.json --C abc": "--C abc: expected a positive number or 'auto'",
    "train -d good.json --C AUTO": "expected a positive number or 'auto'",
    "train -d good.json --C 0": "C=0.0: expected a number from 1e-30 to 1e.30, or 'auto'",
    "train -d good.json --C -1": "C=-1.0: expected a number from 1e-30 to 1e.30, or 'auto'",
    "train -d good.json --C nan": "C=nan: expected a number from 1e-30 to 1e.30, or 'auto'",
    "train -d good.json --C 1e200": "C=1e.200: expected a number from 1e-30 to 1e.30",
    "train -d good.json --C inf": "C=inf: expected a number from 1e-30 to 1e.30, or 'auto'",
    "evaluate good.json -m bleu --resamples 1000001": "'--resamples'.*1000001",
    "systems good.json -m bleu --resamples 9223372036854775808": "'--resamples'",
    "align train -s two -t two -M x.align --ibm1 1001": "'--ibm1'",
    "tune --nbest two -r two -m bleu --directions 999999999999": "'--directions'",
    "tune --nbest two -r two -m bleu --restarts 999999999999": "'--restarts'",
    "rank good.json -m bleu --given \u200c": r"--given \\u200c: expected NAME=FILE",
    # corpora
    "train": "no data: give a corpus name, a file, - for stdin, or -r REF",
    "evaluate -m bleu": "no data: give",
    "train -d smaple": r"'smaple' is neither a file nor a known corpus \(did you mean 'sample'\?\)",
    "rank wmt115 -m bleu": r"\(did you mean 'wmt15'\?\)",
    "data show acl5": r"unknown corpus 'acl5' \(did you mean 'acl05'\?\)",
    "data check none.json": "'none.json' is neither a file nor a known corpus",
    "train -d good.json -d none.json": "'none.json' is neither a file",
    "rank directory -m bleu": "directory: this is a directory.*expected",
    "rank cut.json -m bleu": r"cut.json:2:1: not JSON \(is the file cut off or badly quoted\?\)",
    "data check empty.csv": "empty.csv: is empty, expected a corpus",
    "data check notes.txt": "notes.txt: unknown format; expected",
    "evaluate -d good.json -d cut.json -m bleu": "cut.json:2:1: not JSON",
    "data convert cut.json out.csv": "cut.json:2:1: not JSON",
    # parallel files
    "rank good.json -s two -r two -t two -m bleu": "either a corpus or parallel files",
    "rank -r two -m bleu": "no translations given",
    "rank -s two -r two -m bleu": r"no translations given; expected at least one file of system output \(-t\)",
    "rank -s two -r three -t two -m bleu": "three:3: has 3 lines, expected 2 as in two",
    "rank -s two -r two -t two three -m bleu": "three:3: has 3 lines, expected 2 as in two",
    "rank -s two -r two two -t two two -m bleu": "two files give the system name 'two'.*rename one of them",
    "rank -s none -r two -t two -m bleu": "none: no such file",
    "rank -s two -r two -t empty.csv -m bleu": "empty.csv: has 0 lines, expected 2 as in two",
    "rank -s two -r two -t directory -m bleu": "directory: this is a directory, expected a file",
    "rank -s two -t three notes.txt -m bleu": "three:3: has 3 lines, expected 2",
    # language pairs and kinds of judgement
    "rank good.json -m bleu --lp de-en": "good: no sources of language pair 'de-en' .did you mean 'zh-en'.*: zh-en",
    "train -d good.json --lp zh-en --lp fr-en": "no sources of language pair 'fr-en'",
    "data convert good.json out.csv --lp xx": "no sources of language pair 'xx'",
    "train -d good.json --kind fluencyy": r"kind 'fluencyy' \(did you mean 'fluency'\?\); available: fluency",
    "train -d good.json --kind preferences": "no judgements of kind 'preferences'",
    "evaluate -d good.json -m bleu --kind adequacy": "no judgements of kind 'adequacy'.*available: fluency",
    "train -d not-judged.json": "not-judged: contains no human judgements",
    "evaluate -d not-judged.json -m bleu": "not-judged: contains no human judgements",
    "train -s two -r two -t two": "contains no human judgements",
    "train -d one-candidate.json": "do not order any two candidates of a source; nothing can be learnt",
    "train -d tied.json": "do not order any two candidates of a source; nothing can be learnt",
    # features and metrics
    "train -d good.json -F bleuu": r"unknown metric, feature or feature set 'bleuu' \(did you mean 'bleu'\?\)",
    "train -d good.json -F bleu,nope": "unknown metric or feature 'nope'; available: bleu",
    "train -d good.json -F bleu[ordr=2]": r"no option 'ordr' \(did you mean 'order'\?\); its options are: order",
    "train -d good.json -F bleu[order=x]": r"bleu\[order=x\]: expected a whole number",
    "train -d good.json -F bleu[order=0]": r"bleu\[order=0\]: expected 1 to",
    "train -d good.json -F bleu[smoothing=more]": r"bleu\[smoothing=more\]: expected .*add-one",
    "train -d good.json -F bleu[lowercase=yes]": r"bleu\[lowercase=yes\]: expected true or false",
    "train -d good.json -F bleu[order=1,order=2]": "option 'order' is given twice",
    "train -d good.json -F bleu[order]": "'order' does not have the form option=value",
    "train -d good.json -F bleu[": r"'\[' without '\]'",
    "train -d good.json -F bleu]": r"'\]' without '\['",
    "train -d good.json -F ,": "does not have the form name",
    "train -d good.json -F bleu,bleu": "column 'bleu' is duplicated",
    "train -d good.json -F bleu1-4[order=2]": "a feature set has no options",
    "rank good.json -m bleu -M x.model": "give either --metric NAME, such as --metric bleu, or --model FILE",
    "rank good.json -m blue": r"unknown metric or feature 'blue' \(did you mean 'bleu'\?\)",
    "score good.json -m chrF++": r"unknown metric or feature 'chrF\+\+' \(did you mean 'chrf\[word_order=2\]'\?\)",
    "score good.json -m COMET": r"neural metrics are not included; given\[file=FILE\] reads the scores",
    "rank good.json -m bleu --contributions": "--contributions requires --model",
    "score good.json": "give --metric NAME .* or --model FILE",
    "score good.json -m bleu -m nope": "unknown metric or feature 'nope'",
    "explain": "give --model FILE|NAME",
    # references
    "rank no-reference.json -m bleu": r"no-reference\[1\] has no reference, which column 'bleu' requires \(1 of 1",
    "score no-reference.json -m bleu": "has no reference, which column 'bleu' requires",
    "rank -s two -t two -m bleu": r"two\[1\] has no reference, which column 'bleu' requires \(2 of 2 sources",
    # models
    "rank good.json -M none.model": "none.model: no such model; train one with: ranker train",
    "rank good.json -M good.json": "good.json: is not a model file",
    "rank good.json -M directory": "directory: contains no model.json",
    "score good.json -M notes.txt": "notes.txt: is not a model file",
    "evaluate -d good.json -M notes.txt": "notes.txt: is not a model file",
    "explain good.json -M notes.txt": "notes.txt: is not a model file",
    # targets
    "train -d good.json -M none/x.model": "none/x.model: cannot be written: the directory none does not exist",
    "train -d good.json -M notes.txt": "notes.txt: already exists and is not a model file; delete it or choose "
    "another name",
    "train -d good.json -M good.json": "good.json: already exists and is not a model file",
    "train -d good.json -M directory": "directory: is a directory, expected the name of a model file",
    "data convert good.json out.txt": r"out.txt: unknown format; expected a file name ending in .jsonl",
    "data convert good.json out": "out: unknown format",
    "data convert good.json -": "-: unknown format",
    "data convert good.json none/out.csv": "none/out.csv: cannot be written: the directory none does not exist",
    "data convert odd.json out.tsv": "odd: contains tabs or line breaks in column .*use JSONL or Parquet",
}


@pytest.mark.parametrize("words", REFUSALS)
def test_refusals(words: str, refused: Refused) -> None:
    refused(*words.split(), says=REFUSALS[words])


@pytest.mark.parametrize("option", ["--features", "--C", "--lp", "--kind", "--loss", "--data"])
@pytest.mark.parametrize("value", ["", " ", "a\nb", "\x1b[31m", "\u2028", "句"], ids=ascii)
def test_odd_values_of_options(option: str, value: str, refused: Refused) -> None:
    refused("train", "--data", "good.json", option, value)


CORPORA: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "<stdin>: is empty, expected a corpus"),
    "cut off": (b'{"source": "x", "candidates": {"A": "a"}}\n{"sour', "<stdin>:2:2: not JSON"),
    "gzip cut off": (b"\x1f\x8b\x08\x00\x00\x00", "<stdin>: damaged or incomplete gzip file"),
    "Latin-1": ('{"source": "déjà"}'.encode("latin-1"), "<stdin>:1:14: byte 0xe9 is not UTF-8"),
    "UTF-16": ('{"source": "x"}'.encode("utf-16"), "<stdin>: this is UTF-16, expected UTF-8 text"),
    "pickle": (pickle.dumps(RATED), "<stdin>:1:1: byte 0x80 is not UTF-8"),
    "zip": (b"PK\x03\x04rest", "<stdin>: this is a zip archive"),
    "NaN": (b'{"source": NaN, "candidates": {}}', "<stdin>:1: expected a JSON value, found NaN"),
    "wrong type": (b'[\n{"source": 3, "candidates": {}}]', "<stdin>:2: source: expected a string, found 3"),
    "missing key": (b'[\n{"source": "x"}]', '<stdin>:2: expected keys "source", "references", "candidates"'),
    "system twice": (b'{"src": "x", "tgt": {"A": "a", "A": "b"}}', "<stdin>:1: key 'A' is duplicated"),
    "CSV field": (b"source,system,text\r\nx,A\r\n", "<stdin>:2: expected 3 fields as in the first line, found 2"),
    "CSV quote": (b'source,system,text\nx,A,"a\n', "<stdin>:2: badly quoted row"),
    "TSV column": (b"source\tsystem\nx\ty", "<stdin>:1: column 'text' is missing"),
    "prose": (b"The cat sat on the mat.\n", "<stdin>: unknown format; expected"),
    "no candidate": (b'{"source": "x", "candidates": []}', "<stdin>: contains no candidate"),
}


@pytest.mark.parametrize(
    "command", [["rank", "-", "-m", "bleu"], ["data", "check", "-"], ["train", "-d", "-"]], ids=str
)
@pytest.mark.parametrize("content", CORPORA)
def test_malformed_corpora(content: str, command: list[str], refused: Refused) -> None:
    raw, says = CORPORA[content]
    refused(*command, stdin=raw, says="^ranker: error: " + re.escape(says))


def test_a_known_corpus_that_is_not_here(refused: Refused) -> None:
    message = refused("train", "--data", "acl05", says="corpus 'acl05' is not on this machine", lines=4)
    assert all(line.startswith("  ") for line in message.split("\n")[1:])
    assert "https://www.ldc.upenn.edu" in message
    assert message.endswith("To try the command now, use --data sample")
    refused("rank", "wmt15", "-m", "bleu", says="corpus 'wmt15' is not on this machine", lines=4)


def test_one_candidate_is_ranked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_info:
        run(["rank", "one-candidate.json", "-m", "bleu", "-f", "json"])
    assert exit_info.value.code == 0
    (source,) = json.loads(capsys.readouterr().out)["sources"]
    assert [(row["rank"], row["tied"], row["margin"]) for row in source["ranking"]] == [(1, False, None)]


def test_names_longer_than_the_system_takes(refused: Refused) -> None:
    long = "x" * 300
    refused("rank", long, "-m", "bleu", says="is neither a file nor a known corpus")
    refused("rank", json.dumps(RATED), "-m", "bleu", says="is neither a file nor a known corpus")
    refused("rank", "good.json", "-M", f"{long}.model", says="File name too long")
    refused("train", "-d", "good.json", "-M", f"{long}.model", says="File name too long")
    refused("data", "convert", "good.json", f"{long}.csv", says="File name too long")


def test_a_seed_beyond_the_generator(refused: Refused) -> None:
    refused("train", "-d", "good.json", "--C", "auto", "--seed", "99999999999999999999", says="--seed|seed")


def test_names_with_line_breaks_do_not_break_the_message(folder: Path, refused: Refused) -> None:
    refused("rank", "odd.json", "-m", "bleu", says="has no reference, which column 'bleu' requires")
    refused(
        "rank",
        "odd.json",
        "-m",
        "bleu",
        "--lp",
        "de-en",
        says="no sources of language pair 'de-en'; available: ",
    )
    (folder / "a\nb.model").write_text("x")
    refused("explain", "-M", "a\nb.model", says="is not a model file")


def test_system_scores_need_references_too(refused: Refused) -> None:
    refused("score", "no-reference.json", "-m", "bleu", "--level", "system", says="column 'bleu' requires")


def test_no_command_is_no_mashed_help(refused: Refused, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["data"]):
        with pytest.raises(SystemExit) as exit_info:
            run(arguments)
        out, err = capsys.readouterr()
        if exit_info.value.code == 0:
            assert (out.splitlines()[0][:6], err) == ("Usage:", "")
        else:
            assert (exit_info.value.code, out) == (2, "")
            assert re.fullmatch(r"ranker: error: [^\n]{,200}\n", err)


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (0, "good.json: out of memory: give fewer sources or fewer candidates at a time$"),
        (10**9, "good.json: out of memory: give fewer .* at a time, or use a smaller model than x.model$"),
    ],
)
def test_out_of_memory_names_the_file_that_was_worked_on(
    model: int, says: str, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        if model:
            progress.report_file("x.model", model, model=True)
        raise MemoryError

    monkeypatch.setattr("ranker.extractors.ngram.bleu.Bleu.statistics", fail)
    refused("rank", "good.json", "-m", "bleu", says=says)


def test_out_of_memory_without_a_file(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    progress.report_file("earlier.json", 10**9)
    monkeypatch.setattr("ranker.extractors.feature_sets.feature_set_files", fail)
    refused("features", says="error: out of memory: give fewer")


def test_notes_are_as_short_as_errors(refused: Refused) -> None:
    refused("--nope")
    note = logging.makeLogRecord({"msg": "ranker: note: " + "x" * 5000 + " is left out"})
    printed = logging.lastResort.format(note)
    assert len(printed) < 700
    assert printed.startswith("ranker: note: x")
    assert printed.endswith("x is left out")
