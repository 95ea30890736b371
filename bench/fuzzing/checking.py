"""What every command must do with a file, and smaller files with which it does not."""

from __future__ import annotations

import contextlib
import json
import math
import re
import resource
import shutil
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from bench.fuzzing.formats import Format
from bench.processes import captured
from ranker.text.lexical import wordnet

MOST_BYTES = 2 << 30
LONGEST_LINE = 700
TRIES = 150
"""Smaller files that are tried at most."""


@dataclass
class Outcome:
    """What a command did with an input."""

    finding: str = ""
    detail: str = ""
    refused: bool = False
    words: list[str] = field(default_factory=list)


def check(form: Format, raw: bytes, folder: Path) -> Outcome:
    """Write the files of a format, the target as `raw`, run its commands, and return the first finding."""
    # a damaged file of another format would be read with those of this one
    _remove(path for path in folder.iterdir() if path.name != "cache")
    for name, content in form.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw if name == form.target else content)
    # a WordNet is read once in a process, by its name
    wordnet._read.cache_clear()
    refused, message = False, ""
    before = _forget_peak()
    for command in form.commands:
        words = [word.replace("IN", form.read or form.target) for word in command]
        # of a damaged database, SQLite's own files may be left
        _remove((*folder.glob("out*"), *folder.glob("*-wal"), *folder.glob("*-shm")))
        try:
            with form.around():
                code, printed, messages = captured(words)
        except BaseException:  # anything that is no answer is a finding
            frames = traceback.format_exc()
            last = [line.strip() for line in frames.splitlines() if line.strip().startswith("File")][-1]
            return Outcome(f"traceback: {frames.splitlines()[-1][:60]} {last[-80:]}", frames, words=words)
        refused |= code == 2
        message += messages[-500:] if code else ""
        finding = _problem(form, words, code, printed, messages)
        if finding:
            return Outcome(finding, messages[-2000:], words=words)
        if _peak() - before > MOST_BYTES:
            return Outcome("memory above 2 GB", messages[-2000:], words=words)
    return Outcome(detail=message, refused=refused)


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def _forget_peak() -> int:
    """Return what this process holds now, in bytes; what ran in it earlier is not the fault of the next input."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> int:
    """Return the most memory that this process held, in bytes; Linux can forget earlier peaks, other systems can't."""
    with contextlib.suppress(OSError):
        return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def _problem(form: Format, words: list[str], code: int, printed: str, messages: str) -> str:
    lines = messages.splitlines()
    if code not in (0, 2):
        return f"exit code {code}"
    for line in lines:
        if not line.isprintable():
            return "a message that is not printable"
        if len(line) > LONGEST_LINE:
            return "a message that is too long"
    errors = [line for line in lines if line.startswith("ranker: error:")]
    if code == 2:
        if len(errors) != 1 or lines[-1:] != errors:
            return "not refused in one line"
        stem = Path(form.target).name.partition(".")[0]
        if stem not in errors[0] and (form.read or stem) not in errors[0]:
            return "a refusal without the file"
    elif errors:
        return "exit code 0 with an error"
    if code == 0 and words[0] == "score":
        rows = json.loads(printed)["rows"]
        if any(row[key] is None or not math.isfinite(row[key]) for row in rows for key in list(row)[3:]):
            return "a score that is no number"
    if code == 0 and words[0] == "rank" and re.search(r'"score": ?(null|NaN)', printed):
        return "a score that is no number"
    return ""


def smaller(form: Format, raw: bytes, finding: str, folder: Path) -> bytes:
    """Return a smaller input with the same finding, by leaving parts out."""
    size, tries = max(len(raw) // 2, 1), 0
    while size and tries < TRIES:
        start = 0
        while start < len(raw) and tries < TRIES:
            tries += 1
            shorter = raw[:start] + raw[start + size :]
            if check(form, shorter, folder).finding == finding:
                raw = shorter
            else:
                start += size
        size //= 2
    return raw
