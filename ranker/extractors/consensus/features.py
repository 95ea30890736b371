"""Features of a candidate's agreement with the other candidates of its source, without any reference."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from ranker import notation, progress
from ranker.arrays import FloatArray, Int64Array
from ranker.corpora.dataset import Dataset, view
from ranker.corpora.source_keys import UInt32Array
from ranker.errors import OptionError, counted
from ranker.extractors import registry
from ranker.extractors.base import Extractor, FitScope, FittedExtractor, Metric, check_new_texts, unfitted
from ranker.extractors.consensus.large import large_source
from ranker.extractors.consensus.relatives import relatives
from ranker.extractors.consensus.similarities import MetricSimilarity, Similarity, similarities
from ranker.extractors.consensus.texts import SourceGroup, blocks, source_texts
from ranker.extractors.consensus.votes import COLUMNS, WORDING, count_votes, normalise
from ranker.extractors.needs import COMPARABLE, Needs
from ranker.extractors.semantic.features import Semantic

_MOST_SYSTEMS = 500
_FEWEST_SOURCES, _LOOKED_AT = 20, 100
"""Minimum number of sources of a language pair for a note on related systems, and number of sources examined."""
_RELATED = 0.3
_FEW_SYSTEMS, _ALIKE = 8, 0.85
"""Number of systems below which relations cannot be detected, and mean similarity above which they count as related."""
_KEPT = 20_000_000


@dataclass(frozen=True, eq=False)
class SystemRelations:
    """Matrices of relations (see `relatives`) and similarities between systems; `systems` maps systems to indices."""

    systems: dict[tuple[str, str], int]
    language_pairs: frozenset[str]
    relation: FloatArray
    similarity: FloatArray

    def codes(self, dataset: Dataset) -> Int64Array:
        """Return the index of each candidate's system in `systems`, -1 for unknown systems."""
        keys = zip(
            dataset.source_language_pairs[dataset.candidate_source].tolist(),
            dataset.candidates["system"].tolist(),
            strict=True,
        )
        return np.array([self.systems.get(key, -1) for key in keys], dtype=np.int64)

    def majority(self, lp: str) -> tuple[list[str], int]:
        """Return the largest group of related systems of a language pair, sorted, and the pair's number of systems."""
        names = [name for pair, name in self.systems if pair == lp]
        numbers = [self.systems[lp, name] for name in names]
        cells = np.ix_(numbers, numbers)
        alike = (self.similarity[cells] > _ALIKE) & (len(names) < _FEW_SYSTEMS)
        together = (self.relation[cells] > _RELATED) | alike | np.eye(len(names), dtype=bool)
        # relatives of relatives, until there are no more
        for _ in range(len(names).bit_length()):
            together = together @ together
        largest = together[together.sum(axis=1).argmax()]
        return sorted(name for name, inside in zip(names, largest, strict=True) if inside), len(names)


