from __future__ import annotations

import numpy as np
import pytest

from ranker.corpora.dataset import Dataset
from ranker.corpora.records import Candidate, Record, assemble
from ranker.errors import ModelError
from ranker.evaluation.direction import direction_note
from ranker.ranking import Ranker

WORDS = ["the", "cat", "sat", "on", "the", "mat", "and", "looked", "at", "me"]


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
        ("x", -1, "auto", "if lower values of 'x' are better, train with --kind x:lower"),
        ("rank", 1, "auto", "if higher values of 'rank' are better, train with --kind rank:higher"),
        ("x", 1, "x:lower", "if higher values of 'x' are better, train with --kind x:higher"),
    ],
)
def test_a_ranker_upside_down_is_noted(kind: str, sign: int, asked: str, advice: str) -> None:
    dataset = made(kind, sign)
    note = direction_note(Ranker("bleu[order=1]", kind=asked).fit(dataset), dataset)
    assert note == f"the model prefers the candidate with lower chrF in 100% of the training pairs; {advice}"


def test_the_right_way_up_and_without_references_nothing_is_said() -> None:
    dataset = made("x", 1)
    assert direction_note(Ranker("bleu[order=1]").fit(dataset), dataset) is None
    bare = made("x", -1, references=0)
    assert direction_note(Ranker("bleu[order=1]").fit(dataset), bare) is None
    with pytest.raises(ModelError, match="not trained"):
        direction_note(Ranker(), dataset)


def test_few_pairs_of_much_data_are_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = made("x", -1, sources=600)
    ranker = Ranker("bleu[order=1]").fit(dataset)
    scored: list[int] = []
    score = Ranker.candidate_scores

    def counted(self: Ranker, part: Dataset) -> np.ndarray:
        scored.append(len(part.sources))
        return score(self, part)

    monkeypatch.setattr(Ranker, "candidate_scores", counted)
    notes = [direction_note(ranker, dataset, seed=seed) for seed in (1, 1, 2)]
    assert notes[0] == notes[1]
    assert all(note and "100%" in note for note in notes)
    assert scored == [500, 500, 500]
