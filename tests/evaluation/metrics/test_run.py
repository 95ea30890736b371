from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from ranker import Ranker, load_dataset, make_metric
from ranker.corpora.dataset import concatenate_datasets
from ranker.errors import DataError, OptionError
from ranker.evaluation.correlation.tie_calibration import calibrate
from ranker.evaluation.metrics.candidates import CandidateScores
from ranker.evaluation.metrics.evaluation import EVALUATED, evaluate, main_scope, named_scopes, scored_by
from ranker.evaluation.metrics.result import Comparison
from ranker.evaluation.metrics.run import compare
from ranker.evaluation.resampling.significance import williams
from ranker.ranking.scorers import scorer_of
from tests.evaluation.correlation.plain import correlate
from tests.evaluation.made import graded, preferred, same_outputs


def metrics(human: np.ndarray, seed: int, noise: tuple[float, ...] = (0.3, 0.35, 3.0)) -> list[CandidateScores]:
    generator = np.random.default_rng(seed)
    values = np.where(np.isnan(human), 0.0, human).ravel()
    return [
        CandidateScores(f"m{index}", values + generator.normal(size=values.size) * item)
        for index, item in enumerate(noise)
    ]


@pytest.fixture(scope="module")
def human():
    generator = np.random.default_rng(0)
    return np.round(generator.normal(size=(60, 5)) + np.linspace(0, 1, 5), 1)


@pytest.fixture(scope="module")
def found(human):
    return compare([(graded(human, documents=6), metrics(human, 1))], resamples=200)


def test_figures_equal_those_of_the_plain_functions(found, human):
    for metric in metrics(human, 1):
        table = metric.scores.reshape(human.shape)
        scope = "test/xx-en"
        for identity, name, average in (
            ("segment.spearman", "spearman", "item"),
            ("segment.spearman-ye07", "spearman-ye07", "item"),
            ("segment.pearson", "pearson", "none"),
            ("segment.kendall-b", "kendall-b", "item"),
            ("segment.kendall-c", "kendall-c", "item"),
        ):
            cell = found.cell(identity, scope, metric.name)
            wanted = correlate(human.T, table.T, name, average)
            assert cell.value == pytest.approx(wanted.value, abs=1e-9)
            assert cell.low < cell.value < cell.high
            if average == "item":
                assert (cell.count, cell.undefined) == (wanted.groups, wanted.undefined)
        calibrated = calibrate(human.ravel(), np.round(metric.scores, 10), np.arange(0, 301, 5))
        cell = found.cell("segment.acc-eq", scope, metric.name)
        assert cell.value == pytest.approx(calibrated.accuracy, abs=1e-9)
        assert cell.detail["epsilon"] == pytest.approx(calibrated.epsilon, abs=1e-9)
        documents = human.reshape(10, 6, 5).mean(axis=1), table.reshape(10, 6, 5).mean(axis=1)
        wanted = np.mean([stats.spearmanr(a, b).statistic for a, b in zip(*documents, strict=True)])
        assert found.cell("document.spearman", scope, metric.name).value == pytest.approx(wanted, abs=1e-9)
        wanted = stats.pearsonr(human.mean(axis=0), table.mean(axis=0)).statistic
        assert found.cell("system.pearson", scope, metric.name).value == pytest.approx(wanted, abs=1e-9)


def test_every_figure_lies_in_its_interval_and_every_interval_in_the_range(found):
    for cell in found.cells:
        statistic = found.statistic(cell.statistic)
        assert statistic.low <= cell.low <= cell.value <= cell.high <= statistic.high, cell


def test_preferences_give_the_figures_and_intervals_of_evaluate(human):
    dataset = concatenate_datasets([preferred(human[:25], "a-en"), preferred(human[25:], "b-xx", repeated=9)])
    scored = metrics(human, 2)[:2]
    comparison = compare([(dataset, scored)], resamples=100, seed=5)
    assert [entry.id for entry in comparison.scopes] == [
        *("test+test/a-en", "test+test/b-xx", "test+test/mean into English", "test+test/mean"),
    ]
    assert comparison.main_scope.members == ("test+test/a-en", "test+test/b-xx")
    for item in scored:
        alone = evaluate(dataset, item.scores, resamples=100, seed=5)
        assert [scope.id for scope in named_scopes(alone).values()] == [scope.id for scope in alone.scopes]
        assert main_scope(alone)[0] == "mean into English"
        for scope, own in zip(comparison.scopes, alone.scopes, strict=True):
            assert (own.id, own.pairs) == (scope.id, scope.pairs)
            for identity in ("tau.official", "tau.primary", "tau.wmt12", "tau.wmt13", "spearman", "spearman-ye07"):
                figure = alone.estimate(f"segment.{identity}", scope.id)
                assert figure == comparison.estimate(f"segment.{identity}", scope.id, item.name)
                assert figure.low < figure.value < figure.high
        assert {cell.statistic for cell in alone.cells} == set(EVALUATED)
        for scope in alone.scopes:
            pooled, mean = (alone.cell(f"segment.spearman{form}", scope.id, "scores") for form in (".pooled", ""))
            assert (pooled.count, pooled.undefined) == (mean.count, mean.undefined) != (0, 0)