@dataclass(frozen=True)
class Consensus(FittedExtractor):
    r"""Agreement of a candidate with the other candidates of its source; needs no reference.

    The other candidates vote: each is taken as a pseudo-reference (Albrecht and Hwa 2007), so that the mean is the
    expected gain of minimum Bayes risk decoding (Kumar and Byrne 2004; Eikema and Aziz 2022) over candidates of equal
    probability. With the similarity :math:`s_{ij}` of candidate i to candidate j as its only reference:

    * ``mean``: the mean of :math:`s_{ij}` over all other candidates j, so that a text counts as often as systems
      produced it;
    * ``distinct``: over all other texts, each counted once;
    * ``near``: over the `neighbours` most similar other candidates;
    * ``weighted``: the mean with weights :math:`w_j` under which m copies of a system weigh no more than one;
    * ``diverse``: as ``mean``, with weights :math:`1 / \sum_k c_{jk}^8`, so that voters of like wording share a vote
      (Henikoff and Henikoff 1994); :math:`c_{jk}` is the chrF of two voters over that of each with itself, whatever
      the metric.

    Related systems are found by their mean similarity over all ranked data, for each language pair; see
    `ranker.extractors.consensus.relatives` for the derivation. With ``trust=source``, or more than 500 systems, they
    are found for each source from its own similarities: then the features of a source do not depend on other sources,
    but good systems that agree are more often mistaken for related ones. Candidates marked as references are scored but
    do not vote. All features are 0 for a source with one candidate.

    A source with more than `limit` candidates is compared with `limit` of its different texts, evenly spaced in
    alphabetical order.

    Parameters
    ----------
    metric : str, default "chrf"
        Similarity: a metric, negated if lower is better, or ``semantic``, whose F score is taken.
    neighbours : int, default 5
    trust : {"data", "source"}, default "data"
        Whether related systems are found from all ranked data or from each source alone.
    limit : int, default 1000
        Maximum number of candidates of a source that are all compared with each other.

    Notes
    -----
    Features: ``consensus.mean``, ``consensus.distinct``, ``consensus.near``, ``consensus.weighted``,
    ``consensus.diverse``.
    """

    name: ClassVar[str] = "consensus"
    family = "agreement"
    metric: str = "chrf"
    neighbours: int = 5
    trust: Literal["data", "source"] = "data"
    limit: int = 1000
    learnt: SystemRelations | None = notation.learnt()

    def __post_init__(self) -> None:
        """Refuse options out of range and metrics that cannot compare candidates."""
        for option, lowest in (("neighbours", 1), ("limit", 2)):
            if getattr(self, option) < lowest:
                raise OptionError(f"consensus[{option}={getattr(self, option)}]: expected a whole number from {lowest}")
        compared = registry.make(self.metric)
        if isinstance(compared, Semantic):
            if compared.against == "source":
                raise OptionError(f"{self}: candidates are not compared with the source; remove against=source")
        elif not isinstance(compared, Metric) or compared.fit_scope == "train":
            raise OptionError(f"{self}: expected a metric that needs no training, or semantic")
        check_new_texts([compared], "pairs of candidates")
        notation.settle(self, "metric", str(compared))

    @property
    def fit_scope(self) -> FitScope:
        """``ranked`` if related systems are found from all ranked data, ``none`` if from each source separately."""
        return "ranked" if self.trust == "data" else "none"

    @property
    def needs(self) -> Needs:
        """Needs of the columns: three candidates per source, and all sources if relations or the metric are learnt."""
        compared = self._compared
        return Needs(
            references=0,
            candidates=COMPARABLE,
            language=compared.needs.language,
            english_options=("metric",) if compared.needs.language else (),
            other_candidates=True,
            other_sources=self.trust == "data" or compared.needs.other_sources or compared.fit_scope == "ranked",
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names: ``consensus.mean``, ``.distinct``, ``.near`` and so on."""
        return tuple(f"{self}.{column}" for column in COLUMNS)

    def signed(self) -> dict[str, object]:
        """Option values for the signature, with the metric's own signature in place of its notation."""
        return {"metric": self._compared.signature()}

    def resolved(self, dataset: Dataset) -> Self:
        """Return this extractor with the metric's options for `dataset` in place of ``auto``."""
        return dataclasses.replace(self, metric=str(self._compared.resolved(dataset)))

    @property
    def pretraining_sources(self) -> UInt32Array | None:
        """Hashes (`short_keys`) of the encoder's training sources, if candidates are compared by `semantic`."""
        return self._compared.pretraining_sources

    def check_ready(self) -> None:
        """Raise an error if a resource of the metric that compares candidates is not installed."""
        self._compared.check_ready()

    def note(self, dataset: Dataset) -> str | None:
        """Return notes on sources with too few candidates for a consensus, and on related systems, or None."""
        sizes = np.bincount(dataset.candidate_source[~dataset.is_reference])
        alone, two = int((sizes == 1).sum()), int((sizes == 2).sum())
        notes = []
        if alone:
            notes.append(f"{counted(alone, 'source')} with a single candidate, for which consensus features are 0")
        if two:
            notes.append(
                f"{counted(two, 'source')} with two candidates, for which consensus features are not informative"
            )
        return "; ".join([*notes, *self._crowds(dataset)]) or None

    def _crowds(self, dataset: Dataset) -> list[str]:
        """Return a note for each language pair in which most systems, but not all, are related according to chrF."""
        pairs = dataset.source_language_pairs
        enough = [lp for lp in dataset.language_pairs if (pairs == lp).sum() >= _FEWEST_SOURCES]
        chosen = np.zeros(len(pairs), dtype=bool)
        for lp in enough:
            chosen[np.flatnonzero(pairs == lp)[:_LOOKED_AT]] = True
        if not chosen.any():
            return []
        # similarity of wording (chrF), because an encoder finds any two good translations similar
        learnt = Consensus(limit=self.limit)._relations(dataset.select_sources(chosen))
        crowds = {lp: learnt.majority(lp) for lp in enough if lp in learnt.language_pairs}
        consequence = "agree with each other, right or wrong: if they are versions of one system, include only one"
        return [
            f"{f'{lp}: ' if lp.known else ''}{len(names)} of {size} systems are related ({', '.join(names[:2])}, ...) "
            f"and {consequence}"
            for lp, (names, size) in crowds.items()
            if 2 < len(names) < size < 2 * len(names)
        ]

    def fit(self, dataset: Dataset) -> Consensus:
        """Learn how systems of `dataset` are related, unless related systems are found in each source separately."""
        return self if self.trust == "source" else dataclasses.replace(self, learnt=self._relations(dataset))

    @property
    def _compared(self) -> Extractor:
        return registry.make(self.metric)

    def _compared_blocks(self, dataset: Dataset) -> Iterator[tuple[SourceGroup, FloatArray]]:
        """Yield groups of sources with similarities by the metric, each with an array of chrF similarities."""
        own = _blocks(dataset, self.metric, self.limit)
        if self.metric == WORDING:
            made: Iterable[tuple[SourceGroup, SourceGroup]] = ((block, block) for block in own)
        else:
            made = zip(own, _blocks(dataset, WORDING, self.limit), strict=True)
        for block, wording in made:
            yield block, normalise(wording.similarity)

    def _relations(self, dataset: Dataset) -> SystemRelations:
        pairs = dataset.source_language_pairs[dataset.candidate_source]
        systems = dataset.candidates["system"].to_numpy(object)
        voting = ~dataset.is_reference
        names = sorted(set(zip(pairs[voting].tolist(), systems[voting].tolist(), strict=True)))
        by_pair: dict[str, list[tuple[str, str]]] = {}
        for key in names:
            by_pair.setdefault(key[0], []).append(key)
        compared = {lp: keys for lp, keys in by_pair.items() if len(keys) <= _MOST_SYSTEMS}
        numbers = {key: number for number, key in enumerate(key for keys in compared.values() for key in keys)}
        size = len(numbers) + 1
        none = np.zeros((size, size))
        relations = SystemRelations(numbers, frozenset(compared), none, none.copy())
        codes = relations.codes(dataset)
        total, times = np.zeros((2, size * size))
        for block in _blocks(dataset, self.metric, self.limit):
            code = codes[block.rows]
            present = (code >= 0)[:, :, np.newaxis] & (code >= 0)[:, np.newaxis, :]
            cells = (code[:, :, np.newaxis] * size + code[:, np.newaxis, :])[present]
            values = normalise(block.similarity, lower=self._lower)[present]
            total += np.bincount(cells, values, minlength=size * size)
            times += np.bincount(cells, minlength=size * size)
        mean = np.divide(total, times, out=np.zeros(size * size), where=times > 0).reshape(size, size)
        known = times.reshape(size, size) > 0
        for keys in compared.values():
            of_pair = np.ix_(*2 * ([numbers[key] for key in keys],))
            relations.relation[of_pair] = relatives(mean[of_pair], known[of_pair])
            relations.similarity[of_pair] = mean[of_pair]
        np.fill_diagonal(relations.relation, 0.0)
        return relations

    @property
    def _lower(self) -> bool:
        compared = self._compared
        return isinstance(compared, Metric) and not compared.higher_is_better

    def transform(self, dataset: Dataset) -> FloatArray:
        """Return features comparing each candidate with the other candidates of its source, shape (candidates, 5)."""
        if self.trust == "data" and self.learnt is None:
            raise unfitted(self)
        result = np.zeros((len(dataset), len(COLUMNS)))
        voting = ~dataset.is_reference
        text = source_texts(dataset).row
        codes = None if self.learnt is None else self.learnt.codes(dataset)
        known = np.array(
            [self.learnt is not None and lp in self.learnt.language_pairs for lp in dataset.source_language_pairs]
        )
        done = 0
        for block, wording in self._compared_blocks(dataset):
            by_system = known[dataset.candidate_source[block.rows[:, 0]]]
            for chosen, systems in ((by_system, True), (~by_system, False)):
                if not chosen.any():
                    continue
                rows, similarity = block.rows[chosen], block.similarity[chosen]
                if systems:
                    assert self.learnt is not None
                    assert codes is not None
                    code = codes[rows]
                    relation = self.learnt.relation[code[:, :, np.newaxis], code[:, np.newaxis, :]]
                else:
                    pairs = voting[rows][:, :, np.newaxis] & voting[rows][:, np.newaxis, :]
                    relation = relatives(normalise(similarity, lower=self._lower), pairs)
                result[rows] = count_votes(
                    similarity, relation, text[rows], voting[rows], wording[chosen], self.neighbours
                )
            done += block.rows.size
            progress.report("candidates compared", done, len(dataset))
        for source in np.flatnonzero(np.diff(dataset.candidate_offsets) > self.limit).tolist():
            rows = slice(*dataset.candidate_offsets[source : source + 2])
            result[rows] = large_source(
                dataset,
                source,
                _similarity_of(dataset, self.metric),
                _similarity_of(dataset, WORDING),
                lower=self._lower,
                limit=self.limit,
                neighbours=self.neighbours,
            )
            done += rows.stop - rows.start
            progress.report("candidates compared", done, len(dataset))
        return result


def _blocks(dataset: Dataset, metric: str, limit: int) -> Iterable[SourceGroup]:
    """Return the candidate similarities of all sources with up to `limit` candidates, cached if they are few enough."""
    sizes = np.diff(dataset.candidate_offsets)
    few = (sizes[sizes <= limit] ** 2).sum() <= _KEPT
    return _kept_blocks(dataset, metric, limit) if few else _make_blocks(dataset, metric, limit)


@view
def _kept_blocks(dataset: Dataset, metric: str, limit: int) -> tuple[SourceGroup, ...]:
    return tuple(_make_blocks(dataset, metric, limit))


def _make_blocks(dataset: Dataset, metric: str, limit: int) -> Iterator[SourceGroup]:
    small = np.diff(dataset.candidate_offsets) <= limit
    return blocks(dataset, small, similarities(source_texts(dataset).of(small), _similarity_of(dataset, metric)))


@view
def _similarity_of(dataset: Dataset, metric: str) -> Similarity:
    """Return the measure of similarity by `metric`, fitted if necessary to all texts of candidates."""
    is_semantic = isinstance(registry.make(metric), Semantic)
    return MetricSimilarity(registry.make_metric(f"{metric}.f" if is_semantic else metric)).fit(
        source_texts(dataset).texts
    )
