from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import stats

from ranker.apps.experiments import cer10, tuned_choices
from ranker.apps.experiments.cer10 import METRICS, plan
from ranker.apps.experiments.cer10_published import TITLES
from ranker.apps.experiments.choice_comparison import People, Preference, matrix, standardised
from ranker.apps.experiments.published import published_table
from ranker.apps.experiments.settings import Settings
from ranker.apps.experiments.tuned_choices import language_pair_parts, language_pairs, split
from ranker.corpora import catalogue
from ranker.corpora.formats.pharaoh import attach_all
from ranker.corpora.selection import select_language_pairs
from ranker.errors import DataError, OptionError
from ranker.extractors.order.aligner import align_dataset, learn_aligner
from ranker.extractors.registry import make_metric
from ranker.ranking.ranker import Ranker
from tests.apps.experiments.conftest import titled as table
from tests.datasets import equally_judged
from tests.effort import thorough

pytestmark = thorough

TUNING = Settings(features="words,bleu[smoothing=add-one],systems", restarts=1, iterations=2, runs=2)
NAMES = ("BLEU:1", "BLEU:4", "TER", "LR-KB4", "BLEU:4-TER")


@pytest.fixture(scope="module")
def experiment(preferred):
    return plan(preferred, dataclasses.replace(TUNING, metrics=NAMES)).run()


@pytest.fixture(scope="module")
def pair(preferred):
    return language_pairs(preferred, TUNING, align=True)[0]


def test_tables_of_the_paper(experiment):
    titles = [table.title for table in experiment.tables]
    of_pair = [
        "word aligners",
        "scores of the tuning side",
        "scores of the test side",
        "standard deviation over 2 runs, test side",
    ]
    assert titles == [
        *(f"{title}, {name}" for name in ("aa-en", "bb-en") for title in [*of_pair, "search"]),
        *TITLES.values(),
        "families of metrics, tuning side",
        "families of metrics, test side",
        "what serves a metric best",
        "preferences of people",
        "preferences of people, against all others",
    ]
    scores = table(experiment, "scores of the test side, aa-en")
    assert [row["tuned to"] for row in scores.rows] == [*NAMES, "average", "equal weights"]
    # combinations are tuned to and not scored by
    assert list(scores.rows[0]) == ["tuned to", *NAMES[:-1]]
    assert "29 sources, 116 outputs; means of 2 runs" in scores.note


def test_published_tables_have_the_form_of_ours(experiment):
    """What is shown are the metrics asked for; averages and marks are those of the whole published table."""
    chinese = table(experiment, TITLES["chinese"])
    assert [row["tuned to"] for row in chinese.rows] == ["BLEU:1", "BLEU:4", "TER", "BLEU:4-TER", "average"]
    assert list(chinese.rows[0]) == ["tuned to", "BLEU:1", "BLEU:4", "TER"]
    assert chinese.rows[1]["BLEU:4"].text == "0.3180+"
    assert chinese.rows[2]["TER"].text == "0.7133+*"
    assert chinese.rows[2]["BLEU:4"].mark == "-"
    assert chinese.rows[-1]["BLEU:4"] == pytest.approx(published_table("cer10-chinese")["BLEU:4"].mean() / 100)
    deviations = {
        row["tuned to"]: [row["BLEU:1"], row["BLEU:4"]] for row in table(experiment, TITLES["deviations"]).rows
    }
    assert deviations == {"BLEU:1": pytest.approx([0.0017, 0.0059]), "BLEU:4": pytest.approx([0.0027, 0.0029])}
    assert cer10.cer10_published.tables({"chrf": make_metric("chrf")}) == []


def test_equal_calls_write_equal_bytes(experiment, preferred):
    assert plan(preferred, dataclasses.replace(TUNING, metrics=NAMES)).run().json() == experiment.json()
    other = plan(preferred, dataclasses.replace(TUNING, seed=1, metrics=NAMES)).run()
    assert other.signature != experiment.signature


def test_documents_are_not_cut_and_halves_are_about_equal():
    sample = catalogue.load("sample")
    first = split(sample, 0)
    sides = sample.sources.assign(first=first).groupby("doc")["first"].nunique()
    assert (sides == 1).all()
    assert first.sum() == 60
    assert not np.array_equal(first, split(sample, 1))
    np.testing.assert_array_equal(first, split(sample, 0))


def test_sources_without_documents_are_split_one_by_one(preferred):
    first = split(preferred, 0)
    assert first.sum() == 60
    single = preferred.sources.assign(doc="the only one")
    assert split(dataclasses.replace(preferred, sources=single), 0).sum() == 60


def documents_of(preferred, names):
    return dataclasses.replace(preferred, sources=preferred.sources.assign(doc=names))


