"""Whether a trained ranker points the way that its references do: a check for judgements read upside down."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ranker.arrays import Int64Array
from ranker.corpora.dataset import Dataset
from ranker.corpora.judgements import PREFERENCES, Kind, human_scores, judged, preference_pairs
from ranker.errors import ModelError
from ranker.extractors.registry import make
from ranker.ranks import merge_ties

if TYPE_CHECKING:
    from ranker.ranking import Ranker

MOST_SOURCES = 500
MOST_PAIRS = 3000


def direction_note(ranker: Ranker, dataset: Dataset, *, seed: int = 0) -> str | None:
    """Compare what a ranker learnt with chrF on the pairs that it was trained on.

    Parameters
    ----------
    ranker : Ranker
        Trained on `dataset`.
    dataset : Dataset
    seed : int, default 0
        Draws at most `MOST_SOURCES` sources and `MOST_PAIRS` of their pairs.

    Returns
    -------
    str or None
        What to tell the user if the ranker prefers the candidate with the lower chrF in more than half of the pairs
        that both order, and None otherwise. Sources without references do not count.

    Raises
    ------
    ModelError
        If the ranker is not trained.
    """
    if ranker.training is None:
        raise ModelError("the ranker is not trained; call fit or load")
    kind = Kind.parse(ranker.training.kind).directed()
    generator = np.random.default_rng(seed)
    judged_outputs = dataset.select_candidates(judged(dataset, str(kind)), peers=True)
    usable = np.flatnonzero(
        (np.diff(judged_outputs.reference_offsets) > 0) & (np.diff(judged_outputs.candidate_offsets) > 1)
    )
    if not len(usable):
        return None
    chosen = np.zeros(len(judged_outputs.sources), dtype=bool)
    chosen[generator.permutation(usable)[:MOST_SOURCES]] = True
    judged_outputs = judged_outputs.select_sources(chosen)
    first, second = _pairs(judged_outputs, kind)
    drawn = generator.permutation(len(first))[:MOST_PAIRS]
    if not len(drawn):
        return None
    scores = merge_ties(ranker.candidate_scores(judged_outputs), judged_outputs.candidate_offsets)
    chrf = merge_ties(make("chrf").transform(judged_outputs)[:, 0], judged_outputs.candidate_offsets)
    first, second = first[drawn], second[drawn]
    product = np.sign(scores[first] - scores[second]) * np.sign(chrf[first] - chrf[second])
    against = int((product < 0).sum()) / max(int((product != 0).sum()), 1)
    if against <= 0.5:
        return None
    advice = "check the direction of the preferences"
    if ranker.settings.exclude_self:
        advice = "references match each other less than outputs match them; train without --exclude-self"
    elif kind.name != PREFERENCES:
        opposite = "higher" if kind.lower else "lower"
        advice = f"if {opposite} values of {kind.name!r} are better, train with --kind {kind.name}:{opposite}"
    return f"the model prefers the candidate with lower chrF in {against:.0%} of the training pairs; {advice}"


def _pairs(dataset: Dataset, kind: Kind) -> tuple[Int64Array, Int64Array]:
    """Return the rows of every two candidates of a source that people ordered."""
    if kind.name == PREFERENCES:
        pairs = preference_pairs(dataset)
        return pairs.better, pairs.worse
    human = human_scores(dataset, str(kind))
    rows = pd.DataFrame({"source": dataset.candidate_source, "row": np.arange(len(dataset))})
    paired = rows.merge(rows, on="source")
    first, second = (paired[column].to_numpy(np.int64) for column in ("row_x", "row_y"))
    ordered = human[first] > human[second]
    return first[ordered], second[ordered]
