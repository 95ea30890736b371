"""Candidate scores to be compared, from scorers or given as numbers, and the data of one language pair."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ranker.arrays import BoolArray, FloatArray, Int64Array, offsets_of
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import PreferencePairs
from ranker.corpora.languages import LanguagePair
from ranker.evaluation.choices import LEVELS, Level
from ranker.ranking.scorers import (
    Scorer,
    candidate_scores,
    sacrebleu_part,
    sign_of,
    systems_scorer,
    trained_on,
    type_of,
)
from ranker.ranks import merge_ties


@dataclass(frozen=True, eq=False)
class CandidateScores:
    """Scores of a data set's candidates by one scorer."""

    name: str
    scores: FloatArray
    statistics: FloatArray | None = None
    system_score: Callable[[FloatArray], FloatArray] | None = None
    for_systems: FloatArray | None = None
    type: str = "scores"
    signature: str = ""
    notes: tuple[str, ...] = ()
    standardised: bool = False

    @classmethod
    def of(
        cls,
        scorer: Scorer,
        dataset: Dataset,
        *,
        name: str | None = None,
        levels: Sequence[Level] = LEVELS,
    ) -> CandidateScores:
        """Score the candidates of a data set for `levels`; `name` is by default the scorer's name.

        The signature is that of the scorer used for documents and systems.
        """
        of_systems = scorer if list(levels) == ["segment"] else systems_scorer(scorer)
        used = dict.fromkeys([scorer, of_systems])
        notes = [f"{dataset.name}: {note}" for each in used if (note := each.note(dataset))]
        whole = dataset.context
        trained = trained_on(scorer, whole)
        statistics, by_sums = scorer.statistics(dataset), type_of(scorer) == "metric"
        scores = candidate_scores(scorer, dataset, statistics)
        return cls(
            name or scorer.name,
            scores,
            statistics if by_sums else None,
            (lambda rows: sign_of(scorer) * scorer.score(rows)) if by_sums else None,
            None if of_systems is scorer else candidate_scores(of_systems, dataset),
            type_of(scorer),
            of_systems.signature(whole) + sacrebleu_part(of_systems, whole, levels),
            (*([trained] if trained else []), *dict.fromkeys(notes)),
        )

    def standardise(self) -> CandidateScores:
        """Return a copy with scores standardised to mean 0 and standard deviation 1, and without `statistics`."""
        scores, for_systems = standardised(self.scores), self.for_systems
        if for_systems is not None:
            for_systems = standardised(for_systems)
        return CandidateScores(self.name, scores, for_systems=for_systems, standardised=True)

    @property
    def system_scores(self) -> FloatArray:
        """Scores whose means are the scores of documents and systems, shape (candidates,)."""
        return self.scores if self.for_systems is None else self.for_systems


def standardised(scores: FloatArray) -> FloatArray:
    """Standardise scores to mean 0 and standard deviation 1; NaN is kept, and constant scores become 0."""
    known = scores[~np.isnan(scores)]
    # of equal values, rounding leaves a deviation
    spread = known.std() if len(known) and known.min() < known.max() else 0.0
    return (scores - known.mean()) / spread if spread > 0 else scores - scores


@dataclass(frozen=True)
class LanguagePairData:
    """The judged sources of one language pair."""

    lp: LanguagePair
    sources: int
    rows: Int64Array
    source: Int64Array
    system: Int64Array
    systems: tuple[str, ...]
    human: FloatArray
    system_human: FloatArray
    """Human scores to be averaged over a system's outputs: repeated judgements count, as in `human_scores`."""
    pairs: Mapping[str, PreferencePairs]
    document: Int64Array
    data: str

    @property
    def where(self) -> str:
        """Text that names the data set and the language pair in messages."""
        return self.lp.of(self.data)

    @property
    def judged(self) -> BoolArray:
        """True for candidates with a human score, shape (candidates,)."""
        return ~np.isnan(self.human)

    @property
    def offsets(self) -> Int64Array:
        """Offsets of the candidates of each source, shape (sources + 1,)."""
        return offsets_of(np.bincount(self.source, minlength=self.sources))

    @property
    def orders_candidates(self) -> bool:
        """True if people prefer any candidate to another of its source."""
        human = merge_ties(self.human, self.offsets)
        low, high = (extreme.reduceat(human, self.offsets[:-1]) for extreme in (np.fmin, np.fmax))
        return bool((low < high).any()) or any(len(pairs.better) for pairs in self.pairs.values())

    @property
    def needed(self) -> BoolArray:
        """True for candidates with a human score or in a preference, which need a score, shape (candidates,)."""
        needed = self.judged.copy()
        for pairs in self.pairs.values():
            needed[pairs.better] = needed[pairs.worse] = True
        return needed


def by_language_pair(
    dataset: Dataset,
    human: FloatArray,
    pairs: Mapping[str, PreferencePairs],
    system_human: FloatArray | None = None,
) -> list[LanguagePairData]:
    """Split a data set into its language pairs, without unjudged sources.

    `system_human` are the human scores for documents and systems, by default `human`.
    """
    system_human = human if system_human is None else system_human
    count = len(dataset.sources)
    judged = np.zeros(count, dtype=bool)
    touched = ~np.isnan(human)
    for preferences in pairs.values():
        touched[preferences.better] = touched[preferences.worse] = True
    judged[dataset.candidate_source[touched]] = True
    documents = dataset.sources["doc"]
    systems = dataset.candidates["system"].to_numpy(object)
    parts = []
    for lp in sorted(set(dataset.source_language_pairs[judged])):
        chosen = judged & (dataset.source_language_pairs == lp)
        code = np.cumsum(chosen) - 1
        rows = np.flatnonzero(chosen[dataset.candidate_source])
        place = np.full(len(dataset), -1, dtype=np.int64)
        place[rows] = np.arange(len(rows))
        own_pairs = {}
        for name, preferences in pairs.items():
            inside = chosen[dataset.candidate_source[preferences.better]]
            if inside.any():
                own_pairs[name] = PreferencePairs(
                    place[preferences.better[inside]], place[preferences.worse[inside]], preferences.weight[inside]
                )
        names = sorted(set(systems[rows][touched[rows]]))
        numbers = {name: index for index, name in enumerate(names)}
        titles, doc = np.unique(documents[chosen].fillna("").to_numpy(str), return_inverse=True)
        if titles[0] == "":
            doc = doc - 1
        parts.append(
            LanguagePairData(
                lp,
                int(chosen.sum()),
                rows,
                code[dataset.candidate_source[rows]],
                np.array([numbers.get(name, -1) for name in systems[rows]], dtype=np.int64),
                tuple(names),
                human[rows],
                system_human[rows],
                own_pairs,
                doc.astype(np.int64),
                dataset.name,
            )
        )
    return parts


def part_of(scored: CandidateScores, language_pair: LanguagePairData) -> CandidateScores:
    """Return the scores of the candidates of a language pair, with ties merged."""
    rows, offsets, for_systems = language_pair.rows, language_pair.offsets, scored.for_systems
    return replace(
        scored,
        scores=merge_ties(scored.scores[rows], offsets),
        statistics=None if scored.statistics is None else scored.statistics[rows],
        for_systems=None if for_systems is None else merge_ties(for_systems[rows], offsets),
    )
