from __future__ import annotations

import csv

import numpy as np
import pytest

from ranker.corpora.formats.pharaoh import attach_all
from ranker.corpora.records import Candidate, Record, assemble
from ranker.errors import DataError, OptionError
from ranker.extractors.order.aligner import align_dataset, learn_aligner
from ranker.extractors.order.lrscore import LRscore
from ranker.extractors.order.source_orders import bilingual_orders
from ranker.extractors.registry import make, make_metric
from tests.datasets import dataset_of, with_alignments


def words(number: int) -> str:
    return " ".join(f"w{i}" for i in range(number))


def aligned_dataset(items, candidate_links, reference_links, language_pairs=None):
    """Make a data set of (source, references, candidates) with alignments of all candidates and of all references."""
    left, right = iter(candidate_links), iter(reference_links)
    records = []
    for (source, references, candidates), lp in zip(items, language_pairs or [None] * len(items), strict=True):
        sides = [Candidate(f"s{i}", text, alignment=next(left)) for i, text in enumerate(candidates)]
        records.append(Record(source, references, sides, lp=lp, reference_alignments=[next(right) for _ in references]))
    return assemble(records, "test")


@pytest.fixture(scope="module")
def expected(golden) -> list[dict[str, str]]:
    path = golden / "lrscore_alignments.tsv"
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.fixture(scope="module")
def aligned(expected):
    items = [(words(int(row["n"])), [words(int(row["ref_len"]))], [words(int(row["hyp_len"]))]) for row in expected]
    return aligned_dataset(items, *([row[f"{side}_align"] for row in expected] for side in ("hyp", "ref")))


@pytest.mark.parametrize("distance", ["hamming", "kendall_sqrt"])
def test_order_scores_equal_moses(expected, aligned, distance):
    rows = LRscore(distance=distance, alpha=1.0, tokenizer="none").statistics(aligned)
    wanted = [float(row[f"{distance}_x_bp"]) for row in expected]
    assert len(wanted) > 50
    np.testing.assert_allclose(rows[:, 1], wanted, atol=1e-9, rtol=0)
    moses = [float(row[f"moses_{distance.removesuffix('_sqrt')}_BP"]) for row in expected]
    np.testing.assert_allclose(rows[:, 1], moses, atol=1e-7, rtol=0)


def test_the_literal_rule_for_words_without_link(expected, aligned):
    rows = LRscore(distance="hamming", alpha=1.0, rule="plus-one").statistics(aligned)
    wanted = []
    for row in expected:
        orders = zip(row["perm_hyp_plus1rule"].split(), row["perm_ref_plus1rule"].split(), strict=True)
        wanted.append(np.mean([left == right for left, right in orders]) * float(row["bp"]))
    np.testing.assert_allclose(rows[:, 1], wanted, atol=1e-9, rtol=0)
    assert any(row["plus1_differs"] == "1" for row in expected)


def test_the_system_score_is_the_mean_order_beside_the_corpus_bleu(expected, aligned):
    metric = LRscore(distance="hamming", alpha=0.3, lexical="bleu[order=1,smoothing=add-one]", tokenizer="none")
    bleu = make_metric("bleu[order=1,smoothing=add-one]")
    lexical = bleu.score(bleu.statistics(aligned).sum(axis=0))
    order = np.mean([float(row["hamming_x_bp"]) for row in expected])
    result = metric.score(metric.statistics(aligned).sum(axis=0))
    assert result == pytest.approx(0.3 * order + 0.7 * lexical, abs=1e-12)


VARIANTS = {
    "lrscore[distance=hamming,lexical=bleu[order=1,smoothing=add-one]]": ("hamming", 1),
    "lrscore[distance=hamming]": ("hamming", 4),
    "lrscore[lexical=bleu[order=1,smoothing=add-one]]": ("kendall_sqrt", 1),
    "lrscore": ("kendall_sqrt", 4),
}


