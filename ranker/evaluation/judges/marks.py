"""Agreement of raters on the errors they marked: on characters, and on the severities of overlapping spans.

Raters are compared on equal outputs of one source, whichever system they come from. The label of a character of an
output is the highest severity that a rater marked it with, if any, without errors that have no place or are in sources.

- Character F1 of two raters is 2 c / (m1 + m2): the raters marked m1 and m2 characters, and c is the number of
  characters that both marked, counted half where the severities differ. Sums are over all pairs of raters.
- Krippendorff's alpha (2011) is that of nominal labels; units are characters of outputs with two or more raters.
- The kappa of severities is Cohen's, of every two spans of different raters that share a character. Raters have no
  order, so each pair of spans is counted in both orders.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ranker.arrays import FloatArray, Int64Array, offsets_of, pairs_in_blocks, take_rows
from ranker.corpora.dataset import Dataset
from ranker.corpora.marked_errors import NO_ERROR, SIDES
from ranker.corpora.severity_weights import WEIGHTS
from ranker.errors import DataError
from ranker.evaluation.judges.agreement import JudgesAgreement
from ranker.evaluation.judges.coefficients import cohen_kappa_of, krippendorff_alpha_of
from ranker.evaluation.judges.equal_outputs import first_equal, once_per_output
from ranker.evaluation.resampling.bootstrap import draws, estimate, stream

GOLD = "gold"
"""Rater whose errors are known to be right: other raters are checked against this one, who counts in no agreement."""
SECONDS = "seconds"
"""Kind of ratings that tell how long a rater took."""
_FEWEST, _FEWEST_KNOWN = 20, 5
_MOST_SEVERITIES = 20
_CHARACTERS = 4_000_000
_RARE = 0.01
_FOUND = 0.5
_FASTEST = 50.0
"""Characters of source and output per second above which a rater seems careless: twice the usual reading speed."""


@dataclass(frozen=True)
class RaterPair:
    """Agreement of two raters on the outputs that both looked at."""

    first: str
    second: str
    units: int
    f1: float


def marks_agreement(dataset: Dataset, *, resamples: int = 1000, seed: int = 0) -> tuple[JudgesAgreement, ...]:
    """Measure the agreement of raters on marked errors for each language pair, and for all language pairs together.

    Raises
    ------
    DataError
        If no two raters looked at the same output.

    Examples
    --------
    >>> from ranker import from_records
    >>> errors = [{"start": 0, "end": end, "severity": "minor", "rater": f"r{end}"} for end in (2, 4)]
    >>> record = {"source": "Hallo", "candidates": [{"system": "A", "text": "helo", "errors": errors}]}
    >>> marks_agreement(from_records([record]))[0].figures["character F1"].value
    0.6666666666666666
    """
    marks = _Marks(dataset)
    if not len(marks.first):
        raise DataError("found no output in which two raters marked errors, expected at least one", file=dataset.name)
    names = dataset.language_pairs
    lps = dataset.source_language_pairs[marks.source[marks.first]]
    chosen = {lp: lps == lp for lp in names} | ({"all": np.ones(len(lps), dtype=bool)} if len(names) > 1 else {})
    return tuple(marks.agreement(lp, pairs, resamples, seed) for lp, pairs in chosen.items() if pairs.any())


class _Marks:
    """Ratings, each of one output by one rater, sorted by output, with a severity label for each character."""

    def __init__(self, dataset: Dataset) -> None:
        errors = dataset.errors[dataset.errors["rater"] != GOLD]
        output = first_equal(dataset)
        code, names = pd.factorize(errors["rater"], sort=True)
        self.raters = [*map(str, names)]
        candidate = errors["candidate"].to_numpy(np.int64)
        keys, of_row = np.unique(candidate * (len(names) + 1) + code, return_inverse=True)
        rated, rater = keys // (len(names) + 1), keys % (len(names) + 1)
        order = np.lexsort((rated, rater, output[rated]))
        self.candidate, self.rater = rated[order], rater[order].astype(np.int64)
        self.output, self.source = output[self.candidate], dataset.candidate_source[self.candidate]
        rating = np.argsort(order)[of_row]
        placed = (errors["start"].notna() & (errors["side"] == SIDES[0])).to_numpy(bool)
        severities = errors["severity"].to_numpy(object)
        known = sorted({*severities} - {NO_ERROR}, key=lambda name: (WEIGHTS.get(name, 1.0), name == "critical", name))
        self.size = len(known) + 1
        if len(known) > _MOST_SEVERITIES:
            what = f"contains {len(known):,} severities of marked errors: expected at most {_MOST_SEVERITIES}"
            raise DataError(f"{what}, such as minor and major", file=dataset.name)
        level = np.array([known.index(name) + 1 if name != NO_ERROR else 0 for name in severities], dtype=np.int64)
        spans = np.stack([rating, *(errors[name].fillna(0).to_numpy(np.int64) for name in ("start", "end")), level])
        spans = spans[:, placed & (level > 0)]
        self.spans = spans[:, np.argsort(spans[0], kind="stable")]
        lengths = dataset.candidates["text"].str.len().to_numpy(np.int64)[self.candidate]
        self.offsets = offsets_of(lengths)
        self.labels = self._labels()
        # raters who saw an output again, as that of another system, are compared with their first rating
        again = np.zeros(len(self.rater), dtype=bool)
        again[1:] = (self.output[1:] == self.output[:-1]) & (self.rater[1:] == self.rater[:-1])
        self.again = np.flatnonzero(again)
        self.before = np.maximum.accumulate(np.where(again, 0, np.arange(len(again))))[self.again]
        kept = np.flatnonzero(~again)
        sizes = np.unique(self.output[kept], return_counts=True)[1]
        self.first, self.second = (kept[rows] for rows in pairs_in_blocks(offsets_of(sizes)))
        self.others = np.repeat(sizes, sizes)[np.searchsorted(kept, self.first)] - 1

    def _labels(self) -> Int64Array:
        """Return the severity label of each character of each rating, 0 if unmarked."""
        rating, start, end, level = self.spans
        labels = np.zeros(self.offsets[-1], dtype=np.int8)
        for value in range(1, self.size):
            one = level == value
            steps = np.bincount(self.offsets[rating[one]] + start[one], minlength=len(labels) + 1)
            steps = steps - np.bincount(self.offsets[rating[one]] + end[one], minlength=len(labels) + 1)
            labels[np.cumsum(steps[:-1]) > 0] = value
        return labels

    def confusions(self, pairs: tuple[Int64Array, Int64Array], group: Int64Array, weights: FloatArray) -> FloatArray:
        """Return confusion matrices of character labels in pairs of ratings, per `group`, shape (groups, labels^2)."""
        groups, cells = int(group.max(initial=-1)) + 1, self.size**2
        total = np.zeros(groups * cells)
        first, second = pairs
        step = np.cumsum(np.diff(self.offsets)[first]) // _CHARACTERS
        for rows in np.split(np.arange(len(first)), np.flatnonzero(np.diff(step)) + 1):
            here, ends = take_rows(self.offsets, first[rows])
            there, _ = take_rows(self.offsets, second[rows])
            lengths = np.diff(ends)
            cell = self.labels[here].astype(np.int64) * self.size + self.labels[there]
            code = np.repeat(group[rows], lengths) * cells + cell
            total += np.bincount(code, weights=np.repeat(weights[rows], lengths), minlength=len(total))
        return total.reshape(groups, cells)

    def overlaps(self, pairs: tuple[Int64Array, Int64Array], group: Int64Array) -> FloatArray:
        """Return each group's confusion matrix of severities of overlapping spans, counting pairs in both orders."""
        rating, start, end, level = self.spans
        offsets = np.searchsorted(rating, np.arange(len(self.rater) + 1)).astype(np.int64)
        spans, ends = take_rows(offsets, pairs[0])
        of_pair = np.repeat(np.arange(len(pairs[0])), np.diff(ends))
        others, ends = take_rows(offsets, pairs[1][of_pair])
        spans, of_pair = np.repeat(spans, np.diff(ends)), np.repeat(of_pair, np.diff(ends))
        common = np.maximum(start[spans], start[others]) < np.minimum(end[spans], end[others])
        spans, others, of_pair = spans[common], others[common], of_pair[common]
        groups, cells = int(group.max(initial=-1)) + 1, self.size**2
        counts = np.zeros(groups * cells)
        for one, other in ((spans, others), (others, spans)):
            code = group[of_pair] * cells + level[one] * self.size + level[other]
            counts += np.bincount(code, minlength=len(counts))
        return counts.reshape(groups, cells)

    def agreement(self, lp: str, chosen: np.ndarray, resamples: int, seed: int) -> JudgesAgreement:
        """Return the agreement on the pairs of ratings selected by the mask `chosen` (pairs,)."""
        pairs = self.first[chosen], self.second[chosen]
        sources, by_source = np.unique(self.source[pairs[0]], return_inverse=True)
        one = np.ones(len(pairs[0]))
        labels = self.confusions(pairs, by_source, one)
        coincidences = self.confusions(pairs, by_source, one / self.others[chosen])
        again = np.isin(self.source[self.again], sources)
        blocks = {
            "character F1": labels,
            "krippendorff alpha": coincidences,
            "severity kappa": self.overlaps(pairs, by_source),
        }
        if again.any():
            repeats = self.before[again], self.again[again]
            place = np.searchsorted(sources, self.source[repeats[0]])
            blocks["same rater F1"] = np.zeros_like(labels)
            sums = self.confusions(repeats, place, np.ones(len(place)))
            blocks["same rater F1"][: len(sums)] = sums
        # nothing is resampled from a single source
        resamples = resamples if len(sources) > 1 else 0
        sample = {name: np.empty((resamples, block.shape[1])) for name, block in blocks.items()}
        for start, weights in draws(len(sources), resamples, stream(seed, "marked errors", lp)):
            for name, block in blocks.items():
                sample[name][start : start + len(weights)] = weights @ block
        figures = {
            name: estimate(float(self._figure(name, block.sum(axis=0))), self._figure(name, sample[name]))
            for name, block in blocks.items()
        }
        ratings = np.unique(np.concatenate(pairs))
        return JudgesAgreement(
            lp,
            len(np.unique(self.rater[ratings])),
            len(np.unique(self.output[ratings])),
            len(ratings),
            figures,
            tuple(self._rater_pairs(pairs)),
            len(sources),
        )

    def _figure(self, name: str, sums: FloatArray) -> FloatArray:
        """Compute the named figure from sums of flattened confusion matrices (last axis)."""
        table = sums.reshape(*sums.shape[:-1], self.size, self.size)
        if name == "severity kappa":
            return cohen_kappa_of(table)
        if name == "krippendorff alpha":
            return krippendorff_alpha_of(table + np.swapaxes(table, -1, -2))
        return character_f1_of(table)

    def _rater_pairs(self, pairs: tuple[Int64Array, Int64Array]) -> Iterator[RaterPair]:
        code = self.rater[pairs[0]] * len(self.raters) + self.rater[pairs[1]]
        codes, group, units = np.unique(code, return_inverse=True, return_counts=True)
        values = self._figure("character F1", self.confusions(pairs, group.ravel(), np.ones(len(code))))
        for pair, number, value in zip(codes.tolist(), units.tolist(), values.tolist(), strict=True):
            yield RaterPair(self.raters[pair // len(self.raters)], self.raters[pair % len(self.raters)], number, value)


def character_f1_of(confusions: FloatArray) -> FloatArray:
    """Character F1 from confusion matrices of labels (last two axes); NaN where nothing is marked."""
    both = confusions[..., 1:, 1:].sum(axis=(-2, -1))
    same = np.trace(confusions, axis1=-2, axis2=-1) - confusions[..., 0, 0]
    marked = confusions[..., 1:, :].sum(axis=(-2, -1)) + confusions[..., :, 1:].sum(axis=(-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((both + same) / marked)


def careless_raters(dataset: Dataset) -> list[str]:
    """Return notes on raters who seem careless: all ratings equal, known errors missed, or too little time taken.

    Equal outputs of a source count once. The ratings of these raters are kept.
    """
    errors, lengths = (
        once_per_output(dataset, dataset.errors, "rater"),
        dataset.candidates["text"].str.len().to_numpy(np.int64),
    )
    candidate = errors["candidate"].to_numpy(np.int64)
    marked = (errors["severity"] != NO_ERROR).to_numpy(bool)
    whole = marked & ((errors["start"] == 0) & (errors["end"] == lengths[candidate])).fillna(False).to_numpy(bool)
    table = pd.DataFrame({"candidate": candidate, "rater": errors["rater"], "nothing": ~marked, "everything": whole})
    ratings = table[table["rater"] != GOLD].groupby(["rater", "candidate"], sort=False).any()
    placed = errors[marked & errors["start"].notna() & (errors["side"] == SIDES[0])]
    known = placed[placed["rater"] == GOLD]
    judged = {str(judge): rows for judge, rows in dataset.ratings.groupby("judge")}
    sums, notes = ratings.sum(), []
    marking = ratings.index.get_level_values("rater")
    for rater in sorted({*map(str, marking), *judged}):
        own = ratings[marking == rater]
        reasons, others = list[str](), len(ratings) - len(own)
        for what, word in (("nothing", "no error"), ("everything", "all of the text")) if others else ():
            share = float(sums[what] - own[what].sum()) / others
            if len(own) >= _FEWEST and own[what].all() and share ** len(own) < _RARE:
                reasons.append(f"marked {word} in all {len(own):,} outputs (other raters: in {share:.0%} of outputs)")
        if len(known):
            found = _found(known, placed[placed["rater"] == rater], {*own.index.get_level_values("candidate")})
            if len(found) >= _FEWEST_KNOWN and sum(found) < _FOUND * len(found):
                reasons.append(f"found {sum(found)} of {len(found)} known errors")
        given = judged.get(rater, dataset.ratings[:0])
        for kind, ratings_of_kind in given.groupby("kind"):
            rows = once_per_output(dataset, ratings_of_kind, "judge")
            rated, values = rows["candidate"].to_numpy(np.int64), rows["value"].to_numpy(np.float64)
            if kind == SECONDS:
                sources = dataset.sources["text"].str.len().to_numpy(np.int64)[dataset.candidate_source[rated]]
                speed = float(np.median((lengths[rated] + sources) / np.maximum(values, 1e-9)))
                if len(rated) >= _FEWEST_KNOWN and speed > _FASTEST:
                    reasons.append(f"read {speed:,.0f} characters per second (median)")
            elif len(rated) >= _FEWEST and len({*values.tolist()}) == 1:
                reasons.append(f"gave the same {kind}, {values[0]:g}, to all {len(rated):,} outputs")
        notes += [f"rater {rater or 'without a name'} {reason}; these ratings are counted" for reason in reasons]
    return notes


def _found(known: pd.DataFrame, own: pd.DataFrame, seen: set[int]) -> list[bool]:
    """Return, for each known error in outputs that a rater has seen, True if the rater marked an overlapping error."""
    places = {candidate: rows[["start", "end"]].to_numpy() for candidate, rows in own.groupby("candidate")}
    return [
        any(max(start, first) < min(end, last) for first, last in places.get(candidate, ()))
        for candidate, start, end in known[["candidate", "start", "end"]].itertuples(index=False, name=None)
        if candidate in seen
    ]
