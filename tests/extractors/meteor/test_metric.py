from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.errors import DataError, OptionError
from ranker.extractors.meteor.metric import Meteor
from ranker.extractors.registry import make_metric
from ranker.text.tokens import token_batch
from tests.datasets import dataset_of
from tests.effort import examples, thorough
from tests.extractors.small_wordnet import write_wordnet
from tests.golden_values import INCLUDED, SHARED_ONLY, wordnet_of

PROGRAM = {
    "default_norm": "",
    "default_norm_nopunct": "tokenizer=meteor-words",
    "default_lower_tok": "tokenizer=none,lowercase=true",
    "default_case_tok": "tokenizer=none",
    "exact_norm": "modules=exact",
    "exact_stem_norm": "modules=exact+stem",
    "adq_norm": "parameters=adq",
    "li_norm": "parameters=li",
    "cer_80_25_40": "parameters=METR",
    "cer_95_05_50": "parameters=METR-r",
    "cer_50_25_40": "parameters=METR:0.5",
    "cer_50_05_50": "parameters=METR-r:0.5",
}
"""Runs of Meteor 1.5, and the options that stand for them."""


def scores(metric: Meteor, items) -> list[float]:
    return metric.transform(dataset_of(items))[:, 0].tolist()


def table(path: Path) -> list[dict[str, str]]:
    head, *rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return [dict(zip(head, row, strict=True)) for row in rows]


@pytest.fixture
def small_wordnet(tmp_path) -> Path:
    return write_wordnet(tmp_path / "wordnet")


@pytest.fixture(scope="module")
def inputs(golden) -> dict[str, dict]:
    path = golden / "inputs.jsonl"
    return {item["id"]: item for item in map(json.loads, path.read_text(encoding="utf-8").splitlines())}


RUNS = [("included", run) for run in PROGRAM if (INCLUDED / f"meteor.{run}.tsv.gz").is_file()]
RUNS += [("shared", run) for run in PROGRAM]


@pytest.mark.parametrize(("golden", "run"), RUNS, indirect=["golden"])
def test_equals_meteor_1_5(golden, inputs, run):
    words = [f"function_words={golden}/meteor_function_words.txt", f"wordnet={wordnet_of(golden)}"]
    metric = make_metric(f"meteor[{','.join(filter(None, [PROGRAM[run], 'parity=meteor-1.5', *words]))}]")
    if "synonym" in metric.modules and metric._wordnet() is None:
        pytest.skip("no WordNet installed")
    expected = table(golden / f"meteor.{run}.tsv")
    kind = "_tok" if run.endswith("_tok") else ""
    items = [inputs[row["id"]] for row in expected]
    dataset = dataset_of([(item["refs" + kind], [item["hyp" + kind]]) for item in items])
    statistics = metric.statistics(dataset)
    assert metric.score(statistics) == pytest.approx([float(row["score"]) for row in expected], abs=1e-9)
    counts = ["hyp_len", "ref_len", "hyp_func", "ref_func"]
    assert statistics[:, :4].tolist() == [[float(row[name]) for name in counts] for row in expected]
    # the program counts one chunk where all words match, and leaves it out of the sum
    assert np.maximum(statistics[:, 4], statistics[:, 5:21].any(axis=1)).tolist() == [
        float(row["chunks"]) for row in expected
    ]
    for column, name in enumerate(("hyp_content", "hyp_func", "ref_content", "ref_func")):
        peer = np.array([list(map(float, row[f"{name}_by_module"].split())) for row in expected])
        assert statistics[:, 5 + column :: 4][:, : peer.shape[1]].tolist() == peer.tolist()
    corpora = golden / f"meteor.{run}.corpus.tsv"
    for row in table(corpora) if corpora.is_file() else []:
        members = [item["group"] == row["corpus"] or row["corpus"] == "all" for item in items]
        if row["corpus"] != "all.ref0":
            assert float(metric.score(statistics[members].sum(axis=0))) == pytest.approx(float(row["score"]), abs=1e-9)


def test_alignments_equal_meteor_1_5(golden, inputs):
    metric = make_metric("meteor[modules=exact+stem,parity=meteor-1.5]")
    expected = [row for row in table(golden / "meteor.exact_stem_norm.tsv") if len(inputs[row["id"]]["refs"]) == 1]
    dataset = dataset_of([(inputs[row["id"]]["refs"], [inputs[row["id"]]["hyp"]]) for row in expected])
    batch = token_batch(dataset, metric.tokenizer)
    tables = metric._tables(batch.segments, "en")
    sentences = np.stack([batch.candidate, batch.reference], axis=1)
    counts, matches = metric._align(batch.segments, sentences, tables, "en")
    for row, result in zip(expected, np.split(matches, np.cumsum(counts)[:-1]), strict=True):
        actual = [f"{j}:{n} {i}:{m} {kind}" for j, i, m, n, kind in result.tolist()]
        assert "|".join(actual) == row["matches(ref_start:len hyp_start:len module)"], row["id"]


