"""The n-gram language model: against ``lmplz``, KenLM, its definition in plain Python, and itself."""

from __future__ import annotations

import gzip
import json
import math
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.errors import DataError, OptionError
from ranker.learning.lm.arpa import SPECIAL_WORDS, write_arpa
from ranker.learning.lm.counts import NgramCounts, count_ngrams
from ranker.learning.lm.kneser_ney import NgramModel, estimate, log10_scores
from tests.effort import examples

Entries = dict[str, tuple[float, float]]
Text = tuple[np.ndarray, np.ndarray, list[str]]
START, END, UNKNOWN = "<s>", "</s>", "<unk>"

sentences_of_letters = st.lists(st.lists(st.sampled_from("abcde"), max_size=8), min_size=1, max_size=15)


def tokenise(sentences: list[list[str]], vocabulary: list[str] | None = None) -> Text:
    ids = {word: number for number, word in enumerate(vocabulary or [])}
    values = [ids.setdefault(word, len(ids)) for sentence in sentences for word in sentence]
    offsets = np.concatenate([[0], np.cumsum([len(sentence) for sentence in sentences])]).astype(np.int64)
    return np.array(values, dtype=np.int32), offsets, list(ids)


def read_arpa(text: str) -> Entries:
    entries: Entries = {}
    for line in text.split("\n"):
        fields = line.split("\t")
        if len(fields) > 1:
            assert fields[1] not in entries
            entries[fields[1]] = float(fields[0]), float(fields[2]) if len(fields) > 2 else 0.0
    return entries


def entries_of(model: NgramModel, vocabulary: list[str]) -> Entries:
    words = ["", *SPECIAL_WORDS, *(vocabulary[word_id] for word_id in model.trie.word_ids)]
    entries = {}
    for order in range(1, model.trie.order + 1):
        nodes = model.trie.nodes(order)
        values = zip(model.log10_prob[nodes], model.log10_backoff[nodes], strict=True)
        for row, pair in zip(model.trie.ngrams(order), values, strict=True):
            entries[" ".join(words[node] for node in row)] = pair
    return entries


def assert_same_entries(found: Entries, expected: Entries, tolerance: float = 1e-5) -> None:
    assert found.keys() == expected.keys()
    for ngram, values in expected.items():
        assert found[ngram] == pytest.approx(values, abs=tolerance), ngram


def look_up(entries: Entries, context: tuple[str, ...], word: str) -> tuple[float, int]:
    """Return the log10 probability of `word` after `context` and the length of the n-gram that gave it."""
    ngram = " ".join([*context, word])
    if ngram in entries:
        return entries[ngram][0], len(context) + 1
    if not context:
        return entries[UNKNOWN][0], 1
    backoff = entries.get(" ".join(context), (0.0, 0.0))[1]
    shorter, length = look_up(entries, context[1:], word)
    return backoff + shorter, length


def define(sentences: list[list[str]], order: int, discounts: np.ndarray) -> Entries:
    """Interpolated Kneser-Ney from its definition, n-gram by n-gram."""
    occurrences: Counter[tuple[str, ...]] = Counter()
    for sentence in sentences:
        padded = [START, *sentence, END]
        for length in range(1, order + 1):
            occurrences.update(tuple(padded[i : i + length]) for i in range(len(padded) - length + 1))
    before = defaultdict(set)
    for ngram in occurrences:
        before[ngram[1:]].add(ngram[0])
    adjusted = {
        ngram: count if len(ngram) == order or ngram[0] == START else len(before[ngram])
        for ngram, count in occurrences.items()
    }
    adjusted[(START,)] = adjusted[(UNKNOWN,)] = 0
    children = defaultdict(list)
    for ngram in adjusted:
        children[ngram[:-1]].append(ngram)

    def discount(ngram: tuple[str, ...]) -> float:
        count = adjusted[ngram]
        return float(discounts[len(ngram) - 1][min(count, 3) - 1]) if count else 0.0

    def gamma(context: tuple[str, ...]) -> float:
        total = sum(adjusted[child] for child in children[context])
        return sum(discount(child) for child in children[context]) / total if total else 1.0

    def probability(ngram: tuple[str, ...]) -> float:
        if not ngram:
            return 1 / (len(children[()]) - 1)
        total = sum(adjusted[child] for child in children[ngram[:-1]])
        return (adjusted[ngram] - discount(ngram)) / total + gamma(ngram[:-1]) * probability(ngram[1:])

    entries = {
        " ".join(ngram): (math.log10(probability(ngram)), math.log10(max(gamma(ngram), 1e-99))) for ngram in adjusted
    }
    entries[START] = 0.0, entries[START][1]
    return entries


