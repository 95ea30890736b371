"""Corpora joined into one data set, in which the judgements of different corpora mean the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ranker.corpora.column_names import is_negated, lower_is_better
from ranker.corpora.dataset import Dataset, concatenate_datasets
from ranker.corpora.judgements import RATINGS, Kind, kinds, rating_key, rating_names, ratings_of
from ranker.errors import log_note

_JUDGES = {"ratings": "judge", "preferences": "judge", "errors": "rater"}
"""Columns with the names of judges, by table."""


def join_corpora(corpora: Sequence[Dataset]) -> Dataset:
    """Return the data set of all sources of the corpora.

    Ratings of one kind that have different names in the corpora get the same name, negated penalties are made positive
    if another corpus has positive ones, and judges with the same name in several corpora are different people.
    """
    if len(corpora) == 1:
        return corpora[0]
    return concatenate_datasets(_with_own_judges(_with_one_sign(_with_one_name(corpora))))


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
    titles, own = Counter(corpus.name for corpus in corpora), []
    for number, (corpus, some) in enumerate(zip(corpora, judges, strict=True), 1):
        title = corpus.name if titles[corpus.name] == 1 else f"{corpus.name} {number}"
        names = {name: f"{title}/{name}" for name in some & shared}
        tables = {
            table: getattr(corpus, table).assign(**{column: getattr(corpus, table)[column].replace(names)})
            for table, column in _JUDGES.items()
        }
        own.append(replace(corpus, **tables))
    return own
