"""TER beside sacreBLEU on the same candidates, each in a process of its own: `python bench/ter.py [CORPUS]`.

Times count tokenisation, not reading the corpus nor compiling. Prints ratios, which carry over to other machines better
than times do, the largest memory of every process, and how much two threads gain over one. Needs the extra ``bench``;
CORPUS is by default wmt15-rr.jsonl.gz of the shared data ($RANKER_SHARED/data).
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from ranker.threads import set_jobs

SHARED = Path(os.environ.get("RANKER_SHARED", Path(__file__).resolve().parents[2] / "shared"))
PEER = "sacreBLEU"
SAME_SEARCH = "ter"
METRICS = ("ter[search=tercom,tokenizer=13a]", "ter[search=tercom]", SAME_SEARCH)


def measure(name: str, corpus: str, most: int, runs: int, output: str) -> None:
    """Score the corpus in this process; print time, time of the part after tokenisation, memory and candidates."""
    from ranker.corpora.formats.reading import read_dataset
    from ranker.corpora.judgements import judged

    whole = read_dataset(corpus)
    dataset = whole.select_candidates(judged(whole))
    if most < len(dataset):
        dataset = dataset.select_candidates(np.arange(len(dataset)) % (len(dataset) // most) == 0)
    times = []
    if name == PEER:
        import sacrebleu

        metric = sacrebleu.metrics.TER()
        references, offsets = dataset.references["text"].tolist(), dataset.reference_offsets.tolist()
        texts, sources = dataset.candidates["text"].tolist(), dataset.candidate_source.tolist()
        start = time.perf_counter()
        scores = np.array(
            [
                metric.sentence_score(text, references[offsets[source] : offsets[source + 1]]).score / 100
                for text, source in zip(texts, sources, strict=True)
            ]
        )
        times.append((time.perf_counter() - start, 0.0))
    else:
        from ranker.extractors.registry import make_metric
        from ranker.extractors.text.tokens import token_batch

        ours = make_metric(name)
        ours.transform(dataset.select_candidates(np.arange(len(dataset)) < 10))  # compile or load the kernels
        for _ in range(runs):
            fresh = dataclasses.replace(dataset)
            start = time.perf_counter()
            token_batch(fresh, ours.tokenizer, lowercase=ours.lowercase)
            tokenised = time.perf_counter()
            scores = ours.score(ours.statistics(fresh))
            times.append((time.perf_counter() - start, time.perf_counter() - tokenised))
    np.save(output, scores)
    best = np.min(times, axis=0).tolist()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({"seconds": best[0], "search": best[1], "memory": memory, "candidates": len(dataset)}))


def in_process(
    name: str, threads: int, options: argparse.Namespace, output: Path
) -> tuple[dict[str, float], np.ndarray]:
    """Run `measure` in a process of its own."""
    most = options.sample if name == PEER else options.most
    arguments = [options.corpus, "--worker", name, "--most", str(most), "--runs", str(options.runs)]
    arguments += ["--threads", str(threads)]
    run = subprocess.run(
        [sys.executable, __file__, *arguments, "--output", str(output)],
        check=True,
        stdout=subprocess.PIPE,
    )
    return json.loads(run.stdout), np.load(output)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", nargs="?", default=str(SHARED / "data" / "wmt15-rr.jsonl.gz"))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--most", type=int, default=10**9, help="score only so many candidates")
    parser.add_argument("--sample", type=int, default=10**9, help="let sacreBLEU score only so many candidates")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--output", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        set_jobs(options.threads)
        return measure(options.worker, options.corpus, options.most, options.runs, options.output)
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "scores.npy"
        peer, theirs = in_process(PEER, 1, options, output)
        print(f"{PEER}: {peer['candidates'] / peer['seconds']:,.0f} candidates a second, {peer['memory']:.2f} GiB")
        print(f"\n| metric | candidates | threads | x {PEER} | a second | search | GiB | two threads : one | unequal |")
        print("|---|---|---|---|---|---|---|---|---|")
        for name in METRICS:
            alone = None
            for threads in (1, 2):
                ours, scores = in_process(name, threads, options, output)
                rate = ours["candidates"] / ours["seconds"]
                gain = "" if alone is None else f"{alone / ours['search']:.2f} x (search)"
                alone = ours["search"]
                unequal = "-"
                if name == SAME_SEARCH and len(scores) == len(theirs):
                    unequal = f"{(np.abs(scores - theirs) > 1e-9).sum()}"
                print(
                    f"| `{name}` | {ours['candidates']:,.0f} | {threads} |"
                    f" {rate * peer['seconds'] / peer['candidates']:.0f} x | {rate:,.0f} |"
                    f" {ours['search'] / ours['seconds']:.0%} | {ours['memory']:.2f} | {gain} | {unequal} |",
                    flush=True,
                )
    return None


if __name__ == "__main__":
    sys.exit(main())
