"""What the pages on rankers share: corpora, columns and scores kept in files, rankers trained without a corpus.

Used by `bench/leaderboard.py` and `bench/consensus.py`.
"""

from __future__ import annotations

import dataclasses
import functools
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from bench.common import INTO_ENGLISH, locate, say
from ranker.arrays import BoolArray, FloatArray, Int64Array
from ranker.corpora import catalogue
from ranker.corpora.dataset import Dataset, concatenate_datasets
from ranker.corpora.judgements import Judged, judged
from ranker.corpora.schema import TEXT
from ranker.corpora.selection import select_language_pairs, without_references
from ranker.errors import DataError
from ranker.evaluation.metrics.candidates import CandidateScores
from ranker.extractors.base import Extractor, fitted_on
from ranker.extractors.registry import make_metric
from ranker.files import read_bytes, sha256, write_bytes
from ranker.ranking.feature_set import FeatureSet
from ranker.ranking.ranker import Ranker
from ranker.ranking.settings import Training
from ranker.storage.model_files import read_arrays, write_arrays
from ranker.version import VERSION

NORMALISED = "ted-fluency"
TWO_SYSTEMS = "ted-fluency-fa-ko"
_CLITIC = re.compile(r" (n't|'(?:s|re|ve|ll|d|m))(?!\w)")


@functools.lru_cache(maxsize=6)
def _load(name: str, lp: tuple[str, ...]) -> Dataset:
    dataset = dataclasses.replace(catalogue.load(locate(name)), name=name)
    return select_language_pairs(dataset, list(lp)) if lp else dataset


def load(corpora: tuple[str, ...], lp: tuple[str, ...]) -> Dataset:
    """Read corpora, those language pairs."""
    return concatenate_datasets([_load(name, lp) for name in corpora])


@functools.lru_cache(maxsize=6)
def everything(name: str) -> Dataset:
    """Read a corpus of the page, into English: all its outputs, with which those that were judged are compared."""
    source = NORMALISED if name == TWO_SYSTEMS else name
    dataset = load((source,), (INTO_ENGLISH,))
    if source == NORMALISED:
        dataset = normalised(dataset)
    if name == TWO_SYSTEMS:
        dataset = dataset.select_candidates(~dataset.candidates["system"].str.startswith("ar").to_numpy(bool))
    return dataclasses.replace(dataset, name=name)


def read(name: str) -> Dataset:
    """Read what was judged of a corpus of the page."""
    whole = everything(name)
    return whole.select_candidates(judged(whole))


def normalised(dataset: Dataset) -> Dataset:
    """Lower-case all text but the sources, and join the endings that only some of the systems split off."""

    def plain(rows: pd.DataFrame) -> pd.DataFrame:
        texts = [_CLITIC.sub(r"\1", text.lower()) for text in rows["text"]]
        return rows.assign(text=pd.Series(texts, dtype=TEXT, index=rows.index))

    return dataclasses.replace(dataset, references=plain(dataset.references), candidates=plain(dataset.candidates))


def remembered(path: Path, make: Callable[[], FloatArray]) -> FloatArray:
    """Return the scores in a file, made and kept there on first use."""
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        raw = io.BytesIO()
        np.save(raw, make())
        write_bytes(path, raw.getvalue())
    return np.asarray(np.load(io.BytesIO(read_bytes(path))))


def named(dataset: Dataset) -> str:
    return f"{dataset.name}-{dataset.fingerprint[:12]}"


def hashed(signature: str) -> str:
    """Return the name of a file for what has this signature."""
    return sha256(signature.encode())[:24]


def rows_in(corpus: Dataset, part: Dataset) -> Int64Array:
    """Return where in a corpus the candidates of a part of it are."""
    rows = {key: row for row, key in enumerate(_candidate_keys(corpus))}
    return np.array([rows[key] for key in _candidate_keys(part)], dtype=np.int64)


