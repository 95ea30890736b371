"""Reads corpus files of any format, recognised by name or, on standard input, by the first characters."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.json_lines import parse_records
from ranker.corpora.formats.json_text import json_values
from ranker.corpora.formats.nbest import NBestList
from ranker.corpora.formats.nbest_reading import is_fairseq, parse_fairseq
from ranker.corpora.formats.preference_pairs import companion, read_pairs
from ranker.corpora.formats.system_names import system_files
from ranker.corpora.formats.tables import without_separator_line
from ranker.corpora.records import assemble, build_dataset, shown, side_by_side
from ranker.corpora.severity_weights import WEIGHTS, all_weights, with_penalties
from ranker.errors import DataError, OptionError, counted, log_note
from ranker.files import STDIN, display_name, note_line_ends, read_lines, read_text, with_line_feeds, without_gz

FORMATS = {
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
}
"""Formats for reading and writing, by file extension."""
_PLAIN_TEXT = "commands that need no human judgements read plain text from -s, -r and -t"
_RECORD = re.compile(r'[0-9]+ \|\|\| .* \|\|\| |\{"[^"]+": ?.*\}\s*\Z')
_SEGMENT = r"^\s*<seg\b[^>]*>.*</seg>\s*$"
_LOOKED_AT, _NEARLY_ALL = 10, 0.9
READ_ONLY = {".sgm": "testset", ".sgml": "testset", ".xml": "testset"}


def format_of(path: str | Path) -> str | None:
    """Return the format implied by the ending of `path`, or None."""
    return {**FORMATS, **READ_ONLY}.get(Path(without_gz(str(path).lower())).suffix)


def read_dataset(
    path: str | Path,
    *,
    name: str | None = None,
    systems: Sequence[str] = (),
    severity_weights: Mapping[str, float] | None = None,
    lp: str | None = None,
) -> Dataset:
    """Read a corpus file, gzipped or not, of any format (CSV, JSON, Parquet, SGML, ...); ``-`` is standard input.

    `systems` are the columns of a table with one column per system. With `severity_weights`, the penalties of marked
    errors become ratings. Rows of tables and JSON that name no language pair are of the pair `lp`.
    """
    file = display_name(path)
    try:
        dataset = _read(path, name or _stem(path), file, systems, severity_weights, lp)
    except MemoryError:
        raise DataError("does not fit into memory: split it and process the parts separately", file=file) from None
    if not len(dataset):
        raise DataError("contains no candidate, expected at least one", file=file)
    if severity_weights:
        dataset = _weighted(dataset, severity_weights, file)
    pairs = None if str(path) == STDIN else companion(path)
    return read_pairs(pairs, dataset) if pairs else dataset


def _weighted(dataset: Dataset, weights: Mapping[str, float], file: str) -> Dataset:
    """Add penalties for marked errors to a data set as ratings; log a note on weights that have no effect."""
    named = all_weights(weights)
    if not len(dataset.errors):
        log_note("contains no marked errors: --severity-weights changes nothing", file)
        return dataset
    known = {*WEIGHTS, *dataset.errors["severity"].unique()}
    unused = sorted(name for name in named if name.split(":")[0] not in known)
    if unused:
        found = ", ".join(sorted(filter(None, {*dataset.errors["severity"]})))
        what = f"no marked error has the severity {', '.join(map(shown, unused))}, so its weight changes nothing"
        log_note(f"{what}; the data has only {found}" if found else what, file)
    return with_penalties(dataset, weights)


def read_parallel(
    source: str | Path | None,
    references: Sequence[str | Path],
    translations: Sequence[str | Path],
    align: bool = False,
) -> Dataset:
    """Read parallel files with one sentence per line, whose systems are named by `system_files`.

    With `align`, translations may have different lines from the source: see `ranker.corpora.line_alignment`. Without
    `source` the sources are empty, which is an error only if they are used. Any of the files may be a test set in SGML
    or XML; see `ranker.corpora.documents.testsets`.
    """
    if not translations:
        raise DataError("no translations given; expected at least one file of system output (-t)")
    from ranker.corpora.documents.testsets import is_testset, read_testset

    systems = system_files(translations)
    for path in (source, *references, *systems.values()):
        if path is not None and format_of(path) in {*FORMATS.values()}:
            what = "is JSON or a table by its name, expected one segment per line: give it with --data, or rename it"
            raise DataError(what, file=display_name(path))
    first = next(path for path in (source, *references, *systems.values()) if path is not None)
    if any(is_testset(path) for path in (source, *references, *systems.values()) if path is not None):
        if align:
            raise OptionError("--align: not available for test sets, whose segments have ids: leave out --align")
        return read_testset(source, references, systems, _stem(first))
    first_lines, like = read_lines(first), display_name(first)
    size = len(first_lines)
    if align and first not in (source, *references):
        raise OptionError("--align: nothing to align translations to; give the source (-s) or references (-r)")
    reference_lines, system_lines = (
        [first_lines if path is first else read_lines(path, None if aligned else size, like) for path in paths]
        for paths, aligned in ((references, False), (systems.values(), align))
    )
    others = zip((*references, *systems.values()), (*reference_lines, *system_lines), strict=True)
    for path, lines in {first: first_lines, **dict(others)}.items():
        if _RECORD.match(lines[0]):
            what = "looks like JSON or an n-best list, expected one segment per line: give JSON with --data, and n-best"
            raise DataError(f"{what} lists to ranker rerank", file=display_name(path), line=1)
        _note_lines(lines, display_name(path))
    if align:
        from ranker.corpora.line_alignment import align_lines

        wanted = [*zip(*(reference_lines or [first_lines]), strict=True)]
        system_lines = [
            align_lines(lines, wanted, display_name(path))
            for lines, path in zip(system_lines, systems.values(), strict=True)
        ]
    return build_dataset(
        _stem(first),
        {"text": [""] * size if source is None else first_lines},
        side_by_side(reference_lines, size),
        side_by_side(system_lines, size, system=[*systems]),
        {},
        file=like,
        lines=range(1, size + 1),
    )


def _note_lines(lines: Sequence[str], file: str) -> None:
    """Log a note if nearly all lines have the same number of tabs, as in a table, or are in tags of a test set."""
    if not any("\t" in line or "<seg" in line for line in lines[:_LOOKED_AT]):
        return
    texts = pa.array(lines, pa.large_string())
    tabs = pc.count_substring(texts, "\t").to_numpy()
    usual = int(np.median(tabs))
    same, tagged = int((tabs == usual).sum()), pc.sum(pc.match_substring_regex(texts, _SEGMENT)).as_py()
    if usual and same >= max(_NEARLY_ALL * len(lines), 2):
        what = f"{same:,} of {counted(len(lines), 'line')} have {counted(usual, 'tab')}, as in a table or with several"
        columns = zip(*(line.split("\t") for line in lines[:_LOOKED_AT] if line.count("\t") == usual), strict=True)
        # ids and numbers are shorter than texts
        sizes = [len("".join(column)) for column in columns]
        advice = f"keep one column, as with cut -f{1 + int(np.argmax(sizes))}" if sizes else "keep one column"
        log_note(f"{what} texts per line, but each line is read as one text: {advice}", file)
    elif tagged >= max(_NEARLY_ALL * len(lines), 2):
        what = f"{tagged:,} of {counted(len(lines), 'line')} are in tags <seg>, which are read as text"
        log_note(f"{what}: remove them, or give the whole test set (SGML or XML)", file)


def _read(
    path: str | Path,
    name: str,
    file: str,
    systems: Sequence[str],
    severity_weights: Mapping[str, float] | None,
    lp: str | None,
) -> Dataset:
    kind = format_of(path)
    if systems and kind not in (None, "csv", "tsv", "parquet", "json"):
        raise DataError("--systems names columns of a table, which this file is not: leave out --systems", file=file)
    if kind == "parquet":
        from ranker.corpora.formats.parquet_files import read_parquet
        from ranker.corpora.formats.table_shapes import table_dataset

        return table_dataset(replace(read_parquet(path, file), lp=lp), name, systems)[0]
    if kind == "testset":
        from ranker.corpora.documents.testsets import parse_testset, read_markup

        return assemble(parse_testset(read_markup(path), file), name, file)
    text = read_text(path, keep_line_ends=True)
    if not text.strip():
        raise DataError("is empty, expected a corpus", file=file)
    return parse_dataset(text, name, file, kind, systems, severity_weights, lp)


def parse_dataset(
    text: str,
    name: str,
    file: str,
    kind: str | None = None,
    systems: Sequence[str] = (),
    severity_weights: Mapping[str, float] | None = None,
    lp: str | None = None,
) -> Dataset:
    """Parse the text of a corpus file, in the format `kind`, or in the format detected from its first characters."""
    separator = None
    if kind in (None, "csv", "tsv"):
        text, separator = without_separator_line(text)
    as_written, text = text, with_line_feeds(text)
    guessed = kind is None
    if kind is None:
        if is_fairseq(text):
            return fairseq_dataset(text, name, file)[1]
        kind = _sniff(text)
    note_line_ends(as_written, file, multiline=kind == "csv")
    if kind == "testset":
        from ranker.corpora.documents.testsets import parse_testset

        return assemble(parse_testset(text, file), name, file)
    if kind == "json":
        from ranker.corpora.formats.annotation_exports import exported
        from ranker.corpora.formats.table_shapes import columns_of_records, is_other_shape, table_dataset
        from ranker.corpora.formats.wmt_esa import is_wmt_esa, parse_wmt_esa

        rows = exported(json_values(text, file), file)
        if rows or systems or is_other_shape(next(json_values(text, file), (0, None))[1]):
            return table_dataset(columns_of_records(rows or json_values(text, file), file, lp=lp), name, systems)[0]
        records = parse_wmt_esa(text, file) if is_wmt_esa(text) else parse_records(text, file, lp)
        return assemble(records, name, file)
    if kind in ("csv", "tsv"):
        _refuse_rankings(text, file)
        from ranker.corpora.formats.annotation_exports import is_flat_export
        from ranker.corpora.formats.mqm import is_mqm, parse_mqm
        from ranker.corpora.formats.table_shapes import table_dataset
        from ranker.corpora.formats.tables import delimiter_of, parse_table

        if separator not in (None, ",", ";", "\t"):
            what = f"columns are separated by {separator!r}, expected commas, semicolons or tabs"
            raise DataError(f"{what}: save the table with one of these", file=file, line=1)
        if is_mqm(_first_line(text).split("\t")):
            return with_penalties(assemble(parse_mqm(text, file, severity_weights), name, file), severity_weights)
        delimiter = "\t" if kind == "tsv" else delimiter_of(_first_line(text), file)
        # Label Studio quotes its TSV as CSV
        quoted = kind == "csv" or is_flat_export([name.strip('"') for name in _first_line(text).split("\t")])
        try:
            table = parse_table(as_written, file, delimiter, quoted=quoted)
        except DataError as error:
            if not guessed:
                raise
            raise DataError(f"{error.what}; {_PLAIN_TEXT}", file=file, line=error.line) from None
        return table_dataset(replace(table, lp=lp), name, systems)[0]
    raise DataError(
        f"unknown format; expected a file name ending in {', '.join((*FORMATS, *READ_ONLY))} (or .gz), or JSON, "
        f"or a table whose first line names its columns; {_PLAIN_TEXT}",
        file=file,
    )


def fairseq_dataset(text: str, name: str, file: str) -> tuple[NBestList, Dataset]:
    """Return the n-best list in fairseq's output, and a data set with its sources, hypotheses and references."""
    nbest, sources, references = parse_fairseq(text, file)
    size = max(nbest.sentence[-1], *sources, *references, 0) + 1
    rank = pd.Series(nbest.sentence).groupby(nbest.sentence).cumcount() + 1
    dataset = build_dataset(
        name,
        {"text": [sources.get(sentence, "") for sentence in range(size)]},
        {"source": sorted(references), "text": [references[sentence] for sentence in sorted(references)]},
        {
            "source": nbest.sentence,
            "system": [f"candidate{number}" for number in rank],
            "text": nbest.text_of(np.arange(len(nbest))),
        },
        {},
        file=file,
    )
    return nbest, dataset


def _refuse_rankings(text: str, file: str) -> None:
    from ranker.corpora.formats.wmt_rankings import is_rankings

    if is_rankings(text[:10_000]):
        what = "contains relative rankings without texts; expected a corpus; to add the rankings to one:"
        raise DataError(f"{what} ranker data convert CORPUS NEW --judgements {file}", file=file)


def _sniff(text: str) -> str | None:
    start = text.lstrip()[:1]
    if start in ("{", "["):
        return "json"
    if start == "<":
        from ranker.corpora.documents.testsets import looks_like_testset

        if looks_like_testset(text):
            return "testset"
    first_line = _first_line(text)
    return "tsv" if "\t" in first_line else "csv" if "," in first_line or ";" in first_line else None


def _first_line(text: str) -> str:
    return text[:100_000].lstrip("\n").split("\n")[0]


def _stem(path: str | Path) -> str:
    return "stdin" if str(path) == STDIN else display_name(without_gz(Path(path).name).rsplit(".", 1)[0])
