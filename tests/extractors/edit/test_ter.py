from __future__ import annotations

import json

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.extractors.edit.shifts import SACREBLEU, TERCOM, Limits, shift_edits
from ranker.extractors.edit.ter import TranslationEditRate
from ranker.extractors.registry import make_metric
from tests.datasets import dataset_of
from tests.effort import examples, further, thorough
from tests.extractors.edit_rates import score, statistics
from tests.golden_values import SHARED_ONLY, expected, inputs, items_of

VARIANTS = {
    "tercom.tok": "ter[search=tercom,tokenizer=13a]",
    "tercom.tok_s": "ter[search=tercom,tokenizer=13a,lowercase=false]",
    "tercom.raw_N": "ter[search=tercom,tokenizer=tercom]",
    "tercom.tok_P": "ter[search=tercom,no_punct=true,tokenizer=13a]",
    "tercom.tok_d5": "ter[search=tercom,max_distance=5,tokenizer=13a]",
    "tercom.tok_b100": "ter[search=tercom,beam=100,tokenizer=13a]",
    "sacrebleu.tok": "ter[tokenizer=13a]",
    "sacrebleu.tok_s": "ter[tokenizer=13a,lowercase=false]",
    "sacrebleu.tok_nopunct": "ter[tokenizer=13a,no_punct=true]",
    "sacrebleu.raw_norm": "ter[tokenizer=tercom]",
    "sacrebleu.raw_norm_asian": "ter[tokenizer=tercom-asian]",
}
SINGLE = ("tercom.tok_P", "tercom.tok_d5", "tercom.tok_b100")
# tercom does not split at a no-break space and an ideographic space, and neither does its tokeniser here
OTHER_SPACES = {"A-edge-nbsp", "A-edge-ideographic-space"}


def compared(golden, variant: str) -> np.ndarray:
    """Return which items count."""
    differ = OTHER_SPACES if variant.startswith("sacrebleu.raw") else set()
    return np.array([item["id"] not in differ for item in inputs(golden)])


@pytest.mark.parametrize(("references", "which"), [(1, "ref0"), (None, "multi")])
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_sentence_equals_the_program(golden, variant, references, which):
    if variant in SINGLE and which == "multi":
        which, references = "ref0", 1
    metric = make_metric(VARIANTS[variant])
    keep = compared(golden, variant)
    rows = statistics(metric, items_of(golden, references))[keep]
    want = expected(golden, "ter.tsv", *(f"{variant}.{which}.{part}" for part in ("edits", "reflen", "ter")))[keep]
    np.testing.assert_array_equal(rows, want[:, :2])
    np.testing.assert_allclose(metric.score(rows), want[:, 2], atol=1e-12, rtol=0)


@SHARED_ONLY
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_corpus_equals_the_program(golden, variant):
    metric = make_metric(VARIANTS[variant])
    corpora = json.loads((golden / "ter.corpus.json").read_text())
    names = {f"{variant}.ref0": 1} if variant in SINGLE else {f"{variant}.ref0": 1, f"{variant}.multi": None}
    for name, references in names.items():
        groups = corpora[name].get("groups", corpora[name])
        assert len(groups) == 6
        for group, want in groups.items():
            if variant.startswith("sacrebleu.raw") and group in ("edge1", "all"):
                continue  # the group of OTHER_SPACES
            total = statistics(metric, items_of(golden, references, group)).sum(axis=0)
            assert total.tolist() == [want["edits"], want["reflen"]]
            assert metric.score(total) == pytest.approx(want["ter"], abs=1e-12)


