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

BUILT_IN = {
    "bleu": "ranker.extractors.bleu:Bleu",
    "bp": "ranker.extractors.brevity:BrevityPenalty",
    "chrf": "ranker.extractors.chrf:Chrf",
    "combine": "ranker.extractors.combine:Combination",
    "ds": "ranker.extractors.ds:DependencyStructure",
    "f1": "ranker.extractors.matched_words:F1",
    "fuzzy": "ranker.extractors.word_order:Fuzzy",
    "gtm": "ranker.extractors.gtm:Gtm",
    "hamming": "ranker.extractors.word_order:Hamming",
    "kendall": "ranker.extractors.word_order:Kendall",
    "kendall_sqrt": "ranker.extractors.word_order:KendallRoot",
    "length": "ranker.extractors.agreement:LengthRatio",
    "lrscore": "ranker.extractors.lrscore:LRscore",
    "meteor": "ranker.extractors.meteor:Meteor",
    "meteor_parts": "ranker.extractors.meteor_parts:MeteorParts",
    "ngrams": "ranker.extractors.agreement:NgramAgreement",
    "nist": "ranker.extractors.nist:Nist",
    "nkt": "ranker.extractors.ribes:NormalisedKendall",
    "nsr": "ranker.extractors.ribes:NormalisedSpearman",
    "paraphrase": "ranker.extractors.substitutions:Paraphrase",
    "pef": "ranker.extractors.word_order_trees:Forest",
    "pef_size": "ranker.extractors.word_order_trees:ForestSize",
    "per": "ranker.extractors.per:PositionIndependentErrorRate",
    "perp": "ranker.extractors.perp:Perplexity",
    "pet": "ranker.extractors.word_order_trees:CanonicalTree",
    "pet_arity": "ranker.extractors.word_order_trees:TreeArity",
    "pet_flat": "ranker.extractors.word_order_trees:FlatTree",
    "pet_max_arity": "ranker.extractors.word_order_trees:TreeMaximalArity",
    "pet_size": "ranker.extractors.word_order_trees:TreeSize",
    "pet_viterbi": "ranker.extractors.word_order_trees:ViterbiTree",
    "precision": "ranker.extractors.matched_words:Precision",
    "recall": "ranker.extractors.matched_words:Recall",
    "ribes": "ranker.extractors.ribes:Ribes",
    "rouge_l": "ranker.extractors.rouge:RougeL",
    "rouge_n": "ranker.extractors.rouge:RougeN",
    "rouge_s": "ranker.extractors.rouge:RougeS",
    "rouge_su": "ranker.extractors.rouge:RougeSU",
    "rouge_w": "ranker.extractors.rouge:RougeW",
    "semantic": "ranker.extractors.semantic:Semantic",
    "spearman": "ranker.extractors.word_order:Spearman",
    "ter": "ranker.extractors.ter:TranslationEditRate",
    "terp": "ranker.extractors.terp:TranslationEditRatePlus",
    "ulam": "ranker.extractors.word_order:Ulam",
    "wer": "ranker.extractors.wer:WordErrorRate",
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


def make_metric(text: str) -> Metric:
    """Make the metric that `text` stands for.

    Raises
    ------
    OptionError
        As `make`, or if it is an extractor that is no metric.
    """
    made = make(text)
    if not isinstance(made, Metric):
        raise OptionError(f"{text!r} makes columns for a ranker, it is no metric with a score of its own")
    return made
