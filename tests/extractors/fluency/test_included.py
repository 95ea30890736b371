"""``perp[model=shipped]``: the perplexity under the included language models."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from ranker import share
from ranker.errors import DataError, MissingError
from ranker.evaluation.explanations.evidence import evidence_of
from ranker.extractors import registry
from ranker.extractors.fluency import included
from ranker.extractors.fluency.features import Perplexity
from ranker.ranking.feature_set import FeatureSet
from tests.datasets import dataset_of

BOTH = "perp[oov=true,match=true,model=shipped],perp[match=true,unit=tags,model=shipped]"
GOOD, BAD, ALIEN = "I think that it was a good idea .", "Think that I a good was idea it .", "Ich halte das für gut ."


def test_usual_english_is_told_from_other_text_without_references_or_kenlm(monkeypatch):
    monkeypatch.setitem(sys.modules, "kenlm", None)
    features = FeatureSet.parse(BOTH)
    data = dataset_of([([], [GOOD, BAD, ALIEN])])
    words, oov, match, tags, tag_match = features.transform(data).T
    assert words[0] < words[1] < words[2]
    assert tags[0] < tags[1]
    assert oov[0] == 0 < oov[2]
    assert match[0] > match[1] > match[2]
    assert tag_match[0] > tag_match[1]
    assert features.note(data) is None
    assert {extractor.fit_scope for extractor in features.extractors} == {"none"}
    assert not any(extractor.needs.references for extractor in features.extractors)


def test_a_score_depends_on_nothing_but_the_candidate():
    features = FeatureSet.parse(BOTH)
    together = features.transform(dataset_of([([GOOD], [GOOD, BAD]), ([ALIEN], [ALIEN])]))
    apart = [features.transform(item) for item in (dataset_of([([BAD], [GOOD, BAD])]), dataset_of([([GOOD], [ALIEN])]))]
    np.testing.assert_array_equal(together, np.concatenate(apart))


def test_its_content_is_in_the_signature():
    words, tags = (extractor.signature() for extractor in FeatureSet.parse(BOTH).extractors)
    assert f"model={included.included_digest('words')[:12]}" in words
    assert f"model={included.included_digest('tags')[:12]}" in tags
    assert "order" not in words


def test_options_that_do_not_suit_it():
    with pytest.raises(DataError, match=r"shipped: is a model of order 3, but perp\[order=4\] requests another"):
        Perplexity(model="shipped", order=4).transform(dataset_of([([], [GOOD])]))
    assert registry.make("perp[model=shipped,unit=tags]").needs.english_options == ("model", "parser")


def test_other_languages_are_noted_and_a_lack_of_it_is_said(monkeypatch, tmp_path):
    russian = dataset_of([([], ["кошка сидит", "собака"])])
    expected = "shipped: all of the candidates' words are out of vocabulary for this language model"
    assert Perplexity(model="shipped").note(russian).startswith(expected)
    included.included_model.cache_clear()
    monkeypatch.setattr(share, "directory", lambda room: tmp_path)
    with pytest.raises(MissingError, match="the included English language model is not in this installation"):
        Perplexity(model="shipped").transform(russian)
    included.included_model.cache_clear()


def test_no_references_are_named_as_the_reason_where_the_model_learnt_from_none():
    data = dataset_of([([GOOD], [GOOD, BAD]), ([ALIEN], [ALIEN])])
    learning, frozen = FeatureSet.parse("perp").extractors, FeatureSet.parse(BOTH).extractors
    assert "in no other reference" in evidence_of(learning, data, (0, 1), ("A", "B")).text
    assert evidence_of(frozen, data, (0, 1), ("A", "B")).text == ""
