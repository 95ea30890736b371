"""Sources of a report with their outputs, and their packed form in the page."""

from __future__ import annotations

import base64
import gzip
import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset
from ranker.ranks import merge_ties
from ranker.reports.texts import on_one_line, visible

_DECIMALS = 3


@dataclass(frozen=True)
class Output:
    """A translation of a source, with the equally ranked systems that produced it; None is the rank of the unjudged."""

    row: int
    systems: tuple[str, ...]
    text: str
    rank: int
    score: float
    human_ranks: tuple[int | None, ...]
    human: tuple[float, ...]
    parts: tuple[float, ...]


@dataclass(frozen=True)
class SourceOutputs:
    """One source with its outputs, best score first."""

    key: str
    data: str
    language_pair: str
    segment: str
    text: str
    references: tuple[str, ...]
    rho: float
    outputs: tuple[Output, ...]
    predicted: tuple[tuple[str, ...], ...]
    by_people: tuple[tuple[str, ...], ...]

    @property
    def name(self) -> str:
        """Display name: language pair and segment."""
        return " ".join(filter(None, (self.language_pair, self.segment)))

    @property
    def group(self) -> str:
        """Display name of the data: data set and language pair."""
        return " ".join(filter(None, (self.data, self.language_pair)))


def source_keys(datasets: Sequence[Dataset]) -> list[list[str]]:
    """Return a unique key for each source: ``LP/SEGMENT``, if needed preceded by the data set or followed by ``~2``."""
    short = []
    for dataset in datasets:
        pairs = dataset.sources["lp"].fillna("").tolist()
        segments = dataset.sources["seg_id"].fillna("").tolist()
        numbered = [segment or str(number) for number, segment in enumerate(segments, 1)]
        short.append([on_one_line("/".join(filter(None, parts))) for parts in zip(pairs, numbered, strict=True)])
    counts = Counter(key for keys in short for key in keys)
    seen: Counter[str] = Counter()

    def unique(keys: list[str], name: str) -> Iterator[str]:
        for key in keys:
            full = key if counts[key] == 1 else f"{on_one_line(name)}/{key}"
            seen[full] += 1
            yield full if seen[full] == 1 else f"{full}~{seen[full]}"

    return [list(unique(keys, dataset.name)) for keys, dataset in zip(short, datasets, strict=True)]


def outputs_by_source(
    dataset: Dataset,
    keys: Sequence[str],
    scores: FloatArray,
    parts: FloatArray,
    human: FloatArray,
    rho: FloatArray,
    *,
    sign: float = 1.0,
) -> tuple[SourceOutputs, ...]:
    """Collect the details of every source that has a candidate."""
    systems, texts = (dataset.candidates[name].tolist() for name in ("system", "text"))
    facts = {name: dataset.sources[name].fillna("").tolist() for name in ("lp", "seg_id", "text")}
    references = dataset.references["text"].tolist()
    listed = []
    for source, key in enumerate(keys):
        first, last = dataset.candidate_offsets[source : source + 2]
        if first == last:
            continue
        rows = slice(first, last)
        ranks, human_ranks = ranked(sign * scores[rows]), ranked(human[rows])
        known = ~np.isnan(human[rows])
        judged = known.any()
        same: dict[tuple[str, int], list[int]] = {}
        for place in np.argsort(ranks, kind="stable").tolist():
            same.setdefault((texts[first + place], int(ranks[place])), []).append(place)
        outputs = tuple(
            Output(
                row=int(first + places[0]),
                systems=tuple(systems[first + place] for place in places),
                text=text,
                rank=rank,
                score=float(scores[first + places[0]]),
                human_ranks=tuple(int(human_ranks[place]) if known[place] else None for place in places)
                if judged
                else (),
                human=tuple(human[first + np.array(places)].tolist()),
                parts=tuple(parts[first + places[0]].tolist()),
            )
            for (text, rank), places in same.items()
        )
        listed.append(
            SourceOutputs(
                key=key,
                data=dataset.name,
                language_pair=facts["lp"][source],
                segment=facts["seg_id"][source] or str(source + 1),
                text=facts["text"][source],
                references=tuple(references[slice(*dataset.reference_offsets[source : source + 2])]),
                rho=float(rho[source]),
                outputs=outputs,
                predicted=_in_order(systems[rows], ranks),
                by_people=_in_order([*itertools.compress(systems[rows], known)], human_ranks[known]),
            )
        )
    return tuple(listed)


def packed(
    sources: Sequence[SourceOutputs],
    parts: Sequence[str],
    *,
    title: str = "Contributions to the score",
    signed: bool = True,
) -> str:
    """Pack all sources for the page: JSON, compressed with gzip, in base64.

    The JSON is an object of ``parts`` (names of the parts of a score), ``title`` (of the table of parts), ``signed``
    (true if scores and parts are shown with their sign) and ``sources``: lists of key, data set and language pair,
    segment, text, references, rho and outputs; an output is a list of systems, text, rank, score, ranks and scores by
    people, and parts. Numbers that are not finite are null.
    """
    rows = [
        [
            source.key,
            source.group,
            source.segment,
            source.text,
            source.references,
            _rounded(source.rho),
            [
                [
                    output.systems,
                    output.text,
                    output.rank,
                    _rounded(output.score),
                    output.human_ranks,
                    [_rounded(value) for value in output.human] if output.human_ranks else [],
                    [_rounded(value) for value in output.parts],
                ]
                for output in source.outputs
            ],
        ]
        for source in sources
    ]
    whole = {"parts": _shown(list(parts)), "title": title, "signed": signed, "sources": _shown(rows)}
    text = json.dumps(whole, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def ranked(values: npt.ArrayLike) -> Int64Array:
    """Rank values from 1 for the highest; ties share the better rank, and NaN comes last."""
    merged = merge_ties(values)
    filled = np.where(np.isnan(merged), -np.inf, merged)
    return np.asarray(1 + (filled[np.newaxis, :] > filled[:, np.newaxis]).sum(axis=1), dtype=np.int64)


def _in_order(systems: Sequence[str], ranks: Int64Array) -> tuple[tuple[str, ...], ...]:
    return tuple(
        tuple(system for system, each in zip(systems, ranks, strict=True) if each == rank) for rank in np.unique(ranks)
    )


def _rounded(value: float) -> float | None:
    return round(value, _DECIMALS) + 0.0 if math.isfinite(value) else None


def _shown(value: object) -> object:
    """Make control characters visible in the texts of nested lists."""
    if isinstance(value, str):
        return visible(value)
    return [_shown(item) for item in value] if isinstance(value, list | tuple) else value
