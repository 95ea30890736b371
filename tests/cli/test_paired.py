"""``ranker score --paired``: systems of one test set against a baseline, as a user runs it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ranker.cli.main import run
from ranker.corpora import catalogue
from ranker.errors import DataError
from ranker.evaluation.systems.paired import paired_scores
from ranker.extractors.registry import make_metric
from ranker.extractors.scorers import MetricScorer
from tests.cli.conftest import Refused

Printed = Callable[..., str]
LINES = {
    "src": ["eins", "zwei", "drei", "vier", "fünf"],
    "ref": ["the cat sat on the mat", "it rains", "two words here", "the end of it", "five more words"],
    "B": ["the cat sat on a mat", "rain", "two words", "end", "five words"],
    "A": ["a cat sat on the mat", "it rains", "two words here", "the end of it", "more words"],
    "C": ["the cat sat on a mat", "rain", "two words", "end", "five words"],
}
FILES = ("-s", "src", "-r", "ref", "-t", "B", "A", "C")


@pytest.fixture
def printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Printed:
    monkeypatch.chdir(tmp_path)
    for name, lines in LINES.items():
        Path(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def call(*arguments: str) -> str:
        with pytest.raises(SystemExit) as ended:
            run(["score", *arguments])
        out, err = capsys.readouterr()
        assert ended.value.code == 0, err
        return out

    return call


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("test", ["bs", "ar"])
def test_systems_are_compared_with_the_first(printed: Printed, test: str) -> None:
    rows = rows_of(printed(*FILES, "-m", "bleu,ter", "--paired", test, "-o", "csv"))
    assert [(row["metric"], row["system"]) for row in rows] == [(m, s) for m in ("bleu", "ter") for s in "BAC"]
    level = rows_of(printed(*FILES, "-m", "bleu,ter", "--level", "system", "-o", "csv"))
    corpus = {row["system"]: row for row in level}
    for row in rows:
        assert float(row["score"]) == pytest.approx(float(corpus[row["system"]][row["metric"]]))
        assert float(row["low"]) <= float(row["score"]) <= float(row["high"])
        if row["system"] == "B":
            assert (row["difference"], row["p"]) == ("", "")
        elif row["system"] == "C":
            assert (float(row["difference"]), float(row["p"])) == (0, 1)
        else:
            assert (float(row["difference"]) > 0) == (row["metric"] == "bleu")
            assert 0 < float(row["p"]) < 1


def test_the_table_the_json_and_the_signature_say_how(printed: Printed) -> None:
    out = printed(*FILES, "-m", "bleu", "--paired", "ar", "--baseline", "A", "--resamples", "200", "--seed", "3")
    assert out.startswith(
        "approximate randomisation against the baseline, 200 resamples; [95 % bootstrap interval over"
    )
    assert "|level:system|paired:ar|baseline:A|resamples:200|seed:3|sacrebleu:BLEU|" in out
    assert [line.split()[1] for line in out.splitlines()[2:5]] == ["A", "B", "C"]
    document = json.loads(printed(*FILES, "-m", "bleu", "--paired", "ar", "--resamples", "200", "-o", "json"))
    assert document["level"] == "system"
    assert document["rows"][0]["p"] is None
    assert "%" in printed(*FILES, "-m", "bleu", "--paired", "bs", "--percent").splitlines()[2]
    default = printed(*FILES, "-m", "chrf", "--paired", "bs")
    assert default == printed(*FILES, "-m", "chrf", "--paired", "bs")
    assert default != printed(*FILES, "-m", "chrf", "--paired", "bs", "--seed", "1")


def test_plain_files_take_their_language_pair_from_lp(printed: Printed) -> None:
    rows = rows_of(printed(*FILES, "-m", "bleu", "--paired", "bs", "--lp", "de-en", "-o", "csv"))
    assert {row["lp"] for row in rows} == {"de-en"}


def test_p_values_are_those_of_all_swaps(printed: Printed) -> None:
    rows = rows_of(printed(*FILES, "-m", "chrf", "--paired", "ar", "-o", "csv"))
    records = [
        {"source": LINES["src"][i], "references": [LINES["ref"][i]], "candidates": {s: LINES[s][i] for s in "BA"}}
        for i in range(5)
    ]
    Path("c.json").write_text(json.dumps(records), encoding="utf-8")
    dataset, scorer = catalogue.load("c.json"), MetricScorer(make_metric("chrf"))
    statistics = scorer.statistics(dataset).reshape(5, 2, -1)
    swaps = (np.arange(32)[:, np.newaxis] >> np.arange(5) & 1)[:, :, np.newaxis]
    first, second = (np.where(swaps, statistics[:, one], statistics[:, 1 - one]).sum(axis=1) for one in (0, 1))
    apart = scorer.score(second) - scorer.score(first)
    exact = (np.abs(apart) >= abs(apart[0]) - 1e-12).mean()
    assert float(rows[1]["p"]) == pytest.approx(exact, abs=0.02)
    del records[2]["candidates"]["A"]
    Path("c.json").write_text(json.dumps(records), encoding="utf-8")
    lacking = catalogue.load("c.json")
    with pytest.raises(
        DataError, match="has no translation by system 'A', and paired tests compare systems on the same"
    ):
        paired_scores(scorer, lacking, scorer.statistics(lacking), "bs")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("-t", "B", "--paired", "bs"), "--paired compares systems, and src holds the output of one system, 'B': give"),
        (
            ("-t", "B", "A", "--paired", "bs", "--baseline", "D"),
            "--baseline: no system 'D' in src; there are: 'B', 'A'",
        ),
        (("-t", "B", "A", "--resamples", "9"), "--baseline and --resamples belong to --paired; add --paired bs or"),
        (("-t", "B", "A", "--paired", "bs", "--level", "segment"), "--paired tests systems: leave out --level and"),
        (
            ("-t", "B", "A", "--paired", "bs", "--lp", "*-en"),
            r"--lp \*-en: plain files are of one language pair; expected",
        ),
        (("-t", "B", "A", "--paired", "xx"), "'xx' is not one of 'bs', 'ar'"),
    ],
)
def test_what_cannot_be_tested_is_refused(
    arguments: tuple[str, ...], says: str, folder: Path, refused: Refused
) -> None:
    for name, lines in LINES.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    refused("score", "-s", "src", "-r", "ref", *arguments, "-m", "bleu", says=says)
