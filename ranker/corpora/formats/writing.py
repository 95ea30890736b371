"""Writes a data set in the formats that `ranker.corpora.formats.reading` reads."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd
import pyarrow as pa

from ranker.corpora.column_names import kinds_of
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.preference_pairs import companion, companion_name, pairs_bytes, read_pairs
from ranker.corpora.formats.reading import FORMATS, format_of
from ranker.corpora.marked_errors import NO_ERROR, error_entries, errors_by_candidate
from ranker.corpora.own_references import own_texts
from ranker.corpora.records import shown
from ranker.corpora.schema import ALIGNMENT, TEXT
from ranker.errors import DataError
from ranker.files import display_name, exists, printable, without_gz, write_bytes, write_together
from ranker.storage.escapes import csv_cell, looks_escaped


def write_dataset(dataset: Dataset, path: str | Path, form: str | None = None) -> list[Path]:
    """Write `dataset` in the format that the ending of `path` implies; preferences go to a pairs file next to it.

    With `form`, one of `ranker.corpora.formats.error_spans.FORMS`, marked errors are written for another program.
    """
    path = Path(path)
    kind = format_of(path)
    if form is not None:
        from ranker.corpora.formats.error_spans import write_marked

        wanted = "tsv" if form == "mqm" else "json"
        if kind not in (None, wanted):
            endings = " or ".join(ending for ending, each in FORMATS.items() if each == wanted)
            raise DataError(f"expected a file name ending in {endings} (or .gz) for {form}", file=printable(str(path)))
        _check_no_companion(path, None)
        write_bytes(path, write_marked(dataset, form))
        return [path]
    if kind is None or kind not in FORMATS.values():
        known = f"unknown format; expected a file name ending in {', '.join(FORMATS)} (or .gz)"
        raise DataError(known, file=printable(str(path)))
    raw = (
        _json(dataset, lines=not without_gz(path.name.lower()).endswith(".json"))
        if kind == "json"
        else _table(dataset, kind)
    )
    pairs_file = companion(path)
    beside = path.with_name(companion_name(path))
    _check_no_companion(path, None)
    if pairs_file is not None and not _has_preferences(pairs_file, dataset):
        _check_no_companion(pairs_file, path)
    if pairs_file is not None and (pairs_file != beside or not len(dataset.preferences)):
        what = f"{display_name(pairs_file)} is next to it and would be read with it: delete it or choose another name"
        raise DataError(what, file=display_name(path))
    if not len(dataset.preferences):
        write_bytes(path, raw)
        return [path]
    write_together({path: raw, beside: pairs_bytes(dataset)})
    return [path, beside]


def _has_preferences(pairs_file: Path, dataset: Dataset) -> bool:
    """True if a pairs file has the preferences of `dataset`, however they are written."""
    try:
        return read_pairs(pairs_file, dataset).preferences.equals(dataset.preferences)
    except DataError:
        return False


def _check_no_companion(path: Path, own: Path | None) -> None:
    """Raise a `DataError` if `path` is the pairs file of an existing data file other than `own`."""
    plain = without_gz(path.name)
    stem = plain.removesuffix(".pairs.tsv")
    names = (f"{stem}{ending}{gz}" for ending in FORMATS for gz in ("", ".gz")) if stem != plain else ()
    for other in map(path.with_name, names):
        if exists(other) and other != own:
            what = f"holds the preferences of {display_name(other)}, which need it: choose another name for the output"
            raise DataError(what, file=display_name(path))


def _table(dataset: Dataset, kind: str) -> bytes:
    if ALIGNMENT in dataset.references or ALIGNMENT in dataset.candidates:
        _cannot_hold(dataset, kind, "word alignments", "JSONL")
    nameless = replace(
        dataset, references=dataset.references.assign(name=pd.array([None] * len(dataset.references), TEXT))
    )
    if own_texts(nameless) != own_texts(dataset):
        _cannot_hold(dataset, kind, "a candidate whose text differs from the reference of its name", "JSONL")
    frame = dataset.to_frame()
    buffer = io.BytesIO()
    if kind == "parquet":
        frame.to_parquet(buffer, index=False)
        return buffer.getvalue()
    if (dataset.references["text"] == "").any():
        _cannot_hold(dataset, kind, "an empty reference")
    for column in frame if kind == "tsv" else ():
        cells = [str(column), *(cell for cell in frame[column] if isinstance(cell, str))]
        if any(re.search(r"[\t\n\r]", cell) for cell in cells):
            _cannot_hold(dataset, kind, f"tabs or line breaks in column {shown(column)}")
    if kind == "csv":
        texts = [column for column in frame if column not in ("is_reference", *kinds_of([*frame]))]
        if looks_escaped(pa.array(frame[column], pa.large_string(), from_pandas=True) for column in texts):
            # else readers would remove apostrophes that are part of the texts
            frame = frame.assign(**{str(column): frame[column].map(csv_cell) for column in texts})
        # quoting every text, because the csv module leaves a lone carriage return unquoted
        return frame.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC).encode()
    rows = [list(frame.columns), *frame.astype(object).where(frame.notna(), "").to_numpy().tolist()]
    return ("\n".join("\t".join(str(value) for value in row) for row in rows) + "\n").encode()


def _cannot_hold(dataset: Dataset, kind: str, what: str, instead: str = "JSONL or Parquet") -> NoReturn:
    name = "Parquet" if kind == "parquet" else kind.upper()
    raise DataError(f"contains {what}, which {name} cannot represent: use {instead}", file=dataset.name)


def _json(dataset: Dataset, *, lines: bool) -> bytes:
    records = records_of(dataset)
    if lines:
        text = "".join(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n" for record in records)
    else:
        text = json.dumps(records, ensure_ascii=False, indent=1) + "\n"
    return text.encode()


def records_of(dataset: Dataset) -> list[dict[str, Any]]:
    """Return one JSON-ready record per source, in the form used by JSONL files."""
    humans: dict[int, dict[str, Any]] = {}
    ratings = dataset.ratings
    for candidate, judge, kind, value in zip(
        ratings["candidate"], ratings["judge"], ratings["kind"], ratings["value"], strict=True
    ):
        human = humans.setdefault(int(candidate), {})
        number = int(value) if float(value).is_integer() else float(value)
        if pd.isna(judge):
            human[kind] = number
        else:
            if not isinstance(human.setdefault(kind, {}), dict):
                human[kind] = {"": human[kind]}
            human[kind][judge] = number
    records = []
    candidates = dataset.candidates
    reference_alignments, candidate_alignments = (_alignments(rows) for rows in (dataset.references, candidates))
    marked = errors_by_candidate(dataset.errors)
    texts = [candidates[column].tolist() for column in ("system", "text", "is_reference")]
    references = dataset.references["text"].tolist()
    names = dataset.references["name"].tolist()
    for source, (lp, doc, seg_id, text) in enumerate(dataset.sources.itertuples(index=False, name=None)):
        block = slice(*dataset.reference_offsets[source : source + 2])
        record: dict[str, Any] = {"dataset": dataset.name}
        record.update((key, value) for key, value in (("lp", lp), ("doc", doc)) if not pd.isna(value))
        record["seg_id"] = int(seg_id) if re.fullmatch(r"0|[1-9][0-9]{0,17}", seg_id) else seg_id
        record["source"] = text
        record["references"] = references[block]
        if not any(pd.isna(name) for name in names[block]) and names[block]:
            record["reference_names"] = names[block]
        if reference_alignments and all(alignment is not None for alignment in reference_alignments[block]):
            record["reference_alignments"] = reference_alignments[block]
        record["candidates"] = []
        for row in range(*dataset.candidate_offsets[source : source + 2]):
            system, candidate, is_reference = (column[row] for column in texts)
            entry: dict[str, Any] = {"system": system, "text": candidate, "human": humans.get(row, {})}
            if is_reference:
                entry["is_reference"] = True
            if candidate_alignments and candidate_alignments[row] is not None:
                entry["alignment"] = candidate_alignments[row]
            if row in marked:
                entry["raters"] = [*dict.fromkeys(mark.rater for mark in marked[row])]
                entry["errors"] = error_entries(mark for mark in marked[row] if mark.severity != NO_ERROR)
            record["candidates"].append(entry)
        records.append(record)
    return records


def _alignments(rows: pd.DataFrame) -> list[str | None]:
    """Return each row's word alignment, None for rows without one; an empty list if the column is missing."""
    if ALIGNMENT not in rows:
        return []
    return [None if pd.isna(links) else links for links in rows[ALIGNMENT]]
