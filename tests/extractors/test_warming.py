from __future__ import annotations

from ranker.extractors import registry, warming
from ranker.storage import kernels


def test_every_task_can_be_made():
    assert warming.tasks()[-1] == "ranking SVM"
    for task in warming.tasks()[:-1]:
        assert str(registry.make_features(task)) == task


def test_one_column_of_an_extractor_is_a_task(monkeypatch):
    monkeypatch.setattr(warming, "_SOURCES", 2)
    warming._compile("consensus[trust=source].weighted")


def test_a_task_whose_kernels_are_there_compiles_nothing():
    warming._compile("chrf")
    assert warming._compile("chrf") == 0


def test_all_tasks_are_compiled_whatever_is_usual(monkeypatch):
    modes = []
    monkeypatch.setattr(warming, "tasks", lambda: ["bleu", "chrf"])
    monkeypatch.setattr(warming, "_compile", lambda task: modes.append(kernels._mode) or 2)
    with kernels.using("plain"):
        assert warming.warm_up() == 4
    assert modes == ["compiled", "compiled"]


def test_the_command_says_how_many(monkeypatch, command):
    for number, messages in ((3, "compiled 3 kernels in 0 s\n"), (0, "nothing to compile\n")):
        monkeypatch.setattr(warming, "warm_up", lambda number=number: number)
        assert command("warm-up").out == messages
