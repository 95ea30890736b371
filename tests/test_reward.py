"""Rewards for trainers: what they refuse, and that they can be sent to other processes."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import ranker
from ranker.errors import DataError, OptionError

NOTHING = "(pandas reads NA, None and null as missing: read the file with keep_default_na=False)"


@pytest.mark.parametrize("scorer", ["chrf", "ter"])
def test_a_reward_can_be_pickled(scorer):
    reward = ranker.reward(scorer, references="target", lp="de-en")
    again = pickle.loads(pickle.dumps(reward))
    columns = {"completions": ["the house", "a day"], "target": ["the house", "the day"]}
    assert again(**columns) == reward(**columns)
    assert again.__name__ == reward.__name__ == f"ranker_{scorer}"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"completions": None}, "reward: completions: expected a list, one entry per completion, found null"),
        (
            {"completions": ["a", None]},
            "reward: completions[1]: expected a text, or messages with the text in the last, found null",
        ),
        (
            {"completions": [[]], "references": ["b"]},
            "reward: completions[0]: expected a text, or messages with the text in the last, found []",
        ),
        (
            {"completions": [[{"role": "assistant", "content": None}]], "references": ["b"]},
            "reward: completions[0]: expected a text, or messages with the text in the last, found "
            '[{"role": "assistant", "content": null}]',
        ),
        (
            {"completions": ["a", "b"], "references": ["x", None]},
            "reward: references[1]: expected a reference, or a list of them, found null",
        ),
        (
            {"completions": ["a"], "references": ["b"], "sources": [None]},
            f"sources[0]: expected a string, found null {NOTHING}",
        ),
    ],
)
def test_what_is_no_text_is_refused_in_one_line(columns, message):
    with pytest.raises(DataError) as error:
        ranker.reward("chrf")(**{"references": ["x"] * 2, **columns})
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("listed", [list, np.array, pd.Series])
def test_texts_may_be_arrays(listed):
    assert ranker.reward("chrf")(listed(["a b", "c"]), references=listed(["a b", "d"])) == [1, 0]


def test_a_ranker_that_reads_sources_rewards_by_references_without_them():
    texts, references = ["the cat sat", "a dog runs"], ["the cat sat down", "dogs run"]
    rewards = ranker.reward("full-any")(texts, references=references)
    assert rewards == ranker.reward("full-any")(texts, references=references, sources=["", "x"])
    assert rewards[0] > rewards[1]


def test_a_reward_by_the_agreement_of_candidates_is_refused_without_advice_for_the_command_line():
    with pytest.raises(OptionError, match="such as chrf or full, or rank systems by human judgements") as refused:
        ranker.reward("consensus")
    assert "--" not in str(refused.value)


def test_the_tokenizer_that_follows_the_script_is_told_once(caplog):
    batch = {"completions": ["猫在垫子上睡觉，很好。"], "target": ["猫坐在垫子上睡着了，很好。"]}
    function = ranker.reward("bleu", references="target")
    assert function(**batch) == function(**batch)
    note = "tokenizer=zh, because the references are Chinese by their script"
    assert [note in message for message in caplog.messages] == [True]
    caplog.clear()
    ranker.reward("bleu", references="target", lp="en-zh")(**batch)
    assert not caplog.messages
