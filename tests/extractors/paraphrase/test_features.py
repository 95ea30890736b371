from __future__ import annotations

import functools
import math
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.corpora.records import Candidate, Record, assemble
from ranker.extractors.paraphrase.features import COLUMNS, LearntSubstitutions, Paraphrase, source_folds
from ranker.extractors.paraphrase.matching import (
    EXACT,
    REACH,
    STEM,
    SUBSTITUTED,
    WINDOW,
    Lookup,
    WordFacts,
    match_words,
    residual_pairs,
    substitute,
)
from ranker.extractors.paraphrase.table import START, Cooccurrences, Substitutions, estimate
from tests.datasets import dataset_of
from tests.effort import examples

OPENINGS = ["he", "she", "our firm", "a ship", "the truck", "one man"]
DAYS = ["today", "on monday", "in may", "again", "at noon", "by night"]


@functools.cache
def taught(word="cargo", other="freight", times=30):
    """A data set in which `word` stands where the reference has `other`, in sentences that differ."""
    items = []
    for number in range(times):
        opening, day = OPENINGS[number % 6], DAYS[number // 6 % 6]
        items.append(
            ([f"{opening} carried the {other} {number} {day} ."], f"{opening} carried the {word} {number} {day} .")
        )
    return dataset_of(items)


def learnt(words, texts, total, pairs):
    number = {word: index for index, word in enumerate(words)}
    rows = sorted((number[pair], number[right], value) for (pair, right), value in pairs.items())
    first, second, similarity = zip(*rows, strict=True) if rows else ((), (), ())
    return LearntSubstitutions(
        list(words),
        np.array(texts, dtype=np.int32),
        total,
        Substitutions(
            np.array(first, dtype=np.int32), np.array(second, dtype=np.int32), np.array(similarity, dtype=np.float32)
        ),
    )


def knowing(pairs, texts=None, total=10, **options):
    words = sorted({word for pair in pairs for word in pair} | set(texts or {}))
    return Paraphrase(**options)._knowing(learnt(words, [(texts or {}).get(word, 0) for word in words], total, pairs))


def columns(extractor, references, candidate):
    return dict(zip(COLUMNS, extractor.transform(dataset_of([(references, candidate)]))[0].tolist(), strict=True))


def plain_match(candidate, reference, stems, table):
    """Match as the kernels do, in plain Python; `table` maps pairs of words to similarities."""
    size, length = len(candidate), len(reference)
    partner, kind, taken = [-1] * size, [0] * size, [False] * length
    for level, key in ((EXACT, lambda word: word), (STEM, lambda word: stems[word])):
        for i in range(size):
            equal = [
                (abs(i / size - j / length), j)
                for j in range(length)
                if not taken[j] and key(candidate[i]) == key(reference[j])
            ]
            if partner[i] < 0 and equal:
                partner[i], kind[i] = min(equal)[1], level
                taken[partner[i]] = True
    reach = min(REACH, WINDOW / max(size, length, 1))
    free = [
        (i, j, abs(i / size - j / length))
        for i in range(size)
        for j in range(length)
        if partner[i] < 0 and not taken[j] and abs(i / size - j / length) <= reach
    ]
    result = [0.0] * size
    ranked = [
        (-table[candidate[i], reference[j]], d, i, j) for i, j, d in free if (candidate[i], reference[j]) in table
    ]
    for negative, _, i, j in sorted(ranked):
        if partner[i] < 0 and not taken[j]:
            partner[i], kind[i], taken[j], result[i] = j, SUBSTITUTED, True, -negative
    return partner, kind, result, free


ids = st.lists(st.integers(0, 7), min_size=1, max_size=12)
tables = st.dictionaries(
    st.tuples(st.integers(0, 7), st.integers(0, 7)), st.sampled_from([0.125, 0.25, 0.5, 0.75]), max_size=20
)


@settings(deadline=None, max_examples=examples(80))
@given(ids, ids, tables, st.lists(st.integers(0, 5), min_size=8, max_size=8))
def test_kernels_equal_plain_python(candidate, reference, table, stems):
    rows = sorted(table.items())
    right = np.array([second for (_, second), _ in rows], dtype=np.int32)
    first = [row for (row, _), _ in rows]
    lookup = Lookup(
        np.arange(8, dtype=np.int32),
        np.searchsorted(first, np.arange(9)).astype(np.int64),
        right,
        np.array([value for _, value in rows], dtype=np.float32),
    )
    left, second = np.array(candidate, dtype=np.int32), np.array(reference, dtype=np.int32)
    words = WordFacts(np.array(stems, dtype=np.int32), np.ones(8, dtype=bool))
    partner, kind, taken = match_words(left, second, words.stems)
    values, offsets = np.concatenate([left, second]), np.array([0, len(left), len(left) + len(second)])
    _, places, closeness = residual_pairs(values, offsets, np.array([0]), np.array([1]), words, 8.0)
    result = substitute(left, second, lookup, partner, kind, taken)
    want_partner, want_kind, want_found, free = plain_match(candidate, reference, stems, table)
    assert partner.tolist() == want_partner
    assert kind.tolist() == want_kind
    assert result.tolist() == want_found
    assert places.tolist() == [[candidate[i], reference[j], i, j] for i, j, _ in free]
    np.testing.assert_allclose(closeness, [math.exp(-8 * distance) for *_, distance in free], rtol=1e-6)


def test_columns_by_hand():
    extractor = knowing({("cargo", "freight"): 0.5, ("of", "from"): 0.25}, {"the": 9, "freight": 1, "house": 3})
    values = columns(extractor, ["the freight from houses here"], "the cargo of house")
    assert values["precision"] == pytest.approx(2.75 / 4)
    assert values["recall"] == pytest.approx(2.75 / 5)
    assert values["f"] == pytest.approx(2 * 2.75 / 9)
    assert values["soft_precision"] == pytest.approx(0.75 / 4)
    assert values["soft_recall"] == pytest.approx(0.75 / 5)
    assert values["substituted"] == pytest.approx(2 / 5)
    assert values["content"] == pytest.approx(0.5 / 5)
    weight = {word: math.log(16 / (count + 5)) for word, count in {"the": 9, "freight": 1, "house": 3}.items()}
    new = math.log(16 / 5)
    left = weight["the"] + new + new + weight["house"]
    right = weight["the"] + weight["freight"] + new + new + new
    matched = weight["the"] + 0.5 * new + 0.25 * new + weight["house"]
    matched_theirs = weight["the"] + 0.5 * weight["freight"] + 0.25 * new + new
    assert values["weighted_precision"] == pytest.approx(matched / left)
    assert values["weighted_recall"] == pytest.approx(matched_theirs / right)
    assert values["weighted_f"] == pytest.approx((matched + matched_theirs) / (left + right))


@pytest.mark.parametrize(
    ("reference", "candidate", "want"), [("", "", 1.0), ("", "a", 0.0), ("a", "", 0.0), ("A b c .", "a b c .", 1.0)]
)
def test_nothing_is_substituted_in_sides_without_words_or_without_a_difference(reference, candidate, want):
    values = columns(knowing({("a", "b"): 0.9}), [reference], candidate)
    assert list(values.values()) == pytest.approx([want] * 6 + [0.0] * 4)


def test_of_several_references_the_best_f_counts():
    extractor = knowing({("x", "y"): 0.5})
    left, right = "a y c d", "a b c e"
    assert columns(extractor, [left, right], "a x c d") == columns(extractor, [left], "a x c d")
    assert columns(extractor, [right, left], "a x c d") == columns(extractor, [left], "a x c d")


def test_words_far_from_each_other_are_not_substituted():
    extractor = knowing({("x", "y"): 0.5})
    assert columns(extractor, ["y a b c d e"], "a b c d e x")["substituted"] == 0
    assert columns(extractor, ["a b c y d e"], "a b c d e x")["substituted"] > 0


def test_stems_match_unless_there_is_no_stemmer():
    assert columns(knowing({}), ["houses"], "house")["precision"] == 1
    assert columns(knowing({}, stemmer="none"), ["houses"], "house")["precision"] == 0
    assert knowing({}).evidence(dataset_of([(["houses"], "house")]), 0) == {"reference 1": ["house ~ houses (stem)"]}


def test_it_learns_what_stands_for_what():
    fitted = Paraphrase().fit(taught())
    new = dataset_of([(["old freight is here"], "old cargo is here")])
    assert fitted.transform(new)[0, COLUMNS.index("soft_precision")] > 0.1
    shown = fitted.evidence(new, 0)["reference 1"]
    assert shown[0] == "old = old"
    assert shown[1].startswith("cargo ~ freight (.")


def test_punctuation_and_what_was_met_once_are_not_learnt():
    items = [([f"a{n} b{n} , c{n}"], f"a{n} b{n} ; c{n}") for n in range(20)]
    fitted = Paraphrase().fit(dataset_of([*items, (["the zebra sleeps"], "the unicorn sleeps")]))
    assert len(fitted.state()["first"]) == 0


def several(sample_size=40):
    """Sources of different references with two candidates each, one of which substitutes."""
    records = []
    for number in range(sample_size):
        opening, day = OPENINGS[number % 6], DAYS[number // 6 % 6]
        text = f"{opening} carried the freight {number} {day} ."
        records.append(
            Record(
                f"source {number}",
                [text],
                [Candidate("one", text.replace("freight", "cargo")), Candidate("two", f"{opening} {day} .")],
            )
        )
    return records


def test_the_order_of_sources_and_candidates_changes_nothing():
    records = several()
    order = np.random.default_rng(5).permutation(len(records)).tolist()
    shuffled = [Record(records[n].source, records[n].references, records[n].candidates[::-1]) for n in order]
    straight, right = assemble(records, "made"), assemble(shuffled, "made")
    source = {records[number].source: place for place, number in enumerate(order)}
    names = list(zip(right.candidate_source.tolist(), right.candidates["system"], strict=True))
    back = [
        names.index((source[records[at].source], system))
        for at, system in zip(straight.candidate_source.tolist(), straight.candidates["system"], strict=True)
    ]
    (fitted, matrix), (again, mixed) = (Paraphrase().fit_transform(left) for left in (straight, right))
    for key, array in fitted.state().items():
        np.testing.assert_array_equal(again.state()[key], array)
    np.testing.assert_array_equal(mixed[back], matrix)
    np.testing.assert_array_equal(again.transform(right)[back], fitted.transform(straight))
    np.testing.assert_array_equal(Paraphrase().fit(straight).transform(straight), fitted.transform(straight))


def test_training_columns_are_those_of_an_extractor_learnt_on_the_other_parts():
    data = assemble(several(), "made")
    part = source_folds(data, 5)
    _, matrix = Paraphrase().fit_transform(data)
    rest = Paraphrase().fit(data.select_sources(part != 2))
    rows = part[data.candidate_source] == 2
    assert rows.any()
    np.testing.assert_allclose(rest.transform(data)[rows], matrix[rows], atol=1e-6, rtol=0)


def test_sources_with_a_reference_or_a_document_in_common_share_a_part():
    records = [Record(f"s{n}", [f"reference {n % 20}", f"other {n}"], [], doc=f"d{n // 3}") for n in range(60)]
    part = source_folds(assemble(records, "made"), 5)
    assert all(len(set(part[n::20])) == 1 for n in range(20))
    alone = [Record(f"s{n}", [f"reference {n}"], [], doc=f"d{n // 3}") for n in range(60)]
    part = source_folds(assemble(alone, "made"), 5)
    assert all(len(set(part[n : n + 3])) == 1 for n in range(0, 60, 3))
    assert Counter(part.tolist()).keys() == set(range(5))
    assert max(Counter(part.tolist()).values()) <= 15
    single = [Record(f"s{n}", [f"reference {n}"], [], doc="d") for n in range(60)]
    assert sorted(Counter(source_folds(assemble(single, "made"), 5).tolist()).values()) == [12] * 5


def plain_direction(rows, weights, given, place, iterations, null, discount):
    """Expectation-maximisation over lists of (words, places, closeness) of every pair of sentences."""
    probability = defaultdict(lambda: START)
    counts = {}
    for _ in range(iterations):
        counts, totals = defaultdict(float), defaultdict(float)
        for pair, weight in zip(rows, weights, strict=True):
            for words, places, closeness in pair:
                mass = null * START + sum(probability[w] * c for w, p, c in pair if p[place] == places[place])
                counts[words] += weight * probability[words] * closeness / mass
        for words, count in counts.items():
            totals[words[given]] += count
        probability = {
            words: max(count - discount, 0) / max(totals[words[given]], 1e-12) for words, count in counts.items()
        }
    return probability, counts


def made_up(seed):
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(12):
        sides = [rng.integers(0, 5, rng.integers(0, 4)).tolist() for _ in range(2)]
        rows.append(
            [
                ((a, b), (i, j), float(np.float32(rng.uniform(0.1, 1))))
                for i, a in enumerate(sides[0])
                for j, b in enumerate(sides[1])
            ]
        )
    return rows


def cooccurrences(rows):
    flat = [row for pair in rows for row in pair]
    places = np.array([[*words, *where] for words, where, _ in flat], dtype=np.int32).reshape(-1, 4)
    starts = np.concatenate([[0], np.cumsum([len(pair) for pair in rows])]).astype(np.int64)
    return Cooccurrences.of(starts, places, np.array([closeness for *_, closeness in flat], dtype=np.float32))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_equals_plain_python(seed):
    rows = made_up(seed)
    weights = np.random.default_rng(seed).uniform(0, 2, len(rows))
    fitted = estimate(cooccurrences(rows), weights, iterations=4, null=0.3, discount=0.1, least=0.05, least_count=0.3)
    forward, count = plain_direction(rows, weights, 0, 1, 4, 0.3, 0.1)
    backward, other = plain_direction(rows, weights, 1, 0, 4, 0.3, 0.1)
    want = {
        words: (forward[words] * backward[words]) ** 0.5
        for words in sorted(forward)
        if forward[words] * backward[words] >= 0.05**2 and min(count[words], other[words]) >= 0.3
    }
    assert list(zip(fitted.first.tolist(), fitted.second.tolist(), strict=True)) == list(want)
    np.testing.assert_allclose(fitted.similarity, list(want.values()), rtol=1e-5)
    assert len(fitted) > 3


def test_a_weight_of_0_leaves_a_pair_out():
    rows = made_up(7)
    weights = np.ones(len(rows))
    weights[4:] = 0
    options = {"least": 0.01, "least_count": 0.1, "discount": 0.05}
    some, few = estimate(cooccurrences(rows), weights, **options), estimate(cooccurrences(rows[:4]), **options)
    np.testing.assert_array_equal(some.first, few.first)
    np.testing.assert_array_equal(some.similarity, few.similarity)


def test_what_goes_together_wins_over_what_stands_by():
    together = [[((0, 9), (0, 0), 1.0), ((n % 8 + 1, 9), (1, 0), 1.0)] for n in range(40)]
    fitted = estimate(cooccurrences(together), least_count=2)
    similarity = dict(
        zip(zip(fitted.first.tolist(), fitted.second.tolist(), strict=True), fitted.similarity, strict=True)
    )
    assert 0.5 < similarity.pop((0, 9)) <= 1
    assert max(similarity.values()) < 0.3
