"""Weights for every set of extractors that is left when some lack references or candidates."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ranker.arrays import BoolArray, FloatArray, Int64Array
from ranker.corpora.dataset import Dataset, view
from ranker.errors import DataError, counted
from ranker.extractors.base import Extractor, join_notes
from ranker.extractors.needs import references_in_language
from ranker.ranking.feature_set import FeatureSet
from ranker.text.target_languages import in_english

NONE = -1
"""Index in place of a weight set's, for sources that no weight set can rank."""
LARGEST = 1e100
"""Largest absolute weight, mean or scale allowed in a model file; with larger numbers scores could overflow."""


@dataclass(frozen=True, eq=False)
class AvailableInputs:
    """Per source: its text, any reference, number of candidates, English or not, references in its target language."""

    has_text: BoolArray
    has_reference: BoolArray
    candidates: Int64Array
    english: BoolArray
    references: Int64Array

    def suffices(self, extractors: Sequence[Extractor], *, by_language: bool = False) -> BoolArray:
        """Return a mask of the extractors whose needs each source meets, shape (sources, extractors).

        An extractor's need for a language counts only if `by_language` is True.
        """
        masks = [
            (self.has_text | (not needs.source))
            & (self.has_reference | (needs.references == 0))
            & (self.candidates >= needs.candidates)
            & (self.references >= needs.references)
            & (self.english | (not (by_language and needs.language is not None)))
            for needs in (extractor.needs for extractor in extractors)
        ]
        return np.stack(masks, axis=1)


@view
def available_inputs(dataset: Dataset) -> AvailableInputs:
    """Return the inputs in `dataset`; a source with only references as candidates counts as having one candidate."""
    dataset = dataset.context
    voting = ~dataset.is_reference
    candidates = np.bincount(dataset.candidate_source[voting], minlength=len(dataset.sources))
    candidates = np.maximum(candidates, np.diff(dataset.candidate_offsets) > 0)
    if not len(dataset):
        # the candidates are added later, so every source counts as having enough
        candidates = np.full(len(dataset.sources), np.iinfo(np.int64).max)
    has_reference = np.diff(dataset.reference_offsets) > 0
    has_text = (dataset.sources["text"] != "").to_numpy(bool)
    return AvailableInputs(
        has_text, has_reference, candidates.astype(np.int64), in_english(dataset), references_in_language(dataset)
    )


def usable(extractors: Sequence[Extractor], dataset: Dataset) -> BoolArray:
    """Return a mask of the extractors whose needs, language aside, each source meets, shape (sources, extractors)."""
    return available_inputs(dataset).suffices(extractors)


def usable_sets(extractors: Sequence[Extractor], *, by_language: bool = False) -> BoolArray:
    """Return every set of extractors that a source may allow, as a mask, largest first, shape (sets, extractors)."""
    needs = [extractor.needs for extractor in extractors]
    plenty = 1 + max(max(each.references, each.candidates) for each in needs)
    references = {plenty, 0, *(each.references - 1 for each in needs if each.references)}
    candidates = sorted({plenty, *(each.candidates - 1 for each in needs)})
    cases = [
        AvailableInputs(
            np.full(len(candidates), has_text),
            np.full(len(candidates), has_reference),
            np.array(candidates),
            np.full(len(candidates), english),
            np.full(len(candidates), number),
        ).suffices(extractors, by_language=True)
        for has_text in (True, False)
        for has_reference in (True, False)
        for number in sorted(references)
        for english in ([True, False] if by_language else [True])
    ]
    # systems are scored without what compares candidates
    apart = [not each.other_candidates for each in needs]
    sets = np.unique(np.concatenate([*cases, *(case & apart for case in cases)]), axis=0)
    sets = sets[sets.any(axis=1)]
    # sets of the same size are sorted by the index of the first missing extractor
    return sets[np.lexsort((*(~sets).T[::-1], -sets.sum(axis=1)))]


