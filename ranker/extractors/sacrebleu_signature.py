"""Signatures that sacreBLEU prints for the same scores."""

from __future__ import annotations

import numpy as np

from ranker.corpora.dataset import Dataset
from ranker.signature import make_signature
from ranker.text.tokens import Tokenizer
from ranker.text.trained_tokenizers import mecab_signature

TESTED_VERSION = "2.6.0"
"""The version of sacreBLEU whose scores and signatures are reproduced."""
_SAME_NAME = frozenset({"13a", "none", "intl", "zh", "char", "flores101", "flores200"})


def sacrebleu_signature(name: str, dataset: Dataset, **fields: object) -> str:
    """Return the name and signature of a score as sacreBLEU prints them."""
    written = {key: ("no", "yes")[value] if isinstance(value, bool) else value for key, value in fields.items()}
    return make_signature(name, {"nrefs": _references(dataset), **written, "version": TESTED_VERSION})


def sacrebleu_tokenizer(tokenizer: Tokenizer) -> str | None:
    """Return the name of `tokenizer` in sacreBLEU's signatures, or None if sacreBLEU does not have it."""
    if tokenizer == "spm":
        return "flores101"
    if tokenizer in ("ja-mecab", "ko-mecab"):
        return mecab_signature(tokenizer)
    return tokenizer if tokenizer in _SAME_NAME else None


def _references(dataset: Dataset) -> int | str:
    """Return the number of references per source, ``var`` if it varies; sources without candidates do not count."""
    numbers = np.unique(np.diff(dataset.reference_offsets)[np.diff(dataset.candidate_offsets) > 0])
    return int(numbers[0]) if len(numbers) == 1 else "var"
