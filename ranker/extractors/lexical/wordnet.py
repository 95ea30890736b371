"""WordNet (Fellbaum 1998) as a dictionary of synsets: which meanings a word form may have.

Read from the files of WordNet 3.x (``index.noun``, ``noun.exc`` and so on), which WordNet itself, Debian's package
``wordnet-base`` and NLTK's corpus ``wordnet`` hold alike, or from the database of the Python package ``wn``.
"""

from __future__ import annotations

import functools
import os
import sqlite3
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from ranker.errors import DataError, MissingError, note_logger
from ranker.files import display_name, printable, read_text, sha256

_PARTS = ("noun", "verb", "adj", "adv")
_OFFSETS = 100_000_000  # offsets have eight digits; the part of speech goes before them
_ANY, _NOUN, _VERB, _ADJECTIVE = range(4)
_ENDINGS: dict[int, tuple[tuple[str, str], ...]] = {
    _NOUN: (
        *(("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man")),
        ("ies", "y"),
    ),
    _VERB: (*(("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),),
    _ADJECTIVE: (("er", ""), ("est", "")),
}
"""Endings of inflected forms and what base forms have instead, by part of speech as `part_of_speech` numbers them."""
_FIRST_BASE_ENDINGS = (*chain.from_iterable(_ENDINGS.values()), ("er", "e"), ("est", "e"))
_SHORTEST = 3  # a word of two letters has no ending
_LARGEST = 1 << 26
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError)
_LOG = note_logger(__name__)
_NOTED: set[str] = set()


@dataclass(frozen=True, eq=False)
class WordNet:
    """Synsets of words."""

    lemmas: Mapping[str, tuple[int, ...]]
    exceptions: Mapping[str, tuple[str, ...]]
    digest: str
    exception_parts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def synsets(self, word: str) -> frozenset[int]:
        """Return the synsets that `word`, lower-cased, may stand for.

        They are its own and those of its base form: what the exceptions say or else the first regular base form that is
        a lemma, whatever its part of speech. This is how the synonym dictionary of Meteor 1.5 behaves.
        """
        synset_ids = set(self.lemmas.get(word, ()))
        for base in self._base_forms(word):
            synset_ids.update(self.lemmas.get(base, ()))
        return frozenset(synset_ids)

    def synsets_of_any_form(self, word: str) -> set[int]:
        """Return the synsets of a word, and those that its base forms have as the part of speech it would be of.

        Exceptions and all endings are tried whether or not the word is a lemma itself, as the library does that TERp
        looks words up with. So "might", a form of the verb "may", is no synonym of the month.
        """
        word = word.lower()
        bases = [
            (word[: -len(ending)] + replacement, part)
            for part, endings in _ENDINGS.items()
            for ending, replacement in endings
            if word.endswith(ending)
        ]
        irregular = self.exceptions.get(word, ())
        bases += zip(irregular, self.exception_parts.get(word, [_ANY] * len(irregular)), strict=True)
        synsets = set(self.lemmas.get(word, ()))
        for base, part in bases:
            synsets.update(
                synset for synset in self.lemmas.get(base, ()) if part == _ANY or part_of_speech(synset) in (part, _ANY)
            )
        return synsets

    def _base_forms(self, word: str) -> tuple[str, ...]:
        irregular = self.exceptions.get(word)
        if irregular is not None:
            return irregular
        if len(word) < _SHORTEST or word.endswith("ss"):
            return ()
        for ending, replacement in _FIRST_BASE_ENDINGS:
            if word.endswith(ending):
                base = word[: -len(ending)] + replacement
                if base in self.lemmas:
                    return (base,)
        return ()


def part_of_speech(synset: int) -> int:
    """Return 1 for a synset of nouns, 2 of verbs, 3 of adjectives, 4 of adverbs, 0 if it is not known."""
    return synset // _OFFSETS


def find_wordnet(place: str = "auto") -> WordNet:
    """Return WordNet from `place`, read once for the life of the program."""
    if place != "auto":
        return _read(Path(place))
    for path in installed_places():
        if _holds_wordnet(path):
            return _read(path)
    raise MissingError(
        "no WordNet found for synonyms: install the Debian package wordnet-base or NLTK's corpus 'wordnet', "
        "or name the directory of its files as wordnet=DIRECTORY"
    )


def optional_wordnet(place: str, name: str) -> WordNet | None:
    """Return WordNet from `place`, or None with one warning if `place` is ``auto`` and none is installed."""
    try:
        return find_wordnet(place)
    except MissingError as error:
        if place != "auto":
            raise
        if name not in _NOTED:
            _NOTED.add(name)
            _LOG.warning("ranker: note: %s does not use synonyms: %s", name, error)
        return None


def installed_places() -> Iterator[Path]:
    """Yield the files and directories in which `find_wordnet` looks, first things first."""
    if "WNSEARCHDIR" in os.environ:
        yield Path(os.environ["WNSEARCHDIR"])
    if "WNHOME" in os.environ:
        yield Path(os.environ["WNHOME"], "dict")
    yield Path("/usr/share/wordnet")
    for version in ("3.0", "3.1"):
        yield Path("/usr/local", f"WordNet-{version}", "dict")
    named = [Path(folder) for folder in os.environ.get("NLTK_DATA", "").split(os.pathsep) if folder]
    usual = [Path.home(), *map(Path, (sys.prefix, f"{sys.prefix}/share", f"{sys.prefix}/lib"))]
    usual += map(Path, ("/usr/share", "/usr/local/share", "/usr/lib", "/usr/local/lib"))
    for root in (*named, *(folder / "nltk_data" for folder in usual)):
        yield root / "corpora" / "wordnet"
        yield root / "corpora" / "wordnet.zip"
    yield Path(os.environ.get("WN_DATA_DIR") or Path.home() / ".wn_data", "wn.db")


def _holds_wordnet(path: Path) -> bool:
    return (path / "index.noun").is_file() or (path.suffix in (".zip", ".db") and path.is_file())


@functools.cache
def _read(path: Path) -> WordNet:
    if path.is_dir():
        return _parse(lambda name: read_text(path / name), display_name(path))
    if not path.exists():
        raise MissingError(f"{display_name(path)}: no such file or directory, expected the dictionary files of WordNet")
    if not path.is_file():
        raise DataError("this is a device or a pipe, expected the dictionary files of WordNet", file=display_name(path))
    if zipfile.is_zipfile(path):
        try:
            with zipfile.ZipFile(path) as archive:
                return _parse(lambda name: _member(archive, f"wordnet/{name}").decode("utf-8"), display_name(path))
        except _DAMAGED as error:
            what = f"is not a zip file of WordNet, or is damaged ({error or type(error).__name__})"
            raise DataError(what, file=display_name(path)) from None
    return _read_database(path)


def _member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return a file of a zip, which is of a few megabytes in all versions."""
    entry = archive.getinfo(name)
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise DataError(f"{name} is compressed in an unsupported way")
    with archive.open(entry) as stream:
        content = stream.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise DataError(f"{name} unpacks to more than {_LARGEST >> 20} MB")
    return content


def _parse(text_of: Callable[[str], str], name: str) -> WordNet:
    """Parse the index and exception files; `text_of` returns the text of one."""
    lemmas: dict[str, tuple[int, ...]] = {}
    exceptions: dict[str, tuple[str, ...]] = {}
    parts: dict[str, tuple[int, ...]] = {}
    content = []
    for number, part in enumerate(_PARTS, 1):
        try:
            index, irregular = text_of(f"index.{part}"), text_of(f"{part}.exc")
        except (DataError, KeyError, UnicodeDecodeError) as error:
            raise DataError(
                f"is not a WordNet directory: index.{part} or {part}.exc cannot be read ({error})", file=name
            ) from None
        content += [index, irregular]
        for row, line in enumerate(index.splitlines(), 1):
            if line[:1].isspace():
                continue  # the licence at the head of the file
            fields = line.split()
            # word, part of speech, number of synsets, number of pointer symbols, these, two counts, an offset a synset
            try:
                offsets = [int(field) for field in fields[-int(fields[2]) :]]
                if not all(0 <= offset < _OFFSETS for offset in offsets):
                    raise ValueError("offset")
            except (IndexError, ValueError):
                shown = printable(line[:100])
                raise DataError(
                    f"expected a word, counts and synset offsets, found {shown!r}",
                    file=f"{name}/index.{part}",
                    line=row,
                ) from None
            lemmas[fields[0]] = (*lemmas.get(fields[0], ()), *(number * _OFFSETS + offset for offset in offsets))
        for line in irregular.splitlines():
            form, *bases = line.split() or [""]
            exceptions[form] = (*exceptions.get(form, ()), *bases)
            parts[form] = (*parts.get(form, ()), *(number for _ in bases))
    return WordNet(lemmas, exceptions, sha256("".join(content).encode())[:12], parts)


def _read_database(path: Path) -> WordNet:
    """Read the first English lexicon of the database of the Python package ``wn``."""
    query = """
        SELECT forms.form, forms.rank, forms.entry_rowid, senses.synset_rowid
        FROM forms JOIN senses ON senses.entry_rowid = forms.entry_rowid
        WHERE forms.lexicon_rowid = (SELECT min(rowid) FROM lexicons WHERE language = 'en')
        ORDER BY forms.entry_rowid, forms.rank, forms.rowid, senses.rowid
    """
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            rows = connection.execute(query).fetchall()
        finally:
            connection.close()
    except (sqlite3.Error, UnicodeError) as error:
        raise DataError(f"is not a database of the package wn ({error})", file=display_name(path)) from None
    wrong = next((row for row in rows if not (isinstance(row[0], str) and isinstance(row[3], int))), None)
    if wrong is not None:
        what = f"expected words with synsets in a database of the package wn, found {printable(str(wrong))[:80]}"
        raise DataError(what, file=display_name(path))
    if not rows:
        raise DataError(
            "contains no English wordnet: add one with `python -m wn download oewn`", file=display_name(path)
        )
    lemma_of: dict[int, str] = {}
    lemmas: dict[str, dict[int, None]] = {}
    exceptions: dict[str, dict[str, None]] = {}
    for form, rank, entry, synset in rows:
        form = form.lower().replace(" ", "_")
        lemma = lemma_of.setdefault(entry, form)
        if rank:
            exceptions.setdefault(form, {})[lemma] = None
        else:
            lemmas.setdefault(lemma, {})[synset] = None
    return WordNet(
        {lemma: tuple(synsets) for lemma, synsets in lemmas.items()},
        {form: tuple(bases) for form, bases in exceptions.items()},
        sha256(repr(rows).encode())[:12],
    )
