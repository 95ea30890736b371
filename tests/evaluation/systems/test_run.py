from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
import sacrebleu

from ranker.corpora import catalogue
from ranker.corpora.dataset import Dataset, concatenate_datasets
from ranker.corpora.records import Candidate, Record, assemble
from ranker.errors import DataError, OptionError
from ranker.evaluation.systems.human_ranking import rank_systems
from ranker.evaluation.systems.levels import Units
from ranker.evaluation.systems.run import compare_systems
from ranker.extractors.registry import make_metric
from ranker.ranking.ranker import Ranker
from ranker.ranking.scorers import make_scorer
from tests.datasets import dataset_of
from tests.effort import thorough
from tests.evaluation.made import graded
from tests.golden_messages import check_messages

WORDS = [f"w{number}" for number in range(40)]


def made(systems: dict[str, float], sources: int = 60, lp: str = "de-en", seed: int = 0) -> Dataset:
    """Make a data set of systems that get each word of the reference wrong with a probability of their own."""
    generator = np.random.default_rng(seed)
    records = []
    for _ in range(sources):
        reference = generator.choice(WORDS, size=12)
        candidates = []
        for name, error in systems.items():
            wrong = generator.random(12) < error
            candidates.append(Candidate(name, " ".join(np.where(wrong, "x", reference))))
        records.append(Record("s", [" ".join(reference)], candidates, lp=lp))
    return assemble(records, "made")


def scorers(*names):
    return {name: make_scorer(name, None) for name in names}


SYSTEMS = {"bad": 0.5, "good": 0.1, "fair": 0.25, "also fair": 0.25}


def test_metrics_and_rankers_are_given_by_name_or_as_they_are_and_data_in_any_form():
    frame = made(SYSTEMS, sources=40).to_frame()
    result = compare_systems(frame, ["bleu", make_metric("ter")], resamples=20)
    by_scorer = compare_systems(frame, scorers("bleu", "ter"), resamples=20)
    assert result.comparisons == by_scorer.comparisons
    with pytest.raises(OptionError, match="'bleu' is given twice"):
        compare_systems(frame, ["bleu", "bleu"])
    with pytest.raises(OptionError, match="did you mean 'bleu'"):
        compare_systems(frame, ["bley"])
    with pytest.raises(OptionError, match="resamples: expected a whole number from 1, found 0"):
        compare_systems(frame, ["bleu"], resamples=0)
    with pytest.raises(OptionError, match="seed: expected a whole number from 0, found -1"):
        compare_systems(frame, ["bleu"], seed=-1)


def test_a_mapping_names_scorers_that_are_given_in_any_form():
    data = made(SYSTEMS, sources=40)
    result = compare_systems(data, {"B": "bleu", 2: make_metric("ter")}, resamples=20)
    by_name = compare_systems(data, ["bleu", "ter"], resamples=20)
    assert [metric.name for metric in result.metrics] == ["B", "2"]
    assert result.to_frame()["score"].equals(by_name.to_frame()["score"])
    with pytest.raises(OptionError, match="expected a metric or ranker, found none"):
        compare_systems(data, [])


def test_known_statistics_have_a_row_for_each_candidate():
    data = made({"A": 0.1, "B": 0.2}, sources=40)
    rows = make_metric("bleu").statistics(data)
    known = compare_systems(data, ["bleu"], statistics={"bleu": rows}, resamples=20)
    assert known.comparisons == compare_systems(data, ["bleu"], resamples=20).comparisons
    for statistics, found in (
        ({"bleu": rows[:3]}, "3 rows"),
        ({"bleu": np.tile(rows, (2, 1))}, "160 rows"),
        ({}, "none"),
    ):
        with pytest.raises(DataError, match=f"statistics of bleu: expected a row for each of 80 .*, found {found}"):
            compare_systems(data, ["bleu"], statistics=statistics)


@pytest.mark.parametrize("value", [0, 1, 1.5, -0.1, float("nan"), "a", None])
@pytest.mark.parametrize("option", ["alpha", "power"])
def test_shares_are_between_0_and_1(option, value):
    with pytest.raises(OptionError, match=f"{option}: expected a number between 0 and 1, found {value!r}"):
        compare_systems(made({"A": 0.1, "B": 0.2}, sources=3), ["bleu"], **{option: value})


