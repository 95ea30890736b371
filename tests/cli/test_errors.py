"""What a user gets wrong: one line on stderr, exit code 2, nothing on stdout, nothing written."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from tests.cli.conftest import Refused
from tests.command_line import Command


@pytest.mark.parametrize("option", ["--features", "--C", "--lp", "--kind", "--loss", "--data"])
@pytest.mark.parametrize("value", ["", " ", "a\nb", "\x1b[31m", "\u2028", "句"], ids=ascii)
def test_odd_values_of_options(option: str, value: str, refused: Refused) -> None:
    refused("train", "--data", "good.json", option, value)


def test_one_candidate_is_ranked(folder: Path, command: Command) -> None:
    (source,) = json.loads(command("rank", "one-candidate.json", "-m", "bleu", "-f", "json").out)["sources"]
    assert [(row["rank"], row["tied"], row["margin"]) for row in source["ranking"]] == [(1, False, None)]


def test_out_of_memory(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("ranker.extractors.ngram.bleu.Bleu.statistics", fail)
    refused("rank", "good.json", "-m", "bleu", says="error: out of memory: give fewer")


def test_notes_are_as_short_as_errors(refused: Refused) -> None:
    refused("--nope")
    note = logging.makeLogRecord({"msg": "ranker: note: " + "x" * 5000 + " is left out"})
    printed = logging.lastResort.format(note)
    assert len(printed) < 700
    assert printed.startswith("ranker: note: x")
    assert printed.endswith("x is left out")
