"""Candidate scores and preference pairs derived from judgements, to train and evaluate rankers.

A *kind* names what people were asked. ``fluency`` and ``adequacy`` are scores of judges (else the corpus's own
``fluency_z``, else ``fluency_raw``); ``win-rate`` is wins / (wins + losses) of a candidate against its peers;
``mean-rank`` its mean place in relative rankings; ``mqm`` the error penalty of MQM. Any other rating of the corpus goes
by its own name. Ratings by judges whose names are known are standardised per judge and language pair, but for MQM's
penalties, and averaged over a candidate's judges. Scores come out so that higher is better: ratings whose names say
that lower is better (see `ranker.corpora.column_names`), or that were asked for as ``NAME:lower``, are negated.
Penalties of which none is above 0 were negated before, as MQM is often published, so higher is better.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from ranker.arrays import BoolArray, FloatArray, Int64Array, pairs_in_blocks
from ranker.corpora.column_names import is_negated, is_reserved, lower_is_better
from ranker.corpora.dataset import Dataset, view
from ranker.corpora.marked_errors import NO_ERROR
from ranker.corpora.numbered_systems import are_numbered
from ranker.corpora.records import shown
from ranker.errors import DataError, OptionError, counted, log_note, nearest
from ranker.ranks import TIE, merge_ties

PREFERENCES = "preferences"
AUTO: Final = "auto"
MQM = "mqm"
WIN_RATE = "win-rate"
RATINGS = {
    "fluency": ("fluency", "fluency_z", "fluency_raw"),
    WIN_RATE: ("rr_win_rate", "win_rate"),
    "adequacy": ("adequacy", "adequacy_z", "adequacy_raw"),
    MQM: ("mqm_total", "mqm"),
    "mean-rank": ("rr_mean_rank", "mean_rank"),
}
"""Known kinds of judgement in order of preference, with the ratings they are taken from (the first available)."""
WITHIN_SOURCES = (PREFERENCES, WIN_RATE, "mean-rank")
"""Kinds of judgement that compare the outputs of a source, so that it does not matter how difficult the source is."""
_DIRECTIONS = {"lower": True, "higher": False}
_AS_IT_IS, _LEFT_OUT = -1, -2
_COUNTS = ("_n", "_sd", "rr_wins", "rr_losses", "rr_ties")


@dataclass(frozen=True)
class Kind:
    """A kind of judgement, and the direction of its values."""

    name: str
    lower: bool | None = None

    @classmethod
    def parse(cls, text: str) -> Kind:
        """Parse ``NAME``, ``NAME:lower`` or ``NAME:higher``; any other colon is part of the name."""
        if not isinstance(text, str):
            raise OptionError(f"kind={text!r}: expected the name of a kind of judgement, such as fluency")
        name, colon, direction = text.rpartition(":")
        if not colon or direction not in _DIRECTIONS:
            return cls(text)
        if name == PREFERENCES:
            what = "preferences have no direction; expected --kind preferences"
            raise OptionError(f"--kind {text}: {what}")
        if name in ("", AUTO):
            raise OptionError(f"--kind {text}: expected the name of a kind of judgement before {colon}{direction}")
        return cls(name, _DIRECTIONS[direction])

    def __str__(self) -> str:
        """Return the notation that `parse` reads, without a direction that follows from the name of the kind."""
        if self.lower is None or (self.name in RATINGS and self.lower == lower_is_better(self.name)):
            return self.name
        return f"{self.name}:{'lower' if self.lower else 'higher'}"

    def directed(self, learnt: Sequence[str] = ()) -> Kind:
        """Return the kind with a direction: its own, else the one rankers learnt, else the one its name implies."""
        if self.name == PREFERENCES or self.lower is not None:
            return self
        directions = {kind.lower for kind in map(Kind.parse, learnt) if kind.name == self.name} - {None}
        if len(directions) > 1:
            what = f"rankers were trained with {self.name!r} in both directions"
            raise OptionError(f"{what}; give the direction: --kind {self.name}:lower or --kind {self.name}:higher")
        return Kind(self.name, directions.pop() if directions else lower_is_better(self.name))


@dataclass(frozen=True)
class PreferencePairs:
    """Strict preferences between candidates, given as rows of the candidate table."""

    better: Int64Array
    worse: Int64Array
    weight: FloatArray


def kinds(dataset: Dataset) -> list[str]:
    """Return the kinds of judgement in `dataset` for training and evaluation, the preferred kind first.

    Ratings that are counts, running numbers, measurements or metric scores are left out.
    """
    keys = rating_names(dataset)
    named = [kind for kind in RATINGS if rating_key(kind, keys) or (kind == WIN_RATE and _compared(dataset))]
    unnamed = [key for key in keys if key not in named and not key.endswith(_COUNTS) and not is_reserved(key)]
    return [*([PREFERENCES] if _compared(dataset) else []), *named, *unnamed]


def resolve_kind(dataset: Dataset, kind: str = AUTO, *, scores: bool = False, learnt: Sequence[str] = ()) -> str:
    """Return the kind of judgement that `kind` refers to in a data set, in the notation of `Kind`.

    ``auto`` is preferences if there are any, else the first known kind, else the kind that a ranker learnt
    from, else the only rating there is.
    """
    wanted = Kind.parse(kind)
    available = kinds(dataset)
    if wanted.name == AUTO:
        wanted = Kind(_automatic(dataset, available, learnt))
    elif wanted.name not in (*available, *rating_names(dataset)):
        name, colon, direction = wanted.name.rpartition(":")
        if colon and name in (*available, *rating_names(dataset)):
            raise OptionError(f"--kind {kind}: no direction {direction!r}; expected {name}:lower or {name}:higher")
        listed = ", ".join(available or rating_names(dataset)) or "none"
        what = f"no judgements of kind {wanted.name!r}{nearest(wanted.name, available)}; available: {listed}"
        raise DataError(f"{what}{use_of_errors(dataset)}", file=dataset.name)
    if scores and wanted.name == PREFERENCES:
        wanted = Kind(WIN_RATE)
    if wanted.name == PREFERENCES or not lower_is_better(wanted.name):
        return str(wanted.directed(learnt))
    return _by_sign(dataset, wanted, learnt)


def _by_sign(dataset: Dataset, wanted: Kind, learnt: Sequence[str]) -> str:
    """Return a kind of penalties with a direction, by default that of negated penalties if no value is above 0."""
    values = ratings_of(dataset, wanted.name)["value"].to_numpy(np.float64)
    lowest, highest = values.min(initial=0.0), values.max(initial=0.0)
    if wanted.lower is not None or lowest == 0.0:
        # of MQM, learnt from negated penalties is no different; without its direction it would be decided here again
        directed = wanted.directed(() if wanted.name == MQM else learnt)
        return f"{MQM}:lower" if directed == Kind(MQM, True) and lowest < 0.0 else str(directed)
    if is_negated(wanted.name, lowest, highest):
        what = "no value is above 0, so these are negated penalties, and higher values are better"
        _note_once(dataset, f"judged by {wanted.name!r}: {what}; if not, use --kind {wanted.name}:lower")
        return str(Kind(wanted.name, lower=False))
    if wanted.name == MQM and not any(Kind.parse(text).name == MQM for text in learnt):
        what = (
            f"{MQM}: found values from {lowest:g} to {highest:g}, expected only penalties (at least 0) or only negated "
            "penalties"
        )
        raise DataError(f"{what}; give the direction: --kind {MQM}:lower or --kind {MQM}:higher", file=dataset.name)
    return str(wanted.directed(learnt))


@view
def _note_once(dataset: Dataset, note: str) -> None:
    """Log a note on `dataset` the first time; later calls with the same note do nothing."""
    log_note(note, dataset.name)


def _automatic(dataset: Dataset, available: Sequence[str], learnt: Sequence[str]) -> str:
    known = next((kind for kind in available if kind == PREFERENCES or kind in RATINGS), None)
    if known is not None:
        return known
    learnt_kind = next(
        (name for name in (Kind.parse(text).name for text in learnt) if name in rating_names(dataset)), None
    )
    if learnt_kind is not None:
        return learnt_kind
    if len(available) == 1:
        kind = Kind(available[0]).directed()
        better, opposite = ("lower", "higher") if kind.lower else ("higher", "lower")
        note = f"judged by {kind.name!r}, {better} values are better; if not, use --kind {kind.name}:{opposite}"
        if others := [name for name in rating_names(dataset) if is_reserved(name)]:
            note += f"; not judgements: {', '.join(map(shown, others))}"
        _note_once(dataset, note)
        return kind.name
    listed = ", ".join(map(shown, available or rating_names(dataset)))
    if available:
        what = f"several ratings could be the judgement: {listed}"
    elif listed:
        what = f"contains no known kind of human judgements, only other numbers: {listed}"
    else:
        advice = use_of_errors(dataset) or "; see: ranker help judgements"
        raise DataError(f"contains no human judgements{advice}", file=dataset.name)
    raise DataError(f"{what}; name the kind of judgement: --kind NAME, NAME:lower or NAME:higher", file=dataset.name)


def use_of_errors(dataset: Dataset) -> str:
    """Return advice on using marked errors, for a data set that has no other judgements, or else an empty text."""
    marked = int((dataset.errors["severity"] != NO_ERROR).sum())
    if not marked or kinds(dataset):
        return ""
    ratings = "ranker data convert FILE NEW --severity-weights major=5 makes ratings of them"
    advice = f"{ratings}, and ranker agreement --spans compares their raters"
    return f", but {counted(marked, 'marked error')}: {advice}"


def human_scores(dataset: Dataset, kind: str = AUTO, *, repeated: bool = False) -> FloatArray:
    """Return the human score of each candidate; higher is better.

    With `repeated`, win rates count repeated judgements too, as scores that are averaged over a system's outputs must.
    """
    wanted = Kind.parse(resolve_kind(dataset, kind, scores=True)).directed()
    sign = -1.0 if wanted.lower else 1.0
    ratings = ratings_of(dataset, wanted.name)
    if not len(ratings):
        return sign * _win_rates(dataset, repeated)
    values, scale = ratings["value"].to_numpy(np.float64), _scales(dataset, wanted.name)
    standard = scale >= 0
    if standard.any():
        values = values.copy()
        values[standard] = _standardised(values[standard], np.unique(scale[standard], return_inverse=True)[1])
    _note_scales(dataset.context, wanted.name)
    known = scale != _LEFT_OUT
    scores = mean_ratings(dataset, ratings[known], values[known])
    if wanted.name == WIN_RATE and _compared(dataset):
        rated = np.bincount(dataset.candidate_source, weights=~np.isnan(scores), minlength=len(dataset.sources)) > 0
        scores = np.where(rated[dataset.candidate_source], scores, _win_rates(dataset, repeated))
    return sign * scores


def standardised_language_pairs(dataset: Dataset, kind: str) -> set[str]:
    """Return the language pairs in which human scores of a kind are ratings standardised per judge."""
    name = Kind.parse(kind).name
    rows = ratings_of(dataset, name)["candidate"].to_numpy(np.int64)[_scales(dataset, name) >= 0]
    return set(dataset.source_language_pairs[dataset.candidate_source[rows]])


@view
def _scales(dataset: Dataset, kind: str) -> Int64Array:
    """Return the number of each rating's scale, which is that of its judge in its language pair.

    It is `_LEFT_OUT` for the only rating of a judge, which cannot be standardised, and `_AS_IT_IS` for ratings that are
    not standardised: of MQM, without judges, and where no judge gave two, since such names identify nobody.
    """
    ratings = ratings_of(dataset, kind)
    judges, names = pd.factorize(ratings["judge"].fillna("").to_numpy(object))
    named = names[judges].astype(bool)
    if kind == MQM or not named.any():
        return np.full(len(ratings), _AS_IT_IS)
    pairs = dataset.source_language_pairs[dataset.candidate_source[ratings["candidate"].to_numpy(np.int64)]]
    pair = pd.factorize(pairs)[0]
    scale = np.unique(pair * len(names) + judges, return_inverse=True)[1].astype(np.int64)
    several = np.bincount(scale)[scale] > 1
    by_judge = (np.bincount(pair, named & several) > 0)[pair]
    return np.where(by_judge, np.where(several, scale, _LEFT_OUT), _AS_IT_IS)


@view
def _note_scales(dataset: Dataset, kind: str) -> None:
    """Note once which ratings are not standardised per judge, and systems that standardised ratings do not compare."""
    ratings, scale = ratings_of(dataset, kind), _scales(dataset, kind)
    if kind == MQM or ratings["judge"].isna().all():
        return
    rows = ratings["candidate"].to_numpy(np.int64)
    pair, pairs = pd.factorize(dataset.source_language_pairs[dataset.candidate_source[rows]])
    if left_out := int((scale == _LEFT_OUT).sum()):
        what = "by judges who gave no other in the language pair: a single rating cannot be standardised"
        log_note(f"left out {counted(left_out, f'{kind} rating')} {what}", dataset.name)
    named = ratings["judge"].notna().to_numpy(bool)
    if len(as_they_are := pairs[np.unique(pair[named & (scale == _AS_IT_IS)])]):
        listed = ", ".join(as_they_are[:4]) + (", ..." if len(as_they_are) > 4 else "")
        what = f"no judge gave two {kind} ratings, so they are compared as they are, not standardised per judge"
        log_note(f"{listed}: {what}", dataset.name)
    standard = scale >= 0
    _note_apart(dataset, rows[standard], pair[standard], pairs, scale[standard])


def _note_apart(dataset: Dataset, rows: Int64Array, pair: Int64Array, pairs: pd.Index, scale: Int64Array) -> None:
    """Note that judges rated different systems, which scores standardised per judge do not compare.

    `rows`, `pair` and `scale` are the candidate, language pair and scale of each rating.
    """
    from scipy.sparse import coo_array  # slow
    from scipy.sparse.csgraph import connected_components

    system, names = pd.factorize(dataset.candidates["system"].iloc[rows], sort=True)
    if are_numbered(names):
        return
    for code in np.unique(pair):
        inside = pair == code
        size = len(names) + int(scale.max()) + 1
        links = coo_array((np.ones(inside.sum()), (system[inside], len(names) + scale[inside])), shape=(size, size))
        group = connected_components(links, directed=False)[1][np.unique(system[inside])]
        if (group != group[0]).any():
            listed = names[np.unique(system[inside])]
            groups = listed[group == group[0]].tolist(), listed[group != group[0]].tolist()
            both = " and ".join(f"{', '.join(some[:4])}{', ...' if len(some) > 4 else ''}" for some in groups)
            what = f"no judge rated systems of both {both}: scores standardised per judge do not compare these"
            log_note(f"{pairs[code]}: {what}; if the judges' scales are the same, remove their names", dataset.name)
            return


def mean_ratings(dataset: Dataset, ratings: pd.DataFrame, values: FloatArray) -> FloatArray:
    """Return the mean of the `values` of each candidate's ratings, shape (candidates,); NaN for unrated candidates."""
    rows = ratings["candidate"].to_numpy(np.int64)
    counts = np.bincount(rows, minlength=len(dataset))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.bincount(rows, weights=values, minlength=len(dataset)) / counts)