@SHARED_ONLY
@thorough
def test_orders_equal_those_made_of_meteor_1_5_alignments(golden, inputs):
    metric = make_metric("meteor[parity=meteor-1.5]")
    if metric._wordnet() is None:
        pytest.skip("no WordNet installed")
    rows = [
        row for row in table(golden / "perm_null_beer11.tsv") if len(inputs.get(row["id"], {"refs": ""})["refs"]) == 1
    ]
    assert len(rows) > 300
    dataset = dataset_of([(inputs[row["id"]]["refs"], [inputs[row["id"]]["hyp"]]) for row in rows])
    values, offsets = metric.orders(dataset, metric.tokenizer)
    for row, start, stop in zip(rows, offsets, offsets[1:], strict=False):
        assert values[start:stop].tolist() == list(map(int, row["ignore_and_normalize"].split())), row["id"]


def test_word_order_metrics_take_the_alignment():
    dataset = dataset_of([(["she was walking home slowly"], ["slowly she walked home", "home", "", "x"])])
    columns = make_metric("kendall[alignment=meteor,tokenizer=meteor,brevity=false]").transform(dataset)[:, 0]
    # slowly she walk home: three of the six pairs of words are out of order
    assert columns.tolist() == [0.5, 1.0, 0.0, 0.0]


def test_worked_example():
    metric = Meteor(modules="exact", function_words="none")
    # "the cat sat on the mat" has 5 of 6 words in the chunks "on the mat" and "the cat"
    rows = metric.statistics(dataset_of([(["the cat sat on the mat"], ["on the mat the cat"])]))
    assert rows[0].tolist() == [5, 6, 0, 0, 2, 5, 0, 5, 0, *[0] * 12, 1, *[0] * 5]
    mean = (5 / 5) * (5 / 6) / (0.85 * 5 / 5 + 0.15 * 5 / 6)
    assert metric.score(rows)[0] == pytest.approx(mean * (1 - 0.6 * (2 / 5) ** 0.2))


def test_content_and_function_words_weigh_delta_and_the_rest():
    for delta in (0.0, 0.25, 1.0):
        metric = Meteor(modules="exact", delta=delta, gamma=0.0, alpha=1.0)
        # of the reference "the" matches, a function word, and "dog" does not
        assert scores(metric, [(["the dog"], ["the cat"])])[0] == pytest.approx(1 - delta)


def test_modules_have_weights():
    items = [(["walks"], ["walking"])]
    assert scores(Meteor(modules="exact"), items) == [0.0]
    assert scores(Meteor(modules="exact+stem"), items) == pytest.approx([0.6])
    assert scores(Meteor(modules="exact+stem", stem_weight=0.3), items) == pytest.approx([0.3])


def test_synonyms_match_by_wordnet(small_wordnet):
    metric = Meteor(modules="exact+synonym", wordnet=str(small_wordnet), function_words="none")
    items = [(["a big automobile"], ["a big car", "a big cars", "a big went"])]
    assert scores(metric, items)[0] == scores(metric, items)[1]
    assert scores(metric, items) == pytest.approx([(2 + 0.8) / 3, (2 + 0.8) / 3, 2 / 3 * (1 - 0.6 * 0.5**0.2)])
    assert metric.evidence(dataset_of(items), 1) == {
        "reference 1": ["a = a", "big = big", "cars ~ automobile (synonym)"]
    }


def test_phrases_match_by_a_paraphrase_table(tmp_path):
    path = tmp_path / "table.txt"
    path.write_text("0.5\npassed away\ndied\n0.1\nin the end\nfinally\n")
    metric = Meteor(modules="exact", paraphrases=str(path), function_words="none")
    items = [(["he finally died"], ["he in the end passed away", "he finally died"])]
    rows = metric.statistics(dataset_of(items))
    # of six and three words one is the same, the rest are two paraphrases; one chunk holds all
    assert rows[0].tolist() == [6, 3, 0, 0, 0, 1, 0, 1, 0, *[0] * 8, 5, 0, 2, 0, 1, *[0] * 5]
    precision, recall = (1 + 5 * 0.6) / 6, (1 + 2 * 0.6) / 3
    assert metric.score(rows)[0] == pytest.approx(precision * recall / (0.85 * precision + 0.15 * recall))
    assert metric.score(rows)[1] == 1.0


