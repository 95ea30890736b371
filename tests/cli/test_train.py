from __future__ import annotations

import dataclasses
import json
import os
import re
import shlex
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

from ranker.corpora import catalogue
from ranker.corpora.source_keys import short_keys
from ranker.errors import DataError
from ranker.learning.encoder.files import EncoderFiles
from ranker.ranking import included
from ranker.ranking.ranker import Ranker
from ranker.ranking.settings import Settings
from tests.effort import thorough


@pytest.fixture
def train(folder, command):
    """Train on a file of records; returns what was printed on stdout and on stderr."""

    def call(*arguments: str, records: object = None) -> tuple[str, str]:
        if records is not None:
            Path("data.json").write_text(json.dumps(records), encoding="utf-8")
        return command("train", *arguments)

    return call


def graded(count: int, lp: str | None = "zh-en", judges: int = 0) -> list[dict[str, object]]:
    """Make sources that are graded by what their candidates share with the reference, by some judges."""
    items = []
    for index in range(count):
        reference = f"the boat number {index} sails on the river near the old town"
        words = reference.split()
        candidates = []
        for place, selected in enumerate((11, 8, 4)):
            grade = 5 - 2 * place
            several = {f"judge{judge}": grade + judge % 2 for judge in range(judges)}
            human = {"fluency": several or grade}
            candidates.append({"system": f"s{place}", "text": " ".join(words[:selected]), "human": human})
        items.append({"source": f"句 {index}", "references": [reference], "candidates": candidates})
        if lp:
            items[-1]["lp"] = lp
    return items


@thorough
def test_by_default_the_standard_features_are_learnt_and_compared_on_held_out_sources(train):
    printed, err = train("--data", "sample", "-o", "m.model", "--long-signatures")
    assert err == ""
    assert "(cross-validation)" in printed
    assert "|features:standard#" in printed
    assert "|pairs:graded|loss:squared_hinge|" in printed
    rows = printed[printed.index("120 sources, each ranked by a model that was not trained on it (5 folds)") :]
    assert [line.split("  ")[0] for line in rows.splitlines()[2:5]] == ["this model", "chrf", "full"]
    assert printed.endswith("\nto use this model: ranker rank FILE --model m.model\n")


def test_preferences_and_the_comparisons_that_they_come_from_are_counted(train, monkeypatch):
    rows = [f"s{row % 5},the cat {row},a dog,{'a' if row % 3 else 'tie'}" for row in range(12)]
    Path("v.csv").write_text("\n".join(["source,text_a,text_b,preferred", *rows]), encoding="utf-8")
    printed, _ = train("--data", "v.csv", "-o", "m", "-F", "length[against=candidates]")
    assert ", 8 preferences from 12 comparisons; C = " in printed
    # those of sources that are left out do not count
    monkeypatch.setattr(EncoderFiles, "training_sources", short_keys(catalogue.load("v.csv"))[:1])
    printed, _ = train(
        "--data", "v.csv", "-o", "m", "-F", "semantic[against=source,encoder=encoder-any]", "--folds", "0"
    )
    assert ", 7 preferences from 10 comparisons; C = " in printed


def test_other_rankers_are_compared_if_they_are_asked_for(train, refused):
    arguments = ("--data", "data.json", "--features", "chrf", "-o", "m")
    printed, _ = train(*arguments, "--compare", "consensus,full-any", records=graded(4))
    rows = printed[printed.index("4 sources, each ranked by") :].splitlines()
    assert [line.split("  ")[0] for line in rows[2:7]] == ["this model", "chrf", "full", "consensus", "full-any"]
    refused("train", *arguments, "--compare", "ful", says="ful: no such model .did you mean 'full'")


def worse_than_included(count: int = 40) -> list[dict[str, object]]:
    """Make sources whose grades the included model knows, and a model of lengths does not."""
    items = graded(count)
    for index, item in enumerate(items):
        for place, each in enumerate(item["candidates"]):
            words = each["text"].split()
            each["text"] = " ".join([*words, *["zebra"] * ((place + index) % 3 * 8)])
    return items


