"""Gain of an encoder by training: `python bench/encoder_change.py BEFORE AFTER ...` prints tables as on its card.

Samples sources of corpora in $RANKER_SHARED/data that none of the encoders learnt from. Spearman's rho per source of F
and the cosine, by the reference and by the source, and differences to the first encoder.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np

from bench.common import run_main, say, table
from bench.included import CORPORA, NONE_KNOWN, sample
from ranker.arrays import FloatArray
from ranker.corpora.judgements import human_scores, resolve_kind
from ranker.evaluation.correlation.segment import source_spearman
from ranker.evaluation.resampling.significance import bootstrap_interval
from ranker.extractors.registry import make_metric
from ranker.learning.encoder.files import find

FEATURES = {
    "F by the reference": "semantic[encoder={}].f",
    "cosine by the reference": "semantic[encoder={}].cosine",
    "F by the source": "semantic[encoder={},against=source].f",
    "cosine by the source": "semantic[encoder={},against=source].cosine",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("encoders", nargs="+")
    parser.add_argument("--most", type=int, default=100, help="sources of a language pair")
    parser.add_argument("--corpora", default=",".join(CORPORA), help="names separated by commas")
    options = parser.parse_args()
    learnt = [find(each).training_sources for each in options.encoders]
    known = np.concatenate([NONE_KNOWN, *(keys for keys in learnt if keys is not None)])
    columns = {"chrF": "chrf"} | {
        f"{title}, {encoder}": text.format(encoder) for title, text in FEATURES.items() for encoder in options.encoders
    }
    rows, parts = [], dict[str, list[dict[str, FloatArray]]]()
    for name in options.corpora.split(","):
        say(name)
        dataset = sample(name, options.most, known)
        kind = resolve_kind(dataset, "auto")
        human = human_scores(dataset, "win-rate" if kind == "preferences" else kind)
        rho = {
            title: source_spearman(dataset, make_metric(text).transform(dataset)[:, 0], human)
            for title, text in columns.items()
        }
        lps = dataset.source_language_pairs
        for lp in dataset.language_pairs:
            part = {title: values[lps == lp] for title, values in rho.items()}
            rows.append([f"{name} {lp}", (lps == lp).sum(), *(f"{np.nanmean(each):.3f}" for each in part.values())])
            for group in (name, "into English" if lp.endswith("-en") else "out of English"):
                parts.setdefault(group, []).append(part)
    print("\n".join(table(["corpus", "sources", *columns], rows)))
    for group, several in parts.items():
        for title, encoder in product(FEATURES, options.encoders[1:]):
            after, before = f"{title}, {encoder}", f"{title}, {options.encoders[0]}"
            means = (np.mean([np.nanmean(part[each]) for part in several]) for each in (before, after))
            low, high = bootstrap_interval(np.concatenate([part[after] - part[before] for part in several]))
            print(f"{group}: {after}: {' to '.join(f'{each:.3f}' for each in means)} [{low:+.3f} {high:+.3f}]")


if __name__ == "__main__":
    run_main(main)
