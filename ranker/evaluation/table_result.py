"""Display of results at a Python prompt and in a notebook: a line, and a table below it."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

_ROWS = 20


class TableResult(ABC):
    """Base class of results that are tables; dataclasses derived from it inherit its ``repr``."""

    @property
    @abstractmethod
    def headline(self) -> str:
        """Summary of the result in one line."""

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """Return the figures of the result as a data frame."""

    def _brief(self) -> pd.DataFrame:
        """Part of the `to_frame` result to display."""
        return self.to_frame()

    def __repr__(self) -> str:
        """Return the headline and a table."""
        head, brief = f"<{type(self).__name__}: {self.headline}>", self._brief()
        if brief.empty:
            return head
        table = brief.to_string(index=False, max_rows=_ROWS, max_colwidth=40, float_format="{:.4f}".format)
        return f"{head}\n{table}"

    def _repr_html_(self) -> str:
        table = self._brief().to_html(index=False, max_rows=_ROWS, float_format="{:.4f}".format, notebook=True)
        return f"<p>{html.escape(self.headline)}</p>{table}"