def test_expected_wins_and_soft_accuracy_of_preferences(human):
    (scored,) = metrics(human, 3)[:1]
    comparison = compare([(preferred(human), [scored])], resamples=0)
    wins = (human[:, :, np.newaxis] > human[:, np.newaxis, :]).sum(axis=0)
    share = (wins / np.maximum(wins + wins.T, 1)).sum(axis=1) / 4
    table = scored.scores.reshape(human.shape)
    wanted = stats.pearsonr(share, table.mean(axis=0)).statistic
    assert comparison.cell("system.pearson", "test/xx-en", "m0").value == pytest.approx(wanted)
    i, j = np.triu_indices(5, 1)
    p = []
    for apart in (np.sign(human[:, i] - human[:, j]), table[:, i] - table[:, j]):
        p.append(stats.norm.sf(apart.sum(axis=0) / np.sqrt((apart**2).sum(axis=0))))
    wanted = 1 - np.abs(p[0] - p[1]).mean()
    assert comparison.cell("system.spa", "test/xx-en", "m0").value == pytest.approx(wanted)
    assert not comparison.pairwise_tests
    assert np.isnan(comparison.cells[0].low)


@pytest.mark.parametrize("kind", ["preferences", "win-rate"])
def test_a_judgement_counts_for_every_system_that_gave_the_output(kind):
    dataset = same_outputs()
    quality = CandidateScores("m", np.tile([2.0, 2.0, 1.0], 40))
    comparison = compare([(dataset, [quality])], kind=kind, resamples=0)
    cell = comparison.cell
    assert cell("system.pearson", "test/xx-en", "m").value == pytest.approx(1.0)
    assert cell("system.accuracy", "test/xx-en", "m").value == 1.0
    assert comparison.scopes[0].pairs == {"official": 80, "primary": 40}


def easy_and_difficult() -> np.ndarray:
    """Make the quality of three systems, from best to worst, on 12 easy and 28 difficult sources."""
    source = np.where(np.arange(40) < 12, 90.0, 50.0)[:, np.newaxis]
    return source - [0.0, 4.0, 8.0] + np.random.default_rng(0).normal(size=(40, 3))


@pytest.mark.parametrize(("judged", "noted"), [(12, True), (35, True), (36, False), (40, False)])
def test_systems_are_scored_on_the_outputs_that_people_scored(judged, noted, caplog):
    quality = easy_and_difficult()
    human = quality.copy()
    human[judged:, 2] = np.nan
    scores, rows = quality.ravel(), np.stack([quality.ravel(), np.ones(120)], axis=1)
    by_sums = CandidateScores("sums", scores, rows, lambda sums: sums[..., 0] / sums[..., 1])
    cells = compare([(graded(human), [CandidateScores("m", scores), by_sums])], levels=("system",), resamples=0).cells
    assert [cell.value for cell in cells] == pytest.approx([1.0] * 6)
    what = f"systems were judged on different sources (of 40 sources: s2 on {judged}), so their mean scores do not"
    assert (f"test xx-en: {what} compare them" in caplog.text) == noted
    assert ("different sources" in caplog.text) == noted


def test_systems_that_people_compared_are_scored_on_all_outputs(caplog):
    quality = easy_and_difficult()
    human = quality.copy()
    human[12:, 2] = np.nan
    dataset = preferred(human)
    compared = ~np.isnan(human.ravel()[dataset.preferences[["first", "second"]].to_numpy()]).any(axis=1)
    dataset = replace(dataset, preferences=dataset.preferences[compared].reset_index(drop=True))
    for kind in ("preferences", "win-rate"):
        scored = [CandidateScores("m", quality.ravel())]
        found = compare([(dataset, scored)], kind=kind, levels=("system",), resamples=0)
        assert found.cell("system.accuracy", "test/xx-en", "m").value == 1.0
    assert "different sources" not in caplog.text
    there = dataset.select_candidates(~np.isnan(human.ravel()))
    compare([(there, [CandidateScores("m", quality[~np.isnan(human)])])], levels=("system",), resamples=0)
    assert "test xx-en: systems have outputs for different sources (of 40 sources: s2 on 12)" in caplog.text


def test_soft_accuracy_is_of_the_pairs_that_people_compared_also_if_they_are_equal(human):
    equal = np.column_stack([human[:, :2], human[:, 1]])
    apart = equal + np.array([0.0, 0.0, 1.0])
    cell = compare([(graded(equal), [CandidateScores("m", apart.ravel())])], resamples=0).cell
    i, j = np.triu_indices(3, 1)
    p = []
    for difference in (equal[:, i] - equal[:, j], apart[:, i] - apart[:, j]):
        squares = (difference**2).sum(axis=0)
        p.append(stats.norm.sf(difference.sum(axis=0) / np.sqrt(np.where(squares > 0, squares, 1.0))))
    people, metric = p
    assert people[2] == 0.5
    assert metric[2] > 0.999
    assert cell("system.spa", "test/xx-en", "m").value == pytest.approx(1 - np.abs(people - metric).mean())
    data = preferred(human[:, :3])
    one = (data.preferences["first"] % 3 == 0) & (data.preferences["second"] % 3 == 2)
    data = replace(data, preferences=data.preferences[~one].reset_index(drop=True))
    found = compare([(data, [CandidateScores("m", human[:, :3].ravel())])], resamples=0)
    counts = {cell.statistic: (cell.count, cell.undefined) for cell in found.cells if "system" in cell.statistic}
    assert counts == {"system.accuracy": (3, 0), "system.spa": (2, 1), "system.pearson": (3, 0)}