def plain_alignment(words: list[int], reference: list[int], beam: int) -> tuple[int, str]:
    """Push distances from state to state, a candidate word at a time, as tercom does."""
    best: dict[tuple[int, int], tuple[int, str]] = {(0, 0): (0, "")}
    lowest = limit = 10**9
    for column in range(len(words) + 1):
        limit, lowest = lowest + beam, 10**9
        for row in range(len(reference) + 1):
            if (row, column) not in best or (column < len(words) and best[row, column][0] > limit):
                continue
            cost, path = best[row, column]
            steps = []
            if row < len(reference) and column < len(words):
                right = words[column] == reference[row]
                steps.append((row + 1, column + 1, cost + (not right), " " if right else "S"))
                lowest = min(lowest, cost + (not right))
            if column < len(words):
                steps.append((row, column + 1, cost + 1, "I"))
            if row < len(reference):
                steps.append((row + 1, column, cost + 1, "D"))
            for to_row, to_column, total, operation in steps:
                if (to_row, to_column) not in best or total < best[to_row, to_column][0]:
                    best[to_row, to_column] = total, path + operation
    return best[len(reference), len(words)]


def plain_shifts(words, reference, path, max_distance, max_size):
    """List (size, words after the shift) of the shifts that tercom tries, in its order for each size."""
    wrong, reference_wrong, aligned = [], [], []
    for operation in path:
        if operation in " SI":
            wrong.append(operation != " ")
        if operation in " SD":
            reference_wrong.append(operation != " ")
            aligned.append(len(wrong) - 1)
    places = {}
    for size in range(1, max_size + 1):
        for at in range(len(reference) - size + 1):
            places.setdefault(tuple(reference[at : at + size]), []).append(at)
    for start in range(len(words)):
        firsts = [aligned[at] for at in places.get((words[start],), [])]
        if not any(to != start and -max_distance - 1 <= to - start <= max_distance for to in firsts):
            continue
        for size in range(1, min(max_size, len(words) - start) + 1):
            block = tuple(words[start : start + size])
            if block not in places:
                break
            if not any(wrong[start : start + size]):
                continue
            goals = [
                at
                for at in places[block]
                if not start <= aligned[at] < start + size and abs(aligned[at] - start) <= max_distance
            ]
            if not goals:
                break
            for at in goals:
                if not any(reference_wrong[at : at + size]):
                    continue
                for offset in range(-1, size):
                    if offset == -1 and at == 0:
                        yield size, start, -1
                    elif aligned[at + offset] != start and (offset == 0 or aligned[at + offset] != aligned[at]):
                        yield size, start, aligned[at + offset]


def plain_edits(words: list[int], reference: list[int], beam: int, max_distance: int, max_size: int) -> int:
    """Search greedily with the whole dynamic programme for every shift, the twin of the kernel."""
    shifts = 0
    distance, path = plain_alignment(words, reference, beam)
    while max_distance and max_size:
        chosen = None
        result = distance
        tried = list(plain_shifts(words, reference, path, max_distance, max_size))
        for size, start, after in sorted(tried, key=lambda shift: -shift[0]):
            saved = distance - result - 1
            if chosen and saved >= 2 * size:
                break
            rest = words[:start] + words[start + size :]
            place = after + 1 if after < start else after + 1 - size if after >= start + size else after
            moved = rest[:place] + words[start : start + size] + rest[place:]
            value = plain_alignment(moved, reference, beam)
            if value[0] < result:
                result, chosen = value[0], (moved, value)
        if not chosen:
            break
        shifts += 1
        words, (distance, path) = chosen
    return distance + shifts


numbers = st.lists(st.integers(0, 6), max_size=14)


@settings(deadline=None, max_examples=examples(200))
@given(
    numbers, numbers, st.sampled_from([1, 2, 3, 20]), st.sampled_from([0, 1, 2, 5, 50]), st.sampled_from([0, 1, 3, 10])
)
def test_kernel_equals_plain_python(words, reference, beam, max_distance, max_size):
    kernel = shift_edits(
        np.array(words, dtype=np.int32),
        np.array(reference, dtype=np.int32),
        Limits(TERCOM, beam, max_distance, max_size),
    )
    assert kernel == plain_edits(words, reference, beam, max_distance, max_size)


