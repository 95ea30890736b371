"""How a parser is trained."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ParserOptions:
    """How a parser is trained.

    Parameters
    ----------
    epochs : int
        Passes over the treebank.
    width, depth : int
        Width of the encoder and its number of convolutional layers, each seeing one word to either side.
    rows : tuple of int
        Rows of the embedding tables for norm, first letter, last three letters and shape.
    hidden : int
        Width of the parser's hidden layer.
    dropout : float
        Share of activations dropped in training.
    learning_rate : float
        Highest learning rate; reached after a quarter of an epoch, then falling linearly.
    batch_words : int
        Words in one update.
    lowercase, unfinished, invented : float
        Share of sentences lower-cased, of those that end in a mark the share that loses it, and of words seen once
        the share that is replaced by an invented one.
    """

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
