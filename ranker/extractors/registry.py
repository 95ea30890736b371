"""The registry of extractors by name, and functions that make an extractor from its notation.

A new extractor is one module and one line here; other packages register theirs through the entry point group
``ranker.extractors``. Names can be listed without importing any extractor, which keeps shell completion fast.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import sys
import traceback
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from ranker import notation, share
from ranker.errors import OptionError, nearest
from ranker.files import exists

if TYPE_CHECKING:
    from ranker.extractors.base import Extractor, Metric

BUILT_IN = {
    "bleu": "ranker.extractors.ngram.bleu:Bleu",
    "bp": "ranker.extractors.ngram.brevity:BrevityPenalty",
    "chrf": "ranker.extractors.ngram.chrf:Chrf",
    "combine": "ranker.extractors.composed.combine:Combination",
    "consensus": "ranker.extractors.consensus.features:Consensus",
    "ds": "ranker.extractors.dependency.features:DependencyStructure",
    "f1": "ranker.extractors.ngram.unigrams:F1",
    "fuzzy": "ranker.extractors.order.metrics:Fuzzy",
    "given": "ranker.extractors.composed.external_scores:ExternalScores",
    "gtm": "ranker.extractors.ngram.gtm:Gtm",
    "hamming": "ranker.extractors.order.metrics:Hamming",
    "kendall": "ranker.extractors.order.metrics:Kendall",
    "kendall_sqrt": "ranker.extractors.order.metrics:KendallRoot",
    "length": "ranker.extractors.ngram.features:LengthRatio",
    "lrscore": "ranker.extractors.order.lrscore:LRscore",
    "meteor": "ranker.extractors.meteor.metric:Meteor",
    "meteor_parts": "ranker.extractors.meteor.features:MeteorParts",
    "mismatch": "ranker.extractors.mismatch.features:Mismatch",
    "ngrams": "ranker.extractors.ngram.features:NgramAgreement",
    "nist": "ranker.extractors.ngram.nist:Nist",
    "nkt": "ranker.extractors.order.ribes:NormalisedKendall",
    "nsr": "ranker.extractors.order.ribes:NormalisedSpearman",
    "paraphrase": "ranker.extractors.paraphrase.features:Paraphrase",
    "pef": "ranker.extractors.order.tree_metrics:Forest",
    "pef_size": "ranker.extractors.order.tree_metrics:ForestSize",
    "per": "ranker.extractors.edit.per:PositionIndependentErrorRate",
    "perp": "ranker.extractors.fluency.features:Perplexity",
    "pet": "ranker.extractors.order.tree_metrics:CanonicalTree",
    "pet_arity": "ranker.extractors.order.tree_metrics:TreeArity",
    "pet_flat": "ranker.extractors.order.tree_metrics:FlatTree",
    "pet_max_arity": "ranker.extractors.order.tree_metrics:TreeMaximalArity",
    "pet_size": "ranker.extractors.order.tree_metrics:TreeSize",
    "pet_viterbi": "ranker.extractors.order.tree_metrics:ViterbiTree",
    "precision": "ranker.extractors.ngram.unigrams:Precision",
    "recall": "ranker.extractors.ngram.unigrams:Recall",
    "ribes": "ranker.extractors.order.ribes:Ribes",
    "rouge_l": "ranker.extractors.ngram.rouge:RougeL",
    "rouge_n": "ranker.extractors.ngram.rouge:RougeN",
    "rouge_s": "ranker.extractors.ngram.rouge:RougeS",
    "rouge_su": "ranker.extractors.ngram.rouge:RougeSU",
    "rouge_w": "ranker.extractors.ngram.rouge:RougeW",
    "semantic": "ranker.extractors.semantic.features:Semantic",
    "spearman": "ranker.extractors.order.metrics:Spearman",
    "ter": "ranker.extractors.edit.ter:TranslationEditRate",
    "terp": "ranker.extractors.terp.metric:TranslationEditRatePlus",
    "ulam": "ranker.extractors.order.metrics:Ulam",
    "wer": "ranker.extractors.edit.wer:WordErrorRate",
}
ENTRY_POINTS = "ranker.extractors"
_OF_TEXTS = "lp doc document seg_id source references system candidate text is_reference segments"
RESERVED = {*_OF_TEXTS.split(), "score", "rank", "tied", "margin", "confidence", "likely_tie", "fault"}
"""Columns of results, which no plug-in may be called, because its column would replace them."""
_OTHER_NAMES = {"chrf++": "chrf[word_order=2]", "chrf2": "chrf", "chrf2++": "chrf[word_order=2]", "rouge": "rouge_l"}
"""Notations of metrics by the names that other programs print."""
_NEURAL = ("bertscore", "bleurt", "comet", "cometkiwi", "metricx", "xcomet")
"""Metrics that are not included, but whose external scores can be read."""


def names() -> list[str]:
    """Return the names of all registered extractors, sorted."""
    return sorted({*BUILT_IN, *(point.name for point in _plug_ins())})


def _plug_ins() -> tuple[EntryPoint, ...]:
    return _plug_ins_below(tuple(sys.path))


@functools.cache
def _plug_ins_below(path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Return the entry points of other packages' extractors, cached for each `path`, which is a copy of `sys.path`."""
    return tuple(entry_points(group=ENTRY_POINTS))


