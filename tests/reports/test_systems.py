"""The reports of compared and of contrasted systems: they say the figures, and mark what they should."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranker.corpora.dataset import concatenate_datasets
from ranker.corpora.records import Candidate, Record, assemble
from ranker.evaluation.systems.contrast.run import contrast
from ranker.evaluation.systems.result import SystemsResult
from ranker.evaluation.systems.run import compare_systems
from ranker.ranking.scorers import candidate_scores, make_scorer
from ranker.reports.checks import checked
from ranker.reports.contrast_page import contrast_report
from ranker.reports.examples import differences
from ranker.reports.findings import examine
from ranker.reports.paper_tables import latex, markdown
from ranker.reports.systems_page import SystemsFindings, systems_report
from ranker.version import VERSION
from tests.datasets import dataset_of
from tests.effort import thorough
from tests.golden_messages import check_messages
from tests.reports.test_pages import Page, unpacked


@pytest.fixture(scope="module")
def sample_systems(sample):
    scorers = {name: make_scorer(name, None) for name in ("bleu", "ter")}
    statistics = {name: scorer.statistics(sample) for name, scorer in scorers.items()}
    result = compare_systems(sample, scorers, resamples=50, statistics=statistics)
    assert result == compare_systems(sample, scorers, resamples=50)
    return SystemsFindings.of(result, sample, scorers, statistics)


def rows_of(text: str, section: str) -> list[list[str]]:
    """Return the cells of the first table of a section."""
    body = text[text.index(f'<h2 id="{section}">') :]
    body = body[body.index("<tbody>") : body.index("</tbody>")]
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, flags=re.DOTALL) for row in body.split("</tr>")]
    return [[re.sub(r"<[^>]+>", "", cell).strip() for cell in row] for row in rows if row]


@pytest.mark.parametrize("percent", [True, False])
@thorough
def test_the_page_says_the_figures_of_all_systems(sample_systems, report, percent):
    text, plots = systems_report(sample_systems, percent=True) if percent else report
    (sentence,) = sample_systems.result.conclusions
    assert 0 < text.index(sentence) < text.index("<table")
    result = sample_systems.result
    people = result.people("zh-en")
    for number, comparison in enumerate(result.comparisons, 1):
        rows = rows_of(text, f"systems-{number}")
        assert len(rows) == len(comparison.systems) == 7
        for row, each in zip(rows, comparison.systems, strict=True):
            scale, digits = (100, 2) if percent else (1, 4)
            score = each.score.scaled(scale)
            assert row[0] == each.system
            assert row[1] == (str(each.low) if each.low == each.high else f"{each.low}–{each.high}")
            assert row[2] == (
                f"({each.cluster}) {score.value:.{digits}f} [{score.low:.{digits}f}, {score.high:.{digits}f}]"
            )
            assert row[3] == f"({people[each.system].cluster}) {people[each.system].score:.3f}"
            if each.difference is None:
                assert row[4:8] == ["baseline", "–", "–", "–"]
            else:
                assert row[4].startswith(f"{scale * each.difference.value:+.{digits}f} [")
                assert row[5:7] == [f"{each.p:.4f}", f"{each.adjusted:.4f}"]
                assert row[7] == f"{each.needed:,}"
                assert not each.agree or row[8].startswith(f"{min(round(100 * each.agree.value), 99)}% [")
    page = Page(text).text
    for pair in result.comparisons[0].pairs:
        assert f"{pair.better}{pair.worse}" in page
    assert f"{result.comparisons[0].systems[0].details['brevity penalty']:.4f}" in page
    assert result.signature in page
    assert set(plots) == {f"{name}-{number}" for name in ("scores", "people", "wins") for number in (1, 2)}
    first, *others = [system.cluster for system in result.comparisons[0].systems]
    assert others[-1] > first


@pytest.fixture(scope="module")
def report(sample_systems):
    return systems_report(sample_systems)


@thorough
def test_all_sources_are_there_with_the_scores_of_all_metrics(sample_systems, report, sample):
    data = unpacked(report[0])
    assert (data["parts"], data["title"], data["signed"]) == (["bleu", "ter"], "Scores by all metrics", False)
    assert [row[3] for row in data["sources"]] == sample.sources["text"].tolist()
    bleu, ter = (make_scorer(name, None) for name in ("bleu", "ter"))
    scores = {"bleu": candidate_scores(bleu, sample), "ter": -candidate_scores(ter, sample)}
    for source, (*_, outputs) in zip(sample_systems.sources, data["sources"], strict=True):
        assert [item[3] for item in outputs] == sorted((item[3] for item in outputs), reverse=True)
        for shown, output in zip(outputs, source.outputs, strict=True):
            assert shown[3] == pytest.approx(scores["bleu"][output.row], abs=6e-4)
            assert shown[6] == pytest.approx([scores[name][output.row] for name in ("bleu", "ter")], abs=6e-4)
    # a metric alone needs no table of scores
    scorer = {"ter": ter}
    statistics = {"ter": ter.statistics(sample)}
    alone = SystemsFindings.of(compare_systems(sample, scorer, resamples=5), sample, scorer, statistics)
    assert unpacked(systems_report(alone)[0])["parts"] == []
    assert [item.score for item in alone.sources[0].outputs] == sorted(item.score for item in alone.sources[0].outputs)


def test_systems_that_nobody_judged_have_a_report():
    outputs = {"A": "a b c d", "B": "a b x d"}
    data = assemble([Record("s", ["a b c d"], [Candidate(*output) for output in outputs.items()])] * 3, "bare")
    scorers = {"chrf": make_scorer("chrf", None)}
    result = compare_systems(data, scorers, resamples=10)
    actual = SystemsFindings.of(result, data, scorers, {"chrf": scorers["chrf"].statistics(data)})
    text, plots = systems_report(actual)
    assert set(plots) == {"scores-1", "wins-1"}
    assert "people" not in Page(text).text.replace("from people", "")


def test_failing_outputs_are_counted_by_data_set():
    def data(name, text):
        candidates = [Candidate("A", text), Candidate("B", "a b c d")]
        return assemble([Record("s", ["a b c d"], candidates)] * 2, name)

    (one,) = checked([data("one", "")])
    assert [row[0] for row in rows_of(f'<h2 id="checks">{one.body}', "checks")] == ["A", "B"]
    (both,) = checked([data("one", ""), data("two", "a")])
    rows = rows_of(f'<h2 id="checks">{both.body}', "checks")
    assert [row[:3] for row in rows] == [
        ["A one", "2", "2"],
        ["B one", "2", "0"],
        ["A two", "2", "0"],
        ["B two", "2", "0"],
    ]


@thorough
def test_the_contrast_says_the_figures(sample):
    contrast_result = contrast(
        sample, "sys1", "sys5", make_scorer("bleu", None), parser="none", segments=2, resamples=20
    )
    text, plots = contrast_report(contrast_result, "the signature")
    page = Page(text)
    for breakdown in contrast_result.breakdowns:
        for bucket in breakdown.buckets:
            for side, sign in ((bucket.first, ""), (bucket.second, ""), (bucket.difference, "+")):
                if np.isfinite(side.value):
                    assert f"{side.value:{sign}.3f}" in page.text
    rows = rows_of(text, "overall")
    assert [row[0] for row in rows] == ["bleu", "word F1", "word recall", "length ratio", "nkt"]
    assert {"overall-1", "overall-1-difference", "length-2", "document-1-difference"} <= set(plots)
    for ngram in (*contrast_result.first_ngrams, *contrast_result.second_ngrams):
        assert ngram.ngram in page.text
    for segment in (*contrast_result.first_segments, *contrast_result.second_segments):
        assert segment.source in page.text
        assert f"{segment.difference:+.3f}" in page.text
    assert page.text.count("matched only here: ") == sum(
        bool(only)
        for item in (*contrast_result.first_segments, *contrast_result.second_segments)
        for only in (item.first_only, item.second_only)
    )
    assert "the signature" in page.text


def test_segments_are_marked_on_both_sides_and_compared():
    candidates = [Candidate("A", "the old cat sat"), Candidate("B", "a cat was the the")]
    record = Record("s", ["The cat sat here"], candidates)
    other = Record("t", ["a b"], [Candidate("A", "a b"), Candidate("B", "a b")])
    contrast_result = contrast(
        assemble([record, other], "d"), "A", "B", make_scorer("chrf", None), parser="none", resamples=5
    )
    text, _ = contrast_report(contrast_result, "")
    segment = text[text.index('<details class="source') :]
    marks = re.findall(r'<mark class="(\w+)">(.*?)</mark>', segment)
    assert marks[0] == ("missing", "here")
    assert ("same", "cat sat") in marks
    assert [words for name, words in marks if name == "only"] == ["the old", "sat", "a", "was the the"]
    assert "matched only here: <bdi>sat</bdi>" in segment


@given(st.lists(st.sampled_from("abcd"), max_size=8), st.lists(st.sampled_from("abcd"), max_size=8))
def test_words_outside_the_marks_are_the_same_on_both_sides(first, second):
    texts = " ".join(first), " ".join(second)
    data = assemble([Record("s", ["r"], [Candidate("A", texts[0]), Candidate("B", texts[1])])], "d")
    sides = differences(data, 0, 1)
    assert tuple("".join(piece.text for piece in side) for side in sides) == texts
    same = ["".join(piece.text for piece in side if piece.word != "only").split() for side in sides]
    assert same[0] == same[1]
    assert len(same[0]) == longest_common(first, second)


def longest_common(first, second):
    if not first or not second:
        return 0
    if first[0] == second[0]:
        return 1 + longest_common(first[1:], second[1:])
    return max(longest_common(first[1:], second), longest_common(first, second[1:]))


def test_the_report_of_a_ranker_compares_mean_scores_where_all_systems_are_there(
    findings, preferred_findings, sample, pages
):
    text, plots = pages("findings")
    compared = findings.measured[0].systems
    assert compared is not None
    (single,) = compared.comparisons
    scores = findings.measured[0].scores
    for row, each in zip(rows_of(text, "systems-1"), single.systems, strict=True):
        own = (sample.candidates["system"] == each.system).to_numpy()
        assert each.score.value == pytest.approx(scores[own].mean())
        assert row[0] == each.system
        assert f"{each.score.value:.4f}" in row[2]
    assert {"scores-1", "people-1", "wins-1"} <= set(plots)
    # the first source has other systems than the rest
    assert preferred_findings.measured[0].systems is None


def test_examples_say_why_the_best_output_is_above_the_worst(findings, model, sample, pages):
    page = Page(pages("findings")[0]).text
    for example in findings.examples["worst"]:
        assert example.why is not None
        best, worst = example.source.outputs[0], example.source.outputs[-1]
        assert example.why.difference == pytest.approx(best.score - worst.score)
        assert example.why.headline in page
        assert example.why.reasons
        assert all(line in page for line in example.why.reasons)
    alone = assemble([Record("s", ["r a"], [Candidate("A", "a")])], "alone")
    (shown,) = examine(model, [alone], examples=1, resamples=0).examples["random"]
    assert shown.why is None


HOSTILE = ["a_b&c%d#e", r"\end{table}|$x^2~", "<b>|*x*`\u202e[1](u)"]


@pytest.fixture(scope="module")
def result() -> SystemsResult:
    items = [(["a b c d e f"], ["a b c d e f", "a b c x e f", "x x c d e x"])] * 20
    dataset = dataset_of(items, lp="de-en")
    names = dict(zip(("s0", "s1", "s2"), HOSTILE, strict=True))
    named = dataset.candidates.assign(system=dataset.candidates["system"].map(names))
    scorers = {name: make_scorer(name, None) for name in ("bleu", "ter")}
    return compare_systems(dataclasses.replace(dataset, candidates=named), scorers, resamples=200, baseline=HOSTILE[1])


def test_captions_name_the_test_of_their_language_pair() -> None:
    few, many = (
        dataset_of([(["a b c d e f"], ["a b c d e f", "a b c x e f"])] * sources, lp=lp)
        for sources, lp in ((2, "de-en"), (200, "fr-en"))
    )
    compared = compare_systems(concatenate_datasets([few, many]), {"chrf": make_scorer("chrf", None)}, resamples=200)
    captions = [line for line in markdown(compared).splitlines() if line.startswith("Corpus scores")]
    assert all("95% bootstrap confidence intervals (200 resamples, seed 0)." in caption for caption in captions)
    assert "(exact randomisation, Westfall-Young correction, 1 pair)" in captions[0]
    assert "(paired bootstrap with 200 resamples, Westfall-Young correction, 1 pair)" in captions[1]


def test_tables_for_papers_escape_names(result: SystemsResult) -> None:
    tables = {"LaTeX": latex, "Markdown, percent": lambda result: markdown(result, percent=True)}
    check_messages("paper_tables", lambda form: tables[form](result).replace(VERSION, "VERSION"))
