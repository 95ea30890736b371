from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranker import Ranker, from_records
from ranker.corpora.records import Candidate, Record, assemble
from ranker.ranking.by_score import rank_by
from ranker.reports.examples import choose, choose_unjudged, mark, show
from ranker.reports.findings import examine
from ranker.reports.ranker_page import ranker_report
from ranker.reports.sources import outputs_by_source, packed
from ranker.reports.texts import START
from ranker.text.matched_words import readable_batch, words_of
from ranker.text.tokens import tokenise
from tests.reports.test_pages import unpacked


def marks(text, known, matches=()):
    words = tokenise([text]).words(0)
    return [(item.text, item.word, item.triplet) for item in mark(text, words, Counter(known), list(matches))]


def test_words_match_as_often_as_a_reference_has_them():
    assert marks("The cat, the  cat ran", {"the": 1, "cat": 2, ",": 1}) == [
        ("The cat,", "same", False),
        (" ", "", False),
        ("the", "", False),
        ("  ", "", False),
        ("cat", "same", False),
        (" ", "", False),
        ("ran", "", False),
    ]


@pytest.mark.parametrize(
    ("lp", "text", "reference", "runs"),
    [
        ("en-km", "នៅ", "ន", [("នៅ", "")]),
        ("en-km", "ន", "នៅ", [("ន", "")]),
        ("en-th", "น้ำดี", "นำดี", [("น้ำ", ""), ("ดี", "same")]),
        ("en-my", "သတ္တဝါ", "သတဝါ", [("သ", "same"), ("တ္တ", ""), ("ဝါ", "same")]),
    ],
)
def test_a_mark_has_whole_characters(lp, text, reference, runs):
    data = from_records([{"lp": lp, "source": "a", "references": [reference], "candidates": [text]}])
    batch = readable_batch(data, lowercase=False)
    words = words_of(batch, int(batch.candidate[0]))
    known = Counter(words_of(batch, int(batch.reference[0])))
    assert [(run.text, run.word) for run in mark(text, words, known, [])] == runs


def test_triplets_and_near_matches_are_marked():
    result = marks(
        "old cats sleep",
        {"old": 1},
        ["noun-modifier(cats, old)", "cats ~ cat (stem)", "sleep ~ slumber (synonym)"],
    )
    assert [item for item in result if item[0] != " "] == [
        ("old", "same", True),
        ("cats", "near", True),
        ("sleep", "near", False),
    ]


def test_tokens_stand_in_for_a_text_that_they_are_not_part_of():
    # the tokeniser writes the entity as a character
    assert "".join(text for text, *_ in marks("A &quot;B&quot;", {})) == 'A " B "'


@given(st.text(alphabet="ab ,.-'İß1", max_size=20), st.dictionaries(st.sampled_from("ab,."), st.integers(1, 2)))
def test_pieces_put_together_are_the_text(text, known):
    assert "".join(mark for mark, *_ in marks(text, known)) == text


def test_worst_and_best_are_those_and_no_source_stands_twice():
    rho = np.array([0.5, -1, np.nan, 1, 1, -1, 0.2, np.nan])
    ordered = np.array([3, 1, 2, 1, 6, 5, 4, 0])
    result = choose(rho, ordered, 2, seed=0)
    assert result["worst"].tolist() == [5, 1]
    assert result["best"].tolist() == [4, 3]
    assert set(result["random"]) <= {0, 2, 6}
    assert len(result["random"]) == 2
    everything = choose(rho, ordered, 100, seed=1)
    # of the last one nothing is ordered
    assert sorted(np.concatenate(list(everything.values())).tolist()) == [0, 1, 2, 3, 4, 5, 6]
    assert choose(rho, ordered, 100, seed=1)["random"].tolist() == everything["random"].tolist()


@pytest.mark.parametrize("rho", [[1.0, 1.0, 1.0, 1.0, -1.0, np.nan], [0.5] * 6])
@pytest.mark.parametrize("count", [1, 2, 3, 9])
def test_no_source_is_an_example_of_two_types(rho, count):
    result = choose(np.array(rho), np.array([3, 2, 1, 1, 5, 0]), count, seed=0)
    chosen = np.concatenate(list(result.values()))
    assert len(set(chosen.tolist())) == len(chosen)


def test_shown_sources_say_what_the_ranker_says(findings, model, sample):
    ranking = rank_by(sample, model.candidate_scores(sample))
    shown = [first for sort in findings.examples.values() for first in sort]
    assert len(shown) == 9
    worst = [example.source.rho for example in findings.examples["worst"]]
    assert worst == sorted(findings.rho)[:3]
    for left in shown:
        source = int(np.flatnonzero((sample.sources["text"] == left.source.text).to_numpy(bool))[0])
        rows = ranking[ranking["source"] == source]
        outputs = [candidate.output for candidate in left.candidates]
        assert tuple(outputs) == left.source.outputs
        by_system = {system: output for output in outputs for system in output.systems}
        assert sorted(by_system) == sorted(rows["system"])
        assert [output.rank for output in outputs] == sorted(output.rank for output in outputs)
        for row in rows.itertuples():
            assert by_system[row.system].rank == row.rank
            assert by_system[row.system].score == pytest.approx(row.score)
        for output in outputs:
            assert sum(output.parts) == pytest.approx(output.score)
            for human, rank in zip(output.human, output.human_ranks, strict=True):
                assert rank == 1 + sum(right > human + 1e-9 for each in outputs for right in each.human)
        assert [system for tied in left.source.predicted for system in tied] == rows["system"].tolist()
        assert len([system for tied in left.source.by_people for system in tied]) == len(rows)


