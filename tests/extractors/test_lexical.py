from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import snowballstemmer
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.errors import MissingError
from ranker.extractors.dependency.parsed import tag_batch
from ranker.extractors.meteor import features as meteor_parts
from ranker.extractors.registry import make, make_metric
from ranker.ranking.feature_set import FeatureSet, feature_set_files
from ranker.ranking.reference_candidates import leave_one_out
from ranker.text.function_words import ENGLISH
from ranker.text.lexical.word_classes import in_class
from tests.datasets import dataset_of
from tests.effort import examples
from tests.golden_values import items_of

VOCABULARY = ["The", "of", "cat", "cats", "sat", "sitting", "3", "4.5", ",", "-", "U2", "Mat"]
STEM = snowballstemmer.stemmer("english").stemWord
CLASSES = {
    "all": lambda word: True,
    "content": lambda word: word.lower() not in ENGLISH,
    "function": lambda word: word.lower() in ENGLISH,
    "numbers": lambda word: any(character.isdigit() for character in word),
    "punctuation": lambda word: not any(character.isalnum() for character in word),
}


def group_of(references: list[list[str]], candidates: list[list[str]]):
    """Make a data set of one source."""
    return dataset_of([(list(map(" ".join, references)), list(map(" ".join, candidates)))])


def measures(candidate, reference, n) -> tuple[float, float, float]:
    """Precision, recall and F of the n-grams of two sequences, counted by hand."""
    left, right = (Counter(zip(*(side[i:] for i in range(n)), strict=False)) for side in (candidate, reference))
    if not left and not right:
        return 1.0, 1.0, 1.0
    matched = (left & right).total()
    precision, recall = (matched / side.total() if side else 0.0 for side in (left, right))
    return precision, recall, 2 * precision * recall / (precision + recall) if matched else 0.0


def best_measures(candidate, references, order) -> list[float]:
    result = []
    for n in range(1, order + 1):
        rows = [measures(candidate, reference, n) for reference in references]
        result.extend(map(max, zip(*rows, strict=True)))
    return result


sentences = st.lists(st.sampled_from(VOCABULARY), max_size=8)


@settings(deadline=None, max_examples=examples(40))
@given(
    st.lists(sentences, min_size=1, max_size=3),
    st.lists(sentences, min_size=1, max_size=3),
    st.sampled_from(list(CLASSES)),
    st.sampled_from(["form", "stem"]),
    st.integers(1, 4),
    st.booleans(),
)
def test_word_ngrams_equal_counting_by_hand(references, candidates, words, match, order, lowercase):
    def seen(sentence):
        selected = [word.lower() if lowercase else word for word in sentence if CLASSES[words](word)]
        return [STEM(word) for word in selected] if match == "stem" else selected

    options = f"order={order},words={words},match={match},tokenizer=none,lowercase={str(lowercase).lower()}"
    columns = make(f"ngrams[{options}]").transform(group_of(references, candidates))
    wanted = [
        best_measures(seen(candidate), [seen(reference) for reference in references], order) for candidate in candidates
    ]
    np.testing.assert_allclose(columns, wanted, atol=1e-12)


@settings(deadline=None, max_examples=examples(25))
@given(st.lists(sentences, min_size=1, max_size=2), st.lists(sentences, min_size=1, max_size=2), st.integers(1, 6))
def test_character_ngrams_equal_counting_by_hand(references, candidates, order):
    columns = make(f"ngrams[unit=character,order={order}]").transform(group_of(references, candidates))
    joined = ["".join(reference).lower() for reference in references]
    wanted = [best_measures("".join(candidate).lower(), joined, order) for candidate in candidates]
    np.testing.assert_allclose(columns, wanted, atol=1e-12)


def test_tag_ngrams_equal_those_of_tags_written_as_words():
    texts = ["the cat sat on the mat .", "the dog sat on the rug .", "cat the the on . mat", ""]
    reference, *candidates = (text.split() for text in texts)
    data = group_of([reference], candidates)
    batch = tag_batch(data, "shipped")
    written = [batch.segments.words(int(row)) for row in (*batch.reference, *batch.candidate)]
    as_words = group_of(written[:1], written[1:])
    expected = make("ngrams[tokenizer=none]").transform(as_words)
    assert make("ngrams[unit=tag]").transform(data).tolist() == expected.tolist()
    # alike in build, though other words
    assert expected[0, 3] > expected[1, 3] > expected[2, 3] == 0.0


