from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ranker import from_texts
from ranker.apps.experiments import birch11, birch11_mert
from ranker.apps.experiments.aligners import Aligners, with_spaces
from ranker.apps.experiments.birch11 import ScoredPair, plan
from ranker.apps.experiments.birch11_baselines import baselines, meteor_notation
from ranker.apps.experiments.settings import Settings
from ranker.corpora import catalogue
from ranker.corpora.schema import table
from ranker.corpora.selection import select_language_pairs
from ranker.errors import DataError
from ranker.extractors.order.aligner import learn_aligner
from ranker.extractors.registry import make_metric
from tests.datasets import part_of_corpus
from tests.effort import thorough

pytestmark = thorough


def settings_of(dataset, folder):
    """Settings with aligners that learn from the outputs too: the references are too few."""
    files = []
    for pair in dataset.language_pairs:
        files.append(f"{pair}={folder / pair}")
        part = with_spaces(select_language_pairs(dataset, [pair]))
        learn_aligner(part, candidates=True).save(folder / pair)
    return Settings(restarts=3, aligners=Aligners.parse(files))


@pytest.fixture(scope="module")
def experiment(preferred, tmp_path_factory):
    return plan(preferred, [], settings_of(preferred, tmp_path_factory.mktemp("aligners"))).run()


def test_tables_of_the_paper(experiment):
    assert [table.title for table in experiment.tables] == [
        "theta, trained on simulated+simulated",
        "word aligners, simulated+simulated",
        "reordering and alpha, simulated+simulated",
        "consistency with human preferences, simulated+simulated",
    ]
    assert "Theta was trained on the same preferences" in experiment.tables[3].note
    reordering = experiment.tables[2].rows
    assert [row["language pair"] for row in reordering] == ["aa-en", "bb-en"]
    # references are in the order of the source
    assert all(row["d_k to the source order"] > 0.99 for row in reordering)


def test_order_helps_where_people_care_for_order(experiment):
    rows = {row["metric"]: row for row in experiment.tables[3].rows}
    assert list(rows) == ["METEOR", "METEOR 1.5", "TER", "BLEU1", "BLEU", "LR-HB1", "LR-HB4", "LR-KB1", "LR-KB4"]
    # all outputs have the same words, so one-word BLEU says nothing and ties do not agree
    assert rows["BLEU1"]["average"] == 0
    assert rows["LR-KB1"]["average"] > 0.6
    assert rows["LR-KB4"]["average"] >= rows["BLEU"]["average"]
    for row in rows.values():
        assert row["average"] == pytest.approx((row["aa-en"] + row["bb-en"]) / 2)


def test_theta_is_the_best_of_its_neighbours(experiment):
    for row in experiment.tables[0].rows:
        assert 0 <= row["theta"] <= 1
    assert experiment.tables[3].rows[-1]["average"] == pytest.approx(
        experiment.tables[0].rows[-1]["mean consistency in training"]
    )


def written_without_spaces(dataset, columns=("sources",)):
    """Every word becomes a Chinese character, and sources have no spaces."""

    def chinese(text):
        return "".join(chr(0x4E00 + int("".join(filter(str.isdigit, word)))) for word in text.split())

    tables = {name: getattr(dataset, name) for name in columns}
    tables = {
        name: table.assign(text=table["text"].map(chinese).astype(table["text"].dtype))
        for name, table in tables.items()
    }
    return dataclasses.replace(dataset, **tables)


@pytest.mark.parametrize("columns", [("sources",), ("sources", "references", "candidates")])
def test_characters_are_words_in_scripts_without_spaces(experiment, preferred, columns, tmp_path):
    written = written_without_spaces(preferred, columns)
    result = plan(written, [], settings_of(written, tmp_path)).run()
    for found, expected in zip(result.tables[2:], experiment.tables[2:], strict=True):
        for row, spaced in zip(found.rows, expected.rows, strict=True):
            assert row == pytest.approx(spaced, abs=1e-9)
    assert "|tokenizer:any|" in result.signature
    assert "|tokenizer:13a|" in experiment.signature


def test_text_that_is_segmented_into_words_stays_as_it_is(preferred):
    spaced = preferred.sources["text"].str.replace("mot", "\u732b")
    segmented = dataclasses.replace(preferred, sources=preferred.sources.assign(text=spaced))
    assert with_spaces(segmented) is segmented


def test_meteor_matches_what_the_target_language_has(experiment):
    assert "modules=exact+stem+synonym,stemmer=english" in meteor_notation(["de-en", "cs-en"])
    assert "modules=exact+stem,stemmer=german" in meteor_notation(["en-de"])
    assert "modules=exact]" in meteor_notation(["en-cs"])
    assert "modules=exact]" in meteor_notation(["en-de", "en-fr"])
    assert "METEOR 1.5" not in baselines("en-de")
    # all that METEOR depends on is signed, WordNet too where it is installed
    assert make_metric(meteor_notation(["de-en"])).signature() in experiment.signature


