"""Messages on mistakes in a command line, in this package's words rather than those of click and typer."""

from __future__ import annotations

import re
from typing import Any

from ranker.errors import nearest

_WORDS = (
    (r"Value error, ", ""),
    (r"Input should be a valid integer.*", "expected a whole number"),
    (r"Input should be a valid number.*", "expected a number"),
    (r"Input should be greater than or equal to (.*)", r"expected \1 or more"),
    (r"Input should be less than or equal to (.*)", r"expected \1 or less"),
    (r"Input should be a? ?", "expected "),
    # messages of earlier versions of typer
    (r"('[^']*') is not a valid integer(?: range)?", r"expected a whole number, found \1"),
    (r"('[^']*') is not a valid float(?: range)?", r"expected a number, found \1"),
    (r"\('(\(Possible options: [^']*\))',\)", r"\1"),
    (r"(\S+) is not in the range x>=(\S+)\.", r"expected \2 or more, found '\1'."),
    (r"(\S+) is not in the range (\S+)<=x<=(\S+)\.", r"expected \2 to \3, found '\1'."),
)
_MOVED = (
    (
        r"ranker: No such command 'compare'",
        "'compare' is now ranker evaluate, which takes several metrics and models. See: ranker evaluate --help",
    ),
    (
        r"ranker systems: No such option: --(plan|difference)\b",
        "no option --\\1: to plan a test set, use ranker plan. See: ranker plan --help",
    ),
    (
        r"ranker systems: No such option: --(fail-if-worse|max-drop)\b",
        "no option --\\1: to stop at a worse system, use ranker gate. See: ranker gate --help",
    ),
    (
        r"ranker (align )?train: No such option: (-M|--model)\b",
        r"the model is written to the file that -o names. See: ranker \1train --help",
    ),
    (
        r"ranker (train|evaluate): No such option: (-s|-r|-t|--source|--references|--translations|--align)(?![\w-])",
        "plain text has no human judgements: give JSON or a table with them. See: ranker help judgements",
    ),
    (
        r"ranker (data convert|data select|nbest from-dataset): No such option: (?:-o|--output)(?![\w-])",
        r"the file to write is given without an option. See: ranker \1 --help",
    ),
    (
        r".*: No such option: --severity-weights\b",
        "write the data with these weights first: ranker data convert FILE NEW --severity-weights critical=10",
    ),
)
"""Messages for commands and options that were moved, and for options that other commands have."""


def _with_suggestion(message: str) -> str:
    """Add the most similar value to a message that lists the possible values, and word all suggestions alike."""
    # an earlier version of typer prints the tuple that has this text
    message = re.sub(r" \((?:'\()?Possible options: ([^,)]+)\)(?:',\))?", r" (did you mean '\1'?).", message)
    match = re.fullmatch(r"(.*?)('[^']*') is not one of (.*)\.", message)
    if match is None:
        return message
    hint = nearest(match[2].strip("'"), re.findall("'([^']*)'", match[3]))
    return f"{match[1]}{match[2]} is not one of {match[3]}{hint}."


def usage_message(error: Any, command: str) -> str:
    """Return the reworded message of a usage error that typer raised, with a pointer to the help of `command`."""
    text: str = error.format_message()
    path = error.ctx.command_path if error.ctx else ""
    for pattern, now in _MOVED:
        if moved := re.match(pattern, f"{path}: {text}"):
            return moved.expand(now)
    for pattern, words in _WORDS:
        text = re.sub(pattern, words, text)
    errors = getattr(error.__cause__ or error.__context__, "errors", None)
    # pydantic's own messages do not contain the value; those of typer about choices do
    if errors is not None and errors()[0]["type"] != "value_error":
        text = f"{text.rstrip('.')}, found {str(errors()[0]['input'])[:40]!r}."
    text = _with_suggestion(text)
    options = {param.name for param in error.ctx.command.params} if error.ctx else set()
    if getattr(getattr(error, "param", None), "name", "") == "form" and "features" in options:
        text = f"{text} To choose features, use --features or -F."
    return f"{text}{'' if text.endswith(('.', '?', '!')) else '.'} See: {command} --help"