@pytest.fixture(scope="module")
def letters() -> Text:
    generator = np.random.default_rng(5)
    lengths = generator.integers(0, 12, size=60)
    return tokenise([[f"w{word}" for word in generator.geometric(0.2, size=length)] for length in lengths])


@pytest.mark.parametrize(
    ("golden", "name", "train", "order", "fallback_orders"),
    [
        ("included", "lm3", "lm", 3, ()),
        ("shared", "lm2", "lm", 2, ()),
        ("shared", "lm3", "lm", 3, ()),
        ("shared", "lm4", "lm", 4, ()),
        ("shared", "tiny2", "tiny", 2, ()),
        ("shared", "tiny3", "tiny", 3, (3,)),
    ],
    indirect=["golden"],
)
def test_every_number_is_that_of_lmplz(
    golden: Path, tmp_path: Path, name: str, train: str, order: int, fallback_orders: tuple[int, ...]
) -> None:
    lines = (golden / f"{train}_train.txt").read_text(encoding="utf-8").splitlines()
    values, offsets, vocabulary = tokenise([line.split() for line in lines])
    model = estimate(count_ngrams(values, offsets, order))
    assert model.fallback_orders == fallback_orders
    with gzip.open(golden / f"{name}.arpa.gz", "rt", encoding="utf-8") as stream:
        expected = read_arpa(stream.read())
    write_arpa(model, vocabulary, tmp_path / "model.arpa")
    assert_same_entries(read_arpa((tmp_path / "model.arpa").read_text(encoding="utf-8")), expected, 1e-6)


@pytest.mark.parametrize(
    ("golden", "name", "train", "order"),
    [
        ("included", "lm3", "lm", 3),
        ("shared", "lm2", "lm", 2),
        ("shared", "lm3", "lm", 3),
        ("shared", "lm4", "lm", 4),
        ("shared", "tiny3", "tiny", 3),
    ],
    indirect=["golden"],
)
def test_every_score_is_that_of_kenlm(golden: Path, name: str, train: str, order: int) -> None:
    if train == "tiny":
        hypotheses = json.loads((golden / "tiny_hyps.json").read_text(encoding="utf-8"))
        scores = (golden / f"{name}.scores.jsonl").read_text(encoding="utf-8")
    else:
        items = [json.loads(line) for line in (golden / "inputs.jsonl").read_text(encoding="utf-8").splitlines()]
        hypotheses = [item["hyp_tok"].lower() for item in items]
        scores = gzip.decompress((golden / f"{name}.scores.jsonl.gz").read_bytes()).decode()
    expected = [json.loads(line) for line in scores.splitlines()]
    lines = (golden / f"{train}_train.txt").read_text(encoding="utf-8").splitlines()
    values, offsets, vocabulary = tokenise([line.split() for line in lines])
    model = estimate(count_ngrams(values, offsets, order))
    result = log10_scores(model, *tokenise([text.split() for text in hypotheses], vocabulary)[:2])
    assert len(expected) == len(result.tokens) > 0
    # KenLM adds in single precision, so its tokens are summed here in double
    np.testing.assert_allclose(result.log10_prob, [sum(row["logprobs"]) for row in expected], atol=1e-5)
    np.testing.assert_allclose(result.log_perplexity, [math.log(row["ppl"]) for row in expected], atol=1e-5)
    assert result.unknown.tolist() == [row["oov"] for row in expected]
    np.testing.assert_allclose(result.matched_length, [np.mean(row["lens"]) for row in expected], rtol=1e-12)


