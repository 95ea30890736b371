"""Word aligners of an experiment: learnt from its corpora, or read from files."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ranker.apps.experiments.tables import Table
from ranker.corpora.dataset import Dataset
from ranker.corpora.formats.pharaoh import Alignments
from ranker.corpora.schema import TEXT
from ranker.corpora.scripts import HANGUL
from ranker.errors import OptionError, nearest
from ranker.extractors.order.aligner import align_dataset, learn_aligner, load_aligner
from ranker.files import display_name, read_bytes, sha256
from ranker.learning.aligner.model import AlignmentModel
from ranker.text.target_languages import language_of, reference_scripts, sampled
from ranker.text.tokens import tokenise

_NAMED = re.compile(r"(?P<pair>[A-Za-z_]+-[A-Za-z_]+)=(?P<rest>.+)")
_TOKENIZER = "13a"


@dataclass(frozen=True, eq=False)
class WordAligner:
    """A trained aligner, with a description of its training data."""

    model: AlignmentModel
    learnt_from: str

    def align(self, dataset: Dataset) -> Alignments:
        """Align all references and candidates with their sources."""
        return align_dataset(self.model, dataset)

    def row(self, language_pair: str) -> dict[str, Any]:
        """Return the row about this aligner for the table of word aligners."""
        return {
            "language pair": language_pair,
            "learnt from": self.learnt_from,
            "sentence pairs": self.model.pairs,
        }


@dataclass(frozen=True)
class Aligners:
    """Origin of each language pair's aligner: a file or, by default, the corpus that is aligned."""

    files: Mapping[str, Path] = field(default_factory=dict)
    _aligners: dict[str, WordAligner] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def parse(cls, files: Sequence[str]) -> Aligners:
        """Return the aligners that the values of ``--aligner`` name: ``FILE``, or ``de-en=FILE`` for one pair."""
        found: dict[str, Path] = {}
        for text in files:
            pair, path = _named(text)
            if pair in found:
                raise OptionError(
                    f"--aligner: two aligners for {pair or 'all language pairs'}, expected one; give the language pair "
                    "of each, as in de-en=FILE"
                )
            found[pair] = path
        return cls(found)

    def check(self, datasets: Sequence[Dataset]) -> None:
        """Read all aligner files, and refuse aligners for language pairs that are in none of the data sets."""
        known = language_pairs_of(datasets)
        for pair in self.files:
            if pair and pair not in known:
                raise OptionError(
                    f"the aligner for {pair} is not used{nearest(pair, known)}; the data contains: {', '.join(known)}"
                )
        for pair, path in self.files.items():
            self._aligners[pair] = _loaded(path)

    def aligner(self, dataset: Dataset, language_pair: str) -> WordAligner:
        """Return the aligner for `dataset`, which must have only `language_pair`; call `check` first."""
        key = language_pair if language_pair in self.files else ""
        if key in self._aligners:
            return self._aligners[key]
        return WordAligner(learn_aligner(dataset), f"sources and references of {dataset.name}")

    def signed(self, datasets: Sequence[Dataset]) -> str:
        """Return the part of a signature that describes the aligners, with digests of their files."""
        named = {pair: sha256(read_bytes(path))[:8] for pair, path in self.files.items()}
        parts = [f"{pair}=file#{named[pair]}" if pair else f"file#{named['']}" for pair in sorted(named)]
        if "" not in named and not set(language_pairs_of(datasets)) <= set(named):
            parts.append("references")
        return ",".join(parts)


def with_spaces(dataset: Dataset) -> Dataset:
    """Return `dataset` with spaces between the characters of scripts without spaces; other text is unchanged."""
    pair, scripts = dataset.source_language_pairs, reference_scripts(dataset)
    changed = {}
    for name in ("sources", "references", "candidates"):
        table = getattr(dataset, name)
        of_pair = pair if name == "sources" else pair[table["source"].to_numpy()]
        texts = table["text"].to_numpy(object).copy()
        for each, script in scripts.items():
            rows = np.flatnonzero(of_pair == each)
            if name == "sources":
                script = language_of(texts[sampled(rows)].tolist()) if len(rows) else None
            if script not in (None, HANGUL):
                segments = tokenise(texts[rows].tolist(), "any")
                texts[rows] = [" ".join(segments.words(row)) for row in range(len(rows))]
                changed[name] = table.assign(text=pd.Series(texts, index=table.index, dtype=TEXT))
    return dataclasses.replace(dataset, **changed) if changed else dataset


def table(name: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    """Make a table about word aligners, with `name` in its title."""
    return Table(f"word aligners, {name}", tuple(rows))


def language_pairs_of(datasets: Sequence[Dataset]) -> list[str]:
    """Return the language pairs in any of the data sets, sorted."""
    return sorted({pair for dataset in datasets for pair in dataset.language_pairs})


def _named(text: str) -> tuple[str, Path]:
    """Split ``de-en=FILE`` into language pair and path; the language pair is empty if not given."""
    match = _NAMED.fullmatch(text)
    return (match["pair"], Path(match["rest"])) if match else ("", Path(text))


def _loaded(path: Path) -> WordAligner:
    model = load_aligner(path)
    if model.text.get("tokenizer") != _TOKENIZER:
        raise OptionError(
            f"{path}: was trained with the tokenizer {model.text.get('tokenizer')}, but this experiment uses "
            f"{_TOKENIZER}: train it with --tokenizer {_TOKENIZER}"
        )
    return WordAligner(model, display_name(path.name))
