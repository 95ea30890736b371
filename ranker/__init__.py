"""Rank machine translations with a metric learnt from human judgements.

>>> from ranker import Ranker, load_dataset
>>> Ranker("bleu", kind="fluency").fit(load_dataset("sample"))
<Ranker bleu: 1 feature, trained on fluency of sample (120 sources, 840 candidates)>
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ranker.version import VERSION as __version__

if TYPE_CHECKING:
    from ranker.apps.tuning.rerank import rerank
    from ranker.checks.outputs import check_outputs
    from ranker.corpora.catalogue import load as load_dataset
    from ranker.corpora.dataset import Dataset
    from ranker.corpora.formats.in_memory import from_frame, from_records, from_texts
    from ranker.errors import RankerError
    from ranker.evaluation.explanations.spans import explain_spans
    from ranker.evaluation.metrics.cross_validation import TrainingResult, train
    from ranker.evaluation.metrics.evaluation import evaluate
    from ranker.evaluation.metrics.result import Comparison
    from ranker.evaluation.systems.contrast.result import SystemContrast
    from ranker.evaluation.systems.contrast.run import contrast
    from ranker.evaluation.systems.result import SystemsResult
    from ranker.evaluation.systems.run import compare_systems
    from ranker.extractors.base import Extractor, Metric
    from ranker.extractors.registry import make_metric
    from ranker.learning.svm.ranksvm import RankSVM
    from ranker.learning.svm.scoring import group_scorer
    from ranker.ranking.by_name import explain, rank, score
    from ranker.ranking.feature_set import FeatureSet
    from ranker.ranking.ranker import Ranker
    from ranker.ranking.rewards import reward
    from ranker.ranking.scikit_learn import Features
    from ranker.ranking.scorers import Scorer

_HOMES = {
    "Comparison": "ranker.evaluation.metrics.result:Comparison",
    "Dataset": "ranker.corpora.dataset:Dataset",
    "Extractor": "ranker.extractors.base:Extractor",
    "FeatureSet": "ranker.ranking.feature_set:FeatureSet",
    "Features": "ranker.ranking.scikit_learn:Features",
    "Metric": "ranker.extractors.base:Metric",
    "RankSVM": "ranker.learning.svm.ranksvm:RankSVM",
    "Ranker": "ranker.ranking.ranker:Ranker",
    "RankerError": "ranker.errors:RankerError",
    "Scorer": "ranker.ranking.scorers:Scorer",
    "SystemContrast": "ranker.evaluation.systems.contrast.result:SystemContrast",
    "SystemsResult": "ranker.evaluation.systems.result:SystemsResult",
    "TrainingResult": "ranker.evaluation.metrics.cross_validation:TrainingResult",
    "check_outputs": "ranker.checks.outputs:check_outputs",
    "compare_systems": "ranker.evaluation.systems.run:compare_systems",
    "contrast": "ranker.evaluation.systems.contrast.run:contrast",
    "evaluate": "ranker.evaluation.metrics.evaluation:evaluate",
    "explain": "ranker.ranking.by_name:explain",
    "explain_spans": "ranker.evaluation.explanations.spans:explain_spans",
    "from_frame": "ranker.corpora.formats.in_memory:from_frame",
    "from_records": "ranker.corpora.formats.in_memory:from_records",
    "from_texts": "ranker.corpora.formats.in_memory:from_texts",
    "group_scorer": "ranker.learning.svm.scoring:group_scorer",
    "load_dataset": "ranker.corpora.catalogue:load",
    "make_metric": "ranker.extractors.registry:make_metric",
    "rank": "ranker.ranking.by_name:rank",
    "rerank": "ranker.apps.tuning.rerank:rerank",
    "reward": "ranker.ranking.rewards:reward",
    "score": "ranker.ranking.by_name:score",
    "train": "ranker.evaluation.metrics.cross_validation:train",
}

__all__ = [
    "Comparison",
    "Dataset",
    "Extractor",
    "FeatureSet",
    "Features",
    "Metric",
    "RankSVM",
    "Ranker",
    "RankerError",
    "Scorer",
    "SystemContrast",
    "SystemsResult",
    "TrainingResult",
    "__version__",
    "check_outputs",
    "compare_systems",
    "contrast",
    "evaluate",
    "explain",
    "explain_spans",
    "from_frame",
    "from_records",
    "from_texts",
    "group_scorer",
    "load_dataset",
    "make_metric",
    "rank",
    "rerank",
    "reward",
    "score",
    "train",
]


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that commands such as ``ranker --help`` start fast."""
    if name not in _HOMES:
        raise AttributeError(f"module 'ranker' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def __dir__() -> list[str]:
    modules = (name for name, value in globals().items() if getattr(value, "__name__", "") == f"ranker.{name}")
    return sorted({*__all__, *modules, *(name for name in globals() if name.startswith("__"))})