# What lmplz 0.3.0 --discount_fallback prints for a text whose last n-grams it counts by their occurrences.
REGULAR = ["abaabaaaa", "abaaa", "", "aaaaa", "aaa", "aaaaaaaaa", "bab", "ab"]
REGULAR_TRIGRAMS = {
    "<s>": (0.0, -0.26626793),
    "a": (-0.50514996, -0.021189298),
    "b": (-0.60206, -0.65321255),
    "a b": (-0.6232493, -0.30103),
    "a a": (-0.5263393, -0.75696194),
    "a a b": (-1.1760912, 0.0),
    "b a a": (-0.2808266, 0.0),
}


def test_last_ngrams_count_as_in_lmplz() -> None:
    values, offsets, vocabulary = tokenise([list(sentence) for sentence in REGULAR])
    counts = count_ngrams(values, offsets, 3)
    model = estimate(counts)
    np.testing.assert_allclose(model.discounts, [[0.5, 1, 1.5], [2 / 3, 0, 3], [0.5, 1, 1.5]], atol=1e-6)
    assert model.fallback_orders == (1, 3)
    entries = entries_of(model, vocabulary)
    for ngram, expected in REGULAR_TRIGRAMS.items():
        assert entries[ngram] == pytest.approx(expected, abs=1e-6), ngram


@settings(max_examples=examples(60), deadline=None)
@given(sentences_of_letters, st.integers(1, 6))
def test_estimate_is_the_definition(sentences: list[list[str]], order: int) -> None:
    values, offsets, vocabulary = tokenise(sentences)
    model = estimate(count_ngrams(values, offsets, order))
    assert_same_entries(entries_of(model, vocabulary), define(sentences, order, model.discounts), 1e-9)


@settings(max_examples=examples(60), deadline=None)
@given(sentences_of_letters, st.integers(1, 6), st.lists(st.sampled_from("abcdez"), max_size=6), st.booleans())
def test_probabilities_sum_to_one(sentences: list[list[str]], order: int, context: list[str], start: bool) -> None:
    values, offsets, vocabulary = tokenise(sentences)
    entries = entries_of(estimate(count_ngrams(values, offsets, order)), vocabulary)
    history = tuple([START, *context] if start else context)[max(0, len(context) + start - order + 1) :]
    history = history if order > 1 else ()
    total = sum(10 ** look_up(entries, history, word)[0] for word in [*vocabulary, UNKNOWN, END])
    assert total == pytest.approx(1, abs=1e-9)


@settings(max_examples=examples(60), deadline=None)
@given(sentences_of_letters, st.integers(1, 6), st.lists(st.lists(st.sampled_from("abcdez"), max_size=8), max_size=5))
def test_scorer_is_the_plain_look_up(sentences: list[list[str]], order: int, scored: list[list[str]]) -> None:
    values, offsets, vocabulary = tokenise(sentences)
    model = estimate(count_ngrams(values, offsets, order))
    entries = entries_of(model, vocabulary)
    scores = log10_scores(model, *tokenise(scored, vocabulary)[:2])
    for row, sentence in enumerate(scored):
        padded = [START, *sentence, END]
        looked_up = [
            look_up(entries, tuple(padded[max(0, end - order + 1) : end]), padded[end]) for end in range(1, len(padded))
        ]
        assert scores.log10_prob[row] == pytest.approx(sum(value for value, _ in looked_up), abs=1e-9)
        assert scores.matched_length[row] == pytest.approx(np.mean([length for _, length in looked_up]))
        assert scores.unknown[row] == sum(word not in vocabulary for word in sentence)
        assert scores.tokens[row] == len(sentence)