@pytest.mark.parametrize("seed", range(4))
def test_any_two_documents_are_a_tuning_and_a_test_side(preferred, seed):
    number = np.arange(len(preferred.sources))
    unequal = documents_of(preferred, np.where(number % 60 < 5, "small", "large"))
    pairs = preferred.source_language_pairs
    own = documents_of(preferred, np.char.add(pairs.astype(str), np.where(number % 2, "-a", "-b")))
    for data in (unequal, own):
        for part in language_pair_parts(data, dataclasses.replace(TUNING, seed=seed)):
            assert part.dataset.sources["doc"][part.first].nunique() == 1
            assert part.dataset.sources["doc"][~part.first].nunique() == 1


def test_too_few_documents_are_refused():
    sample = catalogue.load("sample")
    single = sample.select_sources(np.arange(len(sample.sources)) == 0)
    with pytest.raises(DataError, match="too few documents for a tuning part and a test part"):
        plan(single, dataclasses.replace(TUNING, metrics=("BLEU:4",))).run()


def test_features_and_rows_of_the_sides_belong_together(pair):
    whole = pair.nbest
    together = np.concatenate([pair.tuning.features, pair.test.features])
    np.testing.assert_array_equal(np.sort(together, axis=0), np.sort(whole.features, axis=0))
    for side in (pair.tuning, pair.test):
        words = [len(text.split()) for text in side.dataset.candidates["text"]]
        np.testing.assert_array_equal(side.features[:, whole.columns.index("words")], words)
        system = [f"system_{name}" for name in side.dataset.candidates["system"]]
        ones = side.features[np.arange(len(system)), [whole.columns.index(name) for name in system]]
        assert (ones == 1).all()


@pytest.mark.parametrize("name", ["BLEU:4-TER", "BLEU:4+2METR", "NIST", "TERpA"])
def test_scores_are_those_of_the_metric(pair, name):
    metric = make_metric(METRICS[name][0])
    chosen = pair.test.choose(np.ones(pair.test.features.shape[1]))
    selected = np.zeros(len(pair.test.dataset), dtype=bool)
    selected[chosen] = True
    dataset = pair.test.dataset
    expected = metric.score(metric.fit(dataset).statistics(dataset)[chosen].sum(axis=0))
    assert pair.test.score(metric, chosen) == pytest.approx(float(expected))
    assert selected.sum() == len(dataset.sources)


def test_lrscore_reads_the_alignments_of_the_language_pair(pair, preferred):
    metric = make_metric(METRICS["LR-KB4"][0])
    own = select_language_pairs(preferred, [pair.name])
    links = align_dataset(learn_aligner(own), own)
    aligned = attach_all(own, links)
    for side, keep in ((pair.tuning, split(preferred, 0)[:60]), (pair.test, ~split(preferred, 0)[:60])):
        selected = aligned.select_sources(keep)
        np.testing.assert_allclose(side.statistics(metric), metric.fit(selected).statistics(selected))


def test_marks_say_better_than_average_and_best():
    scored = {"BLEU": make_metric("bleu"), "TER": make_metric("ter")}
    rows = matrix(["a", "b", "c"], scored, np.array([[0.3, 0.5], [0.2, 0.6], [0.1, 0.6]]))
    assert [row["BLEU"].mark for row in rows] == ["+*", "", "-"]
    assert [row["TER"].mark for row in rows] == ["+*", "-", "-"]
    assert rows[0]["BLEU"].text == "0.3000+*"
    same = matrix(["a", "b"], scored, np.array([[0.1, 0.2], [0.1, 0.2]]))
    assert [row["BLEU"].mark for row in same] == ["", ""]


def test_standardised_scores_have_mean_0_and_deviation_1():
    scored = {"BLEU": make_metric("bleu"), "TER": make_metric("ter")}
    values = np.random.default_rng(0).random((7, 2))
    z = standardised(scored, values)
    np.testing.assert_allclose(z[:, 0], stats.zscore(values[:, 0]))
    np.testing.assert_allclose(z[:, 1], -stats.zscore(values[:, 1]))


@pytest.mark.parametrize("seed", range(3))
def test_preferences_between_choices_equal_counting(preferred, seed):
    generator = np.random.default_rng(seed)
    # repeated judgements, some of them contradictory, and outputs of equal text
    columns = preferred.preferences.sample(frac=0.4, replace=True, random_state=seed).reset_index(drop=True)
    columns["relation"] = generator.choice(["<", ">", ">", "="], size=len(columns))
    columns["relation"] = columns["relation"].astype(preferred.preferences["relation"].dtype)
    dataset = dataclasses.replace(preferred, preferences=columns)
    first, second = (
        dataset.candidate_offsets[:-1] + generator.integers(4, size=len(dataset.sources)) for _ in range(2)
    )
    votes: dict[tuple[str, str, int], int] = {}
    text, source = dataset.candidates["text"].tolist(), dataset.candidate_source
    for column, two, relation in zip(columns["first"], columns["second"], columns["relation"], strict=True):
        sign = {"<": -1, ">": 1, "=": 0}[relation]
        for a, b, value in ((column, two, sign), (two, column, -sign)):
            key = text[a], text[b], source[a]
            votes[key] = votes.get(key, 0) + value
    net = [
        votes.get((text[a], text[b], source[a]), 0) if text[a] != text[b] else 0
        for a, b in zip(first, second, strict=True)
    ]
    expected = Preference(
        sum(text[a] != text[b] for a, b in zip(first, second, strict=True)),
        sum(item != 0 for item in net),
        sum(item > 0 for item in net),
    )
    people = People(dataset)
    assert people.compare(first, second) == expected
    back = people.compare(second, first)
    assert (back.judged, back.first) == (expected.judged, expected.judged - expected.first)
    assert expected.judged > 10


