"""Refuses tokenizers whose settings could make texts grow without bound, or searches run for ever.

Settings are compared with a closed list before the library tokenizers reads the file. Its searches for a pattern can
take exponential time, so only patterns that cannot cause this, and patterns of well-known models, are accepted.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any

_PARTS = {
    "normalizer": {
        *("BertNormalizer", "ByteLevel", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Precompiled", "Prepend"),
        *("Replace", "Sequence", "Strip", "StripAccents"),
    },
    "pre_tokenizer": {
        *("BertPreTokenizer", "ByteLevel", "CharDelimiterSplit", "Digits", "Metaspace", "Punctuation", "Sequence"),
        *("Split", "UnicodeScripts", "Whitespace", "WhitespaceSplit"),
    },
}
_MODELS = {"BPE", "Unigram", "WordLevel", "WordPiece"}
_MOST_STEPS, _MOST_GROWTH, _LONGEST_TEXT, _MOST_ADDED, _MOST_VOCABULARY = 32, 64, 256, 20_000, 2_000_000
_LONGEST_WORD = 1000
_PRECOMPILED = 18
"""Maximum number of letters that the usual table of SentencePiece puts in place of one letter."""
_BYTES = 4
"""Maximum number of letters, one per byte, that ByteLevel puts in place of one; a second ByteLevel does so again."""

_CLASS = r"\\[sSdDwWnrt]|\\[pP]\{\^?\w+\}|\\\W"
_ONE = rf"(?:{_CLASS}|\[\^?(?:{_CLASS}|[^\\\[\]&])+\]|[^\\\[\](){{}}*+?|^$])"
_PLAIN = re.compile(rf"{_ONE}+(?:[*+?]|\{{\d{{1,3}}(?:,\d{{0,3}})?\}})?")
"""Patterns of characters and classes of characters, of which only the last may be repeated."""
_NOTHING = re.compile(rf"(?:{_ONE}(?:[*?]|\{{0+(?:,\d*)?\}}))?")
"""Plain patterns that also match the empty string, which is found everywhere in a text."""
_ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
_REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_KNOWN = {
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",
    f"{_ENDINGS}{{1,3}}{_REST}",
    f"{_ENDINGS}{_REST}",
}
"""Patterns of GPT-2 and RoBERTa, of CLIP, and of decoders that encoders were made from."""


def problem(document: object) -> str:
    """Return a description of the first invalid setting in a tokenizer's file, or an empty string."""
    return next(_problems(document), "") if isinstance(document, dict) else "expected a JSON object"


def _problems(document: Mapping[str, Any]) -> Iterator[str]:
    yield from _model(document.get("model"))
    added = document.get("added_tokens") or []
    contents = [token.get("content") if isinstance(token, dict) else None for token in added]
    if not all(isinstance(content, str) and content for content in contents):
        yield "an added token has no text"
    elif len(contents) > _MOST_ADDED:
        yield f"it has {len(contents):,} added tokens, expected at most {_MOST_ADDED:,}"
    for part, known in _PARTS.items():
        steps = [*_steps(document.get(part), part)]
        if len(steps) > _MOST_STEPS:
            yield f"its {part} has {len(steps)} steps, expected at most {_MOST_STEPS}"
        growth = 1
        for step in steps:
            kind = step.get("type")
            if kind not in known:
                yield f"its {part} has the step {str(kind)[:40]!r}, which is not supported"
            yield from _step(step, part)
            growth *= max(1, len(str(step.get("content", ""))))
            growth *= {"Precompiled": _PRECOMPILED, "ByteLevel": _BYTES}.get(str(kind), 1)
        if growth > _MOST_GROWTH:
            yield f"its {part} makes texts up to {growth:,} times as long, expected at most {_MOST_GROWTH} times"
    post = document.get("post_processor")
    named = {str(token.get("id")) for token in _objects(post, "SpecialToken") if isinstance(token, dict)}
    if missing := named - {str(key) for tokens in _objects(post, "special_tokens") if tokens for key in tokens}:
        yield f"its post_processor adds the token {min(missing)[:40]!r}, but does not define it"
    patterns = [
        *_objects({key: value for key, value in document.items() if key not in ("model", "added_tokens")}, "Regex")
    ]
    for pattern in map(str, patterns):
        if pattern not in _KNOWN and not (len(pattern) <= _LONGEST_TEXT and _PLAIN.fullmatch(pattern)):
            yield f"it searches for the pattern {pattern[:60]!r}, which may take for ever"


def _model(model: object) -> Iterator[str]:
    if not isinstance(model, dict) or (model.get("type") or "BPE") not in _MODELS:
        yield f"its model is not one of {', '.join(sorted(_MODELS))}"
        return
    for name in ("vocab", "merges"):
        entries = model.get(name) or ()
        if not isinstance(entries, dict | list | tuple):
            yield f"its {name} is neither an object nor a list"
        elif len(entries) > _MOST_VOCABULARY:
            yield f"its {name} has {len(entries):,} entries, expected at most {_MOST_VOCABULARY:,}"
    if model.get("dropout"):
        yield "it drops merges at random: set dropout to null"
    longest = model.get("max_input_chars_per_word", 0)
    if isinstance(longest, int) and longest > _LONGEST_WORD:
        yield f"max_input_chars_per_word is {longest:,}, expected at most {_LONGEST_WORD:,}"


def _steps(step: object, part: str) -> Iterator[Mapping[str, Any]]:
    """Yield the steps of a tokenizer's part in order; a sequence is followed by its own steps."""
    if isinstance(step, dict):
        yield step
        if step.get("type") == "Sequence":
            inner = step.get(f"{part}s") or step.get(part.replace("_", "") + "s") or []
            for each in inner if isinstance(inner, list) else []:
                yield from _steps(each, part)


def _step(step: Mapping[str, Any], part: str) -> Iterator[str]:
    for name in ("content", "prepend", "replacement"):
        if len(str(step.get(name, ""))) > _LONGEST_TEXT:
            yield f"its {part} inserts {len(str(step[name])):,} characters, expected at most {_LONGEST_TEXT}"
    pattern = step.get("pattern")
    if isinstance(pattern, dict) and ("" in pattern.values() or _NOTHING.fullmatch(str(pattern.get("Regex", ".")))):
        yield f"its {part} searches for an empty text, which is everywhere"
    if step.get("type") == "Precompiled" and _longest_replacement(step.get("precompiled_charsmap")) > _LONGEST_TEXT:
        yield f"its {part} has a damaged table of characters"


def _longest_replacement(encoded: object) -> int:
    """Return the size in bytes of the longest replacement in SentencePiece's character table (2**30 if damaged)."""
    many = 1 << 30
    try:
        raw = base64.b64decode(str(encoded), validate=True)
    except (binascii.Error, ValueError):
        return many
    size = int.from_bytes(raw[:4], "little")
    texts = raw[4 + size :]
    if len(raw) < 4 or size % 4 or 4 + size > len(raw) or not texts.endswith(b"\0"):
        return many
    try:
        texts.decode()
    except UnicodeDecodeError:
        return many
    return max(map(len, texts.split(b"\0")))


def _objects(value: object, name: str) -> Iterator[Any]:
    """Yield each value that has the key `name` in nested settings."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == name:
                yield inner
            else:
                yield from _objects(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from _objects(inner, name)
