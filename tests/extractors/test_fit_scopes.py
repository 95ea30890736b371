"""What extractors declare to learn from is what they learn from."""

from __future__ import annotations

import numpy as np
import pytest

from ranker.corpora.joining import concatenate_datasets
from ranker.corpora.records import Candidate, Record, assemble
from ranker.errors import DataError, ModelError, OptionError
from ranker.extractors.registry import BUILT_IN, make, make_metric
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.ranker import Ranker
from ranker.ranking.reference_candidates import leave_one_out
from ranker.ranking.weight_sets import WeightSets

VARIANTS = (
    *("ngrams[words=content]", "ngrams[words=function]", "ngrams[match=stem]", "ngrams[unit=tag]", "ds[f1=true]"),
    *("meteor[parameters=METR]", "lrscore[lexical=ter]", "lrscore[alignment=meteor]", "kendall[alignment=bilingual]"),
    *("combine[bleu - 2*ter]", "rouge_s[distance=4]", "pef[alignment=meteor,tokenizer=meteor]"),
)
RANKED = (
    "nist",
    "perp",
    "perp[leave_out=true]",
    "lrscore[theta=0.3]",
    "lrscore[lexical=nist]",
    "combine[bleu + 0.1*nist]",
)
SENTENCES = [
    "the cat sat on the mat near the open door .",
    "she was walking home slowly in the rain .",
    "a man saw three small houses on the hill .",
    "nobody knows what the president said yesterday .",
]
OTHERS = [["a cat was sitting on the mat", "door open mat the cat"], ["slowly she walked home", "rain"]]


def dataset(chosen: range, lp: str = "de-en"):
    """Return sources with two references each and word alignments, of all or some of the sentences."""
    records = []
    for i in chosen:
        text, right = SENTENCES[i], SENTENCES[i].replace("the", "a")
        candidates = [*OTHERS[i % 2], text, f"{text} {SENTENCES[(i + 1) % 4]}", ""]
        words = [f"w{n}" for n in range(4)]
        # the order of the source is kept more or less, source by source
        links = [" ".join(f"{n}-{(n * (i + 1)) % 5}" for n in range(4)), "0-1 1-0 2-3 3-2"]
        sides = [
            Candidate(f"s{n}", candidate, alignment="0-0" if candidate else "")
            for n, candidate in enumerate(candidates)
        ]
        records.append(Record(" ".join(words), [text, right], sides, lp=lp, reference_alignments=links))
    return assemble(records, "test")


def depends_on_other_sources(text: str) -> bool:
    """Tell whether the columns of any source change when half of the sources are taken away."""
    together, *halves = (
        make(text).fit(item).transform(item) for item in (dataset(range(4)), dataset(range(2)), dataset(range(2, 4)))
    )
    return not np.array_equal(together, np.concatenate(halves))


@pytest.mark.parametrize("text", [*sorted({*BUILT_IN} - {"given"}), *VARIANTS, *RANKED])
def test_scores_depend_on_other_sources_only_where_that_is_declared(text):
    if make(text).fit_scope == "train":
        pytest.skip("learns in training")
    assert depends_on_other_sources(text) == (make(text).fit_scope == "ranked")


@pytest.mark.parametrize(
    "text", [*sorted({*BUILT_IN} - {"given"}), *VARIANTS, *RANKED, "consensus[metric=nist]", "perp[unit=tags]"]
)
def test_scores_of_a_language_pair_do_not_depend_on_the_other_pairs(text):
    if make(text).fit_scope == "train":
        pytest.skip("learns in training")
    # perp learns from all references in a language
    alone = [dataset(range(2), "de-en"), dataset(range(2, 4), "en-fr" if "perp" in text else "fr-en")]
    joint = concatenate_datasets(alone)
    columns = [make(text).fit(item).transform(item) for item in alone]
    np.testing.assert_array_equal(make(text).fit(joint).transform(joint), np.concatenate(columns))
    if make(text).needs.other_candidates:
        return
    columns = [make(text).fit(item).transform_references(item, leave_one_out(item)) for item in alone]
    references = make(text).fit(joint).transform_references(joint, leave_one_out(joint))
    np.testing.assert_array_equal(references, np.concatenate(columns))


