"""WordNet (Fellbaum 1998) as a dictionary of synsets, the possible meanings of word forms.

Read from the files of WordNet 3.x (``index.noun``, ``noun.exc`` and so on), which WordNet itself, Debian's package
``wordnet-base`` and NLTK's corpus ``wordnet`` hold alike.
"""

from __future__ import annotations

import functools
import os
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from ranker.errors import DataError, MissingError, log_note
from ranker.files import display_name, printable, read_text, sha256

_PARTS = ("noun", "verb", "adj", "adv")
_OFFSETS = 100_000_000  # offsets have eight digits; the part of speech goes before them
_NOUN, _VERB, _ADJECTIVE = range(1, 4)
_ENDINGS: dict[int, tuple[tuple[str, str], ...]] = {
    _NOUN: (
        *(("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man")),
        ("ies", "y"),
    ),
    _VERB: (*(("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),),
    _ADJECTIVE: (("er", ""), ("est", "")),
}
"""Endings of inflected forms and their replacements in base forms, by part of speech, the first digit of a synset."""
_FIRST_BASE_ENDINGS = (*chain.from_iterable(_ENDINGS.values()), ("er", "e"), ("est", "e"))
_SHORTEST = 3  # a word of two letters has no ending
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError)
_NOTED: set[str] = set()


@dataclass(frozen=True, eq=False)
class WordNet:
    """Synsets and base forms of English words."""

    lemmas: Mapping[str, tuple[int, ...]]
    exceptions: Mapping[str, tuple[tuple[str, int], ...]]
    """Base forms of each irregular word form, with their parts of speech."""
    digest: str

    def synsets(self, word: str) -> frozenset[int]:
        """Return the synsets of `word`, which must be lower-cased.

        They include the synsets of its base form: the form in the exception lists, or else the first regular base form
        that is a lemma, whatever its part of speech. This is how the synonym dictionary of Meteor 1.5 behaves.
        """
        synset_ids = set(self.lemmas.get(word, ()))
        for base in self._base_forms(word):
            synset_ids.update(self.lemmas.get(base, ()))
        return frozenset(synset_ids)

    def synsets_of_any_form(self, word: str) -> set[int]:
        """Return the synsets of a word, and of its base forms in the part of speech that the inflection implies.

        Exceptions and all endings are tried whether or not the word is a lemma itself, as in the library by which TERp
        looks words up with. So "might", a form of the verb "may", is no synonym of the month.
        """
        word = word.lower()
        bases = [
            (word[: -len(ending)] + replacement, part)
            for part, endings in _ENDINGS.items()
            for ending, replacement in endings
            if word.endswith(ending)
        ]
        synsets = set(self.lemmas.get(word, ()))
        for base, part in (*bases, *self.exceptions.get(word, ())):
            synsets.update(synset for synset in self.lemmas.get(base, ()) if synset // _OFFSETS == part)
        return synsets

    def _base_forms(self, word: str) -> tuple[str, ...]:
        if word in self.exceptions:
            return tuple(base for base, _ in self.exceptions[word])
        if len(word) < _SHORTEST or word.endswith("ss"):
            return ()
        for ending, replacement in _FIRST_BASE_ENDINGS:
            if word.endswith(ending):
                base = word[: -len(ending)] + replacement
                if base in self.lemmas:
                    return (base,)
        return ()


def find_wordnet(place: str = "auto") -> WordNet:
    """Return WordNet from `place`, read once per process."""
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
    """Return WordNet from `place`; if `place` is ``auto`` and WordNet is not installed, warn once and return None."""
    try:
        return find_wordnet(place)
    except MissingError as error:
        if place != "auto":
            raise
        if name not in _NOTED:
            _NOTED.add(name)
            log_note(f"{name} does not use synonyms: {error}")
        return None


def installed_places() -> Iterator[Path]:
    """Yield the files and directories in which `find_wordnet` looks, in that order."""
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


def _holds_wordnet(path: Path) -> bool:
    return (path / "index.noun").is_file() or (path.suffix == ".zip" and path.is_file())


@functools.cache
def _read(path: Path) -> WordNet:
    if path.is_dir():
        return _parse(lambda name: read_text(path / name), display_name(path))
    if not path.is_file():
        found = "this is a device or pipe" if path.exists() else "no such file or directory"
        raise MissingError(f"{display_name(path)}: {found}, expected the dictionary files of WordNet")
    try:
        with zipfile.ZipFile(path) as archive:
            return _parse(lambda name: archive.read(f"wordnet/{name}").decode("utf-8"), display_name(path))
    except _DAMAGED as error:
        what = f"is not a zip file of WordNet, or is damaged ({error or type(error).__name__})"
        raise DataError(what, file=display_name(path)) from None


def _parse(text_of: Callable[[str], str], name: str) -> WordNet:
    """Parse WordNet's index and exception files; `text_of` returns the text of a file by its name."""
    lemmas: dict[str, tuple[int, ...]] = {}
    exceptions: dict[str, tuple[tuple[str, int], ...]] = {}
    content = []
    for number, part in enumerate(_PARTS, 1):
        try:
            index, irregular = text_of(f"index.{part}"), text_of(f"{part}.exc")
        except (DataError, KeyError, UnicodeDecodeError) as error:
            raise DataError(
                f"is not a WordNet directory: index.{part} or {part}.exc cannot be read ({error})", file=name
            ) from None
        content += [index, irregular]
        for row, line in enumerate(index.split("\n"), 1):
            if not line or line[0].isspace():
                continue  # the licence at the head of the file
            fields = line.split()
            # word, part of speech, number of synsets, number of pointer symbols, the symbols, two counts, offsets
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
        for line in irregular.split("\n"):
            form, *bases = line.split() or [""]
            exceptions[form] = (*exceptions.get(form, ()), *((base, number) for base in bases))
    return WordNet(lemmas, exceptions, sha256("".join(content).encode())[:12])
