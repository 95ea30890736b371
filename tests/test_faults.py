"""What is surely no translation is ranked behind all others, does not vote, and wins no reward."""

from __future__ import annotations

import csv
import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

import ranker
from ranker import Ranker, from_records, load_dataset
from ranker.checks.faults import Votes, faults, outranked
from ranker.errors import DataError
from ranker.extractors.base import fitted_on
from ranker.extractors.registry import make

SOURCE = "Der Bus kam zehn Minuten zu spät, weil es regnete."
GOOD = ["The bus was ten minutes late because of the rain.", "The bus was ten minutes late because it rained."]
GOOD = [*GOOD, "The bus is late for ten minute since it was raining."]
FAULTS = {
    "copy": SOURCE,
    "empty": " ",
    "language": "Le bus est arrivé avec dix minutes de retard à cause de la pluie.",
    "refusal": "I'm sorry, but I can't assist with that request.",
    "repetition": "The bus was late, the bus was late, the bus was late, the bus was late.",
    "mixed": "The bus was ten, weil es regnete.",
}


def record(*texts: str, **more: object) -> dict[str, object]:
    return {"source": SOURCE, "candidates": [*texts], **more}


@pytest.mark.parametrize("lp", ["de-en", None])
@pytest.mark.parametrize("references", [[], ["The bus came ten minutes late because of the rain."]])
@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_no_translation_is_last_however_often_it_is_said(fault, references, lp):
    data = [record(*[FAULTS[fault]] * 4, *GOOD, references=references, **({"lp": lp} if lp else {}))]
    ranking = ranker.rank(data, model="full-any" if references else "consensus")
    assert set(ranking["text"][:3]) == set(GOOD)
    assert ranking["fault"].fillna("").tolist() == [""] * 3 + [fault] * 4
    assert ranking["rank"].tolist() == [1, 2, 3, 4, 4, 4, 4]
    assert ranking["margin"].isna().tolist() == [False, False, True, False, False, False, True]


@pytest.mark.parametrize(
    ("lp", "source", "text", "faulty"),
    [
        ("en-my", "Very well.", "ကောင်းကောင်း။", False),
        ("en-th", "Hurry up, hurry up!", "เร็วเข้าเร็วเข้า", False),
        ("en-zh", "Thank you so much!", "谢谢谢谢！", False),
        ("en-th", "He went home.", "เขากลับบ้านเขากลับบ้านเขากลับบ้าน", True),
        ("en-my", "He came home in the evening.", "သူညနေမှာအိမ်ကိုပြန်လာခဲ့တယ်သူညနေမှာအိမ်ကိုပြန်လာခဲ့တယ်", True),
        ("en-zh", "I do not know.", "我不知道我不知道我不知道", True),
    ],
)
def test_a_short_text_said_twice_is_no_fault_in_scripts_without_spaces(lp, source, text, faulty):
    data = from_records([{"lp": lp, "source": source, "candidates": [text, "1"]}])
    assert faults(data).tolist() == ["repetition" if faulty else "", ""]


@pytest.mark.parametrize("references", [[], ['Für Einzelheiten siehe <a href="%s">%s</a>.']])
def test_kept_tags_and_placeholders_are_no_fault(references):
    source, texts = (
        'See <a href="%s">%s</a> for details.',
        ['Siehe <a href="%s">%s</a> für Details.', "Das Auto fährt."],
    )
    data = [{"lp": "en-de", "source": source, "references": references, "candidates": texts}]
    assert faults(from_records(data)).tolist() == ["", ""]


def test_the_faulty_have_no_vote():
    sound = ranker.rank([record(*GOOD, lp="de-en")])
    both = ranker.rank([record(SOURCE, SOURCE, *GOOD, lp="de-en")])
    assert both["score"][: len(GOOD)].tolist() == pytest.approx(sound["score"].tolist(), abs=1e-9)
    by_score = ranker.rank([record(SOURCE, SOURCE, *GOOD, lp="de-en")], checks=False)
    assert "fault" not in by_score
    # two are too few to be compared
    two = ranker.rank([record(SOURCE, *GOOD[:2], lp="de-en")])
    assert two["rank"].tolist() == [1, 1, 3]
    # neither has a candidate that is a reference
    own = {"system": "ref", "text": GOOD[2], "is_reference": True}
    listed = [{"system": name, "text": text} for name, text in zip("ABC", [SOURCE, *GOOD[:2]], strict=True)]
    assert ranker.rank([{**record(lp="de-en"), "candidates": [*listed, own]}])["rank"].tolist() == [1, 1, 1, 4]