def preference_pairs(dataset: Dataset, *, primary: bool = True, aggregated: bool = False) -> PreferencePairs:
    """Return the strict preferences of `dataset`; if `aggregated`, the majority of the judgements of each pair."""
    preferences = dataset.preferences
    if primary:
        preferences = preferences[preferences["primary"].to_numpy(bool)]
    first, second = (preferences[side].to_numpy(np.int64) for side in ("first", "second"))
    relation = preferences["relation"].to_numpy(object)
    vote = (relation == ">").astype(np.int64) - (relation == "<")
    if aggregated:
        known = relation != "-"
        first, second, vote = first[known], second[known], vote[known]
        low, high = np.minimum(first, second), np.maximum(first, second)
        vote = np.where(first == low, vote, -vote)
        keys, code = np.unique(np.stack([low, high], axis=1), axis=0, return_inverse=True)
        code = code.reshape(-1)
        net = np.bincount(code, weights=vote, minlength=len(keys))
        weight = np.abs(net) / np.bincount(code, minlength=len(keys))
        first, second, vote = keys[:, 0], keys[:, 1], np.sign(net).astype(np.int64)
    else:
        weight = np.ones(len(first))
    strict = vote != 0
    first, second, vote, weight = first[strict], second[strict], vote[strict], weight[strict]
    return PreferencePairs(np.where(vote > 0, first, second), np.where(vote > 0, second, first), weight)


