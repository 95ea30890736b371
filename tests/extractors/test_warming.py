from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from ranker import progress
from ranker.cli.main import run
from ranker.extractors import warming
from ranker.extractors.feature_sets import FeatureSet


def test_everything_that_full_is_made_of_is_compiled():
    assert {str(extractor) for extractor in FeatureSet.parse("full").extractors} < set(warming.tasks())


def test_a_task_whose_kernels_are_there_compiles_nothing():
    warming._compile("chrf")
    assert warming._compile("chrf") == 0


def test_progress_names_what_is_waited_for(monkeypatch):
    reports = []
    monkeypatch.setattr(warming, "tasks", lambda: ["bleu", "chrf"])
    monkeypatch.setattr(warming, "_compile", lambda task: 2)
    monkeypatch.setattr(warming, "ProcessPoolExecutor", lambda *_: ThreadPoolExecutor(1))
    with progress.listening(lambda *report: reports.append(report)):
        assert warming.warm_up() == 4
    assert reports == [("compiling kernels of features, once", done, 2) for done in (1, 2)]


def test_the_command_says_how_many(monkeypatch, capsys):
    for number, messages in ((3, "compiled 3 kernels in 0 s\n"), (0, "nothing to compile\n")):
        monkeypatch.setattr(warming, "warm_up", lambda number=number: number)
        with pytest.raises(SystemExit, match="0"):
            run(["warm-up"])
        assert capsys.readouterr().out == messages
