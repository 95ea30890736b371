"""What a shard has to know of the references of all shards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class ReferenceSums:
    """Sums over the references of all shards.

    Parameters
    ----------
    references : int
        How many there are.
    english : bool
        Whether sources whose language pair is not known look as if they were translated into English.
    counts : mapping of str to str
        Directories with the counts of n-grams; see `ranker.extractors.text.reference_counts`.
    """

    references: int
    english: bool
    counts: Mapping[str, str]
