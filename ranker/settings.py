"""How a ranker learns, and what it was trained on: the same on the command line, in Python and in a model file."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, cast

from ranker.errors import OptionError
from ranker.learning.svm.penalty import EXPECTED, is_penalty
from ranker.storage.plain_data import record

Loss = Literal["hinge", "squared_hinge"]
PairCounting = Literal["judgements", "aggregated", "balanced"]
AUTO = "auto"
STANDARD, STANDARD_ANY, STANDARD_UNREFERENCED = "standard", "standard-any", "reference-free"
FOLDS = 5
"""Folds of the final cross-validation of a training."""
GRADED = "graded"
GIVEN, SEARCHED, ONE_SOURCE = "given", "cross-validation", "one source"


@dataclass(frozen=True)
class Settings:
    """The options of a ranker.

    Parameters
    ----------
    features : str, default "auto"
        Extractors in their notation and names of declared feature sets, separated by commas; ``auto`` is the standard
        set that suits the training data (`ranker.shipped.standard_features`).
    C : float or "auto", default "auto"
        Penalty of a wrongly ordered pair; ``auto`` chooses it by cross-validation over sources. With one source it is
        1 / number of pairs.
    loss : {"hinge", "squared_hinge"}, default "squared_hinge"
    kind : str, default "auto"
        Kind of judgement to learn from; see `ranker.corpora.judgements`.
    pairs : {"judgements", "aggregated", "balanced"}, default "aggregated"
        How preferences become training pairs: one a judgement; one for two candidates, weighted by how much the judges
        agree (see `ranker.corpora.judgements.preference_pairs`); or these with weights that give every language pair
        the same say, however much of it was judged.
    seed : int, default 0
        Splits the folds of the cross-validation.
    references_as_candidates : bool, default False
        Learn from the references too, as candidates above every output of their source (Ye, Zhou and Lin 2007); see
        `ranker.extractors.reference_candidates`.
    exclude_self : bool, default False
        Score each of these references against the others of its source only, instead of against all as published.
    base : str or None, default None
        Name or file of a ranker to adapt: its features, means and scales are kept, and its weights are what the norm
        is measured from (`ranker.training_data`), so C = ``auto`` may keep them too.

    Raises
    ------
    OptionError
        If `C` or `seed` is out of range, there are features besides a base, or `exclude_self` has no references to
        apply to.
    """

    features: str = AUTO
    C: float | Literal["auto"] = AUTO  # type: ignore[assignment]
    loss: Loss = "squared_hinge"
    kind: str = AUTO
    pairs: PairCounting = "aggregated"
    seed: int = 0
    references_as_candidates: bool = False
    exclude_self: bool = False
    base: str | None = None

    def __post_init__(self) -> None:
        if self.base is not None and self.features != AUTO:
            raise OptionError(
                f"features {self.features!r}: a ranker adapted from {self.base} has its features; remove this option"
            )
        if self.exclude_self and not self.references_as_candidates:
            raise OptionError(
                "exclude_self=True: applies to references as candidates; set references_as_candidates too"
            )
        if self.C != AUTO and not (isinstance(self.C, int | float) and is_penalty(self.C)):
            raise OptionError(f"C={self.C!r}: {EXPECTED}")
        if not (isinstance(self.seed, Integral) and 0 <= self.seed < 2**32):
            raise OptionError(f"seed={self.seed!r}: expected a whole number from 0 to 4294967295")

    def document(self) -> dict[str, Any]:
        """Return JSON values of which `read` makes the settings again."""
        fields = dataclasses.asdict(self)
        if not self.references_as_candidates:
            del fields["exclude_self"]
        return fields

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Settings:
        """Take settings from the model of a file.

        Raises
        ------
        KeyError, TypeError, ValueError
            If the values are not what `document` returns.
        """
        # models made before the choice learnt from references without themselves
        return record(cls, {"exclude_self": document.get("references_as_candidates", False), **document})


DEFAULTS = Settings()


@dataclass(frozen=True)
class Training:
    """What a ranker was trained on and how: all that changes its weights.

    Parameters
    ----------
    data : str
        Names of the corpora.
    data_hash : str
        Fingerprint of the data set.
    kind : str
        Kind of judgement learnt from.
    pairs : str
        ``graded`` (scores), or how preferences were counted.
    sources, candidates, preferences : int
        Sizes; `preferences` is the number of training pairs, None for graded judgements.
    C : float
        Penalty used; found by cross-validation if it was ``auto``.
    chosen_by : str
        ``given``, ``cross-validation``, or ``one source`` where ``auto`` had nothing to hold out.
    loss : str
    objective, duality_gap : float
        Of the solution.
    seed : int or None
        Only where it made a difference.
    targets : str or None
        Languages of the translations, as ``de`` or ``de+fr``; None where they are not known, or not kept.
    references : int or None
        Number of references learnt from as candidates, None if they were not.
    base : str or None
        The ranker that was adapted, as ``full#ade34f3a``; None if it was trained from nothing.
    gain : float or None
        Agreement with held-out judgements that adapting gained in the choice of C; None if nothing was chosen.
    """

    data: str
    data_hash: str
    kind: str
    pairs: str
    sources: int
    candidates: int
    preferences: int | None
    C: float
    chosen_by: str
    loss: str
    objective: float
    duality_gap: float
    seed: int | None
    targets: str | None = None
    references: int | None = None
    base: str | None = None
    gain: float | None = None

    def settings(self, features: str) -> Settings:
        """Return settings by which `features` are trained in the same way on the same data."""
        return Settings(
            features,
            C=self.C if self.chosen_by == GIVEN else "auto",
            loss=cast(Loss, self.loss),
            kind=self.kind,
            pairs=self.counting,
            seed=self.seed or 0,
            references_as_candidates=self.references is not None,
            exclude_self=self.references is not None,
        )

    @property
    def counting(self) -> PairCounting:
        """How preferences were counted; for graded judgements the default, which changes nothing."""
        return DEFAULTS.pairs if self.pairs == GRADED else cast(PairCounting, self.pairs)
