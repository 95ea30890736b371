"""Extractors of other packages, sound and broken."""

from __future__ import annotations

import json
import sys

import pytest

from ranker.extractors import registry

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
class Words(Vowels):
    name: ClassVar[str] = "words"

    def sentence_scores(self, dataset):
        return dataset.candidates["text"]


@dataclass(frozen=True)
class Narrow(Vowels):
    name: ClassVar[str] = "narrow"

    def statistics(self, dataset):
        return np.zeros((len(dataset), 1))


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
words = stranger_metrics:Words
narrow = stranger_metrics:Narrow
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


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("score c.json -m gone", "plug-in 'gone' of the package stranger cannot be loaded: AttributeError: "),
        ("train -d c.json -F away", "plug-in 'away' of the package stranger cannot be loaded: ModuleNotFoundError: "),
        (
            "score c.json -m three",
            "plug-in 'three' of the package stranger: stranger_metrics:number is not an extractor",
        ),
        (
            "score c.json -m Vowels[letters=none]",
            "plug-in 'Vowels' of the package stranger failed in stranger_metrics.py:27: KeyError: 'no\\nletters'",
        ),
        ("score c.json -m flat", "flat: transform returned float64 of shape (2,), expected numbers of shape (2, 1)"),
        ("rank c.json -m flat", "flat: transform returned float64 of shape (2,), expected numbers of shape (2, 1)"),
        ("train j.json -F flat", "flat: transform returned float64 of shape (2,), expected numbers of shape (2, 1)"),
        ("score c.json -m words", "words: sentence_scores returned "),
        (
            "score c.json -m narrow",
            "narrow: statistics returned float64 of shape (2, 1), expected numbers of shape (2, 2)",
        ),
    ],
)
def test_an_error_of_a_plug_in_is_one_line_with_its_name(call, line, says):
    _, err = call(line, code=2)
    assert err.startswith(f"ranker: error: {says}")
    assert len(err.splitlines()) == 1


def test_a_broken_plug_in_hides_no_other_from_the_list(call):
    out, err = call("features")
    assert "bleu" in out
    assert "Vowels" in out
    assert "note: skipped: plug-in 'gone' of the package stranger" in err
    assert "note: skipped: plug-in 'bleu' of the package stranger: an included metric or feature has this name" in err


def test_an_error_of_our_own_is_no_plug_in_s(call):
    with pytest.raises(ZeroDivisionError) as caught:
        _ = 1 / 0
    assert registry.failed_plug_in(caught.value) is None
