"""Compiles the kernels of the default features and metrics ahead of their first use, in several processes."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager

import numpy as np

from ranker import progress
from ranker.corpora import catalogue
from ranker.extractors import registry
from ranker.extractors.feature_sets import FeatureSet
from ranker.learning.svm.ranksvm import RankSVM
from ranker.storage import kernels
from ranker.threads import jobs, process_environment, set_jobs

METRICS = ("bleu", "chrf", "ter")
_RANKING = "ranking SVM"
_SOURCES = 30


def tasks() -> list[str]:
    """Return what is compiled: the extractors of `full`, the metrics that most scores are of, and the ranking SVM."""
    extractors = [str(extractor) for extractor in FeatureSet.parse("full").extractors]
    return list(dict.fromkeys([*extractors, *METRICS, _RANKING]))


def warm_up() -> int:
    """Compile all kernels of `tasks` that are not on disk, in several processes, and return how many that were."""
    with process_environment(
        RANKER_KERNELS="compiled",
        # after an interrupt the process that cleans up would warn of what is not
        PYTHONWARNINGS="ignore:resource_tracker",
    ):
        return _share(tasks())


def _share(work: list[str]) -> int:
    """Let processes do all tasks, and return how many kernels they compiled."""
    count = 0
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(jobs(), len(work)), spawned, initializer=set_jobs, initargs=(1,)) as pool:
        try:
            with _interrupts_held():
                futures = [pool.submit(_compile, task) for task in work]
            for done, future in enumerate(as_completed(futures), 1):
                count += future.result()
                progress.report("compiling kernels of features, once", done, len(work))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise
    return count


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Start processes that Ctrl-C does not reach, where the system can: this process ends them, and says so once."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
