"""What the benches share: the shared data, tables in Markdown, times, and sacreBLEU's scores."""

from __future__ import annotations

import gzip
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ranker.arrays import BoolArray, FloatArray
from ranker.corpora.dataset import Dataset
from ranker.errors import MissingError, RankerError
from ranker.evaluation.metrics.result import Cell
from ranker.evaluation.resampling.bootstrap import Estimate
from ranker.files import display_name

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("RANKER_SHARED", ROOT.parent / "shared"))
INTO_ENGLISH = "*-en"
PEERS = {"bleu": "BLEU", "chrf": "CHRF", "ter": "TER"}
"""Metrics that sacreBLEU has too, by the name of its class."""


def say(what: str) -> None:
    """Tell on stderr what is being done."""
    print(what, file=sys.stderr, flush=True)


def run_main(main: Callable[[], int | None]) -> NoReturn:
    """Run a bench; what is missing or wrong is said in one line."""
    try:
        raise SystemExit(main())
    except RankerError as error:
        say(f"error: {error}")
        raise SystemExit(2) from None


def locate(name: str) -> str:
    """Return the shared corpus of that name, or the name itself."""
    paths = [SHARED / "data" / f"{name}{ending}.jsonl.gz" for ending in ("-rr", "")]
    return next((str(path) for path in paths if path.is_file()), name)


def shared_file(name: str) -> Path:
    """Return the path of a file of the shared data; raise a `MissingError` if it is not there."""
    path = SHARED / "data" / name
    if not path.is_file():
        raise MissingError(f"{name!r} is not in {display_name(path.parent)}")
    return path


def shared_records(name: str) -> Iterator[dict[str, Any]]:
    """Read the records of a corpus, or of its marked errors, from the shared data."""
    with gzip.open(shared_file(f"{name}.jsonl.gz"), "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def table(head: Sequence[str], rows: Sequence[Sequence[object]] = ()) -> list[str]:
    """Write a table, Markdown."""
    return [row(*head), f"|{'---|' * len(head)}", *(row(*cells) for cells in rows)]


def figure(value: Cell | Estimate | None) -> str:
    """Write a figure with its interval."""
    if value is None or np.isnan(value.value):
        return "-"
    interval = "" if np.isnan(value.low) else f" [{value.low:.3f} {value.high:.3f}]"
    return f"{value.value:.3f}{interval}"


def drawn_sources(dataset: Dataset, among: BoolArray, most: int) -> BoolArray:
    """Draw at most `most` of the sources `among` from every language pair."""
    chosen, generator = np.zeros_like(among), np.random.default_rng(0)
    for lp in dataset.language_pairs:
        chosen[generator.permutation(np.flatnonzero(among & (dataset.source_language_pairs == lp)))[:most]] = True
    return chosen


def best_of(
    runs: int, work: Callable[[], object], clock: Callable[[], float] = time.process_time
) -> tuple[float, object]:
    """Return the least time of several runs, of the processor unless told otherwise, and what the last one returned."""
    times, result = [], None
    for _ in range(runs):
        start = clock()
        result = work()
        times.append(clock() - start)
    return min(times), result


def peer_scores(name: str, dataset: Dataset) -> FloatArray:
    """Score sentence by sentence with sacreBLEU, as its users do."""
    import sacrebleu

    options = {"effective_order": True} if name == "bleu" else {}
    metric = getattr(sacrebleu.metrics, PEERS[name])(**options)
    references, offsets = dataset.references["text"].tolist(), dataset.reference_offsets
    pairs = zip(dataset.candidates["text"], dataset.candidate_source, strict=True)
    return np.array(
        [metric.sentence_score(text, references[offsets[at] : offsets[at + 1]]).score / 100 for text, at in pairs]
    )
