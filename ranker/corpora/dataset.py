"""The data set: sources with references, candidate translations, and what people said of them.

Five frozen tables, rows in a fixed order, codes instead of keys:

==============  ===========================================================  ==========================
table           columns                                                      a row is
==============  ===========================================================  ==========================
sources         lp, doc, seg_id, text                                        one source sentence
references      source, name, text                                           one human translation
candidates      source, system, text, is_reference                           one output to be ranked
ratings         candidate, judge, kind, value                                one score of one candidate
preferences     first, second, relation, judge, task, rank_first,            one comparison of two
                rank_second, primary                                         candidates of one source
==============  ===========================================================  ==========================

``source``, ``candidate``, ``first`` and ``second`` are row numbers of the tables they point to. References and
candidates are sorted by source, so the candidates of one source are one block. References and candidates may have one
column more, ``alignment``, with their word alignment to the source; see `ranker.corpora.formats.pharaoh`. Candidates
may have columns of scores from files; see `ranker.extractors.given`.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import html
import inspect
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from ranker.arrays import BoolArray, Int64Array
from ranker.corpora.conversions import Conversions
from ranker.corpora.languages import is_locale, is_of_pair, language_pair, names_two_languages, target_language
from ranker.corpora.schema import ALIGNMENT, SCHEMA, TEXT, table
from ranker.errors import DataError, counted, nearest

_LONGEST_KEY = 60
P = ParamSpec("P")
T = TypeVar("T")


def block_offsets(codes: npt.ArrayLike, size: int) -> Int64Array:
    """Return offsets of the blocks of sorted `codes` in ``0 .. size - 1``; shape (size + 1,)."""
    return np.searchsorted(np.asarray(codes), np.arange(size + 1)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Dataset(Conversions):
    """Sources, references, candidates and judgements; see the module for the tables.

    Parameters
    ----------
    name : str
        What messages and signatures call it.
    sources, references, candidates, ratings, preferences : DataFrame
        Tables of `SCHEMA`. They are never changed after the data set is made.
    places : DataFrame, optional
        ``file`` and ``line`` that every source was read from, for messages.
    """

    name: str
    sources: pd.DataFrame
    references: pd.DataFrame
    candidates: pd.DataFrame
    ratings: pd.DataFrame
    preferences: pd.DataFrame
    places: pd.DataFrame | None = None
    _views: dict[Hashable, Any] = field(init=False, default_factory=dict, repr=False)

    def __len__(self) -> int:
        """Return the number of candidates, the rows of every feature matrix."""
        return len(self.candidates)

    def __repr__(self) -> str:
        """Return the name and the sizes of the tables."""
        sizes = ", ".join(counted(len(getattr(self, name)), name.removesuffix("s")) for name in SCHEMA)
        return f"<Dataset {self.name}: {sizes}>"

    def _repr_html_(self) -> str:
        """Return the sizes and the first candidates for a notebook."""
        systems = self.candidates["system"].nunique()
        kinds = ", ".join(sorted(self.ratings["kind"].unique())) or "none"
        summary = f"{self!r}, {systems:,} systems, {', '.join(self.language_pairs)}, ratings: {kinds}"
        sources = self.sources.iloc[self.candidate_source[:5]].reset_index(drop=True)
        head = self.candidates[["system", "text"]].head(5)
        return f"<p>{html.escape(summary)}</p>{head.assign(source=sources['text']).to_html(notebook=True)}"

    @functools.cached_property
    def candidate_source(self) -> Int64Array:
        """Source of every candidate, shape (candidates,)."""
        return self.candidates["source"].to_numpy(np.int64)

    @functools.cached_property
    def candidate_offsets(self) -> Int64Array:
        """Block of candidates of every source, shape (sources + 1,)."""
        return block_offsets(self.candidate_source, len(self.sources))

    @functools.cached_property
    def reference_offsets(self) -> Int64Array:
        """Block of references of every source, shape (sources + 1,)."""
        return block_offsets(self.references["source"].to_numpy(np.int64), len(self.sources))

    @functools.cached_property
    def language_pairs(self) -> list[str]:
        """Language pairs that occur, sorted; sources of unknown languages count as ``?``."""
        return sorted(set(self.source_language_pairs))

    @functools.cached_property
    def source_language_pairs(self) -> npt.NDArray[np.object_]:
        """Language pair of every source, shape (sources,); ``?`` where it is not known."""
        return self.sources["lp"].fillna("?").to_numpy(object)

    @functools.cached_property
    def target_languages(self) -> npt.NDArray[np.object_]:
        """Code of the language that every source is translated into, without region, shape (sources,).

        Empty where it is not known.
        """
        codes = {pair: target_language(pair) or "" for pair in self.language_pairs}
        return np.array([codes[pair] for pair in self.source_language_pairs], dtype=object)

    @functools.cached_property
    def fingerprint(self) -> str:
        """SHA-256 of everything in the tables: equal content gives an equal fingerprint."""
        digest = hashlib.sha256()
        for name, columns in SCHEMA.items():
            for column in [*columns, *sorted(set(getattr(self, name)) - set(columns))]:
                digest.update(f"\n{name}.{column}\n".encode())
                values = getattr(self, name)[column]
                for part in _text_bytes(values) if values.dtype == TEXT else [values.to_numpy().tobytes()]:
                    digest.update(part)
        return digest.hexdigest()

    def where(self, source: int) -> str:
        """Name one source for a message: ``NAME[lp:seg_id]``, after the file and line it was read from."""
        row = self.sources.iloc[source]
        key = ":".join(str(part) for part in (row["lp"], row["seg_id"]) if not pd.isna(part))
        parts = [] if self.places is None else [value for value in self.places.iloc[source] if not pd.isna(value)]
        place = f"{':'.join(map(str, parts))}: " if parts else ""
        return f"{place}{self.name}[{_short(key) or source + 1}]"

    def select_sources(self, keep: npt.ArrayLike) -> Dataset:
        """Return the data set of the sources where the mask `keep` (sources,) is true; itself if all are."""
        chosen = np.asarray(keep, dtype=bool)
        if chosen.all():
            return self
        code = np.cumsum(chosen) - 1
        references = self.references[chosen[self.references["source"].to_numpy()]]
        selected = Dataset(
            self.name,
            self.sources[chosen].reset_index(drop=True),
            references.assign(source=code[references["source"].to_numpy()]).reset_index(drop=True),
            self.candidates.assign(source=code[self.candidate_source]),
            self.ratings,
            self.preferences,
            None if self.places is None else self.places[chosen],
        )
        return selected._keep_candidates(chosen[self.candidate_source])

    def select_candidates(self, keep: npt.ArrayLike) -> Dataset:
        """Return the data set without the candidates where the mask `keep` (candidates,) is false.

        Sources that keep no candidate stay, with their references. Where all are kept it is this very data set, with
        its views.
        """
        rows = np.asarray(keep, dtype=bool)
        return self if rows.all() else _selected(self, rows.tobytes())

    def _keep_candidates(self, chosen: BoolArray) -> Dataset:
        code = np.cumsum(chosen) - 1
        ratings = self.ratings[chosen[self.ratings["candidate"].to_numpy()]]
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
            self.places,
        )

    def with_references_as_candidates(self) -> Dataset:
        """Return the data set with every reference as one more candidate, called ``reference1``, ``reference2``, ...

        They come behind the other candidates of their source, in order, with ``is_reference`` set.

        Raises
        ------
        DataError
            If a system has such a name already.
        """
        references = self.references
        slot = references.groupby("source").cumcount().to_numpy() + 1
        added = table(
            "candidates",
            {
                "source": references["source"],
                "system": [f"reference{number}" for number in slot],
                "text": references["text"],
                "is_reference": np.ones(len(references), dtype=bool),
            },
        )
        if ALIGNMENT in references:
            added[ALIGNMENT] = references[ALIGNMENT]
        taken = self.candidates["system"].isin(added["system"])
        if taken.any():
            raise DataError(
                f"the system name {self.candidates['system'][taken].iloc[0]!r} is reserved for references; "
                "rename the system",
                file=self.name,
            )
        together = pd.concat([self.candidates, added], ignore_index=True)
        order = np.argsort(together["source"].to_numpy(), kind="stable")
        code = np.argsort(order)
        return Dataset(
            self.name,
            self.sources,
            self.references,
            together.iloc[order].reset_index(drop=True),
            self.ratings.assign(candidate=code[self.ratings["candidate"].to_numpy()]),
            self.preferences.assign(**{side: code[self.preferences[side].to_numpy()] for side in ("first", "second")}),
            self.places,
        )

    def references_among_candidates(self) -> tuple[Dataset, Int64Array]:
        """Return `with_references_as_candidates`, and the row of every reference there."""
        together = self.with_references_as_candidates()
        references = np.diff(self.reference_offsets)
        source = np.repeat(np.arange(len(references)), references)
        slot = np.arange(len(source)) - self.reference_offsets[source]
        return together, together.candidate_offsets[source + 1] - references[source] + slot

    def without_references(self) -> Dataset:
        """Return the data set without its references."""
        return dataclasses.replace(self, references=self.references.iloc[:0])

    def select_language_pairs(self, wanted: Sequence[str]) -> Dataset:
        """Return the data set of the sources of the `wanted` language pairs.

        ``xx-en`` with the wild card ``*`` on either side, as in ``*-en``, stands for all that match, and a language
        without a region for all its regions.

        Raises
        ------
        DataError
            If one of them matches nothing; the message lists what there is.
        """
        keep = np.zeros(len(self.sources), dtype=bool)
        for pattern in wanted:
            matched = [lp for lp in self.language_pairs if is_of_pair(lp, pattern)]
            if not matched:
                listed = ", ".join(self.language_pairs)
                hint = nearest(pattern, self.language_pairs)
                raise DataError(f"no sources of language pair {pattern!r}{hint}; available: {listed}", file=self.name)
            keep |= np.isin(self.source_language_pairs, matched)
        return self.select_sources(keep)

    def of_language_pairs(self, wanted: Sequence[str]) -> Dataset:
        """Return the sources of the `wanted` language pairs, all if none is; data that names none is of that pair.

        Raises
        ------
        DataError
            As `select_language_pairs` and `with_language_pair`.
        """
        return self.with_language_pair(wanted).select_language_pairs(wanted) if wanted else self

    def with_language_pair(self, wanted: Sequence[str]) -> Dataset:
        """Return the data set with the one language pair that is `wanted`, if it names none; else itself.

        Raises
        ------
        DataError
            If it names none, and `wanted` is not one pair of two languages.
        """
        if not wanted or not self.sources["lp"].isna().all():
            return self
        pair = language_pair(wanted[0])
        if is_locale(wanted[0]):
            what = f"--lp {wanted[0]} is one language with its region; expected two, such as --lp en-zh_CN"
            raise DataError(what, file=self.name)
        if len(wanted) > 1 or not names_two_languages(pair):
            what = f"has no language pair; expected the one that it is of, such as --lp de-en, found {' '.join(wanted)}"
            raise DataError(what, file=self.name)
        return dataclasses.replace(self, sources=self.sources.assign(lp=pd.array([pair] * len(self.sources), TEXT)))


def view(make: Callable[Concatenate[Dataset, P], T]) -> Callable[Concatenate[Dataset, P], T]:
    """Cache what a function of a data set and options returns: it runs once for each data set and options.

    What it returns is a *view*: a value that depends on nothing else and that nobody changes. It is kept as long as the
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


