from __future__ import annotations

import json

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.errors import OptionError
from ranker.extractors.registry import make
from tests import golden_values
from tests.datasets import dataset_of
from tests.effort import examples
from tests.golden_values import SHARED_ONLY

COLUMNS = {
    "chrF2": "chrf",
    "chrF2++": "chrf[word_order=2]",
    "chrF1": "chrf[beta=1]",
    "chrF3": "chrf[beta=3]",
    "chrF2_w1": "chrf[word_order=1]",
    "chrF2_lc": "chrf[lowercase=true]",
    "chrF2_ws": "chrf[whitespace=true]",
    "chrF2_eps": "chrf[epsilon=true]",
    "chrF2_c4": "chrf[order=4]",
}


@pytest.fixture(scope="module")
def inputs(golden) -> list[dict]:
    return golden_values.inputs(golden)


@pytest.mark.parametrize("column", COLUMNS)
def test_sentence_scores_equal_sacrebleu(golden, inputs, column):
    rows = golden_values.rows_of(golden, "chrf_sacrebleu.tsv")
    scores = make(COLUMNS[column]).transform(dataset_of([(item["refs"], [item["hyp"]]) for item in inputs]))[:, 0]
    wanted = [float(rows[item["id"]][column]) / 100 for item in inputs]
    np.testing.assert_allclose(scores, wanted, atol=1e-9, rtol=0)


@SHARED_ONLY
@pytest.mark.parametrize("column", COLUMNS)
def test_corpus_scores_equal_sacrebleu(golden, inputs, column):
    corpora = json.loads((golden / "chrf_sacrebleu.corpus.json").read_text())
    compared = 0
    for group, wanted in corpora.items():
        if group.startswith("_") or column not in wanted:
            continue
        chosen = [item for item in inputs if group.startswith("all") or item["group"] == group]
        items = [(item["refs"][:1] if group.endswith("ref0") else item["refs"], [item["hyp"]]) for item in chosen]
        metric = make(COLUMNS[column])
        total = metric.statistics(dataset_of(items)).sum(axis=0)
        assert metric.score(total) == pytest.approx(wanted[column] / 100, abs=1e-9), group
        compared += 1
    assert compared >= 5


sentences = st.text(alphabet="ab c.,'é\u3000", max_size=12)


@settings(deadline=None, max_examples=examples(60))
@given(
    st.lists(
        st.tuples(st.lists(sentences, min_size=1, max_size=3), st.lists(sentences, min_size=1, max_size=3)),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from([0, 2]),
)
def test_any_sentences_equal_sacrebleu(items, word_order):
    expected = sacrebleu.metrics.CHRF(word_order=word_order)
    actual = make(f"chrf[word_order={word_order}]").transform(dataset_of(items))[:, 0]
    wanted = [expected.sentence_score(text, references).score / 100 for references, texts in items for text in texts]
    np.testing.assert_allclose(actual, wanted, atol=1e-12)


@pytest.mark.parametrize("text", ["chrf[order=0]", "chrf[word_order=10]", "chrf[beta=0]", "chrf[beta=inf]"])
def test_options_out_of_range(text):
    with pytest.raises(OptionError, match="expected"):
        make(text)
