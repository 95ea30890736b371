from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from ranker.apps.experiments import birch11, cer10
from ranker.apps.experiments.aligners import Aligners
from ranker.apps.experiments.settings import Settings
from ranker.corpora.selection import select_language_pairs
from ranker.errors import OptionError
from ranker.extractors.order.aligner import learn_aligner
from tests.apps.experiments.conftest import titled as table
from tests.effort import thorough


@pytest.fixture(scope="module")
def trained(preferred, tmp_path_factory) -> list[str]:
    """An aligner for each language pair, as an option names it."""
    folder = tmp_path_factory.mktemp("aligners")
    for pair in ("aa-en", "bb-en"):
        learn_aligner(select_language_pairs(preferred, [pair])).save(folder / f"{pair}.align")
    return [f"{pair}={folder / pair}.align" for pair in ("aa-en", "bb-en")]


@thorough
def test_every_language_pair_takes_the_aligner_that_is_given_for_it(preferred, trained):
    aligners = Aligners.parse(trained)
    own = birch11.plan(preferred, [], Settings(restarts=1)).run()
    given = birch11.plan(preferred, [], Settings(restarts=1, aligners=aligners)).run()
    rows = table(given, "word aligners, simulated+simulated").rows
    assert rows == (
        {"language pair": "aa-en", "learnt from": "aa-en.align", "sentence pairs": 60},
        {"language pair": "bb-en", "learnt from": "bb-en.align", "sentence pairs": 60},
    )
    assert table(own, "word aligners, simulated+simulated").rows[0]["learnt from"] == (
        "sources and references of simulated+simulated"
    )
    # the same sentences, so the same aligners
    for title in (
        "reordering and alpha, simulated+simulated",
        "consistency with human preferences, simulated+simulated",
    ):
        assert table(given, title) == table(own, title)
    assert "|aligner:references|" in own.signature
    assert "|aligner:aa-en=file#" in given.signature
    assert given.signature.partition(",bb-en=file#")[2][8] == "|"


@thorough
def test_tuning_aligns_by_what_is_given(preferred, trained):
    aligners = Aligners.parse(trained)
    tuning = Settings(features="words,systems", restarts=0, iterations=1, runs=1, aligners=aligners)
    result = cer10.plan(preferred, dataclasses.replace(tuning, metrics=("LR-KB4",))).run()
    assert table(result, "word aligners, aa-en").rows[0]["learnt from"] == "aa-en.align"
    assert "aligner:aa-en=file#" in result.signature
    # what aligns no words has no aligner to sign
    assert "aligner" not in cer10.plan(preferred, dataclasses.replace(tuning, metrics=("BLEU:4",))).run().signature


def test_paths_may_hold_equals_signs():
    assert Aligners.parse(["runs/a=b/x.align"]).files == {"": Path("runs/a=b/x.align")}
    assert Aligners.parse(["de-en=a=b"]).files == {"de-en": Path("a=b")}


def test_language_pairs_that_do_not_exist_are_refused(preferred):
    settings = Settings(aligners=Aligners.parse(["aa-de=x"]))
    with pytest.raises(OptionError, match=r"the aligner for aa-de is not used.*; the data contains: aa-en, bb-en"):
        birch11.plan(preferred, [], settings).run()


def test_an_aligner_of_other_words_is_refused(preferred, tmp_path):
    path = tmp_path / "other.align"
    learn_aligner(select_language_pairs(preferred, ["aa-en"]), tokenizer="none").save(path)
    with pytest.raises(OptionError, match="was trained with the tokenizer none, but this experiment uses 13a"):
        Aligners.parse([str(path)]).check([preferred])
