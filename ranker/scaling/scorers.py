"""Metrics and rankers by what they are called, so that another process can make them."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ranker.errors import OptionError
from ranker.evaluation.choices import Level
from ranker.extractors.base import Extractor
from ranker.extractors.scorers import Scorer
from ranker.extractors.text.reference_counts import CountsReferences
from ranker.ranking import RankerScorer, make_scorer


@dataclass(frozen=True)
class NamedScorers:
    """Metrics in their notation and a model by its path or name.

    Parameters
    ----------
    metrics : tuple of str
    model : str or None
    level : {"segment", "document", "system"}, default "segment"
        Above segments, scorers are `Scorer.for_systems`.

    Raises
    ------
    OptionError
        If one of them cannot be computed shard by shard.
    """

    metrics: tuple[str, ...] = ()
    model: str | None = None
    level: Level = "segment"

    @classmethod
    def of(cls, metrics: Iterable[str], model: str | Path | None, level: Level = "segment") -> NamedScorers:
        """Return them with the absolute path of a model, for processes in other directories."""
        named = None if model is None else str(model)
        if named is not None and Path(named).exists():
            named = str(Path(named).absolute())
        named_scorers = cls(tuple(metrics), named, level)
        for scorer in named_scorers.scorers():
            check_by_shards(scorer.members, scorer.name if scorer.kind == "metric" else f"the model {model}")
        return named_scorers

    def scorers(self) -> tuple[Scorer, ...]:
        """Return the scorers, made once per process."""
        return _scorers(self)

    def members(self) -> list[Extractor]:
        """Return all that the scorers are made of."""
        return [member for scorer in self.scorers() for member in scorer.members]

    def signature(self) -> str:
        """Return the signatures of all."""
        return "\n".join(scorer.head() for scorer in self.scorers())

    @property
    def need_all_references(self) -> bool:
        """Whether scores of a shard depend on the references of all."""
        return any(_needs_all_references(scorer) for scorer in self.scorers())


@functools.lru_cache(maxsize=4)
def _scorers(named: NamedScorers) -> tuple[Scorer, ...]:
    models = [] if named.model is None else [make_scorer(None, named.model)]
    scorers = (*(make_scorer(metric, None) for metric in named.metrics), *models)
    return scorers if named.level == "segment" else tuple(scorer.for_systems() for scorer in scorers)


def check_by_shards(extractors: Iterable[Extractor], what: str) -> None:
    """Refuse what would have other scores shard by shard than in the whole data set.

    Raises
    ------
    OptionError
        Naming it.
    """
    for extractor in extractors:
        learns_otherwise = extractor.fit_scope == "ranked" and not isinstance(extractor, CountsReferences)
        if learns_otherwise or not (extractor.by_shards and extractor.knows_new_texts):
            part = "" if what.startswith(str(extractor)) else f"{extractor} in "
            raise OptionError(
                f"{part}{what} cannot be computed shard by shard with the same result as for the whole data set: "
                "choose another metric or model, or give a file that fits into memory"
            )


def _needs_all_references(scorer: Scorer) -> bool:
    members = scorer.members
    if any(member.fit_scope == "ranked" or member.fewest_references for member in members):
        return True
    return isinstance(scorer, RankerScorer) and any(member.english_only for member in members)