@pytest.mark.parametrize("notation", VARIANTS)
def test_the_papers_variants_have_a_notation(notation):
    metric = make(notation)
    distance, order = VARIANTS[notation]
    assert str(metric) == notation
    assert metric.distance == distance
    items = [("x y z", ["a b c d"], ["b a d", "a c d e"])]
    dataset = aligned_dataset(items, ["0-1 1-0 2-2", "0-0 1-1 2-2"], ["0-0 1-1 2-3"])
    bleu = make_metric(f"bleu[order={order},smoothing=add-one]")
    lexical = bleu.score(bleu.statistics(dataset))
    distances = {"hamming": [1 / 3, 1], "kendall_sqrt": [1 - np.sqrt(1 / 3), 1]}[distance]
    wanted = 0.5 * np.array(distances) * [np.exp(1 - 4 / 3), 1] + 0.5 * lexical
    np.testing.assert_allclose(metric.score(metric.statistics(dataset)), wanted, atol=1e-12)


def test_any_lexical_metric_stands_in_with_its_own_tokens():
    dataset = aligned_dataset([("x y", ["A b"], ["a b"])], ["0-0 1-1"], ["0-0 1-1"])
    chrf = make_metric("chrf[lowercase=true]")
    assert chrf.transform(dataset)[0, 0] == 1
    metric = make_metric("lrscore[alpha=0.25,lexical=chrf[lowercase=true]]")
    assert metric.score(metric.statistics(dataset))[0] == pytest.approx(1)


def test_error_rates_count_as_one_minus_themselves():
    dataset = aligned_dataset([("x y", ["a b c d"], ["a b c e"])], ["0-0 1-1"], ["0-0 1-1"])
    metric = make_metric("lrscore[alpha=0,lexical=wer]")
    assert metric.score(metric.statistics(dataset))[0] == pytest.approx(1 - 1 / 4)


def test_the_closest_reference_counts():
    items = [("x y z", ["a b c", "c b a f"], ["c b a"])]
    reversed_links, monotone = "0-2 1-1 2-0", "0-0 1-1 2-2"
    dataset = aligned_dataset(items, [reversed_links], [monotone, reversed_links])
    assert LRscore(alpha=1.0).statistics(dataset)[0, 1] == 1
    alone = aligned_dataset([("x y z", ["a b c"], ["c b a"])], [reversed_links], [monotone])
    assert LRscore(alpha=1.0).statistics(alone)[0, 1] == 0


def test_theta_takes_the_reordering_of_each_language_pair():
    items = [("x y z", ["a b c"], ["a b c", "b a c"]), ("x y", ["b a"], ["a b"]), ("x y", ["a b"], ["a b"])]
    monotone, swapped = "0-0 1-1", "0-1 1-0"
    dataset = aligned_dataset(
        items,
        [f"{monotone} 2-2"] * 2 + [monotone] * 2,
        [f"{monotone} 2-2", swapped, monotone],
        ["cs-en", "de-en", "de-en"],
    )
    assert bilingual_orders(dataset).monotonicity(dataset) == {"cs-en": 1.0, "de-en": 0.5}
    metric = LRscore(theta=0.09).fit(dataset)
    assert metric.alphas == pytest.approx({"cs-en": 0.09, "de-en": 0.3})
    rows = metric.statistics(dataset)
    np.testing.assert_allclose(rows[:, 0], [0.09, 0.09, 0.3, 0.3])
    fixed = LRscore(alpha=0.3)
    second = fixed.score(fixed.statistics(dataset)[2:].sum(axis=0))
    assert metric.score(rows[2:].sum(axis=0)) == pytest.approx(second, abs=1e-12)


def test_orders_can_come_from_exact_matches():
    dataset = dataset_of([(["a b c d"], "b a c")])
    metric = make_metric("lrscore[alpha=1,alignment=isozaki]")
    wanted = (1 - np.sqrt(1 / 3)) * np.exp(1 - 4 / 3)
    assert metric.transform(dataset)[0, 0] == pytest.approx(wanted)


@pytest.fixture
def bare():
    """Two sources with two references and two systems."""
    return dataset_of(
        [(["a b c", "b a c"], ["a c b", "c a"]), (["d e", "e d"], ["e d", "d"])], sources=["x y z", "u v"]
    )


@pytest.fixture
def attached(bare):
    """The same with alignments in Pharaoh format."""
    return with_alignments(
        bare,
        [["0-0 1-1 2-2", "0-0 1-1"], ["0-1 1-0 2-2", "0-1 1-0"]],
        {"s0": ["0-0 1-2 2-1", "0-1 1-0"], "s1": ["0-1 2-0", "0-0"]},
    )


