"""The project's errors: one base class, and messages of one line that a user can act on.

Every message says what was wrong, where, what was expected and what to do. The command line prints it
after ``ranker: error:`` and exits with 2.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterable, Sequence


def escaped(text: str) -> str:
    """Return a message on one line, with control and invisible characters escaped for the terminal."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


class RankerError(Exception):
    """Base class of the errors that ``ranker`` raises on purpose."""

    def __str__(self) -> str:
        """Return the message on one line, escaped because it may quote text from any source."""
        return escaped(super().__str__())


class DataError(RankerError, ValueError):
    """Raised for a corpus or file that violates its format."""

    def __init__(
        self, what: str, *, file: str | None = None, line: int | None = None, column: int | None = None
    ) -> None:
        self.what, self.file, self.line, self.column = what, file, line, column
        where = ":".join(str(part) for part in (file, line, column) if part is not None)
        super().__init__(f"{where}: {what}" if where else what)


class OptionError(RankerError, ValueError):
    """Raised for an unknown name or option, or a value that an option does not allow."""


class ModelError(RankerError, ValueError):
    """Raised for a model file that is missing, damaged, of an unsupported version, or not a model at all."""


class NotTrainedError(ModelError, AttributeError):
    """Raised for what a ranker has only after training, such as its weights; `hasattr` is then false."""


class MissingError(RankerError, LookupError):
    """Raised if something is not installed on this machine, such as a corpus, a parser or an optional package."""

    def __str__(self) -> str:
        """Return the message, which may have several lines."""
        return "\n".join(map(escaped, Exception.__str__(self).split("\n")))


class FetchError(RankerError, OSError):
    """Raised for a file that cannot be fetched from its address, or differs from the expected file."""


class ProcessError(RankerError, RuntimeError):
    """Raised for an external program that failed or did not end in time."""


NOTES = logging.getLogger("ranker")
"""Logger of the notes that the library writes for users."""


def log_note(text: str, about: str | None = None) -> None:
    """Log a note, escaped like an error message; `about` is the file or data set to name at the beginning."""
    note = f"ranker: note: {about}: {text}" if about else f"ranker: note: {text}"
    NOTES.warning("%s", "\n".join(map(escaped, note.split("\n"))), stacklevel=2)


def nearest(name: object, known: Iterable[str], likeness: float = 0.6) -> str:
    """Return `` (did you mean 'x'?)`` for the known name most like `name`, ignoring case, or an empty string."""
    in_lower_case = {known_name.lower(): known_name for known_name in known}
    close = difflib.get_close_matches(str(name).lower(), list(in_lower_case), n=1, cutoff=likeness)
    return f" (did you mean {in_lower_case[close[0]]!r}?)" if close else ""


def counted(number: int, thing: str) -> str:
    """Return a number followed by a noun, which is in the plural unless the number is 1."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def joined(names: Sequence[str]) -> str:
    """Return names joined as a list within a sentence: ``a, b and c``."""
    return " and ".join([", ".join(names[:-1]), *names[-1:]] if len(names) > 1 else names)