@thorough
def test_a_ranker_is_called_as_its_file(tmp_path):
    ranker = Ranker("bleu", C=0.01).fit(catalogue.load("sample"))
    ranker.save(tmp_path / "mine.model")
    result = compare_systems("sample", [tmp_path / "mine.model", ranker, "full-any"], resamples=20)
    assert [metric.name for metric in result.metrics] == ["mine.model", "ranker", "full-any"]


@pytest.mark.parametrize("test", ["bs", "ar"])
def test_systems_are_sorted_and_clustered_by_significance(test):
    result = compare_systems(made(SYSTEMS), scorers("bleu", "ter"), test=test, resamples=300)
    assert [item.metric for item in result.comparisons] == ["bleu", "ter"]
    for comparison in result.comparisons:
        assert comparison.baseline == "bad"
        assert [each.system for each in comparison.systems][::3] == ["good", "bad"]
        assert [each.cluster for each in comparison.systems] == [1, 2, 2, 3]
        assert [(each.low, each.high) for each in comparison.systems] == [(1, 1), (2, 3), (2, 3), (4, 4)]
        assert [each.rank for each in comparison.systems] == [1, 2, 3, 4]
        sign = 1 if comparison.metric == "bleu" else -1
        for each in comparison.systems[:3]:
            assert sign * each.difference.value > 0
            assert each.difference.low < each.difference.value < each.difference.high
            assert each.p <= each.adjusted < 0.05
            assert each.score.low < each.score.value < each.score.high
        last = comparison.systems[3]
        assert (last.difference, last.p, last.adjusted, last.needed) == (None, None, None, None)
        assert len(comparison.pairs) == 6
        near, far = comparison.pairs[3], comparison.pairs[2]
        assert {near.better, near.worse} == {"fair", "also fair"}
        assert far.needed < 60 < near.needed
        assert comparison.ahead(0.05) == {(each.better, each.worse) for each in comparison.pairs} - {
            (near.better, near.worse)
        }


@pytest.mark.parametrize("parity", [None, "sacrebleu"])
@pytest.mark.parametrize("test", ["bs", "ar"])
def test_the_order_of_systems_changes_nothing_and_the_seed_does(test, parity):
    data = made(SYSTEMS, sources=30)
    settings = {"test": test, "resamples": 100, "baseline": "fair", "parity": parity}
    turned = made(SYSTEMS, sources=30)
    order = np.lexsort((-np.arange(len(turned)), turned.candidate_source))
    turned = dataclasses.replace(turned, candidates=turned.candidates.iloc[order].reset_index(drop=True))
    assert turned.candidates["system"][0] == "also fair"
    result, right = (compare_systems(left, scorers("chrf"), **settings) for left in (data, turned))
    assert right.comparisons == result.comparisons
    assert compare_systems(data, scorers("chrf"), **settings).document() == result.document()
    assert compare_systems(data, scorers("chrf"), seed=1, **settings).comparisons != result.comparisons


def test_identical_systems_share_a_rank_and_are_never_told_apart():
    items = [(["a b c d e"], ["a b c d e", "a b x d e", "a b x d e"]), (["f g h i"], ["f g h i", "f", "f"])] * 10
    result = compare_systems(dataset_of(items), scorers("bleu"), baseline="s1", resamples=200)
    first, *others = result.comparisons[0].systems
    assert (first.system, first.rank, first.high) == ("s0", 1, 1)
    assert [(other.system, other.rank, other.low, other.high) for other in others] == [("s1", 2, 2, 3), ("s2", 2, 2, 3)]
    assert (others[1].p, others[1].adjusted, others[1].needed, others[1].difference.value) == (1, 1, None, 0)


@thorough
def test_details_of_bleu_are_sacrebleus(sample):
    result = compare_systems(sample, scorers("bleu", "chrf"), resamples=2)
    names = sample.candidates["system"].to_numpy(object)
    references = sample.references["text"].to_numpy(object).reshape(120, -1).T.tolist()
    for system in result.comparisons[0].systems:
        texts = sample.candidates["text"].to_numpy(object)[names == system.system].tolist()
        wanted = sacrebleu.BLEU().corpus_score(texts, references)
        assert list(system.details) == [
            *(f"precision {order}" for order in (1, 2, 3, 4)),
            "brevity penalty",
            "length",
            "reference length",
        ]
        values = [*(precision / 100 for precision in wanted.precisions), wanted.bp, wanted.sys_len, wanted.ref_len]
        assert list(system.details.values()) == pytest.approx(values, abs=1e-12)
    assert result.comparisons[1].systems[0].details == {}
    empty = dataset_of([(["a"], ["", ""]), (["b"], ["", ""])])
    assert set(compare_systems(empty, scorers("bleu"), resamples=2).comparisons[0].systems[0].details.values()) == {
        0,
        2,
    }