def ordered_pairs(human: npt.ArrayLike, offsets: npt.ArrayLike) -> PreferencePairs:
    """Return the pairs of candidates of the same source with different human scores; NaN scores form no pairs."""
    scores = np.asarray(human, dtype=np.float64)
    first, second = pairs_in_blocks(offsets)
    with np.errstate(invalid="ignore"):
        above, below = scores[first] > scores[second], scores[first] < scores[second]
    better, worse = (np.concatenate([left[above], right[below]]) for left, right in ((first, second), (second, first)))
    return PreferencePairs(better, worse, np.ones(len(better)))


def balanced(pairs: PreferencePairs, group: npt.ArrayLike) -> PreferencePairs:
    """Rescale the weights of `pairs` to the same sum in each group, keeping the overall sum."""
    labels, code = np.unique(np.asarray(group).astype(str), return_inverse=True)
    total = np.bincount(code.reshape(-1), weights=pairs.weight, minlength=len(labels))
    share = pairs.weight.sum() / max(len(labels), 1)
    weight = pairs.weight * (share / total)[code.reshape(-1)]
    return PreferencePairs(pairs.better, pairs.worse, weight)


@dataclass(frozen=True, eq=False)
class Judged:
    """Candidates with judgements of one kind, their judgements, and all other candidates as context."""

    dataset: Dataset
    kind: str

    @classmethod
    def of(cls, dataset: Dataset, kind: str = AUTO, learnt: Sequence[str] = ()) -> Judged:
        """Select the candidates that have judgements of the kind that `resolve_kind` finds for `kind`."""
        resolved = resolve_kind(dataset, kind, learnt=learnt)
        return cls(dataset.in_context(judged(dataset, resolved)), resolved)

    @functools.cached_property
    def human(self) -> FloatArray:
        """Human score of each candidate; higher is better."""
        return human_scores(self.dataset, self.kind)

    @property
    def grades(self) -> FloatArray:
        """Human scores, in which scores for the same source that differ only by rounding are made equal."""
        return merge_ties(self.human, self.dataset.candidate_offsets)

    @property
    def pairs(self) -> PreferencePairs:
        """Strict preferences, or else pairs of candidates of the same source with different human scores."""
        if self.kind == PREFERENCES:
            return preference_pairs(self.dataset)
        return ordered_pairs(self.grades, self.dataset.candidate_offsets)


