"""``ranker nbest``, ``tune`` and ``rerank`` as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ranker.ranking.ranker import Ranker
from tests.effort import thorough

EXTRA = ["--restarts", "2"]


@pytest.fixture
def call(command, tmp_path, monkeypatch):
    """Run one command in a directory of its own."""
    monkeypatch.chdir(tmp_path)
    return command


@pytest.fixture
def dev(call) -> list[str]:
    """A list of the sample's outputs with references, and the words that name them."""
    call("nbest", "from-dataset", "dev.nbest", "--data", "sample", "--features", "words,chrf")
    return ["--nbest", "dev.nbest", "--references", *(f"dev.ref{number}" for number in range(4))]


def test_from_corpus_to_tuned_translations(call, dev):
    out, _ = call("tune", *dev, "--metric", "bleu[order=4]", "--report", "ter", *EXTRA, "-f", "json")
    document = json.loads(out)
    assert document["written"] == ["tuned.json", "tuned.ini"]
    tuning = {row["metric"]: row for row in document["scores"]}
    assert tuning["bleu[order=4]" if "bleu[order=4]" in tuning else "bleu"]["tuned"] >= tuning["bleu"]["start"]
    assert tuning["bleu"]["tuned"] == pytest.approx(document["iterations"][0]["score"], abs=1e-12)
    assert "seed:0" in document["signature"]
    assert json.loads(Path("tuned.json").read_text())["signature"] == document["signature"]
    first, note = call("rerank", "dev.nbest", "--weights", "tuned.json", *dev[2:], "--report", "bleu")
    assert len(first.splitlines()) == 120
    assert float(note.split()[-1]) == pytest.approx(tuning["bleu"]["tuned"], abs=1e-6)
    assert call("rerank", "dev.nbest", "--weights", "tuned.ini")[0] == first


def test_tuning_says_where_nothing_can_be_learnt(call):
    hypotheses = [("the cat", "-1.0"), ("the dog", "-2.0")]
    Path("x.nbest").write_text("".join(f"0 ||| {text} ||| lm= {score} ||| 0\n" for text, score in hypotheses))
    for reference, unchanged in (("the cat", True), ("a horse", True), ("the dog", False)):
        Path("x.ref").write_text(f"{reference}\n")
        _, notes = call("tune", "--nbest", "x.nbest", "--references", "x.ref", "-m", "chrf", *EXTRA)
        assert "note: only 1 sentence: the weights may not suit other texts" in notes
        assert ("note: no weights give a better chrf than the initial ones, which are unchanged" in notes) == unchanged


@thorough
def test_equal_calls_write_equal_bytes(call, dev):
    for name in "ab":
        call("tune", *dev, "-m", "ter", "--weights", name, *EXTRA, "--jobs", "1" if name == "a" else "2")
    for ending in ("json", "ini"):
        assert Path(f"a.{ending}").read_bytes() == Path(f"b.{ending}").read_bytes()


def test_scores_and_alignments_that_one_of_merged_lists_lacks_are_left_out_with_a_note(call):
    Path("scored").write_text("0 ||| a ||| F= 1 ||| 1.5 ||| 0-0\n")
    Path("plain").write_text("0 ||| b ||| F= 2\n")
    for lists in (("scored", "plain", "scored"), ("plain", "scored")):
        said = call("nbest", "merge", *lists, "-o", "merged")[1]
        assert said == "".join(
            f"ranker: note: plain has no {what}s, so the merged list has none\n" for what in ("score", "alignment")
        )
    assert call("nbest", "merge", "scored", "scored", "-o", "merged")[1] == ""


@thorough
def test_tuning_to_a_trained_ranker(call, dev):
    call("train", "--data", "sample", "--features", "bleu,chrf", "--folds", "0", "-o", "r.model")
    out, _ = call("tune", *dev, "--model", "r.model", *EXTRA, "-f", "json")
    scores = json.loads(out)["scores"][0]
    assert scores["metric"] == "r.model"
    assert scores["tuned"] >= scores["start"]
    best, _ = call("rerank", "dev.nbest", "--model", "r.model", *dev[2:], "-f", "jsonl")
    assert sum(json.loads(line)["score"] for line in best.splitlines()) / 120 >= scores["tuned"]


def test_tuning_to_a_ranker_leaves_out_features_that_compare_candidates(call, dev):
    Ranker("chrf,consensus.diverse", C=0.01).fit("sample").save("r.model")
    out, notes = call("tune", *dev, "--model", "r.model", *EXTRA, "-f", "json")
    assert "note: systems are scored without consensus: comparing candidates" in notes
    document = json.loads(out)
    assert "|systems:without consensus|" in document["signature"]
    # of a list and of a choice from it, so equal only if no hypothesis's score depends on the others
    row, step = document["scores"][0], document["iterations"][0]
    assert [row["start"], row["tuned"]] == pytest.approx([step["start"], step["score"]], abs=1e-12)


def test_a_start_that_nothing_improves_keeps_its_digits(call):
    Path("x.nbest").write_text("0 ||| a b ||| LM= 1 TM= 1 2\n0 ||| c d ||| LM= -1 TM= 3 1\n")
    Path("x.ref").write_text("c d\n")
    Path("w.ini").write_text("LM= -1\nTM= 0.1 0.2\n")
    command_line = ["tune", "--nbest", "x.nbest", "-r", "x.ref", "-m", "chrf", "--start", "w.ini", *EXTRA]
    out, notes = call(*command_line, "-f", "json")
    assert [row["tuned"] for row in json.loads(out)["weights"]] == [row["start"] for row in json.loads(out)["weights"]]
    assert "note: no weights give a better chrf than the initial ones, which are unchanged" in notes


