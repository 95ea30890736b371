"""Training of language models on sentences in files, for ``perp[model=FILE]``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ranker import progress
from ranker.errors import DataError, OptionError
from ranker.files import STDIN, display_name
from ranker.learning.lm.arpa import check_word, write_arpa
from ranker.learning.lm.arpa_lines import TRAINED_BY
from ranker.learning.lm.counts import MAX_ORDER, count_ngrams
from ranker.learning.lm.kneser_ney import estimate
from ranker.notation import write
from ranker.storage.text_lines import line_batches
from ranker.text.tokens import Tokenizer, tokenise


@dataclass(frozen=True)
class TrainedModel:
    """Statistics on the training of a language model from a text."""

    sentences: int
    tokens: int
    ngrams: tuple[int, ...]
    fallback_orders: tuple[int, ...]


def train_language_model(
    files: Sequence[str | Path],
    target: str | Path,
    *,
    order: int = 5,
    tokenizer: Tokenizer = "13a",
    lowercase: bool = True,
) -> TrainedModel:
    """Train an interpolated modified Kneser-Ney model on sentences, one per line, and write it as an ARPA file.

    A comment in the file's first line records the tokenisation, so that `perp` can warn if its own differs. Words that
    ARPA files reserve, such as ``<s>``, are refused. The text and its n-grams are held in memory; for larger texts use
    KenLM's ``lmplz``, whose files `perp` reads too.
    """
    if tokenizer == "auto":
        raise OptionError("--tokenizer auto: the language of plain text is unknown; choose a tokenizer")
    if not 2 <= order <= MAX_ORDER:
        raise OptionError(f"n-gram order {order}: expected 2 to {MAX_ORDER}, as supported by KenLM")
    for path in files:
        if str(path) != STDIN and Path(path).resolve() == Path(target).resolve():
            raise DataError(
                "is both the training text and the output file: choose another output file", file=display_name(path)
            )
    numbers: dict[str, int] = {}
    values, lengths = [np.zeros(0, dtype=np.int32)], [np.zeros(0, dtype=np.int64)]
    for number, path in enumerate(files):
        progress.report("files read", number, len(files))
        for lines in line_batches(path):
            segments = tokenise(lines, tokenizer, lowercase=lowercase)
            known = len(numbers)
            place = [numbers.setdefault(word, len(numbers)) for word in segments.vocabulary]
            for word in segments.vocabulary if len(numbers) > known else ():
                check_word(word)
            values.append(np.array(place, dtype=np.int32)[segments.values])
            lengths.append(segments.lengths)
    text, offsets = np.concatenate(values), np.append(0, np.cumsum(np.concatenate(lengths)))
    model = estimate(count_ngrams(text, offsets, order))
    comment = f"{TRAINED_BY} order={order} tokenizer={tokenizer} lowercase={write(lowercase)}"
    write_arpa(model, [*numbers], target, comment=comment)
    ngrams = tuple(np.diff(model.trie.starts)[1:].tolist())
    return TrainedModel(len(offsets) - 1, len(text), ngrams, model.fallback_orders)
