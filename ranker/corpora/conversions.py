"""How data sets are made of frames, records and lists of texts, and a frame of a data set."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import pandas as pd


class Conversions:
    """What `Dataset` converts from and to; done by `ranker.corpora.formats.in_memory`, which is imported on use."""

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, name: str = "frame", *, lp: str | None = None) -> Self:
        """Make a data set of a frame with one row per candidate, or per candidate and judge.

        Parameters
        ----------
        frame : DataFrame
            Columns ``source``, ``system``, ``text``, and optionally ``reference`` (or ``reference1``, ...), ``lp``,
            ``doc``, ``seg_id``, ``judge``, ``is_reference``; every other column holds ratings. The names and the rules
            are those of CSV files; see `ranker.corpora.formats.tables`. The index is not read.
        name : str, default "frame"
            What messages and signatures call it.
        lp : str, optional
            Language pair, as ``de-en``, of a frame that names none.

        Returns
        -------
        Dataset
            Sources in the order of their first rows.

        Raises
        ------
        DataError
            Naming the row: a missing column, a missing name, a rating that is no number.

        Examples
        --------
        >>> import pandas as pd
        >>> from ranker import Dataset
        >>> frame = pd.DataFrame({"source": ["Hallo"] * 2, "reference": ["hello"] * 2, "system": ["A", "B"]})
        >>> Dataset.from_frame(frame.assign(text=["hello", "hi"], fluency=[5, 4]))
        <Dataset frame: 1 source, 1 reference, 2 candidates, 2 ratings, 0 preferences>
        """
        dataset: Self = _module().from_frame(frame, name, lp)[0]
        return dataset

    @classmethod
    def from_records(
        cls, records: Iterable[Mapping[str, Any]], name: str = "records", *, lp: str | None = None
    ) -> Self:
        """Make a data set of records, each of one source with its candidates, or of one candidate.

        Parameters
        ----------
        records : iterable of dict
            What a line of JSONL holds; see `ranker.corpora.formats.json_lines` for the keys.
        name : str, default "records"
            What messages and signatures call it.
        lp : str, optional
            Language pair, as ``de-en``, of records that name none.

        Raises
        ------
        DataError
            Naming the record and the path inside it.

        Examples
        --------
        >>> from ranker import Dataset
        >>> record = {"source": "Hallo", "references": ["hello"], "candidates": {"A": "hello", "B": "hi"}}
        >>> Dataset.from_records([record]).candidates["system"].tolist()
        ['A', 'B']
        """
        dataset: Self = _module().from_records(records, name, lp)
        return dataset

    @classmethod
    def from_texts(
        cls,
        translations: Sequence[str] | Mapping[str, Sequence[str]],
        references: Sequence[str | Sequence[str]] | Mapping[Any, Sequence[str]] | None = None,
        sources: Sequence[str] | None = None,
        *,
        lp: str | None = None,
        name: str = "texts",
    ) -> Self:
        """Make a data set of parallel lists of texts.

        Parameters
        ----------
        translations : list of str, or dict of str to list of str
            The translations of every source, by one system (called ``translation``) or by the named ones.
        references : list of str or of lists of str, or dict of lists of str, optional
            One reference, or a list of them, for every source; or by name, lists with one reference for every source.
        sources : list of str, optional
            Source sentences; empty if they are not given.
        lp : str, optional
            Language pair, as ``de-en``.
        name : str, default "texts"
            What messages and signatures call it.

        Raises
        ------
        DataError
            If the lists differ in length, hold something that is not text, or can be read in two ways: as many lists of
            references as translations, each as long.

        Examples
        --------
        >>> from ranker import Dataset
        >>> Dataset.from_texts({"A": ["hello"], "B": ["hi"]}, references=["hello"])
        <Dataset texts: 1 source, 1 reference, 2 candidates, 0 ratings, 0 preferences>
        """
        dataset: Self = _module().from_texts(translations, references, sources, lp=lp, name=name)
        return dataset

    def to_frame(self) -> pd.DataFrame:
        """Return one row per candidate, or per candidate and judge, which `from_frame` reads back.

        Preferences, alignments and the names of references are left out.

        Raises
        ------
        DataError
            If a source has no candidate and so no row, or a kind of judgement has the name of another column.

        Examples
        --------
        >>> from ranker import Dataset
        >>> Dataset.from_texts(["hello"], ["hi"]).to_frame()[["reference1", "system", "text"]].values.tolist()
        [['hi', 'translation', 'hello']]
        """
        frame: pd.DataFrame = _module().long_form(self)
        return frame


def _module() -> Any:
    """Return the module that converts, by name because it imports `Dataset`."""
    return importlib.import_module("ranker.corpora.formats.in_memory")