def test_a_note_says_that_the_scores_of_sentences_tie(call):
    Path("x.nbest").write_text("0 ||| a ||| P= 1e-12 Q= 1\n0 ||| b ||| P= 5e-12 Q= 1\n1 ||| c ||| P= 3e-12 Q= 2\n")
    tied = "in 1 sentence scores differ by at most 1e-10 and so tie: the first hypothesis is chosen; multiply"
    for weight, chosen in (("1", "a\nc\n"), ("1e6", "b\nc\n"), ("0", "a\nc\n")):
        Path("w.ini").write_text(f"P= {weight}\nQ= 1\n")
        out, notes = call("rerank", "x.nbest", "--weights", "w.ini", "--no-checks")
        assert out == chosen
        assert (tied in notes) == (weight == "1")
    Path("x.scores").write_text("1\n1.00000000001\n1\n")
    assert tied in call("rerank", "x.nbest", "--oracle", "given[file=x.scores]")[1]


@pytest.mark.parametrize("read", ["w.json", "w.ini"])
def test_weights_that_tuning_starts_from_are_not_replaced(read, call, refused):
    Path("dev.nbest").write_text("0 ||| a b ||| f= 1\n0 ||| c d ||| f= 2\n")
    Path("r").write_text("a b\n")
    Path(read).write_text("f= 1\n")
    command_line = ["tune", "--nbest", "dev.nbest", "-m", "chrf", "-r", "r", "--start", read]
    says = f"{read}: is read by this command, which would replace it: write to another file"
    refused(*command_line, "--weights", "w", says=says)
    call(*command_line, "--weights", "v")


@pytest.mark.parametrize(
    "command_line",
    [
        ["tune", "--nbest", "dev.nbest", "-m", "consensus.diverse"],
        ["tune", "--nbest", "dev.nbest", "-m", "chrf", "--report", "consensus.diverse"],
        ["rerank", "dev.nbest", "--oracle", "chrf", "--report", "consensus.diverse"],
        ["tune", "--nbest", "dev.nbest", "--model", "consensus"],
    ],
)
def test_what_only_compares_candidates_scores_no_choice(command_line, call, refused):
    Path("dev.nbest").write_text("0 ||| a b ||| f= 1\n0 ||| c d ||| f= 2\n")
    Path("r").write_text("a b\n")
    refused(*command_line, "-r", "r", says="(consensus.diverse|the model) compares candidates with one another")


@thorough
def test_oracle_and_minimum_bayes_risk(call, dev):
    scores = {}
    for name, options in {
        "oracle": ["--oracle", "bleu"],
        "mbr": ["--mbr", "chrf"],
        "weighted": ["--mbr", "chrf", "--weights", "w.ini", "--scale", "5"],
    }.items():
        Path("w.ini").write_text("words= 0\nagree_chrf= 1\n")
        _, note = call("rerank", "dev.nbest", *options, *dev[2:], "--report", "bleu")
        scores[name] = float(note.split()[-1])
    assert scores["oracle"] > max(scores["mbr"], scores["weighted"])
    alone, _ = call("rerank", "dev.nbest", "--mbr", "chrf", "-f", "json")
    assert [row["sentence"] for row in json.loads(alone)] == list(range(120))


def test_sentences_without_hypotheses_stay_in_step(call):
    Path("gap").write_text("0 ||| a ||| 1 ||| 2\n2 ||| b ||| 1 ||| 3\n")
    out, err = call("rerank", "gap", "--mbr", "chrf", "--scale", "1")
    assert out == "a\n\nb\n"
    assert err == (
        "ranker: note: no source has more than one hypothesis, so there is nothing to choose\n"
        "ranker: note: 1 sentence without hypotheses (first: sentence 1, numbered from 0)\n"
    )


@pytest.mark.parametrize("how", [["--mbr", "chrf"], ["--model", "consensus"]])
def test_sentences_numbered_from_1_are_more_than_the_sources(command, how, folder):
    Path("list").write_text("".join(f"{at} ||| {text} ||| 1 ||| 2\n" for at in (1, 2) for text in ("a b", "c", "d")))
    Path("two").write_text("x y\nz\n")
    printed = command("rerank", "list", *how, "-s", "two", code=2)
    what = "list: has hypotheses for sentence 2, but two has 2 lines, numbered from 0: give the sources and references"
    assert f"ranker: error: {what} of this list" in printed.err


def test_a_language_model_that_would_learn_from_its_own_references_is_told_so(call):
    words = ["nbest", "from-dataset", "x.nbest", "--data", "sample", "-F", "lm"]
    Path("text").write_text("".join(f"sentence number {number}\n" for number in range(200)))
    _, err = call(*words, "--lm-data", "sample", "--lm-text", "text")
    assert err == (
        "ranker: note: 480 of 680 sentences are references of sample; the language model did not learn from them\n"
    )


@pytest.mark.parametrize(
    "words",
    [
        ["--model", "full-any"],
        ["--oracle", "semantic[encoder=encoder-any].f"],
        ["--oracle", "chrf", "--report", "semantic[encoder=encoder-any].f"],
    ],
)
def test_notes_on_unknown_characters_are_of_the_hypotheses_too(call, words):
    texts = ["Die 🥶🥶 ist lang.", "Die 🪵🪵 ist lang."]
    record = {"lp": "en-de", "source": "It is long.", "references": ["Die Strasse ist lang."], "candidates": texts}
    Path("q.json").write_text(json.dumps([record]), encoding="utf-8")
    number = "1 of 2 texts" if "--report" in words else "2 of 3 texts"
    assert f"does not know all characters of {number}: " in call("rerank", "q.json", *words).err