def test_hill_climbing_finds_the_top_of_a_hill():
    result = birch11._climb(lambda theta: -((theta - 0.3) ** 2), Settings(restarts=5))
    assert result == pytest.approx(0.3, abs=1e-3)
    assert birch11._climb(lambda theta: theta, Settings()) == 1
    assert birch11._climb(lambda theta: -theta, Settings()) == 0
    assert birch11._climb(lambda theta: np.sin(20 * theta), Settings()) == birch11._climb(
        lambda theta: np.sin(20 * theta), Settings()
    )


def test_alpha_is_theta_to_the_power_of_the_reordering(preferred):
    pairs = birch11.prepare(preferred, Settings())
    single: ScoredPair = dataclasses.replace(pairs[0], monotonicity=0.5)
    expected = 0.7 * single.order["K"] + 0.3 * single.baselines["BLEU"]
    np.testing.assert_allclose(single.lrscore("LR-KB4", 0.49), expected)


def test_of_scores_the_higher_is_preferred(preferred):
    """Ratings that say the same as the preferences give the same tables."""
    first = np.arange(len(preferred.sources)) < 20
    few = preferred.select_sources(first)
    wins, losses = (np.bincount(few.preferences[side], minlength=len(few)) for side in ("first", "second"))
    columns = {"candidate": np.arange(len(few)), "kind": ["fluency"] * len(few), "value": wins - losses}
    rated = dataclasses.replace(few, ratings=table("ratings", columns), preferences=few.preferences[:0])
    # the outputs of a source are all in a strict order
    assert len(few.preferences) == 6 * 20
    by_preferences, by_scores = (plan(data, [], Settings(restarts=1)).run() for data in (few, rated))
    assert [each.rows for each in by_scores.tables] == [each.rows for each in by_preferences.tables]
    assert by_scores.tables[-1].note.startswith("120 pairs of outputs with different fluency; ")
    assert "|kind:fluency|" in by_scores.signature
    assert "|kind:" not in by_preferences.signature


def test_language_pairs_whose_candidates_nobody_ordered_are_left_out(preferred):
    pair = preferred.source_language_pairs[preferred.candidate_source[preferred.preferences["first"]]]
    ties = preferred.preferences.assign(relation=np.where(pair == "aa-en", ">", "="))
    partly = dataclasses.replace(preferred, preferences=ties)
    assert [part.name for part in birch11.prepare(partly, Settings())] == ["aa-en"]
    nowhere = dataclasses.replace(preferred, preferences=ties.assign(relation="="))
    with pytest.raises(DataError, match="'preferences' do not order any two candidates of a source"):
        birch11.prepare(nowhere, Settings())


def test_data_without_judgements_are_refused():
    with pytest.raises(DataError, match="no human judgements"):
        plan(from_texts({"A": ["a"], "B": ["b"]}, ["a"]), [], Settings()).run()


def test_reordering_of_real_language_pairs(shared, tmp_path):
    """German moves more than Spanish, and about as much as the paper says."""
    data = catalogue.load(part_of_corpus(shared / "data" / "wmt12-rr.jsonl.gz", tmp_path, ["de-en", "es-en"], step=6))
    result = {item.name: item.monotonicity for item in birch11.prepare(data, Settings())}
    assert result["de-en"] < result["es-en"]
    assert result["de-en"] == pytest.approx(0.739, abs=0.03)
    assert result["es-en"] == pytest.approx(0.805, abs=0.03)


def test_tuning_to_lrscore_adds_the_papers_fifth_table(preferred):
    features = "words,bleu[smoothing=add-one],systems"
    settings = Settings(features=features, restarts=1, iterations=2, runs=2, mert=True)
    result = plan(preferred, [], settings).run()
    chinese = plan(written_without_spaces(preferred), [], settings).run()
    assert len(chinese.tables) == len(result.tables)
    sides = result.tables[-3:-1]
    assert [side.title for side in sides] == [
        f"tuned choices, {side} side, simulated+simulated" for side in ("tuning", "test")
    ]
    columns = ["language pair", "tuned to", "BLEU", "LR-HB4", "LR-KB4", "TER", "METEOR"]
    assert [list(row) for row in sides[0].rows] == [columns] * 9
    assert [row["language pair"] for row in sides[1].rows[-6::3]] == ["average", "zh-en, published"]
    for column in columns[2:]:
        values = [row[column] for row in sides[1].rows]
        assert values[6] == pytest.approx((values[0] + values[3]) / 2)
    # the words of all outputs are those of the reference, so its order is all that tuning can gain
    assert sides[0].rows[2]["LR-KB4"] > 0.3
    people = result.tables[-1]
    assert [row["tuned to"] for row in people.rows] == ["LR-HB4", "LR-KB4"]
    assert people.rows[0]["p of the published"] == pytest.approx(0.322, abs=1e-3)
    assert "mert restarts:1" in result.signature
    assert make_metric(meteor_notation(["zh-en"])).signature() in result.signature


def test_lrscore_is_tuned_to_with_the_theta_that_was_trained():
    example = birch11_mert.metrics({"LR-HB4": 0.25, "LR-KB4": 0.5}, ["aa-en", "bb-en"])
    assert (
        str(example["LR-HB4"]) == "lrscore[distance=hamming,lexical=bleu[smoothing=add-one,tokenizer=13a],theta=0.25]"
    )
    assert example["LR-KB4"].theta == 0.5
