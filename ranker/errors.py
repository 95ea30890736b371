"""The project's errors: one base class, and one line that a user can act on.

Every message says what was wrong, where, what was expected and what to do. The command line prints it
after ``ranker: error:`` and exits with 2.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterable, Sequence


def escaped(text: str) -> str:
    """Write a message on one line, with escapes for characters that a terminal would obey or not show."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


class RankerError(Exception):
    """Base of every error that ``ranker`` raises on purpose."""

    def __str__(self) -> str:
        """Return the message on one line; its texts may come from anywhere."""
        return escaped(super().__str__())


class DataError(RankerError, ValueError):
    """A corpus, or a file of a corpus, that violates its format."""

    def __init__(
        self, what: str, *, file: str | None = None, line: int | None = None, column: int | None = None
    ) -> None:
        self.what, self.file, self.line, self.column = what, file, line, column
        where = ":".join(str(part) for part in (file, line, column) if part is not None)
        super().__init__(f"{where}: {what}" if where else what)


class OptionError(RankerError, ValueError):
    """A name or an option that the registry does not know, or a value it does not allow."""


class ModelError(RankerError, ValueError):
    """A model file that is missing, damaged, of another version, or not a model."""


class MissingError(RankerError, LookupError):
    """Something that is not on this machine: a corpus, a parser, an optional package."""

    def __str__(self) -> str:
        """Return the message, which may have several lines."""
        return "\n".join(map(escaped, Exception.__str__(self).split("\n")))


class FetchError(RankerError, OSError):
    """A file that cannot be fetched from its address, or differs from the expected one."""


class ProcessError(RankerError, RuntimeError):
    """An external program that failed, or did not end in time."""


NOTES = logging.getLogger("ranker")
"""Logger of all that the library tells users."""


def log_note(text: str, about: str | None = None) -> None:
    """Log a note, which begins with the name of what it is `about`, such as a file; it is escaped as errors are."""
    note = f"ranker: note: {about}: {text}" if about else f"ranker: note: {text}"
    NOTES.warning("%s", "\n".join(map(escaped, note.split("\n"))), stacklevel=2)


def nearest(name: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """Return `` (did you mean 'x'?)`` for the known name most like `name` in any case, or an empty string."""
    in_lower_case = {known_name.lower(): known_name for known_name in known}
    close = difflib.get_close_matches(name.lower(), list(in_lower_case), n=1, cutoff=likeness)
    return f" (did you mean {in_lower_case[close[0]]!r}?)" if close else ""


def counted(number: int, thing: str) -> str:
    """Write a number and the counted noun, in the plural unless the number is 1."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def joined(names: Sequence[str]) -> str:
    """Write names as a list in a sentence: ``a, b and c``."""
    return " and ".join([", ".join(names[:-1]), *names[-1:]] if len(names) > 1 else names)
