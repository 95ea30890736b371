"""Random edits of bytes, lines and values; each depends on the generator alone."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import random
import re
import zipfile
from collections.abc import Callable

import numpy as np

Edit = Callable[[bytes, random.Random], bytes]
"""Change to the bytes of a file, drawn from a generator."""
_IS_LETTER = np.array([chr(byte).isalnum() and byte < 128 for byte in range(256)])
_TOKENS = (
    *(b"\0", b"\x1b[2J", b"\r", b"\n", b"\t", b'"', b"'", b",", b";", b"{", b"}", b"[", b"]", b"<", b">", b"&", b"|||"),
    *(b"\xff\xfe", b"\xef\xbb\xbf", b"\xc3", b"\xed\xa0\x80", b"\\u0000", b"\\ud800", b"\xe2\x80\xae", b"\xc2\xb2"),
    *(
        b"NaN",
        b"Infinity",
        b"-1",
        b"1e999",
        b"0",
        b"-0",
        b"9" * 400,
        b"999999999",
        b"2147483648",
        b"1.5",
        b"null",
        b"true",
    ),
    *(b"../../x", b"/etc/passwd", b"=1+1", b"[" * 2000, b"{" * 300, b"x" * 20_000, b"a b " * 3000, b"%s%n", b" "),
    *(b"&#0;", b"<!--", b"]]>", b"<!ENTITY a 'b'>", b"&a;", b"'''", b"\\", b"--", b"#", b"=", b"inf", b"nan"),
)


def damage(raw: bytes, choose: random.Random) -> bytes:
    """Return `raw` after one to four random edits; of zip files, often of a file inside."""
    if raw.startswith(b"PK") and choose.random() < 0.8:
        return _damage_zip(raw, choose, damage)
    if raw.startswith(b"\x1f\x8b") and choose.random() < 0.7:
        return gzip.compress(damage(gzip.decompress(raw), choose), mtime=0)
    for _ in range(choose.choice((1, 1, 1, 2, 4))):
        raw = choose.choice(_EDITS)(raw, choose)
    return raw


def lengthen(raw: bytes, choose: random.Random) -> bytes:
    """Return `raw` with a character, or a few bytes of its own, repeated 50,000 times at a random place."""
    if raw.startswith(b"PK"):
        return _damage_zip(raw, choose, lengthen)
    if raw.startswith(b"\x1f\x8b"):
        return gzip.compress(lengthen(gzip.decompress(raw), choose), mtime=0)
    at, start = choose.randint(0, len(raw)), choose.randint(0, len(raw))
    own = raw[start : start + choose.randint(1, 4)] or b" "
    unit = choose.choice((own, own, *(bytes([byte]) for byte in b"\r\n\t \"'.,-1a<[{(|&\\/")))
    return raw[:at] + unit * (50_000 // len(unit)) + raw[at:]


def _damage_zip(raw: bytes, choose: random.Random, edit: Edit) -> bytes:
    """Edit a file of a zip and, if it is a model, make its digests right again."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        files = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    name = choose.choice(sorted(files))
    files[name] = edit(files[name], choose)
    if "model.json" in files and choose.random() < 0.7:
        with contextlib.suppress(Exception):
            _sign(files)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, content in files.items():
            archive.writestr(zipfile.ZipInfo(entry), content)
    return buffer.getvalue()


def _sign(files: dict[str, bytes]) -> None:
    from ranker.storage import model_files

    document = json.loads(files["model.json"])
    arrays = {}
    for name in document["arrays"]:
        with np.load(io.BytesIO(files[name]), allow_pickle=False) as stored:
            arrays[name] = {key: model_files.array_digest(key, stored[key]) for key in sorted(stored)}
    body = {"model": document["model"], "arrays": arrays}
    files["model.json"] = json.dumps({**document, **body, "digest": model_files.content_digest(body)}).encode()


def _flip(raw: bytes, choose: random.Random) -> bytes:
    if not raw:
        return raw
    at = choose.randrange(len(raw))
    return raw[:at] + bytes([raw[at] ^ 1 << choose.randrange(8)]) + raw[at + 1 :]


def _insert(raw: bytes, choose: random.Random) -> bytes:
    at = choose.randint(0, len(raw))
    return raw[:at] + choose.choice(_TOKENS) + raw[at:]


def _replace_value(raw: bytes, choose: random.Random) -> bytes:
    tokens = list(re.finditer(rb'-?\d+(?:\.\d+)?|"(?:[^"\\\n]|\\.)*"|[A-Za-z_]\w*', raw))
    if not tokens:
        return _insert(raw, choose)
    token = choose.choice(tokens)
    return raw[: token.start()] + choose.choice(_TOKENS) + raw[token.end() :]


def _letter(raw: bytes, choose: random.Random) -> bytes:
    # of a large file there are too many for a match each
    places = np.flatnonzero(_IS_LETTER[np.frombuffer(raw, dtype=np.uint8)])
    if not len(places):
        return raw
    at = int(choose.choice(places))
    return raw[:at] + choose.choice((b"a", b"Z", b"7", b"0", b" ", b".")) + raw[at + 1 :]


def _cut(raw: bytes, choose: random.Random) -> bytes:
    return raw[: choose.randint(0, len(raw))]


def _remove(raw: bytes, choose: random.Random) -> bytes:
    at = choose.randint(0, len(raw))
    return raw[:at] + raw[at + choose.choice((1, 2, 10, 100)) :]


def _repeat(raw: bytes, choose: random.Random) -> bytes:
    at = choose.randint(0, len(raw))
    part = raw[at : at + choose.choice((1, 5, 50, 500))]
    return raw[:at] + part * choose.choice((2, 3, 50)) + raw[at + len(part) :]


def _lines(raw: bytes, choose: random.Random) -> bytes:
    lines = raw.split(b"\n")
    first, second = choose.randrange(len(lines)), choose.randrange(len(lines))
    if choose.random() < 0.5:
        lines[first], lines[second] = lines[second], lines[first]
    else:
        lines.insert(first, lines[second])
    return b"\n".join(lines)


def _swap_values(raw: bytes, choose: random.Random) -> bytes:
    tokens = list(re.finditer(rb'-?\d+(?:\.\d+)?|"(?:[^"\\\n]|\\.)*"', raw))
    if len(tokens) < 2:
        return _flip(raw, choose)
    left, right = sorted(choose.sample(tokens, 2), key=lambda each: each.start())
    return raw[: left.start()] + right[0] + raw[left.end() : right.start()] + left[0] + raw[right.end() :]


_EDITS: tuple[Edit, ...] = (
    *(
        _letter,
        _letter,
        _flip,
        _insert,
        _insert,
        _replace_value,
        _replace_value,
        _cut,
        _remove,
        _repeat,
        _lines,
        _swap_values,
    ),
)
