from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import Judged, human_scores
from ranker.corpora.records import Candidate, Record, assemble
from ranker.corpora.schema import table
from ranker.errors import DataError
from ranker.evaluation.metrics.cross_validation import train
from ranker.extractors.composed.direction import direction_note, judgements_note, opposed_to_chrf
from ranker.ranking.ranker import Ranker
from ranker.reports.findings import examine

WORDS = ["the", "cat", "sat", "on", "the", "mat", "and", "looked", "at", "me"]


def note_on(ranker: Ranker, dataset: Dataset) -> str | None:
    """Train a ranker, and return the note on its direction."""
    learnt = ranker.fit_table(dataset)
    scores = (ranker.weight_sets.of_candidates(learnt.dataset) * learnt.columns).sum(axis=1)
    return direction_note(learnt.dataset, scores, learnt.kind)


def made(kind: str, sign: int, sources: int = 30, references: int = 1) -> Dataset:
    def outputs(source: int) -> list[Candidate]:
        lengths = np.random.default_rng(source).permutation(len(WORDS))[:4]
        return [
            Candidate(f"s{i}", " ".join(WORDS[: size + 1]), [(kind, None, sign * size)])
            for i, size in enumerate(lengths)
        ]

    return assemble([Record(f"{i}", [" ".join(WORDS)] * references, outputs(i)) for i in range(sources)], "made")


@pytest.mark.parametrize(
    ("kind", "sign", "asked", "advice"),
    [
        ("x", -1, "auto", "if lower values of 'x' are better, use --kind x:lower"),
        ("rank", 1, "auto", "if higher values of 'rank' are better, use --kind rank:higher"),
        ("x", 1, "x:lower", "if higher values of 'x' are better, use --kind x:higher"),
    ],
)
def test_a_ranker_upside_down_is_noted(kind: str, sign: int, asked: str, advice: str) -> None:
    dataset = made(kind, sign)
    ranker = Ranker("bleu[order=1]", kind=asked)
    note = note_on(ranker, dataset)
    assert note == f"the model prefers candidates with lower chrF in 100% of the training sources; {advice}"


@pytest.mark.parametrize(
    ("kind", "sign", "better", "opposite"), [("x", -1, "higher", "lower"), ("rank", 1, "lower", "higher")]
)
def test_judgements_upside_down_are_refused_until_their_direction_is_stated(
    kind: str, sign: int, better: str, opposite: str
) -> None:
    dataset = made(kind, sign)
    with pytest.raises(DataError) as refused:
        judgements_note(Judged.of(dataset))
    opposed = "people prefer candidates with lower chrF in 100% of the sources"
    assert str(refused.value) == (
        f"made: if {better} values of {kind!r} are better, {opposed}, so the direction is in doubt; "
        f"state it: --kind {kind}:{opposite} or --kind {kind}:{better}"
    )
    assert judgements_note(Judged.of(dataset, stated := f"{kind}:{opposite}"), stated) is None
    advice = f"if {opposite} values of {kind!r} are better, use --kind {kind}:{opposite}"
    assert judgements_note(Judged.of(dataset, stated := f"{kind}:{better}"), stated) == f"made: {opposed}; {advice}"
    assert judgements_note(Judged.of(dataset, kind), kind, f"{kind}:{better}") == f"made: {opposed}; {advice}", (
        "a ranker learnt it"
    )


def test_training_and_reports_refuse_a_direction_in_doubt_until_it_is_stated(caplog) -> None:
    dataset, doubt = made("quality", -1), "so the direction is in doubt; state it: --kind quality:lower"
    with pytest.raises(DataError, match=doubt):
        train(dataset, Ranker("chrf", C=0.01), folds=0)
    with pytest.raises(DataError, match=doubt):
        Ranker("chrf", C=0.01).fit(dataset)
    trained = train(dataset, Ranker("chrf", kind="quality:higher", C=0.01), folds=0).ranker
    assert "people prefer candidates with lower chrF" in caplog.text
    caplog.clear()
    Ranker("chrf", kind="quality:higher", C=0.01).fit(dataset)
    assert caplog.text.count("people prefer candidates with lower chrF") == 1
    (stated,) = examine(trained, [dataset], examples=0, resamples=0).measured
    assert [note for note in stated.notes if note.startswith("people prefer candidates with lower chrF")]
    other = Ranker("chrf", C=0.01).fit(made("adequacy", 1))
    with pytest.raises(DataError, match=doubt):
        examine(other, [dataset], examples=0, resamples=0)


@pytest.mark.parametrize("name", ["metricx", "MetricX-24-hybrid", "mqm_total", "errors", "hter"])
def test_errors_are_read_the_right_way_up_negated_or_not(name: str) -> None:
    for sign in (1.0, -1.0):
        dataset = made(name, 1)
        length = dataset.ratings["value"].to_numpy()
        dataset = dataclasses.replace(dataset, ratings=dataset.ratings.assign(value=sign * (12.0 - length)))
        assert judgements_note(Judged.of(dataset, name)) is None
        assert human_scores(dataset, name)[:4].argsort().tolist() == length[:4].argsort().tolist()


def test_the_right_way_up_and_without_references_nothing_is_said() -> None:
    dataset = made("x", 1)
    ranker = Ranker("bleu[order=1]")
    assert note_on(ranker, dataset) is None
    assert judgements_note(Judged.of(dataset, "x")) is None
    assert judgements_note(Judged.of(made("x", -1, references=0), "x")) is None
    ranker = Ranker("consensus")
    assert note_on(ranker, made("x", -1, references=0)) is None


def test_preferences_upside_down_are_noted() -> None:
    dataset = made("x", 1)
    first, second = dataset.candidate_offsets[:-1], dataset.candidate_offsets[:-1] + 1
    length = dataset.candidates["text"].str.len().to_numpy()
    relation = np.where(length[first] < length[second], ">", "<")
    rows = {"first": first, "second": second, "relation": relation, "primary": np.ones(len(first), dtype=bool)}
    preferences = dataclasses.replace(dataset, preferences=table("preferences", rows))
    note = judgements_note(Judged.of(preferences, "preferences"))
    assert note == (
        "made: people prefer candidates with lower chrF in 100% of the sources; check the direction of the preferences"
    )


def test_nothing_is_said_unless_most_sources_are_clearly_opposed() -> None:
    dataset = made("x", 1)
    lengths = dataset.candidates["text"].str.len().to_numpy(np.float64)
    source = dataset.candidate_source

    def share(opposed: int) -> float | None:
        return opposed_to_chrf(dataset, np.where(source < opposed, -lengths, lengths))

    assert [share(opposed) for opposed in (0, 15, 24)] == [None, None, None]
    assert share(25) == pytest.approx(25 / 30)
    few = made("x", 1, sources=10)
    assert opposed_to_chrf(few, -few.candidates["text"].str.len().to_numpy(np.float64)) is None


def test_references_among_the_candidates_do_not_count() -> None:
    """People prefer references, which resemble other references less than outputs do."""
    dataset = made("x", 1)
    is_reference = dataset.candidates["text"].str.len().to_numpy() < 20
    marked = dataclasses.replace(dataset, candidates=dataset.candidates.assign(is_reference=is_reference))
    lengths = dataset.candidates["text"].str.len().to_numpy(np.float64)
    human = np.where(lengths < 20, 1000.0, lengths)
    assert opposed_to_chrf(dataset, human) is not None
    assert opposed_to_chrf(marked, human) is None
