"""Cost of runs on shards: throughput, memory and disk by number of candidates and workers.

``python bench/scale.py measure FOLDER --rows 100000,1000000`` makes corpora and shards in a folder, runs the commands
of `COMMANDS` on them and prints a row for each, then fits ``time = a + b * candidates``, times of the processor.
Sentences are those of the bundled sample, translated by the sample's simulated systems, each under one of many seeds:
seven candidates and four references per source.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from data.making.sample import SYSTEMS, read_sentences, simulate  # noqa: E402

SENTENCES = ROOT / "data" / "sample" / "sentences.jsonl"
SEEDS = 100
COMMANDS = {
    "score bleu,chrf,ter": ["score", "--metric", "bleu,chrf,ter"],
    "rank full-any": ["rank", "--model", "full-any"],
}


def records(rows: int, seed: int = 0) -> Iterator[str]:
    """Yield JSON lines of about `rows` candidates."""
    sentences = read_sentences(SENTENCES)
    seeds = min(SEEDS, -(-rows // (len(SYSTEMS) * len(sentences))))
    pool = [simulate(sentences, seed=seed + number) for number in range(seeds)]

    def text(row: int, column: int, translated: list[dict]) -> str:
        candidate = translated[row]["candidates"][column]
        return json.dumps({key: candidate[key] for key in ("system", "text")}, ensure_ascii=False)

    # every system and sentence: the object for each seed as JSON text
    outputs = [
        [[text(row, column, each) for each in pool] for column in range(len(SYSTEMS))] for row in range(len(sentences))
    ]
    heads = [
        json.dumps({"lp": "zh-en", "source": sentence.source, "references": sentence.references}, ensure_ascii=False)[
            :-1
        ]
        for sentence in sentences
    ]
    generator = np.random.default_rng(seed)
    for number in range(-(-rows // len(SYSTEMS))):
        row = int(generator.integers(len(sentences)))
        drawn = generator.integers(len(pool), size=len(SYSTEMS)).tolist()
        candidates = ", ".join(outputs[row][column][item] for column, item in enumerate(drawn))
        yield f'{heads[row]}, "seg_id": "{number + 1}", "candidates": [{candidates}]}}\n'


def make(rows: int, path: Path) -> None:
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(records(rows))


def timed(words: list[str]) -> dict[str, float]:
    """Run a command, and return seconds, seconds of processor and its peak memory in MB."""
    code = (
        "import json, resource, subprocess, sys\n"
        "ended = subprocess.run([sys.executable, '-m', 'ranker', *sys.argv[1:]], stdout=subprocess.DEVNULL,\n"
        "                       stderr=subprocess.PIPE, text=True)\n"
        "if ended.returncode: sys.exit(ended.stderr)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(json.dumps({'cpu': used.ru_utime + used.ru_stime, 'mb': used.ru_maxrss / 1024}))"
    )
    started = time.monotonic()
    result = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, cwd=ROOT, check=False)
    if result.returncode:
        raise SystemExit(result.stderr)
    return {"seconds": time.monotonic() - started, **json.loads(result.stdout)}


def megabytes(folder: Path) -> float:
    files = folder.rglob("*") if folder.is_dir() else [folder]
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


def measure(folder: Path, sizes: list[int], workers: list[int], per_shard: int) -> list[dict[str, object]]:
    """Make and shard corpora of all sizes and run all commands on them; each result is printed when it is there."""
    result: list[dict[str, object]] = []

    def add(what: str, rows: int, used: dict[str, float], processes: int, written: Path) -> None:
        row = {
            "command": what,
            "candidates": rows,
            "workers": processes,
            "seconds": round(used["seconds"], 1),
            "cpu": round(used["cpu"], 1),
            "per second": round(rows / used["seconds"]),
            "peak MB": round(used["mb"]),
            "written MB": round(megabytes(written), 1),
        }
        result.append(row)
        print(json.dumps(row), flush=True)

    for rows in sizes:
        corpus, shards, out = folder / f"{rows}.jsonl", folder / f"{rows}-shards", folder / f"{rows}-out"
        if not corpus.exists():
            make(rows, corpus)
        shutil.rmtree(shards, ignore_errors=True)
        used = timed(["data", "shard", str(corpus), "--out", str(shards), "--rows", str(per_shard)])
        add("data shard", rows, used, 1, shards)
        for name, words in COMMANDS.items():
            for processes in workers:
                shutil.rmtree(out, ignore_errors=True)
                dask = ["--workers", str(processes)] if processes else []
                used = timed([words[0], str(shards), *words[1:], "--out", str(out), *dask])
                add(name, rows, used, processes, out)
    return result


def fits(found: list[dict[str, object]]) -> None:
    """Print time = a + b * candidates for every command and number of workers, with R squared."""
    for command, workers in sorted({(str(row["command"]), row["workers"]) for row in found}):
        rows = [row for row in found if (row["command"], row["workers"]) == (command, workers)]
        if len(rows) < 2:
            continue
        x, y = (np.array([row[name] for row in rows], dtype=float) for name in ("candidates", "cpu"))
        slope, start = np.polyfit(x, y, 1)
        rest = ((y - start - slope * x) ** 2).sum() / ((y - y.mean()) ** 2).sum()
        print(f"{command}, {workers} workers: {start:.1f} s + {slope * 1e6:.1f} s per million, R^2 {1 - rest:.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("measure",))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", default="100000,1000000")
    parser.add_argument("--workers", default="0", help="numbers of Dask workers; 0 is this process")
    parser.add_argument("--per-shard", type=int, default=100_000)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    sizes, workers = ([int(item) for item in text.split(",")] for text in (options.rows, options.workers))
    fits(measure(options.folder, sizes, workers, options.per_shard))


if __name__ == "__main__":
    main()
