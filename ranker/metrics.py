"""The metrics as classes: ``Bleu(order=2)`` is ``make_metric("bleu[order=2]")``."""

from ranker.extractors.composed.combine import Combination
from ranker.extractors.composed.external_scores import ExternalScores
from ranker.extractors.edit.per import PositionIndependentErrorRate
from ranker.extractors.edit.ter import TranslationEditRate
from ranker.extractors.edit.wer import WordErrorRate
from ranker.extractors.meteor.metric import Meteor
from ranker.extractors.ngram.bleu import Bleu
from ranker.extractors.ngram.brevity import BrevityPenalty
from ranker.extractors.ngram.chrf import Chrf
from ranker.extractors.ngram.gtm import Gtm
from ranker.extractors.ngram.nist import Nist
from ranker.extractors.ngram.rouge import RougeL, RougeN, RougeS, RougeSU, RougeW
from ranker.extractors.ngram.unigrams import F1, Precision, Recall
from ranker.extractors.order.lrscore import LRscore
from ranker.extractors.order.metrics import Fuzzy, Hamming, Kendall, KendallRoot, Spearman, Ulam
from ranker.extractors.order.ribes import NormalisedKendall, NormalisedSpearman, Ribes
from ranker.extractors.order.tree_metrics import (
    CanonicalTree,
    FlatTree,
    Forest,
    ForestSize,
    TreeArity,
    TreeMaximalArity,
    TreeSize,
    ViterbiTree,
)
from ranker.extractors.terp.metric import TranslationEditRatePlus

__all__ = [
    "F1",
    "Bleu",
    "BrevityPenalty",
    "CanonicalTree",
    "Chrf",
    "Combination",
    "ExternalScores",
    "FlatTree",
    "Forest",
    "ForestSize",
    "Fuzzy",
    "Gtm",
    "Hamming",
    "Kendall",
    "KendallRoot",
    "LRscore",
    "Meteor",
    "Nist",
    "NormalisedKendall",
    "NormalisedSpearman",
    "PositionIndependentErrorRate",
    "Precision",
    "Recall",
    "Ribes",
    "RougeL",
    "RougeN",
    "RougeS",
    "RougeSU",
    "RougeW",
    "Spearman",
    "TranslationEditRate",
    "TranslationEditRatePlus",
    "TreeArity",
    "TreeMaximalArity",
    "TreeSize",
    "Ulam",
    "ViterbiTree",
    "WordErrorRate",
]