def test_who_would_do_better_with_the_included_model_is_told_so_and_how(train):
    """Who ranks without --model uses an included model: these lines are all that says how to use the new one."""
    arguments = ("data.json", "--features", "length", "--C", "1", "--kind", "fluency", "-o", "my model", "--seed", "7")
    printed, _ = train(*arguments, records=worse_than_included())
    *_, verdict, start, use = printed.splitlines()
    assert verdict.startswith("the model full ranks these held-out sources significantly better than the new model (")
    command = "ranker train data.json --output 'my model' --kind fluency --seed 7 --from full"
    assert start == f"to start from full instead: {command}"
    assert use == "to use this model: ranker rank FILE --model 'my model'"
    printed, err = train(*shlex.split(command)[2:])
    assert "to start from" not in printed
    assert "full" in [line.split("  ")[0] for line in printed.splitlines()]
    assert "full#" in err
    ranked = train("--data", "data.json", "-F", "length,given[name=fluency]", "-o", "m", "--C", "1", "--folds", "0")[0]
    assert ranked.endswith("to use this model: ranker rank FILE --model m --given fluency=FILE\n")


@pytest.mark.parametrize(
    "line", [f"{name} data.json" for name in ("rank", "score", "explain", "evaluate", "evaluate --level system")]
)
def test_without_a_model_those_in_the_folder_are_named(line, train, command):
    """The second command of most users is ``ranker rank FILE``, and by it they mean the model of their first.

    It uses an included one, so it must say that theirs is there and how to use it. Do not remove this to save lines.
    """
    Path("words.model").write_text("of another program")
    Path("folder.model").mkdir()
    with zipfile.ZipFile("zip.model", "w") as archive:
        archive.writestr("other.json", "{}")
    os.mkfifo("pipe.model")
    Path("data.json").write_text(json.dumps(graded(2)), encoding="utf-8")

    def note(*more: str) -> list[str]:
        err = command(*line.split(), *more)[1]
        return re.findall(
            "the included model full; choose (?:another|others) with --model(.*?)(?: or --metric)?\n", err
        )

    assert note() == [""]
    train("--data", "data.json", "-F", "bleu", "-o", "my own.model", "--C", "1", "--folds", "0")
    assert note() == [" 'my own.model' (in this folder)"]
    assert note("--model", "my own.model") == []
    for name in "abcdef":
        shutil.copy("my own.model", f"{name}.model")
    assert note() == [" FILE (in this folder: a.model, b.model, c.model, d.model, e.model, ...)"]


@thorough
def test_sources_that_the_encoder_knows_are_learnt_from_by_words(train, monkeypatch):
    records = graded(40)
    Path("data.json").write_text(json.dumps(records), encoding="utf-8")
    keys = short_keys(catalogue.load("data.json"))
    monkeypatch.setattr(EncoderFiles, "training_sources", keys)
    printed, err = train("--data", "data.json", "-o", "m")
    assert "note: the encoder was trained on 40 of 40 sources: using the feature set standard-lexical\n" in err
    assert "rouge_l" in printed
    assert "semantic" not in printed
    monkeypatch.setattr(EncoderFiles, "training_sources", keys[:10])
    printed, err = train("--data", "data.json", "-o", "m")
    assert "note: 10 of 40 sources left out: the encoder was trained on them\n" in err
    assert "semantic.f" in printed


def test_judgements_upside_down_are_not_learnt_from_until_their_direction_is_stated(train, refused):
    records = graded(20)
    for item in records:
        for each in item["candidates"]:
            each["human"] = {"grade": -each["human"]["fluency"]}
    Path("data.json").write_text(json.dumps(records), encoding="utf-8")
    arguments = ("--data", "data.json", "--features", "chrf", "-o", "m", "--folds", "0")
    says = "the direction is in doubt; state it: --kind grade:lower or --kind grade:higher"
    refused("train", *arguments, says=says)
    assert "prefers candidates" not in train(*arguments, "--kind", "grade:lower")[1]


def test_the_json_holds_the_same_figures(train):
    words = ["--data", "data.json", "--features", "bleu1-4", "-o", "m.model"]
    printed, _ = train(*words, "--format", "json", records=graded(20, judges=2))
    document = json.loads(printed)["cross_validation"]
    shown, _ = train(*words)
    for row in document["rows"]:
        assert f"{row['spearman']['value']:.3f} [{row['spearman']['low']:.3f} " in shown
    assert (document["folds"], document["sources"], document["seed"]) == (5, 20, 0)
    assert all(verdict in shown for verdict in document["verdicts"])