def test_people_are_shown_where_they_judged(sample):
    result = compare_systems(sample, scorers("bleu", "ter"), resamples=50)
    assert result.human == rank_systems(sample, "fluency")
    assert result.people("zh-en")["sys1"].cluster == 1
    assert result.people("de-en") == {}
    for comparison in result.comparisons:
        assert comparison.judged == 7
        assert comparison.kendall == pytest.approx(19 / 21)
        assert 0.9 < comparison.pearson < 1
    unjudged = compare_systems(made(SYSTEMS), scorers("bleu"), resamples=50)
    assert (unjudged.human, unjudged.comparisons[0].judged) == ((), 0)
    human = graded(np.array([[1.0, 2.0], [2.0, 1.0]]))
    kinds = [human.ratings.assign(kind=kind) for kind in ("one", "two")]
    twice = dataclasses.replace(human, ratings=pd.concat(kinds, ignore_index=True).astype(human.ratings.dtypes))
    result = compare_systems(twice, scorers("bleu"), resamples=50)
    assert result.human == ()
    assert result.notes[0].startswith("no human ranking: test: several ratings could be the judgement: 'one', 'two'")
    with pytest.raises(DataError, match="no judgements of kind 'mqm'"):
        compare_systems(twice, scorers("bleu"), kind="mqm")


def test_language_pairs_are_compared_with_the_first_system_of_the_data():
    joined = concatenate_datasets([made({"B": 0.2, "A": 0.1}), made({"A": 0.2, "B": 0.1}, lp="fr-en")])
    assert {each.baseline for each in compare_systems(joined, scorers("bleu"), resamples=50).comparisons} == {"B"}


def test_a_language_pair_without_the_first_system_has_its_own_baseline():
    joined = concatenate_datasets([made({"A": 0.1, "B": 0.2}), made({"C": 0.2, "B": 0.1}, lp="fr-en")])
    result = compare_systems(joined, scorers("bleu"), resamples=50)
    assert [(comparison.lp, comparison.baseline, comparison.sources) for comparison in result.comparisons] == [
        ("de-en", "A", 60),
        ("fr-en", "C", 60),
    ]
    assert result.language_pairs == ("de-en", "fr-en")
    with pytest.raises(OptionError, match=r"--baseline: no system 'A' in made.* fr-en; available: 'B', 'C'"):
        compare_systems(joined, scorers("bleu"), baseline="A")
    with pytest.raises(OptionError, match=r"--baseline: no system 1 in made.* available: 'A', 'B'"):
        compare_systems(joined, scorers("bleu"), baseline=1)


def test_a_system_that_is_the_only_reference_is_left_out():
    result = compare_systems(made({"a": 0.1, "b": 0.3, "ref": 0.0}, sources=40), scorers("chrf"))
    assert [system.system for system in result.comparisons[0].systems] == ["a", "b"]
    assert result.notes[0] == "made: left out 40 candidates of ref, each the only reference of its source"
    alone = r"the output of only one system, 'a' \(made: left out 40 candidates of ref, each the only reference"
    with pytest.raises(OptionError, match=alone):
        compare_systems(made({"a": 0.1, "ref": 0.0}, sources=40), scorers("chrf"))


def test_too_few_resamples_are_noted():
    result = compare_systems(made(SYSTEMS), scorers("chrf"), correction="holm", resamples=100)
    assert result.notes[:1] == (
        "no difference can be significant: with 100 resamples the smallest p-value is 0.0099, times 6 pairs "
        "(Holm) 0.059, not below 0.05; raise --resamples to at least 120 or use --correction westfall-young",
    )
    assert {each.cluster for each in result.comparisons[0].systems} == {1}