def test_systems_may_be_scored_by_their_summed_statistics(human):
    (scored,) = metrics(human, 3)[:1]
    rows = np.stack([scored.scores, np.random.default_rng(0).uniform(1, 2, size=300)], axis=1)

    def ratio(statistics):
        return statistics[..., 0] / statistics[..., 1]

    by_sums = CandidateScores("sums", ratio(rows), rows, ratio)
    comparison = compare([(graded(human), [by_sums, scored])], resamples=50, test="randomisation")
    totals = ratio(rows.reshape(60, 5, 2).sum(axis=0))
    wanted = stats.pearsonr(human.mean(axis=0), totals).statistic
    assert comparison.cell("system.pearson", "test/xx-en", "sums").value == pytest.approx(wanted)
    assert {tests.statistic: tests.test for tests in comparison.pairwise_tests}["system.pearson"] == "bootstrap"
    assert {tests.statistic: tests.test for tests in comparison.pairwise_tests}["segment.pearson"] == "randomisation"


@pytest.mark.parametrize("test", ["bootstrap", "randomisation", "perm-both"])
def test_significance_tells_a_bad_metric_from_two_good_ones(human, test):
    scored = metrics(human, 1)
    same = CandidateScores("same", scored[0].scores * 2 - 1)
    comparison = compare([(preferred(human), [*scored, same])], resamples=150, test=test, correction="none")
    tests = comparison.tests_of("segment.tau.primary", "test/xx-en")
    assert tests.test == test
    assert tests.p[0][3] == 1
    assert tests.p[0][2] < 0.02
    assert tests.p[0][2] == tests.p[2][0]
    assert tests.ahead[0] == (False, False, True, False)
    clusters = [
        comparison.cell("segment.tau.primary", "test/xx-en", item).cluster for item in ("m0", "m1", "m2", "same")
    ]
    assert clusters[2] == max(clusters) > clusters[0] == clusters[3] == 1
    again = compare([(preferred(human), [*scored, same])], resamples=150, test=test, correction="none")
    assert again.to_json() == comparison.to_json()
    # Spearman has no shortcut under perm-both, and the result says what stood in
    expected = "bootstrap" if test == "perm-both" else test
    assert comparison.tests_of("segment.spearman", "test/xx-en").test == expected


@pytest.fixture(scope="module")
def twelve(human):
    """Twelve metrics, four good, four middling and four bad, by correction."""
    scored = metrics(human, 7, (0.5,) * 4 + (1.5,) * 4 + (6.0,) * 4)
    return {
        correction: compare([(preferred(human), scored)], levels=["segment"], correction=correction)
        for correction in ("westfall-young", "holm", "none")
    }


def significant(found: Comparison, identity: str) -> int:
    return sum(map(sum, found.tests_of(identity, "test/xx-en").ahead))


def test_twelve_metrics_are_told_apart_by_default(twelve, human):
    holm, default = twelve["holm"], twelve["westfall-young"]
    assert default.settings.correction == compare([(preferred(human), metrics(human, 1))]).settings.correction
    for identity in ("segment.tau.primary", "segment.spearman"):
        result = {name: item.tests_of(identity, "test/xx-en") for name, item in twelve.items()}
        assert significant(holm, identity) == 0
        assert significant(twelve["none"], identity) >= significant(default, identity) >= 32
        # all of the good are ahead of all others
        assert np.array(result["westfall-young"].ahead)[:4, 4:].all()
        assert result["westfall-young"].p == result["holm"].p == result["none"].p == result["none"].adjusted
        assert (np.array(result["westfall-young"].adjusted) >= result["none"].p).all()


def test_a_comparison_says_when_no_difference_can_be_significant(twelve, human):
    assert twelve["westfall-young"].notes == twelve["none"].notes == ()
    assert twelve["holm"].notes == (
        "no difference can be significant: with 1,000 resamples the smallest p-value is 0.001, times 66 pairs (Holm) "
        "0.066, not below 0.05; raise --resamples to at least 1,320 or use --correction westfall-young",
    )
    data = [(preferred(human), metrics(human, 1))]
    few = compare(data, levels=["segment"], resamples=19, correction="holm")
    assert few.notes == (
        "no difference can be significant: with 19 resamples the smallest p-value is 0.05, times 3 pairs (Holm) "
        "0.15, not below 0.05; raise --resamples to at least 60, or to 20 with --correction westfall-young",
    )
    (note,) = compare(data, levels=["segment"], resamples=19).notes
    assert note == (
        "no difference can be significant: with 19 resamples the smallest p-value is 0.05, not below 0.05; "
        "raise --resamples to at least 20"
    )
    assert compare(data, levels=["segment"], resamples=20).notes == ()
    assert compare(data, levels=["segment"], resamples=0).notes == ()
    constant = [*data[0][1], CandidateScores("constant", np.zeros(human.size))]
    (note,) = compare([(preferred(human), constant)], resamples=100, correction="holm").notes
    # where the constant metric is undefined, three pairs are left, and 3/101 is below .05
    assert re.match(r"no difference can be significant for \d+ of \d+ combinations of statistic and data: ", note)


