"""A language model of a few sentences, as an ARPA file and as binary files of KenLM."""

from __future__ import annotations

import gzip
from pathlib import Path

from ranker.extractors.fluency.training import train_language_model
from tests.golden_values import INCLUDED

SENTENCES = """\
The cat sat on the mat .
A cat and a dog sat there .
The dog ran to the mat .
The man saw the dog on the mat .
He saw a cat .

A man and a cat ran .
"""


def write_arpa_file(path: Path, **options: object) -> Path:
    """Train a trigram model of the sentences."""
    text = path.with_suffix(".txt")
    text.write_text(SENTENCES, encoding="utf-8")
    train_language_model([text], path, **{"order": 3, **options})
    return path


def write_binary_file(path: Path, kind: str = "klm") -> Path:
    """Write what KenLM's build_binary made of the same model: ``klm``, with hash tables, or ``trie``."""
    path.write_bytes(gzip.decompress((INCLUDED / f"lm_small.{kind}.gz").read_bytes()))
    return path
