"""Directories of mt-metrics-eval: test sets of many language pairs with outputs and human scores.

::

    sources/en-de.txt                    one segment a line
    references/en-de.refA.txt
    system-outputs/en-de/SYSTEM.txt      a reference that is scored too has a file here under its name
    documents/en-de.docs                 a domain and a document for every segment
    human-scores/en-de.NAME.seg.score    see `ranker.corpora.formats.mtme_scores`
    metric-scores/en-de/METRIC-REFERENCES.seg.score

Every language pair that has system outputs is read. Human scores of segments become ratings of the kind NAME; those of
MQM (``mqm``, ``mqm-...``), which are negated penalties there, become penalties, ``mqm_total`` and ``mqm_...``;
other scores whose name implies that lower is better are negated too. Scores of documents, domains and systems, and
marked errors (``*.seg.rating``), are not kept. Scores of metrics are read by `published_scores` alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ranker.arrays import BoolArray, FloatArray, Int64Array
from ranker.corpora.column_names import lower_is_better
from ranker.corpora.dataset import Dataset, concatenate_datasets
from ranker.corpora.formats.mtme_scores import parse_scores
from ranker.corpora.records import build_dataset, shown, side_by_side
from ranker.errors import DataError, counted, log_note, nearest
from ranker.files import display_name, printable, read_lines, read_text

_PAIR = re.compile(r"[A-Za-z]{2,3}(?:_[A-Za-z]+)*-[A-Za-z]{2,3}(?:_[A-Za-z]+)*\Z")
_SCORES = re.compile(r"(?P<pair>[^.]+)\.(?P<name>.+)\.(?P<level>sys|domain|doc|seg)\.score\Z")
_OUTPUTS = "system-outputs"
_PUBLISHED = "metric-scores"
_METRIC = re.compile(r"(?P<name>.+)-(?P<references>[^-]+)\.seg\.score\Z")


def is_mtme(folder: str | Path) -> bool:
    """True if a directory has the layout of mt-metrics-eval, even without its sources."""
    return (Path(folder) / _OUTPUTS).is_dir()


def read_mtme(folder: str | Path, *, name: str | None = None) -> Dataset:
    """Read the test set in an mt-metrics-eval directory."""
    root = Path(folder)
    file = display_name(root)
    folders = [path.name for path in _listed(root / _OUTPUTS) if path.is_dir()]
    available = [name for name in folders if _PAIR.match(name) or (root / "sources" / f"{name}.txt").exists()]
    if not available:
        raise DataError(
            "contains no language pair, expected directories such as en-de", file=display_name(root / _OUTPUTS)
        )
    name = name or printable(root.resolve().name)
    tests = [_read_pair(root, pair, name) for pair in available]
    left_out = sum(named["level"] != "seg" for pair in available for _, named in _score_files(root, pair))
    if left_out:
        log_note(f"ignored {counted(left_out, 'file')} of human scores that are not at segment level", file)
    return replace(concatenate_datasets(tests), name=name)


def has_published_scores(folder: str | Path) -> bool:
    """True if a directory contains metric scores in the layout of mt-metrics-eval."""
    return is_mtme(folder) and bool(_listed(Path(folder) / _PUBLISHED))


def published_scores(
    folder: str | Path, dataset: Dataset, reference: str
) -> tuple[Dataset, dict[str, FloatArray], list[str]]:
    """Read the metric scores that an mt-metrics-eval directory has for one reference or for the source alone.

    Returns the data set, as read by `read_mtme`, with this reference alone; the scores by metric and reference,
    such as ``COMET-refA`` or ``CometKiwi-src``, NaN for candidates without a score; and the metrics that are left out,
    because they lack scores for a language pair or for a judged candidate.
    """
    root, pairs = Path(folder), dataset.source_language_pairs
    names = dataset.references["name"].to_numpy(object)
    named = dataset.references["source"].to_numpy(np.int64)[names == reference]
    lacking = np.flatnonzero(~np.isin(np.arange(len(dataset.sources)), named))
    if len(lacking):
        lp = pairs[lacking[0]]
        known = sorted({*names[pairs[dataset.references["source"].to_numpy(np.int64)] == lp]})
        listed = ", ".join(known) or "none"
        what = f"{lp} has no reference {shown(reference)}{nearest(reference, known)}; available: {listed}"
        raise DataError(what, file=display_name(root))
    kept = replace(dataset, references=dataset.references[names == reference].reset_index(drop=True))
    scores: dict[str, FloatArray] = {}
    covered: Counter[str] = Counter()
    for lp in dataset.language_pairs:
        for path in _listed(root / _PUBLISHED / lp):
            metric = _METRIC.match(path.name)
            if metric is None or metric["references"] not in (reference, "src"):
                continue
            name = printable(f"{metric['name']}-{metric['references']}")
            values = scores.setdefault(name, np.full(len(dataset), np.nan))
            _put_scores(values, parse_scores(read_text(path), display_name(path)), kept, pairs == lp, path)
            covered[name] += 1
    if not scores:
        what = f"has no scores with {shown(reference)} or src, expected files such as COMET-{reference}.seg.score"
        raise DataError(what, file=display_name(root / _PUBLISHED))
    judged = dataset.ratings["candidate"].unique()
    whole = [
        name
        for name, values in scores.items()
        if covered[name] == len(dataset.language_pairs) and not np.isnan(values[judged]).any()
    ]
    return kept, {name: scores[name] for name in whole}, [name for name in scores if name not in whole]


def _put_scores(
    values: FloatArray,
    by_system: Mapping[str, Sequence[tuple[float | None, int]]],
    dataset: Dataset,
    of_pair: BoolArray,
    path: Path,
) -> None:
    """Copy a score file's values, one per segment of a language pair, to the candidates' rows in `values`."""
    segment = dataset.sources["seg_id"].to_numpy(object)[dataset.candidate_source]
    systems = dataset.candidates["system"].to_numpy(object)
    rows_of = of_pair[dataset.candidate_source]
    highest = max(map(int, segment[rows_of]), default=0)
    for system, scored in by_system.items():
        if len(scored) < highest:
            what = f"system {shown(system)} has {len(scored)} scores, expected one for each of {highest} segments"
            raise DataError(what, file=display_name(path), line=scored[-1][1])
        numbers = np.array([score for score, _ in scored], dtype=np.float64)
        rows = np.flatnonzero(rows_of & (systems == system))
        values[rows] = numbers[segment[rows].astype(np.int64) - 1]


def _listed(folder: Path) -> list[Path]:
    """Return the visible entries of a folder, sorted by name; empty if the folder does not exist."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _read_pair(root: Path, pair: str, name: str) -> Dataset:
    source_file = root / "sources" / f"{pair}.txt"
    sources = read_lines(source_file)
    size, like = len(sources), display_name(source_file)

    def texts(paths: list[Path], prefix: str) -> dict[str, list[str]]:
        texts_by_name: dict[str, list[str]] = {}
        for path in paths:
            if path.name.endswith(".txt") and path.name.startswith(prefix):
                name = display_name(path.name.removesuffix(".txt").removeprefix(prefix))
                if name in texts_by_name:
                    what = "has the same name as another file except for unprintable characters; rename one of them"
                    raise DataError(what, file=display_name(path))
                texts_by_name[name] = read_lines(path, size, like)
        return texts_by_name

    references = texts(_listed(root / "references"), f"{pair}.")
    systems = texts(_listed(root / _OUTPUTS / pair), "")
    if not systems:
        raise DataError(
            "contains no output, expected files named SYSTEM.txt", file=display_name(root / _OUTPUTS / pair)
        )
    documents_file = root / "documents" / f"{pair}.docs"
    documents = _documents(documents_file, size, like) if documents_file.exists() else [None] * size
    return build_dataset(
        name,
        {"lp": [pair] * size, "doc": documents, "seg_id": [*map(str, range(1, size + 1))], "text": sources},
        side_by_side([*references.values()], size, name=[*references]),
        side_by_side(
            [*systems.values()], size, system=[*systems], is_reference=[system in references for system in systems]
        ),
        _human_scores(root, pair, [*systems], size),
        file=display_name(root),
        lines=range(1, size + 1),
    )


