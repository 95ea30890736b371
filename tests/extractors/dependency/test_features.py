from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from ranker.errors import MissingError
from ranker.extractors.dependency import features as module
from ranker.extractors.dependency.cache import parse
from ranker.extractors.dependency.features import DependencyStructure, triplets_of
from ranker.extractors.dependency.triplets import TYPES, Triplets, scheme_of, triplets
from ranker.learning.parser.parsing import Parses
from tests.datasets import dataset_of
from tests.effort import examples


def parses_of(*sentences: list[tuple[str, int, str, str]], extra: tuple[str, ...] = ()) -> Parses:
    """Make parses of sentences of (word, 1-based head or 0, relation, tag)."""
    rows = [row for sentence in sentences for row in sentence]
    relations = tuple(sorted({row[2] for row in rows} | set(extra)))
    tags = tuple(sorted({row[3] for row in rows}))
    return Parses(
        np.cumsum([0, *map(len, sentences)]),
        [row[0] for row in rows],
        np.array([row[1] - 1 for row in rows], dtype=np.int32),
        np.array([relations.index(row[2]) for row in rows], dtype=np.int32),
        np.array([tags.index(row[3]) for row in rows], dtype=np.int32),
        [row[0].lower().rstrip("s") for row in rows],
        relations,
        tags,
    )


PASSIVE = [
    ("Old", 2, "amod", "ADJ"),
    ("cars", 4, "nsubj:pass", "NOUN"),
    ("were", 4, "aux:pass", "AUX"),
    ("sold", 0, "root", "VERB"),
    ("quickly", 4, "advmod", "ADV"),
    ("by", 7, "case", "ADP"),
    ("Anna", 4, "obl:agent", "PROPN"),
    ("'s", 9, "case", "PART"),
    ("brother", 7, "nmod:poss", "NOUN"),
]
ACTIVE = [
    ("She", 2, "nsubj", "PRON"),
    ("reads", 0, "root", "VERB"),
    ("very", 4, "advmod", "ADV"),
    ("long", 5, "amod", "ADJ"),
    ("books", 2, "obj", "NOUN"),
    ("in", 7, "case", "ADP"),
    ("bed", 2, "obl", "NOUN"),
]
CLEARNLP = [
    ("Cars", 3, "nsubjpass", "NOUN"),
    ("were", 3, "auxpass", "AUX"),
    ("sold", 0, "root", "VERB"),
    ("by", 3, "agent", "ADP"),
    ("Anna", 4, "pobj", "PROPN"),
    ("in", 3, "prep", "ADP"),
    ("May", 6, "pobj", "PROPN"),
]


def test_universal_dependencies_give_the_five_types():
    parsed = triplets(parses_of(PASSIVE, ACTIVE))
    assert parsed.of(0) == sorted(
        [
            ("agent-verb", "sold", "anna"),
            ("verb-patient", "sold", "cars"),
            ("noun-modifier", "cars", "old"),
            ("noun-modifier", "anna", "brother"),
            ("verb-modifier", "sold", "quickly"),
            ("preposition-object", "by", "anna"),
        ],
        key=lambda item: (TYPES.index(item[0]), parsed.vocabulary.index(item[1]), parsed.vocabulary.index(item[2])),
    )
    # an adverb of an adjective modifies no verb
    assert set(parsed.of(1)) == {
        ("agent-verb", "reads", "she"),
        ("verb-patient", "reads", "books"),
        ("noun-modifier", "books", "long"),
        ("preposition-object", "in", "bed"),
    }


def test_lemmas_are_compared_if_asked_for():
    parsed = triplets(parses_of(ACTIVE), lemma=True)
    assert ("verb-patient", "read", "book") in parsed.of(0)


def test_clearnlp_labels_take_the_agent_from_behind_its_preposition():
    parses = parses_of(CLEARNLP)
    assert scheme_of(parses.relation_names) is not scheme_of(parses_of(ACTIVE).relation_names)
    assert set(triplets(parses).of(0)) == {
        ("verb-patient", "sold", "cars"),
        ("agent-verb", "sold", "anna"),
        ("preposition-object", "in", "may"),
        ("preposition-object", "by", "anna"),
    }