@pytest.mark.parametrize("distance", ["hamming", "kendall_sqrt"])
def test_alignments_that_come_with_the_data(attached, distance):
    columns = make_metric(f"lrscore[alpha=1,distance={distance}]").transform(attached)[:, 0]
    # s1 of the first source: x and y follow z, y behind x; that is 1 2 0 against 0 1 2 and 1 0 2
    hamming = [1 / 3, 1 / 3, 1, 1]
    kendall = [1 - np.sqrt(1 / 3), 1 - np.sqrt(2 / 3), 1, 1]
    brevity = [1, np.exp(1 - 3 / 2), 1, np.exp(1 - 2)]
    wanted = np.array(hamming if distance == "hamming" else kendall) * brevity
    np.testing.assert_allclose(columns, wanted, atol=1e-12)
    alone = make_metric(f"{distance}[alignment=bilingual]").transform(attached)[:, 0]
    np.testing.assert_allclose(alone, wanted, atol=1e-12)
    without = make_metric(f"{distance}[alignment=bilingual,brevity=false]").transform(attached)[:, 0]
    np.testing.assert_allclose(without, wanted / brevity, atol=1e-12)


def test_selecting_candidates_keeps_their_scores(attached):
    metric = make_metric("lrscore[theta=0.5]")
    few = attached.select_candidates([False, True, False, True])
    assert metric.fit(few).transform(few).tolist() == metric.fit(attached).transform(attached)[[1, 3]].tolist()


def test_an_aligner_fills_what_is_missing(bare, attached, tmp_path):
    aligner = learn_aligner(attached, candidates=True)
    aligner.save(tmp_path / "model.align")
    metric = LRscore(alpha=1.0, aligner=str(tmp_path / "model.align"))
    filled = attach_all(bare, align_dataset(aligner, bare))
    assert metric.transform(bare).tolist() == LRscore(alpha=1.0).transform(filled).tolist()
    # an alignment that is given stays
    assert metric.transform(attached).tolist() == LRscore(alpha=1.0).transform(attached).tolist()
    half = with_alignments(bare, [["0-0 1-1 2-2", "0-0 1-1"]], {"s0": ["0-2 1-1 2-0", "0-1 1-0"]})
    first = bilingual_orders(half, aligner=metric.aligner).source_ranks[:3]
    assert first.tolist() == [2, 1, 0]
    with pytest.raises(OptionError, match="set tokenizer=13a"):
        LRscore(aligner=metric.aligner, tokenizer="none").transform(half)


def test_what_is_missing_is_named():
    bare = dataset_of([(["a b"], "a b")], sources=["x y"])
    with pytest.raises(
        DataError, match=r"test\[1\]: no word alignment of system 's0' with the source: give alignments"
    ):
        make_metric("lrscore").transform(bare)
    aligned_candidates = with_alignments(bare, candidates={"s0": ["0-0"]})
    with pytest.raises(DataError, match="no word alignment of a reference"):
        make_metric("pef[alignment=bilingual]").transform(aligned_candidates)


def test_an_aligner_is_of_one_language_pair(tmp_path):
    joined = dataset_of([(["a b"], "a b")] * 2, lp=["cs-en", "de-en"])
    with pytest.raises(DataError, match="contains the language pairs cs-en, de-en; an aligner is for one"):
        LRscore(aligner=str(tmp_path / "none")).transform(joined)


def test_empty_candidates_have_no_order_score():
    dataset = aligned_dataset([("x y", ["a b"], ["", "a"])], ["", "0-0"], ["0-0 1-1"])
    assert LRscore(alpha=1.0).statistics(dataset)[:, 1].tolist() == [0, pytest.approx(np.exp(-1))]
    assert LRscore().score(np.zeros(LRscore().width)) == 0


def test_links_must_fit_the_translations():
    items = [("x y", ["a"], ["a"])]
    with pytest.raises(DataError, match="link 2-0 is out of range: the source sentence has 2 words"):
        LRscore().transform(aligned_dataset(items, ["2-0"], ["0-0"]))