def test_a_value_learnt_from_several_language_pairs_serves_none_but_these():
    joint = concatenate_datasets([dataset(range(2), "de-en"), dataset(range(2, 4), "fr-en")])
    other = dataset(range(2), "es-en")
    with pytest.raises(DataError) as caught:
        make("nist").fit(joint).transform(other)
    assert str(caught.value) == (
        "test: language pair es-en is not among those that the metric was fitted on, de-en, fr-en: "
        "fit it on data of this language pair"
    )
    np.testing.assert_array_equal(
        make("nist").fit(dataset(range(2), "de-en")).transform(other), make("nist").fit(other).transform(other)
    )


def test_references_are_counted_for_each_target_language(monkeypatch):
    monkeypatch.setattr("ranker.extractors.fluency.features.ENOUGH_REFERENCES", 5)
    large, small = dataset(range(4), "de-en"), dataset(range(2), "en-fr")
    joint = concatenate_datasets([large, small])
    features = FeatureSet.parse("perp")
    columns = features.transform(joint)
    np.testing.assert_array_equal(columns[: len(large)], features.transform(large))
    assert not columns[len(large) :].any()
    for exclude in (False, True):
        references = features.transform_references(joint, exclude_self=exclude)
        np.testing.assert_array_equal(references[:8], features.transform_references(large, exclude_self=exclude))
        assert not references[8:].any()
    few = "4 reference sentences in French are too few for a language model, which needs 5 per target language"
    assert features.missing_requirement(joint) is None
    weights = WeightSets.of(FeatureSet.parse("bleu,perp"), by_language=False)
    assert weights.note(joint) == f"{few}; ranked without perp"
    with pytest.raises(DataError) as caught:
        make_metric("perp").fit(joint)
    assert str(caught.value) == f"{joint.name}: {few}: use a metric other than perp"


MESSAGE = (
    "{text} is not fitted, and would learn from the data that it scores: train a ranker with it "
    "(ranker train --features {text}), or call fit on other data first"
)


def test_nothing_is_learnt_from_the_data_that_are_scored():
    data = dataset(range(4))
    for text in ("paraphrase", "paraphrase[stemmer=none]"):
        calls = [make(text).transform, lambda data, text=text: make(text).evidence(data, 0)]
        for call in calls:
            with pytest.raises(ModelError) as caught:
                call(data)
            assert str(caught.value) == MESSAGE.format(text=text)
    with pytest.raises(ModelError, match="paraphrase is not fitted"):
        FeatureSet.parse("bleu,paraphrase").transform(data)
    fitted = make("paraphrase").fit(data)
    assert fitted.transform(data).shape == (len(data), 10)
    assert Ranker("bleu,paraphrase").feature_set.columns[0] == "bleu"


@pytest.mark.parametrize("text", ["paraphrase"])
@pytest.mark.parametrize("column", ["", ".f"])
@pytest.mark.parametrize(
    "words",
    [
        ("score", "sample", "--metric"),
        ("rank", "sample", "--metric"),
        ("evaluate", "--data", "sample", "--metric"),
        ("rerank", "x.nbest", "--mbr"),
        ("tune", "--nbest", "x.nbest", "--references", "x.ref", "--metric"),
    ],
)
def test_no_command_scores_by_what_must_learn_first(tmp_path, monkeypatch, command, text, column, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.nbest").write_text("0 ||| a b ||| f= 1 ||| 1\n")
    (tmp_path / "x.ref").write_text("a b\n")
    fitted = f"{text} is not fitted, and would learn from the data that it scores"
    assert (fitted if column else "choose one of them as the metric") in command(*words, text + column, code=2).err
    with pytest.raises(OptionError):
        make(f"combine[{text} - ter]")
