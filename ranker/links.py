"""Word alignments of many sentence pairs, stored as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ranker.arrays import Int32Array, Int64Array, take_rows


@dataclass(frozen=True, eq=False)
class Links:
    """Alignment links of sentence pairs in CSR form: the links of pair ``p`` are ``offsets[p]:offsets[p + 1]``."""

    source: Int32Array
    target: Int32Array
    offsets: Int64Array

    def __len__(self) -> int:
        """Return the number of sentence pairs."""
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        """Return the class name with the numbers of pairs and links."""
        return f"<Links: {len(self.source):,} of {len(self):,} pairs>"

    def of(self, pair: int) -> list[tuple[int, int]]:
        """Return the (source, target) links of one pair."""
        block = slice(*self.offsets[pair : pair + 2])
        return list(zip(self.source[block].tolist(), self.target[block].tolist(), strict=True))

    def take(self, pairs: npt.ArrayLike) -> Links:
        """Return the links of `pairs`, in the given order; a pair may be given more than once."""
        positions, offsets = take_rows(self.offsets, np.asarray(pairs, dtype=np.int64))
        return Links(self.source[positions], self.target[positions], offsets)

    def first_outside(self, source_lengths: npt.ArrayLike, target_lengths: npt.ArrayLike) -> tuple[int, int] | None:
        """Return the pair and the index of the first link that points beyond the end of a sentence, or None."""
        sizes = np.diff(self.offsets)
        pair = np.repeat(np.arange(len(self)), sizes)
        outside = (self.source >= np.asarray(source_lengths)[pair]) | (self.target >= np.asarray(target_lengths)[pair])
        rows = np.flatnonzero(outside)
        return (int(pair[rows[0]]), int(rows[0])) if len(rows) else None
