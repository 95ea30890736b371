from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranker.errors import OptionError
from ranker.extractors.registry import make
from tests import golden_values
from tests.datasets import dataset_of
from tests.effort import examples
from tests.golden_values import SHARED_ONLY

METRICS = {
    "rouge-1": "rouge_n[order=1",
    "rouge-2": "rouge_n[order=2",
    "rouge-3": "rouge_n[order=3",
    "rouge-4": "rouge_n[order=4",
    "rouge-l": "rouge_l[lowercase=true",
    "rouge-w-1.2": "rouge_w[weight=1.2",
    "rouge-s4": "rouge_s[distance=4",
    "rouge-su4": "rouge_su[distance=4",
    "rouge-s*": "rouge_s[distance=-1",
    "rouge-su*": "rouge_su[distance=-1",
}
DIRECT = {
    "s4": "rouge_s[distance=4",
    "su4_allunigrams": "rouge_su[last=true,distance=4",
    "s_inf": "rouge_s[distance=-1",
    "su_inf_allunigrams": "rouge_su[last=true,distance=-1",
    "s0": "rouge_s[distance=0",
    "s9": "rouge_s[distance=9",
}
MEASURES = {"p": "precision", "r": "recall", "f": "f"}


def read(path) -> dict[str, dict[str, str]]:
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    rows = csv.DictReader(raw.decode("utf-8").split("\n"), delimiter="\t", quoting=csv.QUOTE_NONE)
    return {row["id"]: row for row in rows}


@pytest.fixture(scope="module")
def inputs(golden) -> list[dict]:
    return golden_values.inputs(golden)


@pytest.fixture(scope="module")
def datasets(inputs):
    """First reference only, and all references."""
    tokenised = [(item["refs_tok"], item["hyp_tok"]) for item in inputs]
    return {
        "ref0": dataset_of([(references[:1], text) for references, text in tokenised]),
        "best": dataset_of(tokenised),
    }


@pytest.fixture(scope="module")
def expected(golden):
    return read(golden / "rouge.tsv.gz")


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("references", ["ref0", "best"])
def test_equals_pyrouge(inputs, datasets, expected, references, name, measure):
    metric = make(f"{METRICS[name]},tokenizer=none,measure={MEASURES[measure]}]")
    scores = metric.transform(datasets[references])[:, 0]
    column = f"pyrouge.{references}.{name}.{measure}"
    wanted = [float(expected[item["id"]][column]) for item in inputs]
    np.testing.assert_allclose(scores, wanted, atol=1e-9, rtol=0)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("name", DIRECT)
def test_equals_the_formula_for_skip_bigrams(inputs, datasets, expected, name, measure):
    metric = make(f"{DIRECT[name]},tokenizer=none,measure={MEASURES[measure]}]")
    scores = metric.transform(datasets["ref0"])[:, 0]
    wanted = [float(expected[item["id"]][f"direct.ref0.{name}.{measure}"]) for item in inputs]
    np.testing.assert_allclose(scores, wanted, atol=1e-9, rtol=0)


@SHARED_ONLY
def test_a_corpus_scores_the_mean_of_its_segments(golden, datasets):
    wanted = json.loads((golden / "rouge.corpus.json").read_text())["mean_over_segments"]
    for name, text in METRICS.items():
        metric = make(f"{text},tokenizer=none]")
        rows = metric.statistics(datasets["ref0"])
        assert metric.score(rows.sum(axis=0)) == pytest.approx(wanted[f"pyrouge.ref0.{name}.f"], abs=1e-9)


@pytest.mark.parametrize("case", ["lc", "cased"])
def test_gtm_equals_the_formula_for_words(golden, inputs, datasets, case):
    rows = read(golden / "gtm_e1.tsv")
    for measure, name in MEASURES.items():
        metric = make(f"gtm[tokenizer=none,measure={name},lowercase={'true' if case == 'lc' else 'false'}]")
        scores = metric.transform(datasets["ref0"])[:, 0]
        wanted = [float(rows[item["id"]][f"{case}.{measure}.ref0"]) for item in inputs]
        np.testing.assert_allclose(scores, wanted, atol=1e-9, rtol=0)
    best = make(f"gtm[tokenizer=none,lowercase={'true' if case == 'lc' else 'false'}]").transform(datasets["best"])
    wanted = [float(rows[item["id"]][f"{case}.f.bestref"]) for item in inputs]
    np.testing.assert_allclose(best[:, 0], wanted, atol=1e-9, rtol=0)


def test_gtm_rewards_long_runs():
    dataset = dataset_of([(["a b c d e f"], "a b c x e f")])
    size = (3**2 + 2**2) ** 0.5
    assert make("gtm[exponent=2,measure=precision]").transform(dataset)[0, 0] == pytest.approx(size / 6)
    assert make("gtm").transform(dataset)[0, 0] == pytest.approx(5 / 6)


def plain_skip_bigrams(words: list[str], distance: int) -> Counter:
    pairs = combinations(range(len(words)), 2)
    return Counter((words[i], words[j]) for i, j in pairs if distance < 0 or j - i - 1 <= distance)


def plain_lcs(one: list[str], other: list[str]) -> int:
    best = [[0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            best[i + 1][j + 1] = best[i][j] + 1 if a == b else max(best[i][j + 1], best[i + 1][j])
    return best[-1][-1]


words = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=9)


@settings(deadline=None, max_examples=examples(80))
@given(words, words, st.integers(-1, 4))
def test_kernels_equal_plain_python(candidate, reference, distance):
    dataset = dataset_of([([" ".join(reference)], " ".join(candidate))])
    left, right = plain_skip_bigrams(candidate, distance), plain_skip_bigrams(reference, distance)
    matched = sum((left & right).values())
    columns = make(f"rouge_s[distance={distance},measure=recall]").transform(dataset)[0, 0]
    assert columns == pytest.approx(matched / right.total() if right else 0)
    columns = make("rouge_l[measure=precision]").transform(dataset)[0, 0]
    assert columns == pytest.approx(plain_lcs(candidate, reference) / len(candidate) if candidate else 0)
    columns = make("gtm[measure=precision]").transform(dataset)[0, 0]
    common = sum((Counter(candidate) & Counter(reference)).values())
    assert columns == pytest.approx(common / len(candidate) if candidate else 0)


@pytest.mark.parametrize(
    "text",
    [
        "rouge_n[order=0]",
        "rouge_w[weight=0.5]",
        "rouge_s[distance=-2]",
        "gtm[exponent=0]",
        "gtm[exponent=99999999999]",
        "gtm[exponent=51]",
    ],
)
def test_options_out_of_range(text):
    with pytest.raises(OptionError, match="expected"):
        make(text)


def test_the_largest_exponent_overflows_nothing():
    text = "a " * 2000
    assert make("gtm[exponent=50]")([text], [text]).corpus == pytest.approx(1)
