"""The settings of all experiments, as one record."""

from __future__ import annotations

from dataclasses import dataclass, field

from ranker.apps.experiments.aligners import Aligners
from ranker.corpora.dataset import Dataset
from ranker.ranking.settings import AUTO


@dataclass(frozen=True)
class Settings:
    """Settings of all experiments besides the data; each experiment reads the settings that affect its tables."""

    kind: str = AUTO
    repeats: int = 10
    exclude_self: bool = False
    resamples: int = 1000
    permutations: int = 10_000
    alignment: str = "isozaki"
    sweeps: bool = True
    metrics: tuple[str, ...] = ()
    features: str = "words,chrf,bleu[smoothing=add-one,tokenizer=13a],ter[search=tercom,tokenizer=13a],systems"
    lm: Dataset | None = None
    aligners: Aligners = field(default_factory=Aligners)
    mert: bool = False
    restarts: int = 20
    iterations: int = 25
    runs: int = 5
    times: bool = False
    seed: int = 0
