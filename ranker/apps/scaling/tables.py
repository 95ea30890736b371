"""Functions that make a table from a shard and can be sent to other processes, and sums over shards."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from ranker.apps.scaling.parts import ShardResult
from ranker.arrays import BoolArray, FloatArray
from ranker.checks.faults import faults
from ranker.corpora.dataset import Dataset, concatenate_datasets, source_place
from ranker.corpora.formats.shards import Shards
from ranker.corpora.languages import UNKNOWN_PAIR, language_name
from ranker.corpora.own_references import without_only_references
from ranker.corpora.selection import without_references
from ranker.errors import DataError, OptionError
from ranker.evaluation.choices import Level
from ranker.evaluation.systems.levels import Units
from ranker.extractors.base import Extractor, join_notes
from ranker.ranking.by_score import rank_by
from ranker.ranking.scorers import (
    RankerScorer,
    Scorer,
    candidate_scores,
    certainty_of,
    make_scorer,
    result_head,
    systems_scorer,
    type_of,
    votes_of,
)
from ranker.text.target_languages import written_languages

Made = tuple[pa.Table, str | None]


@dataclass(frozen=True)
class NamedScorers:
    """Metrics by notation and a model by path or name, from which any process can make the scorers."""

    metrics: tuple[str, ...] = ()
    model: str | None = None
    references: bool = True
    """True if references are used."""
    level: Level = "segment"
    """Level of the scores; levels above segments use `systems_scorer`."""
    checks: bool = False
    """True if outputs that are not translations are ranked last."""

    @classmethod
    def of(
        cls, metrics: Sequence[str], model: str | Path | None, *, references: bool = True, level: Level = "segment"
    ) -> NamedScorers:
        """Make named scorers, with a model's absolute path; raise an error if scores cannot be computed shard by shard.

        Naming no scorer is an error too, because the included model for all data cannot be chosen from one shard.
        """
        if not metrics and model is None:
            raise OptionError("shards require --metric NAME, --model full (into English) or --model full-any")
        named = None if model is None else str(model)
        if named is not None and Path(named).exists():
            named = str(Path(named).absolute())
        scorers = cls(tuple(metrics), named, references, level)
        for scorer in scorers.scorers():
            for extractor in scorer.feature_set.members:
                _check_by_shards(extractor, scorer.name if type_of(scorer) == "metric" else f"the model {model}")
        return scorers

    @classmethod
    def single(
        cls, metric: str | None, model: str | Path | None, *, references: bool, checks: bool = False
    ) -> NamedScorers:
        """Make a single named scorer from a metric or a model; giving both or neither is an error."""
        if metric is not None and model is not None:
            # raises the error about giving both
            make_scorer(metric, model)
        named = cls.of([metric] if metric else [], model, references=references)
        return replace(named, checks=checks)

    def scorers(self) -> tuple[Scorer, ...]:
        """Return the scorers, made once per process."""
        return _scorers(self.metrics, self.model, self.level)

    def signature(self) -> str:
        """Return a text that identifies everything that the scores depend on."""
        return "\n".join([*map(result_head, self.scorers()), f"references={self.references}", f"checks={self.checks}"])

    def prepared(self, part: Dataset) -> tuple[Dataset, str | None]:
        """Return a shard ready for scoring, and a note; refuse a source without a language if a scorer needs one.

        A tokenizer or stemmer that follows the script of the translations must be the same in all shards.
        """
        part, about = without_only_references(part if self.references else without_references(part))
        unknown = np.flatnonzero(part.target_languages == "")
        of_script = unknown[written_languages(part)[unknown] != ""]
        if len(of_script) and (follows := next(filter(_follows_language, self._members()), None)):
            language = language_name(written_languages(part)[of_script[0]])
            what = (
                f"has no language pair: it seems to be {language}, and {follows} must know the language of all shards"
            )
            where = source_place(part, int(of_script[0]))
            raise DataError(f"{where} {what}: add it in a column or key lp, or set the option that is auto")
        for scorer in self.scorers() if len(unknown) else ():
            by_language = isinstance(scorer, RankerScorer) and scorer.ranker.weight_sets.by_language
            if by_language and scorer.feature_set.needs.language:
                what = "has no language pair, which the model requires: add it in a column or key lp"
                raise DataError(f"{source_place(part, int(unknown[0]))} {what}, or use --model full-any")
        return part, about

    def _members(self) -> Iterator[Extractor]:
        return (extractor for scorer in self.scorers() for extractor in scorer.feature_set.members)

    def note(self, part: Dataset, about: str | None) -> str | None:
        """Return `about` and the notes on the scores of a shard, joined in one line, or None if there are no notes."""
        return join_notes([about, *(scorer.note(part) for scorer in self.scorers())])


@functools.lru_cache(maxsize=4)
def _scorers(metrics: tuple[str, ...], model: str | None, level: Level) -> tuple[Scorer, ...]:
    models = [] if model is None else [make_scorer(None, model)]
    scorers = (*(make_scorer(metric, None) for metric in metrics), *models)
    return scorers if level == "segment" else tuple(systems_scorer(scorer) for scorer in scorers)


def _follows_language(extractor: Extractor) -> bool:
    """True if the extractor has options that follow the target language."""
    return re.search(r"=auto[],]|\balignment=meteor\b", extractor.signature()) is not None


def _check_by_shards(extractor: Extractor, what: str) -> None:
    """Refuse an extractor whose scores in single shards would differ from those in the whole data set."""
    if extractor.fit_scope != "ranked" and not (extractor.needs.other_sources or extractor.needs.known_texts):
        return
    part = what if what.startswith(str(extractor)) else f"{extractor} in {what}"
    remedy = "choose another metric or model, or give a file that fits into memory"
    if extractor.fit_scope == "ranked" and extractor.needs.references > 1:
        remedy = "train a language model once (ranker lm train, or KenLM's lmplz), and name it in perp[model=FILE]"
    raise OptionError(f"{part} would score candidates differently in shards than in the whole data set: {remedy}")


def segment_scores(named: NamedScorers, part: Dataset) -> Made:
    """Return a table of candidates: ``lp``, ``seg_id``, ``system``, and a column of scores named after each scorer."""
    part, about = named.prepared(part)
    units = Units.of(part, "segment")
    scores = {scorer.name: pa.array(units.score(scorer, scorer.statistics(part))) for scorer in named.scorers()}
    return pa.table({**_keys(part, "lp", "seg_id"), **scores}), named.note(part, about)


def ranks(named: NamedScorers, part: Dataset) -> Made:
    """Return a table of each source's ranked candidates, with columns such as ``rank``, ``score`` and ``fault``."""
    part, about = named.prepared(part)
    (scorer,) = named.scorers()
    votes, voters = votes_of(scorer), part
    if named.checks:
        wrong, voters = faults(part), votes.voters(part)
        scores = votes.values(part, functools.partial(candidate_scores, scorer))
        about = join_notes([about, votes.note(part)])
    else:
        wrong, scores = np.full(len(part), ""), candidate_scores(scorer, part)
    ranking = rank_by(part, scores, wrong)
    ranking["fault"] = wrong[ranking["candidate"].to_numpy()].astype(str)
    ranking = ranking.assign(**certainty_of(scorer, voters, ranking["source"], ranking["margin"]))
    keys = pa.table(_keys(part, "lp", "doc", "seg_id")).take(pa.array(ranking["candidate"].to_numpy()))
    for column in ranking.columns.drop(["source", "candidate", "system"]):
        keys = keys.append_column(column, pa.array(ranking[column].to_numpy()))
    return keys, named.note(voters, about)


