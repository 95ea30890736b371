"""Data sets made from objects in memory: data frames, records, lists of texts.

Frames have the columns of tables (`ranker.corpora.formats.tables`), records the keys of JSON
(`ranker.corpora.formats.json_lines`): the same names and the same checks, whose messages name the row or the record,
counted from 0 as Python counts.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from ranker.arrays import Int64Array
from ranker.corpora.column_names import ANSWERS, canonical, is_metadata, kinds_of, reference_columns
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.json_lines import CANDIDATES, read_records
from ranker.corpora.formats.table_shapes import columns_of_records, is_other_shape, preference_columns, table_dataset
from ranker.corpora.formats.tables import MISSING, Columns
from ranker.corpora.records import assemble, build_dataset, shown
from ranker.corpora.selection import stated_language_pair
from ranker.errors import DataError, counted

ONE_SYSTEM = "translation"
"""Name of the system of a plain list of texts."""
Texts = Sequence[str]
References = Sequence[str | Texts] | Mapping[Any, Texts]


def from_frame(
    frame: pd.DataFrame | Any, name: str = "frame", *, lp: str | None = None, systems: Sequence[str] = ()
) -> Dataset:
    """Make a data set from a frame with one row per candidate, or per candidate and judge.

    Parameters
    ----------
    frame : DataFrame
        A frame of pandas, polars or Arrow, or an object that exports Arrow streams (``__arrow_c_stream__``) or has
        ``to_pandas``, such as a data set of Hugging Face. Its columns are
        ``source``, ``system``, ``text``, and optionally ``reference`` (or ``reference1``, ...), ``lp``,
        ``doc``, ``seg_id``, ``judge``, ``is_reference``; every other column holds ratings. The names and the rules
        are those of CSV files; see `ranker.corpora.formats.tables`. Levels of the index with such names are read as
        columns; ratings in the index are not. Frames may also have one column per system, or preferences, one row per
        comparison; see `ranker.corpora.formats.table_shapes`.
    name : str, default "frame"
        Name of the data set in messages and signatures.
    lp : str, optional
        Language pair, as ``de-en``, of the rows that name none; an error if others name another pair.
    systems : list of str, optional
        Columns of the systems in a frame with one column per system; by default they are recognised.

    Returns
    -------
    Dataset
        Sources in the order of their first rows.

    Raises
    ------
    DataError
        Naming the row: a missing column, a missing name, a rating that is no number.

    Examples
    --------
    >>> import pandas as pd
    >>> from ranker import from_frame
    >>> frame = pd.DataFrame({"source": ["Hallo"] * 2, "reference": ["hello"] * 2, "system": ["A", "B"]})
    >>> from_frame(frame.assign(text=["hello", "hi"], fluency=[5, 4]))
    <Dataset frame: 1 source, 1 reference, 2 candidates, 2 ratings, 0 preferences>
    """
    return dataset_and_rows(frame, name, lp, systems)[0]


def is_frame(value: object) -> bool:
    """True if a value is a data frame of pandas, exports Arrow streams, or can be converted to pandas."""
    return isinstance(value, pd.DataFrame) or hasattr(value, "__arrow_c_stream__") or hasattr(value, "to_pandas")


def dataset_and_rows(
    frame: pd.DataFrame | Any, name: str = "frame", lp: str | None = None, systems: Sequence[str] = ()
) -> tuple[Dataset, Int64Array | None]:
    """Return a frame's data set, and each row's candidate, shape (rows,), or None if rows hold several candidates."""
    reason = ""
    if not isinstance(frame, pd.DataFrame) and is_frame(frame):
        arrow = hasattr(frame, "__arrow_c_stream__")
        # of a series it makes no table, and of large integers beside missing ones pandas would make rounded numbers
        try:
            frame = pa.table(frame).to_pandas(types_mapper=pd.ArrowDtype) if arrow else frame.to_pandas()
        except (pa.ArrowException, OverflowError) as error:
            reason = f" that Arrow does not read ({error})" if hasattr(frame, "columns") else ""
    if not isinstance(frame, pd.DataFrame):
        what = f"expected a data frame with one row per candidate, found {type(frame).__name__}{reason}"
        raise DataError(f"{what}: use ranker.from_records for records, ranker.from_texts for texts", file=name)
    if frame.columns.nlevels > 1:
        raise DataError("multi-level columns: expected one name per column; flatten the columns", file=name)
    header = [str(column) for column in frame.columns]
    if {*CANDIDATES} & {*header}:
        # rows of sources, whose candidates are nested
        records: list[Any] = frame.set_axis(header, axis=1).to_dict("records")
        return from_records(records, name, lp=lp), None

    def place(row: int) -> str:
        label = _plain(frame.index[row])
        return f"{name}, row {row}" + (f" (index {shown(label)})" if label != row else "")

    with _naming(name, place):
        columns = [frame.iloc[:, column] for column in range(len(header))]
        levels = _levels(frame.index, header)
        header += levels
        columns += [pd.Series(frame.index.get_level_values(number)) for number in levels.values()]
        others = _without_texts(header, systems, name)
        values = [_arrow(key, column, key in others) for key, column in zip(header, columns, strict=True)]
        rows = np.arange(len(frame))
        dataset, candidates = table_dataset(Columns(header, values, rows, name, "row", lp=lp), name, systems)
    return stated_language_pair(dataset, lp), candidates


def _levels(index: pd.Index, header: list[str]) -> dict[str, int]:
    """Return the numbers of index levels by name, for levels that can be text columns and are not in `header`."""
    known = {*map(canonical, header)}
    # our own results have an index called candidate
    names = {name: number for number, name in enumerate(index.names) if isinstance(name, str) and name != "candidate"}
    wanted = {name: canonical(name) for name in names}
    return {name: names[name] for name, column in wanted.items() if column not in known and not kinds_of([column])}


def from_records(records: Iterable[Mapping[str, Any]], name: str = "records", *, lp: str | None = None) -> Dataset:
    """Make a data set from records that each hold one source with its candidates, or one candidate.

    Parameters
    ----------
    records : iterable of dict
        Records as on the lines of JSONL files; see `ranker.corpora.formats.json_lines` for the keys.
    name : str, default "records"
        Name of the data set in messages and signatures.
    lp : str, optional
        Language pair, as ``de-en``, of the records that name none; an error if others name another pair.

    Raises
    ------
    DataError
        Naming the record and the path inside it.

    Examples
    --------
    >>> from ranker import from_records
    >>> record = {"source": "Hallo", "references": ["hello"], "candidates": {"A": "hello", "B": "hi"}}
    >>> from_records([record]).candidates["system"].tolist()
    ['A', 'B']
    """
    values = [records] if isinstance(records, Mapping) else records
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise DataError(f"expected a list of records, {{...}} each, found {shown(values)}", file=name)
    with _naming(name, lambda record: f"{name}[{record}]"):
        plain = [(number, _plain(value)) for number, value in enumerate(values)]
        if plain and is_other_shape(plain[0][1]):
            dataset, _ = table_dataset(columns_of_records(plain, name, "record", lp), name)
        else:
            dataset = assemble(read_records(plain, name, "record", lp=lp), name, name, "record")
    if not len(dataset):
        raise DataError("contains no candidate, expected at least one", file=name)
    return stated_language_pair(dataset, lp)


def from_texts(
    translations: Texts | Mapping[str, Texts],
    references: References | None = None,
    sources: Texts | None = None,
    *,
    lp: str | None = None,
    name: str = "texts",
    align: bool = False,
) -> Dataset:
    """Make a data set from parallel lists of texts.

    Parameters
    ----------
    translations : list of str, or dict of str to list of str
        The translations of every source, by one system (called ``translation``) or by the named ones.
    references : list of str or of lists of str, or dict of lists of str, optional
        One reference, or a list of them, for every source; or by name, lists with one reference for every source.
    sources : list of str, optional
        Source sentences; empty if they are not given.
    lp : str, optional
        Language pair, as ``de-en``.
    name : str, default "texts"
        Name of the data set in messages and signatures.
    align : bool, default False
        True if translations may be divided into other texts than the sources or references: they are aligned to these.

    Raises
    ------
    DataError
        If the lists differ in length, hold something that is not text, or can be read in two ways: as many lists of
        references as translations, each as long.

    Examples
    --------
    >>> from ranker import from_texts
    >>> from_texts({"A": ["hello"], "B": ["hi"]}, references=["hello"])
    <Dataset texts: 1 source, 1 reference, 2 candidates, 0 ratings, 0 preferences>
    """
    systems = translations if isinstance(translations, Mapping) else {ONE_SYSTEM: translations}
    if not systems:
        raise DataError("no systems: expected a list of translations, or a mapping of system names to lists", file=name)
    several = isinstance(translations, Mapping)
    outputs = {
        system: _texts(texts, f"translations[{system!r}]" if several else "translations", name)
        for system, texts in systems.items()
    }
    references = _listed_references(references, name)
    source_texts = None if sources is None else _texts(sources, "sources", name)
    if align:
        outputs = _aligned(outputs, references, source_texts, name)
    first, expected = next(iter(outputs.items()))
    size = len(expected)
    for system, texts in outputs.items():
        if len(texts) != size:
            raise DataError(
                f"system {system!r}: expected {counted(size, 'translation')}, as for {first!r}, found {len(texts)}",
                file=name,
            )
    by_source = _references(references, size, name)
    source_texts = [""] * size if source_texts is None else source_texts
    if len(source_texts) != size:
        raise DataError(f"sources: expected {size}, one per translation, found {len(source_texts)}", file=name)
    with _naming(name, str):
        dataset = build_dataset(
            name,
            {"lp": [None] * size, "text": source_texts},
            {
                "source": np.repeat(np.arange(size), [*map(len, by_source)]),
                "text": [text for texts in by_source for text in texts],
            },
            {
                "source": np.repeat(np.arange(size), len(outputs)),
                "system": [*outputs] * size,
                "text": [text for texts in zip(*outputs.values(), strict=True) for text in texts],
            },
            {},
        )
    return stated_language_pair(dataset, lp)


def _aligned(
    outputs: Mapping[str, list[str]], references: References | None, sources: list[str] | None, name: str
) -> dict[str, list[str]]:
    from ranker.corpora.line_alignment import align_lines

    streams = [*references.values()] if isinstance(references, Mapping) else [references]
    size = len(sources if sources is not None else next(iter(streams), None) or [])
    wanted = _references(references, size, name)
    if sources is not None:
        wanted = [texts or [source] for texts, source in zip(wanted, sources, strict=True)]
    elif not wanted or not all(wanted):
        raise DataError("align: nothing to align translations to; give sources or references", file=name)
    return {system: align_lines(texts, wanted, f"{name}: {system}") for system, texts in outputs.items()}


def _listed_references(references: References | None, name: str) -> References | None:
    """Return references as a list, or as a dict of lists of texts."""
    if isinstance(references, str):
        raise DataError("references: expected a list, found a string: put the string in a list", file=name)
    if isinstance(references, Mapping):
        return {key: _texts(texts, f"references[{key!r}]", name) for key, texts in references.items()}
    return None if references is None else _listed(references, "references", name)


def _listed(values: Iterable[Any], what: str, name: str) -> list[Any]:
    """Return the values of an array, a series or another iterable in order; refuse frames, dicts and sets."""
    if hasattr(values, "columns"):
        what = f"{what}: expected a list, found {type(values).__name__}"
        raise DataError(f"{what}: to give a list for each column, make a dict of the columns", file=name)
    if isinstance(values, Mapping | set | frozenset) or getattr(values, "shape", None) == ():
        raise DataError(f"{what}: expected a list, found {type(values).__name__}", file=name)
    # items of Arrow's arrays are no texts
    return values.to_pylist() if hasattr(values, "to_pylist") else [*values]


def by_translation(references: References | None) -> References | None:
    """Turn equally long lists of references, one list per translation, into one list per reference number.

    Other forms are returned unchanged.
    """
    if references is None or isinstance(references, str | Mapping):
        return references
    entries = _listed(references, "references", "texts")
    sizes = {-1 if isinstance(entry, str) else _length(entry) for entry in entries}
    return entries if len(sizes) != 1 or min(sizes) < 1 else dict(enumerate(zip(*entries, strict=True)))


def _references(references: References | None, size: int, name: str) -> list[list[str]]:
    """Return a list of references for each source."""
    if references is None:
        return [[]] * size
    if isinstance(references, Mapping):
        for key, texts in references.items():
            if len(texts) != size:
                what = f"references[{key!r}]: expected one reference per translation, {size}, found {len(texts)}"
                raise DataError(what, file=name)
        return [[*texts] for texts in zip(*references.values(), strict=True)] if references else [[]] * size
    square = size > 1 and all(not isinstance(entry, str) and _length(entry) == size for entry in references)
    if len(references) != size:
        what = f"{counted(size, 'translation')} but references for {len(references)}"
        if references and square:
            what += ": expected references grouped by translation; transpose them with list(zip(*references))"
        raise DataError(f"{what}; expected one reference, or a list of references, per translation", file=name)
    if square:
        what = f"references: {size} lists of {size} for {size} translations can be read in two ways"
        streams_advice = (
            "if each list has one reference per translation, as in sacreBLEU, pass dict(enumerate(references))"
        )
        raise DataError(
            f"{what}: {streams_advice}; if each has the references of one translation, "
            "pass dict(enumerate(zip(*references)))",
            file=name,
        )
    return [
        _texts([entry] if isinstance(entry, str) else entry, f"references[{number}]", name)
        for number, entry in enumerate(references)
    ]


def _length(value: object) -> int:
    return len(value) if isinstance(value, Sized) else -1


def _texts(values: object, what: str, name: str) -> list[str]:
    """Return values as a list of texts, or raise an error that names a value that is not a text."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise DataError(f"{what}: expected a list of strings, found {shown(values)}", file=name)
    texts = _listed(values, what, name)
    wrong = next((number for number, text in enumerate(texts) if not isinstance(text, str)), None)
    if wrong is not None:
        advice = f" {MISSING}" if _plain(texts[wrong]) is None else ""
        raise DataError(f"{what}[{wrong}]: expected a string, found {shown(texts[wrong])}{advice}", file=name)
    return texts


