"""Places in candidates that lower a ranker's score, as marked errors with a severity and a cost.

A candidate's loss is the distance of its score from that of the reference that the same ranker scores highest, or,
without references, from the highest score of the source. The ranker is linear, so this distance is a sum over groups of
features. Where the candidate scores lower in a group, that part of the distance is divided among its words with
evidence in that group and words of the reference that it lacks, which have no place in it; the rest, and groups in
which the candidate scores higher, have no place either. Spans are the words that people would probably mark, by the
weights in ``word_weights.toml``, which were learnt from marked errors. A span costs what its words cost, and the last
entry of a candidate has the remainder, so that the costs of a candidate add up to the distance.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ranker.arrays import BoolArray, FloatArray, Int64Array
from ranker.checks.faults import Votes, outranked
from ranker.checks.outputs import placed_checks
from ranker.corpora.catalogue.candidate_rows import Candidates, candidate_rows
from ranker.corpora.dataset import Dataset
from ranker.corpora.marked_errors import NO_ERROR
from ranker.errors import log_note
from ranker.evaluation.explanations.pairs import by_family
from ranker.evaluation.explanations.word_evidence import COLUMNS, WordEvidence, word_evidence
from ranker.extractors.mismatch.texts import word_facts
from ranker.ranking.included import default_model
from ranker.ranking.ranker import Ranker
from ranker.ranking.scorers import reference_contributions
from ranker.text.target_languages import written_languages
from ranker.text.word_places import word_places

RATER = "ranker"
REST = "rest"
"""Category of a candidate's last entry, which has no position; its cost is the remainder of the distance."""
EVIDENCE_SETS = {(True, True): "both", (True, False): "references", (False, True): "others"}
"""Names of the weights for words with evidence from references, other candidates, or both."""
_SHARED_BY: dict[str, str] = {
    "words": "unmatched",
    "word order": "new_pairs",
    "syntax": "new_pairs",
    "fluency": "new_pairs",
    "similarity": "unlike",
    "agreement": "others_unlike",
}
"""Kind of evidence by which a candidate's loss in a group of features is divided among its words."""
_EXCHANGED = ("numbers", "dates", "units")
"""Checks that find something at a position of the candidate that differs from the reference."""
_ENGLISH_WORD = re.compile(r"\w+(?:['’-]\w+)*")
_NEGATED = "negated"
_CAPITAL_NOUNS = ("de", "lb")
_LONGEST_NAME = 3
_PLAIN = ("wording", "other words")
"""Kinds of error of words about which nothing more specific is known."""


@dataclass(frozen=True)
class Span:
    """Characters [start, end) of a candidate that lower its score, or the part of the loss that has no position."""

    start: int | None
    end: int | None
    severity: str
    category: str
    cost: float
    text: str
    instead: str = ""
    """Corresponding words of the nearest reference, or, for the remainder, its words that the candidate lacks."""
    side: str = "target"


@dataclass(frozen=True, eq=False)
class CandidateSpans:
    """The spans of a candidate in order, then the unexplained part of its loss; the costs add up to `distance`."""

    row: int
    distance: float
    against: str
    """Kind of the source's best text, from which the distance is measured: ``reference`` or ``candidate``."""
    spans: tuple[Span, ...]


@functools.cache
def word_weights() -> dict[str, Any]:
    """Return weights and probability thresholds for evidence of word errors, and the cost threshold of major errors."""
    return tomllib.loads(Path(__file__).with_name("word_weights.toml").read_text(encoding="utf-8"))


def likely_errors(evidence: WordEvidence) -> BoolArray:
    """True for words that people would probably mark as errors, shape (words,)."""
    name = EVIDENCE_SETS.get(evidence.against)
    if name is None:
        return np.zeros(len(evidence.places), dtype=bool)
    known = word_weights()[name]
    scores = evidence.columns @ np.array([known.get(column, 0.0) for column in COLUMNS]) + known["intercept"]
    return np.asarray(1 / (1 + np.exp(-scores)) >= known["cut"])


