"""The recipes of the documents, with stand-ins for the programs that they are about."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from unittest.mock import MagicMock

import pandas as pd
import pytest

import ranker
from ranker import RankerError, make_metric
from tests.effort import thorough

PAGE = Path(__file__).resolve().parents[1] / "docs" / "recipes.md"
BLOCKS = re.findall(
    r"^```(?:python|sh)\n(.*?)^```", PAGE.read_text(encoding="utf-8") if PAGE.exists() else "", re.M | re.S
)


def test_recipes_run_and_hand_over_scores(monkeypatch):
    modules = {name: MagicMock() for name in ("mlflow", "trl", "wandb")}
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    for block in BLOCKS:
        assert len(block.splitlines()) <= 10
        if not block.startswith("#!"):
            exec(compile(block, "recipe", "exec"), {})
    if BLOCKS:
        logged = [call.args[0] for call in modules["mlflow"].log_metrics.call_args_list]
        assert [*map(list, logged)] == [["chrf"], ["ter"]]
        assert modules["wandb"].init().log.call_args.args == (logged[0],)
        assert modules["trl"].GRPOTrainer.call_args.kwargs["reward_funcs"][0].__name__ == "ranker_chrf"


@pytest.mark.skipif(not BLOCKS, reason="documents are not part of the wheel")
@thorough
def test_a_validation_script_prints_one_number(tmp_path):
    (tmp_path / "ranker").write_text(f'#!/bin/sh\nexec {sys.executable} -m ranker "$@"\n')
    (tmp_path / "validate.sh").write_text(next(block for block in BLOCKS if block.startswith("#!")))
    (tmp_path / "dev.en").write_text("the cat sat\n")
    (tmp_path / "out.en").write_text("the cat sat down\n")
    (tmp_path / "ranker").chmod(0o755)
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(Path(ranker.__file__).parents[1])}
    done = subprocess.run(
        ["sh", "validate.sh", "out.en"], cwd=tmp_path, env={**os.environ, **path}, capture_output=True, check=True
    )
    expected = make_metric("chrf").compute(predictions=["the cat sat down"], references=["the cat sat"])["chrf"]
    assert float(done.stdout) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    "references",
    [["a b", "c d"], [["a b"], ["c d"]], [["a b", "x"], ["c d", "y"]], pd.Series(["a b", "c d"], index=[4, 2])],
)
def test_compute_takes_strings_and_lists_also_where_there_are_as_many_as_predictions(references):
    assert make_metric("bleu[order=1]").compute(predictions=["a b", "c d"], references=references) == {"bleu": 1.0}


def test_rewards_are_the_scores_of_single_completions():
    texts, references = ["It rains.", "Rain!", ""], ["It rains.", "It rains.", "It rains."]
    chat = [[{"role": "user", "content": "?"}, {"role": "assistant", "content": text}] for text in texts]
    for name, of in (("chrf", lambda score: score), ("wer", lambda score: max(0.0, 1.0 - score))):
        expected = [of(make_metric(name)([text], [references[0]]).corpus) for text in texts]
        for completions in (texts, chat):
            assert ranker.reward(name)(completions=completions, references=references, prompts=["?"] * 3) == expected
    assert ranker.reward("nist")(completions=texts[:1], references=references[:1])[0] > 1
    alone = [ranker.reward("full")([text], references=references[:1])[0] for text in texts]
    assert ranker.reward("full")(texts, references=references) == pytest.approx(alone, abs=1e-9)
    with pytest.raises(RankerError, match="'target'"):
        ranker.reward("chrf", references="target")(completions=texts, references=references)
    with pytest.raises(RankerError, match="compares candidates"):
        ranker.reward("consensus")
