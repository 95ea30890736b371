"""Processor time of ``compute`` for 800 segments beside sacreBLEU: `python bench/compute.py [CORPUS]`.

Takes the first output of 800 sources of one language pair, by default wmt14 de-en of the shared data, the best of
seven calls in one run.
"""

from __future__ import annotations

import argparse

import sacrebleu

from bench.common import best_of, locate, run_main
from ranker.corpora import catalogue
from ranker.corpora.selection import select_language_pairs
from ranker.extractors.registry import make_metric


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", nargs="?", default=locate("wmt14"))
    parser.add_argument("--lp", default="de-en")
    options = parser.parse_args()
    dataset = select_language_pairs(catalogue.load(options.corpus), [options.lp])
    outputs = dataset.candidates["text"].iloc[dataset.candidate_offsets[:800]].tolist()
    references = dataset.references["text"].iloc[dataset.reference_offsets[:800]].tolist()
    for name, other in (("bleu", sacrebleu.corpus_bleu), ("chrf", sacrebleu.corpus_chrf)):
        metric = make_metric(name)
        own, _ = best_of(7, lambda metric=metric: metric.compute(predictions=outputs, references=references))
        theirs, _ = best_of(7, lambda other=other: other(outputs, [references]))
        print(f"{name}: ranker {own:.3f} s, sacreBLEU {theirs:.3f} s, {theirs / own:.1f} times as fast")


if __name__ == "__main__":
    run_main(main)
