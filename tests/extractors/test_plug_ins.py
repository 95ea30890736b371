"""Extractors of other packages, sound and broken."""

from __future__ import annotations

import json
import sys

import pytest

from ranker.extractors import registry
from tests.golden_messages import check_messages

MODULE = '''
"""Metrics of somebody else."""
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ranker.extractors.base import FittedExtractor, SentenceMean


@dataclass(frozen=True)
class Vowels(SentenceMean):
    """Share of vowels, in [0, 1] (Nobody 2020).

    Parameters
    ----------
    letters : str
    """

    letters: str = "aeiou"
    tokenizer: str = "none"
    lowercase: bool = False
    name: ClassVar[str] = "Vowels"

    def sentence_scores(self, dataset):
        if self.letters == "none":
            raise KeyError("no\\nletters")
        texts = dataset.candidates["text"]
        return np.array([sum(map(text.count, self.letters)) / max(len(text), 1) for text in texts])


@dataclass(frozen=True)
class Lacking(Vowels):
    def note(self, dataset):
        return self.nothing


@dataclass(frozen=True)
class Flat(FittedExtractor):
    name: ClassVar[str] = "flat"

    def transform(self, dataset):
        return np.zeros(len(dataset))


@dataclass(frozen=True)
class Narrow(Vowels):
    name: ClassVar[str] = "narrow"

    def statistics(self, dataset):
        return np.zeros((len(dataset), 1))


class Abstract(SentenceMean):
    name: ClassVar[str] = "abstract"


@dataclass(frozen=True)
class Any(Vowels):
    what: str = "none"
    name: ClassVar[str] = "any"

    def value(self, dataset):
        scores = super().sentence_scores(dataset)
        if self.what == "oserror":
            open("/nowhere/at-all")
        if self.what == "memory":
            raise MemoryError
        if self.what == "pipe":
            raise BrokenPipeError
        if self.what == "deep":
            return self.value(dataset)
        return {
            "list": scores.tolist(), "texts": ["a"] * len(scores), "ragged": [[1], [1, 2]], "wide": scores[:, None],
        }.get(self.what)

    def sentence_scores(self, dataset):
        return self.value(dataset)


@dataclass(frozen=True)
class Statistics(Any):
    name: ClassVar[str] = "statistics"

    def statistics(self, dataset):
        return self.value(dataset)


@dataclass(frozen=True)
class Score(Any):
    name: ClassVar[str] = "scored"

    def sentence_scores(self, dataset):
        return super(Any, self).sentence_scores(dataset)

    def score(self, statistics):
        if self.what in ("oserror", "memory", "pipe", "deep"):
            return self.value(None)
        return {"none": None, "texts": "abc", "ragged": [[1], [1, 2]]}.get(self.what, np.zeros((7, 3)))


@dataclass(frozen=True)
class Columns(Any):
    name: ClassVar[str] = "columns"
    columns = ("columns",)

    def transform(self, dataset):
        return self.value(dataset)


number = 3
'''
POINTS = """[ranker.extractors]
Vowels = stranger_metrics:Vowels
gone = stranger_metrics:gone
away = stranger_nowhere:Gone
lacking = stranger_metrics:Lacking
three = stranger_metrics:number
flat = stranger_metrics:Flat
bleu = stranger_metrics:Flat
system = stranger_metrics:Flat
narrow = stranger_metrics:Narrow
abstract = stranger_metrics:Abstract
any = stranger_metrics:Any
statistics = stranger_metrics:Statistics
scored = stranger_metrics:Score
columns = stranger_metrics:Columns
"""


@pytest.fixture
def call(tmp_path, monkeypatch, command):
    folder = tmp_path / "stranger-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(POINTS)
    (tmp_path / "stranger_metrics.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.json").write_text(json.dumps([{"src": "x", "ref": "a", "tgt": {"A": "aa", "B": "bb"}}]))

    judged = [{"text": "aa", "human": {"fluency": 1}}, {"text": "b", "human": {"fluency": 2}}]
    (tmp_path / "j.json").write_text(json.dumps([{"source": "x", "references": ["a"], "candidates": judged}]))

    def call(line: str, code: int = 0) -> tuple[str, str]:
        return command(*line.split(), code=code)

    yield call
    sys.modules.pop("stranger_metrics", None)


def test_a_metric_of_another_package_is_one_like_all(call):
    rows = json.loads(call("score c.json -m vowels,Vowels[letters=b] --json")[0])["rows"]
    assert [(row["Vowels"], row["Vowels[letters=b]"]) for row in rows] == [(1.0, 0.0), (0.0, 1.0)]
    listed = json.loads(call("features --json")[0])
    assert {"Vowels", "bleu"} <= {row["name"] for row in listed}


def test_an_error_of_a_plug_in_is_one_line_with_its_name(call):
    check_messages("plug_ins", lambda line: call(line, code=2)[1])


@pytest.mark.parametrize("what", ["none", "texts", "ragged", "wide", "oserror", "memory", "pipe", "deep"])
@pytest.mark.parametrize("name", ["any", "statistics", "scored", "columns"])
@pytest.mark.parametrize("line", ["score c.json -m {}", "rank c.json -m {}", "train j.json -F {} -o x.model"])
def test_what_a_plug_in_returns_or_raises_is_its_own_fault(name, what, line, call):
    if name == "columns" and what == "wide":
        pytest.skip("which is right")
    _, err = call(line.format(f"{name}[what={what}]"), code=2)
    assert len(err.splitlines()) == 1, err
    assert err.startswith("ranker: error: "), err
    assert f"plug-in '{name}' of the package stranger failed in stranger_metrics.py:" in err or (
        f"{name}{'' if what == 'none' else f'[what={what}]'}: " in err
        and " returned " in err
        and ": correct the plug-in stranger_metrics." in err
    ), err


def test_a_list_of_numbers_is_as_good_as_an_array(call):
    rows = json.loads(call("score c.json -m any[what=list] --json")[0])["rows"]
    assert [row["any[what=list]"] for row in rows] == [1.0, 0.0]


def test_a_broken_plug_in_hides_no_other_from_the_list(call):
    out, err = call("features")
    assert "bleu" in out
    assert "Vowels" in out
    assert "note: skipped: plug-in 'gone' of the package stranger" in err
    assert "note: skipped: plug-in 'bleu' of the package stranger: an included metric or feature has this name" in err
    assert "note: skipped: plug-in 'system' of the package stranger: a column of results has this name" in err


def test_an_error_of_our_own_is_no_plug_in_s(call):
    with pytest.raises(ZeroDivisionError) as caught:
        _ = 1 / 0
    assert registry.failed_plug_in(caught.value) is None