def unit_sums(named: NamedScorers, level: Level, part: Dataset) -> Made:
    """Return a table of documents or systems: their number of ``segments``, and each scorer's summed statistics."""
    part, about = named.prepared(part)
    units = Units.of(part, level)
    columns: dict[str, Any] = {
        str(name): pa.array(units.keys[name].tolist(), pa.large_string() if name == "lp" else None, from_pandas=True)
        for name in units.keys
    }
    for scorer in named.scorers():
        sums = _sums(units.group, scorer.statistics(part), len(units.keys))
        columns[scorer.name] = pa.FixedSizeListArray.from_arrays(pa.array(sums.ravel()), sums.shape[1])
    return pa.table(columns), named.note(part, about)


def total_sums(parts: Iterable[ShardResult], names: Sequence[str], level: Level) -> tuple[Units, dict[str, FloatArray]]:
    """Add up the `unit_sums` tables of all shards; return documents or systems, and their statistics by scorer name."""
    table = pa.concat_tables([part.table() for part in parts])
    keys = {name: table[name].to_numpy() for name in table.column_names if name not in names}
    segments, pairs = keys.pop("segments"), table["lp"].fill_null(UNKNOWN_PAIR).to_numpy()
    order = [pairs, keys["system"]]
    if level == "document":
        # documents keep the order of the data
        order.insert(1, pd.factorize(pd.MultiIndex.from_arrays([pairs, keys["doc"]]))[0])
    code, different = pd.factorize(pd.MultiIndex.from_arrays(order), sort=True)
    first = np.unique(code, return_index=True)[1]
    columns = {name: values[first] for name, values in keys.items()}
    sizes = np.bincount(code, weights=segments, minlength=len(different)).astype(np.int64)
    sums = {}
    for name in names:
        lists = table[name].combine_chunks()
        statistics = np.asarray(lists.flatten()).reshape(len(lists), -1)
        sums[name] = _sums(code, statistics, len(different))
    frame = pd.DataFrame({**columns, "segments": sizes}).astype(dict.fromkeys(columns, object))
    return Units(level, frame, np.arange(len(frame))), sums


