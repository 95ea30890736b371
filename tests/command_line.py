"""The types of a fixture that runs commands in the process of the tests, and what all messages must be."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import typer


class Printed(NamedTuple):
    """What a command printed."""

    out: str
    err: str


Command = Callable[..., Printed]
"""Takes the words of a command and the exit code that is expected, 0 if not said."""


@functools.cache
def _program() -> Any:
    from ranker.cli.main import app  # slow, and most tests need no commands

    return typer.main.get_command(app)


def _options(words: Sequence[str]) -> set[str]:
    """Options of the command that the first words name, after options of the program, and of the program."""
    command = program = _program()
    found = {"--help", *(option for parameter in command.params for option in parameter.opts)}
    for word in words:
        if word in getattr(command, "commands", {}):
            command = command.commands[word]
        elif command is not program:
            break
    return found | {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}


def check_named_options(words: Sequence[str], message: str) -> None:
    """Check that a command has every option that its message names, unless the message names another command."""
    typed = " ".join(words)
    for line in message.splitlines():
        own, *others = re.split(r"\branker (?=[a-z])", line)
        for command, text in [(words, own), *((other.split(), other) for other in others)]:
            named = {option for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", text) if option not in typed}
            assert named <= _options(command) | (_options(words) if command is not words else set()), line