def test_systems_must_translate_the_same_sources():
    data = made({"A": 0.1, "B": 0.2}, sources=3)
    lacking = data.select_candidates(np.arange(6) != 3)
    with pytest.raises(DataError, match=r"made\[de-en:2\] has no translation by system 'B', but systems must be"):
        compare_systems(lacking, scorers("bleu"))
    twice = data.candidates.copy()
    twice.loc[3, "system"] = "A"
    doubled = dataclasses.replace(data, candidates=twice)
    with pytest.raises(DataError, match="has two translations by system 'A', but systems"):
        compare_systems(doubled.select_candidates(np.arange(6) // 2 == 1), scorers("bleu"))
    with pytest.raises(DataError, match="made de-en has only one source: comparing systems requires at least two"):
        compare_systems(made({"A": 0.1, "B": 0.2}, sources=1), scorers("bleu"))
    with pytest.raises(DataError, match="made: contains no candidate, expected outputs of at least two systems"):
        compare_systems(data.select_candidates(np.zeros(6, dtype=bool)), scorers("bleu"))


def test_language_pairs_with_one_source_or_system_are_left_out_with_a_note():
    several = made({"A": 0.1, "B": 0.2}, sources=8)
    parts = [made({"A": 0.1, "B": 0.2}, sources=1, lp="fr-en"), made({"A": 0.1}, sources=3, lp="cs-en"), several]
    data = dataclasses.replace(concatenate_datasets(parts), name="made")
    result = compare_systems(data, scorers("chrf"), resamples=100)
    assert [comparison.lp for comparison in result.comparisons] == ["de-en"]
    assert result.notes[:2] == (
        "left out made fr-en, which has only one source",
        "left out made cs-en, which has only one system",
    )
    alone = compare_systems(several, scorers("chrf"), resamples=100)
    assert result.comparisons[0].systems == alone.comparisons[0].systems


def test_options_that_are_not_known_are_refused():
    def compare(asked):
        option, value = asked.split("=")
        settings = {option: int(value) if value.isdigit() else value}
        return compare_systems(made({"A": 0.1, "B": 0.2}, sources=3), scorers("bleu"), **settings)

    check_messages("compare_systems", compare)


def test_a_note_says_what_few_sources_mean():
    three = compare_systems(made({"a": 0.05, "b": 0.9}, sources=3), scorers("bleu"))
    assert three.comparisons[0].pairs[0].p == 0.25
    assert three.tested_by() == "exact randomisation"
    what = (
        "de-en: 3 sources, fewer than 30: intervals are too narrow; p-values are of exact randomisation, at least 0.25"
    )
    assert three.notes == (f"{what}, so that no difference can be significant",)
    some = compare_systems(made({"a": 0.05, "b": 0.9}, sources=20), scorers("bleu"))
    assert some.tested_by() == "approximate randomisation with 1,000 resamples"
    assert some.notes == ("de-en: 20 sources, fewer than 30: intervals are too narrow; p-values are of randomisation",)
    more = concatenate_datasets(
        [made({"a": 0.05, "b": 0.9}, sources=number, lp=f"{number}-en") for number in (30, 199)]
    )
    result = compare_systems(more, scorers("bleu"))
    assert result.tested_by() == "approximate randomisation with 1,000 resamples"
    assert result.notes == ("fewer than 200 sources: p-values are of randomisation",)
    assert compare_systems(more, scorers("bleu"), test="ar", resamples=1000).notes == ()
    many = compare_systems(made({"a": 0.05, "b": 0.9}, sources=200), scorers("bleu"))
    assert (many.tested_by(), many.notes) == ("paired bootstrap with 1,000 resamples", ())
    parity = compare_systems(made({"a": 0.05, "b": 0.9}, sources=3), scorers("bleu"), parity="sacrebleu")
    assert parity.comparisons[0].pairs[0].p < 0.25
    assert parity.notes == (
        "de-en: 3 sources, fewer than 30: intervals are too narrow, and p-values computed like sacrebleu too small",
    )


@pytest.mark.parametrize("level", ["segment", "system"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_scores_that_are_not_finite_are_refused(level, value):
    dataset = dataset_of([(["a b"], "a"), (["c"], "c")])
    scorer = make_scorer("rouge_l", None)
    statistics = scorer.statistics(dataset)
    units = Units.of(dataset, level)
    assert np.isfinite(units.score(scorer, statistics)).all()
    statistics[1, 0] = value
    with pytest.raises(DataError, match=f"the score by rouge_l of .*system .* is {value}, expected a number"):
        units.score(scorer, statistics)