def test_python_and_the_command_line_have_the_same_defaults(train):
    train("--data", "data.json", "--folds", "0", "-o", "m.model", records=graded(20))
    there, here = Ranker.load("m.model"), Ranker().fit(catalogue.load("data.json"))
    assert there.digest == here.digest
    assert there.settings == here.settings == Settings()


@thorough
def test_other_languages_than_english_get_the_features_for_any(train):
    printed, err = train("--data", "data.json", "-o", "m", records=graded(100, "en-de"))
    assert err.startswith("ranker: note: translations into 'de': using the feature set full-any\n")
    assert "|features:full-any#" in printed
    assert "semantic[encoder=encoder-any].f" in printed
    _, err = train("--data", "data.json", "-o", "m", records=[
        {**item, "lp": f"en-{lp}"} for item, lp in zip(graded(100), ["de", "cs"] * 50, strict=True)
    ])  # fmt: skip
    assert "translations into 'cs', 'de': using the feature set full-any" in err
    german = [{**item, "references": [f"das Boot {index} segelt"]} for index, item in enumerate(graded(100, None))]
    _, err = train("--data", "data.json", "-o", "m", records=german)
    assert "the references do not look English: using the feature set full-any" in err


@pytest.mark.parametrize("count", [2, 3, 20])
def test_few_sources_are_learnt_from_without_a_language_model(train, count, monkeypatch):
    # an encoder that has learnt from all of them
    monkeypatch.setattr(included, "among", lambda outputs, _: np.ones(len(outputs.sources), dtype=bool))
    printed, err = train("--data", "data.json", "-o", "m", records=graded(count))
    assert (
        f"ranker: note: {count} reference sentences are too few for a language model, which needs 100: using the "
        "features of standard-lexical without perp\n"
    ) in err
    assert "rouge_l" in printed
    assert "\nperp" not in printed
    assert f"{count} sources, each ranked by a model that was not trained on it ({min(count, 5)} folds)" in printed
    with pytest.raises(DataError, match=r"too few for a language model, .*: add references or leave out perp\[leave"):
        Ranker("standard-lexical").fit(catalogue.load("data.json"))


def test_one_source_is_learnt_from_without_a_cross_validation(train):
    printed, err = train("--data", "data.json", "-o", "m", records=graded(1))
    note = "note: judgements of a single source: C cannot be chosen by cross-validation, so C is 1 / number of pairs\n"
    assert note in err
    assert "note: no cross-validation: all judgements are of one source\n" in err
    assert "C = 0.333333 (one source)" in printed
    assert printed.endswith("model written: m\nto use this model: ranker rank FILE --model m\n")
    tied = [
        {**item, "candidates": [{**each, "human": {"fluency": 1}} for each in item["candidates"]]} for item in graded(4)
    ]
    _, err = train("--data", "data.json", "-o", "m", "--features", "chrf", records=[*graded(1), *tied[1:]])
    assert err.count("judgements are of one source") + err.count("judgements of a single source") == 2


def test_scores_of_several_judges_are_learnt_from(train):
    printed, _ = train("--data", "data.json", "-o", "m", "--features", "bleu1-4", records=graded(12, judges=3))
    assert "12 sources, 36 judged candidates, fluency scores" in printed
    assert "this model  1.000 [1.000 1.000]" in printed


def test_the_table_a_ranker_learnt_from_is_standardised():
    ranker = Ranker("bleu,ter", C=1.0)
    table = ranker.fit_table(catalogue.load("sample"))
    assert table.columns.mean(axis=0) == pytest.approx(0.0, abs=1e-9)
    assert table.columns.std(axis=0) == pytest.approx(1.0)
    assert dataclasses.asdict(ranker.training)["sources"] == len(table.sources)


def test_an_included_ranker_is_adapted(train):
    printed, err = train("--data", "data.json", "--from", "full-any", "-o", "m", records=graded(4, "de-en"))
    assert re.search(
        r"note: adapted from full-any#[0-9a-f]{8} with C = \S+, which increased the agreement with the held-out "
        r"judgements of 4 sources from 0.500 to 1.000 \(mean Spearman\)\n",
        err,
    )
    assert "|base:full-any#" in printed
    assert Ranker.load("m").settings.base == "full-any"
    # and may be adapted again in place
    train("--data", "data.json", "--from", "m", "-o", "m", records=graded(6, "de-en"))
    assert Ranker.load("m").settings.base == "m"
