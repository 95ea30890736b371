"""The defaults of bleu, ter and chrf, and signatures, against the installed sacreBLEU."""

from __future__ import annotations

import dataclasses

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.evaluation.systems.levels import Units
from ranker.extractors.registry import make_metric
from ranker.extractors.sacrebleu_signature import TESTED_VERSION
from ranker.ranking.scorers import make_scorer, sacrebleu_part
from tests.datasets import Item, dataset_of
from tests.effort import examples

SEGMENTS = {
    "bleu": lambda: sacrebleu.metrics.BLEU(effective_order=True),
    "ter": sacrebleu.metrics.TER,
    "chrf": sacrebleu.metrics.CHRF,
    "chrf[word_order=2]": lambda: sacrebleu.metrics.CHRF(word_order=2),
}
CORPORA = {**SEGMENTS, "bleu": sacrebleu.metrics.BLEU}
words = st.sampled_from(
    ["a", "b", "The", "the", "cat.", ".", "12,5", "x-y", "it's", "\u00a0", "(no)", "你好", "é", "b,'c"]
)
sentences = st.lists(words, max_size=9).map(" ".join)


def check(name: str, items: list[Item]) -> None:
    """Compare every segment, and the corpus if all have as many references."""
    metric = make_metric(name)
    rows = metric.statistics(dataset_of(items))
    expected = [SEGMENTS[name]().sentence_score(text, references).score / 100 for references, text in items]
    assert metric.score(rows).tolist() == pytest.approx(expected, abs=1e-12)
    if len(items) > 1 and len({len(references) for references, _ in items}) == 1:
        references = [list(item) for item in zip(*(references for references, _ in items), strict=True)]
        whole = CORPORA[name]().corpus_score([text for _, text in items], references).score / 100
        assert float(metric.score(rows.sum(axis=0))) == pytest.approx(whole, abs=1e-12)


@pytest.mark.parametrize("name", SEGMENTS)
@settings(deadline=None, max_examples=examples(60))
@given(data=st.data(), references=st.integers(1, 3))
def test_segments_and_corpora_equal_sacrebleu_by_default(name, data, references):
    items = st.tuples(st.lists(sentences, min_size=references, max_size=references), sentences)
    check(name, data.draw(st.lists(items, min_size=1, max_size=5)))


def test_a_corpus_without_any_4_gram_scores_0_and_its_segments_do_not():
    items = [(["a b c"], "a b c"), (["d e"], "d e")]
    check("bleu", items)
    metric = make_metric("bleu")
    rows = metric.statistics(dataset_of(items))
    assert metric.score(rows).tolist() == pytest.approx([1, 1])
    assert metric.score(rows.sum(axis=0)) == 0
    effective = make_metric("bleu[effective_order=true]")
    assert effective.score(rows.sum(axis=0)) == pytest.approx(1)


SIGNED = {
    "bleu": ("BLEU", sacrebleu.metrics.BLEU()),
    "bleu[lowercase=true,tokenizer=zh]": ("BLEU", sacrebleu.metrics.BLEU(lowercase=True, tokenize="zh")),
    "bleu[tokenizer=intl,effective_order=true]": (
        "BLEU",
        sacrebleu.metrics.BLEU(tokenize="intl", effective_order=True),
    ),
    "bleu[smoothing=floor,tokenizer=char]": ("BLEU", sacrebleu.metrics.BLEU(smooth_method="floor", tokenize="char")),
    "bleu[smoothing=add-one,value=0.5]": ("BLEU", sacrebleu.metrics.BLEU(smooth_method="add-k", smooth_value=0.5)),
    "bleu[smoothing=none,tokenizer=none]": ("BLEU", sacrebleu.metrics.BLEU(smooth_method="none", tokenize="none")),
    "chrf": ("chrF2", sacrebleu.metrics.CHRF()),
    "chrf[word_order=2,lowercase=true]": ("chrF2++", sacrebleu.metrics.CHRF(word_order=2, lowercase=True)),
    "chrf[beta=3,order=4,whitespace=true,epsilon=true]": (
        "chrF3",
        sacrebleu.metrics.CHRF(beta=3, char_order=4, whitespace=True, eps_smoothing=True),
    ),
    "ter": ("TER", sacrebleu.metrics.TER()),
    "ter[lowercase=false,no_punct=true]": ("TER", sacrebleu.metrics.TER(case_sensitive=True, no_punct=True)),
}