@dataclass(frozen=True, eq=False)
class CandidateWords:
    """The words of a candidate with the evidence, kind and cost of each, to be merged into spans."""

    row: int
    distance: float
    against: str
    text: str
    source: str
    evidence: WordEvidence
    kinds: Sequence[str]
    differs: BoolArray
    """True for words that are part of a difference in meaning from the nearest reference."""
    cost: FloatArray
    faults: Sequence[tuple[str, str, int | None, int | None]]
    scale: float
    """Sum of the absolute weights of the model, by which the cost threshold of major spans is multiplied."""

    def spans(self, major: float | None = None) -> CandidateSpans:
        """Merge adjacent marked words into spans; faults found by checks are separate spans, always major.

        Other spans are major if they cost at least `major` (by default from ``word_weights.toml``) times the scale.
        """
        places = np.array(self.evidence.places, dtype=np.int64).reshape(-1, 2)
        least = self.scale * (word_weights()["major"] if major is None else major)
        taken = np.zeros(len(places), dtype=bool)
        spans = []
        for kind, side, start, end in self.faults:
            if side == "target" and start is not None and end is not None:
                within = (places[:, 0] < end) & (places[:, 1] > start) & ~taken
                taken |= within
                span = self._span(np.flatnonzero(within), "major", kind, (start, end))
                spans.append(span if kind in _EXCHANGED else dataclasses.replace(span, instead=""))
            else:
                text = "" if start is None else self.source[start:end]
                spans.append(Span(start, end, "major", kind, 0.0, text, side=side))
        marked = (likely_errors(self.evidence) | self.differs) & ~taken
        mark = self.evidence.punctuation
        marked &= ~mark
        # a punctuation mark between two marked words belongs to them, as in two-seater
        between = np.flatnonzero(mark[1:-1] & ~taken[1:-1] & marked[:-2] & marked[2:]) + 1
        marked[between[places[between, 0] == places[between - 1, 1]]] = True
        chosen = np.flatnonzero(marked)
        for words in np.split(chosen, np.flatnonzero(np.diff(chosen) > 1) + 1) if len(chosen) else []:
            known = [self.kinds[word] for word in words.tolist()]
            kind = next((kind for kind in known if kind not in _PLAIN), known[0])
            severity = "major" if self.cost[words].sum() >= least else "minor"
            spans.append(self._span(words, severity, kind, (int(places[words[0], 0]), int(places[words[-1], 1]))))
        spans.sort(key=lambda span: (span.side == "source", span.start is None, span.start or 0))
        left = self.distance - sum(span.cost for span in spans)
        rest = Span(None, None, "neutral" if spans else NO_ERROR, REST, left, "", self.evidence.lost_words)
        return CandidateSpans(self.row, self.distance, self.against, (*spans, rest))

    def _span(self, words: Int64Array, severity: str, kind: str, place: tuple[int, int]) -> Span:
        cost = float(self.cost[words].sum())
        return Span(*place, severity, kind, cost, self.text[slice(*place)], _instead(self.evidence, words))


def explain_spans(candidates: Candidates, *, model: str | Path | None = None) -> pd.DataFrame:
    """Mark the words that lower candidates' scores most, as spans with a severity and a cost.

    Parameters
    ----------
    candidates : Dataset, DataFrame, list of dict, str or Path
        In any form that `ranker.Ranker.score` takes.
    model : str or Path, optional
        Name of an included ranker, or a model file; by default the one that `ranker.rank` chooses.

    Returns
    -------
    DataFrame
        Marked errors by the rater ``ranker``, one row per span: ``candidate`` (its row number, of a frame the position
        of its first row, as of ``iloc``), ``lp``, ``doc``, ``seg_id``, ``system``, ``rater``, ``start`` and ``end``
        (characters of the text from ``start`` up to but not including ``end``), ``severity``, ``category``, ``side``,
        ``cost``, ``text`` and ``instead`` (words of the nearest reference). The last row of each candidate has no
        position and the category ``rest``; its ``cost`` is the remainder, so that a candidate's costs add up to the
        distance from the score of the best text.

    Examples
    --------
    >>> import ranker
    >>> candidates = {"source": "Es regnet.", "references": ["It rains."], "candidates": ["It burns.", "It rains."]}
    >>> spans = ranker.explain_spans([candidates], model="full-lexical")
    >>> spans[["start", "end", "text", "instead"]].dropna().values.tolist()
    [[3, 8, 'burns', 'rains']]
    """
    given = candidate_rows(candidates)
    dataset = given.dataset
    ranker = Ranker.load(default_model(dataset) if model is None else model)
    if note := ranker.note(ranker.votes.voters(dataset)):
        log_note(note)
    contributions = ranker.votes.values(dataset, ranker.contributions)
    return given.with_rows(spans_frame(dataset, [*candidate_spans(ranker, dataset, contributions, votes=ranker.votes)]))


