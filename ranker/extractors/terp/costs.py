"""Published sets of edit costs for TERp (Snover, Madnani, Dorr and Schwartz 2009)."""

from __future__ import annotations

from typing import Literal, NamedTuple

CostSet = Literal["terp", "terpa", "terph", "ter"]


class EditCosts(NamedTuple):
    """Edit costs, kinds of matches, and limits of the search."""

    deletion: float = 1.0
    insertion: float = 1.0
    substitution: float = 1.0
    stem: float = 1.0
    synonym: float = 1.0
    shift: float = 1.0
    phrase: tuple[float, float, float, float] | None = None
    stems: bool = False
    synonyms: bool = False
    paraphrases: bool = True
    stop_words: bool = True
    beam: int = 20
    capped: bool = False


COST_SETS: dict[CostSet, EditCosts] = {
    "terp": EditCosts(),
    "terpa": EditCosts(
        deletion=1.4269364675533365,
        insertion=0.2588527567630183,
        substitution=1.5565478292505814,
        stem=0.0,
        synonym=0.0,
        shift=0.5620538767397316,
        phrase=(-0.2306579294476191, -0.1469465037633749, -0.07843705907022736, 0.17708577297831574),
        stems=True,
        synonyms=True,
        beam=35,
        capped=True,
    ),
    "terph": EditCosts(
        deletion=0.8897481530721948,
        insertion=0.5160029868027748,
        substitution=1.6362908525843867,
        stem=0.9574806141940626,
        synonym=0.16474604979800672,
        shift=0.686718582391978,
        phrase=(1.0366410752548514, 0.6518645817002747, -0.008317921340980746, 1.1121928362344298),
        stems=True,
        synonyms=True,
        beam=35,
        capped=True,
    ),
    "ter": EditCosts(paraphrases=False, stop_words=False),
}
"""TERp without parameters, TERpA tuned on adequacy, TERp tuned on HTER, and TERp as TER."""