def _candidate_keys(dataset: Dataset) -> Iterator[tuple[object, ...]]:
    facts = dataset.sources[["lp", "doc", "seg_id", "text"]].astype(object).fillna("").iloc[dataset.candidate_source]
    outputs = dataset.candidates[["system", "text"]]
    return zip(*(facts[name] for name in facts), *(outputs[name] for name in outputs), strict=True)


@dataclass(frozen=True)
class KeptColumns(FeatureSet):
    """A feature set that keeps the columns of corpora in files, each made once, whatever they are put together to."""

    work: Path = field(default=Path("work"))
    corpora: tuple[Dataset, ...] = ()

    def fit_transform(self, dataset: Dataset) -> tuple[FeatureSet, FloatArray]:
        """Return what is fitted to all corpora together, and their columns."""
        assert [len(dataset)] == [sum(map(len, self.corpora))]
        self.check_ready()
        fitted, parts = [], []
        for one in self.extractors:
            if one.fit_scope == "train":
                made, columns = self._learnt(one, dataset)
            else:
                made, columns = one, np.concatenate([self._columns(one, corpus) for corpus in self.corpora])
            fitted.append(made)
            parts.append(columns)
        return dataclasses.replace(self, extractors=tuple(fitted)), np.concatenate(parts, axis=1)

    def transform(
        self,
        dataset: Dataset,
        *,
        partial: bool = False,
        used: BoolArray | None = None,
    ) -> FloatArray:
        """Return all columns; only those that depend on which other candidates there are, or were learnt, are new."""
        whole = next((one for one in self.corpora if one.name == dataset.name), None)
        if whole is None:
            return super().transform(dataset, partial=partial, used=used)
        places = rows_in(whole, dataset)
        parts = []
        for one, kept in zip(
            self.extractors, np.ones(len(self.extractors), bool) if used is None else used, strict=True
        ):
            if not kept:
                parts.append(np.zeros((len(dataset), len(one.columns))))
            elif one.needs.other_candidates and dataset.context is dataset:
                parts.append(fitted_on(one, dataset).transform(dataset))
            else:
                parts.append(self._columns(one, whole)[places])
        return np.concatenate(parts, axis=1)

    def _columns(self, one: Extractor, corpus: Dataset) -> FloatArray:
        learnt = "".join(sha256(values.tobytes()) for values in one.state().values())
        path = self.work / "columns" / named(corpus) / f"{hashed(f'{VERSION}|{one.signature()}|{learnt}')}.npy"

        def made() -> FloatArray:
            say(f"{corpus.name}: {one}")
            whole = everything(corpus.name)
            return FeatureSet((one,)).transform(Judged.of(whole).dataset)

        return remembered(path, made)

    def _learnt(self, one: Extractor, dataset: Dataset) -> tuple[Extractor, FloatArray]:
        key = "|".join([VERSION, one.signature(), *map(named, self.corpora)])
        path = self.work / "learnt" / f"{hashed(key)}.npz"
        if not path.is_file():
            say(f"{'+'.join(corpus.name for corpus in self.corpora)}: learning {one}")
            made, columns = one.fit_transform(dataset)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_arrays(path, {**made.state(), "columns": columns})
        arrays = read_arrays(path)
        columns = arrays.pop("columns")
        return (one.with_state(arrays) if arrays else one), columns