def candidate_spans(
    ranker: Ranker,
    dataset: Dataset,
    contributions: FloatArray,
    wanted: BoolArray | None = None,
    votes: Votes | None = None,
) -> Iterator[CandidateSpans]:
    """Yield the spans of each scored candidate, or only of `wanted` candidates, from their feature `contributions`.

    References are scored with the same `votes` as the contributions; without `votes`, every candidate has one.
    """
    for words in candidate_words(ranker, dataset, contributions, wanted, votes):
        yield words.spans()


def candidate_words(
    ranker: Ranker,
    dataset: Dataset,
    contributions: FloatArray,
    wanted: BoolArray | None = None,
    votes: Votes | None = None,
) -> Iterator[CandidateWords]:
    """Yield the words, with the cost of each word, of all candidates for which `candidate_spans` yields spans."""
    source = dataset.candidate_source
    scored = ~np.isnan(contributions).any(axis=1)
    rows = np.flatnonzero(scored if wanted is None else scored & wanted)
    if not len(rows):
        return
    sources = np.isin(range(len(dataset.sources)), source[rows])
    best, by_reference = _best(ranker, dataset, contributions, sources, votes)
    scale = np.abs(ranker.weight_sets.of_candidates(dataset)).sum(axis=1)
    voting = ~outranked(dataset) & ~dataset.is_reference
    texts, originals = dataset.candidates["text"].tolist(), dataset.sources["text"].tolist()
    languages, faults = written_languages(dataset), _fault_places(dataset)
    for row, evidence in zip(rows.tolist(), word_evidence(dataset, rows, voting), strict=True):
        text, at = texts[row], int(source[row])
        behind = best[at] - contributions[row]
        differences = _differences(ranker, dataset, row, evidence, text)
        yield CandidateWords(
            row,
            float(behind.sum()),
            "reference" if by_reference[at] else "candidate",
            text,
            originals[at],
            evidence,
            _kinds(evidence, text, originals[at], languages[at], differences),
            np.array([*map(bool, differences)], dtype=bool),
            _costs(by_family(behind, ranker.feature_set.families), evidence, differences),
            tuple(faults.get(row, ())),
            float(scale[row]),
        )


def spans_frame(dataset: Dataset, explained: Sequence[CandidateSpans]) -> pd.DataFrame:
    """Return spans as marked errors by the rater ``ranker``, with cost and text, one row per span."""
    rows = [(each.row, span) for each in explained for span in each.spans]
    places = [row for row, _ in rows]
    return pd.DataFrame(
        {
            "candidate": np.array(places, dtype=np.int64),
            **{
                name: dataset.sources[name].iloc[dataset.candidate_source[places]].astype(object).to_numpy()
                for name in ("lp", "doc", "seg_id")
            },
            "system": dataset.candidates["system"].iloc[places].astype(object).to_numpy(),
            "rater": RATER,
            **{name: pd.array([getattr(span, name) for _, span in rows], dtype="Int64") for name in ("start", "end")},
            "severity": [span.severity for _, span in rows],
            "category": [span.category for _, span in rows],
            **{name: [getattr(span, name) for _, span in rows] for name in ("side", "cost", "text", "instead")},
        }
    )


def _fault_places(dataset: Dataset) -> dict[int, list[tuple[str, str, int | None, int | None]]]:
    """Return the failed checks of each candidate row, each check with the text (side), start and end of its fault."""
    placed = placed_checks(dataset)
    found: dict[int, list[tuple[str, str, int | None, int | None]]] = {}
    columns = (placed[name].astype(object) for name in ("candidate", "check", "side", "start", "end"))
    for row, check, side, start, end in zip(*columns, strict=True):
        place = (None, None) if start is pd.NA else (start, end)
        found.setdefault(row, []).append((check, side, *place))
    return found


