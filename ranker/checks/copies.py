"""Checks for outputs that copy their source, wholly or in part, where a translation was expected."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ranker.checks.pairs import PairedTexts
from ranker.checks.texts import bare, clean_words, compiled, joined, tables
from ranker.corpora.languages import unicode_scripts

_CODE = re.compile(r"[{}=<>\\_|]|\(\)|::|;\s*$|^\s*[$#]|--\w")
_QUOTED = re.compile("""["“„«‘]([^"“”„«»]{3,60})["”“»’]""")
_ADDRESS = re.compile(r"\w[/_.]\w")
_WORDS = re.compile(r"\w+")
_BEGUN_AT_END = re.compile(r"\W*[.!?…]")
"""End of a sentence, matched at the beginning of a reversed text, which is faster than a search for the end."""
_LONGEST_OF_NAMES, _LONGEST_ACRONYM = 20, 4
_RUN, _SHARE = 3, 0.15


def copies(texts: PairedTexts) -> Iterator[tuple[int, str]]:
    """Yield the outputs that equal their source, if a translation would change that text."""
    owner = pa.array(np.repeat(np.arange(len(texts.sources)), np.diff(texts.slots)))
    kept = pc.equal(bare(texts.references), bare(texts.sources).take(owner)).to_numpy()
    suspects = texts.copies & texts.translated & ~texts.of_references(kept)[texts.source]
    for row, source, _, _ in texts.beside(suspects):
        if untranslated(source, *texts.pair(row), script=texts.script(row)):
            yield row, "the source"


def mixed(texts: PairedTexts, least: float = _SHARE) -> Iterator[tuple[int, str]]:
    """Yield the outputs of which at least the share `least` is one run of copied words that should be translated."""
    starts, lengths, rows = texts.copied_runs
    size = np.diff(texts.words[1])
    long = (
        (lengths >= _RUN) & (lengths >= least * size[rows]) & (texts.translated & texts.outputs & ~texts.copies)[rows]
    )
    suspects = np.unique(rows[long])
    # the same words, with their capitals
    written = clean_words(texts.own.take(pa.array(suspects)), lower=False)
    place = dict(zip(suspects.tolist(), written.to_pylist(), strict=True))
    shown: dict[int, str] = {}
    for start, length, row in zip(starts[long].tolist(), lengths[long].tolist(), rows[long].tolist(), strict=True):
        first = start - texts.words[1][row]
        words = place[row][first : first + length]
        run = joined(words) if sum(map(len, words)) > 1.5 * length else "".join(words)
        rest = _unquoted(run, texts.sources[texts.source[row]].as_py())
        if row in shown or not untranslated(rest, *texts.pair(row), script=texts.script(row), part=True):
            continue
        if not any(_lower(words) in _lower(said) for said in texts.reference_words(row)):
            shown[row] = run
    yield from shown.items()


def _lower(words: Iterable[str]) -> str:
    return " ".join(words).lower()


def _unquoted(words: str, source: str) -> str:
    """Remove the source's addresses and quotations, which a translation may keep, from words copied from the source."""
    for quoted in dict.fromkeys((*_QUOTED.findall(source), *filter(_ADDRESS.search, source.split()))):
        kept = " ".join(re.findall(r"[^\W_]+", quoted))
        words = "" if words.lower() in kept.lower() else re.sub(re.escape(kept), "", words, flags=re.IGNORECASE)
    return words


def taken_over(texts: PairedTexts, row: int) -> bool:
    """True if at least two thirds of an output is copied source text that a translation would keep."""
    source, output = texts.sources[texts.source[row]].as_py(), texts.own[row].as_py()
    words, of_source = _WORDS.findall(output), {*_WORDS.findall(source.lower())}
    shared = [word for word in words if word.lower() in of_source]
    if 3 * sum(map(len, shared)) < 2 * sum(map(len, words)):
        return False
    prose = {*_WORDS.findall(_without_kept(source).lower())}
    copied = " ".join(word for word in shared if word.lower() in prose)
    return not untranslated(copied, *texts.pair(row), script=texts.script(row), part=True)


def _without_kept(text: str) -> str:
    """Return a text without its URLs, markup and placeholders."""
    for pattern in tables()["kept"].values():
        text = compiled(pattern).sub(" ", text)
    return text


def untranslated(text: str, source: str, target: str, *, script: str = "", part: bool = False) -> bool:
    """True if a text is certainly prose in the language `source`, not names, numbers, URLs or code.

    `script` is the code of the script of the language `target`, if it is stated.
    """
    text = _without_kept(text)
    letters = [letter for letter in text if letter.isalpha()]
    if target and (others := sum(_script(letter) not in _scripts(target, script) for letter in letters)):
        return others > (3 if part else 1) and others > 0.3 * len(letters)
    if len(letters) < sum(map(str.isdigit, text)) + 1:
        return False
    if not any(letter.islower() or letter.isupper() for letter in letters):
        # one script for both languages
        return len(text.strip()) > _LONGEST_OF_NAMES or bool(re.search("[。！？，]", text))
    frequent = _frequent(source, target)
    words = [word.strip(".,!?…:;\"'“”„«»()[]’-") for word in text.split() if word[0] not in "@#"]
    lower = [word for word in words if word.isalpha() and word.islower() and word not in _particles()]
    capitals = not any(letter.islower() for letter in letters)
    if capitals:
        lower = [word.lower() for word in words if word.isalpha() and len(words) > 3]
    # most words with an accent are not English, but some in the middle of English are
    accented = target == "en" and (len(lower) > 2 or not part)
    function = [word for word in lower if word in frequent or (accented and not word.isascii())]
    content = [word for word in lower if word not in frequent and len(word) > 2]
    if _CODE.search(text):
        return len(function) > 1 and len(content) > 1
    ended = bool(_BEGUN_AT_END.match(text[::-1])) and len(words) > 1
    if part:
        # a title in the language of the output
        title = (
            not function
            and source in tables()["language"]["words"]
            and any(map(_frequent(target, source).__contains__, lower))
        )
        prose = len(function) > sum(word[:1].isupper() for word in words) and len(function) > 1
        # in capitals, short words may be acronyms
        long = [word for word in lower if len(word) > _LONGEST_ACRONYM or not capitals]
        return prose or (bool(function) and len(content) > 0) or (len(long) > 4 and not title)
    if content:
        return bool(function) or ended or len(lower) > 4
    # also a title of several words may be kept
    return bool(function) and (ended or (len(function) > 1 and len(words) > 5))


def _script(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0].partition("-")[0].replace("CJK", "HAN")


@cache
def _scripts(language: str, stated: str) -> frozenset[str]:
    """Return the stated script or else those of a language, and Latin, in which names may be in any language."""
    listed = tables()["language"]["scripts"].items()
    named = unicode_scripts(stated) or next((names for names, codes in listed if language in codes.split()), "")
    return frozenset(["LATIN", *(name.partition("_")[0] for name in named.upper().split())])


@cache
def _particles() -> frozenset[str]:
    return frozenset(tables()["language"]["particles"].split())


@cache
def _frequent(source: str, target: str) -> frozenset[str]:
    """Return the frequent words of the language `source`, or of all if "", that are not frequent in `target`."""
    listed = tables()["language"]["words"]
    own = [listed[source]] if source in listed else [] if source else [*listed.values()]
    return frozenset(word for words in own for word in words.split()) - {*listed.get(target, "").split()} - _particles()