@view
def _selected(dataset: Dataset, rows: bytes) -> Dataset:
    """Return some candidates, the same data set each time, so that its views are made once."""
    return dataset._keep_candidates(np.frombuffer(rows, dtype=bool))


def _text_bytes(values: pd.Series) -> list[bytes]:
    """Return what a text column holds, whatever its chunks: which are missing, their lengths, their UTF-8."""
    filled = pa.chunked_array(pa.array(values.array)).cast(pa.large_string()).fill_null("").combine_chunks()
    offsets = np.frombuffer(filled.buffers()[1], dtype=np.int64)[filled.offset : filled.offset + len(filled) + 1]
    text = filled.buffers()[2]
    return [
        np.packbits(values.isna().to_numpy(bool)).tobytes(),
        np.diff(offsets).tobytes(),
        b"" if text is None else text.slice(offsets[0], offsets[-1] - offsets[0]).to_pybytes(),
    ]


def _short(key: str) -> str:
    return key if len(key) <= _LONGEST_KEY else f"{key[: _LONGEST_KEY - 3]}..."


def concatenate(datasets: Sequence[Dataset]) -> Dataset:
    """Put several data sets one behind the other; equal (lp, seg_id) of different sets stay apart."""
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
        None
        if any(dataset.places is None for dataset in datasets)
        else pd.concat([dataset.places for dataset in datasets]),
    )
