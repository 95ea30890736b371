"""Reads hypotheses of any format: n-best lists, data sets with several outputs of every source, and plain text."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from ranker.corpora import catalogue
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.nbest import SEPARATOR, NBestList, from_columns
from ranker.corpora.formats.nbest_reading import is_fairseq, parse_nbest
from ranker.corpora.formats.reading import fairseq_dataset, format_of, parse_dataset
from ranker.corpora.formats.tables import is_header, without_separator_line
from ranker.errors import DataError, counted
from ranker.files import STDIN, display_name, read_text

# a sentence may begin with a bracket too, such as [Applause]
_JSON = re.compile(r"""\s*(?:\[\s*[\[{"'\]]|\{\s*["'}])""")


def read_hypotheses(
    path: str | Path, *, sentences: int | None = None, each: int | None = None
) -> tuple[NBestList, Dataset | None]:
    """Read hypotheses and, if the file contains a data set, the data set to which the hypotheses belong.

    Files whose names end as those of data sets do, JSON, tables, and names of corpora are data sets; lines with ``|||``
    are in Moses' format, lines such as ``H-0`` in fairseq's, whose sources are a data set; all others are plain text.
    Only Moses' format has features. ``-`` is standard input. `each` is the number of consecutive lines of plain text,
    or of records without sources and references, for each sentence; other files state their sentences themselves.
    """
    nbest, dataset = _read(path, sentences, each)
    sizes = np.bincount(nbest.sentence)
    wrong = np.flatnonzero((sizes > 0) & (sizes != each))
    if each is None or not len(wrong):
        return nbest, dataset
    if dataset is not None and is_list_of_outputs(dataset):
        return _of_texts(nbest.text_of(np.arange(len(nbest))), "record", nbest.name, sentences, each), None
    what = f"sentence {wrong[0]}, numbered from 0, has {sizes[wrong[0]]:,} of the hypotheses"
    raise DataError(f"{what}, not {each:,}: leave out --per-source, as this file states its sentences", file=nbest.name)


def is_list_of_outputs(dataset: Dataset) -> bool:
    """True if a data set consists of single outputs, without sources and references that tell which belong together."""
    single = len(dataset) == len(dataset.sources) == len(np.unique(dataset.candidate_source))
    return single and not len(dataset.references) and bool((dataset.sources["text"] == "").all())


def _read(path: str | Path, sentences: int | None, each: int | None) -> tuple[NBestList, Dataset | None]:
    named = str(path)
    if format_of(path) is not None or Path(path).is_dir() or (not Path(path).exists() and named in catalogue.cards()):
        return of_dataset(catalogue.load(path))
    file = display_name(path)
    text = read_text(path)
    first_line = without_separator_line(text)[0].lstrip("\n").partition("\n")[0]
    if _JSON.match(text) or any(is_header(first_line, delimiter) for delimiter in ",;\t"):
        return of_dataset(parse_dataset(text, "stdin" if named == STDIN else Path(path).name, file))
    if SEPARATOR in first_line or not text:
        return parse_nbest(text, file), None
    if is_fairseq(text):
        nbest, dataset = fairseq_dataset(text, file, file)
        return nbest, dataset if len(dataset.references) or (dataset.sources["text"] != "").any() else None
    return _of_texts(text.removesuffix("\n").split("\n"), "line", file, sentences, each), None


def of_dataset(dataset: Dataset) -> tuple[NBestList, Dataset]:
    """Return the candidates of a data set as hypotheses of its sources, and the data set."""
    candidates = dataset.candidates
    return _without_features(dataset.name, dataset.candidate_source, candidates["text"].tolist()), dataset


def _of_texts(texts: list[str], unit: str, file: str, sentences: int | None, each: int | None) -> NBestList:
    """Make an n-best list from texts, equally many for every sentence; each is a `unit` of the file."""
    asked = each is not None
    if each is None:
        if not sentences:
            raise DataError(
                "plain text: unknown number of sentences; give --per-source N, the number of lines per sentence, "
                "or sources (-s) or references (-r)",
                file=file,
            )
        each = len(texts) // sentences
    if not each or len(texts) % each or (sentences is not None and len(texts) != each * sentences):
        if sentences is None:
            expected = f"a multiple of {each} (--per-source)"
        else:
            given = f"{each} (--per-source)" if asked else "as many"
            expected = (
                f"{given} for each of {counted(sentences, 'sentence')}: give the sources or references of this list"
            )
        raise DataError(f"has {counted(len(texts), unit)}, expected {expected}", file=file)
    return _without_features(file, np.repeat(np.arange(len(texts) // each), each), texts)


def _without_features(name: str, sentence: np.ndarray, texts: list[str]) -> NBestList:
    return from_columns(name, sentence, texts, np.zeros((len(texts), 0)), ())
