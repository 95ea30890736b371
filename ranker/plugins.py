"""Stable names for writing plug-ins, and a conformance test for them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ranker.arrays import FloatArray
from ranker.corpora import catalogue
from ranker.corpora.dataset import Dataset, view
from ranker.corpora.selection import without_references
from ranker.errors import ModelError
from ranker.extractors.base import Extractor, FittedExtractor, Metric, SentenceMean, checked, from_notation, unfitted
from ranker.extractors.needs import Needs
from ranker.extractors.registry import RESERVED, undefined
from ranker.text.reference_pairs import reference_pairs
from ranker.text.tokens import token_batch

__all__ = [
    "Extractor",
    "FittedExtractor",
    "Metric",
    "Needs",
    "SentenceMean",
    "check",
    "reference_pairs",
    "token_batch",
    "unfitted",
    "view",
]

_RENAMED = (
    "needs_references",
    "fewest_references",
    "fewest_candidates",
    "compares_candidates",
    "knows_new_texts",
    "by_shards",
    "english_options",
)


def check(extractor: Extractor | type[Extractor], dataset: Dataset | None = None) -> None:
    """Try an extractor or metric on data, and raise an error for the first requirement of the interface that fails.

    Meant for the tests of a plug-in.

    Parameters
    ----------
    extractor : Extractor or a class of extractors
        A class is tried with its default options.
    dataset : Dataset, optional
        Data with references and several candidates for each source; by default the bundled sample.

    Raises
    ------
    ModelError, OptionError
        Naming the requirement: a wrong declaration, an undeclared dependence on other texts, a dependence on human
        judgements or on names of systems, a changed data set, or a wrong type or shape.

    Examples
    --------
    >>> from ranker.extractors.ngram.chrf import Chrf
    >>> check(Chrf)
    """
    kind = extractor if isinstance(extractor, type) else type(extractor)
    if not issubclass(kind, Extractor):
        raise ModelError(f"{kind.__name__}: expected a class derived from Metric, FittedExtractor or Extractor")
    if missing := undefined(kind):
        raise ModelError(f"{kind.__name__}: expected a class that defines {', '.join(missing)}")
    made = kind() if isinstance(extractor, type) else extractor
    data = catalogue.load("sample") if dataset is None else dataset
    _check_declarations(made)
    fitted = made.fit(data)
    columns = _columns(fitted, data)
    _expect(made, np.array_equal(columns, _columns(made.fit(data), data)), "the same columns when it is called again")
    needs = made.needs
    if needs.references == 0 and not needs.known_texts:
        _columns(fitted, without_references(data))
    unjudged = replace(data, ratings=data.ratings[:0], preferences=data.preferences[:0], errors=data.errors[:0])
    for other, what in (
        (unjudged, "columns that do not depend on human judgements"),
        (_renamed(data), "columns that do not depend on the names of systems"),
    ):
        ready = made.fit(other) if made.fit_scope == "ranked" else fitted
        _expect(made, _close(_columns(ready, other), columns), what)
    if made.fit_scope == "ranked" or needs.known_texts:
        return
    odd = np.arange(len(data.sources)) % 2 == 1
    if not needs.other_sources:
        same = _close(_columns(fitted, data.select_sources(odd)), columns[odd[data.candidate_source]])
        _expect(made, same, "columns that do not depend on other sources, or needs.other_sources to be true")
    if not needs.other_candidates:
        some = np.arange(len(data)) % 2 == 1
        same = _close(_columns(fitted, data.select_candidates(some)), columns[some])
        _expect(made, same, "columns that do not depend on other candidates, or needs.other_candidates to be true")
    if isinstance(fitted, Metric):
        statistics = checked(fitted, "statistics", fitted.statistics(data), (len(data), fitted.width))
        scores = checked(fitted, "score", fitted.score(statistics), (len(data),))
        _expect(made, _close(scores, columns[:, 0]), "the column to equal the score of the statistics")
        _expect(
            made, np.ndim(fitted.score(statistics.sum(axis=0))) == 0, "one number as the score of summed statistics"
        )


def _check_declarations(made: Extractor) -> None:
    kind = type(made)
    for name in _RENAMED:
        _expect(made, not hasattr(kind, name), f"no attribute {name}: declare it in needs")
    parameters = getattr(kind, "__dataclass_params__", None)
    _expect(made, parameters is not None and parameters.frozen, "a frozen dataclass")
    _expect(made, from_notation(kind, str(made)) == made, f"its notation {made} to make an equal extractor")
    _expect(made, len({*made.columns}) == len(made.columns) > 0, "columns with different names")
    taken = sorted(RESERVED & {made.name, *made.columns})
    _expect(made, not taken, f"no name or column called {', '.join(taken)}, like a column of results")
    for names in (made.lower_is_better, made.symmetric):
        _expect(
            made,
            {*names} <= {*made.columns},
            f"only its columns as lower_is_better and symmetric, found {', '.join(names)}",
        )


def _renamed(dataset: Dataset) -> Dataset:
    """Return the data set with other names of its systems; names of references stay."""
    names = dataset.candidates["system"]
    others = names.where(dataset.is_reference, names.str[::-1] + " renamed")
    return replace(dataset, candidates=dataset.candidates.assign(system=others))


def _columns(fitted: FittedExtractor, dataset: Dataset) -> FloatArray:
    columns = checked(fitted, "transform", fitted.transform(dataset), (len(dataset), len(fitted.columns)))
    _expect(fitted, bool(np.isfinite(columns).all()), "columns of finite numbers")
    return columns


def _close(values: FloatArray, others: FloatArray) -> bool:
    return np.allclose(values, others, rtol=0, atol=1e-9)


def _expect(made: Extractor, kept: bool, what: str) -> None:
    if not kept:
        raise ModelError(f"{type(made).__name__}: expected {what}")