@contextlib.contextmanager
def _naming(name: str, place: Callable[[int], str]) -> Iterator[None]:
    """Make errors name a place in memory instead of a file and a line."""
    try:
        yield
    except DataError as error:
        raise DataError(error.what, file=name if error.line is None else place(error.line)) from None
    except UnicodeEncodeError as error:
        what = f"expected text that can be encoded in UTF-8, found {shown(error.object)}"
        raise DataError(f"{what}: remove halves of surrogate pairs", file=name) from None


def _without_texts(header: Sequence[str], systems: Sequence[str], name: str) -> set[str]:
    """Return the names of columns that hold neither texts nor references."""
    outputs = {*systems} or {key for key in header if canonical(key) == "text"}
    if not outputs and (preferences := preference_columns(header, name)):
        outputs = {*preferences.roles.values()}
    outputs = outputs or {key for key in header if key.strip().lower() in ANSWERS}
    # if no column is known to hold outputs, any may hold those of a system
    kinds = {key for key in header if kinds_of([canonical(key)])} - outputs if outputs else set()
    return kinds | {key for key in header if is_metadata(key)}


def _arrow(name: str, column: pd.Series, may_hold_lists: bool) -> pa.ChunkedArray:
    """Convert a column to Arrow: pandas' missing values become nulls, and types unknown to Arrow become text.

    Lists beside texts are refused, unless the column `may_hold_lists`, which become JSON.
    """
    try:
        array = pa.array(column, from_pandas=True)
    except (pa.ArrowException, OverflowError):
        nested = (
            row for row, value in enumerate(column) if isinstance(value, Mapping | list | tuple | set | np.ndarray)
        )
        row = None if may_hold_lists else next(nested, None)
        if row is not None:
            what = f"column {shown(name)}: expected a text or a number in each cell, found {shown(column.iloc[row])}"
            advice = ": divide it, as in reference1, reference2, ..." if reference_columns([canonical(name)]) else ""
            raise DataError(f"{what}{advice}", line=row) from None
        missing = column.isna().to_numpy(bool)
        array = pa.array([None if gone else _text(value) for value, gone in zip(column, missing, strict=True)])
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def _text(value: object) -> str:
    nested = isinstance(value, Mapping | list | tuple | np.ndarray)
    return json.dumps(_plain(value), ensure_ascii=False, default=str) if nested else str(value)


def _plain(value: Any) -> Any:
    """Convert a value to a JSON value: numpy types to plain types, NaN to null."""
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if value is pd.NA or (isinstance(value, float) and math.isnan(value)) else value
