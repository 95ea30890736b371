"""Runs a dependency parser over many sentences and returns columns, not objects.

The parser is a spaCy pipeline: the included one, or any other with a ``parser``.
A sentence always stays one sentence with one root, whatever punctuation it contains, and only the components that
tags and trees need are run.
"""

from __future__ import annotations

import functools
import hashlib
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ranker.arrays import BoolArray, Int32Array, Int64Array, UInt64Array
from ranker.errors import DataError, ModelError, OptionError, RankerError
from ranker.files import display_name, read_text
from ranker.learning.parser.lemmas import LemmaTable
from ranker.learning.parser.loading import load_pipeline
from ranker.learning.parser.origin import broken, directory_of
from ranker.threads import process_environment, sheltered_from_ctrl_c

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

LEMMA_FILE = "lemmas.json"
CARD_FILE = "CARD.md"
ROOT_RELATION = "root"
_CHUNK, _BATCH = 1024, 256
_TREE_COMPONENTS = {"tok2vec", "transformer", "tagger", "morphologizer", "attribute_ruler", "parser"}
_NO_TAG = "X"
UNIVERSAL_TAGS = (
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM"),
    *("PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X"),
)
_NOT_CONTENT = (CARD_FILE, "LICENSE", "NOTICE")

Sentences = Sequence[str] | Sequence[Sequence[str]]


@dataclass(frozen=True, eq=False)
class Parses:
    """Dependency trees of many sentences; word i of sentence s is entry ``offsets[s] + i`` of each column."""

    offsets: Int64Array
    words: list[str]
    heads: Int32Array
    relations: Int32Array
    tags: Int32Array
    lemmas: list[str] | None
    relation_names: tuple[str, ...]
    tag_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True)
class _ParsedChunk:
    """Parses of a chunk of sentences in a form that is cheap to send between processes."""

    lengths: Int64Array
    words: list[str]
    heads: Int32Array
    relations: Int32Array
    tags: Int32Array
    lemmas: list[str] | None


