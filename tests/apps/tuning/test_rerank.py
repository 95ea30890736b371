"""The choice of candidates in Python is that of the command line, with the rows of the data it is given."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import ranker
from ranker.corpora import catalogue
from ranker.errors import DataError, OptionError
from ranker.ranking.ranker import Ranker
from tests.command_line import Command


@pytest.fixture(scope="module")
def few():
    sample = catalogue.load("sample")
    return sample.select_sources(np.arange(len(sample.sources)) < 12)


@pytest.mark.parametrize(
    ("by", "words"),
    [
        ({"mbr": "chrf"}, ["--mbr", "chrf"]),
        ({"mbr": "ter"}, ["--mbr", "ter"]),
        ({"oracle": "bleu"}, ["--oracle", "bleu"]),
        ({"model": "full-lexical"}, ["--model", "full-lexical"]),
        ({"model": "consensus", "checks": False}, ["--model", "consensus", "--no-checks"]),
    ],
)
def test_python_chooses_as_the_command_does(few, tmp_path, command: Command, by, words):
    path = tmp_path / "few.jsonl"
    command("data", "convert", "sample", str(path))
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[:12]]
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    expected = json.loads(command("rerank", str(path), *words, "-f", "json", "-q").out)
    found = ranker.rerank(few, **by)
    assert found["text"].tolist() == [row["text"] for row in expected]
    assert found["score"].tolist() == pytest.approx([row["score"] for row in expected], abs=1e-12)


def test_the_best_by_rank_is_chosen_by_default(few):
    best = ranker.rank(few).query("rank == 1").drop_duplicates("source")
    assert ranker.rerank(few)["text"].tolist() == best["text"].tolist()


def test_rows_of_a_frame_keep_their_labels():
    frame = pd.DataFrame(
        {"source": ["s", "t", "s", "t", "s"], "system": list("ABBAC"), "text": ["a b", "c", "a b", "d e f", "x"]}
    )
    frame.index = pd.Index([7, 3, 9, 4, 5])
    chosen = ranker.rerank(frame, mbr="chrf", checks=False)
    assert frame.loc[chosen.index, "text"].tolist() == chosen["text"].tolist()
    assert chosen["source"].tolist() == ["s", "t"]
    assert chosen["text"].iloc[0] == "a b"


def test_error_rates_are_in_their_own_unit():
    records = [{"source": "s", "references": ["a b c d"], "candidates": ["a b c", "a b c d", "x"]}] * 2
    assert ranker.rerank(records, oracle="ter")["score"].tolist() == [0, 0]


def test_what_cannot_choose_is_refused(few):
    for wrong in ({"mbr": ["chrf"]}, {"oracle": 3}):
        with pytest.raises(OptionError, match=r"expected a metric or ranker, or the name of one, found (list|int)"):
            ranker.rerank(few, **wrong)
    with pytest.raises(OptionError, match="at most one of model, mbr and oracle"):
        ranker.rerank(few, mbr="chrf", oracle="chrf")
    with pytest.raises(OptionError, match="expected a metric that compares a hypothesis with another as its reference"):
        ranker.rerank(few, mbr="perp[model=shipped]")
    with pytest.raises(OptionError, match="consensus: minimum Bayes risk requires a ranker that uses references"):
        ranker.rerank(few, mbr=Ranker.load("consensus"))
    with pytest.raises(DataError, match="has no references, which an oracle needs: use mbr"):
        ranker.rerank([{"source": "s", "candidates": ["a", "b"]}], oracle="chrf")
