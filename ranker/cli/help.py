"""``ranker help``: short texts on topics that concern several commands; the site shows the same texts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument

from ranker.cli.output import print_table, print_text
from ranker.errors import OptionError, nearest

_TOPICS = Path(__file__).with_name("topics")


def topics() -> dict[str, str]:
    """Return the Markdown text of every topic, by topic name."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(_TOPICS.glob("*.md"))}


def command(
    context: typer.Context,
    words: Annotated[
        list[str] | None, Argument(help="Topic or command (default: list the topics).", metavar="TOPIC|COMMAND")
    ] = None,
) -> None:
    """Explain a topic, such as metrics, exit-codes or environment.

    For the name of a command, its help is printed.

    Example: ranker help metrics
    """
    known = topics()
    if not words:
        rows = [{"topic": name, "about": text.partition("\n")[0].removeprefix("# ")} for name, text in known.items()]
        print_table(rows)
        print_text("\nShow a topic: ranker help TOPIC. Show the options of a command: ranker help COMMAND\n")
        return
    group = context.find_root().command
    if len(words) == 1 and words[0].lower() in known:
        print_text(_plain(known[words[0].lower()]))
        return
    print_text(_help_of(group, words, [*known, *getattr(group, "commands", {})]))


def _help_of(group: Any, words: list[str], known: list[str]) -> str:
    """Return the help text of the command whose name consists of `words`."""
    context = group.make_context("ranker", [], resilient_parsing=True)
    for word in words:
        command = getattr(context.command, "commands", {}).get(word)
        if command is None:
            raise OptionError(f"no topic or command {word!r}{nearest(word, known)}; topics: {', '.join(topics())}")
        context = command.make_context(word, [], parent=context, resilient_parsing=True)
        known = list(getattr(command, "commands", {}))
    return f"{context.get_help()}\n"


def _plain(markdown: str) -> str:
    """Return a topic's text for the terminal, without Markdown's marks for headings and code."""
    text = re.sub(r"^#+ (.*)$", lambda heading: heading[1].upper(), markdown, flags=re.MULTILINE)
    return text.replace("`", "")
