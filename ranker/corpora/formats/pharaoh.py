"""Word alignments that come with a corpus in Pharaoh format, stored in its data set.

One line is one sentence pair, ``0-0 1-2`` its links: position of the source word, dash, position of the target word,
both from 0, in any order. An empty line is a pair without links. Words are those of the program that made
the alignment: with the tokeniser ``none`` positions count the parts that white space separates.

A data set keeps them as text, in the column ``alignment`` of its references and of its candidates, so that they stay
with their rows whatever is selected, and count in its fingerprint; `alignments_of` returns them as arrays.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from ranker.arrays import BoolArray
from ranker.corpora.dataset import Dataset, source_place, view
from ranker.corpora.records import shown
from ranker.corpora.schema import ALIGNMENT, TEXT
from ranker.errors import DataError
from ranker.links import Links

_LINK = re.compile(r"[0-9]{1,9}-[0-9]{1,9}", re.ASCII)

# turns the number of a row and what is wrong with it into the error to raise
_Refusal = Callable[[int, str], DataError]


@dataclass(frozen=True, eq=False)
class Alignments:
    """Word alignments of the references and candidates of a data set to their sources."""

    references: Links
    candidates: Links
    references_given: BoolArray
    candidates_given: BoolArray


def pharaoh_lines(links: Links) -> list[str]:
    """Format links as one line per sentence pair, such as ``0-0 1-2``, without line ends."""
    return [" ".join(f"{source}-{target}" for source, target in links.of(pair)) for pair in range(len(links))]


def attach_all(dataset: Dataset, alignments: Alignments) -> Dataset:
    """Return `dataset` with `alignments` as the word alignments to its sources, in place of any earlier alignments."""
    columns = [pd.Series(pharaoh_lines(links), dtype=TEXT) for links in (alignments.references, alignments.candidates)]
    return dataclasses.replace(
        dataset,
        references=dataset.references.assign(**{ALIGNMENT: columns[0]}),
        candidates=dataset.candidates.assign(**{ALIGNMENT: columns[1]}),
    )


def alignments_of(
    dataset: Dataset,
    *,
    source_lengths: npt.ArrayLike | None = None,
    reference_lengths: npt.ArrayLike | None = None,
    candidate_lengths: npt.ArrayLike | None = None,
) -> Alignments:
    """Return the word alignments stored in `dataset`; rows without an alignment have no links."""
    alignments = _alignments(dataset)
    for links, rows, lengths in (
        (alignments.references, dataset.references, reference_lengths),
        (alignments.candidates, dataset.candidates, candidate_lengths),
    ):
        of_rows = None if source_lengths is None else np.asarray(source_lengths)[rows["source"].to_numpy(np.int64)]
        _check_range(links, of_rows, lengths, _of_row(dataset, rows))
    return alignments


@view
def _alignments(dataset: Dataset) -> Alignments:
    tables = dataset.references, dataset.candidates
    columns = [_column(rows) for rows in tables]
    links = [_parse(column, _of_row(dataset, rows)) for column, rows in zip(columns, tables, strict=True)]
    present = [np.array([value is not None for value in column], dtype=bool) for column in columns]
    return Alignments(links[0], links[1], present[0], present[1])


def _column(rows: pd.DataFrame) -> npt.NDArray[np.object_]:
    """Return each row's word alignment as text, None for rows without one."""
    lines = np.full(len(rows), None, dtype=object)
    if ALIGNMENT in rows:
        present = rows[ALIGNMENT].notna().to_numpy(bool)
        lines[present] = rows[ALIGNMENT][present].tolist()
    return lines


def _parse(lines: Sequence[str | None] | npt.NDArray[np.object_], refuse: _Refusal) -> Links:
    words = [line.split() if line else [] for line in lines]
    sizes = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
    row = np.repeat(np.arange(len(words)), sizes)
    codes, distinct = pd.factorize(np.array([word for line in words for word in line], dtype=object))
    for code, word in enumerate(distinct):
        if not _LINK.fullmatch(word):
            what = f"found {shown(word)}, expected links such as 0-0 1-2: source word, hyphen, target word, both from 0"
            raise refuse(int(row[np.argmax(codes == code)]), what)
    numbers = np.array([word.split("-") for word in distinct], dtype=np.int64).reshape(-1, 2)
    links = np.unique(np.column_stack([row, numbers[codes]]), axis=0)
    offsets = np.searchsorted(links[:, 0], np.arange(len(words) + 1)).astype(np.int64)
    return Links(links[:, 1].astype(np.int32), links[:, 2].astype(np.int32), offsets)


def _check_range(
    links: Links, source_lengths: npt.ArrayLike | None, target_lengths: npt.ArrayLike | None, refuse: _Refusal
) -> None:
    endless = np.full(len(links), np.iinfo(np.int32).max)
    lengths = [endless if lengths is None else np.asarray(lengths) for lengths in (source_lengths, target_lengths)]
    outside = links.first_outside(*lengths)
    if outside:
        pair, index = outside
        link = f"{links.source[index]}-{links.target[index]}"
        side = 0 if links.source[index] >= lengths[0][pair] else 1
        words = int(lengths[side][pair])
        extent = f"has {words} word{'' if words == 1 else 's'}, counted from 0" if words else "is empty"
        raise refuse(pair, f"link {link} is out of range: the {('source', 'target')[side]} sentence {extent}")


def _of_row(dataset: Dataset, rows: pd.DataFrame) -> _Refusal:
    def refuse(row: int, what: str) -> DataError:
        record = rows.iloc[row]
        name = record["system"] if "system" in rows else "a reference"
        return DataError(f"alignment of {shown(name)}: {what}", file=source_place(dataset, int(record["source"])))

    return refuse
