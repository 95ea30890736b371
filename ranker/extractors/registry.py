"""The extractors known by name, and the one way from their notation to them.

A new extractor is one module and one line here; other packages register theirs through the entry point group
``ranker.extractors``.
"""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points

from ranker import notation
from ranker.errors import OptionError, nearest
from ranker.extractors.base import Extractor, Metric
from ranker.extractors.column_metric import ColumnMetric

BUILT_IN = {
    "bleu": "ranker.extractors.ngram.bleu:Bleu",
    "bp": "ranker.extractors.ngram.brevity:BrevityPenalty",
    "chrf": "ranker.extractors.ngram.chrf:Chrf",
    "combine": "ranker.extractors.combine:Combination",
    "consensus": "ranker.extractors.consensus.columns:Consensus",
    "ds": "ranker.extractors.dependency.columns:DependencyStructure",
    "f1": "ranker.extractors.ngram.unigrams:F1",
    "fuzzy": "ranker.extractors.order.metrics:Fuzzy",
    "given": "ranker.extractors.given:Given",
    "gtm": "ranker.extractors.ngram.gtm:Gtm",
    "hamming": "ranker.extractors.order.metrics:Hamming",
    "kendall": "ranker.extractors.order.metrics:Kendall",
    "kendall_sqrt": "ranker.extractors.order.metrics:KendallRoot",
    "length": "ranker.extractors.ngram.columns:LengthRatio",
    "lrscore": "ranker.extractors.order.lrscore:LRscore",
    "meteor": "ranker.extractors.meteor.metric:Meteor",
    "meteor_parts": "ranker.extractors.meteor.columns:MeteorParts",
    "ngrams": "ranker.extractors.ngram.columns:NgramAgreement",
    "nist": "ranker.extractors.ngram.nist:Nist",
    "nkt": "ranker.extractors.order.ribes:NormalisedKendall",
    "nsr": "ranker.extractors.order.ribes:NormalisedSpearman",
    "paraphrase": "ranker.extractors.paraphrase.columns:Paraphrase",
    "pef": "ranker.extractors.order.tree_metrics:Forest",
    "pef_size": "ranker.extractors.order.tree_metrics:ForestSize",
    "per": "ranker.extractors.edit.per:PositionIndependentErrorRate",
    "perp": "ranker.extractors.fluency.columns:Perplexity",
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
    "semantic": "ranker.extractors.semantic.columns:Semantic",
    "spearman": "ranker.extractors.order.metrics:Spearman",
    "ter": "ranker.extractors.edit.ter:TranslationEditRate",
    "terp": "ranker.extractors.terp.metric:TranslationEditRatePlus",
    "ulam": "ranker.extractors.order.metrics:Ulam",
    "wer": "ranker.extractors.edit.wer:WordErrorRate",
}
ENTRY_POINTS = "ranker.extractors"


def names() -> list[str]:
    """Return the names of all registered extractors, sorted."""
    return sorted({*BUILT_IN, *(point.name for point in entry_points(group=ENTRY_POINTS))})


def extractor_class(name: str) -> type[Extractor]:
    """Return the class registered under `name`.

    Raises
    ------
    OptionError
        If there is none; the message lists what there is.
    """
    target = BUILT_IN.get(name)
    if target is None:
        target = next((point.value for point in entry_points(group=ENTRY_POINTS, name=name)), None)
    if target is None:
        known = names()
        raise OptionError(f"no extractor is called {name!r}{nearest(name, known)}; there are: {', '.join(known)}")
    module, _, attribute = target.partition(":")
    kind: type[Extractor] = getattr(importlib.import_module(module), attribute)
    return kind


def make(text: str) -> Extractor:
    """Make the extractor that `text`, as ``bleu[order=2]``, stands for.

    Raises
    ------
    OptionError
        For a name, option or value that is not known.
    """
    name, _ = notation.open_brackets(text)
    return extractor_class(name).from_notation(text)


def make_features(text: str) -> Extractor:
    """Make the extractor that `text` stands for, or one column of an extractor, as ``consensus.weighted``.

    Raises
    ------
    OptionError
        As `make_metric`.
    """
    return make_metric(text) if _column(text)[1] else make(text)


def make_metric(text: str) -> Metric:
    """Make the metric that `text` stands for: one of the extractors, or a column of one, as ``semantic.f`` or ``perp``.

    Raises
    ------
    OptionError
        As `make`, or if it is an extractor of several columns and names none of them; the message lists them.
    """
    extractor, part = _column(text)
    made = make(extractor)
    if isinstance(made, Metric):
        if part:
            raise OptionError(f"{extractor!r} is one score and has no column {part!r}; leave out {'.' + part!r}")
        return made
    return ColumnMetric.of(made, part)


def _column(text: str) -> tuple[str, str]:
    """Return the notation of an extractor, and what follows it: the part of a column's name after its full stop."""
    name, bracket, rest = text.strip().partition("[")
    if bracket:
        inner, closed, part = rest.rpartition("]")
        return (f"{name}[{inner}]", part[1:]) if closed and part.startswith(".") else (text, "")
    extractor, dot, part = name.partition(".")
    # plug-ins are asked only where the name leaves a choice
    if not dot or name in BUILT_IN or (extractor not in BUILT_IN and name in names()):
        return text, ""
    return (extractor, part) if extractor in BUILT_IN or extractor in names() else (text, "")
