"""Small data sets for tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ranker.corpora.dataset import Dataset
from ranker.corpora.records import Candidate, Record, assemble

Item = tuple[Sequence[str], str | Sequence[str]]
"""References of a source, and its candidates or its only one."""


def dataset_of(
    items: Iterable[Item],
    *,
    sources: Sequence[str] | None = None,
    lp: str | Sequence[str | None] | None = None,
    kind: str | None = None,
) -> Dataset:
    """Make a data set of one source per item, translated by systems called s0, s1, ...

    The language pair `lp` is that of all sources or, in a list, of each. With a `kind`, the candidates of every source
    are rated 0, -1, -2, ...
    """

    def outputs(texts: str | Sequence[str]) -> list[Candidate]:
        return [
            Candidate(f"s{number}", text, [(kind, None, -float(number))] if kind else [])
            for number, text in enumerate([texts] if isinstance(texts, str) else texts)
        ]

    return assemble(
        [
            Record(
                sources[number] if sources else f"source {number}",
                list(references),
                outputs(texts),
                lp=lp if lp is None or isinstance(lp, str) else lp[number],
            )
            for number, (references, texts) in enumerate(items)
        ],
        "test",
    )