def test_williams_test_is_that_of_the_correlations_of_a_language_pair(human):
    scored = metrics(human, 1)
    data = [(concatenate_datasets([graded(human[:30]), graded(human[30:], "yy-en")]), scored)]
    comparison = compare(data, resamples=50, test="williams", correction="holm")
    selected = human[:30].ravel(), *(item.scores[:150] for item in scored)
    r = np.corrcoef(selected)
    tests = comparison.tests_of("segment.pearson", "test+test/xx-en")
    assert tests.test == "williams"
    assert tests.p[0][2] == tests.p[2][0] == pytest.approx(float(williams(r[0, 1], r[0, 3], r[1, 3], 150)))
    assert tests.adjusted[0][2] == pytest.approx(3 * tests.p[0][2])
    assert tests.ahead[0][2]
    # systems, too, but not a mean over language pairs and no other statistic
    people, left, right = (values.reshape(30, 5).mean(axis=0) for values in (selected[0], selected[1], selected[3]))
    r = np.corrcoef([people, left, right])
    systems = comparison.tests_of("system.pearson", "test+test/xx-en")
    assert systems.p[0][2] == pytest.approx(float(williams(r[0, 1], r[0, 2], r[1, 2], 5)))
    assert comparison.tests_of("segment.pearson", "test+test/mean").test == "bootstrap"
    assert comparison.tests_of("segment.spearman", "test+test/xx-en").test == "bootstrap"
    with pytest.raises(OptionError, match=r"--test williams does not resample, .*: use --correction holm or none"):
        compare(data, test="williams")


def test_several_data_sets_are_averaged(human):
    sets = [(preferred(human[:30], name="one"), human[:30]), (preferred(human[30:], "en-yy", name="two"), human[30:])]
    scored = [(dataset, metrics(values, 4)[:2]) for dataset, values in sets]
    comparison = compare(scored, resamples=50)
    assert [scope.id for scope in comparison.scopes] == ["one/xx-en", "two/en-yy", "mean"]
    values = [comparison.values("segment.spearman", scope.id) for scope in comparison.scopes]
    assert values[2] == pytest.approx((values[0] + values[1]) / 2)
    assert comparison.main_scope.sources == 60
    alone = compare(scored[:1], resamples=50)
    assert [cell for cell in comparison.cells if cell.scope == "one/xx-en"] == list(alone.cells)


def test_json_holds_everything_and_is_read_back(found, twelve, tmp_path):
    text = found.to_json()
    again = Comparison.from_json(text)
    assert again.to_json() == text
    assert again.settings == found.settings
    assert again.scopes == found.scopes
    assert again.pairwise_tests == found.pairwise_tests
    assert list(json.loads(text)) == [
        *("format", "signature", "settings", "notes", "metrics", "statistics", "scopes", "cells", "contests"),
    ]
    # files of before there were notes say the same
    older = json.loads(twelve["holm"].to_json())
    assert older.pop("notes")
    assert Comparison.from_json(json.dumps(older)).notes == twelve["holm"].notes
    (tmp_path / "x.json").write_text(text, encoding="utf-8")
    assert Comparison.read(tmp_path / "x.json").cells == found.cells
    (tmp_path / "x.json").write_text("nothing")
    with pytest.raises(DataError, match=r"x\.json:1:1: not JSON"):
        Comparison.read(tmp_path / "x.json")
    with pytest.raises(DataError, match="expected a comparison of format 'ranker-comparison/1', found None"):
        Comparison.from_json("{}")
    broken = json.loads(text)
    del broken["cells"][0]["value"]
    with pytest.raises(DataError, match="not a complete comparison"):
        Comparison.from_json(json.dumps(broken))


@pytest.mark.parametrize(
    "change",
    [
        lambda item: item["contests"][0]["ahead"].pop(),
        lambda item: item["contests"][0]["p"][1].pop(),
        lambda item: item["contests"][0].update(scope="nowhere"),
        lambda item: item["cells"][0].update(metric="none"),
        lambda item: item["cells"][0].update(rank=1.5),
        lambda item: item["metrics"].append(item["metrics"][0]),
        lambda item: item["statistics"].append(item["statistics"][0]),
        lambda item: item["scopes"].append(item["scopes"][0]),
        lambda item: item["statistics"][0].update(title=None),
        lambda item: item["scopes"][0].update(sources=True),
        lambda item: item["settings"].update(seed="x"),
        lambda item: item.update(scopes=[], cells=[], contests=[]),
        lambda item: item.update(cells={"a": 1}),
    ],
)
def test_json_whose_parts_do_not_belong_together_is_refused(found, change):
    broken = json.loads(found.to_json())
    change(broken)
    with pytest.raises(DataError, match=r"x: not a complete comparison"):
        Comparison.from_json(json.dumps(broken), file="x")