def _documents(path: Path, size: int, like: str) -> list[str | None]:
    names: list[str | None] = []
    for number, line in enumerate(read_lines(path, size, like), 1):
        fields = line.split()
        if len(fields) != 2:
            what = f"expected a domain and a document, found {shown(line)}"
            raise DataError(what, file=display_name(path), line=number)
        names.append(fields[1])
    return names


def _score_files(root: Path, pair: str) -> Iterator[tuple[Path, re.Match[str]]]:
    """Yield each file of human scores for a language pair, with the parts of its name."""
    for path in _listed(root / "human-scores"):
        # marked errors, whose sums are among the scores
        if not path.name.startswith(f"{pair}.") or path.name.endswith(".rating"):
            continue
        named = _SCORES.match(path.name)
        if named is None:
            what = "expected a name like en-de.NAME.seg.score (or doc, domain, sys)"
            raise DataError(what, file=display_name(path))
        yield path, named


def _human_scores(root: Path, pair: str, systems: Sequence[str], size: int) -> dict[str, Any]:
    """Return the segment-level human scores of a language pair as columns of ratings."""
    places = {system: place for place, system in enumerate(systems)}
    candidates: list[Int64Array] = [np.zeros(0, dtype=np.int64)]
    values: list[FloatArray] = [np.zeros(0)]
    kinds: list[str] = []
    for path, named in _score_files(root, pair):
        if named["level"] != "seg":
            continue
        kind, sign = _kind(named["name"])
        file = display_name(path)
        for system, scores in parse_scores(read_text(path), file).items():
            if system not in places:
                what = f"expected a system of {pair}, found {shown(system)}{nearest(system, places)}"
                raise DataError(what, file=file, line=scores[0][1])
            if len(scores) != size:
                what = f"system {shown(system)} has {counted(len(scores), 'score')}, expected {size}, one per segment"
                raise DataError(what, file=file, line=scores[-1][1])
            value = np.array([score for score, _ in scores], dtype=np.float64)
            judged = np.flatnonzero(~np.isnan(value))
            candidates.append(judged * len(systems) + places[system])
            values.append(sign * value[judged])
            kinds += [kind] * len(judged)
    return {"candidate": np.concatenate(candidates), "kind": kinds, "value": np.concatenate(values)}


def _kind(name: str) -> tuple[str, int]:
    """Return the kind of judgement in a file of human scores, and the sign by which to multiply its scores."""
    if name != "mqm" and not re.match(r"mqm[-_.]", name):
        return name, -1 if lower_is_better(name) else 1
    return ("mqm_total" if name == "mqm" else f"mqm_{name[4:]}"), -1
