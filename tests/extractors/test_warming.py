from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

from ranker import progress
from ranker.extractors import registry, warming
from ranker.threads import process_environment


def test_every_task_can_be_made():
    assert warming.tasks()[-1] == "ranking SVM"
    for task in warming.tasks()[:-1]:
        assert str(registry.make_features(task)) == task


def test_one_column_of_an_extractor_is_a_task(monkeypatch):
    monkeypatch.setattr(warming, "_SOURCES", 2)
    warming._compile("consensus[trust=source].weighted")


def test_processes_see_the_environment_and_later_ones_do_not(monkeypatch):
    monkeypatch.setenv("RANKER_KERNELS", "auto")
    monkeypatch.delenv("PYTHONWARNINGS", raising=False)
    with process_environment(RANKER_KERNELS="compiled", PYTHONWARNINGS="ignore"):
        assert (os.environ["RANKER_KERNELS"], os.environ["PYTHONWARNINGS"]) == ("compiled", "ignore")
    assert os.environ["RANKER_KERNELS"] == "auto"
    assert "PYTHONWARNINGS" not in os.environ


def test_a_task_whose_kernels_are_there_compiles_nothing():
    warming._compile("chrf")
    assert warming._compile("chrf") == 0


def test_progress_names_what_is_waited_for(monkeypatch):
    reports = []
    monkeypatch.setattr(warming, "tasks", lambda: ["bleu", "chrf"])
    monkeypatch.setattr(warming, "_compile", lambda task: 2)
    monkeypatch.setattr(warming, "ProcessPoolExecutor", lambda *_, **__: ThreadPoolExecutor(1))
    with progress.listening(lambda *report: reports.append(report)):
        assert warming.warm_up() == 4
    assert reports == [("compiling kernels of features, once", done, 2) for done in (1, 2)]


def test_the_command_says_how_many(monkeypatch, command):
    for number, messages in ((3, "compiled 3 kernels in 0 s\n"), (0, "nothing to compile\n")):
        monkeypatch.setattr(warming, "warm_up", lambda number=number: number)
        assert command("warm-up").out == messages