class DependencyParser:
    """A spaCy pipeline reduced to the components for tags, trees and lemmas."""

    def __init__(self, pipeline: Language, *, lemma_table: LemmaTable | None = None, origin: str | None = None) -> None:
        if "parser" not in pipeline.pipe_names:
            known = ", ".join(pipeline.pipe_names) or "none"
            where = "" if origin is None else f"{origin}: "
            raise ModelError(f"{where}the pipeline has no component 'parser', found {known}: use another pipeline")
        self._pipeline = pipeline
        self._origin = origin
        self._lemma_table = lemma_table
        self._idle = [name for name in pipeline.pipe_names if name not in _TREE_COMPONENTS | {"lemmatizer"}]
        # spaCy refuses texts of a million characters, for the sake of components that are not run here
        pipeline.max_length = 2**62
        strings = pipeline.vocab.strings
        relations = {*pipeline.pipe_labels["parser"], "dep", "ROOT"}
        self._relations = _Names(
            {strings.add(label): ROOT_RELATION if label == "ROOT" else label for label in sorted(relations)}, "dep"
        )
        # pipelines with another tag set map it to the universal one in these components
        universal = bool({"morphologizer", "attribute_ruler"} & set(pipeline.pipe_names))
        self._tag_attribute = "POS" if universal else "TAG"
        tags = UNIVERSAL_TAGS if universal else pipeline.pipe_labels.get("tagger", [])
        self._tags = _Names({strings.add(tag): tag for tag in sorted({*tags, _NO_TAG})}, _NO_TAG)

    @property
    def language(self) -> str:
        """Code of the language that the parser analyses, such as ``en``."""
        return str(self._pipeline.lang)

    @property
    def relation_names(self) -> tuple[str, ...]:
        """Names of all relations that the parser knows, sorted."""
        return self._relations.names

    @property
    def tag_names(self) -> tuple[str, ...]:
        """All part-of-speech tags that the parser knows, sorted."""
        return self._tags.names

    @property
    def has_lemmas(self) -> bool:
        """True if `parse` can return lemmas."""
        return self._lemma_table is not None or "lemmatizer" in self._pipeline.pipe_names

    def parse(self, sentences: Sentences, *, lemmas: bool = False, processes: int = 1) -> Parses:
        """Parse sentences, each a text or a list of words."""
        if lemmas and not self.has_lemmas:
            raise OptionError(f"the parser for {self.language!r} has no lemmas: remove the option lemma")
        chunks = [sentences[start : start + _CHUNK] for start in range(0, len(sentences), _CHUNK)]
        if processes > 1 and len(chunks) > 1 and self._origin is not None:
            from joblib import Parallel, delayed

            with process_environment(), warnings.catch_warnings(), ExitStack() as opened:
                # joblib warns about tasks that Ctrl-C cancels
                warnings.filterwarnings("ignore", category=UserWarning, module="joblib")
                if os.name == "posix":
                    from joblib.externals.loky.backend import resource_tracker

                    # its start would let Ctrl-C through to later processes
                    resource_tracker.ensure_running()
                with sheltered_from_ctrl_c():
                    parsed = Parallel(n_jobs=min(processes, len(chunks)), return_as="generator")(
                        delayed(_parse_chunk)(self._origin, chunk, lemmas=lemmas) for chunk in chunks
                    )
                    opened.callback(parsed.close)
                columns = [*parsed]
        else:
            columns = [self._columns(chunk, lemmas=lemmas) for chunk in chunks]
        return self._joined(columns, lemmas=lemmas)

    def _columns(self, sentences: Sentences, *, lemmas: bool) -> _ParsedChunk:
        idle = self._idle if lemmas and self._lemma_table is None else [*self._idle, "lemmatizer"]
        try:
            documents = [self._document(sentence) for sentence in sentences]
            # empty documents are left out: some components refuse them
            filled = [document for document in documents if len(document)]
            parsed = list(self._pipeline.pipe(filled, batch_size=_BATCH, disable=idle))
        except (RankerError, MemoryError):
            raise
        except Exception as error:  # parts of a damaged pipeline may not fit together
            raise broken(self._origin, error) from error
        tables = [document.to_array(["HEAD", "DEP", self._tag_attribute]) for document in parsed]
        table = np.concatenate(tables) if tables else np.zeros((0, 3), dtype=np.uint64)
        lengths = np.array([len(document) for document in documents], dtype=np.int64)
        words = [token.text for document in parsed for token in document]
        tags = self._tags.codes(table[:, 2])
        heads, is_root = _heads(table[:, 0].astype(np.int64), lengths)
        relations = self._relations.codes(table[:, 1])
        relations[is_root] = self._relations.code(ROOT_RELATION)
        return _ParsedChunk(
            lengths, words, heads, relations, tags, self._lemmas(parsed, words, tags) if lemmas else None
        )

    def _document(self, sentence: str | Sequence[str]) -> Doc:
        from spacy.tokens import Doc

        if isinstance(sentence, str):
            document = self._pipeline.make_doc(_encodable(" ".join(sentence.split())))
        else:
            if not all(sentence):
                raise DataError(f"found an empty word in {list(sentence)}, expected a text or non-empty words")
            document = Doc(self._pipeline.vocab, words=[_encodable(word) for word in sentence])
        for token in document[1:]:
            token.is_sent_start = False
        return document

    def _lemmas(self, documents: Iterable[Doc], words: Sequence[str], tags: Int32Array) -> list[str]:
        table = self._lemma_table
        if table is None:
            return [(token.lemma_ or token.text).lower() for document in documents for token in document]
        names = self._tags.names
        pairs = list(zip(words, tags.tolist(), strict=True))
        lemmas = {(word, tag): table.lemma(word, names[tag]) for word, tag in set(pairs)}
        return [lemmas[pair] for pair in pairs]

    def _joined(self, columns: Sequence[_ParsedChunk], *, lemmas: bool) -> Parses:
        offsets = np.zeros(sum(len(part.lengths) for part in columns) + 1, dtype=np.int64)
        if columns:
            np.cumsum(np.concatenate([part.lengths for part in columns]), out=offsets[1:])
        none = np.zeros(0, dtype=np.int32)
        return Parses(
            offsets,
            [word for part in columns for word in part.words],
            np.concatenate([none, *(part.heads for part in columns)]),
            np.concatenate([none, *(part.relations for part in columns)]),
            np.concatenate([none, *(part.tags for part in columns)]),
            [lemma for part in columns for lemma in part.lemmas or ()] if lemmas else None,
            self.relation_names,
            self.tag_names,
        )