@pytest.mark.parametrize(
    ("part", "key"), [("cells", "metric"), ("cells", "statistic"), ("contests", "statistic"), ("contests", "scope")]
)
def test_a_figure_of_something_unlisted_is_named(found, part, key):
    broken = json.loads(found.to_json())
    broken[part][0][key] = "none"
    with pytest.raises(DataError, match=rf"found a figure of a {key} that is not listed under {key}s: 'none'"):
        Comparison.from_json(json.dumps(broken), file="x")


def test_levels_and_mistakes(human):
    scored = metrics(human, 1)[:1]
    comparison = compare([(graded(human), scored)], levels=["system"], resamples=0)
    assert {statistic.level for statistic in comparison.statistics} == {"system"}
    with pytest.raises(OptionError, match="two metrics are called 'm0'"):
        compare([(graded(human), scored * 2)])
    with pytest.raises(OptionError, match="one of bootstrap, randomisation, perm-both, williams, found 't'"):
        compare([(graded(human), scored)], test="t")
    with pytest.raises(OptionError, match="expected one of westfall-young, holm, none, found 'bonferroni'"):
        compare([(graded(human), scored)], correction="bonferroni")
    for alpha in (0.0, 1.0, float("nan")):
        with pytest.raises(OptionError, match=f"alpha: expected a number between 0 and 1, found {alpha}"):
            compare([(graded(human), scored)], alpha=alpha)
    for options in ({"resamples": -1}, {"resamples": 1.5}, {"seed": -1}, {"seed": "x"}):
        with pytest.raises(OptionError, match=f"{next(iter(options))}: expected a whole number from 0, found"):
            compare([(graded(human), scored)], **options)
    with pytest.raises(OptionError, match="levels: expected some of segment, document, system, found 'sentence'"):
        compare([(graded(human), scored)], levels=["sentence"])
    with pytest.raises(OptionError, match="nothing to compare"):
        compare([])
    lacking = CandidateScores("m", np.full(300, np.nan))
    with pytest.raises(DataError, match="test: a judged candidate has no score by m"):
        compare([(graded(human), [lacking])])


@pytest.mark.parametrize(
    ("shape", "level", "says"),
    [
        ((1, 8000), "segment", "has 31,996,000 pairs of judged candidates of a source, expected 30,000,000 or fewer"),
        ((3, 300), "system", "300 systems are too many to compare all pairs, with 3 sources and 1,000 resamples"),
    ],
)
def test_what_does_not_fit_into_memory_is_refused_in_one_line(shape, level, says):
    human = np.random.default_rng(0).normal(size=shape)
    with pytest.raises(DataError, match=f"test xx-en: {re.escape(says)}") as error:
        compare([(graded(human), metrics(human, 1))], levels=[level])
    assert "\n" not in str(error.value)


def test_few_sources_are_tested_by_randomisation_and_a_note_says_so():
    generator = np.random.default_rng(3)
    human = generator.normal(size=(4, 6))
    dataset = graded(human)
    good, bad = (CandidateScores(name, human.ravel() * sign) for name, sign in (("good", 1), ("bad", -1)))
    comparison = compare([(dataset, [good, bad])], levels=("segment",), resamples=400)
    tests = comparison.tests_of("segment.spearman", comparison.main_scope.id)
    assert tests.test == "randomisation"
    # two of the sixteen ways to swap are as extreme
    assert tests.p[0][1] == pytest.approx(2 / 16, abs=0.05)
    assert comparison.notes[-1] == "test xx-en: 4 sources, fewer than 30: intervals are too narrow"
    many = compare([(graded(np.tile(human, (8, 1))), [CandidateScores("a", np.tile(good.scores, 8))])], resamples=20)
    assert not [note for note in many.notes if "fewer than 30" in note]


def test_few_documents_are_told_where_documents_are_evaluated(human):
    many, few = graded(human, documents=6), graded(human[:24], documents=6)
    note = "test xx-en, document level: {} documents, fewer than 30: intervals are too narrow"
    for dataset, levels, notes in (
        (many, ("segment", "document"), (note.format(10),)),
        (many, ("segment", "system"), ()),
        (few, ("document",), (note.format(4),)),
        (
            few,
            ("segment", "document"),
            ("test xx-en: 24 sources, fewer than 30: intervals are too narrow", note.format(4)),
        ),
        (graded(human, documents=2), ("document",), ()),
    ):
        data = [(dataset, [CandidateScores("m", np.arange(float(len(dataset))))])]
        assert compare(data, levels=levels, resamples=20).notes == notes
        assert compare(data, levels=levels, resamples=0).notes == ()


