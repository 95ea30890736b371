"""Word alignments for tests."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ranker.arrays import offsets_of
from ranker.links import Links


def make_links(pairs: Iterable[Iterable[tuple[int, int]]]) -> Links:
    """Make `Links` from the (source, target) positions of every pair, in any order."""
    sets = [sorted(set(links)) for links in pairs]
    flat = np.array([link for links in sets for link in links], dtype=np.int32).reshape(-1, 2)
    return Links(flat[:, 0].copy(), flat[:, 1].copy(), offsets_of([len(links) for links in sets]))
