"""Feature sets: named lists of extractors in ``features/*.toml``, and the feature matrix that a list computes."""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from ranker import notation, share
from ranker.arrays import BoolArray, FloatArray, Int64Array
from ranker.corpora.dataset import Dataset, source_place, view
from ranker.corpora.own_references import references_among_candidates, scored_apart
from ranker.corpora.source_keys import UInt32Array
from ranker.errors import DataError, ModelError, OptionError, counted, log_note, nearest
from ranker.extractors import registry
from ranker.extractors.base import Extractor, FeatureFamily, check_new_texts, checked, fitted_on, join_notes
from ranker.extractors.composed.combine import with_files
from ranker.extractors.composed.external_scores import given_files, with_given_scores
from ranker.extractors.needs import Needs
from ranker.files import display_name, read_text, sha256
from ranker.ranking.reference_candidates import leave_one_out
from ranker.storage.plain_data import parse_toml

_KEPT_ROWS = 20_000
"""Maximum number of candidates of a data set whose columns are cached, because training uses them several times."""
_PART = 10_000
"""Number of candidates of a larger data set whose columns are computed together."""


@dataclass(frozen=True)
class FeatureSetFile:
    """A file in ``features/``: a named list of extractors, a description of the list, and the origin of the list."""

    name: str
    description: str
    extractors: tuple[str, ...]
    source: str = ""


def feature_set_files() -> dict[str, FeatureSetFile]:
    """Return the feature sets declared in ``features/``, sorted by name."""
    sets = {}
    for path in sorted(share.directory("features").glob("*.toml")):
        try:
            sets[path.stem] = _read_file(path.stem, read_text(path), display_name(path))
        except DataError as error:
            log_note(f"feature set skipped: {error}")
    return sets


@functools.lru_cache(maxsize=256)
def _read_file(name: str, text: str, file: str) -> FeatureSetFile:
    try:
        return msgspec.convert({**parse_toml(text, file), "name": name}, FeatureSetFile)
    except msgspec.ValidationError as error:
        raise DataError(f"{error}: expected the keys description and extractors", file=file) from None


