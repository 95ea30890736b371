from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker import notation
from ranker.errors import DataError, OptionError
from ranker.extractors import registry
from ranker.extractors.base import FitScope, Metric
from ranker.extractors.registry import make, make_metric
from ranker.extractors.text.tokens import Tokenizer, token_batch
from ranker.ranking import Ranker
from tests.datasets import dataset_of, with_alignments
from tests.effort import examples

WEIGHTED = [
    (1, "bleu[order=2]"),
    (-2, "ter"),
    (0.5, "meteor[parameters=METR,modules=exact+stem]"),
    (1, "chrf[lowercase=true]"),
    (-1, "wer"),
    (0.25, "ribes"),
    (1, "rouge_l"),
    (0.1, "nist[order=2]"),
    (3, "f1[alignment=isozaki]"),
    (-1, "combine[per - 2*bp]"),
]
SENTENCES = ["the cat sat on the mat", "The Cat", "a mat , a cat", "", "on the mat sat the cat", "cats sat"]


@pytest.fixture(scope="module")
def dataset():
    return dataset_of([(SENTENCES[:1], SENTENCES), (SENTENCES[:1] + SENTENCES[4:], SENTENCES[1:])])


def sum_of(terms) -> str:
    return notation.write_sum([notation.Term(weight, text) for weight, text in terms])


terms = st.lists(
    st.tuples(st.sampled_from([1, -1, 2.0, -0.5, 1e-3]), st.sampled_from(WEIGHTED)), min_size=1, max_size=4
)


@settings(deadline=None, max_examples=examples(12))
@given(terms)
def test_the_score_is_the_weighted_sum_of_segments_and_of_corpora(dataset, chosen):
    chosen = [(weight, text) for weight, (_, text) in chosen]
    metric = make_metric(f"combine[{sum_of(chosen)}]").fit(dataset)
    rows = metric.statistics(dataset)
    alone = [(weight, make_metric(text).fit(dataset)) for weight, text in chosen]
    segments = sum(weight * item.transform(dataset)[:, 0] for weight, item in alone)
    np.testing.assert_allclose(metric.score(rows), segments, atol=1e-12)
    totals = [(weight, item, item.statistics(dataset).sum(axis=0)) for weight, item in alone]
    corpus = sum(weight * item.score(total) for weight, item, total in totals)
    assert metric.score(rows.sum(axis=0)) == pytest.approx(corpus, abs=1e-12)
    stacked = metric.score(np.stack([rows, 2 * rows]))
    assert stacked.shape == (2, len(rows))


@settings(deadline=None, max_examples=examples(20))
@given(terms)
def test_the_notation_comes_back_as_one_metric(chosen):
    text = f"combine[{sum_of([(weight, text) for weight, (_, text) in chosen])}]"
    metric = make(text)
    assert make(str(metric)) == metric
    assert str(make(str(metric))) == str(metric)
    assert hash(make(str(metric))) == hash(metric)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("combine[bleu-2.0*ter]", "combine[bleu - 2*ter]"),
        ("combine[ + bleu[ order = 4 ,order=4]]", None),
        ("combine[1*bleu[order=4,lowercase=true] +.50*ter]", "combine[bleu[lowercase=true] + 0.5*ter]"),
        ("combine[-1*ter]", "combine[-ter]"),
        ("combine[ bleu - ter ]", "combine"),
        ("combine[]", "combine"),
        ("combine[combine[bleu-ter]+combine[wer]]", "combine[combine + combine[wer]]"),
        ("combine[lrscore[lexical=combine[bleu-wer],alignment=isozaki]]", None),
    ],
)
def test_one_way_of_writing(text, written):
    if text.count("order") == 2:
        with pytest.raises(OptionError, match=r"character 4: .*option 'order' is given twice"):
            make(text)
        return
    assert str(make(text)) == (written or text)


PUBLISHED = {
    "combine[bleu - ter]": lambda bleu, ter, meteor: bleu - ter,
    "combine[bleu - 2*ter]": lambda bleu, ter, meteor: bleu - 2 * ter,
    "combine[bleu + 2*meteor[parameters=METR,modules=exact]]": lambda bleu, ter, meteor: bleu + 2 * meteor,
}


@pytest.mark.parametrize("text", PUBLISHED)
def test_combinations_of_the_paper(dataset, text):
    parts = [make(item).transform(dataset)[:, 0] for item in ("bleu", "ter", "meteor[parameters=METR,modules=exact]")]
    np.testing.assert_allclose(make(text).transform(dataset)[:, 0], PUBLISHED[text](*parts), atol=1e-12)


