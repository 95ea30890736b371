"""Training language models on sentences in files of any size, for ``perp[model=FILE]``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ranker import progress
from ranker.errors import DataError, OptionError
from ranker.extractors.text.tokens import Tokenizer, tokenise
from ranker.files import STDIN, display_name
from ranker.learning.lm.kenlm_files import TRAINED_BY
from ranker.learning.lm.on_disk import Batch, TrainedModel, rows_for, train
from ranker.notation import write
from ranker.storage.text_lines import line_batches

MEMORY = "2G"
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_LEAST = 16 << 20


def train_language_model(
    files: Sequence[str | Path],
    target: str | Path,
    *,
    order: int = 5,
    tokenizer: Tokenizer = "13a",
    lowercase: bool = True,
    memory: str = MEMORY,
) -> TrainedModel:
    """Train an interpolated modified Kneser-Ney model on sentences, one per line, and write it as an ARPA file.

    A comment in the file's first line says how words were made, so that `perp` can tell if it makes them otherwise.
    Words that ARPA files reserve, such as ``<s>``, are refused.

    Parameters
    ----------
    files : sequence of str or Path
        Plain or gzip; ``-`` is standard input. An empty line is an empty sentence.
    target : str or Path
        Replaced when the model is complete.
    order : int, default 5
        Longest n-grams, 2 to 6.
    tokenizer : str, default "13a"
        As of metrics, but for ``auto``.
    lowercase : bool, default True
    memory : str, default "2G"
        For sorting and joining n-grams; the vocabulary takes its own. Temporary files, in ``$TMPDIR``, take the rest.

    Returns
    -------
    TrainedModel

    Raises
    ------
    OptionError
        If an option is out of range.
    DataError
        If a file cannot be read or written, holds a reserved word, or there is no sentence.
    """
    if tokenizer == "auto":
        raise OptionError("--tokenizer auto: the language of plain text is unknown; choose a tokenizer")
    comment = f"{TRAINED_BY} order={order} tokenizer={tokenizer} lowercase={write(lowercase)}"
    for path in files:
        if str(path) != STDIN and Path(path).resolve() == Path(target).resolve():
            raise DataError(
                "is both the training text and the output file: choose another output file", file=display_name(path)
            )
    rows = rows_for(memory_size(memory), order)
    return train(_batches(files, tokenizer, lowercase=lowercase), order, target, rows=rows, comment=comment)


def memory_size(text: str) -> int:
    """Return a number of bytes written as ``500M`` or ``2G``.

    Raises
    ------
    OptionError
        If it is no such number, or less than 16M.
    """
    number, unit = text[:-1], text[-1:].upper()
    known = number.isascii() and number.isdigit() and len(number) < 16 and unit in _UNITS
    size = int(number) * _UNITS[unit] if known else 0
    if not _LEAST <= size < 1 << 50:
        raise OptionError(f"--memory {text[:30]}: expected a number with K, M or G, from 16M, such as 500M or 2G")
    return size


def _batches(files: Sequence[str | Path], tokenizer: Tokenizer, *, lowercase: bool) -> Iterator[Batch]:
    for number, path in enumerate(files):
        progress.report("files read", number, len(files))
        for lines in line_batches(path):
            segments = tokenise(lines, tokenizer, lowercase=lowercase)
            yield segments.values, segments.offsets, segments.vocabulary
