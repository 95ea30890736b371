"""Speed of the metrics and of `full`, beside sacreBLEU where it has the metric: `python bench/speed.py [CORPUS]`.

Scores the judged candidates with one thread, tokenisation included, compiling not. Times are of the processor, the
best of several runs; ratios to sacreBLEU carry over to other machines better than times do. Needs the extra ``bench``;
CORPUS is by default wmt15-rr of the shared data ($RANKER_SHARED/data).
"""

from __future__ import annotations

import argparse
import dataclasses

import numpy as np

from bench.common import PEERS, best_of, locate, peer_scores, run_main
from ranker.corpora import catalogue
from ranker.corpora.judgements import judged
from ranker.extractors.registry import make_metric
from ranker.ranking.ranker import Ranker
from ranker.threads import set_jobs

METRICS = (*PEERS, "ter[search=tercom,tokenizer=13a]", "terp", "meteor", "ribes", "nkt")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", nargs="?", default=locate("wmt15"))
    parser.add_argument("--metrics", nargs="*", default=METRICS)
    parser.add_argument("--models", nargs="*", default=["full"])
    parser.add_argument("--most", type=int, default=10**9, help="score only about this many candidates")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    set_jobs(1)
    dataset = catalogue.load(options.corpus)
    dataset = dataset.select_candidates(judged(dataset))
    dataset = dataset.select_sources(np.arange(len(dataset.sources)) % max(1, len(dataset) // options.most) == 0)
    few = dataset.select_candidates(np.arange(len(dataset)) < 10)
    print(f"{dataset.name}: {len(dataset):,} candidates\n")
    print("| metric | candidates a second | x sacreBLEU | largest difference |\n|---|---|---|---|")
    for name in (*options.metrics, *options.models):
        work = Ranker.load(name).candidate_scores if name in options.models else make_metric(name).transform
        work(few)  # compile or load the kernels
        # a copy has no views of the text yet
        seconds, scores = best_of(options.runs, lambda work=work: work(dataclasses.replace(dataset)))
        compared = "- | -"
        if name in PEERS:
            peer_seconds, expected = best_of(1, lambda name=name: peer_scores(name, dataset))
            compared = f"{peer_seconds / seconds:.1f} x | {np.abs(np.ravel(scores) - expected).max():.1e}"
        print(f"| `{name}` | {len(dataset) / seconds:,.0f} | {compared} |", flush=True)


if __name__ == "__main__":
    run_main(main)