@pytest.mark.parametrize("test", ["bootstrap", "perm-both", "williams"])
def test_randomisation_replaces_the_bootstrap_of_few_units_whatever_test_is_asked_for(human, test):
    def tested(dataset, levels, test):
        data = [(dataset, [CandidateScores(each.name, each.scores[: len(dataset)]) for each in metrics(human, 1)])]
        comparison = compare(data, levels=levels, resamples=60, test=test, correction="none")
        return {(each.statistic, each.scope): each for each in comparison.pairwise_tests}

    documents = graded(human, documents=6)
    chosen, plain = (tested(documents, ("segment", "document"), each) for each in (test, "randomisation"))
    assert chosen["document.spearman", "test/xx-en"] == plain["document.spearman", "test/xx-en"]
    # sixty sources are enough
    assert chosen["segment.spearman", "test/xx-en"].test == "bootstrap"
    pairs = concatenate_datasets([graded(human[:20]), graded(human[20:40], "yy-en")])
    chosen, plain = (tested(pairs, ("segment",), each) for each in (test, "randomisation"))
    for key, found in chosen.items():
        if "pearson" not in key[0] or test == "bootstrap":
            assert found == plain[key]
    of_pearson = {scope: chosen["segment.pearson", f"test+test/{scope}"].test for scope in ("xx-en", "mean")}
    # Williams' test is not one of means
    mean = "perm-both" if test == "perm-both" else "randomisation"
    assert of_pearson == {"xx-en": "randomisation" if test == "bootstrap" else test, "mean": mean}


def test_several_scorers_are_compared_in_python_as_on_the_command_line(command):
    printed = json.loads(command("evaluate", "sample", "-m", "bleu,chrf", "--resamples", "20", "-f", "json").out)
    data = load_dataset("sample")
    assert json.loads(evaluate(data, ["bleu", "chrf"], resamples=20).to_json()) == printed
    arrays = {"noise": np.random.default_rng(0).random(len(data)), "chrf": make_metric("chrf")}
    mixed = evaluate(data, arrays, resamples=0, levels=["segment"])
    assert [metric.name for metric in mixed.metrics] == ["noise", "chrf"]
    assert {statistic.level for statistic in mixed.statistics} == {"segment"}
    of_chrf = evaluate(data, "chrf", resamples=0).estimate("segment.spearman")
    assert mixed.estimate("segment.spearman", metric="chrf").value == of_chrf.value


def test_python_refuses_and_notes_what_the_command_does(caplog, sample):
    upside_down = sample.to_frame()
    upside_down["adequacy"] = -upside_down["adequacy"]
    with pytest.raises(DataError, match="so the direction is in doubt; state it: --kind adequacy:lower or"):
        evaluate(upside_down, "chrf", kind="adequacy", resamples=0)
    caplog.clear()
    stated = evaluate(upside_down, ["chrf", "ter"], kind="adequacy:higher", levels=["segment"], resamples=0)
    assert "people prefer candidates with lower chrF" in caplog.text
    assert stated.metrics[0].signature.startswith("chrf[")
    one = evaluate(sample, "chrf", kind="adequacy", levels=["system"], resamples=0)
    assert {statistic.level for statistic in one.statistics} == {"system"}


def test_notes_and_signatures_of_all_data_sets_are_kept():
    human = np.arange(12.0).reshape(4, 3)
    data = [
        (replace(graded(human), name=note), [CandidateScores("m", human.ravel(), signature="m", notes=(note,))])
        for note in "ab"
    ]
    (metric,) = compare(data, resamples=0).metrics
    assert metric.notes == ("a", "b")
    assert metric.signature == "m"


def test_a_note_on_training_data_counts_sources_without_judgements() -> None:
    sample = load_dataset("sample")
    rated = sample.candidate_source[sample.ratings["candidate"].to_numpy()]
    judged = replace(sample, ratings=sample.ratings[rated < 60].reset_index(drop=True))
    ranker = Ranker("chrf", C=1.0).fit(sample.select_sources(np.arange(120) < 30))
    part, scored = scored_by(judged, {"m": scorer_of(ranker)}, kind="fluency", levels=["segment"])
    assert len(part) == len(scored[0].scores) == 420
    assert scored[0].notes == ("was trained on 25% of the sources of sample",)


@pytest.mark.parametrize("test", ["bootstrap", "randomisation"])
@pytest.mark.parametrize("sources", [1, 2, 3])
def test_few_sources_show_no_winner_and_a_single_one_no_interval(sources, test):
    human = np.array([[4.0, 2.0, 3.0]] * sources)
    dataset = graded(human)
    scored = [CandidateScores(name, sign * human.ravel()) for name, sign in (("good", 1), ("bad", -1))]
    by_sums = [CandidateScores.of(scorer_of(name), dataset, name=name) for name in ("bleu", "chrf")]
    comparison = compare([(dataset, [*scored, *by_sums])], test=test, resamples=100)
    defined = [cell for cell in comparison.cells if not np.isnan(cell.value)]
    assert {cell.statistic.partition(".")[0] for cell in defined} == {"segment", "system"}
    for cell in defined:
        assert np.isnan([cell.low, cell.high]).all() == (sources == 1)
        assert cell.cluster == 1
    assert ("only 1 source: no intervals" in comparison.notes[0]) == (sources == 1)


