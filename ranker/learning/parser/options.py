"""How a parser is trained."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ParserOptions:
    """How a parser is trained."""

    epochs: int = 12
    width: int = 128
    depth: int = 4
    rows: tuple[int, int, int, int] = (3500, 300, 2000, 700)
    hidden: int = 64
    dropout: float = 0.1
    learning_rate: float = 5e-3
    batch_words: int = 400
    lowercase: float = 0.25
    unfinished: float = 0.08
    invented: float = 0.3
