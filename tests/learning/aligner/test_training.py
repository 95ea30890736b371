"""The word aligner: its kernels against plain Python, EM, quality, files, and bad input."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import numpy as np
import pytest

from ranker import threads
from ranker.errors import DataError, ModelError, OptionError
from ranker.learning.aligner import pairs as alignment_pairs
from ranker.learning.aligner.decoding import FLOOR
from ranker.learning.aligner.hmm import JUMPS, REACH, hmm, ibm1
from ranker.learning.aligner.model import AlignmentModel
from ranker.learning.aligner.training import train
from ranker.links import Links
from ranker.storage.model_files import StoredModel, read_model, write_model
from tests.effort import thorough
from tests.learning.aligner.simulated import ParallelText, simulate_parallel_text

pytestmark = thorough


def arrays(text: ParallelText) -> tuple[np.ndarray, ...]:
    return text.source, text.source_offsets, text.target, text.target_offsets


def csr(sentences: list[list[int]]) -> tuple[list[int], list[int]]:
    offsets = [0, *itertools.accumulate(map(len, sentences))]
    return [word for sentence in sentences for word in sentence], offsets


@pytest.fixture(scope="module")
def text() -> ParallelText:
    return simulate_parallel_text(1500, words=800, seed=1)


@pytest.fixture(scope="module")
def model(text: ParallelText) -> AlignmentModel:
    return train(*arrays(text))


def plain_ibm1(
    sources: list[list[int]], targets: list[list[int]], words: int, iterations: int, p0: float
) -> tuple[dict[tuple[int, int], float], list[float]]:
    """EM of IBM model 1 in one direction, null being word -1."""
    pairs = list(zip(sources, targets, strict=True))
    table = {(e, f): 1 / words for source, target in pairs for e in [-1, *source] for f in target}
    history = []
    for _ in range(iterations):
        counts = dict.fromkeys(table, 0.0)
        history.append(0.0)
        for source, target in pairs:
            share = {-1: p0}
            for f in target:
                weights = [(e, (1 - p0) / len(source) * table[e, f]) for e in source] + [(-1, share[-1] * table[-1, f])]
                total = sum(weight for _, weight in weights)
                history[-1] += np.log(total)
                for e, weight in weights:
                    counts[e, f] += weight / total
        sums: dict[int, float] = {}
        for (e, _), count in counts.items():
            sums[e] = sums.get(e, 0.0) + count
        table = {(e, f): count / sums[e] for (e, f), count in counts.items()}
    return table, history


@pytest.mark.parametrize("swapped", [False, True])
def test_em_of_ibm_model_1_is_its_definition(swapped: bool) -> None:
    random = np.random.default_rng(5)
    sources, targets = ([random.integers(12, size=size).tolist() for size in random.integers(1, 9, 30)] for _ in "ab")
    sources[0], targets[0] = list(range(12)), list(range(12))
    model = train(*csr(sources), *csr(targets), iterations=(4, 0), agreement=False, null_probability=0.3)
    given, onto = (targets, sources) if swapped else (sources, targets)
    table, history = plain_ibm1(given, onto, 12, 4, 0.3)
    np.testing.assert_allclose(model.log_likelihood[:, int(swapped)], history, rtol=1e-12)
    tables = model.tables
    result = {}
    for row in range(12):
        for entry in range(tables.offsets[row], tables.offsets[row + 1]):
            column = int(tables.columns[entry])
            key, values = ((column, row), tables.backward) if swapped else ((row, column), tables.forward)
            result[key] = float(values[entry])
    null = tables.null_source if swapped else tables.null_target
    result |= {(-1, word): float(probability) for word, probability in enumerate(null)}
    assert result.keys() <= table.keys()
    for key, value in table.items():
        assert result.get(key, 0.0) == pytest.approx(value, abs=2 * FLOOR, rel=1e-5)


@pytest.mark.parametrize("null_probability", [0.05, 0.4])
def test_the_likelihood_never_falls_without_agreement(null_probability: float) -> None:
    text = simulate_parallel_text(400, words=300, seed=1)
    model = train(*arrays(text), iterations=(6, 12), agreement=False, null_probability=null_probability)
    assert model.log_likelihood.shape == (18, 2)
    assert (np.diff(model.log_likelihood, axis=0) >= 0).all()
    # the step from IBM model 1 to the HMM is one of them, and the HMM explains more
    assert model.log_likelihood[-1].sum() > 0.8 * model.log_likelihood[5].sum()


def test_jumps_that_run_backwards_are_learnt() -> None:
    """Every target is its source reversed, so the only jump is -1, but for the first to the end."""
    random = np.random.default_rng(3)
    sources = [random.integers(50, size=size).tolist() for size in random.integers(5, 15, 200)]
    model = train(*csr(sources), *csr([sentence[::-1] for sentence in sources]))
    assert model.tables.jumps.argmax(axis=1).tolist() == [REACH, REACH]
    result = model.align(*csr([[1, 2, 3, 4, 5, 6]]), *csr([[6, 5, 4, 3, 2, 1]]))
    assert result.of(0) == [(i, 5 - i) for i in range(6)]


def alignment_error_rate(links: Links, gold: Links) -> float:
    common = sum(len({*links.of(pair)} & {*gold.of(pair)}) for pair in range(len(gold)))
    return 1 - 2 * common / (len(links.source) + len(gold.source))


def test_fewer_errors_than_ibm_model_1(text: ParallelText, model: AlignmentModel) -> None:
    def errors(made: AlignmentModel) -> float:
        return alignment_error_rate(made.align(*arrays(text)), text.links)

    actual = errors(model)
    alone = errors(train(*arrays(text), agreement=False))
    simple = min(errors(train(*arrays(text), iterations=(n, 0), agreement=a)) for n, a in ((5, True), (10, False)))
    assert actual < 0.06
    assert actual < alone < simple
    assert simple > 0.1


def test_aligning_new_sentences_of_the_same_languages(text: ParallelText) -> None:
    new = simulate_parallel_text(400, words=800, seed=1)
    vocabularies = ([f"{side}{word}" for word in range(2000)] for side in "st")
    model = train(*arrays(text), **dict(zip(("source_vocabulary", "target_vocabulary"), vocabularies, strict=True)))
    assert alignment_error_rate(model.align(*arrays(new)), new.links) < 0.12


def test_threads_and_batches_change_nothing(
    text: ParallelText, model: AlignmentModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.save(tmp_path / "a")
    with threads.using(1):
        train(*arrays(text)).save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    monkeypatch.setattr(alignment_pairs, "_BATCH", 5000)
    again = train(*arrays(text))
    np.testing.assert_allclose(again.log_likelihood, model.log_likelihood, rtol=1e-10)
    np.testing.assert_allclose(again.tables.jumps, model.tables.jumps, rtol=1e-6, atol=1e-12)
    first, second = (item.align(*arrays(text)) for item in (again, model))
    assert first.source.tolist() == second.source.tolist()
    assert first.offsets.tolist() == second.offsets.tolist()


def test_one_pair_alone_is_aligned_as_among_others(text: ParallelText, model: AlignmentModel) -> None:
    together = model.align(*arrays(text))
    for pair in (0, 700, 1499):
        source, target = (
            values[offsets[pair] : offsets[pair + 1]]
            for values, offsets in ((text.source, text.source_offsets), (text.target, text.target_offsets))
        )
        alone = model.align(source, [0, len(source)], target, [0, len(target)])
        assert alone.of(0) == together.of(pair)


WORDS = ["das haus ist klein", "das buch ist alt", "ein haus", "ein altes buch", "anna liest ein buch"]
TRANSLATED = ["the house is small", "the book is old", "a house", "an old book", "anna reads a book"]


def tokenise(sentences: list[str]) -> tuple[list[int], list[int], list[str]]:
    words = sorted({word for sentence in sentences for word in sentence.split()})
    return *csr([[words.index(word) for word in sentence.split()] for sentence in sentences]), words


def learn() -> AlignmentModel:
    source, target = tokenise(WORDS * 3), tokenise(TRANSLATED * 3)
    return train(*source[:2], *target[:2], source_vocabulary=source[2], target_vocabulary=target[2])


def links(made: AlignmentModel, source: str, target: str) -> list[tuple[str, str]]:
    first, second = tokenise([source]), tokenise([target])
    result = made.align(*first[:2], *second[:2], source_vocabulary=first[2], target_vocabulary=second[2])
    return [(source.split()[i], target.split()[j]) for i, j in result.of(0)]


def test_words_not_their_numbers_count() -> None:
    assert links(learn(), "ein haus ist klein", "a house is small") == [
        ("ein", "a"),
        ("haus", "house"),
        ("ist", "is"),
        ("klein", "small"),
    ]


def test_unseen_words_link_to_their_like_and_else_to_what_nothing_explains() -> None:
    model = learn()
    assert ("2012", "2012") in links(model, "2012 ist das haus alt", "the house is old 2012")
    assert ("katze", "cat") in links(model, "das buch ist klein katze", "the book is small cat")
    assert not [link for link in links(model, "das haus ist klein", "the xyz house is small") if "xyz" in link]


def test_an_empty_side_has_no_links() -> None:
    model = learn()
    assert links(model, "", "the house") == links(model, "das haus", "") == []
    nothing = model.align([], [0], [], [0])
    assert len(nothing) == 0


def test_a_lower_threshold_finds_more(text: ParallelText, model: AlignmentModel) -> None:
    sizes = [len(model.align(*arrays(text), threshold=item).source) for item in (0.9, 0.5, 0.1)]
    assert sizes[0] < sizes[1] < sizes[2]
    result = model.align(*arrays(text))
    for positions in (result.source, result.target):
        pair = np.repeat(np.arange(len(result)), np.diff(result.offsets))
        assert len(np.unique(pair * 1000 + positions)) == len(positions)


def test_saved_and_loaded(tmp_path: Path) -> None:
    model = learn()
    odd = dataclasses.replace(model, source_vocabulary=("\ud83d", "ü", *model.source_vocabulary[2:]), text={"a": True})
    for item in (model, odd):
        item.save(tmp_path / "model")
        loaded = AlignmentModel.load(tmp_path / "model")
        for name in ("null_probability", "iterations", "agreement", "pairs", "source_vocabulary", "text"):
            assert getattr(loaded, name) == getattr(item, name)
        for actual, expected in zip(loaded.tables, item.tables, strict=True):
            assert actual.dtype == expected.dtype
            assert actual.tolist() == expected.tolist()
        assert loaded.log_likelihood.tolist() == item.log_likelihood.tolist()
        loaded.save(tmp_path / "again")
        assert (tmp_path / "model").read_bytes() == (tmp_path / "again").read_bytes()


def test_a_model_of_numbers_aligns_no_words(text: ParallelText, model: AlignmentModel) -> None:
    with pytest.raises(ModelError, match="trained on word ids only"):
        model.align([0], [0, 1], [0], [0, 1], source_vocabulary=["a"], target_vocabulary=["b"])
    with pytest.raises(OptionError, match="only one of source_vocabulary and target_vocabulary"):
        model.align([0], [0, 1], [0], [0, 1], source_vocabulary=["a"])


def test_files_that_are_no_aligner(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with pytest.raises(ModelError, match="no such aligner; train one with: ranker align train"):
        AlignmentModel.load(path)
    write_model(path, StoredModel({"kind": "ranker"}, {}), "")
    with pytest.raises(ModelError, match="is not a word aligner"):
        AlignmentModel.load(path)
    path.write_bytes(b"text")
    with pytest.raises(ModelError, match="is not a model file"):
        AlignmentModel.load(path)


DAMAGE = {
    "columns": lambda item: item + 1000,
    "offsets": lambda item: item[::-1].copy(),
    "forward": lambda item: item[:-1],
    "backward": lambda item: -item,
    "null_source": lambda item: item[:-1],
    "null_target": lambda item: item * np.nan,
    "jumps": lambda item: item[:, :-1],
}


@pytest.mark.parametrize("name", [*DAMAGE, "missing", "utf8", "number"])
def test_models_whose_parts_do_not_fit(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model"
    learn().save(path)
    stored = read_model(path)
    model, parts = dict(stored.model), {name: dict(group) for name, group in stored.arrays.items()}
    if name == "missing":
        del parts["source"]
    elif name == "utf8":
        parts["target"]["utf8"] = parts["target"]["utf8"] | np.uint8(0xF8)
    elif name == "number":
        model["pairs"] = "many"
    else:
        parts["tables"][name] = DAMAGE[name](parts["tables"][name])
    write_model(path, StoredModel(model, parts), "")
    with pytest.raises(ModelError, match=r"train (it|the aligner) again|train or copy it again"):
        AlignmentModel.load(path)


GOOD = ([0, 1, 2], [0, 2, 3], [0, 1], [0, 1, 2])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({1: [0, 3, 3]}, "pair 2: the source sentence is empty; remove the pair"),
        ({3: [0, 0, 2]}, "pair 1: the target sentence is empty; remove the pair"),
        ({0: [], 1: [0], 2: [], 3: [0]}, "no sentence pairs to train on"),
        (
            {0: np.zeros(5000), 1: [0, 1, 5000], 2: np.zeros(5000), 3: [0, 1, 5000]},
            "pair 2: sentences of 4,999 and 4,999 words are too long to align; split or remove them",
        ),
    ],
)
def test_pairs_that_cannot_be_learnt_from(change: dict[int, list[int]], says: str) -> None:
    with pytest.raises(DataError, match=says):
        train(*(change.get(place, item) for place, item in enumerate(GOOD)))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"iterations": (0, 0)}, "expected two numbers of at least 0, not both 0"),
        ({"iterations": (5, -1)}, "expected two numbers of at least 0"),
        ({"null_probability": 0.0}, "null_probability=0.0: expected a number between 0 and 1"),
        ({"null_probability": 1.0}, "null_probability=1.0"),
    ],
)
def test_options_out_of_range(options: dict[str, object], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        train(*GOOD, **options)  # type: ignore[arg-type]


def test_words_outside_the_vocabulary_and_thresholds(model: AlignmentModel) -> None:
    with pytest.raises(DataError, match="pair 1: found source word number 99999, expected one below 800"):
        model.align([99999], [0, 1], [0], [0, 1])
    with pytest.raises(DataError, match="pair 2: found source word number 2, expected one below 2"):
        train(*GOOD, source_vocabulary=["a", "b"], target_vocabulary=["a", "b"])
    for threshold in (0.0, 1.5, float("nan")):
        with pytest.raises(OptionError, match="expected a number above 0 and at most 1"):
            model.align([0], [0, 1], [0], [0, 1], threshold=threshold)


def bucket(jump: int) -> int:
    return min(max(jump, -REACH - 1), REACH + 1) + REACH + 1


def plain_hmm(
    lexical: np.ndarray, null: np.ndarray, jumps: np.ndarray, p0: float
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Forward-backward over states (last word's state that was not null, null or not), from the definition."""
    observed, states = lexical.shape
    memories = range(-1, states)
    jump = {k: np.array([jumps[bucket(i - k)] for i in range(states)]) for k in memories}
    move = {k: (1 - p0) * jump[k] / jump[k].sum() for k in memories}
    ahead = np.zeros((observed + 1, states + 1))
    ahead[0, 0] = 1
    for j, k in itertools.product(range(observed), memories):
        ahead[j + 1, k + 1] += ahead[j, k + 1] * p0 * null[j]
        ahead[j + 1, 1:] += ahead[j, k + 1] * move[k] * lexical[j]
    after = np.zeros((observed + 1, states + 1))
    after[observed] = 1
    for j, k in itertools.product(range(observed - 1, -1, -1), memories):
        after[j, k + 1] = after[j + 1, k + 1] * p0 * null[j] + (move[k] * lexical[j] * after[j + 1, 1:]).sum()
    total = after[0, 0]
    posterior, counts, exposures = np.zeros((observed, states)), np.zeros(JUMPS), np.zeros(JUMPS)
    for j, k in itertools.product(range(observed), memories):
        step = ahead[j, k + 1] * move[k] * lexical[j] * after[j + 1, 1:] / total
        posterior[j] += step
        for i in range(states):
            counts[bucket(i - k)] += step[i]
            exposures[bucket(i - k)] += step.sum() / jump[k].sum()
    nulls = [(ahead[j] * p0 * null[j] * after[j + 1]).sum() / total for j in range(observed)]
    return np.log(total), posterior, np.array(nulls), counts, exposures