def test_a_language_pair_with_one_source_has_no_interval_and_the_mean_has(human):
    data = concatenate_datasets([graded(human[:20]), graded(human[20:21], "yy-en")])
    comparison = compare([(data, metrics(human[:21], 2))], resamples=50)
    for scope, known in (("test+test/xx-en", True), ("test+test/yy-en", False), ("test+test/mean", True)):
        interval = comparison.estimate("segment.spearman", scope)
        assert np.isfinite([interval.low, interval.high]).all() == known
        assert np.isfinite(interval.value)


@pytest.mark.parametrize("test", ["bootstrap", "randomisation", "perm-both"])
def test_what_people_do_not_order_has_no_agreement(test, caplog):
    level = np.full((8, 3), 3.0)
    scored = [CandidateScores(name, np.tile(row, 8)) for name, row in (("m", [1.0, 2.0, 3.0]), ("n", [0.0, 0.0, 1.0]))]
    comparison = compare([(graded(level), scored)], test=test, resamples=50)
    assert np.isnan([cell.value for cell in comparison.cells]).all()
    assert {cell.cluster for cell in comparison.cells} == {0}
    assert np.isnan([tests.p[0][1] for tests in comparison.pairwise_tests]).all()
    assert "people order no two candidates of a source" in caplog.text


def test_what_people_do_not_order_has_no_p_value_by_williams_test_either():
    scored = [CandidateScores(name, np.tile([1.0, 2.0, 3.0], 8)) for name in "mn"]
    comparison = compare([(graded(np.full((8, 3), 3.0)), scored)], test="williams", correction="none", resamples=5)
    assert np.isnan([tests.p[0][1] for tests in comparison.pairwise_tests]).all()


def test_what_people_order_by_rounding_errors_alone_has_no_agreement(caplog):
    scored = [CandidateScores(name, np.tile(row, 3)) for name, row in (("m", [1.0, 2.0]), ("n", [0.0, 0.0]))]
    comparison = compare([(graded(np.array([[0.1 + 0.2, 0.3]] * 3)), scored)], resamples=50)
    assert np.isnan([cell.value for cell in comparison.cells]).all()
    assert "people order no two candidates of a source" in caplog.text
    # both systems have a mean of 0.2
    comparison = compare([(graded(np.array([[0.1, 0.3], [0.2, 0.2], [0.3, 0.1]])), scored)], resamples=50)
    assert np.isnan(comparison.estimate("system.accuracy", metric="n").value)


def test_accuracy_with_ties_is_the_best_of_all_thresholds():
    """Scores of few digits have distances that differ by rounding alone: 0.3 - 0.2 is below 0.2 - 0.1."""
    generator = np.random.default_rng(0)
    first, second = np.triu_indices(4, 1)
    for human, scores in (
        (np.array([[1.0, 1, 9, 20], [1, 2, 9, 20]]), np.array([[0.3, 0.2, 5, 9], [0.1, 0.2, 5, 9]])),
        (generator.integers(0, 3, (40, 4)).astype(float), generator.random((40, 4)).round(1)),
    ):
        found = compare([(graded(human), [CandidateScores("m", scores.ravel())])], resamples=0)
        by_human, by_score = (values[:, first] - values[:, second] for values in (human, scores))
        accuracy = [
            np.where(np.abs(by_score) <= limit, by_human == 0, by_human * by_score > 0).mean()
            for limit in np.unique(np.append(np.abs(by_score), 0.0))
        ]
        assert found.estimate("segment.acc-eq").value == pytest.approx(max(accuracy), abs=1e-12)


def test_ratings_that_all_tie_have_no_accuracy_beside_preferences():
    level = graded(np.full((8, 2), 3.0))
    data = replace(preferred(np.tile([1.0, 2.0], (8, 1))), ratings=level.ratings)
    scored = [CandidateScores("m", np.tile([1.0, 2.0], 8))]
    comparison = compare([(data, scored)], kind="fluency_raw", resamples=50)
    assert np.isnan(comparison.estimate("segment.acc-eq").value)


def test_systems_are_judged_by_the_kind_of_judgement_that_is_asked_for_beside_preferences(human):
    data = replace(preferred(human), ratings=graded(-human).ratings)
    scored = [CandidateScores("m", human.ravel())]
    for comparison in (
        compare([(data, scored)], kind="fluency", resamples=0),
        compare([(data, scored)], human=[-human.ravel()], resamples=0),
    ):
        assert comparison.estimate("system.pearson").value == pytest.approx(-1)
        assert comparison.estimate("system.accuracy").value == 0
    assert compare([(data, scored)], resamples=0).estimate("system.accuracy").value > 0.9


def test_human_scores_may_be_given_for_data_without_judgements(human):
    data = graded(np.full(human.shape, np.nan))
    for given in (human.ravel(), {"m": human.ravel(), "n": -human.ravel()}):
        comparison = evaluate(data, given, human=human.ravel(), resamples=0)
        assert comparison.estimate("segment.spearman").value == pytest.approx(1)
        assert "|against:human|" in comparison.signature


