"""Writes `docs/reference.md` from the registry, the cards and the help texts: `python docs/build.py`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from ranker import notation
from ranker.cli.main import app
from ranker.corpora import catalogue
from ranker.extractors import registry
from ranker.extractors.feature_sets import declarations

TARGET = Path(__file__).with_name("reference.md")


def commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the full name and the object of every subcommand."""
    for part, one in getattr(command, "commands", {}).items():
        yield from commands(one, f"{name} {part}")
    if not hasattr(command, "commands"):
        yield name, command


def describe(command: Any) -> list[str]:
    """Return the help text of a command and a table of its options."""
    lines = [inspect.cleandoc(command.callback.__doc__), "", "| option | what |", "|---|---|"]
    for parameter in command.params:
        if parameter.name == "help":
            continue
        default = parameter.default
        shown = getattr(default, "value", default)
        known = "" if shown in (None, False, ()) or callable(shown) else f" (default {shown})"
        names = " ".join(f"`{name}`" for name in parameter.opts)
        if parameter.param_type_name == "argument":
            names = f"`{parameter.metavar or parameter.name.upper()}`"
        lines.append(f"| {names} | {parameter.help}{known} |")
    return lines


def reference() -> str:
    """Return the reference, Markdown."""
    parts = [
        "# Reference",
        "",
        "Written by `python docs/build.py` from docstrings, cards and help texts.",
        "",
        "## Extractors and metrics",
    ]
    for name in sorted(registry.BUILT_IN):
        kind = registry.extractor_class(name)
        options = ", ".join(f"`{option}={default}`" for option, _, default in notation.option_table(kind))
        parts += ["", f"### `{name}`", "", options, "", "```text", inspect.getdoc(kind) or "", "```"]
    parts += ["", "## Feature sets", "", "| name | extractors | what |", "|---|---|---|"]
    for one in declarations().values():
        parts.append(f"| `{one.name}` | {', '.join(f'`{each}`' for each in one.extractors)} | {one.description} |")
    parts += ["", "## Corpora", "", "| name | what | languages |", "|---|---|---|"]
    parts += [f"| `{card.name}` | {card.title} | {card.languages} |" for card in catalogue.cards().values()]
    parts += ["", "## Commands"]
    for name, command in commands(typer.main.get_command(app), "ranker"):
        parts += ["", f"### `{name}`", "", *describe(command)]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    TARGET.write_text(reference(), encoding="utf-8")
    print(f"written: {TARGET.name}", file=sys.stderr)