@dataclass(frozen=True, eq=False)
class WeightSets:
    """Weights for all extractors, and for each set left where a source lacks what some need, such as references."""

    extractors: tuple[Extractor, ...]
    used: BoolArray
    weights: FloatArray
    by_language: bool

    @classmethod
    def of(cls, features: FeatureSet, *, by_language: bool) -> WeightSets:
        """Return the weight sets that are possible for `features`, with all weights 0."""
        used = usable_sets(features.extractors, by_language=by_language)
        return cls(features.extractors, used, np.zeros((len(used), len(features.columns))), by_language)

    def learn(self, learn: Callable[[int], FloatArray]) -> WeightSets:
        """Return these sets with the weights that `learn` returns for the index of each set."""
        weights = np.zeros(self.weights.shape)
        for place, columns in enumerate(self.columns):
            weights[place, columns] = learn(place)
        return replace(self, weights=weights)

    def restricted_to(self, chosen: BoolArray) -> tuple[WeightSets, BoolArray] | None:
        """Return the weight sets that use only `chosen` extractors, and the mask of these; None if no set is left.

        Sets with only fluency, length and substitutes are left out, and so are comparisons with the source that have no
        weight in the sets that are left.
        """
        evidence = chosen & self._evidence & ~self._substitutes
        sets = ~self.used[:, ~chosen].any(axis=1) & self.used[:, evidence].any(axis=1)
        if not sets.any():
            return None
        idle = chosen & self._reads_source & ~self._weighted[sets].any(axis=0)
        if idle.any():
            return self.restricted_to(chosen & ~idle)
        columns = FeatureSet(self.extractors).columns_of(chosen)
        extractors = tuple(itertools.compress(self.extractors, chosen))
        left = replace(
            self, extractors=extractors, used=self.used[sets][:, chosen], weights=self.weights[sets][:, columns]
        )
        return left, chosen

    @property
    def _evidence(self) -> BoolArray:
        """True for extractors that compare a candidate with another text; False for fluency and length."""
        return np.array([extractor.family not in ("fluency", "length") for extractor in self.extractors])

    @property
    def columns(self) -> BoolArray:
        """True for the columns that each set uses, shape (sets, columns)."""
        return FeatureSet(self.extractors).columns_of(self.used)

    def without(self, place: int) -> tuple[Extractor, ...]:
        """Return the extractors that the weight set with the index `place` does not use."""
        return tuple(extractor for extractor, used in zip(self.extractors, self.used[place], strict=True) if not used)

    @property
    def titles(self) -> tuple[str, ...]:
        """Titles of all sets but the first, such as "without bleu, ter" or "by chrf alone"."""
        short = [self._title(place, self.without(place)) for place in range(1, len(self.used))]
        return tuple(
            f"without {', '.join(map(str, self.without(place)))}" if short.count(title) > 1 else title
            for place, title in enumerate(short, 1)
        )

    def choose(self, dataset: Dataset) -> Int64Array:
        """Return the index of the first weight set whose extractors' needs each source meets, or `NONE`."""
        inputs = available_inputs(dataset)
        fits = self._fits(inputs.suffices(self.extractors, by_language=self.by_language))
        anywhere = self._fits(inputs.suffices(self.extractors))
        fits = np.where(fits.any(axis=1, keepdims=True), fits, anywhere)
        lost = ~np.asarray(fits.any(axis=1))
        scorable = _scored(dataset)
        if (lost & scorable).any():
            all_lost = lost[scorable].all()
            reads, features = self._reads_source.any(), FeatureSet(self.extractors)
            if self.need_references or len(dataset.references) or (all_lost and not reads):
                features.check_references(dataset, lost & scorable)
            if all_lost:
                fewest = features.needs.candidates
                if fewest == 1:
                    features.check_inputs(dataset, lost & scorable)
                reason = join_notes(extractor.needs.missing(dataset) for extractor in self.extractors)
                reason = reason or f"no source has {fewest} candidates to compare"
                text = " or a text to compare them with" if reads else ""
                what = "and the model has nothing else to compare candidates with: add the missing data or references, "
                what += "choose another model or a metric, such as perp[model=shipped], or train a model on judgements"
                raise DataError(f"{reason}{text}, {what} of your own", file=dataset.name)
        return np.where(lost, NONE, fits.argmax(axis=1))

    def _fits(self, enough: BoolArray) -> BoolArray:
        """Return a mask (sources, sets) of the weight sets that each source can use, from one of its usable extractors.

        Sets with only fluency and length count only if no set has other extractors.
        """
        evident = self.used[:, self._evidence].any(axis=1) | (not self._evidence.any())
        return np.asarray((enough[:, np.newaxis] | ~self.used).all(axis=2) & evident)

    def used_by(self, dataset: Dataset) -> BoolArray:
        """Mask of the extractors that score each source, shape (sources, extractors); see `choose` for errors."""
        place = self.choose(dataset)
        return np.asarray(self.used[place] & (place[:, np.newaxis] != NONE))

    def used_in(self, dataset: Dataset) -> BoolArray:
        """Mask of the extractors that score any source of `dataset`, shape (extractors,); see `choose` for errors."""
        return np.asarray(self.used_by(dataset).any(axis=0))

    def weighted_by(self, dataset: Dataset) -> BoolArray:
        """Mask of the extractors with a weight other than 0 for each source; see `choose` for errors."""
        return self._of_chosen(self._weighted, dataset)

    def noted_in(self, dataset: Dataset) -> BoolArray:
        """Mask of the extractors whose notes concern each source, shape (sources, extractors): those of `_matters`."""
        return usable(self.extractors, dataset) & self._of_chosen(self._matters, dataset)

    def unread_in(self, dataset: Dataset) -> BoolArray:
        """Mask of the extractors that compare with the source and have no weight for any source of `dataset`."""
        return self._reads_source & ~self.weighted_by(dataset).any(axis=0)

    def _of_chosen(self, masks: BoolArray, dataset: Dataset) -> BoolArray:
        """Return the row of `masks`, one for every set, of the set that scores each source; False if there is none."""
        place = self.choose(dataset)
        return np.asarray(masks[place] & (place != NONE)[:, np.newaxis])

    @property
    def _reads_source(self) -> BoolArray:
        return np.array([extractor.needs.source for extractor in self.extractors])

    @property
    def _substitutes(self) -> BoolArray:
        """True for comparisons with the source that have a weight only in sets without any other evidence.

        The included rankers compare one or two candidates so, which hardly tells good translations apart.
        """
        others = self.used[:, self._evidence & ~self._reads_source].any(axis=1)
        return np.asarray(self._reads_source & others.any() & ~self._weighted[others].any(axis=0))

    @functools.cached_property
    def _weighted(self) -> BoolArray:
        """Mask of the extractors that have a weight other than 0 in each set, shape (sets, extractors)."""
        starts = np.cumsum([0, *(len(extractor.columns) for extractor in self.extractors)])[:-1]
        return np.asarray(np.logical_or.reduceat(self.weights != 0, starts, axis=1))

    @property
    def _matters(self) -> BoolArray:
        """Mask, like `_weighted`, that is also True for extractors without a weight in any set."""
        return np.asarray(self._weighted | ~self._weighted.any(axis=0))

    def commonest(self, dataset: Dataset, sources: Int64Array) -> int:
        """Return the index of the weight set that scores most of `sources` (indices); see `choose` for errors."""
        place = self.choose(dataset)[sources]
        return int(np.bincount(place[place != NONE], minlength=len(self.used)).argmax())

    def of_candidates(self, dataset: Dataset) -> FloatArray:
        """Return the weights that score each candidate, shape (candidates, columns)."""
        return self.of_sources(dataset)[dataset.candidate_source]

    def of_sources(self, dataset: Dataset) -> FloatArray:
        """Return the weights that score each source, shape (sources, columns); see `choose` for errors."""
        place = self.choose(dataset)
        return np.asarray(np.where(place[:, np.newaxis] == NONE, 0.0, self.weights[place]))

    def note(self, dataset: Dataset) -> str | None:
        """Return a one-line note on sources not scored by all extractors, with the reasons, or None."""
        scorable = _scored(dataset)
        place = np.where(scorable, self.choose(dataset), 0)
        inputs = available_inputs(dataset)
        size = int(scorable.sum())
        groups: dict[tuple[str, ...], tuple[tuple[Extractor, ...], BoolArray]] = {}
        for number in sorted(set(place.tolist()) - {0}, key=lambda weight_set: (weight_set == NONE, weight_set)):
            missing = self.extractors if number == NONE else self._missed(number)
            if not missing:
                continue
            what = "their candidates tie" if number == NONE else f"ranked {self._title(number, missing)}"
            if number != NONE and all(extractor.needs.source for extractor in self._used(number)):
                what = f"{what}, by their source, which hardly tells good translations apart"
            # sets that differ only in extractors without a weight have one note
            key, sources = (what, *map(str, missing)), place == number
            groups[key] = missing, sources | groups[key][1] if key in groups else sources
        notes = [
            f"{' and '.join(_reasons(dataset, inputs, missing, sources, size))}; {key[0]}"
            for key, (missing, sources) in groups.items()
        ]
        return join_notes(notes)

    @property
    def need_references(self) -> bool:
        """True if every set has an extractor that needs a reference."""
        needy = np.array([extractor.needs.references > 0 for extractor in self.extractors])
        return bool((self.used & needy).any(axis=1).all())

    def document(self) -> list[dict[str, Any]]:
        """Return the sets as JSON values; `read` is the inverse."""
        return [
            {"without": [str(extractor) for extractor in self.without(place)], "weights": weights.tolist()}
            for place, weights in enumerate(self.weights)
        ]

    @classmethod
    def read(cls, features: FeatureSet, sets: Sequence[Mapping[str, Any]], *, by_language: bool) -> WeightSets:
        """Read the sets from the JSON document of a model file, the largest first.

        Each has ``without``, the notations of the extractors that it does not use (empty for the first set), and
        ``weights``, a number for each column, 0 for columns of unused extractors.
        """
        names = [str(extractor) for extractor in features.extractors]
        used = np.array([[name not in entry["without"] for name in names] for entry in sets])
        weights = np.array([entry["weights"] for entry in sets], dtype=np.float64)
        sizes = used.sum(axis=1)
        sound = (
            all(isinstance(entry["without"], list) and set(entry["without"]) <= set(names) for entry in sets)
            and weights.shape == (len(sets), len(features.columns))
            and (np.abs(weights) <= LARGEST).all()
            and used[0].all()
            and (sizes > 0).all()
            and (np.diff(sizes) <= 0).all()
            and len(np.unique(used, axis=0)) == len(used)
            and not weights[~features.columns_of(used)].any()
        )
        if not sound:
            raise ValueError("weights")
        return cls(features.extractors, used, weights, by_language)

    def _missed(self, place: int) -> tuple[Extractor, ...]:
        """Return the extractors that a weight set lacks and that matter in a set with all that it has."""
        larger = (self.used | ~self.used[place]).all(axis=1)
        return tuple(itertools.compress(self.extractors, self._matters[larger].any(axis=0) & ~self.used[place]))

    def _used(self, place: int) -> tuple[Extractor, ...]:
        return tuple(itertools.compress(self.extractors, self.used[place]))

    def _title(self, place: int, missing: tuple[Extractor, ...]) -> str:
        """Return the title of a set by the extractors that it lacks, or by those that it has alone: the shorter one."""
        left = self._used(place)
        without, by = short_names(missing, left), short_names(left, missing)
        return f"without {', '.join(without)}" if len(without) <= len(by) else f"by {', '.join(by)} alone"