def judged_scores(named: NamedScorers, part: Dataset) -> Made:
    """Return a table with the ``score`` of every candidate of judged sources, higher is better."""
    part, about = named.prepared(part)
    judged = part.select_sources(_judged(part)[1])
    if not len(judged):
        return pa.table({"score": pa.array([], pa.float64())}), None
    scores = candidate_scores(named.scorers()[0], judged)
    return pa.table({**_keys(judged, "lp", "seg_id"), "score": scores}), named.note(judged, about)


def judged_candidates(
    named: NamedScorers, shards: Shards, parts: Sequence[ShardResult], with_texts: int
) -> tuple[Dataset, FloatArray]:
    """Return the judged candidates, read from the shards again, and their scores.

    About `with_texts` sources, the same number of every shard, keep their texts and references; all others lose them.
    """
    datasets, scores = [], []
    for part in parts:
        whole, _ = named.prepared(shards.read(part.number, part.content))
        candidates, of_judged = _judged(whole)
        scores.append(part.table()["score"].to_numpy()[candidates[of_judged[whole.candidate_source]]])
        some = np.random.default_rng(part.number).permutation(np.flatnonzero(of_judged))[: -(-with_texts // len(parts))]
        datasets.append(_without_texts(whole.select_candidates(candidates), np.isin(np.arange(len(of_judged)), some)))
    return replace(concatenate_datasets(datasets), name=shards.name), np.concatenate(scores)


def _without_texts(part: Dataset, kept: BoolArray) -> Dataset:
    """Return a shard in which only the sources for which the mask `kept` is true have texts and references."""
    references = part.references[kept[part.references["source"]]].reset_index(drop=True)
    sources, candidates = (
        table.assign(text=table["text"].where(mask, ""))
        for table, mask in ((part.sources, kept), (part.candidates, kept[part.candidate_source]))
    )
    return replace(part, sources=sources, candidates=candidates, references=references)


def _judged(part: Dataset) -> tuple[BoolArray, BoolArray]:
    """Return the masks of candidates and of sources with any judgement."""
    candidates = np.zeros(len(part), dtype=bool)
    candidates[part.ratings["candidate"].to_numpy()] = True
    for side in ("first", "second"):
        candidates[part.preferences[side].to_numpy()] = True
    sources = np.zeros(len(part.sources), dtype=bool)
    sources[part.candidate_source[candidates]] = True
    return candidates, sources


def _sums(group: Any, statistics: FloatArray, size: int) -> FloatArray:
    return np.stack([np.bincount(group, weights=column, minlength=size) for column in statistics.T], axis=1)


def _keys(part: Dataset, *columns: str) -> dict[str, pa.Array]:
    """Return the given columns of the sources, repeated for every candidate, and the candidates' systems."""
    source = pa.array(part.candidate_source)
    arrays = {column: pa.array(part.sources[column].array).take(source) for column in columns}
    return {**arrays, "system": pa.array(part.candidates["system"].array)}
