"""A ranker's settings and the record of its training, as used on the command line, in Python and in model files."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Final, Literal

from ranker.errors import OptionError
from ranker.learning.svm.penalty import EXPECTED, is_penalty
from ranker.notation import field_types, settle, typed
from ranker.storage.plain_data import record

Loss = Literal["hinge", "squared_hinge"]
PairCounting = Literal["judgements", "aggregated", "balanced"]
AUTO: Final = "auto"
STANDARD, STANDARD_LEXICAL, STANDARD_LEXICAL_ANY = "standard", "standard-lexical", "standard-lexical-any"
STANDARD_UNREFERENCED, STANDARD_UNREFERENCED_ANY = "reference-free", "reference-free-any"
FOLDS = 5
"""Folds of the final cross-validation of a training."""
SOURCES_PER_FEATURE = 10
"""Minimum number of sources per feature; with fewer, features can hardly be weighted against each other."""
GRADED = "graded"
GIVEN, SEARCHED, ONE_SOURCE = "given", "cross-validation", "one source"


@dataclass(frozen=True)
class Settings:
    """The options of a ranker."""

    features: str = AUTO
    C: float | Literal["auto"] = AUTO
    loss: Loss = "squared_hinge"
    kind: str = AUTO
    pairs: PairCounting = "aggregated"
    seed: int = 0
    references_as_candidates: bool = False
    exclude_self: bool = False
    base: str | None = None
    nonnegative: bool = False

    def __post_init__(self) -> None:
        if self.C != AUTO and not (isinstance(self.C, Real) and not isinstance(self.C, bool) and is_penalty(self.C)):
            raise OptionError(f"C={self.C!r}: {EXPECTED}")
        if not (isinstance(self.seed, Integral) and 0 <= self.seed < 2**32):
            raise OptionError(f"seed={self.seed!r}: expected a whole number from 0 to 4294967295")
        for name, hint in field_types(Settings).items():
            value = getattr(self, name)
            settle(self, name, typed(value, hint, f"{name}={value!r}"))
        if self.nonnegative and (self.base is not None or self.loss != "squared_hinge"):
            what = f"base {self.base}" if self.base is not None else f"loss {self.loss}"
            raise OptionError(f"nonnegative=True: not possible with {what}; remove one of the two options")
        if self.base is not None and self.features != AUTO:
            raise OptionError(
                f"features {self.features!r}: a ranker adapted from {self.base} uses the features of {self.base}; "
                "remove this option"
            )
        if self.exclude_self and not self.references_as_candidates:
            raise OptionError(
                "exclude_self=True: applies to references as candidates; set references_as_candidates too"
            )

    def document(self) -> dict[str, Any]:
        """Return the settings as JSON values; `read` is the inverse."""
        fields = dataclasses.asdict(self)
        if not self.references_as_candidates:
            del fields["exclude_self"]
        if not self.nonnegative:
            del fields["nonnegative"]
        return fields

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Settings:
        """Read the settings from the JSON document of a model file."""
        if not isinstance(document, Mapping):
            raise TypeError
        # models from before this option existed scored references without themselves
        return record(cls, {"exclude_self": document.get("references_as_candidates", False), **document})


DEFAULTS = Settings()


@dataclass(frozen=True)
class Training:
    """Record of a ranker's training: everything that affects its weights."""

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