def _reasons(
    dataset: Dataset, inputs: AvailableInputs, missing: tuple[Extractor, ...], rows: BoolArray, size: int
) -> list[str]:
    """Return the reasons why the sources in the mask `rows`, out of `size` sources, cannot use `missing` extractors."""
    needs = [extractor.needs for extractor in missing]
    fewest = max(each.candidates for each in needs)
    lacks = {
        "without a source text": ~inputs.has_text[rows] & any(each.source for each in needs),
        "without a reference": ~inputs.has_reference[rows] & any(each.references > 0 for each in needs),
        f"with fewer than {fewest} candidates": inputs.candidates[rows] < fewest,
        "not in English": ~inputs.english[rows] & any(each.language is not None for each in needs),
    }
    few = [each.missing(dataset, rows) for each in needs] if inputs.has_reference[rows].any() else []
    reasons = [*dict.fromkeys(filter(None, few))]
    lacking = " and ".join(what for what, sources in lacks.items() if sources.all())
    if not (lacking or reasons):
        lacking = " or ".join(what for what, sources in lacks.items() if sources.any())
    number = int(rows.sum())
    whole = counted(size, "source")
    share = f"{number:,} of {whole}" if number < size else whole if size == 1 else f"all {whole}"
    return [*reasons, *([f"{share} {lacking}"] if lacking else [])]


def _scored(dataset: Dataset) -> BoolArray:
    """True for sources with candidates; for all sources if the data set has no candidates yet."""
    return np.asarray(np.diff(dataset.candidate_offsets) > 0) | (not len(dataset.context))


def short_names(extractors: tuple[Extractor, ...], others: tuple[Extractor, ...]) -> list[str]:
    """Return the distinct names of `extractors`, with the notation in place of a name that one of `others` has too."""
    shared = {_name(extractor) for extractor in others}
    return list(
        dict.fromkeys(str(extractor) if _name(extractor) in shared else _name(extractor) for extractor in extractors)
    )


def _name(extractor: Extractor) -> str:
    """Return the name of an extractor, without the column if it computes a single column of another extractor."""
    return extractor.name.partition(".")[0]