def registered(name: str) -> str:
    """Return the registered name that equals `name` regardless of case, else `name` itself."""
    if name in BUILT_IN:
        return name
    known = names()
    return (
        name
        if name in known
        else next((known_name for known_name in known if known_name.lower() == name.lower()), name)
    )


def extractor_class(name: str) -> type[Extractor]:
    """Return the class registered under `name`."""
    name = registered(name)
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        built_in: type[Extractor] = getattr(importlib.import_module(module), attribute)
        return built_in
    point = next((plug_in for plug_in in _plug_ins() if plug_in.name == name), None)
    if point is None:
        raise _unknown(name)
    try:
        kind = point.load()
    except Exception as error:
        raise OptionError(f"{_described(point)} does not load ({_error_line(error)}): update or remove it") from error
    from ranker.extractors.base import Extractor

    if not (isinstance(kind, type) and issubclass(kind, Extractor)):
        what = "expected a class derived from Metric, FittedExtractor or Extractor of ranker.plugins"
        raise OptionError(f"{_described(point)}: {point.value} is not an extractor; {what}")
    if RESERVED & {point.name, getattr(kind, "name", "")}:
        raise OptionError(f"{_described(point)}: a column of results has this name; rename it")
    missing = undefined(kind)
    if missing or not dataclasses.is_dataclass(kind):
        what = f"lacks {', '.join(missing)}" if missing else "is not a dataclass"
        raise OptionError(f"{_described(point)}: {point.value} {what}; expected a dataclass that defines all methods")
    return kind


def undefined(kind: type[Extractor]) -> list[str]:
    """Return the names of the methods and attributes that a class of extractors must define and does not."""
    return [*sorted(kind.__abstractmethods__), *(() if hasattr(kind, "name") else ["name"])]


def _unknown(name: str) -> OptionError:
    what, lower, known = f"unknown metric or feature {name!r}", name.lower(), names()
    if lower in _NEURAL:
        return OptionError(
            f"{what}: neural metrics are not included; given[file=FILE] reads the scores that they write"
        )
    included = {path.parent.name for path in share.directory("models").glob("*/model.json")}
    if name in included or (name.endswith(".model") and exists(name)):
        use = f"give it with --model, as in: ranker rank --model {name} (in Python: Ranker.load({name!r}))"
        return OptionError(f"{what}: this is a model; {use}")
    other = _OTHER_NAMES.get(lower)
    hint = f" (did you mean {other!r}?)" if other else nearest(name, known)
    return OptionError(f"{what}{hint}; available: {', '.join(known)}")


def hidden_plug_ins() -> list[str]:
    """Return messages on plug-ins that are hidden by an included extractor of the same name."""
    hidden = [point for point in _plug_ins() if point.name in BUILT_IN]
    return [f"{_described(point)}: an included metric or feature has this name; rename it" for point in hidden]


def failed_plug_in(error: BaseException) -> str | None:
    """Return a message if an unexpected error was raised in a plug-in or a class it inherits from, else None."""
    points = _plug_ins()
    failed = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        kind = type(frame.f_locals.get("self"))
        packages = {module.partition(".")[0] for module in (frame.f_globals.get("__name__", ""), kind.__module__)}
        of_package = [point for point in points if point.module.partition(".")[0] in packages]
        point = next(
            (entry_point for entry_point in of_package if entry_point.attr == kind.__qualname__),
            next(iter(of_package), None),
        )
        if point is not None:
            failed = f"{_described(point)} failed in {Path(frame.f_code.co_filename).name}:{line}: {_error_line(error)}"
    return failed


def _described(point: EntryPoint) -> str:
    package = f" of the package {point.dist.name}" if point.dist is not None else ""
    return f"plug-in {point.name!r}{package}"


def _error_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def make(text: str) -> Extractor:
    """Make an extractor from its notation `text`, such as ``bleu[order=2]``."""
    from ranker.extractors.base import from_notation

    name, _ = notation.open_brackets(text)
    return from_notation(extractor_class(name), text)


def make_features(text: str) -> Extractor:
    """Make an extractor from its notation `text`, or from that of a single column, such as ``consensus.weighted``."""
    return make_metric(text) if _column(text)[1] else make(text)


def make_metric(text: str) -> Metric:
    """Make a metric from its notation `text`, or from a column of an extractor, such as ``semantic.f`` or ``perp``.

    Raises
    ------
    OptionError
        As for `make`, or if `text` names an extractor of several columns, which the message lists, but no column.
    """
    from ranker.extractors.base import Metric
    from ranker.extractors.one_column import ColumnMetric

    extractor, part = _column(text)
    instance = make(extractor)
    if isinstance(instance, Metric):
        if part:
            raise OptionError(f"{extractor!r} is a single score and has no column {part!r}; remove {'.' + part!r}")
        return instance
    return ColumnMetric.of(instance, part)


def _column(text: str) -> tuple[str, str]:
    """Split a column's notation into its extractor's notation and the part after the full stop, which may be empty."""
    name, bracket, rest = notation.as_text(text).strip().partition("[")
    if bracket:
        inner, closed, part = rest.rpartition("]")
        return (f"{name}[{inner}]", part[1:]) if closed and part.startswith(".") else (text, "")
    extractor, dot, part = name.partition(".")
    # plug-ins are looked up only if the name is ambiguous
    if not dot or name in BUILT_IN or (extractor not in BUILT_IN and registered(name) in names()):
        return text, ""
    return (extractor, part) if registered(extractor) in names() else (text, "")