def _encodable(text: str) -> str:
    """Replace lone surrogates, which JSON can contain but spaCy cannot process."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


class _Names:
    """Translates spaCy's 64-bit keys into positions in a sorted tuple of names."""

    def __init__(self, names: dict[int, str], fallback: str) -> None:
        self.names = tuple(sorted({*names.values(), fallback}))
        self._keys = np.array(sorted(names), dtype=np.uint64)
        self._codes = np.array([self.code(names[key]) for key in sorted(names)], dtype=np.int32)
        self._fallback = self.code(fallback)

    def code(self, name: str) -> int:
        return self.names.index(name)

    def codes(self, keys: UInt64Array) -> Int32Array:
        places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        codes: Int32Array = np.where(self._keys[places] == keys, self._codes[places], self._fallback)
        return codes


def _heads(steps: Int64Array, lengths: Int64Array) -> tuple[Int32Array, BoolArray]:
    """Return the position of each word's head (-1 for the root) and a mask of roots, from spaCy's offsets `steps`.

    Further roots of a sentence are attached to its first root.
    """
    sentence = np.repeat(np.arange(len(lengths)), lengths)
    position = np.arange(len(steps)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    heads = position + steps
    roots = np.flatnonzero(steps == 0)
    _, first = np.unique(sentence[roots], return_index=True)
    is_root = np.zeros(len(steps), dtype=bool)
    is_root[roots[first]] = True
    root_position = np.zeros(len(lengths), dtype=np.int64)
    root_position[sentence[roots[first]]] = position[roots[first]]
    heads[roots] = root_position[sentence[roots]]
    heads[is_root] = -1
    return heads.astype(np.int32), is_root


def load(origin: str | Path) -> DependencyParser:
    """Load a parser from a directory, or from an installed spaCy package by its name."""
    directory = directory_of(origin)
    pipeline = load_pipeline(directory)
    lemma_file = directory / LEMMA_FILE
    table = None
    if lemma_file.is_file():
        table = LemmaTable.from_json(read_text(lemma_file), display_name(lemma_file))
    return DependencyParser(pipeline, lemma_table=table, origin=str(origin))


@functools.lru_cache(maxsize=2)
def _loaded(origin: str) -> DependencyParser:
    return load(origin)


def _parse_chunk(origin: str, sentences: Sentences, *, lemmas: bool) -> _ParsedChunk:
    return _loaded(origin)._columns(sentences, lemmas=lemmas)


def digest(origin: str | Path) -> str:
    """Return the SHA-256 digest of the files that affect a pipeline's results: all but the card and licence."""
    directory = directory_of(origin)
    states = ((file, file.stat()) for file in sorted(_content(directory)))
    return _digest_of(
        directory, tuple((file, state.st_size, state.st_mtime_ns, state.st_ino) for file, state in states)
    )


@functools.lru_cache(maxsize=4)
def _digest_of(directory: Path, files: tuple[tuple[Path, int, int, int], ...]) -> str:
    """Return the digest of files in a directory, cached by their size, time and inode."""
    summary = hashlib.sha256()
    for file, *_ in files:
        summary.update(f"{file.relative_to(directory).as_posix()}\0".encode())
        summary.update(hashlib.sha256(file.read_bytes()).digest())
    return summary.hexdigest()


def _content(directory: Path) -> Iterator[Path]:
    for file in directory.rglob("*"):
        if file.is_file() and not file.name.startswith(_NOT_CONTENT):
            yield file