@pytest.mark.parametrize(("observed", "states"), [(1, 1), (3, 2), (4, 3), (5, REACH + 1), (7, 3 * REACH + 2)])
def test_the_hmm_is_its_definition(observed: int, states: int) -> None:
    random = np.random.default_rng(states)
    lexical, null, jumps = random.random((observed, states)), random.random(observed), random.random(JUMPS)
    jumps[REACH + 3] = 0.0
    posterior, nulls, counts, exposures = np.empty_like(lexical), np.empty(observed), np.zeros(JUMPS), np.zeros(JUMPS)
    result = hmm(lexical, null, jumps, 0.2, posterior, nulls, counts, exposures)
    expected = plain_hmm(lexical, null, jumps, 0.2)
    for actual, peer in zip((result, posterior, nulls, counts, exposures), expected, strict=True):
        np.testing.assert_allclose(actual, peer, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(posterior.sum(axis=1) + nulls, 1, rtol=1e-12)


def test_ibm_model_1_is_the_hmm_of_equal_jumps() -> None:
    random = np.random.default_rng(0)
    lexical, null = random.random((9, 30)), random.random(9)
    result = [(np.empty_like(lexical), np.empty(9)) for _ in range(2)]
    equal = np.full(JUMPS, 0.3)
    joined = (
        ibm1(lexical, null, 0.1, *result[0]),
        hmm(lexical, null, equal, 0.1, *result[1], np.zeros(JUMPS), np.zeros(JUMPS)),
    )
    assert joined[0] == pytest.approx(joined[1], rel=1e-12)
    np.testing.assert_allclose(result[0][0], result[1][0], rtol=1e-12)
    np.testing.assert_allclose(result[0][1], result[1][1], rtol=1e-12)


def test_a_long_sentence_does_not_underflow() -> None:
    lexical, null = np.full((3000, 40), 1e-30), np.full(3000, 1e-30)
    posterior, nulls = np.empty_like(lexical), np.empty(3000)
    result = hmm(lexical, null, np.ones(JUMPS), 0.1, posterior, nulls, np.zeros(JUMPS), np.zeros(JUMPS))
    assert result == pytest.approx(3000 * np.log(1e-30), rel=1e-9)
    np.testing.assert_allclose(posterior.sum(axis=1) + nulls, 1, rtol=1e-9)
