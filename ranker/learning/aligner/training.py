"""A bilingual word aligner: IBM model 1, then an HMM, in both directions, trained to agree.

IBM model 1 (Brown et al. 1993) starts the word probabilities, an HMM (Vogel, Ney and Tillmann 1996) adds where the
next word tends to come from; `ranker.learning.aligner.hmm` defines both. Each direction explains one sentence by the
other. With agreement (Liang, Taskar and Klein 2006) the two are trained together: in the expectation step a link
counts, in both directions, the product of its two posteriors. Links whose product reaches a threshold are the
alignment.

Word probabilities are kept for pairs of words that share a sentence pair, and posteriors for one batch of pairs
at a time, so that memory grows only with the corpus. The jump weights have no maximiser in closed form, because each
jump is normalised over its own sentence; one step of minorisation and maximisation (Hunter 2004) raises the
likelihood, so that without agreement it never falls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from ranker.arrays import FloatArray, offsets_of
from ranker.errors import OptionError
from ranker.learning.aligner.decoding import FLOOR
from ranker.learning.aligner.hmm import JUMPS, Expectations, HmmTables, collect, expect, normalise
from ranker.learning.aligner.model import AlignmentModel
from ranker.learning.aligner.pairs import Pairs, batches, check_trainable, make_pairs

NULL_PROBABILITY = 0.05


def train(
    source_values: npt.ArrayLike,
    source_offsets: npt.ArrayLike,
    target_values: npt.ArrayLike,
    target_offsets: npt.ArrayLike,
    *,
    iterations: tuple[int, int] = (5, 5),
    agreement: bool = True,
    null_probability: float = NULL_PROBABILITY,
    source_vocabulary: Sequence[str] = (),
    target_vocabulary: Sequence[str] = (),
    text: Mapping[str, str | bool] | None = None,
) -> AlignmentModel:
    """Learn an alignment model from sentence pairs, deterministically."""
    if not 0.0 < null_probability < 1.0:
        raise OptionError(f"null_probability={null_probability}: expected a number between 0 and 1")
    if len(iterations) != 2 or min(iterations) < 0 or sum(iterations) < 1:
        raise OptionError(f"iterations={iterations}: expected two numbers of at least 0, not both 0")
    sizes = len(source_vocabulary) or None, len(target_vocabulary) or None
    pairs = make_pairs(source_values, source_offsets, target_values, target_offsets, sizes)
    check_trainable(pairs)
    tables = _start(pairs, sizes[0] or int(pairs.source.max()) + 1, sizes[1] or int(pairs.target.max()) + 1)
    spare = tables._replace(**{name: np.empty_like(getattr(tables, name)) for name in tables._fields[2:]})
    history = []
    for number in range(sum(iterations)):
        history.append(
            _iterate(pairs, tables, spare, null_probability, with_jumps=number >= iterations[0], agreement=agreement)
        )
        tables, spare = spare, tables
    return AlignmentModel(
        _frozen(tables),
        null_probability=float(null_probability),
        iterations=(int(iterations[0]), int(iterations[1])),
        agreement=agreement,
        log_likelihood=np.array(history),
        pairs=len(pairs.cell_offsets) - 1,
        source_vocabulary=tuple(source_vocabulary),
        target_vocabulary=tuple(target_vocabulary),
        text=dict(text or {}),
    )


def _iterate(
    pairs: Pairs, tables: HmmTables, following: HmmTables, null_probability: float, *, with_jumps: bool, agreement: bool
) -> FloatArray:
    """Write the tables of the next EM iteration into `following`; return the current tables' log-likelihood."""
    for array in following[2:]:
        array[:] = 0.0
    exposures = np.zeros((2, JUMPS))
    log_likelihood = np.zeros(2)
    for _, batch in batches(pairs):
        expectations = _room(batch)
        expect(
            batch, tables, null_probability, with_jumps, agreement, expectations, np.arange(len(batch.cell_offsets) - 1)
        )
        collect(batch, expectations, following)
        log_likelihood += expectations.log_likelihood.sum(axis=0)
        if with_jumps:
            following.jumps[:] += expectations.jumps.sum(axis=0)
            exposures += expectations.exposures.sum(axis=0)
    normalise(following)
    if with_jumps:
        # a jump weight that was in no normaliser keeps its value
        following.jumps[:] = np.where(exposures > 0, following.jumps / np.maximum(exposures, 1e-300), tables.jumps)
        following.jumps[:] /= following.jumps.sum(axis=1, keepdims=True)
    else:
        following.jumps[:] = tables.jumps
    return log_likelihood


def _start(pairs: Pairs, source_words: int, target_words: int) -> HmmTables:
    """Return uniform tables with an entry for each source word and target word that share a sentence pair."""
    sentences = len(pairs.cell_offsets) - 1
    source, target = (
        csr_array((np.ones(len(words), dtype=np.bool_), words, offsets), shape=(sentences, size))
        for words, offsets, size in (
            (pairs.source, pairs.source_offsets, source_words),
            (pairs.target, pairs.target_offsets, target_words),
        )
    )
    # transposed twice, so that the target words of each source word are sorted
    together = (target.T.tocsr() @ source).T.tocsr()
    columns = together.indices.astype(np.int32)
    return HmmTables(
        together.indptr.astype(np.int64),
        columns,
        np.full(len(columns), 1.0 / target_words),
        np.full(len(columns), 1.0 / source_words),
        np.full(target_words, 1.0 / target_words),
        np.full(source_words, 1.0 / source_words),
        np.full((2, JUMPS), 1.0 / JUMPS),
    )


def _frozen(tables: HmmTables) -> HmmTables:
    """Drop entries with probabilities of at most `FLOOR` in both directions; convert the rest to single precision."""
    mask = np.maximum(tables.forward, tables.backward) > FLOOR
    before = offsets_of(mask)
    return HmmTables(
        offsets=before[tables.offsets],
        columns=tables.columns[mask],
        forward=tables.forward[mask].astype(np.float32),
        backward=tables.backward[mask].astype(np.float32),
        null_target=tables.null_target.astype(np.float32),
        null_source=tables.null_source.astype(np.float32),
        # a jump that training never needed is possible elsewhere
        jumps=np.maximum(tables.jumps, FLOOR),
    )


def _room(batch: Pairs) -> Expectations:
    cells, pairs = int(batch.cell_offsets[-1]), len(batch.cell_offsets) - 1
    return Expectations(
        np.empty(cells, dtype=np.int64),
        np.empty(cells),
        np.empty(cells),
        np.empty(len(batch.target)),
        np.empty(len(batch.source)),
        np.empty((pairs, 2, JUMPS)),
        np.empty((pairs, 2, JUMPS)),
        np.empty((pairs, 2)),
    )
