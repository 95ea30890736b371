"""The data set: sources with references, candidate translations, and human judgements of them.

Six frozen tables, rows in a fixed order, codes instead of keys:

==============  ===========================================================  ==========================
table           columns                                                      a row is
==============  ===========================================================  ==========================
sources         lp, doc, seg_id, text                                        one source sentence
references      source, name, text                                           one human translation
candidates      source, system, text, is_reference                           one output to be ranked
ratings         candidate, judge, kind, value                                one score of one candidate
preferences     first, second, relation, judge, task, rank_first,            one comparison of two
                rank_second, primary                                         candidates of one source
errors          candidate, rater, start, end, severity, category, side       one error that a rater marked
==============  ===========================================================  ==========================

``source``, ``candidate``, ``first`` and ``second`` are row numbers of the tables they point to. References and
candidates are sorted by source, so the candidates of one source are one block. References and candidates may have one
column more, ``alignment``, with their word alignment to the source; see `ranker.corpora.formats.pharaoh`. Candidates
may have columns of scores from files; see `ranker.extractors.composed.external_scores`. Most data sets have no
``errors``; see `ranker.corpora.marked_errors`.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import html
import inspect
import json
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from ranker.arrays import BoolArray, Int64Array
from ranker.corpora.column_names import canonical, kinds_of
from ranker.corpora.languages import UNKNOWN_PAIR, LanguagePair
from ranker.corpora.marked_errors import error_entries, errors_by_candidate
from ranker.corpora.schema import OF_FILES, PLACE, SCHEMA, TEXT, empty_table
from ranker.errors import DataError, counted

_LONGEST_KEY = 60
_CONTEXT = "context"
P = ParamSpec("P")
T = TypeVar("T")


def block_offsets(codes: npt.ArrayLike, size: int) -> Int64Array:
    """Return the offsets, shape (size + 1,), of each value's block in `codes`, which are sorted integers from 0."""
    return np.searchsorted(np.asarray(codes), np.arange(size + 1)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Sources, references, candidates and judgements; the module's docstring describes the tables.

    Parameters
    ----------
    name : str
        Name of the data set in messages and signatures.
    sources, references, candidates, ratings, preferences, errors : DataFrame
        Tables of `SCHEMA`. They are never changed after the data set is made.
    """

    name: str
    sources: pd.DataFrame
    references: pd.DataFrame
    candidates: pd.DataFrame
    ratings: pd.DataFrame
    preferences: pd.DataFrame
    errors: pd.DataFrame = field(default_factory=functools.partial(empty_table, "errors"))
    _places: pd.DataFrame | None = None
    """``file`` and ``line`` from which each source was read, for messages."""
    _views: dict[Hashable, Any] = field(init=False, default_factory=dict, repr=False)

    def __len__(self) -> int:
        """Return the number of candidates, which is also the number of rows of every feature matrix."""
        return len(self.candidates)

    def __getstate__(self) -> dict[str, Any]:
        """State for pickling and copying: the tables and the context, without views, which are made again."""
        return {**vars(self), "_views": {key: value for key, value in self._views.items() if key == _CONTEXT}}

    def __repr__(self) -> str:
        """Return the data set's name and the sizes of its tables."""
        tables = [name for name in SCHEMA if name != "errors" or len(self.errors)]
        sizes = ", ".join(counted(len(getattr(self, name)), name.removesuffix("s")) for name in tables)
        return f"<Dataset {self.name}: {sizes}>"

    def _repr_html_(self) -> str:
        """Return an HTML summary for notebooks: the table sizes and the first candidates."""
        systems = self.candidates["system"].nunique()
        kinds = ", ".join(sorted(self.ratings["kind"].unique())) or "none"
        summary = f"{self!r}, {systems:,} systems, {', '.join(self.language_pairs)}, ratings: {kinds}"
        sources = self.sources.iloc[self.candidate_source[:5]].reset_index(drop=True)
        head = self.candidates[["system", "text"]].head(5)
        return f"<p>{html.escape(summary)}</p>{head.assign(source=sources['text']).to_html(notebook=True)}"

    @functools.cached_property
    def candidate_source(self) -> Int64Array:
        """Row of each candidate's source in the table `sources`, shape (candidates,)."""
        return self.candidates["source"].to_numpy(np.int64)

    @functools.cached_property
    def is_reference(self) -> BoolArray:
        """Mask of the candidates that are human translations rather than outputs of systems, shape (candidates,)."""
        return self.candidates["is_reference"].to_numpy(bool)

    @functools.cached_property
    def candidate_offsets(self) -> Int64Array:
        """Offsets of each source's block of candidates, shape (sources + 1,)."""
        return block_offsets(self.candidate_source, len(self.sources))

    @functools.cached_property
    def reference_offsets(self) -> Int64Array:
        """Offsets of each source's block of references, shape (sources + 1,)."""
        return block_offsets(self.references["source"].to_numpy(np.int64), len(self.sources))

    @functools.cached_property
    def language_pairs(self) -> list[LanguagePair]:
        """Language pairs of the sources, sorted; an unknown language pair is written as ``?``."""
        return sorted(set(self.source_language_pairs))

    @functools.cached_property
    def source_language_pairs(self) -> npt.NDArray[np.object_]:
        """`LanguagePair` of each source, shape (sources,)."""
        codes, named = pd.factorize(self.sources["lp"])
        return np.array([*map(LanguagePair, named), UNKNOWN_PAIR], dtype=object)[codes]

    @functools.cached_property
    def target_languages(self) -> npt.NDArray[np.object_]:
        """Target language of each source, without region, shape (sources,); empty text if unknown."""
        codes = {pair: pair.target or "" for pair in self.language_pairs}
        return np.array([codes[pair] for pair in self.source_language_pairs], dtype=object)

    @functools.cached_property
    def has_texts(self) -> bool:
        """True if any candidate has a text, or if the data set has no preferences."""
        return not len(self.preferences) or bool((self.candidates["text"] != "").any())

    @functools.cached_property
    def fingerprint(self) -> str:
        """SHA-256 digest of the content of all tables: equal content gives an equal fingerprint.

        Scores attached from files do not count: the metrics that read them sign the files.
        """
        attached = [column for column in self.candidates if str(column).startswith(OF_FILES)]
        own = dataclasses.replace(self, candidates=self.candidates.drop(columns=attached)) if attached else self
        return own.content_digest()

    def content_digest(self) -> str:
        """Compute the fingerprint of the tables as they are now."""
        digest = hashlib.sha256()
        for name, columns in SCHEMA.items():
            if name == "errors" and not len(self.errors):
                continue
            for column in [*columns, *sorted(set(getattr(self, name)) - set(columns))]:
                digest.update(f"\n{name}.{column}\n".encode())
                values = getattr(self, name)[column]
                if values.dtype == PLACE:
                    values = values.fillna(-1).astype(np.int64)
                # as Python objects, texts would give the bytes of their addresses
                is_text = values.dtype.kind == "O"
                for part in _text_bytes(values.astype(TEXT)) if is_text else [values.to_numpy().tobytes()]:
                    digest.update(part)
        return digest.hexdigest()

    def select_sources(self, keep: npt.ArrayLike) -> Dataset:
        """Return the data set with the sources for which the mask `keep` (sources,) is true.

        If all sources are kept, this data set itself is returned.

        Raises
        ------
        DataError
            If `keep` is no mask of the sources.
        """
        chosen = self._mask(keep, len(self.sources), "source")
        if chosen.all():
            return self
        if self.context is not self:
            kept = chosen[self.context.candidate_source]
            return self.context.select_sources(chosen).in_context(self.context_rows[kept])
        code = np.cumsum(chosen) - 1
        references = self.references[chosen[self.references["source"].to_numpy()]]
        selected = Dataset(
            self.name,
            self.sources[chosen].reset_index(drop=True),
            references.assign(source=code[references["source"].to_numpy()]).reset_index(drop=True),
            self.candidates.assign(source=code[self.candidate_source]),
            self.ratings,
            self.preferences,
            self.errors,
            None if self._places is None else self._places[chosen],
        )
        return selected._keep_candidates(chosen[self.candidate_source])

    def select_candidates(self, keep: npt.ArrayLike) -> Dataset:
        """Return the data set with the candidates for which the mask `keep` (candidates,) is true.

        Sources that keep no candidate stay, with their references. If all candidates are kept, this data set itself is
        returned, with its views.

        Raises
        ------
        DataError
            If `keep` is no mask of the candidates.
        """
        rows = self._mask(keep, len(self), "candidate")
        return self if rows.all() else _selected(self, rows.tobytes())

    def in_context(self, keep: npt.ArrayLike) -> Dataset:
        """Select candidates as `select_candidates` does, but keep the whole data set as `context` for scoring."""
        chosen = self._mask(keep, len(self), "candidate")
        if chosen.all():
            return self
        rows = self.context_rows.copy()
        rows[rows] = chosen
        return _in_context(self.context, rows.tobytes())

    def _mask(self, keep: npt.ArrayLike, size: int, thing: str) -> BoolArray:
        mask = np.asarray(keep)
        expected = f"expected a mask, true or false for each of {counted(size, thing)}"
        if mask.shape != (size,) or (size and mask.dtype.kind not in "bO"):
            raise DataError(f"{expected}, found {mask.dtype} of shape {mask.shape}", file=self.name)
        if mask.dtype.kind == "O":
            for place, value in enumerate(mask):
                if not isinstance(value, bool | np.bool_):
                    raise DataError(f"{expected}, found {value!r} for {thing} {place}", file=self.name)
        return mask.astype(bool)

    @property
    def context(self) -> Dataset:
        """The larger data set from which `in_context` selected this one, or else this data set itself."""
        return self._views[_CONTEXT][0] if _CONTEXT in self._views else self

    @property
    def context_rows(self) -> BoolArray:
        """Mask of the candidates of `context` that are in this data set, shape (candidates of `context`,)."""
        return self._views[_CONTEXT][1] if _CONTEXT in self._views else np.ones(len(self), dtype=bool)

    def _keep_candidates(self, chosen: BoolArray) -> Dataset:
        code = np.cumsum(chosen) - 1
        ratings, errors = (rows[chosen[rows["candidate"].to_numpy()]] for rows in (self.ratings, self.errors))
        first, second = (self.preferences[side].to_numpy() for side in ("first", "second"))
        preferences = self.preferences[chosen[first] & chosen[second]]
        return Dataset(
            self.name,
            self.sources,
            self.references,
            self.candidates[chosen].reset_index(drop=True),
            ratings.assign(candidate=code[ratings["candidate"].to_numpy()]).reset_index(drop=True),
            preferences.assign(
                first=code[preferences["first"].to_numpy()], second=code[preferences["second"].to_numpy()]
            ).reset_index(drop=True),
            errors.assign(candidate=code[errors["candidate"].to_numpy()]).reset_index(drop=True),
            self._places,
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a frame that `ranker.from_frame` can read, with one row per candidate, or per candidate and judge.

        Preferences, alignments and the names of references are left out.

        Raises
        ------
        DataError
            If a source has no candidate and so no row, or a kind of judgement has the name of another column.

        Examples
        --------
        >>> from ranker import from_texts
        >>> from_texts(["hello"], ["hi"]).to_frame()[["reference1", "system", "text"]].values.tolist()
        [['hi', 'translation', 'hello']]
        """
        empty = np.flatnonzero(np.diff(self.candidate_offsets) == 0)
        if len(empty):
            what = f"{source_place(self, int(empty[0]))} has no candidate and therefore no row in a table"
            raise DataError(f"{what}: use JSONL")
        for kind in sorted(self.ratings["kind"].unique()):
            if canonical(kind) != kind or not kinds_of([kind]) or (kind == "errors" and len(self.errors)):
                raise DataError(f"the kind of judgement {kind!r} cannot be a column name: use JSONL", file=self.name)
        frame = self.sources.iloc[self.candidate_source].reset_index(drop=True).rename(columns={"text": "source"})
        slot = self.references.groupby("source").cumcount()
        references = self.references.assign(slot=slot).pivot(index="source", columns="slot", values="text")
        for index in range(len(references.columns)):
            frame[f"reference{index + 1}"] = references[index].reindex(self.candidate_source).to_numpy(object)
        for column in ("system", "text", "is_reference"):
            if column != "is_reference" or self.candidates[column].any():
                frame[column] = self.candidates[column]
        ratings = self.ratings.assign(judge=self.ratings["judge"].fillna(""))
        if not len(ratings):
            return self._with_errors(frame)
        wide = ratings.pivot(index=["candidate", "judge"], columns="kind", values="value").reset_index()
        wide.columns.name = None
        joined = frame.join(wide.set_index("candidate"), how="left")
        joined["judge"] = joined["judge"].fillna("")
        return self._with_errors(joined)

    def _with_errors(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Add marked errors, as JSON, to each candidate's first row in `frame`, which is indexed by candidate."""
        rows = frame.reset_index(drop=True)
        if len(self.errors):
            written = {
                row: json.dumps(error_entries(marks), ensure_ascii=False)
                for row, marks in errors_by_candidate(self.errors).items()
            }
            rows["errors"] = [
                None if again else written.get(row)
                for row, again in zip(frame.index, frame.index.duplicated(), strict=True)
            ]
        return rows


def view(make: Callable[Concatenate[Dataset, P], T]) -> Callable[Concatenate[Dataset, P], T]:
    """Cache a function's results by data set and options, so that the function runs only once for each combination.

    The result is a *view*: a value that depends on nothing else and that nobody changes. It is kept as long as the
    data set lives; data sets derived from this one have views of their own. Options must be hashable.
    """
    parameters = inspect.signature(make)

    @functools.wraps(make)
    def get(dataset: Dataset, /, *options: P.args, **named: P.kwargs) -> T:
        bound = parameters.bind(dataset, *options, **named)
        bound.apply_defaults()
        key = (get, *tuple(bound.arguments.values())[1:])
        if key not in dataset._views:
            dataset._views[key] = make(dataset, *options, **named)
        value: T = dataset._views[key]
        return value

    return get


def source_place(dataset: Dataset, source: int) -> str:
    """Describe one source for a message: its file and line, if known, and ``NAME[lp:seg_id]``."""
    row = dataset.sources.iloc[source]
    key = ":".join(str(part) for part in (row["lp"], row["seg_id"]) if not pd.isna(part))
    parts = [] if dataset._places is None else [part for part in dataset._places.iloc[source] if not pd.isna(part)]
    place = f"{':'.join(map(str, parts))}: " if parts else ""
    short = key if len(key) <= _LONGEST_KEY else f"{key[: _LONGEST_KEY - 3]}..."
    return f"{place}{dataset.name}[{short or source + 1}]"


@view
def _selected(dataset: Dataset, rows: bytes) -> Dataset:
    """Return the data set of the candidates for which the mask `rows`, given as bytes, is true.

    Equal masks return the same object, so that results cached by data set are shared.
    """
    return dataset._keep_candidates(np.frombuffer(rows, dtype=bool))


@view
def _in_context(dataset: Dataset, rows: bytes) -> Dataset:
    chosen = np.frombuffer(rows, dtype=bool)
    selected = dataset._keep_candidates(chosen)
    # not a field, because a data set made from this one with other tables has no context
    selected._views[_CONTEXT] = dataset, chosen
    return selected


def _text_bytes(values: pd.Series) -> list[bytes]:
    """Return a text column's mask of missing texts, its lengths and its content as bytes, however it is chunked."""
    filled = pa.chunked_array(pa.array(values.array)).cast(pa.large_string()).fill_null("").combine_chunks()
    offsets = np.frombuffer(filled.buffers()[1], dtype=np.int64)[filled.offset : filled.offset + len(filled) + 1]
    text = filled.buffers()[2]
    return [
        np.packbits(values.isna().to_numpy(bool)).tobytes(),
        np.diff(offsets).tobytes(),
        b"" if text is None else text.slice(offsets[0], offsets[-1] - offsets[0]).to_pybytes(),
    ]


def concatenate_datasets(datasets: Sequence[Dataset]) -> Dataset:
    """Concatenate data sets; sources of different data sets with the same (lp, seg_id) stay separate."""
    if len(datasets) == 1:
        return datasets[0]
    starts_source = np.cumsum([0, *(len(dataset.sources) for dataset in datasets)])
    starts_candidate = np.cumsum([0, *(len(dataset.candidates) for dataset in datasets)])

    def stack(name: str, shift: dict[str, Int64Array]) -> pd.DataFrame:
        parts = [
            getattr(dataset, name).assign(
                **{column: getattr(dataset, name)[column] + starts[index] for column, starts in shift.items()}
            )
            for index, dataset in enumerate(datasets)
        ]
        together: pd.DataFrame = pd.concat(parts, ignore_index=True)
        return together

    return Dataset(
        "+".join(dataset.name for dataset in datasets),
        stack("sources", {}),
        stack("references", {"source": starts_source}),
        stack("candidates", {"source": starts_source}),
        stack("ratings", {"candidate": starts_candidate}),
        stack("preferences", {"first": starts_candidate, "second": starts_candidate}),
        stack("errors", {"candidate": starts_candidate}),
        None
        if any(dataset._places is None for dataset in datasets)
        else pd.concat([dataset._places for dataset in datasets]),
    )
