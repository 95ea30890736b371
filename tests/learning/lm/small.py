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


OPEN = """\
\\data\\
ngram 1=7
ngram 2=4

\\1-grams:
-99\t<s>\t-0.3
-0.7\t</s>
-1.5\t<unk>
-0.6\tthe\t-0.2
-0.8\tcat\t-0.1
-0.9\tsat\t-0.1
-0.9\tdown\t-0.1

\\2-grams:
-0.2\t<s> the
-0.4\tthe cat
-0.3\tcat </s>
-1.1\t<s> cat

\\end\\
"""
CLOSED = OPEN.replace("-1.5\t<unk>\n", "").replace("ngram 1=7", "ngram 1=6")
"""What SRILM writes unless it is called with ``-unk``."""


def write_text_model(path: Path, text: str, form: str = "arpa") -> Path:
    """Write the text of an ARPA file: plain, packed, or with a probability of zero for unknown words."""
    if form == "zero":
        path.write_text(OPEN.replace("-1.5\t<unk>", "-99\t<unk>"), encoding="utf-8")
    elif form == "gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path
