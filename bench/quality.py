"""Agreement with people beside other metrics: `python bench/quality.py --train A --test B --features F ...`.

Trains one ranker for each --features on the --train corpora, then compares it and sacreBLEU's BLEU, chrF and TER with
the human judgements of each --test corpus, on the same candidates. Corpora are names, or files of the shared data
($RANKER_SHARED/data). Needs the extra ``bench``. Every look at a test corpus is a look: count them.
"""

from __future__ import annotations

import argparse

from bench.common import INTO_ENGLISH, PEERS, figure, locate, peer_scores, run_main
from ranker.corpora import catalogue
from ranker.corpora.dataset import Dataset, concatenate_datasets
from ranker.corpora.judgements import judged
from ranker.corpora.selection import select_language_pairs
from ranker.evaluation.metrics.evaluation import evaluate
from ranker.ranking.ranker import Ranker


def read(names: list[str]) -> Dataset:
    """Read what was judged of corpora, into English."""
    dataset = select_language_pairs(
        concatenate_datasets([catalogue.load(locate(name)) for name in names]), [INTO_ENGLISH]
    )
    return dataset.select_candidates(judged(dataset))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--train", nargs="+", default=["wmt12", "wmt13", "wmt14"])
    parser.add_argument("--test", nargs="+", default=["wmt15"])
    parser.add_argument(
        "--features", nargs="+", default=["bleu[smoothing=epsilon]", "bleu[smoothing=add-one]", "bleu1-4"]
    )
    options = parser.parse_args()
    training = read(options.train)
    rankers = [Ranker(each, C=1.0, loss="hinge", pairs="judgements").fit(training) for each in options.features]
    print(f"trained on {training.name}: {len(training.sources):,} sources, {len(training):,} judged candidates")
    for name in options.test:
        dataset = read([name])
        scored = {f"ranker {ranker.settings.features}": ranker.candidate_scores(dataset) for ranker in rankers}
        scored.update(
            {f"sacreBLEU {peer}": peer_scores(peer, dataset) * (-1 if peer == "ter" else 1) for peer in PEERS}
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