def test_where_people_gave_scores_the_higher_one_is_preferred():
    sample = catalogue.load("sample")
    people = People(sample)
    first = sample.candidate_offsets[:-1]
    result = people.compare(first, first + 1)
    texts = sample.candidates["text"].to_numpy(object)
    different = texts[first] != texts[first + 1]
    assert result.different == different.sum()
    assert result.first == (different & (people.scores[first] > people.scores[first + 1])).sum()
    assert people.mean_score(first) == pytest.approx(np.nanmean(people.scores[first]))


def test_language_pairs_without_judgements_are_left_out_of_preferences(preferred):
    rows = preferred.source_language_pairs[preferred.candidate_source[preferred.preferences["first"]]] == "aa-en"
    partly = dataclasses.replace(preferred, preferences=preferred.preferences[rows].reset_index(drop=True))
    single = dataclasses.replace(TUNING, metrics=("BLEU:4", "TER"), runs=1)
    assert plan(partly, single).run().tables[-2].note.startswith("Test sides of aa-en, first run")


def test_rounding_of_human_scores_is_no_preference():
    equal = equally_judged()
    first = equal.candidate_offsets[:-1]
    assert People(equal).compare(first, first + 1) == Preference(36, 0, 0)


def test_sign_test_is_exact_and_counts_of_language_pairs_add_up():
    assert Preference(9, 8, 7).p == pytest.approx(2 * 9 / 256)
    assert Preference(3, 2, 1) + Preference(9, 8, 7) == Preference(12, 10, 8)
    assert np.isnan(Preference(3).share)
    assert Preference(3).p == 1


def test_pairs_of_the_paper_are_known_metrics():
    assert {*published_table("cer10-preferences", 0)[["first", "second"]].to_numpy().ravel()} <= set(METRICS)
    for notation, _ in METRICS.values():
        make_metric(notation)


def test_unknown_metrics_are_refused():
    with pytest.raises(
        OptionError, match=r"unknown metric 'BLEU:6'.*; expected one of BLEU:1, .* a metric of this package or a model"
    ):
        cer10.chosen(["BLEU:6"])
    assert cer10.chosen(["chrf"])["chrf"][1] == "other"
    with pytest.raises(OptionError, match=r"consensus\.diverse compares candidates with one another"):
        cer10.chosen(["consensus.diverse"])


def test_language_model_learns_from_the_other_corpus_in_the_same_language(preferred):
    settings = dataclasses.replace(TUNING, lm=preferred, features="words")
    # all sentences are references of the tuned corpus itself, which are left out
    with pytest.raises(
        DataError,
        match="feature 'lm' needs at least 100 sentences of training text, found 60",
    ):
        language_pairs(select_language_pairs(preferred, ["aa-en"]), settings, align=False)
    texts = tuned_choices._lm_text(preferred, "aa-en")
    assert len(texts) == 120
    assert tuned_choices._lm_text(preferred, "en-aa") == []


def test_families_leave_out_scores_of_a_metric_by_itself(experiment):
    row = table(experiment, "families of metrics, test side").rows[1]
    # TER is the only metric of its family here
    assert row["tuned to"] == cer10.EDITS
    assert row[cer10.EDITS] is None
    assert row[cer10.NGRAMS] is not None


def test_trained_rankers_are_rows_as_metrics_are(preferred, tmp_path):
    model = tmp_path / "my.model"
    Ranker("bleu1-4", C=0.1).fit(preferred).save(model)
    result = plan(preferred, dataclasses.replace(TUNING, metrics=("BLEU:4", str(model)))).run()
    scores = table(result, "scores of the test side, aa-en")
    assert [row["tuned to"] for row in scores.rows[:2]] == ["BLEU:4", str(model)] == list(scores.rows[0])[1:]
    ranked = table(result, "families of metrics, test side")
    assert [row["tuned to"] for row in ranked.rows] == ["n-grams", "trained rankers"]
    assert f"{model} was trained on all sources of simulated+simulated" in scores.note
    with pytest.raises(OptionError, match=r"unknown metric 'no-such'.*or a model"):
        cer10.chosen(["no-such"])