def test_systems_with_the_same_text_are_one_output(findings, sample):
    texts = sample.candidates.groupby("source")["text"].nunique()
    assert [len(item.outputs) for item in findings.sources] == texts.tolist()
    assert texts.min() < 7
    for source in findings.sources:
        assert len({output.text for output in source.outputs}) == len(source.outputs)
        assert len({system for output in source.outputs for system in output.systems}) == 7


def test_equal_texts_with_other_scores_and_unjudged_systems_have_ranks_of_their_own():
    candidates = [Candidate("A", "x"), Candidate("B", "y"), Candidate("C", "x"), Candidate("D", "x")]
    data = assemble([Record("s", ["x"], candidates)], "d")
    scores, human = np.array([0.9, 0.5, 0.1, 0.9]), np.array([3.0, np.nan, 1.0, np.nan])
    (source,) = outputs_by_source(data, ["1"], scores, scores[:, np.newaxis], human, np.array([1.0]))
    shown = [(each.systems, each.rank, each.score, each.human_ranks, each.parts) for each in source.outputs]
    assert shown == [
        (("A", "D"), 1, 0.9, (1, None), (0.9,)),
        (("B",), 3, 0.5, (None,), (0.5,)),
        (("C",), 4, 0.1, (2,), (0.1,)),
    ]
    assert source.by_people == (("A",), ("C",))
    (row,) = unpacked(f'<script type="application/gzip+base64" id="packed">{packed([source], ["m"])}</script>')[
        "sources"
    ]
    assert [output[4] for output in row[6]] == [[1, None], [None], [2]]


def test_missing_words_are_those_that_outputs_lack(model):
    data = assemble(
        [Record("s", ["the old cat sat, the end"], [Candidate("A", "the cat"), Candidate("B", "old the sat")])], "d"
    )
    (source,) = outputs_by_source(
        data, ["1"], np.array([2.0, 1.0]), np.zeros((2, 0)), np.full(2, np.nan), np.array([np.nan])
    )
    result = show(model.feature_set.extractors, data, source)
    assert [candidate.missing for candidate in result.candidates] == [
        ("old", "sat", ",", "the", "end"),
        ("cat", ",", "the", "end"),
    ]
    assert [(piece.text, piece.word) for piece in result.references[0] if piece.word] == [(", the end", "missing")]


def test_a_long_text_is_cut_and_its_length_kept():
    text = "word " * 20_000
    assert "".join(mark for mark, *_ in marks(text, {"word": 3})) == text[:START]
    assert marks(text, {"word": 3})[0] == ("word word word", "same", False)


def test_of_sources_that_nobody_judged_those_furthest_apart_are_chosen():
    spread = np.array([0.0, 3.0, np.nan, 1.0, 2.0, 0.0])
    result = choose_unjudged(spread, 2, seed=0)
    assert result["apart"].tolist() == [1, 4]
    assert len(result["random"]) == 2
    assert set(result["random"].tolist()) < {0, 3, 5}
    assert sorted(choose_unjudged(spread, 9, seed=0)["random"].tolist()) == [0, 5]


def test_reports_mark_what_costs_most():
    reference = "The man bought 15 cars <b>today</b>."
    candidates = [Candidate("A", "The man bought 51 cars <b>today</b>."), Candidate("B", reference)]
    data = assemble([Record("Er kaufte 15 Autos <b>heute</b>.", [reference], candidates, "de-en")], "test")
    findings = examine(Ranker.load("full-lexical"), [data], examples=1, resamples=0)
    shown = [each for sort in findings.examples.values() for source in sort for each in source.candidates]
    marked = {each.output.systems[0]: each.errors for each in shown}
    assert "".join(run.text for run in marked["A"]) == candidates[0].text
    assert [(run.text, run.word) for run in marked["A"] if run.word] == [("51", "major")]
    page, _ = ranker_report(findings)
    title = next(run.title for run in marked["A"] if run.word)
    assert title.startswith("major: numbers, costs ")
    assert f'<mark class="major" title="{title}">51</mark>' in page


def test_matched_triplets_are_shown(sample):
    few = sample.select_sources(np.arange(120) < 6)
    findings = examine(Ranker("bleu,ds").fit(few), [few], examples=6, resamples=5)
    candidates = [
        candidate for sort in findings.examples.values() for source in sort for candidate in source.candidates
    ]
    matched = [match for candidate in candidates for match in candidate.matches]
    assert {extractor for extractor, *_ in matched} == {"ds"}
    assert all(triplets for *_, triplets in matched)
    assert any(piece.triplet for candidate in candidates for piece in candidate.runs)