def test_they_are_what_chrf_and_bleu_are_made_of(included_golden):
    dataset = dataset_of(items_of(included_golden, 1))
    columns = make("ngrams[unit=character,order=6,lowercase=false]").transform(dataset).reshape(-1, 6, 3)
    precision, recall, _ = columns.mean(axis=1).T
    chrf = make("chrf[beta=3]").transform(dataset)[:, 0]
    sides = (table["text"].str.replace(" ", "").str.len() for table in (dataset.candidates, dataset.references))
    long_enough = np.logical_and(*(lengths.to_numpy() > 5 for lengths in sides)) & (precision + recall > 0)
    together = 10 * precision[long_enough] * recall[long_enough] / (9 * precision + recall)[long_enough]
    np.testing.assert_allclose(together, chrf[long_enough], atol=1e-12)
    assert long_enough.mean() > 0.9
    columns = make("ngrams[lowercase=false]").transform(dataset).reshape(-1, 4, 3)
    bleu = make_metric("bleu[smoothing=none]")
    rows = bleu.statistics(dataset)
    full = rows[:, 7] > 0
    precisions = columns[full, :, 0]
    penalty = make("bp").transform(dataset)[full, 0]
    np.testing.assert_allclose(penalty * precisions.prod(axis=1) ** 0.25, bleu.score(rows[full]), atol=1e-12)
    words = [make(f"{name}[lowercase=true]").transform(dataset)[:, 0] for name in ("precision", "recall", "f1")]
    np.testing.assert_allclose(make("ngrams[order=1]").transform(dataset).T, words, atol=1e-12)


def test_readable_columns():
    assert make("ngrams[words=content,order=2]").columns == tuple(
        f"ngrams[order=2,words=content].{n}.{measure}" for n in (1, 2) for measure in ("precision", "recall", "f1")
    )
    assert make("length").columns == ("length.shorter", "length.longer")
    assert make("meteor_parts").columns[-3:] == ("meteor_parts.penalty", "meteor_parts.exact", "meteor_parts.stem")


def test_classes_of_words():
    assert [word for word, yes in zip(VOCABULARY, in_class(VOCABULARY, "numbers"), strict=True) if yes] == [
        "3",
        "4.5",
        "U2",
    ]
    content, function = in_class(VOCABULARY, "content"), in_class(VOCABULARY, "function")
    assert (content ^ function).all()
    assert [VOCABULARY[place] for place in np.flatnonzero(function)] == ["The", "of", ",", "-"]
    assert in_class(VOCABULARY, "function", "none").sum() == 0
    assert in_class(VOCABULARY, "punctuation").tolist() == [word in ",-" for word in VOCABULARY]


