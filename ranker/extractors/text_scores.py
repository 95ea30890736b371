"""Scores of a list of translations by a metric."""

from __future__ import annotations

import html
from dataclasses import dataclass

import pandas as pd

from ranker.arrays import FloatArray
from ranker.errors import counted


@dataclass(frozen=True, eq=False, repr=False)
class TextScores:
    """Scores of a list of translations by a metric; ``float(scores)`` is the corpus score."""

    metric: str
    corpus: float
    segments: FloatArray
    higher_is_better: bool
    signature: str

    def __float__(self) -> float:
        """Return the corpus score."""
        return self.corpus

    def __repr__(self) -> str:
        """Return the metric, the corpus score and the number of segments in one line."""
        lower = "" if self.higher_is_better else ", lower is better"
        return f"<{self.metric}: {self.corpus:.4f} of {counted(len(self.segments), 'segment')}{lower}>"

    def _repr_html_(self) -> str:
        """Return HTML with the corpus score and the first segments' scores, for notebooks."""
        return f"<p>{html.escape(repr(self))}</p>" + str(self.to_frame().head(10).to_html(notebook=True))

    def to_frame(self) -> pd.DataFrame:
        """Return the translations' scores as a table whose column has the metric's name."""
        return pd.DataFrame({self.metric: self.segments})