@dataclass
class Board:
    """Scores of corpora by metrics and rankers, kept in a directory."""

    work: Path
    rankers: dict[str, Ranker]

    def scored(self, corpus: Dataset, metrics: Sequence[str]) -> list[CandidateScores]:
        """Return the scores of all rows."""
        return [
            *(self._by_ranker(corpus, name, ranker) for name, ranker in self.rankers.items()),
            *(self.by_metric(corpus, text) for text in metrics),
        ]

    def _kept(
        self,
        corpus: Dataset,
        row: str,
        kind: str,
        signature: str,
        make: Callable[[Dataset], FloatArray],
        note_of: Callable[[Dataset], str | None],
    ) -> CandidateScores:
        whole = everything(corpus.name)
        outputs = Judged.of(whole).dataset

        def made() -> FloatArray:
            say(f"{corpus.name}: {row}")
            return make(outputs)

        scores = remembered(self.work / "scores" / named(corpus) / f"{hashed(signature)}.npy", made)
        note = note_of(outputs)
        return CandidateScores(row, scores, type=kind, signature=signature, notes=(note,) if note else ())

    def by_metric(self, corpus: Dataset, text: str) -> CandidateScores:
        """Return the scores of a metric."""
        metric = make_metric(text)
        features, signature = FeatureSet((metric,)), f"{VERSION}|{metric.signature()}"

        def column(outputs: Dataset) -> FloatArray:
            return features.transform(outputs)[:, 0]

        kept = self._kept(corpus, text, "metric", signature, column, features.note)
        return kept if metric.higher_is_better else dataclasses.replace(kept, scores=-kept.scores)

    def _by_ranker(self, corpus: Dataset, name: str, ranker: Ranker) -> CandidateScores:
        used = self.unseen(name, ranker, corpus)
        return self._kept(corpus, name, "ranker", used.signature(), used.candidate_scores, used.note)

    def unseen(self, name: str, ranker: Ranker, corpus: Dataset) -> Ranker:
        """Return the ranker, or one with its settings that was trained without that corpus; its columns are kept."""
        used = ranker
        if corpus.name in corpora_of(ranker):
            path = self.work / "models" / f"{name}-{ranker.digest[:12]}-without-{corpus.name}.model"
            others = tuple(one for one in corpora_of(ranker) if one != corpus.name)
            if not path.is_file():
                self.train(others, language_pairs(name, ranker), ranker).save(path)
            used = Ranker.load(path)
        return self.keeping(used, (corpus,))

    def train(self, corpora: tuple[str, ...], lp: tuple[str, ...], like: Ranker) -> Ranker:
        """Return a ranker with the settings of another, trained on those corpora."""
        say(f"training {like.settings.features} on {'+'.join(corpora)}")
        (self.work / "models").mkdir(parents=True, exist_ok=True)
        fitted = Ranker(**dataclasses.asdict(like.settings))
        if lp == (INTO_ENGLISH,) and needs_references(like):
            fitted = self.keeping(fitted, tuple(read(one) for one in corpora))
        return fitted.fit(training_data(like, corpora, lp))

    def keeping(self, ranker: Ranker, corpora: tuple[Dataset, ...]) -> Ranker:
        """Return the ranker, with the columns of corpora kept."""
        return ranker.with_feature_set(KeptColumns(ranker.feature_set.extractors, self.work, corpora))


def learnt(ranker: Ranker) -> Training:
    assert ranker.training is not None
    return ranker.training


def corpora_of(ranker: Ranker) -> tuple[str, ...]:
    """Return the names of the corpora that a ranker was trained on."""
    return tuple(name.removesuffix("-rr") for name in learnt(ranker).data.split("+"))


def needs_references(ranker: Ranker) -> bool:
    """Tell whether a feature of a ranker needs references."""
    return ranker.feature_set.needs.references > 0


def training_data(ranker: Ranker, corpora: tuple[str, ...], lp: tuple[str, ...]) -> Dataset:
    """Read what a ranker learns from: without references if it needs none."""
    dataset = load(corpora, lp)
    return dataset if needs_references(ranker) else without_references(dataset)


def language_pairs(name: str, ranker: Ranker) -> tuple[str, ...]:
    """Return the language pairs that a ranker was trained on: none for all."""
    for lp in ((INTO_ENGLISH,), ()):
        if training_data(ranker, corpora_of(ranker), lp).fingerprint == learnt(ranker).data_hash:
            return lp
    raise DataError(
        f"{name} was trained on other data than {'+'.join(corpora_of(ranker))} here, neither on all pairs nor on "
        f"{INTO_ENGLISH}: leave it out with --rankers"
    )
