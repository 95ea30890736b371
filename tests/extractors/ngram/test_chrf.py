from __future__ import annotations

import numpy as np
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.extractors.registry import make
from tests.datasets import dataset_of
from tests.effort import examples

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