def test_a_combination_is_better_the_higher_whatever_it_is_made_of(dataset):
    assert make_metric("combine[ter]").higher_is_better
    assert not make_metric("ter").higher_is_better


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("combine[bleu - 2ter]", "'bleu - 2ter': expected * after a number at character 9, found 't'"),
        ("combine[bleu - tre]", "'bleu - tre', character 8: unknown metric or feature 'tre' (did you mean 'ter'?)"),
        ("combine[bleu[ordr=4]]", "character 1: bleu has no option 'ordr' (did you mean 'order'?)"),
        ("combine[bleu - ds]", "'bleu - ds', character 8: 'ds' has 15 columns; choose one of them as the metric"),
        ("combine[bleu, ter]", "expected +, - or the end at character 5, found ','"),
        ("combine[bleu - combine[wer per]]", "character 8: 'wer per': expected +, - or the end at character 5"),
        ("combine[bleu", "does not have the form name["),
    ],
)
def test_wrong_sums_are_refused_at_their_character(text, message):
    with pytest.raises(OptionError) as caught:
        make(text)
    assert message in str(caught.value)


def test_bilingual_metrics_read_their_alignments():
    bare = dataset_of([(["a b"], ["a b", "b a"])])
    dataset = with_alignments(bare, [["0-0"]], {"s0": ["0-0"], "s1": ["0-0"]})
    text = "combine[2*lrscore[distance=hamming] + pef[alignment=bilingual] - chrf]"
    wanted = sum(
        weight * make(item).transform(dataset)[:, 0]
        for weight, item in ((2, "lrscore[distance=hamming]"), (1, "pef[alignment=bilingual]"), (-1, "chrf"))
    )
    np.testing.assert_allclose(make(text).transform(dataset)[:, 0], wanted, atol=1e-12)
    with pytest.raises(DataError, match="no word alignment"):
        make(text).transform(bare)


@dataclass(frozen=True)
class Learnt(Metric):
    """Scores with a number that `fit` learns."""

    name: ClassVar[str] = "learnt"
    fit_scope: ClassVar[FitScope] = "train"
    width: ClassVar[int] = 2
    tokenizer: Tokenizer = "13a"
    lowercase: bool = False

    def fit(self, dataset):
        return self.with_state({"number": np.array([float(len(dataset))])})

    def state(self):
        return {"number": self.__dict__["number"]}

    def with_state(self, arrays):
        example = Learnt(self.tokenizer, self.lowercase)
        example.__dict__["number"] = arrays["number"]
        return example

    def statistics(self, dataset):
        batch = token_batch(dataset)
        return np.stack([batch.candidate_lengths, np.ones(len(batch.candidate))], axis=1).astype(np.float64)

    def score(self, statistics):
        rows = np.asarray(statistics)
        return rows[..., 0] / rows[..., 1] * self.__dict__["number"][0]


@dataclass(frozen=True)
class Refitted(Learnt):
    name: ClassVar[str] = "refitted"
    fit_scope: ClassVar[FitScope] = "ranked"


@pytest.fixture
def learning(monkeypatch):
    for name in ("Learnt", "Refitted"):
        monkeypatch.setitem(registry.BUILT_IN, name.lower(), f"{__name__}:{name}")


def test_metrics_that_learn_keep_what_they_learnt_in_the_model(learning, tmp_path):
    items = [(["a b c d"], ["a b c d", "a b c", "a b"]), (["x y z"], ["x y z", "x"])]
    training = dataset_of(items, kind="fluency")
    ranker = Ranker("combine[bleu + 0.5*learnt[lowercase=true]],combine").fit(training)
    assert ranker.feature_set.extractors[0].fit_scope == "train"
    lengths = np.array([4, 3, 2, 3, 1])
    wanted = make("bleu").transform(training)[:, 0] + 0.5 * 5 * lengths
    np.testing.assert_allclose(ranker.feature_set.transform(training)[:, 0], wanted, atol=1e-12)
    ranker.save(tmp_path / "x.model")
    loaded = Ranker.load(tmp_path / "x.model")
    assert loaded.signature() == ranker.signature()
    np.testing.assert_array_equal(loaded.candidate_scores(training), ranker.candidate_scores(training))
    assert loaded.feature_set.columns == ("combine[bleu + 0.5*learnt[lowercase=true]]", "combine")


def test_scopes_do_not_mix(learning):
    assert make("combine[bleu - refitted]").fit_scope == "ranked"
    with pytest.raises(OptionError, match="some metrics learn from training data, others from the data being ranked"):
        make("combine[learnt + refitted]")


@pytest.fixture
def printed(command):
    """Run one command; return the JSON that it prints."""

    def call(*arguments):
        return json.loads(command(*arguments, "-f", "json").out)

    return call


def test_on_the_command_line(printed):
    text = "combine[bleu[order=2] - 2*ter]"
    metrics = [argument for name in (text, "ter", "bleu[order=2]") for argument in ("-m", name)]
    result = printed("score", "sample", *metrics, "--level", "system")
    assert "metric:combine[bleu[order=2,smoothing=exp" in str(result["signature"])
    for row in result["rows"]:
        assert row[text] == pytest.approx(row["bleu[order=2]"] - 2 * row["ter"], abs=1e-12)
    result = printed("evaluate", "--data", "sample", "--metric", text, "--resamples", "0")
    assert "combine[bleu[order=2" in str(result["signature"])
