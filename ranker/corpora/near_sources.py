"""Near-duplicate sources, whose candidates are therefore not compared, and empty texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from ranker.corpora.dataset import Dataset, source_place
from ranker.corpora.numbered_systems import NUMBERED
from ranker.errors import counted

_SPACE = r"[\s\p{Z}\x{85}\x{feff}\x{200b}]+"


def near_duplicate_sources(dataset: Dataset) -> list[tuple[int, int]]:
    """Return pairs of sources without ids that are equal apart from blanks, unless a system translated both."""
    sources = dataset.sources
    if len(dataset) == len(sources) * dataset.candidates["system"].nunique():
        # every system translated every source
        return []
    keys = [sources["lp"].fillna(""), sources["doc"].fillna(""), _plain(sources["text"])]
    group = pd.concat(keys, axis=1, ignore_index=True).groupby([0, 1, 2], sort=False).ngroup().to_numpy(np.int64)
    numbered = (sources["seg_id"] == pd.Series(np.arange(1, len(sources) + 1)).astype(str)).to_numpy(bool)
    alike = (np.bincount(group) > 1)[group] & (keys[2] != "").to_numpy(bool) & numbered
    if not alike.any():
        return []
    outputs = pd.DataFrame({"group": group[dataset.candidate_source], "system": dataset.candidates["system"]})
    if (np.diff(dataset.candidate_offsets) > 1).any():
        # names that readers gave to outputs do not identify systems
        outputs = outputs[~outputs["system"].str.fullmatch(NUMBERED).to_numpy(bool)]
    alike &= ~np.isin(group, outputs["group"][outputs.duplicated()])
    references = _plain(dataset.references["text"]).tolist()
    first: dict[int, tuple[int, set[str]]] = {}
    pairs = []
    for source in np.flatnonzero(alike).tolist():
        own = {*references[slice(*dataset.reference_offsets[source : source + 2])]} - {""}
        earlier, before = first.setdefault(int(group[source]), (source, own))
        if earlier != source and (not own or not before or own == before):
            pairs.append((source, earlier))
    return pairs


def near_sources_note(dataset: Dataset, lines: Sequence[int | None] = (), unit: str = "source") -> str | None:
    """Return a one-line note on near-duplicate sources, or None; `lines` has each source's line in its file."""
    pairs = near_duplicate_sources(dataset)
    if not pairs:
        return None
    places = [f"{unit} {lines[source]}" if lines else f"source {source + 1}" for source in pairs[0]]
    equal = _are_equal(dataset, pairs)
    how = "equal to another" if equal else "differing from another only by white space or a blank reference"
    what = f"{counted(len(pairs), 'source')} {how}"
    first, advice = f"first: {places[0]}, like {places[1]}", "make them one record" if equal else "make them equal"
    return f"{what} ({first}), so their candidates are not compared: {advice}, or give each a seg_id"


def _are_equal(dataset: Dataset, pairs: Sequence[tuple[int, int]]) -> bool:
    """True if the two sources of every pair have equal texts and references."""
    texts, references = dataset.sources["text"].tolist(), dataset.references["text"].tolist()
    offsets = dataset.reference_offsets
    return all(
        texts[one] == texts[other]
        and references[offsets[one] : offsets[one + 1]] == references[offsets[other] : offsets[other + 1]]
        for one, other in pairs
    )


def counts(dataset: Dataset) -> list[str]:
    """Describe empty candidates and near-duplicate sources, if any, in one line each: the number and the first place.

    Texts of white space alone count as empty. Candidates of preferences without texts are not counted.
    """
    problems: dict[str, list[int]] = {}
    if dataset.has_texts:
        empty = (_plain(dataset.candidates["text"]) == "").to_numpy(bool)
        problems["empty candidates"] = dataset.candidates["source"][empty].tolist()
    pairs = near_duplicate_sources(dataset)
    how = (
        "equal another"
        if _are_equal(dataset, pairs)
        else "differ from another only by white space or a blank reference"
    )
    problems[f"sources that {how}"] = [source for source, _ in pairs]
    return [
        f"{name}: {len(sources)} (first: {source_place(dataset, sources[0])})"
        for name, sources in problems.items()
        if sources
    ]


def _plain(texts: pd.Series) -> pd.Series:
    """Replace any white space in texts by one space, and remove it at the ends."""
    spaced = pc.replace_substring_regex(pa.chunked_array(texts.array.__arrow_array__()), _SPACE, " ")
    return pd.Series(pd.arrays.ArrowStringArray(pc.utf8_trim(spaced, " ")))
