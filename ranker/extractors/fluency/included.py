"""The included English language models: one of words and one of parts of speech."""

from __future__ import annotations

import functools
import hashlib
from typing import Literal

from ranker import share
from ranker.errors import MissingError
from ranker.learning.lm.counts_file import CountsModel
from ranker.storage.model_files import array_digest, read_arrays

DIRECTORY = "lm-en"
TOKENIZER = "13a"
"""Tokenizer of the included model of words, which is trained on lower-cased words."""
Unit = Literal["words", "tags"]


@functools.cache
def included_model(unit: Unit) -> CountsModel:
    """Return the included language model for `unit`: words or parts of speech."""
    path = share.directory("models") / DIRECTORY / f"{unit}.npz"
    if not path.is_file():
        raise MissingError(
            "the included English language model is not in this installation; name a file, as in perp[model=en.arpa]"
        )
    return CountsModel(read_arrays(path))


@functools.cache
def included_digest(unit: Unit) -> str:
    """Return the SHA-256 digest of the included language model's arrays, which does not depend on their compression."""
    arrays = included_model(unit).arrays
    summary = "".join(array_digest(name, arrays[name]) for name in sorted(arrays))
    return hashlib.sha256(summary.encode()).hexdigest()