def test_notes_and_signature_are_of_the_candidates_that_vote(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    listed = dict(zip("ABC", [*GOOD[:2], SOURCE], strict=True))
    data = record(lp="de-en", candidates=listed, references=["The bus came ten minutes late because of the rain."])
    Path("all.json").write_text(json.dumps([data]), encoding="utf-8")
    Path("sound.json").write_text(json.dumps([{**data, "candidates": {**listed, "C": GOOD[2]}}]), encoding="utf-8")
    Path("two.json").write_text(json.dumps([{**data, "candidates": {**listed, "C": ""}}]), encoding="utf-8")
    few = "1 source with fewer than 3 candidates; ranked without consensus"
    for name, number in (("all", 1), ("sound", 0), ("two", 1)):
        for run in (["rank"], ["explain"], ["rerank", "-M", "full"]):
            assert command(run[0], f"{name}.json", *run[1:]).err.count(few) == number, (name, run)
        assert ("|fallback" in command("rank", f"{name}.json").out) == bool(number)
        assert few not in command("rank", f"{name}.json", "--no-checks").err
    whole, left = (ranker.rank(f"{name}.json", model="full") for name in ("all", "two"))
    assert whole["score"][:2].tolist() == left["score"][:2].tolist()
    assert whole["confidence"][:1].tolist() == left["confidence"][:1].tolist()


def test_a_fault_does_not_bring_back_an_encoder_of_another_language(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    candidates = ["Der Bus hatte zehn Minuten Verspätung.", "The bus was late.", "Der Bus kam zehn Minuten zu früh."]
    data = {"lp": "en-de", "source": "The bus was late.", "references": ["Der Bus kam zu spät."]}
    Path("bus.json").write_text(json.dumps([{**data, "candidates": candidates}]), encoding="utf-8")
    result = command("rank", "bus.json", "--model", "full")
    assert "(copy 1); in 1 source the others tie, too few to be compared; rank them by score" in result.err
    assert [line.split()[0] for line in result.out.splitlines()[2:5]] == ["1=", "1=", "3"]
    assert ranker.rank("bus.json", model="full")["rank"].tolist() == [1, 1, 3]
    parts = Ranker.load("full").explain("bus.json")
    assert parts["score"].tolist()[::2] == [0.0, 0.0]
    # as few from the beginning are ranked by it
    Path("two.json").write_text(json.dumps([{**data, "candidates": candidates[::2]}]), encoding="utf-8")
    assert ranker.rank("two.json", model="full")["rank"].tolist() == [1, 2]


def test_what_learns_from_all_that_is_ranked_does_not_learn_from_the_sources_with_a_fault_alone():
    data = load_dataset("sample").select_sources(np.arange(120) < 6)
    texts = data.candidates["text"].to_numpy(object).copy()
    texts[1] = data.sources["text"].iloc[0]
    data = dataclasses.replace(data, candidates=data.candidates.assign(text=texts))
    extractor, sound = make("consensus"), np.arange(len(data)) != 1

    def compute(dataset):
        return fitted_on(extractor, dataset).transform(dataset)

    assert outranked(data).tolist() == (~sound).tolist()
    assert np.array_equal(Votes((extractor,)).values(data, compute)[sound], compute(data.select_candidates(sound)))


def test_two_copies_of_the_source_do_not_beat_the_only_translation():
    data = [record(SOURCE, SOURCE, GOOD[0])]
    assert ranker.rank(data)["text"].iloc[0] == GOOD[0]
    assert ranker.rank(data, checks=False)["text"].iloc[0] == SOURCE


@pytest.mark.parametrize(
    "texts",
    [
        ["He have gone home by the bus.", "He has gone home by the bus.", "He had gone home by bus."],
        ["Barack Obama, Berlin", "Barack Obama, Berlin", "Barack Obama, Berlin."],
    ],
)
def test_copies_that_may_be_right_are_ranked_by_score(texts):
    data = [{"source": texts[0], "candidates": texts}]
    assert "fault" not in ranker.rank(data)
    assert ranker.rank(data).equals(ranker.rank(data, checks=False))


def test_where_all_are_faulty_nothing_changes():
    data = [record(SOURCE, SOURCE, FAULTS["refusal"], lp="de-en")]
    ranking, by_score = ranker.rank(data), ranker.rank(data, checks=False)
    assert ranking.drop(columns="fault").equals(by_score)
    assert Ranker.load("consensus").score(data)["score"].tolist() == by_score.sort_index()["score"].tolist()


def test_a_language_model_alone_ranks_nothing(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("two.json").write_text(json.dumps([{**record(*GOOD[:2]), "source": ""}]), encoding="utf-8")
    with pytest.raises(DataError, match=r"no source has 3 candidates to compare or a text .*perp\[model=shipped\]"):
        ranker.rank("two.json")
    assert command("rank", "two.json", "-m", "perp[model=shipped]", "-f", "csv").out
    mixed = from_records([record(*GOOD), {**record(*GOOD[:2]), "source": "Es regnet."}])
    assert ranker.rank(mixed)["rank"].tolist() == [1, 2, 3, 1, 2]


def test_the_commands_say_so_and_can_be_told_not_to(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.json").write_text(json.dumps([record(SOURCE, SOURCE, *GOOD, lp="de-en")]), encoding="utf-8")
    result = command("rank", "data.json")
    assert "2 of 5 candidates are no translations and are ranked behind the other candidates (copy 2)" in result.err
    assert "--no-checks" in result.err
    assert [line.split()[0] for line in result.out.splitlines()[2:7]] == ["1", "2", "3", "4=", "4="]
    assert "fault" not in command("rank", "data.json", "--no-checks").out
    (source,) = json.loads(command("rank", "data.json", "-f", "json").out)["sources"]
    assert [row["fault"] for row in source["ranking"]] == [None] * 3 + ["copy"] * 2
    (source,) = json.loads(command("explain", "data.json", "-f", "json").out)["sources"]
    assert [row.get("fault") for row in source["candidates"]].count("copy") == 2
    for row in source["candidates"]:
        assert sum(row["contributions"].values()) == pytest.approx(row["score"])
    for chosen_by in (["--mbr", "chrf"], ["--model", "consensus"]):
        result = command("rerank", "data.json", *chosen_by)
        assert result.out.strip() in GOOD
        assert "(copy 1); choose by score alone with --no-checks" in result.err
    Path("two.json").write_text(json.dumps([record(SOURCE, SOURCE, GOOD[0], lp="de-en")]), encoding="utf-8")
    assert command("rerank", "two.json", "--mbr", "chrf").out.strip() == GOOD[0]
    assert command("rerank", "two.json", "--mbr", "chrf", "--no-checks").out.strip() == SOURCE


@pytest.mark.parametrize(("scorer", "lowest"), [("chrf", 0.0), ("full", -10.0)])
def test_a_reward_of_what_is_no_translation_is_below_all_others(scorer, lowest):
    texts = [*FAULTS.values(), *GOOD]
    columns = {"sources": [SOURCE] * len(texts), "references": [SOURCE] * len(texts)}
    columns["references"] = ["The bus came ten minutes late because of the rain."] * len(texts)
    rewards = ranker.reward(scorer, lp="de-en")(texts, **columns)
    assert max(rewards[: len(FAULTS)]) <= lowest < min(rewards[len(FAULTS) :])
    by_score = ranker.reward(scorer, lp="de-en", checks=False)(texts, **columns)
    assert by_score[len(FAULTS) :] == rewards[len(FAULTS) :]
    assert by_score[0] > lowest


def test_explain_says_what_was_ranked_last_for_a_fault(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    candidates = dict(zip("ABCD", [SOURCE, *GOOD], strict=True))
    data = [record(lp="de-en", candidates=candidates), {**record(*GOOD), "source": "Es regnet."}]
    data[1]["candidates"] = dict(zip("BCD", GOOD, strict=True))
    Path("data.json").write_text(json.dumps(data), encoding="utf-8")
    result = command("explain", "data.json")
    assert "1 of 7 candidates is no translation and is ranked behind the other candidates (copy 1)\n" in result.err
    assert f"A: {SOURCE}\n  fault: copy\n" in result.out
    assert result.out.count("fault") == 1
    (ranked, _), (explained, _) = (
        json.loads(command(name, "data.json", "-f", "json").out)["sources"] for name in ("rank", "explain")
    )
    scores = {each["system"]: each["score"] for each in ranked["ranking"]}
    assert {each["system"]: each["score"] for each in explained["candidates"]} == pytest.approx(scores)
    assert [each.get("fault") for each in explained["candidates"]] == ["copy", None, None, None]
    pair = command("explain", "data.json", "--pair", "B", "A")
    assert f"  A: {SOURCE}\n  fault: copy\n" in pair.out
    assert "\nB is above A, which is no translation (copy); by score alone, B is above A by " in pair.out
    words = ("explain", "data.json", "--pair", "B", "A", "--format")
    assert json.loads(command(*words, "json").out)["sources"][0]["faults"] == [None, "copy"]
    first, *_ = csv.DictReader(command(*words, "csv").out.splitlines())
    assert (first["first_fault"], first["second_fault"]) == ("", "copy")
    # the order is that of rank, also where the scores have another or the mean is of several sources
    data = [record(*GOOD[:1], SOURCE, lp="de-en"), record(*GOOD[:2], lp="de-en"), record(SOURCE, SOURCE, lp="de-en")]
    Path("two.json").write_text(json.dumps(data), encoding="utf-8")
    pair = command("explain", "two.json", "--pair", "candidate1", "candidate2").out
    fault = (
        "candidate1 is above candidate2, which is no translation (copy); by score alone, candidate2 is above candidate1"
    )
    assert pair.count("no translation") == pair.count(f"\n{fault} by ") == 1
    assert "\nmean of 3 sources, by score alone (a fault decides in 1 of them): candidate" in pair
    of_python = ranker.explain("data.json")
    assert dict(zip(of_python["system"], of_python["score"], strict=True)) == pytest.approx(scores)
    assert of_python["fault"].tolist() == ["copy", *[None] * 6]
    with_votes = ranker.explain("data.json", checks=False)
    assert "fault" not in with_votes
    assert with_votes["score"].tolist() == ranker.score("data.json")["score"].tolist()
