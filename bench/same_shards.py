"""Compares runs on shards with unsharded runs: ``python bench/same_shards.py FOLDER [--data sample,FILE]``.

Every corpus is divided into 1, 2 and 7 shards, and 7 in another order, which are processed locally, and the 7 also on
Dask clusters of 1, 2 and 4 processes. A row is printed for each kind of result: how many runs and values were compared,
the largest difference, and whether all bytes are the same. The exit code is 1 if a difference is larger than allowed.
`full` needs parses, so it ranks `PARSED` alone where a corpus has these language pairs.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from ranker.corpora.selection import select_language_pairs

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.processes import captured

COMMANDS = {
    "scores": ["score", "--metric", "bleu,chrf,ter,perp[model=shipped],meteor,rouge_l"],
    "ranks, full-any": ["rank", "--model", "full-any"],
    "ranks, full": ["rank", "--model", "full"],
    "evaluation": ["evaluate", "--metric", "chrf", "--resamples", "100"],
}
PARSED = ("hi-en",)
KEYS = ["lp", "seg_id", "system"]
NUMBERS = (1, 2, 7)
ANOTHER_ORDER = (4, 2, 6, 0, 5, 1, 3)
ALLOWED = 1e-9
Values = dict[str, np.ndarray]


@dataclass
class Comparison:
    """What became of all runs that were compared with one unsharded run: the largest difference, and other bytes."""

    whole: Values
    runs: int = 0
    difference: float = 0.0
    different: list[str] = field(default_factory=list)

    def add(self, run: str, values: Values) -> None:
        """Compare a run."""
        self.runs += 1
        for name, expected in self.whole.items():
            array = values.get(name)
            if array is not None and array.tobytes() == expected.tobytes():
                continue
            self.different.append(f"{run}: {name}")
            largest = np.inf
            if array is not None and array.shape == expected.shape and expected.dtype.kind != "U":
                equal = (array == expected) | (np.isnan(array) & np.isnan(expected))
                largest = float(np.nan_to_num(np.abs(array - expected)[~equal], nan=np.inf).max(initial=0.0))
            self.difference = max(self.difference, largest)


def run(*words: str) -> str:
    """Run a command in this process, and return what it prints."""
    code, printed, said = captured(["--quiet", *words])
    if code:
        raise RuntimeError(f"ranker {' '.join(words)}: {said[-500:]}")
    return printed


def result(kind: str, data: Sequence[str], more: Sequence[str] = (), out: Path | None = None) -> Values:
    """Return what a command of `COMMANDS` gives for a file, or for shards with results in `out`."""
    command, *options = COMMANDS[kind]
    words = [command, *data, *options, *more]
    if command == "evaluate":
        return {"figures": np.array(list(_numbers(json.loads(run(*words, "--json"))["rows"])))}
    if out is None:
        rows = pd.DataFrame(csv.DictReader(io.StringIO(run(*words, "-f", "csv"))))
        rows = rows.replace({"False": "0", "True": "1", "": "nan"})
    else:
        run(*words, "--out", str(_emptied(out)))
        rows = pd.concat(map(pd.read_parquet, sorted(out.glob("part-*.parquet"))))
    # a file's output has the texts too
    figures = sorted(set(rows.columns) - {*KEYS, "doc", "source", "text", "candidate"})
    rows = rows.sort_values(KEYS, kind="stable")
    keys = np.array(["\t".join(map(str, key)) for key in rows[KEYS].itertuples(index=False)])
    return {"keys": keys, **{name: rows[name].to_numpy(np.float64) for name in figures}}


def _numbers(value: object) -> Iterator[float]:
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _numbers(part)
    elif isinstance(value, int | float):
        yield float(value)


def shard(data: str, folder: Path, number: int, lp: Sequence[str]) -> str:
    """Divide a corpus into that many shards, and return their folder."""
    from ranker.corpora import catalogue

    dataset = catalogue.load(data)
    rows = len(select_language_pairs(dataset, lp)) if lp else len(dataset)
    out = folder / str(number)
    pairs = [word for name in lp for word in ("--lp", name)]
    for size in range(-(-rows // number), 2 * rows, max(rows // 500, 1)):
        run("data", "shard", data, "--out", str(_emptied(out)), "--rows", str(size), *pairs)
        if len(list(out.glob("part-*"))) == number:
            return str(out)
    raise RuntimeError(f"{data}: cannot be divided into {number} shards")


def _emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def in_order_of(shards: Sequence[str], path: Path) -> str:
    """Write the sources of shards as one file, in their order, and return it."""
    from ranker.corpora import catalogue
    from ranker.corpora.dataset import concatenate_datasets
    from ranker.corpora.formats.writing import write_dataset

    write_dataset(concatenate_datasets([catalogue.load(name.replace(".*t", ".parquet")) for name in shards]), path)
    return str(path)


def compare(data: str, folder: Path, addresses: dict[int, str], kinds: Sequence[str]) -> dict[str, Comparison]:
    """Compare results of one corpus: those of `COMMANDS` that are named in `kinds`."""
    from ranker.corpora import catalogue

    lps = set(catalogue.load(data).language_pairs)
    parsed = [lp for lp in PARSED if lp in lps] or sorted(lps)
    folder.mkdir(parents=True, exist_ok=True)
    results = {}
    for some, lp in (([kind for kind in kinds if kind != "ranks, full"], []), (["ranks, full"], parsed)):
        if not set(some) & set(kinds):
            continue
        pairs = [word for name in lp for word in ("--lp", name)]
        results |= {kind: Comparison(result(kind, [data], pairs)) for kind in some}
        shards = {number: shard(data, folder, number, lp) for number in NUMBERS}
        # each pattern matches one file
        turned = [f"{shards[7]}/part-0000{number}.*t" for number in ANOTHER_ORDER]
        divisions = [(f"{number} local", [path], []) for number, path in shards.items()]
        divisions += [("another order", turned, [])]
        divisions += [(f"{n} workers", [shards[7]], ["--workers", address]) for n, address in addresses.items()]
        for division, words, engine in divisions:
            print(f"{data}: {division}", file=sys.stderr, flush=True)
            for kind in some:
                comparison = results[kind]
                if kind == "evaluation" and words == turned:
                    # intervals depend on the order of the sources
                    whole = Comparison(result(kind, [in_order_of(turned, folder / "ordered.jsonl.gz")]))
                    comparison = results[f"{kind}, {division}"] = whole
                comparison.add(division, result(kind, words, engine, folder / "out"))
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="for shards and results")
    parser.add_argument("--data", default="sample", help="corpora, separated by commas")
    parser.add_argument("--workers", default="1,2,4", help="numbers of processes on Dask")
    parser.add_argument("--kinds", nargs="+", choices=tuple(COMMANDS), default=list(COMMANDS))
    options = parser.parse_args()
    from distributed import LocalCluster

    failed = False
    with contextlib.ExitStack() as opened:
        addresses = {}
        for number in map(int, options.workers.split(",")):
            cluster = LocalCluster(
                n_workers=number, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50
            )
            addresses[number] = opened.enter_context(cluster).scheduler_address
        for number, data in enumerate(options.data.split(",")):
            started = time.process_time()
            for name, comparison in compare(data, options.folder / str(number), addresses, options.kinds).items():
                values = sum(array.size for array in comparison.whole.values())
                same = "the same bytes" if not comparison.different else f"other bytes: {comparison.different}"
                facts = f"{comparison.runs} runs, {values:,} values, largest difference {comparison.difference:.2g}"
                print(f"{Path(data).name}, {name}: {facts}, {same}", flush=True)
                failed = failed or comparison.difference > ALLOWED
            print(f"{Path(data).name}: {time.process_time() - started:.0f} s without workers", file=sys.stderr)
    raise SystemExit(int(failed))


if __name__ == "__main__":
    main()
