"""Agreement with people beside other metrics: `python bench/quality.py --train A --test B --features F ...`.

Trains one ranker for each --features on the --train corpora, then compares it and sacreBLEU's BLEU, chrF and TER with
the human judgements of each --test corpus, on the same candidates. Corpora are names, or files of the shared data
($RANKER_SHARED/data). Needs the extra ``bench``. Every look at a test corpus is a look: count them.
"""

from __future__ import annotations

import argparse

from bench.common import PEERS, figure, locate, peer_scores, run_main
from ranker.corpora import catalogue
from ranker.corpora.dataset import Dataset, concatenate
from ranker.corpora.judgements import judged
from ranker.corpora.selection import select_language_pairs
from ranker.evaluation.compare.evaluation import evaluate
from ranker.ranking import Ranker


def read(names: list[str], lp: list[str]) -> Dataset:
    """Read corpora, those language pairs, only what was judged."""
    dataset = concatenate([catalogue.load(locate(name)) for name in names])
    dataset = select_language_pairs(dataset, lp) if lp else dataset
    return dataset.select_candidates(judged(dataset))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--train", nargs="+", default=["wmt12", "wmt13", "wmt14"])
    parser.add_argument("--test", nargs="+", default=["wmt15"])
    parser.add_argument(
        "--features", nargs="+", default=["bleu[smoothing=epsilon]", "bleu[smoothing=add-one]", "bleu1-4"]
    )
    parser.add_argument("--lp", nargs="*", default=["*-en"])
    parser.add_argument("--C", default="1.0")
    parser.add_argument("--loss", default="hinge")
    parser.add_argument("--pairs", default="judgements")
    parser.add_argument("--peers", nargs="*", choices=list(PEERS), default=list(PEERS))
    options = parser.parse_args()
    training = read(options.train, options.lp)
    penalty = "auto" if options.C == "auto" else float(options.C)
    settings = {"C": penalty, "loss": options.loss, "pairs": options.pairs}
    rankers = [Ranker(features, **settings).fit(training) for features in options.features]
    print(f"trained on {training.name}: {len(training.sources):,} sources, {len(training):,} judged candidates")
    for name in options.test:
        dataset = read([name], options.lp)
        scored = {f"ranker {ranker.settings.features}": ranker.candidate_scores(dataset) for ranker in rankers}
        scored.update(
            {f"sacreBLEU {peer}": peer_scores(peer, dataset) * (-1 if peer == "ter" else 1) for peer in options.peers}
        )
        print(f"\n{dataset.name}: mean over {', '.join(dataset.language_pairs)}")
        print("| metric | sources | tau official | tau primary | Spearman per source (undefined) |")
        print("|---|---|---|---|---|")
        for title, scores in scored.items():
            comparison = evaluate(dataset, scores)
            scope = comparison.main_scope
            official, primary = (
                comparison.estimate(f"segment.tau.{rows}") if scope.pairs.get(rows) else None
                for rows in ("official", "primary")
            )
            cell = comparison.cell("segment.spearman", scope.id, "scores")
            assert cell is not None
            rho = f"{figure(comparison.estimate('segment.spearman'))} ({cell.undefined})"
            print(f"| {title} | {scope.sources:,} | {figure(official)} | {figure(primary)} | {rho} |", flush=True)


if __name__ == "__main__":
    run_main(main)