@pytest.mark.skipif(sacrebleu.__version__ != TESTED_VERSION, reason="another version names itself")
@pytest.mark.parametrize("references", [[1, 1], [2, 2], [1, 2]], ids=str)
@pytest.mark.parametrize("name", SIGNED)
def test_the_signature_is_that_of_sacrebleu_with_the_same_scores(name, references):
    title, expected = SIGNED[name]
    items = [(["the Cat sat on a mat (1)", "a cat"][:number], "The cat, on a mat .") for number in references]
    columns = [list(item) for item in zip(*((*item, None)[:2] for item, _ in items), strict=True)]
    result = expected.corpus_score([text for _, text in items], columns[: max(references)])
    dataset, metric = dataset_of(items), make_metric(name)
    assert result.name == title
    assert metric.sacrebleu(dataset, segments=False) == f"{title}|{expected.get_signature().format()}"
    assert metric.score(metric.statistics(dataset).sum(axis=0)) == pytest.approx(result.score / 100)


def test_segments_are_signed_with_effective_order():
    dataset = dataset_of([(["a"], "a")])
    assert "|eff:yes|" in make_metric("bleu").sacrebleu(dataset, segments=True)
    assert "|eff:no|" in make_metric("bleu[effective_order=false]").sacrebleu(dataset, segments=True)


@pytest.mark.skipif(sacrebleu.__version__ != TESTED_VERSION, reason="another version names itself")
@pytest.mark.parametrize("references", [1, 2])
@pytest.mark.parametrize("texts", [["a cat"], ["a cat", "The cat, on a mat"]], ids=len)
def test_a_corpus_of_one_segment_is_scored_and_signed_as_the_segment(texts, references):
    """sacreBLEU's command and its corpus_score give 0 for one segment below four words, its sentence_score does not."""
    items = [(["the cat sat on a mat", "a cat sat"][:references], text) for text in texts]
    scorer, dataset = make_scorer("bleu", None), dataset_of(items)
    program = sacrebleu.metrics.BLEU(effective_order=len(texts) == 1)
    columns = [list(column) for column in zip(*(item for item, _ in items), strict=True)]
    expected = program.corpus_score(texts, columns)
    assert scorer.score(scorer.statistics(dataset).sum(axis=0)) == pytest.approx(expected.score / 100, abs=1e-12)
    assert sacrebleu_part(scorer, dataset, ["system"]) == f"|sacrebleu:BLEU|{program.get_signature().format()}"
    assert ("|eff:yes|" in sacrebleu_part(scorer, dataset, ["system"])) == (len(texts) == 1)


def test_documents_of_one_segment_beside_longer_ones_have_both_signatures():
    dataset = dataset_of([(["the cat sat"], "the cat")] * 3)
    dataset = dataclasses.replace(dataset, sources=dataset.sources.assign(doc=["x", "x", "y"]))
    scorer = make_scorer("bleu", None)
    units = Units.of(dataset, "document")
    scores = dict(zip(units.keys["doc"], units.score(scorer, scorer.statistics(dataset)), strict=True))
    assert scores["x"] == 0.0
    assert scores["y"] == pytest.approx(sacrebleu.sentence_bleu("the cat", ["the cat sat"]).score / 100)
    signed = sacrebleu_part(scorer, dataset, ["document"])
    several, single = signed.removeprefix("|sacrebleu[document]:").split("|sacrebleu[document of one segment]:")
    assert ("|eff:no|" in several, "|eff:yes|" in single) == (True, True)
    alike = dataclasses.replace(dataset, sources=dataset.sources.assign(doc=["x", "y", "z"]))
    assert sacrebleu_part(scorer, alike, ["document", "segment"]).startswith(
        "|sacrebleu:BLEU|nrefs:1|case:mixed|eff:yes|"
    )
    assert "of one" not in sacrebleu_part(make_scorer("chrf", None), dataset, ["document"])


@pytest.mark.parametrize(
    "name",
    [
        *("bleu[smoothing=epsilon]", "bleu[order=2]", "bleu[tokenizer=meteor]", "ter[search=tercom]", "ter[beam=20]"),
        *("ter[tokenizer=13a]", "ter[max_size=5]", "wer"),
    ],
)
def test_what_sacrebleu_does_not_compute_has_none_of_its_signatures(name):
    assert make_metric(name).sacrebleu(dataset_of([(["a"], "a")]), segments=True) is None
