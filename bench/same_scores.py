"""Whether a change leaves every score as it was: `python bench/same_scores.py write FILE` before, `check FILE` after.

Scores are those of all included models and of every registered extractor and every feature of the declared feature sets
on the bundled sample and on the first 2,000 judged candidates of wmt14 ($RANKER_SHARED/data); of a metric also the
score of the whole corpus. What must learn first learns from the sources with odd numbers. A feature that cannot be made
here (no alignments, no encoder) is compared by its message. Differences above 1e-12 are printed; exit code 1.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np

import ranker
from bench.common import locate, run_main
from ranker.corpora.dataset import Dataset
from ranker.errors import RankerError
from ranker.extractors import registry
from ranker.extractors.base import Metric
from ranker.ranking.feature_set import FeatureSet

MODELS = ("full", "full-any", "full-lexical", "consensus")
SETS = (
    *("lexical", "word-order", "full", "full-lexical", "full-any", "reference-free"),
    *("ye07", "ye07-order", "standard"),
)
CANDIDATES = 2_000


def corpora() -> dict[str, Dataset]:
    """Return the two data sets."""
    sample = ranker.load_dataset("sample")
    whole = ranker.load_dataset(locate("wmt14"))
    sources = int(np.searchsorted(whole.candidate_offsets, CANDIDATES))
    return {"sample": sample, "wmt14": whole.select_sources(np.arange(len(whole.sources)) < sources)}


def features() -> list[str]:
    """Return the notation of everything that is scored, each once."""
    # scores from elsewhere need a file of them
    names = [name for name in registry.names() if name != "given"]
    declared = [str(extractor) for name in SETS for extractor in FeatureSet.parse(name).extractors]
    return list(dict.fromkeys([*(str(registry.make(name)) for name in names), *declared]))


def scores() -> dict[str, np.ndarray]:
    """Score everything; a message takes the place of scores that cannot be had."""
    results: dict[str, np.ndarray] = {}
    for name, dataset in corpora().items():
        odd = np.arange(len(dataset.sources)) % 2 == 1
        learnt_from = dataset.select_sources(odd)
        for model in MODELS:
            key = f"{name}/model {model}"
            try:
                results[key] = ranker.Ranker.load(model).candidate_scores(dataset)
            except RankerError as error:
                results[key] = np.array(str(error))
        for text in features():
            key = f"{name}/{text}"
            try:
                extractor = registry.make(text)
                extractor = extractor.fit(learnt_from if extractor.fit_scope == "train" else dataset)
                results[key] = extractor.transform(dataset)
                if isinstance(extractor, Metric):
                    rows = extractor.statistics(dataset)
                    results[f"{key} (corpus)"] = extractor.score(rows.sum(axis=0))
            except RankerError as error:
                results[key] = np.array(str(error))
            print(key, file=sys.stderr)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("write", "check"))
    parser.add_argument("file", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    results = scores()
    if arguments.what == "write":
        np.savez_compressed(arguments.file, **{key.replace("/", "\\"): value for key, value in results.items()})
        return 0
    with np.load(arguments.file) as stored:
        expected = {key.replace("\\", "/"): stored[key] for key in stored.files}
    worst, failed = 0.0, sorted(expected.keys() ^ results.keys())
    for key in expected.keys() & results.keys():
        old, new = expected[key], results[key]
        if old.dtype.kind == "U" or new.dtype.kind == "U":
            same = old.dtype.kind == new.dtype.kind == "U"
        else:
            difference = float(np.abs(old - new).max(initial=0.0)) if old.shape == new.shape else float("inf")
            worst, same = max(worst, difference), difference <= 1e-12
        if not same:
            failed.append(key)
    print(f"{len(expected)} compared, largest difference {worst:.2g}")
    print("\n".join(failed), end="\n" if failed else "")
    return int(bool(failed))


if __name__ == "__main__":
    run_main(main)