def test_preferences_of_which_none_is_known_are_refused(human):
    data = preferred(human)
    unknown = replace(data, preferences=data.preferences.assign(relation="-").astype(data.preferences.dtypes))
    with pytest.raises(DataError, match="test: no candidate has a human score or is preferred to another: give other"):
        compare([(unknown, metrics(human, 1))])


def test_preferences_that_are_all_ties_are_refused():
    level = np.ones((3, 2))
    with pytest.raises(DataError, match="test: all preferences are ties, which order no candidates: give pref"):
        compare([(preferred(level), metrics(level, 1))])


def test_a_metric_in_another_unit_has_the_same_rank(human):
    noisy = metrics(human, 1)[0].scores
    scored = [CandidateScores("m", noisy), CandidateScores("n", 0.1 * noisy + 5)]
    assert {cell.rank for cell in compare([(graded(human, documents=6), scored)], resamples=0).cells} == {1}


def test_a_note_tells_which_metrics_are_averaged_over_other_sources():
    human = np.random.default_rng(4).permuted(np.tile(np.arange(5.0), (80, 1)), axis=1)
    constant = np.arange(80) % 5 > 0
    judge = np.where(constant[:, np.newaxis], 90.0, human)
    near = human + np.random.default_rng(5).normal(size=human.shape)
    scored = [CandidateScores("judge", judge.ravel()), CandidateScores("near", near.ravel())]
    found = compare([(graded(human), scored)], resamples=50)
    cell = found.cell("segment.spearman", "test/xx-en", "judge")
    assert cell.value == pytest.approx(1)
    assert (cell.count, cell.undefined, cell.detail["left_out_alone"]) == (16, 64, 64)
    assert "left_out_alone" not in found.cell("segment.spearman", "test/xx-en", "near").detail
    (note,) = (note for note in found.notes if "averaged" in note)
    assert note == (
        "Spearman is averaged over the sources whose outputs a metric does not score alike: judge leaves out 64 of 80 "
        "(test xx-en); such means, and tests of their differences, are over different sources; acc-eq counts all "
        "sources"
    )
    assert Comparison.from_json(found.to_json()).notes == found.notes
    # sources that no metric orders are left out for all, and few change little
    alike = [replace(each, scores=np.where(np.repeat(constant, 5), 1.0, each.scores)) for each in scored]
    few = replace(scored[0], scores=np.where(np.arange(400) < 15, 1.0, human.ravel()))
    for others in (alike, [few, scored[1]], scored[:1]):
        assert not any("averaged" in note for note in compare([(graded(human), others)], resamples=50).notes)


def test_a_note_names_the_documents_that_a_metric_leaves_out():
    human = np.random.default_rng(4).permuted(np.tile(np.arange(5.0), (80, 1)), axis=1)
    judge = np.where(np.arange(80)[:, np.newaxis] < 16, 90.0, human)
    scored = [CandidateScores("judge", judge.ravel()), CandidateScores("near", human.ravel())]
    found = compare([(graded(human, documents=8), scored)], levels=("document",), resamples=50)
    assert [note for note in found.notes if "averaged" in note] == [
        "document Spearman is averaged over the documents whose outputs a metric does not score alike: judge leaves "
        "out 2 of 10 (test xx-en); such means, and tests of their differences, are over different documents"
    ]


def test_english_of_a_region_is_english(human):
    data = concatenate_datasets([graded(human, lp) for lp in ("de-en_GB", "en-de", "zh-en")])
    scopes = {scope.id: scope for scope in compare([(data, metrics(np.tile(human, (3, 1)), 1))], resamples=0).scopes}
    assert scopes[f"{data.name}/mean into English"].members == (f"{data.name}/de-en_GB", f"{data.name}/zh-en")


def test_a_mean_is_of_the_data_sets_whose_judgements_order_candidates(human):
    data = [(preferred(values, name=name), metrics(values, 1)) for name, values in (("a", human), ("b", human))]
    ties = preferred(np.ones((3, 2)), name="ties"), metrics(np.ones((3, 2)), 1)
    assert compare([*data, ties], resamples=0).main_scope.title == "mean, 2 data sets"
    assert compare([data[0], ties], resamples=0).main_scope.id == "a/xx-en"


def test_one_output_of_every_source_says_why_little_is_defined(human, caplog):
    one = graded(human[:, :1])
    scored = metrics(human[:, :1], 1)
    found = compare([(one, scored)], resamples=0)
    assert np.isnan(found.cell("segment.spearman", "test/xx-en", "m0").value)
    assert not np.isnan(found.cell("segment.pearson", "test/xx-en", "m0").value)
    (note,) = caplog.messages
    assert note.endswith("test xx-en: people order no two candidates of a source: only Pearson's r can be computed")
    with pytest.raises(DataError, match="nothing to evaluate by system: expected judged outputs of at least two sys"):
        compare([(one, scored)], levels=("system",))
    with pytest.raises(DataError, match=r"by document: expected .* of at least two systems, in documents \(doc\); use"):
        compare([(graded(human), metrics(human, 1))], levels=("document",))