def brute_force(first: list[tuple], second: list[tuple]) -> list[list[int]]:
    """Count matches per type and level, the partial ones with scipy's assignment solver."""
    rows = []
    for kind in range(len(TYPES)):
        a, b = ([item[1:] for item in side if item[0] == kind] for side in (first, second))
        edges = np.array([[x[0] == y[0] or x[1] == y[1] for y in b] for x in a], dtype=float).reshape(len(a), len(b))
        partial = int(edges[linear_sum_assignment(edges, maximize=True)].sum())
        rows.append([min(len(a), len(b)), partial, sum((Counter(a) & Counter(b)).values())])
    return rows


one_triplet = st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 3))
sentence = st.lists(one_triplet, max_size=12)


@settings(deadline=None, max_examples=examples(100))
@given(sentence, st.lists(sentence, min_size=1, max_size=3))
def test_counts_equal_brute_force(candidate, references):
    sentences = [sorted(item) for item in (candidate, *references)]
    columns = [np.array([row[i] for sentence in sentences for row in sentence]) for i in range(3)]
    packed = Triplets(
        columns[0].astype(np.int8),
        columns[1].astype(np.int32),
        columns[2].astype(np.int32),
        np.cumsum([0, *map(len, sentences)]),
        [],
    )
    counts, ratios = module._match(
        *(packed.type, packed.head, packed.dependent, packed.offsets),
        *(np.array([0]), np.arange(1, len(sentences)), np.array([0]), np.array([0, len(references)])),
    )
    wanted = np.array([brute_force(sentences[0], sentence) for sentence in sentences[1:]], dtype=float)
    np.testing.assert_allclose(counts[0], wanted.mean(axis=0))
    assert (counts[0][:, 0] >= counts[0][:, 1]).all()
    assert (counts[0][:, 1] >= counts[0][:, 2]).all()
    assert ((ratios >= 0) & (ratios <= 1 + 1e-12)).all()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_shipped_parser_on_odd_sentences():
    reference = "The old man sold his car to a young woman in the city."
    odd = ["", ". , ! ?", "word " * 1000, "图书馆下周一将延长开放时间。", reference, reference.lower(), "\u00a0 \u2028"]
    data = dataset_of([([reference], odd)])
    matrix = DependencyStructure().transform(data)
    assert np.isfinite(matrix).all()
    assert (matrix[[0, 1, 3, 6]] == 0).all()
    own = matrix[odd.index(reference)]
    counts = Counter(item[0] for item in triplets_of(data, "shipped", lemma=False).of(odd.index(reference)))
    assert own.reshape(5, 3).tolist() == [[counts[kind]] * 3 for kind in TYPES]
    assert own.sum() > 10
    evidence = DependencyStructure().evidence(data, odd.index(reference))
    assert list(evidence) == ["reference 1"]
    assert "agent-verb(sold, man)" in evidence["reference 1"]
    assert len(evidence["reference 1"]) == sum(counts.values())


def test_the_cache_gives_what_the_parser_gave(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKER_CACHE", str(tmp_path))
    sentences = ["The cat sat on the mat.", "", "It rains."]
    first = parse(sentences)
    files = list((tmp_path / "parses").glob("*.sqlite"))
    assert len(files) == 1
    monkeypatch.setattr("ranker.learning.parser.parsing.load", lambda origin: pytest.fail("parsed again"))
    again = parse([*reversed(sentences)])
    assert again.words == ["It", "rains", ".", "The", "cat", "sat", "on", "the", "mat", "."]
    assert first.relation_names == again.relation_names
    assert first.offsets.tolist() == [0, 7, 7, 10]
    np.testing.assert_array_equal(first.heads[:7], again.heads[3:])
    np.testing.assert_array_equal(first.relations[7:], again.relations[:3])
    assert first.lemmas[7:] == again.lemmas[:3]


def test_the_cache_keeps_words_with_any_character(tmp_path, monkeypatch):
    monkeypatch.setenv("RANKER_CACHE", str(tmp_path))
    odd = ["a\0b c", "\1", "\1\2 \0\0 \ud800", ""]
    first = parse(odd)
    assert "".join(first.words).count("\0") == 3
    monkeypatch.setattr("ranker.learning.parser.parsing.load", lambda origin: pytest.fail("parsed again"))
    again = parse(odd)
    assert (again.words, again.lemmas) == (first.words, first.lemmas)
    assert again.offsets.tolist() == first.offsets.tolist()


def test_a_parser_that_is_not_there_says_what_to_do():
    with pytest.raises(MissingError, match="no parser 'en_core_web_sm'"):
        DependencyStructure(parser="en_core_web_sm").transform(dataset_of([(["a b"], "a")]))
