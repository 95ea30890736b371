"""A feature: whether a translation ends as its reference does."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ranker.plugins import FittedExtractor


@dataclass(frozen=True)
class Punctuation(FittedExtractor):
    """1 if a translation ends with the same character as one of its references, else 0."""

    name: ClassVar[str] = "punctuation"

    def transform(self, dataset):
        """Return one column, shape (candidates, 1)."""
        references = dataset.references
        ends = references["text"].str[-1:].groupby(references["source"]).agg(set).to_dict()
        own = zip(dataset.candidates["source"], dataset.candidates["text"].str[-1:], strict=True)
        return np.array([float(end in ends[source]) for source, end in own])[:, np.newaxis]
