"""What the features of `full` are worth: `python bench/encoder_gain.py ENCODER` prints a table of `docs/consensus.md`.

ENCODER is made by ``ranker encoder train --data wmt12,wmt13 --lp "*-en" --sources 3000 --output ENCODER``: weights are
learnt from other sources of these corpora, and tested on corpora that neither saw, in $RANKER_SHARED/data.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
from pathlib import Path

import numpy as np

from bench.board import everything
from bench.common import run_main, say, table
from bench.with_less import evaluated
from ranker.corpora.dataset import Dataset, concatenate_datasets
from ranker.corpora.judgements import Judged, judged
from ranker.corpora.source_keys import among
from ranker.learning.encoder.files import find
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.training import TrainingTable

LEARNT = {"wmt12": (55, 1200), "wmt13": (22, 1200)}
TESTED = {"wmt14": (33, 1500), "wmt19-darr": (60, 1200), "ted21-mqm": (100, 0), "wmt21-mqm": (100, 0)}
"""Percentage of the source texts, by their hash, and most sources of them (0: all)."""
MEANING, DIVERSE, PLAIN = (
    "semantic[{}]",
    "consensus[metric=semantic[{}],trust=source].diverse",
    "consensus[trust=source]",
)
WORDS, PERP = "meteor[modules=exact+stem]", "perp[match=true,model=shipped]"
SETS = {
    "`consensus[metric=semantic].mean`": ["consensus[metric=semantic[{}],trust=source].mean"],
    "`consensus[metric=semantic].weighted`": ["consensus[metric=semantic[{}],trust=source].weighted"],
    "`consensus[metric=semantic].diverse`": [DIVERSE],
    "`consensus.diverse`": [f"{PLAIN}.diverse"],
    "both `diverse`, language model of words": [DIVERSE, f"{PLAIN}.diverse", PERP],
    "`semantic`": [MEANING],
    "`semantic`, both `diverse`": [MEANING, DIVERSE, f"{PLAIN}.diverse"],
    "the same, METEOR, language model of words: `full`": [MEANING, DIVERSE, f"{PLAIN}.diverse", WORDS, PERP],
    "`semantic`, both `diverse`, lexical features": [MEANING, DIVERSE, f"{PLAIN}.diverse", "lexical"],
    "lexical features, `consensus.weighted`": ["lexical", f"{PLAIN}.weighted"],
}


def sample(name: str, percent: int, most: int) -> Dataset:
    """Return a part of the sources of a corpus into English that were judged."""
    whole = everything(name)
    compared = np.bincount(whole.candidate_source[judged(whole)], minlength=len(whole.sources)) > 1
    hashes = [hashlib.sha256(text.encode()).hexdigest()[:8] for text in whole.sources["text"].tolist()]
    part = whole.select_sources(compared & (np.array([int(each, 16) % 100 for each in hashes]) < percent))
    order = np.random.default_rng(5).permutation(len(part.sources))
    return part.select_sources(np.isin(np.arange(len(order)), order[: most or None]))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("encoder", type=Path)
    encoder = f"encoder={parser.parse_args().encoder}"
    known = FeatureSet.parse("full-lexical").extractors
    lexical = ",".join(str(each) for each in known if not each.name.startswith(("paraphrase", "consensus")))
    sets = {
        title: FeatureSet.parse(",".join(lexical if each == "lexical" else each.format(encoder) for each in parts))
        for title, parts in SETS.items()
    }
    every = FeatureSet(tuple({str(part): part for each in sets.values() for part in each.extractors}.values()))
    learnt = concatenate_datasets([sample(name, *size) for name, size in LEARNT.items()])
    learnt = learnt.select_sources(~among(learnt, find(encoder.partition("=")[2]).training_sources))
    training = TrainingTable.of(Judged.of(learnt, "preferences"), "balanced")
    every, training = training.with_features(every)
    tests = {}
    for name, size in TESTED.items():
        say(name)
        outputs = Judged.of(sample(name, *size)).dataset
        tests[name] = outputs, every.transform(outputs)
    lines = []
    for title, features in sets.items():
        used = np.isin(every.columns, features.columns)
        mean, scale = training.columns[:, used].mean(axis=0), training.columns[:, used].std(axis=0)
        scale[scale == 0] = 1.0
        part = dataclasses.replace(training, columns=(training.columns[:, used] - mean) / scale)
        weights = part.learn(C=0.001, loss="squared_hinge").coef
        scores = {name: ((matrix[:, used] - mean) / scale) @ weights for name, (_, matrix) in tests.items()}
        means = [np.mean([*evaluated(tests[name][0], each).values()]) for name, each in scores.items()]
        lines.append([title, *(f"{mean:.3f}" for mean in means)])
    print("\n".join(table(["features", *tests], lines)))


if __name__ == "__main__":
    run_main(main)
