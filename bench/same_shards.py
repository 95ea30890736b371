"""Compares runs on shards with unsharded runs: ``python bench/same_shards.py FOLDER [--data sample,FILE]``.

Every corpus is divided into 1, 2 and 7 shards, and 7 in another order, which are processed locally, and the 7 also on
Dask clusters of 1, 2 and 4 processes. A row is printed for each kind of result: how many runs and values were compared,
the largest difference, and whether all bytes are the same. The exit code is 1 if a difference is larger than allowed.
`full` needs parses, so it ranks `PARSED` alone where a corpus has these language pairs.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ranker.corpora.selection import select_language_pairs

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
METRICS = ("bleu", "chrf", "ter", "perp[model=shipped]", "meteor", "rouge_l")
PARSED = ("hi-en",)
KEYS = ["lp", "seg_id", "system"]
SHARDS = 7
ALLOWED = 1e-9
KINDS = ("scores", "ranks, full-any", "ranks, full", "evaluation")
Values = dict[str, np.ndarray]


@dataclass
class Comparison:
    """What became of all runs that were compared with one unsharded run.

    Parameters
    ----------
    whole : dict of str to array
        The unsharded run.
    runs : int
    difference : float
        The largest.
    different : list of str
        Runs whose bytes are not the same.
    """

    whole: Values
    runs: int = 0
    difference: float = 0.0
    different: list[str] = field(default_factory=list)

    def add(self, run: str, values: Values) -> None:
        """Compare a run."""
        self.runs += 1
        if _bytes(values) != _bytes(self.whole):
            self.different.append(run)
        for name, expected in self.whole.items():
            array = values.get(name)
            if array is None or array.shape != expected.shape or expected.dtype.kind == "U":
                same = array is not None and np.array_equal(array, expected)
                self.difference = max(self.difference, 0.0 if same else np.inf)
            else:
                equal = (array == expected) | (np.isnan(array) & np.isnan(expected))
                largest = float(np.abs(array - expected)[~equal].max(initial=0.0))
                self.difference = max(self.difference, np.inf if np.isnan(largest) else largest)


@dataclass(frozen=True)
class Division:
    """A corpus as shards, and where they are processed.

    Parameters
    ----------
    name : str
    data : list of str
    engine : list of str
        Options.
    same_order : bool
        Whether the sources are in the order of the corpus.
    """

    name: str
    data: list[str]
    engine: list[str]
    same_order: bool = True


def run(*words: str) -> str:
    """Run a command in this process, and return what it prints.

    Raises
    ------
    RuntimeError
        If it fails.
    """
    from ranker.cli.main import run as run_command

    printed, said = io.StringIO(), io.StringIO()
    code: object = 0
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
        try:
            run_command(["--quiet", *words])
        except SystemExit as error:
            code = error.code
    if code:
        raise RuntimeError(f"ranker {' '.join(words)}: {said.getvalue()[-500:]}")
    return printed.getvalue()


def table(folder: Path) -> pd.DataFrame:
    """Return the results of all shards."""
    import pyarrow.parquet

    return pd.concat([pyarrow.parquet.read_table(file).to_pandas() for file in sorted(folder.glob("part-*.parquet"))])


def by_candidate(rows: pd.DataFrame) -> Values:
    """Return the columns of figures in the order of language pairs, segments and systems."""
    rows = rows.sort_values(KEYS, kind="stable")
    keys = np.array(["\t".join(map(str, key)) for key in rows[KEYS].itertuples(index=False)])
    figures = [name for name in rows.columns if name not in (*KEYS, "doc")]
    return {"keys": keys, **{name: rows[name].to_numpy(np.float64) for name in figures}}


def scores(data: Sequence[str], engine: Sequence[str], out: Path) -> Values:
    """Return the scores of shards."""
    run("score", *data, "--metric", ",".join(METRICS), "--out", str(out), *engine)
    return by_candidate(table(out))


def ranks(data: Sequence[str], engine: Sequence[str], out: Path, model: str) -> Values:
    """Return the ranks of shards."""
    run("rank", *data, "--model", model, "--out", str(out), *engine)
    return by_candidate(table(out))


def evaluation(data: Sequence[str], more: Sequence[str]) -> Values:
    """Return the figures and intervals of an evaluation."""
    document = json.loads(run("evaluate", *data, "--metric", "chrf", "--resamples", "100", "--json", *more))
    return {"figures": np.array(list(_numbers(document["rows"])))}


def _numbers(value: object) -> Iterator[float]:
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _numbers(part)
    elif isinstance(value, int | float):
        yield float(value)


def segment_scores(dataset: Any) -> pd.DataFrame:
    """Return the scores of all candidates, as `scores` does of shards."""
    from ranker.evaluation.systems.levels import Units
    from ranker.ranking import make_scorer

    units = Units.of(dataset, "segment")
    result = units.keys[KEYS].copy()
    for name in METRICS:
        scorer = make_scorer(name, None)
        result[scorer.name] = units.score(scorer, scorer.statistics(dataset))
    return result


def ranking(dataset: Any, model: str) -> pd.DataFrame:
    """Return the ranks of all candidates, as `ranks` does of shards."""
    from ranker.extractors.scorers import rank_by
    from ranker.ranking import make_scorer

    result = rank_by(dataset, make_scorer(None, model).candidate_scores(dataset))
    keys = dataset.sources[["lp", "seg_id"]].iloc[dataset.candidate_source[result["candidate"]]].reset_index(drop=True)
    return pd.concat([keys, result[["system", "rank", "tied", "score", "margin"]]], axis=1)


def divisions(data: str, folder: Path, addresses: dict[int, str], lp: Sequence[str] = ()) -> list[Division]:
    """Divide a corpus."""
    from ranker.corpora import catalogue
    from ranker.corpora.shards.making import make_shards

    dataset = catalogue.load(data)
    rows = len(select_language_pairs(dataset, lp)) if lp else len(dataset)
    for number in (1, 2, SHARDS):
        per_shard = next(
            size
            for size in range(-(-rows // number), 2 * rows, max(rows // 500, 1))
            if len(make_shards(data, _emptied(folder / str(number)), size, lp=lp).shards) == number
        )
        print(f"{data}: {number} shards of up to {per_shard:,} candidates", file=sys.stderr)
    # each pattern matches one file
    others = [str(folder / str(SHARDS) / f"part-0000{number}.*t") for number in (4, 2, 6, 0, 5, 1, 3)]
    return [
        *(Division(f"{number} local", [str(folder / str(number))], []) for number in (1, 2, SHARDS)),
        Division("another order", others, [], same_order=False),
        *(
            Division(f"{workers} workers", [str(folder / str(SHARDS))], ["--scheduler", address])
            for workers, address in addresses.items()
        ),
    ]


def _emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def _bytes(values: Values) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in values.items()}


def in_order_of(division: Division, folder: Path) -> str:
    """Write the sources of shards as one file, in their order, and return it."""
    from ranker.corpora.formats.writing import write_dataset
    from ranker.corpora.shards.shards import Shards

    shards = Shards.open(division.data)
    if shards is None:
        raise ValueError(f"{division.data}: no shards")
    path = folder / "ordered.jsonl.gz"
    write_dataset(shards.load(), path)
    return str(path)


def compare(data: str, folder: Path, addresses: dict[int, str], kinds: Sequence[str]) -> dict[str, Comparison]:
    """Compare results of one corpus: those of `KINDS` that are named in `kinds`."""
    from ranker.corpora import catalogue

    dataset = catalogue.load(data)
    lps = set(dataset.sources["lp"].dropna())
    parsed = [lp for lp in PARSED if lp in lps] or sorted(lps)
    out = folder / "out"
    folder.mkdir(parents=True, exist_ok=True)

    def unsharded(file: str) -> dict[str, Callable[[], Values]]:
        return {
            "scores": lambda: by_candidate(segment_scores(dataset)),
            "ranks, full-any": lambda: by_candidate(ranking(dataset, "full-any")),
            "evaluation": lambda: evaluation([file], []),
        }

    def sharded(division: Division) -> dict[str, Callable[[], Values]]:
        words, engine = division.data, division.engine
        return {
            "scores": lambda: scores(words, engine, out / "scores"),
            "ranks, full-any": lambda: ranks(words, engine, out / "ranks", "full-any"),
            "evaluation": lambda: evaluation(words, engine),
        }

    results = {name: Comparison(make()) for name, make in unsharded(data).items() if name in kinds}
    for division in divisions(data, folder, addresses) if results else ():
        print(f"{data}: {division.name}", file=sys.stderr)
        _emptied(out)
        for name, make in sharded(division).items():
            if name not in kinds:
                continue
            comparison = results[name]
            if name == "evaluation" and not division.same_order:
                # intervals depend on the order of the sources
                comparison = Comparison(unsharded(in_order_of(division, folder))[name]())
                results[f"{name}, another order"] = comparison
            comparison.add(division.name, make())
    if "ranks, full" in kinds:
        part = select_language_pairs(dataset, parsed)
        results[f"ranks, full, {' '.join(parsed)}"] = full = Comparison(by_candidate(ranking(part, "full")))
        for division in divisions(data, folder / "full", addresses, parsed):
            full.add(division.name, ranks(division.data, division.engine, _emptied(out), "full"))
    return results


def main() -> None:
    """Compare all corpora."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="for shards and results")
    parser.add_argument("--data", default="sample", help="corpora, separated by commas")
    parser.add_argument("--workers", default="1,2,4", help="numbers of processes on Dask")
    parser.add_argument("--kinds", default="; ".join(KINDS), help="kinds of results, separated by semicolons")
    options = parser.parse_args()
    from distributed import LocalCluster

    kinds = [name.strip() for name in options.kinds.split(";")]
    if unknown := set(kinds) - set(KINDS):
        parser.error(f"--kinds: unknown {', '.join(sorted(unknown))}; expected some of {', '.join(KINDS)}")
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
            for name, comparison in compare(data, options.folder / str(number), addresses, kinds).items():
                values = sum(array.size for array in comparison.whole.values())
                same = "the same bytes" if not comparison.different else f"other bytes: {comparison.different}"
                facts = f"{comparison.runs} runs, {values:,} values, largest difference {comparison.difference:.2g}"
                print(f"{Path(data).name}, {name}: {facts}, {same}", flush=True)
                failed = failed or comparison.difference > ALLOWED
            print(f"{Path(data).name}: {time.process_time() - started:.0f} s without workers", file=sys.stderr)
    raise SystemExit(int(failed))


if __name__ == "__main__":
    main()
