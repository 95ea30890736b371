"""Checks of judges: who is careful, who clicks, and who is left out."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from ranker.apps.collect import assigning
from ranker.apps.collect.campaign import connect, output_texts, settings_of, transaction
from ranker.apps.collect.degrading import degraded, pieces_of
from ranker.apps.collect.exporting import dataset_of
from ranker.apps.collect.figures import figures_of
from ranker.apps.collect.quality import JudgeQuality, Thresholds, _quality, left_out
from ranker.apps.collect.tasks import KINDS
from ranker.corpora import catalogue
from ranker.corpora.judgements import human_scores
from ranker.corpora.records import Candidate, Record, assemble
from ranker.errors import DataError
from tests.apps.collect.conftest import Client, serving, settings, small
from tests.datasets import dataset_of as made
from tests.effort import thorough


@pytest.mark.parametrize("kind", ["ranking", "pairwise"])
def test_the_share_of_degraded_items_does_not_fall_as_they_and_control_items_grow(campaign, kind):
    gold = made([(["r"], [f"good {n}", f"bad {n}"]) for n in range(40)], lp="de-en", kind="fluency")
    more = {"degraded": 0.25, "gold_data": gold, "judges_per_item": 20}
    path, _ = campaign(kind, judges=20, data=small(sources=20), **more)
    judges = {f"judge{number}": (lambda texts: [1] * len(texts), 5) for number in range(1, 21)}
    connection, _ = judge_in_file(path, judges, 25)
    query = "SELECT avg(role = 'degraded') FROM assignment JOIN item ON item.id = item"
    assert connection.execute(query).fetchone()[0] == pytest.approx(0.25, abs=0.05)


def judge_in_file(path, judges, count):
    """Let simulated judges answer without a server: each a function of the texts of an item, with its seconds."""
    connection = connect(path)
    settings = settings_of(connection)
    ids = {row["code"]: row["id"] for row in connection.execute("SELECT id, code FROM person WHERE role = 'judge'")}
    now = 0.0
    with transaction(connection):
        for _ in range(count):
            for code, (choose, seconds) in judges.items():
                key = assigning.next_assignment(connection, settings, ids[code], now)
                if key is None:
                    continue
                item = connection.execute(
                    "SELECT item.* FROM item JOIN assignment ON item.id = item WHERE assignment.id = ?", (key,)
                ).fetchone()
                answer = choose(output_texts(connection, item))
                assigning.save(connection, ids[code], key, answer, int(now), now + seconds)
                now += 60
    return connection, settings


def qualities(connection, settings):
    return [JudgeQuality(**judge) for judge in figures_of(connection, settings)["judges"]]


@pytest.fixture(scope="module")
def quality(sample):
    return dict(zip(sample.candidates["text"], human_scores(sample, "fluency"), strict=True))


def answered(kind, value):
    """The answer with this value: of MQM, a minor error for each point of the penalty."""
    return [0, *[[0, 0]] * -value] if kind == "mqm" else [value]


def careful(quality, kind, noise=0.0, seed=0):
    generator = np.random.default_rng(seed)

    def choose(texts):
        values = np.array([quality.get(text, -4.0) for text in texts]) + noise * generator.normal(size=len(texts))
        if len(texts) > 1:
            return [int(1 + (values > value).sum()) for value in values]
        low, high = KINDS[kind].lowest, KINDS[kind].highest
        return answered(kind, int(np.clip(round((low + high) / 2 + values[0] * (high - low) / 4), low, high)))

    return choose


def careless(kind, seed=1):
    generator = np.random.default_rng(seed)
    kinds = KINDS[kind]

    def choose(texts):
        highest = len(texts) if len(texts) > 1 else kinds.highest
        values = [int(value) for value in generator.integers(kinds.lowest, highest + 1, size=len(texts))]
        return values if len(texts) > 1 else answered(kind, *values)

    return choose


@pytest.mark.parametrize("kind", KINDS)
@thorough
def test_a_careless_judge_is_found_and_left_out_and_careful_ones_are_not(campaign, quality, kind, tmp_path, command):
    path, _ = campaign(kind, judges=3, judges_per_item=3, next="overlap", overlap=1.0, degraded=0.15, repeat=0.15)
    judges = {
        "judge1": (careful(quality, kind, 0.2), 20),
        "judge2": (careful(quality, kind, 0.2, seed=3), 15),
        "judge3": (careless(kind), 1.0),
    }
    connection, settings = judge_in_file(path, judges, 120)
    result = {judge.code: judge for judge in qualities(connection, settings)}
    connection.close()
    for code in ("judge1", "judge2"):
        assert result[code].checks > 0.85, result[code]
        assert result[code].self_agreement > 0.6
        assert result[code].fast == 0
        assert not result[code].flags
    assert result["judge3"].checks < 0.75
    assert result["judge3"].kappa < 0.15 < 0.3 < result["judge1"].kappa
    assert result["judge3"].fast == 1
    assert result["judge3"].flags
    words = ("--output", str(tmp_path / "x.jsonl"), "--min-kappa", "0.2", "--max-fast", "0.5", "-f", "json")
    messages = json.loads(command("collect", "export", str(path), *words).out)
    assert [item["judge"] for item in messages["left_out"]] == ["judge3"]
    assert "kappa" in messages["left_out"][0]["reason"]
    assert "100% of the items judged too fast, expected at most 50%" in messages["left_out"][0]["reason"]
    files = "".join((tmp_path / name).read_text() for name in ("x.jsonl", "x.pairs.tsv") if (tmp_path / name).exists())
    assert "judge1" in files
    assert "judge3" not in files


def test_an_export_without_judges_names_those_who_are_excluded(campaign, quality, tmp_path, command):
    path, _ = campaign("pairwise", judges=2, judges_per_item=2, next="overlap", overlap=1.0)
    judges = {f"judge{number}": (careful(quality, "pairwise", 0.2, seed=number), 1.0) for number in (1, 2)}
    connection, _ = judge_in_file(path, judges, 10)
    connection.close()
    error = command("collect", "export", str(path), "-o", str(tmp_path / "x.jsonl"), "--max-fast", "0", code=2).err
    reason = "100% of the items judged too fast, expected at most 0%"
    assert f"every judge with judgements to export is excluded: judge1 ({reason}), judge2 ({reason}); " in error


def test_gold_items_are_scored_and_not_exported(campaign):
    gold = made(
        [(["reference"], [f"good {number}", f"bad {number}"]) for number in range(10)], lp="de-en", kind="fluency"
    )
    path, created = campaign("pairwise", data=small(sources=40), gold=0.3, gold_data=gold)
    assert created.gold == 10

    def right(texts):
        return [1 if text.startswith("good") else 2 for text in texts]

    def wrong(texts):
        return [2 if text.startswith("good") else 1 for text in texts]

    connection, settings = judge_in_file(path, {"judge1": (right, 9), "judge2": (wrong, 9)}, 30)
    result = {judge.code: judge for judge in qualities(connection, settings)}
    assert result["judge1"].gold >= 5
    assert result["judge1"].checks == 1
    assert result["judge2"].checks == 0
    assert any("checks answered correctly" in flag for flag in result["judge2"].flags)
    assert {"s0", "s1"}.isdisjoint(dataset_of(connection, settings).candidates["system"])
    connection.close()


def test_a_repeated_item_shows_agreement_with_oneself_and_counts_once(campaign):
    path, _ = campaign("fluency", data=small(sources=20), repeat=0.3)
    connection, settings = judge_in_file(path, {"judge1": (lambda texts: [len(texts[0]) % 5 + 1], 9)}, 30)
    result = qualities(connection, settings)[0]
    assert result.repeats >= 5
    assert result.self_agreement == 1
    dataset = dataset_of(connection, settings)
    assert len(dataset.ratings) == result.judged - result.repeats
    assert not dataset.ratings.duplicated(["candidate", "judge"]).any()
    connection.close()


def test_equal_ranks_are_noticed_whatever_the_rounding_of_their_share():
    """249 / 261 * 261 is not 249."""
    answers = ["[1, 1, 1]"] * 249 + [json.dumps([1, 2, 3 + number]) for number in range(12)]
    rows = [{"item": n, "repeat": 0, "role": "plain", "answer": text, "seconds": 9} for n, text in enumerate(answers)]
    judged = _quality("a", rows, KINDS["ranking"], settings("ranking"), (0, None))
    assert judged.flags == ("95% of the answers are identical",)


def test_too_few_observations_leave_nobody_out():
    new = JudgeQuality("a", 4, checks=0.0, gold=4, fast=1.0, kappa=-1.0, units=3)
    assert left_out([new], Thresholds(checks=1, kappa=1, fast=0)) == []


@pytest.mark.parametrize(
    "text",
    ["a", "a b", "the cat sat on the mat .", "这座桥以最初设计它的工程师命名。", "مرحبا بالعالم الجميل", "x " * 200],
)
def test_a_degraded_copy_differs_from_its_text(text):
    for seed in range(20):
        copy = degraded(text, "nobody knows what this is about", random.Random(seed))
        assert copy.split() != text.split()
        assert copy == degraded(text, "nobody knows what this is about", random.Random(seed))
    assert degraded(text, text, random.Random(0)).strip()


@pytest.mark.parametrize("text", ["", "a", " a  b\n", "这座桥 is 长", "ภาษาไทย", "é́ x"])
def test_pieces_add_up_to_the_text(text):
    assert "".join(pieces_of(text)) == text


@pytest.mark.parametrize("again", ["same {}", "same {}\u00a0\r\n"])
def test_identical_outputs_are_shown_once_and_exported_for_all_systems(campaign, again):
    data = made([(["r"], [f"same {n}", f"other {n}", again.format(n)]) for n in range(3)], lp="de-en")
    path, created = campaign("ranking", data=data, judges=1)
    assert created.items == 3
    shown = []

    def choose(texts):
        shown.append(len(texts))
        return [1 if text.startswith("same") else 2 for text in texts]

    connection, settings = judge_in_file(path, {"judge1": (choose, 9)}, 5)
    assert shown == [2, 2, 2]
    dataset = dataset_of(connection, settings)
    connection.close()
    assert dataset.candidates["text"].tolist() == data.candidates["text"].tolist()
    systems = dataset.candidates["system"]
    rows = dataset.preferences
    got = {
        (systems[row["first"]], systems[row["second"]]): (row["relation"], row["primary"])
        for row in rows[rows["first"] < 3].to_dict("records")
    }
    assert got == {("s0", "s1"): (">", True), ("s0", "s2"): ("=", False), ("s1", "s2"): ("<", False)}


@pytest.mark.parametrize(
    ("kind", "items"), [("ranking", 3), ("pairwise", 3), ("fluency", 8), ("score", 8), ("esa", 10), ("mqm", 10)]
)
def test_outputs_that_differ_in_spaces_at_line_ends_are_one_item_unless_characters_are_marked(campaign, kind, items):
    outputs = [("", " \n"), ("a b", "a b \u3000"), ("a b", "a\nb"), ("a b", "ab"), ("a:\n  b", "a:\nb")]
    data = made([(["r"], [*texts]) for texts in outputs], lp="de-en")
    # line breaks and spaces within lines are seen
    _, created = campaign(kind, data=data)
    assert (created.items, created.passed_over) == (items, 2 if items == 3 else 0)


@pytest.mark.parametrize("character", ["\t", "\n", "\r"])
def test_names_that_no_pairs_file_can_hold_are_refused_by_comparisons_alone(campaign, character):
    name = f"A{character}x"
    for data, column in (
        (small(outputs=("one", name)), "system"),
        (small(pair=name), "lp"),
        (assemble([Record("s", ["r"], [Candidate("A", "a"), Candidate("B", "b")], seg_id=name)], "w"), "seg_id"),
    ):
        for kind in ("ranking", "pairwise"):
            with pytest.raises(DataError, match=f": {column} .* contains a tab or line break"):
                campaign(kind, data=data)
        path, _ = campaign("fluency", data=data)
        path.unlink()
    # a source without a comparison has no pairs
    equal = [Record("s", ["r"], [Candidate("A", "a"), Candidate(name, "a")], seg_id="1")]
    other = [Record("t", ["r"], [Candidate("A", "a"), Candidate("B", "b")], seg_id="2")]
    campaign("pairwise", data=assemble([*equal, *other], "w"))


def test_a_campaign_with_names_that_no_pairs_file_can_hold_is_exported(campaign, tmp_path, command, caplog):
    path, _ = campaign("pairwise", judges=1, data=small(sources=2))
    connection, _ = judge_in_file(path, {"judge1": (lambda texts: [1, 2], 5)}, 6)
    with connection:
        connection.execute("UPDATE candidate SET system = ? WHERE system = 'one'", ("A\tx",))
        connection.execute("UPDATE source SET seg_id = ? WHERE id = 1", ("a\nb\tc",))
    for ending in ("jsonl", "json", "csv", "tsv", "parquet"):
        command("collect", "export", str(path), "-o", str(tmp_path / f"new.{ending}"))
        assert "tabs and line breaks in seg_id, which a pairs file cannot hold, are written as" in caplog.text
        assert ": 1 name, such as a\\nb\\tc\n" in caplog.text
        caplog.clear()
        exported = catalogue.load(tmp_path / f"new.{ending}")
        assert {*exported.candidates["system"]} == {"A\\tx", "two", "three"}
        assert exported.sources["seg_id"][0] == "a\\nb\\tc"
        assert len(exported.preferences) == 6
    with connection:
        connection.execute("UPDATE candidate SET system = ? WHERE system = 'two'", ("A\\tx",))
    connection.close()
    assert "rename it" in command("collect", "export", str(path), "-o", str(tmp_path / "other.jsonl"), code=2).err


def test_one_answer_for_everything_is_flagged(campaign):
    path, _ = campaign("fluency", data=small(sources=20))
    connection, settings = judge_in_file(path, {"judge1": (lambda texts: [4], 9)}, 25)
    assert qualities(connection, settings)[0].flags == ("100% of the answers are identical",)
    connection.close()


@pytest.mark.parametrize(
    ("more", "judges"),
    [
        ({}, "each item by 1 judge"),
        ({"judges_per_item": 2}, "each item by 2 judges"),
        ({"next": "overlap", "judges_per_item": 2, "overlap": 0.3}, "30% of the items by 2 judges, the others by 1"),
    ],
)
def test_the_owner_sees_who_judges_an_item_and_that_nothing_is_left(campaign, more, judges):
    path, created = campaign("score", data=small(), **more)
    judge_in_file(path, dict.fromkeys(("judge1", "judge2"), (lambda texts: [50], 9)), 2 * created.items)[0].close()
    with serving(path) as address:
        page = Client(address).enter(created.links["owner"]).text
    assert f"Score; {judges}." in page
    assert "<dt>Time left</dt><dd>none</dd>" in page