def _best(
    ranker: Ranker, dataset: Dataset, contributions: FloatArray, sources: BoolArray, votes: Votes | None
) -> tuple[FloatArray, BoolArray]:
    """Return the feature contributions of each source's best text, and a mask of sources where it is a reference.

    The best text is the reference with the highest score, or the best candidate if there is no reference or the model
    reads scores of candidates from files.
    """
    extractors = ranker.feature_set.extractors
    best = np.zeros((len(dataset.sources), contributions.shape[1]))
    scores = np.where(outranked(dataset), -np.inf, np.nan_to_num(contributions.sum(axis=1), nan=-np.inf))
    choices = [(contributions, scores, dataset.candidate_source)]
    owner = dataset.references["source"].to_numpy(np.int64)
    owner = owner[sources[owner]]
    if len(owner) and not any(part.needs.known_texts for part in ranker.feature_set.members):
        # a language that is not named is recognised from all sources
        whole = any(each.fit_scope == "ranked" or each.needs.other_sources for each in extractors)
        whole |= "" in dataset.target_languages
        scored = dataset if whole else dataset.select_sources(sources)
        compute = functools.partial(reference_contributions, ranker)
        parts = votes.values(scored, compute, references=True) if votes else compute(scored)
        parts = parts[sources[scored.references["source"]]] if whole else parts
        choices.append((parts, parts.sum(axis=1), owner))
    for parts, scores, owner in choices:
        # the first of the texts with the highest score
        order = np.lexsort((-np.arange(len(owner)), scores, owner))
        last = np.flatnonzero(np.diff(owner[order], append=-1))
        best[owner[order][last]] = parts[order[last]]
    by_reference = np.isin(range(len(best)), choices[-1][2]) & (len(choices) > 1)
    return best, np.asarray(by_reference)


def _differences(ranker: Ranker, dataset: Dataset, row: int, evidence: WordEvidence, text: str) -> list[str]:
    """Return each word's kind of difference in meaning, as found by ``mismatch`` extractors; "" if there is none."""
    kinds = [""] * len(evidence.places)
    for extractor in ranker.feature_set.extractors:
        if extractor.family != "mismatch":
            continue
        notes = [note for each in extractor.evidence(dataset, row).values() for note in each]
        for kind, _, what in (note.partition(": ") for note in notes):
            words = {word.lower() for word in what.partition(" for ")[0].split()}
            if what == _NEGATED:
                words = {match.lower() for match in _ENGLISH_WORD.findall(text) if word_facts(match.lower()).negates}
            found = [match.span() for match in _ENGLISH_WORD.finditer(text) if match[0].lower() in words]
            for place, (start, end) in enumerate(evidence.places):
                if not kinds[place] and any(first <= start and end <= last for first, last in found):
                    kinds[place] = kind
    return kinds


def _costs(behind: Mapping[str, FloatArray], evidence: WordEvidence, differences: Sequence[str]) -> FloatArray:
    """Distribute each feature family's loss over the words, shape (words,); losses without a word are left out."""
    cost = np.zeros(len(evidence.places))
    shares = {family: evidence.column(name) for family, name in _SHARED_BY.items()}
    shares["mismatch"] = np.array([float(bool(kind)) for kind in differences])
    for family, part in behind.items():
        if part <= 0 or family not in shares:
            continue
        against = shares[family]
        elsewhere = {"similarity": evidence.missing.sum(), "words": evidence.lost.sum()}.get(family, 0.0)
        total = float(against.sum() + elsewhere)
        if total > 0:
            cost = cost + part * against / total
    return cost


def _kinds(evidence: WordEvidence, text: str, source: str, language: str, differences: Sequence[str]) -> list[str]:
    """Return the kind of error that each word would be, such as ``number`` or ``wording``."""
    unmatched, digit, capital = (evidence.column(name) > 0 for name in ("unmatched", "digit", "capital"))
    of_source = {source[start:end].lower() for start, end in word_places(source)}
    kinds = []
    for place, ((start, end), difference) in enumerate(zip(evidence.places, differences, strict=True)):
        word = text[start:end]
        if difference:
            kinds.append(difference)
        elif place and evidence.stems[place] == evidence.stems[place - 1] and word.isalpha():
            kinds.append("repetition")
        elif not unmatched[place] or not evidence.against[0]:
            kinds.append("wording")
        elif digit[place]:
            kinds.append("number")
        elif word.lower() in of_source and len(word) > _LONGEST_NAME and word.islower():
            kinds.append("untranslated")
        elif capital[place] and language not in _CAPITAL_NOUNS:
            kinds.append("name")
        else:
            kinds.append("other words")
    return kinds


def _instead(evidence: WordEvidence, words: Int64Array) -> str:
    """Return the words of the nearest reference that are most similar to the words of a span."""
    if evidence.reference is None:
        return ""
    partners = np.unique(evidence.partner[words])
    partners = partners[partners >= 0]
    runs = np.split(partners, np.flatnonzero(np.diff(partners) > 1) + 1) if len(partners) else []
    places = evidence.reference_places
    return " ... ".join(evidence.reference[places[run[0]][0] : places[run[-1]][1]] for run in runs)