@dataclass(frozen=True)
class FeatureSet:
    """A list of extractors, whose feature columns are concatenated."""

    extractors: tuple[Extractor, ...]
    recorded: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    """Signatures that extractors had when a model was trained, by notation; empty unless read from a model."""

    @classmethod
    def parse(cls, text: str) -> FeatureSet:
        """Parse a list of extractors and names of declared feature sets, separated by commas."""
        declared = feature_set_files()
        specs: list[str] = []
        in_any_case = {name.lower(): name for name in declared}
        for part in notation.split(text):
            name = in_any_case.get(part.lower())
            specs.extend(declared[name].extractors if name else [part])
        extractors = []
        for spec in specs:
            name = spec.partition("[")[0].strip()
            if name not in registry.BUILT_IN and name in declared:
                raise OptionError(f"{spec!r}: a feature set has no options; list its extractors instead")
            unknown = registry.registered(name.partition(".")[0]) not in registry.names()
            if unknown and (hint := nearest(spec, [*declared, *registry.names()])):
                raise OptionError(f"unknown metric, feature or feature set {spec!r}{hint}")
            extractors.append(registry.make_features(spec))
        feature_set = cls(tuple(extractors))
        twice = [column for column, count in Counter(feature_set.columns).items() if count > 1]
        if twice:
            raise OptionError(f"{text!r} gives the column {twice[0]!r} twice: name each extractor once")
        return feature_set

    def __str__(self) -> str:
        """Return the extractors in their notation, separated by commas."""
        return ",".join(map(str, self.extractors))

    def signature(self) -> str:
        """Return the extractors' signatures or, for a declared set, its name with a digest of those signatures."""
        whole = ",".join(extractor.signature() for extractor in self.extractors)
        for file in feature_set_files().values():
            if len(file.extractors) == len(self.extractors) and str(FeatureSet.parse(file.name)) == str(self):
                return f"{file.name}#{sha256(whole.encode())[:8]}"
        return whole

    @property
    def needs(self) -> Needs:
        """Combined requirements of all extractors."""
        return Needs(references=0).union(*(extractor.needs for extractor in self.extractors))

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(column for extractor in self.extractors for column in extractor.columns)

    @property
    def families(self) -> tuple[FeatureFamily, ...]:
        """Feature family of every column."""
        return tuple(extractor.family for extractor in self.extractors for _ in extractor.columns)

    @property
    def signs(self) -> FloatArray:
        """Direction of every column: 1 if higher values are better, else -1."""
        lower = {column for extractor in self.extractors for column in extractor.lower_is_better}
        return np.array([-1.0 if column in lower else 1.0 for column in self.columns])

    @property
    def names_files(self) -> bool:
        """True if an extractor reads scores from a file that it names; extractors of a model may not do so."""
        return any(given_files(self.members).values())

    @property
    def pretraining_sources(self) -> UInt32Array:
        """Hashes (see `short_keys`) of the judged sources on which extractors such as encoders were pre-trained."""
        keys = (part.pretraining_sources for part in self.members)
        return np.unique(np.concatenate([np.zeros(0, np.uint32), *(each for each in keys if each is not None)]))

    def with_files(self, files: Mapping[str, str]) -> FeatureSet:
        """Return the feature set with external scores read from `files`, which are keyed by the names of the scores."""
        return replace(self, extractors=tuple(with_files(extractor, files) for extractor in self.extractors))

    def fit(self, dataset: Dataset) -> FeatureSet:
        """Fit the extractors that have `fit_scope` "train" to `dataset`, and return the fitted feature set."""
        return FeatureSet(
            tuple(
                extractor.fit(dataset) if extractor.fit_scope == "train" else extractor for extractor in self.extractors
            )
        )

    def fit_transform(self, dataset: Dataset) -> tuple[FeatureSet, FloatArray]:
        """Return the feature set fitted to `dataset`, and the columns of `dataset` to train a ranker on.

        The columns are those of `transform`, unless an extractor computes columns of training data differently; see
        `Extractor.fit_transform`.
        """
        self.check_ready()
        self.check_inputs(dataset)
        # a column of an extractor that learns is ready as a metric, but a model records what it learnt
        learns = [any(part.fit_scope == "train" for part in (each, *each.members)) for each in self.extractors]
        results = [
            extractor.fit_transform(dataset) if learn else None
            for extractor, learn in zip(self.extractors, learns, strict=True)
        ]
        pairs = zip(self.extractors, results, strict=True)
        fitted = FeatureSet(tuple(extractor if new is None else new[0] for extractor, new in pairs))
        return fitted, fitted._matrix(
            dataset, [None if new is None else new[1] for new in results], np.ones(len(results), dtype=bool)
        )

    def states(self) -> dict[str, dict[str, npt.NDArray[Any]]]:
        """Return the learnt arrays of each extractor that has any, keyed by its position in the list."""
        states = {f"extractor{index}": extractor.state() for index, extractor in enumerate(self.extractors)}
        return {name: state for name, state in states.items() if state}

    def with_states(self, states: Mapping[str, Mapping[str, npt.NDArray[Any]]]) -> FeatureSet:
        """Return the feature set with the learnt arrays in `states`, a mapping like that of the method `states`."""
        return replace(
            self,
            extractors=tuple(
                extractor.with_state(states[f"extractor{index}"]) if f"extractor{index}" in states else extractor
                for index, extractor in enumerate(self.extractors)
            ),
        )

    def only(self, chosen: npt.ArrayLike) -> FeatureSet:
        """Return the feature set with the extractors in the mask `chosen`."""
        return replace(self, extractors=tuple(itertools.compress(self.extractors, np.asarray(chosen))))

    def columns_of(self, extractors: npt.ArrayLike) -> BoolArray:
        """Convert a mask of extractors, shape (..., extractors), to a mask of their columns, shape (..., columns)."""
        return np.repeat(
            np.asarray(extractors, dtype=bool), [len(extractor.columns) for extractor in self.extractors], axis=-1
        )

    def missing_requirement(self, dataset: Dataset) -> str | None:
        """Return a message if `dataset` has too few references for some extractors to learn from, else None."""
        return join_notes(extractor.needs.missing(dataset) for extractor in self.extractors)

    @property
    def members(self) -> tuple[Extractor, ...]:
        """The extractors, with every combination replaced by the extractors that it combines."""
        return tuple(part for extractor in self.extractors for part in extractor.members)

    def note(self, dataset: Dataset) -> str | None:
        """Return the distinct notes of the extractors on `dataset` in one line, or None if there are no notes."""
        return join_notes(extractor.note(context_for(extractor, dataset)[0]) for extractor in self.extractors)

    def transform(
        self,
        dataset: Dataset,
        *,
        partial: bool = False,
        used: BoolArray | None = None,
    ) -> FloatArray:
        """Return all columns of all candidates, shape (candidates, columns).

        Extractors of `fit_scope` "ranked" learn from `dataset` first; with too few references, their columns are 0 (see
        `missing_requirement`).
        """
        if not partial:
            self.check_inputs(dataset)
        is_used = np.ones(len(self.extractors), dtype=bool) if used is None else used
        known = [None] * len(self.extractors)
        whole = self.needs.other_sources or any(extractor.fit_scope == "ranked" for extractor in self.extractors)
        if len(dataset.context) <= _KEPT_ROWS or whole:
            return self._matrix(dataset, known, is_used)
        # in parts, because vectors of texts that several extractors use are kept in memory
        dataset = with_given_scores(dataset, self.members)
        parts = []
        for part in np.split(np.arange(len(dataset.sources)), self._cuts(dataset.context)):
            chosen = np.isin(np.arange(len(dataset.sources)), part)
            parts.append(self._matrix(dataset.select_sources(chosen), known, is_used))
        return np.concatenate(parts)

    @staticmethod
    def _cuts(dataset: Dataset) -> Int64Array:
        """Return the indices of the sources at which to split `dataset` into parts of about `_PART` candidates."""
        return np.flatnonzero(np.diff(dataset.candidate_offsets[:-1] // _PART)) + 1

    def _matrix(self, dataset: Dataset, known: Sequence[FloatArray | None], used: BoolArray) -> FloatArray:
        """Return the columns of all extractors, taken from `known` or computed, with 0 for extractors not in `used`."""
        self.only(used).check_ready()
        if dataset.context is not dataset:
            dataset = with_given_scores(dataset, self.members)
        parts = []
        for extractor, ready, is_used in zip(self.extractors, known, used, strict=True):
            if not is_used:
                parts.append(np.zeros((len(dataset), len(extractor.columns))))
            elif ready is not None:
                parts.append(_own_columns(extractor, dataset, ready))
            else:
                context, kept = context_for(extractor, dataset)
                parts.append(_own_columns(extractor, context)[kept])
        return self._joined(dataset, parts)

    def transform_references(self, dataset: Dataset, *, exclude_self: bool = False) -> FloatArray:
        """Return all columns of the references, each scored as a candidate, shape (references, columns)."""
        self.check_ready()
        check_new_texts(self.extractors, "references")
        dataset = dataset.context
        source = dataset.references["source"].to_numpy()
        parts = []
        for extractor in self.extractors:
            enough = extractor.needs.enough_references(dataset)
            columns = np.zeros((len(source), len(extractor.columns)))
            if enough[source].any():
                used = _with_sources(dataset, enough.tobytes())
                columns[enough[source]] = _reference_columns(extractor, used, exclude_self=exclude_self)
            parts.append(columns)
        return self._joined(leave_one_out(dataset), parts)

    def _joined(self, dataset: Dataset, parts: Sequence[FloatArray]) -> FloatArray:
        """Concatenate columns; raise DataError if a value is not finite."""
        matrix = np.concatenate(parts, axis=1)
        bad = np.argwhere(~np.isfinite(matrix))
        if len(bad):
            row, column = bad[0]
            raise DataError(
                f"column {self.columns[column]!r} is {matrix[row, column]} for system "
                f"{dataset.candidates['system'].iloc[row]!r} of {source_place(dataset, dataset.candidate_source[row])}"
                ": expected a finite number"
            )
        return matrix

    def check_ready(self) -> None:
        """Raise an error if an extractor lacks a resource, or is not the one that a model was trained with.

        This method is called before time is spent on any column.
        """
        for extractor in self.extractors:
            extractor.check_ready()
            then = self.recorded.get(str(extractor))
            if then is not None and (change := _change(then, extractor.signature())):
                raise ModelError(
                    f"{extractor}: the model was trained with {change}: restore the file or plug-in that has changed, "
                    "or train the model again"
                )

    def check_inputs(self, dataset: Dataset, sources: BoolArray | None = None) -> None:
        """Raise a `DataError` if a column needs a reference or a source text, and a source with candidates has none.

        If a mask `sources` is given, only the sources in the mask are checked.
        """
        self.check_references(dataset, sources)
        needy = [extractor for extractor in self.extractors if extractor.needs.source]
        lacking = (dataset.sources["text"] == "").to_numpy(bool)
        _check_none(
            dataset, needy, lacking, sources, "source text", "add the sources (-s), or choose features that need none"
        )

    def check_references(self, dataset: Dataset, sources: BoolArray | None = None) -> None:
        """Raise a `DataError` if a column needs a reference, and a source with candidates has none."""
        needy = [extractor for extractor in self.extractors if extractor.needs.references]
        advice = "add references, or, to rank translations, choose features that need none, such as consensus"
        _check_none(dataset, needy, np.diff(dataset.reference_offsets) == 0, sources, "reference", advice)


def _check_none(
    dataset: Dataset, needy: Sequence[Extractor], lacking: BoolArray, sources: BoolArray | None, what: str, advice: str
) -> None:
    """Raise a `DataError` if any extractors are `needy` and a source with candidates is `lacking` what they need."""
    lacking = lacking & (np.diff(dataset.candidate_offsets) > 0) & (True if sources is None else sources)
    if needy and lacking.any():
        source = int(np.argmax(lacking))
        raise DataError(
            f"{source_place(dataset, source)} has no {what}, which column {needy[0].columns[0]!r} requires "
            f"(missing in {int(lacking.sum()):,} of {counted(len(lacking), 'source')}): {advice}"
        )


def _change(then: str, now: str) -> str | None:
    """Return the first option in two signatures of an extractor whose values differ, or None if there is none.

    Options that only one of them has do not count, because a newer version may have more of them.
    """
    before, after = _signed_options(then), _signed_options(now)
    changed = (option for option, value in before.items() if after.get(option, value) != value)
    return next((f"{option[-1]}={before[option]}, now {after[option]}" for option in changed), None)


def _signed_options(signature: str) -> dict[tuple[str, ...], str]:
    """Return the values in a signature by the path to them, such as ("consensus", "metric=bleu", "order")."""
    options: dict[tuple[str, ...], str] = {}
    path, last = list[str](), ""
    for token in re.findall(r"[^\[\],]+|[\[\]]", signature):
        if token == "[":
            path.append(last)
        elif token == "]":
            path = path[:-1]
        else:
            last = token.strip()
            key, equals, value = last.partition("=")
            if equals:
                options[(*path, key)] = value
    return options


def context_for(extractor: Extractor, dataset: Dataset) -> tuple[Dataset, BoolArray | slice]:
    """Return the data set that an extractor must see (`dataset` or its `context`), and the rows of `dataset` in it."""
    if dataset.context is dataset or not extractor.needs.other_candidates:
        return dataset, slice(None)
    return dataset.context, dataset.context_rows


def _own_columns(extractor: Extractor, dataset: Dataset, ready: FloatArray | None = None) -> FloatArray:
    """Return an extractor's columns for all candidates: those in `ready` if given, otherwise computed.

    If the extractor needs references, candidates without a reference, or in a target language with too few to learn
    from, get 0, and candidates that are references are compared with the other references.
    """
    if not extractor.needs.references:
        return _columns(extractor, dataset) if ready is None else ready
    usable = (np.diff(dataset.reference_offsets) > 0) & extractor.needs.enough_references(dataset)
    rows = usable[dataset.candidate_source]
    whole = dataset if rows.all() else with_given_scores(dataset, extractor.members)
    columns = np.zeros((len(dataset), len(extractor.columns)))
    referenced = _with_sources(whole, usable.tobytes())
    if not len(referenced):
        return columns
    columns[rows] = _columns(extractor, referenced) if ready is None else ready[rows]
    apart, own = scored_apart(referenced)
    if len(apart):
        fitted = fitted_on(extractor, referenced)
        columns[np.flatnonzero(rows)[apart]] = fitted.transform_references(referenced, leave_one_out(referenced))[own]
    return columns


def _reference_columns(extractor: Extractor, dataset: Dataset, *, exclude_self: bool) -> FloatArray:
    """Return the columns of an extractor for the references, each scored as a candidate."""
    if exclude_self:
        return fitted_on(extractor, dataset).transform_references(dataset, leave_one_out(dataset))
    together, rows = _among_candidates(dataset)
    columns: FloatArray = _columns(extractor, together)[rows]
    return columns


_among_candidates = view(references_among_candidates)


@view
def _with_sources(dataset: Dataset, sources: bytes) -> Dataset:
    """Return the data set with only the sources in a mask, given as bytes."""
    return dataset.select_sources(np.frombuffer(sources, dtype=bool))


def _columns(extractor: Extractor, dataset: Dataset) -> FloatArray:
    """Return the columns of an extractor, which first learns from `dataset` if its `fit_scope` is "ranked"."""
    # cached columns are found by the extractor's value, which does not include what it learnt in training
    learnt = any(part.fit_scope == "train" for part in (extractor, *extractor.members))
    if learnt or len(dataset) > _KEPT_ROWS or not isinstance(extractor, Hashable):
        return _computed(extractor, dataset)
    return _kept_columns(dataset, extractor)


@view
def _kept_columns(dataset: Dataset, extractor: Extractor) -> FloatArray:
    return _computed(extractor, dataset)


def _computed(extractor: Extractor, dataset: Dataset) -> FloatArray:
    columns = fitted_on(extractor, dataset).transform(dataset)
    return checked(extractor, "transform", columns, (len(dataset), len(extractor.columns)))
