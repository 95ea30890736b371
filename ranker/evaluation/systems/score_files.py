"""Output of scores in the file format of mt-metrics-eval, described in `ranker.corpora.formats.mtme_scores`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ranker.arrays import FloatArray
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.mtme_scores import SUFFIXES, format_scores, stem
from ranker.corpora.records import first_repeated
from ranker.errors import DataError, OptionError
from ranker.evaluation.systems.levels import Units, documents
from ranker.files import display_name, safe_join, write_bytes
from ranker.ranking.scorers import Scorer, sign_of


def write_score_files(
    folder: str | Path,
    dataset: Dataset,
    scorers: Mapping[str, Scorer],
    levels: list[Units],
    signatures: Mapping[str, str],
) -> list[Path]:
    """Write a score file per metric, language pair and level, and signature files; return the score files' paths."""
    files: dict[Path, str] = {}
    scores = {name: _signed_scores(dataset, scorer, levels) for name, scorer in scorers.items()}
    for pair in sorted(set(dataset.source_language_pairs[dataset.candidate_source])):
        places = [pair] if pair.known else []
        stems = [stem(name, _references(dataset, pair, scorer)) for name, scorer in scorers.items()]
        twice = first_repeated(stems)
        if twice is not None:
            raise OptionError(f"two metrics would be written to {twice}.*.score; score them separately")
        for name, start in zip(scorers, stems, strict=True):
            for units, values in zip(levels, scores[name], strict=True):
                text = format_scores(_by_system(dataset, pair, units, values), dataset.name)
                files[safe_join(folder, *places, f"{start}.{SUFFIXES[units.level]}.score")] = text
            files[safe_join(folder, *places, f"{start}.signature")] = signatures[name] + "\n"
    for parent in dict.fromkeys(path.parent for path in files):
        try:
            parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            what = f"cannot create the directory: {error.strerror or error}"
            raise DataError(what, file=display_name(parent)) from None
    for path, text in files.items():
        write_bytes(path, text.encode())
    return [path for path in files if path.suffix == ".score"]


def _signed_scores(dataset: Dataset, scorer: Scorer, levels: list[Units]) -> list[FloatArray]:
    """Return the scores at each level, negated if lower is better."""
    used = [units.scorer(scorer) for units in levels]
    statistics = {id(each): each.statistics(dataset) for each in {id(each): each for each in used}.values()}
    return [sign_of(each) * units.score(each, statistics[id(each)]) for each, units in zip(used, levels, strict=True)]


def _references(dataset: Dataset, pair: str, scorer: Scorer) -> list[str | None] | None:
    """Return a language pair's reference names: empty if not needed, None if the names differ between sources."""
    if not scorer.feature_set.needs.references:
        return []
    of_pair = (dataset.source_language_pairs == pair) & (np.diff(dataset.candidate_offsets) > 0)
    names = dataset.references["name"].astype(object)
    listed = names.where(names.notna(), None).to_numpy(object)
    offsets = dataset.reference_offsets
    reference_sets = {tuple(listed[slice(*offsets[source : source + 2])]) for source in np.flatnonzero(of_pair)}
    return list(reference_sets.pop()) if len(reference_sets) == 1 else None


def _by_system(dataset: Dataset, pair: str, units: Units, scores: FloatArray) -> dict[str, list[float | None]]:
    """Return each system's scores in a language pair, None for segments or documents without a translation."""
    of_pair = dataset.source_language_pairs == pair
    place = np.arange(len(dataset.sources)) if units.level == "segment" else np.zeros(len(dataset.sources), np.int64)
    if units.level == "document":
        place = documents(dataset)[0]
    places = np.unique(place[of_pair])
    rows = of_pair[dataset.candidate_source]
    column = np.searchsorted(places, place[dataset.candidate_source])
    systems = dataset.candidates["system"].to_numpy(object)
    # sorted, as files of systems are listed
    filled = {system: np.full(len(places), np.nan) for system in sorted(set(systems[rows]))}
    for row in np.flatnonzero(rows):
        filled[systems[row]][column[row]] = scores[units.group[row]]
    return {system: values.tolist() for system, values in filled.items()}
