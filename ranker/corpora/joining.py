"""Corpora joined into one data set, in which the judgements of different corpora mean the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from ranker.corpora.column_names import is_negated, lower_is_better
from ranker.corpora.dataset import Dataset, concatenate_datasets
from ranker.corpora.judgements import RATINGS, Kind, kinds, rating_key, rating_names, ratings_of
from ranker.corpora.schema import TEXT
from ranker.errors import joined, log_note

_JUDGES = {"ratings": "judge", "preferences": "judge", "errors": "rater"}
"""Columns with the names of judges, by table."""


def join_corpora(corpora: Sequence[Dataset]) -> Dataset:
    """Return the data set of all sources of the corpora.

    Ratings of one kind that have different names in the corpora get the same name, negated penalties are made positive
    if another corpus has positive ones, and judges or documents with the same name in several corpora are different
    ones. Corpora with the same name are numbered.
    """
    if len(corpora) == 1:
        return corpora[0]
    same_kinds = _with_one_sign(_with_one_name(numbered(corpora)))
    return concatenate_datasets(_with_own_documents(_with_own_judges(same_kinds)))


def numbered(corpora: Sequence[Dataset]) -> list[Dataset]:
    """Number the corpora that have the same name: ``x-1``, ``x-2``."""
    names = [corpus.name for corpus in corpora]
    return [
        replace(corpus, name=f"{corpus.name}-{number}") if names.count(corpus.name) > 1 else corpus
        for number, corpus in enumerate(corpora, 1)
    ]


def _with_one_name(corpora: Sequence[Dataset]) -> list[Dataset]:
    """Rename ratings, such as ``fluency_z`` to ``fluency``, where corpora have one kind under different names."""
    together = sorted({name for corpus in corpora for name in rating_names(corpus)})
    named = []
    for corpus in corpora:
        own = rating_names(corpus)
        keys = {rating_key(kind, own): rating_key(kind, together) for kind in RATINGS}
        named.append(_renamed(corpus, {key: name for key, name in keys.items() if key and name and key != name}))
    return named


def _renamed(corpus: Dataset, names: Mapping[str, str]) -> Dataset:
    return replace(corpus, ratings=corpus.ratings.replace({"kind": dict(names)})) if names else corpus


def _with_one_sign(corpora: Sequence[Dataset]) -> list[Dataset]:
    """Negate the negated penalties of a corpus if the penalties of another corpus are positive, with a note."""
    changed = [*corpora]
    for kind in sorted({Kind.parse(kind).name for corpus in corpora for kind in kinds(corpus)}):
        if not lower_is_better(kind):
            continue
        values = [ratings_of(corpus, kind)["value"].to_numpy(np.float64) for corpus in changed]
        ranges = [(each.min(initial=0.0), each.max(initial=0.0)) for each in values]
        if all(highest <= 0.0 for _, highest in ranges):
            continue
        for place, (lowest, highest) in enumerate(ranges):
            if is_negated(kind, lowest, highest):
                corpus = changed[place]
                rows = corpus.ratings.index.isin(ratings_of(corpus, kind).index)
                value = corpus.ratings["value"].mask(rows, -corpus.ratings["value"])
                changed[place] = replace(corpus, ratings=corpus.ratings.assign(value=value))
                what = f"no {kind} is above 0, so these are negated penalties"
                log_note(f"{what}: read without their sign, as the other data have them", corpus.name)
    return changed


def _with_own_judges(corpora: Sequence[Dataset]) -> list[Dataset]:
    """Put the corpus's name before names of judges that other corpora have too."""
    judges = [
        {*(name for table, column in _JUDGES.items() for name in getattr(corpus, table)[column].dropna().unique())}
        for corpus in corpora
    ]
    shared = {name for name, number in Counter(name for some in judges for name in some).items() if number > 1} - {""}
    if not shared:
        return [*corpora]
    own = []
    for corpus, some in zip(corpora, judges, strict=True):
        names = {name: f"{corpus.name}/{name}" for name in some & shared}
        tables = {
            table: getattr(corpus, table).assign(**{column: getattr(corpus, table)[column].replace(names)})
            for table, column in _JUDGES.items()
        }
        own.append(replace(corpus, **tables))
    return own


def _with_own_documents(corpora: Sequence[Dataset]) -> list[Dataset]:
    """Put the corpus's name before names of documents that other corpora have too, with a note.

    Documents of different language pairs are distinct without that.
    """
    keys = pd.concat(
        [
            pd.DataFrame({"part": number, "lp": corpus.source_language_pairs, "doc": corpus.sources["doc"]})
            for number, corpus in enumerate(corpora)
        ],
        ignore_index=True,
    )
    alike = keys.dropna().drop_duplicates()
    alike = alike[alike.duplicated(["lp", "doc"], keep=False)]
    if not len(alike):
        return [*corpora]
    shared = pd.MultiIndex.from_frame(keys).isin(pd.MultiIndex.from_frame(alike))
    names = [corpus.name for corpus in corpora]
    doc = alike["doc"].iloc[0]
    first = [f"{names[number]}/{doc}" for number in alike["part"][alike["doc"] == doc].unique()]
    number = len(alike.drop_duplicates(["lp", "doc"]))
    what = f"several data sets have documents of the same name ({number:,}, first: {doc})"
    log_note(
        f"{what}: they are told apart as {joined(first)}; if they are parts of one document, give them in one file"
    )
    renamed = (keys["part"].map(pd.Series(names)) + "/" + keys["doc"]).where(shared, keys["doc"]).astype(TEXT)
    return [
        replace(corpus, sources=corpus.sources.assign(doc=renamed[keys["part"] == number].array))
        for number, corpus in enumerate(corpora)
    ]
