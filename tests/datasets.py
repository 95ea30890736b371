"""Small data sets for tests."""

from __future__ import annotations

import dataclasses
import gzip
import itertools
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from ranker.arrays import Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.records import Candidate, Record, assemble
from ranker.corpora.schema import TEXT

Item = tuple[Sequence[str], str | Sequence[str]]
"""References of a source, and its candidates or its only one."""


def dataset_of(
    items: Iterable[Item],
    *,
    sources: Sequence[str] | None = None,
    lp: str | Sequence[str | None] | None = None,
    kind: str | None = None,
) -> Dataset:
    """Make a data set of one source per item, translated by systems called s0, s1, ...

    The language pair `lp` is that of all sources or, in a list, of each. With a `kind`, the candidates of every source
    are rated 0, -1, -2, ...
    """

    def outputs(texts: str | Sequence[str]) -> list[Candidate]:
        return [
            Candidate(f"s{number}", text, [(kind, None, -float(number))] if kind else [])
            for number, text in enumerate([texts] if isinstance(texts, str) else texts)
        ]

    return assemble(
        [
            Record(
                sources[number] if sources else f"source {number}",
                list(references),
                outputs(texts),
                lp=lp if lp is None or isinstance(lp, str) else lp[number],
            )
            for number, (references, texts) in enumerate(items)
        ],
        "test",
    )


def equally_judged() -> Dataset:
    """Make 36 sources of two outputs whose mean standardised ratings are equal, or differ by rounding alone.

    Each of three judges gives each of three ratings equally often, in every order.
    """
    orders = list(itertools.permutations([1.0, 2.0, 4.0]))

    def output(system: str, ratings: Sequence[float], number: int) -> Candidate:
        judged = [("fluency", f"judge{judge}", value) for judge, value in enumerate(ratings)]
        return Candidate(system, f"{system} says {number}", judged)

    sides = enumerate(itertools.product(orders, repeat=2))
    return assemble(
        [
            Record(f"source {number}", ["r"], [output("a", first, number), output("b", second, number)], lp="de-en")
            for number, (first, second) in sides
        ],
        "equal",
    )


def part_of_corpus(
    corpus: Path,
    folder: Path,
    lps: Collection[str] = (),
    *,
    most: int | None = None,
    step: int = 1,
    judged: bool = False,
) -> Path:
    """Write a part of a corpus ``NAME.jsonl.gz`` under the same name, with the preferences on it, and return its file.

    Reading a whole one takes seconds. The part has the `most` first sources of some language pairs, by default all, or
    of them every `step`-th. Only sources with preferences if `judged`.
    """
    name = corpus.name.removesuffix(".jsonl.gz")
    preferences = corpus.with_name(f"{name}.pairs.tsv.gz")
    header, rows = "", []
    if preferences.is_file():
        header, *rows = gzip.decompress(preferences.read_bytes()).decode().splitlines(keepends=True)
    places = [tuple(row.split("\t", 2)[:2]) for row in rows]
    there = set(places)
    sources = []
    for line in gzip.decompress(corpus.read_bytes()).decode().splitlines(keepends=True):
        key = re.search(r'"lp":"([^"]*)".*?"seg_id":(\d+)', line).groups()
        if (not lps or key[0] in lps) and (key in there or not judged):
            sources.append((key, line))
    sources = sources[:most:step]
    keys = {key for key, _ in sources}
    example = folder / f"{name}.jsonl"
    example.write_text("".join(line for _, line in sources), encoding="utf-8")
    if rows:
        selected = [row for row, key in zip(rows, places, strict=True) if key in keys]
        (folder / f"{name}.pairs.tsv").write_text("".join([header, *selected]), encoding="utf-8")
    return example


def with_alignments(
    dataset: Dataset,
    references: Sequence[Sequence[str]] = (),
    candidates: Mapping[str, Sequence[str]] | None = None,
) -> Dataset:
    """Return `dataset` with word alignments: lines for the first, second, ... references and for systems."""
    tables = []
    for table, key, given in (
        (dataset.references, dataset.references.groupby("source").cumcount(), dict(enumerate(references))),
        (dataset.candidates, dataset.candidates["system"], candidates or {}),
    ):
        column = pd.Series(None, index=table.index, dtype=object)
        for name, lines in given.items():
            column[key == name] = lines
        tables.append(table.assign(alignment=column.astype(TEXT)))
    return dataclasses.replace(dataset, references=tables[0], candidates=tables[1])


def shuffled(dataset: Dataset, seed: int) -> tuple[Dataset, Int64Array]:
    """Return a data set with its sources, and the candidates of each, in another order, and which row is where."""
    rng = np.random.default_rng(seed)
    sources = rng.permutation(len(dataset.sources))
    place = np.argsort(sources)

    def moved(rows: pd.DataFrame, order_within: Int64Array) -> tuple[pd.DataFrame, Int64Array]:
        source = place[rows["source"].to_numpy()]
        order = np.lexsort((order_within, source))
        return rows.assign(source=source).iloc[order].reset_index(drop=True), order

    references, _ = moved(dataset.references, np.arange(len(dataset.references)))
    candidates, order = moved(dataset.candidates, rng.permutation(len(dataset)))
    row = np.argsort(order)
    ratings = dataset.ratings.assign(candidate=row[dataset.ratings["candidate"].to_numpy()])
    sides = {side: row[dataset.preferences[side].to_numpy()] for side in ("first", "second")}
    reordered = Dataset(
        dataset.name,
        dataset.sources.iloc[sources].reset_index(drop=True),
        references,
        candidates,
        ratings,
        dataset.preferences.assign(**sides),
    )
    return reordered, order
