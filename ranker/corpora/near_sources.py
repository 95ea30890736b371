"""Near-duplicate sources, whose candidates are therefore not compared, and empty texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from ranker.arrays import BoolArray
from ranker.corpora.dataset import Dataset, source_place
from ranker.corpora.numbered_systems import NUMBERED
from ranker.errors import counted

_SPACE = r"[\s\p{Z}\x{85}\x{feff}\x{200b}]+"


def near_duplicate_sources(dataset: Dataset) -> list[tuple[int, int]]:
    """Return pairs of sources that are equal apart from blanks or a missing lp or doc, unless a system translated both.

    Sources with ids of their own are paired only if they have the same one, and one lacks the language pair.
    """
    sources = dataset.sources
    if len(dataset) == len(sources) * dataset.candidates["system"].nunique():
        # every system translated every source
        return []
    text = _plain(sources["text"])
    lp = _filled(sources["lp"], [text])
    doc = _filled(sources["doc"], [text, lp])
    numbered = sources["seg_id"] == pd.Series(np.arange(1, len(sources) + 1)).astype(str)
    known = (text != "").to_numpy(bool)
    pairs = _pairs(dataset, [lp, doc, text], known & numbered.to_numpy(bool))
    if sources["lp"].isna().any() and sources["lp"].notna().any():
        pairs += _pairs(dataset, [lp, sources["seg_id"], text], known)
    return sorted({*pairs})


def _filled(column: pd.Series, keys: list[pd.Series]) -> pd.Series:
    """Replace missing values by the first known value of a source with the same `keys`, or else by an empty text."""
    if column.isna().any() and column.notna().any():
        column = column.fillna(column.groupby(keys, sort=False).transform("first"))
    return column.fillna("")


def _pairs(dataset: Dataset, keys: list[pd.Series], among: BoolArray) -> list[tuple[int, int]]:
    """Return pairs of a source and an earlier one with equal `keys` and references, of those `among`."""
    group = pd.concat(keys, axis=1, ignore_index=True).groupby([0, 1, 2], sort=False).ngroup().to_numpy(np.int64)
    alike = (np.bincount(group) > 1)[group] & among
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
    differ = _difference(dataset, pairs)
    how = f"differing from another only by {differ}" if differ else "equal to another"
    what = f"{counted(len(pairs), 'source')} {how}"
    first, advice = f"first: {places[0]}, like {places[1]}", "make them equal" if differ else "make them one record"
    one, other = (dataset.sources["seg_id"].iloc[source] for source in pairs[0])
    apart = "change the seg_id of one" if one == other else "give each a seg_id"
    return f"{what} ({first}), so their candidates are not compared: {advice}, or {apart}"


def _difference(dataset: Dataset, pairs: Sequence[tuple[int, int]]) -> str:
    """Describe how the sources of the pairs differ; empty if those of every pair are equal."""
    texts, references = dataset.sources["text"].tolist(), dataset.references["text"].tolist()
    offsets = dataset.reference_offsets
    equal = all(
        texts[one] == texts[other]
        and references[offsets[one] : offsets[one + 1]] == references[offsets[other] : offsets[other + 1]]
        for one, other in pairs
    )
    first, second = ([*rows] for rows in zip(*pairs, strict=True)) if pairs else ([], [])
    lacking = [
        f"a missing {name}"
        for name in ("lp", "doc")
        if (dataset.sources[name].isna().to_numpy()[first] != dataset.sources[name].isna().to_numpy()[second]).any()
    ]
    return " or ".join([*([] if equal else ["white space or a blank reference"]), *lacking])


def counts(dataset: Dataset) -> list[str]:
    """Describe empty candidates and near-duplicate sources, if any, in one line each: the number and the first place.

    Texts of white space alone count as empty. Candidates of preferences without texts are not counted.
    """
    problems: dict[str, list[int]] = {}
    if dataset.has_texts:
        empty = (_plain(dataset.candidates["text"]) == "").to_numpy(bool)
        problems["empty candidates"] = dataset.candidates["source"][empty].tolist()
    pairs = near_duplicate_sources(dataset)
    differ = _difference(dataset, pairs)
    how = f"differ from another only by {differ}" if differ else "equal another"
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