def test_a_list_of_function_words_of_ones_own(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("cat\n")
    dataset = group_of([["the", "cat"]], [["a", "cat"]])
    assert make(f"ngrams[words=function,order=1,function_words={path}]").transform(dataset)[0].tolist() == [1, 1, 1]
    assert make("ngrams[words=function,order=1]").transform(dataset)[0].tolist() == [0, 0, 0]


def test_sentences_without_words_of_a_class_agree_that_there_are_none():
    dataset = group_of([["a", "b"]], [["a"], ["a", "3"]])
    assert make("ngrams[words=numbers,order=1]").transform(dataset).tolist() == [[1, 1, 1], [0, 0, 0]]


def test_lengths_against_the_other_candidates():
    """Three, one and five words: against the mean of the others, 3, 4 and 2; references do not count."""
    dataset = dataset_of([([], ["a b c", "a", "a b c d e"]), ([], ["a b"])])
    length = make("length[against=candidates]")
    assert (length.needs.references, length.needs.candidates) == (0, 3)
    expected = [[0, 0], [np.log(5 / 2), 0], [0, np.log(6 / 3)], [0, 0]]
    np.testing.assert_allclose(length.transform(dataset), expected, atol=1e-12)
    some = FeatureSet((length,)).transform(dataset.in_context([True, False, True, False]))
    np.testing.assert_allclose(some, [expected[0], expected[2]], atol=1e-12)
    referenced = dataset_of([(["a b c d e f g"], ["a b c", "a", "a b c d e"])])
    result = length.transform_references(referenced, leave_one_out(referenced))
    np.testing.assert_allclose(result, [[0, np.log(8 / 4)]], atol=1e-12)
    assert "against" not in make("length").signature()
    assert "against=candidates" in length.signature()


def test_lengths_against_the_closest_reference():
    dataset = group_of([["a"] * 4, ["a"] * 9], [["a"] * 2, ["a"] * 10, ["a"] * 4, []])
    columns = make("length").transform(dataset)
    wanted = [[np.log(5 / 3), 0], [0, np.log(11 / 10)], [0, 0], [np.log(5), 0]]
    np.testing.assert_allclose(columns, wanted, atol=1e-12)
    characters = group_of([["abc", "d"]], [["ab", "c"]])
    np.testing.assert_allclose(make("length[unit=character]").transform(characters), [[np.log(5 / 4), 0]], atol=1e-12)


@pytest.mark.parametrize("modules", ["exact", "exact+stem"])
def test_parts_make_meteors_score(included_golden, modules):
    dataset = dataset_of(items_of(included_golden, 1, "b1"))
    score, precision, recall, mean, penalty, *shares = make(f"meteor_parts[modules={modules}]").transform(dataset).T
    np.testing.assert_allclose(score, make(f"meteor[modules={modules}]").transform(dataset)[:, 0], atol=1e-12)
    np.testing.assert_allclose(mean * (1 - penalty), score, atol=1e-12)
    np.testing.assert_allclose(mean * (0.85 * precision + 0.15 * recall), precision * recall, atol=1e-12)
    assert (mean[precision == 0] == 0).all()
    assert len(shares) == modules.count("+") + 1
    assert (sum(shares) <= 1).all()
    assert sum(shares).max() == 1
    if modules == "exact":
        matched = make("meteor[modules=exact,alpha=0.5,delta=0.5,gamma=0]").transform(dataset)[:, 0]
        np.testing.assert_allclose(shares[0], matched, atol=1e-12)


def test_parts_of_sentences_that_share_nothing():
    columns = make("meteor_parts").transform(group_of([["cat"]], [["dog"], [], ["cat"]]))
    assert columns.tolist() == [[0, 0, 0, 0, 0.6, 0, 0], [0, 0, 0, 0, 0.6, 0, 0], [1, 1, 1, 1, 0, 1, 0]]


def test_synonyms_are_never_left_out_silently(monkeypatch):
    def missing(where):
        raise MissingError("no WordNet found")

    dataset = group_of([["cat"]], [["dog"]])
    monkeypatch.setattr(meteor_parts, "find_wordnet", missing)
    with pytest.raises(MissingError, match="no WordNet found"):
        make("meteor_parts[modules=exact+stem+synonym]").transform(dataset)
    make("meteor_parts").transform(dataset)


@pytest.mark.parametrize("name", ["lexical", "lexical-small"])
def test_the_feature_sets_depend_on_no_resource_that_may_be_missing(name):
    for text in feature_set_files()[name].extractors:
        assert "synonym" not in make(text).signature()
        assert make(text).fit_scope == "none"
        assert str(make(text)) == text


def test_the_order_of_sources_changes_nothing(included_golden):
    items = items_of(included_golden)
    features = FeatureSet.parse("lexical")
    forward, backward = (features.transform(dataset_of(part)) for part in (items, items[::-1]))
    np.testing.assert_array_equal(forward, backward[::-1])
    one_by_one = [features.transform(dataset_of([item]))[0] for item in items[:5]]
    np.testing.assert_array_equal(forward[:5], one_by_one)
    assert np.isfinite(forward).all()