@pytest.mark.parametrize("seed", [1, 3])
def test_kernel_equals_plain_python_on_long_sentences(seed):
    """Beyond one block of bits, and with a beam that matters."""
    generator = np.random.default_rng(seed)
    reference = generator.integers(0, 300, 70)
    pieces = np.split(reference, np.sort(generator.integers(0, 70, 3)))
    generator.shuffle(pieces)
    words = np.concatenate([*pieces, generator.integers(0, 90, 10)])
    words[generator.random(len(words)) < 0.4] = 300
    for beam in (3, 20):  # 3 prunes
        kernel = shift_edits(words.astype(np.int32), reference.astype(np.int32), Limits(TERCOM, beam, 50, 10))
        assert kernel == plain_edits(words.tolist(), reference.tolist(), beam, 50, 10)


sentences = st.lists(st.sampled_from("abcdefg"), max_size=12).map(" ".join)


@pytest.mark.parametrize("seed", [0, *map(further, (1, 2, 3))])
@thorough
def test_long_sentences_equal_sacrebleu(seed):
    """Beyond one block of bits, its band and its thousand shifts."""
    generator = np.random.default_rng(seed)
    reference = generator.integers(0, (20, 60, 200)[seed % 3], (70, 90)[seed % 2])
    pieces = np.split(reference, np.sort(generator.integers(0, len(reference), 5)))
    generator.shuffle(pieces)
    words = np.concatenate([*pieces, generator.integers(0, 40, 20 * (seed % 4))])
    words[generator.random(len(words)) < 0.3] = 300
    candidate, right = (" ".join(map(str, left)) for left in (words, reference))
    expected = sacrebleu.metrics.TER().sentence_score(candidate, [right])
    limits = Limits(SACREBLEU, 25, 50, 10)
    assert shift_edits(words.astype(np.int32), reference.astype(np.int32), limits) == expected.num_edits


def test_a_wrong_word_that_moves_costs_two_edits():
    assert score(TranslationEditRate(), ["a b c d e f"], "d e f a b c") == pytest.approx(1 / 6)
    assert score(TranslationEditRate(), ["a b c d e f"], "d e x a b c") == pytest.approx(2 / 6)
    assert score(TranslationEditRate(max_size=0), ["a b c d e f"], "d e f a b c") == 1


@pytest.mark.parametrize("search", ["tercom", "sacrebleu"])
def test_degenerate_sentences(search):
    metric = TranslationEditRate(search=search)
    assert score(metric, ["a b"], "") == 1
    assert score(metric, [""], "a b") == 1
    assert score(metric, [""], "") == 0
    assert statistics(metric, [(["a b", "a b c d"], ""), ([], "a b c")]).tolist() == [[2, 3], [3, 0]]
    assert not metric.higher_is_better


def test_punctuation_leaves_an_empty_word_where_tercom_leaves_one():
    items = [([""], text) for text in ("( a b )", ".", ". .", "a , b .", "", "a")]
    edits = {
        search: statistics(TranslationEditRate(no_punct=True, tokenizer="none", search=search), items)[:, 0].tolist()
        for search in ("tercom", "sacrebleu")
    }
    assert edits == {"tercom": [3, 1, 0, 2, 0, 1], "sacrebleu": [2, 0, 0, 2, 0, 1]}
    asian = TranslationEditRate(no_punct=True, tokenizer="tercom-asian")
    assert statistics(asian, [(["天 气"], "天气。")]).tolist() == [[0, 2]]


@settings(deadline=None, max_examples=examples(20))
@given(st.lists(st.tuples(st.lists(sentences, min_size=1, max_size=3), sentences), min_size=1, max_size=5))
def test_one_by_one_equals_the_batch_and_is_never_worse_than_the_edit_distance(items):
    metric = TranslationEditRate(search="tercom", beam=100)
    rows = metric.transform(dataset_of(items))[:, 0]
    assert rows.tolist() == [score(metric, *item) for item in items]
    without = TranslationEditRate(search="tercom", beam=100, max_size=0).transform(dataset_of(items))[:, 0]
    assert (rows <= without).all()