def judged(dataset: Dataset, kind: str = AUTO) -> BoolArray:
    """Return a mask (candidates,) of the candidates that have a judgement of `kind`."""
    kind = resolve_kind(dataset, kind)
    if kind != PREFERENCES:
        return ~np.isnan(human_scores(dataset, kind))
    mask = np.zeros(len(dataset), dtype=bool)
    for side in ("first", "second"):
        mask[dataset.preferences[side].to_numpy()] = True
    return mask


@view
def rating_names(dataset: Dataset) -> list[str]:
    """Return the names of all ratings in `dataset`, sorted."""
    return sorted(dataset.ratings["kind"].unique())


def ratings_of(dataset: Dataset, kind: str) -> pd.DataFrame:
    """Return the rows of ratings of one kind of judgement; empty for win rates of preferences."""
    key = rating_key(Kind.parse(kind).name, rating_names(dataset))
    return dataset.ratings[(dataset.ratings["kind"] == (key or "")).to_numpy(bool)]


def rating_key(kind: str, names: Sequence[str]) -> str | None:
    """Return the one of the `names` of ratings from which a kind of judgement is taken, or None."""
    if kind not in RATINGS:
        return kind if kind in names else None
    # whatever the case and the separators: Fluency, win-rate and WinRate are known too
    forms = {re.sub(r"[\W_]+", "", name).lower(): name for name in reversed(names)}
    by_form = {**forms, **{name: name for name in names}}
    wanted = (form for spelling in RATINGS[kind] for form in (spelling, spelling.replace("_", "")))
    return next((by_form[form] for form in wanted if form in by_form), None)


def _compared(dataset: Dataset) -> bool:
    return len(dataset.preferences) > 0


def _standardised(values: FloatArray, judge: Int64Array) -> FloatArray:
    counts = np.bincount(judge)
    mean = np.bincount(judge, weights=values) / counts
    deviation = values - mean[judge]
    spread = np.sqrt(np.bincount(judge, weights=deviation**2) / counts)
    by_judge = pd.Series(values).groupby(judge)
    # the spread of equal values may be that of their rounding
    varied = (by_judge.transform("max") - by_judge.transform("min")).to_numpy() > TIE
    return np.where(varied, deviation / np.where(spread > 0, spread, 1.0)[judge], 0.0)


def _win_rates(dataset: Dataset, repeated: bool) -> FloatArray:
    pairs = preference_pairs(dataset, primary=not repeated)
    wins = np.bincount(pairs.better, minlength=len(dataset))
    losses = np.bincount(pairs.worse, minlength=len(dataset))
    with np.errstate(invalid="ignore"):
        return np.asarray(wins / (wins + losses))