def test_degenerate_sentences():
    items = [([""], ["", "a"]), (["a b"], ["", "c", "a b"]), (["."], ["."])]
    assert scores(Meteor(modules="exact+stem"), items) == [0.0, 0.0, 0.0, 0.0, 1.0, 1.0]


def test_the_best_reference_counts_and_of_equals_the_first():
    metric = Meteor(modules="exact")
    items = [(["x y", "the cat sat", "the cat sat down"], ["the cat sat", "cat"])]
    rows = metric.statistics(dataset_of(items))
    assert rows[0, :2].tolist() == [3, 3]
    single = [scores(metric, [([reference], ["cat"])])[0] for reference in items[0][0]]
    assert metric.score(rows[1]) == max(single)
    rows = metric.statistics(dataset_of([(["b a", "a b"], ["a c"])]))
    first = metric.statistics(dataset_of([(["b a"], ["a c"])]))
    assert rows.tolist() == first.tolist()


words = st.lists(st.sampled_from(["the", "cat", "cats", "sat", "on", "a", ","]), max_size=9).map(" ".join)


@settings(max_examples=examples(10))
@given(
    st.lists(st.tuples(st.lists(words, min_size=1, max_size=3), st.lists(words, min_size=1, max_size=3)), max_size=4)
)
def test_scores_are_fractions_and_do_not_depend_on_the_batch(items):
    for metric in (Meteor(modules="exact+stem"), Meteor(modules="exact+stem", parity="meteor-1.5")):
        together = scores(metric, items) if items else []
        alone = [score for item in items for score in scores(metric, [item])]
        assert together == alone
        assert all(0 <= score <= 1 for score in together)
        if items:
            rows = metric.statistics(dataset_of(items))
            twice = metric.statistics(dataset_of(items + items))
            assert metric.score(twice.sum(axis=0)) == pytest.approx(float(metric.score(rows.sum(axis=0))))


def test_the_signature_names_contents_not_files(tmp_path, small_wordnet):
    first, second = tmp_path / "one", tmp_path / "two"
    for path in (first, second):
        path.write_text("the\nof\n")
    items = [Meteor(function_words=str(path), wordnet=str(small_wordnet), language="en") for path in (first, second)]
    signatures = {metric.signature() for metric in items}
    (signature,) = signatures
    assert "alpha=0.85" in signature
    assert "modules=exact+stem+synonym" in signature
    assert "synonym_weight=0.8" in signature
    assert "paraphrase_weight" not in signature
    plain = Meteor(modules="exact", wordnet="elsewhere", language="en")
    assert Meteor(alpha=0.85, modules="exact", language="en").signature() == plain.signature()
    assert str(tmp_path) not in signature
    second.write_text("the of to")
    assert Meteor(function_words=f"{tmp_path}/./two", language="en").signature() not in signatures
    assert str(Meteor(parameters="METR:0.5", parity="meteor-1.5")) == "meteor[parameters=METR:0.5,parity=meteor-1.5]"


def test_word_lists_and_stemmers_that_are_none_are_refused(tmp_path):
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(DataError, match="contains no function word"):
        scores(Meteor(function_words=str(tmp_path / "empty")), [(["a"], ["a"])])
    with pytest.raises(OptionError, match=r"unknown stemmer .did you mean 'english'..; available: arabic"):
        scores(Meteor(stemmer="englsh"), [(["a"], ["a"])])


def test_parity_works_alone_and_names_what_is_missing_for_the_scores_of_the_program(small_wordnet, tmp_path):
    dataset = dataset_of([(["a cat"], ["a dog"])])
    assert Meteor(wordnet=str(small_wordnet)).note(dataset) is None
    metric = Meteor(parity="meteor-1.5", wordnet=str(small_wordnet))
    assert 0 < metric.transform(dataset)[0, 0] < 1
    note = metric.note(dataset)
    for part in ("differ slightly from those of Meteor 1.5", "function_words=FILE", "paraphrases=FILE"):
        assert part in note
    assert "WordNet" not in note
    (tmp_path / "words").write_text("a\n")
    exact = Meteor(parity="meteor-1.5", modules="exact+stem", function_words=str(tmp_path / "words"))
    assert exact.note(dataset) is None
    assert "function_words" not in Meteor(parity="meteor-1.5", parameters="METR").note(dataset)