@pytest.mark.parametrize("order", range(2, 7))
def test_kenlm_reads_the_file_and_agrees(kenlm, tmp_path: Path, letters: Text, order: int) -> None:
    values, offsets, vocabulary = letters
    model = estimate(count_ngrams(values, offsets, order))
    write_arpa(model, vocabulary, tmp_path / "model.arpa")
    reader = kenlm.Model(str(tmp_path / "model.arpa"))
    assert reader.order == order
    generator = np.random.default_rng(order)
    scored = [[f"w{word}" for word in generator.geometric(0.1, size=length)] for length in range(20)]
    scored += [[vocabulary[value] for value in values[start:stop]] for start, stop in pairwise(offsets)]
    scores = log10_scores(model, *tokenise(scored, vocabulary)[:2])
    for row, sentence in enumerate(scored):
        full = list(reader.full_scores(" ".join(sentence)))
        assert scores.log10_prob[row] == pytest.approx(sum(value for value, _, _ in full), abs=1e-5)
        assert scores.matched_length[row] == pytest.approx(np.mean([length for _, length, _ in full]))
        assert scores.unknown[row] == sum(unknown for _, _, unknown in full)


def test_a_weight_of_zero_is_written_as_minus_99(kenlm, tmp_path: Path) -> None:
    values, offsets, vocabulary = tokenise([["a", "b"], ["a", "b"]])
    model = estimate(count_ngrams(values, offsets, 2), discounts=np.array([[0.5, 1, 1.5], [0.5, 0, 1.5]]))
    write_arpa(model, vocabulary, tmp_path / "model.arpa")
    assert read_arpa((tmp_path / "model.arpa").read_text())["a"][1] == -99
    scores = log10_scores(model, *tokenise([["a", "a"]], vocabulary)[:2])
    reader = kenlm.Model(str(tmp_path / "model.arpa"))
    assert scores.log10_prob[0] == pytest.approx(reader.score("a a"), rel=1e-6)


def test_same_text_same_bytes_however_words_are_numbered(tmp_path: Path, letters: Text) -> None:
    values, offsets, vocabulary = letters
    renumbered = np.random.default_rng(0).permutation(len(vocabulary) + 10)
    names = [""] * len(renumbered)
    for number, word in zip(renumbered, vocabulary, strict=False):
        names[number] = word
    write_arpa(estimate(count_ngrams(values, offsets, 3)), vocabulary, tmp_path / "first")
    write_arpa(estimate(count_ngrams(renumbered[values], offsets, 3)), names, tmp_path / "second")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    lines = (tmp_path / "first").read_text().split("\\2-grams:\n")[1].split("\n\n")[0].split("\n")
    ngrams = [line.split("\t")[1].split(" ") for line in lines]
    assert ngrams == sorted(ngrams)


def small_counts() -> NgramCounts:
    return count_ngrams([0, 1, 0, 2], [0, 2, 4], 2)


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(OptionError, match="n-gram order 7: expected 1 to 6"):
        count_ngrams([0], [0, 1], 7)
    with pytest.raises(DataError, match="at least one training sentence"):
        count_ngrams([], [0], 2)


@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [
        (["a", "<s>", "c"], r"'<s>' occurs in the training text, but is reserved in ARPA files: replace it"),
        (["a", "b b", "c"], r"word 'b b' of the training text: expected words without white space"),
        (["a", "", "c"], r"word '' of the training text"),
        (["a", "b", "a"], r"word 'a' has two ids"),
        (["a", "b"], r"word id 2: expected ids below 2, the size of the vocabulary"),
    ],
)
def test_words_that_break_an_arpa_file_are_refused(tmp_path: Path, vocabulary: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        write_arpa(estimate(small_counts()), vocabulary, tmp_path / "model.arpa")
    assert list(tmp_path.iterdir()) == []
