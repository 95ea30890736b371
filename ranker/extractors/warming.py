"""Compiles the kernels of the default features and metrics ahead of their first use."""

from __future__ import annotations

import numpy as np

from ranker.corpora import catalogue
from ranker.extractors import registry
from ranker.extractors.feature_sets import FeatureSet
from ranker.learning.svm.ranksvm import RankSVM
from ranker.storage import kernels

METRICS = ("bleu", "chrf", "ter")
_RANKING = "ranking SVM"
_SOURCES = 30


def tasks() -> list[str]:
    """Return what is compiled: the extractors of `full`, the metrics that most scores are of, and the ranking SVM."""
    extractors = [str(extractor) for extractor in FeatureSet.parse("full").extractors]
    return list(dict.fromkeys([*extractors, *METRICS, _RANKING]))


def warm_up() -> int:
    """Compile all kernels of `tasks` that are not on disk, and return how many that were."""
    with kernels.using("compiled"):
        return sum(map(_compile, tasks()))


def _compile(task: str) -> int:
    """Do one of `tasks` with a little data, and return how many kernels that compiled."""
    before = kernels.compiled()
    if task == _RANKING:
        values = np.arange(60.0).reshape(20, 3) % 7
        RankSVM().fit(values, np.arange(20) % 5, groups=np.arange(20) // 5)
    else:
        sample = catalogue.load("sample")
        # enough references for language models
        sample = sample.select_sources(np.arange(len(sample.sources)) < _SOURCES)
        extractor = registry.make_features(task)
        extractor.fit(sample).transform(sample)
    return kernels.compiled() - before
