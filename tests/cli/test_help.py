"""``ranker help``, the topics behind it, suggestions of names, and output without styles."""

import re
from pathlib import Path

import typer
from rich.console import Console

import ranker
from ranker.cli import help as help_
from ranker.cli import output
from ranker.cli.main import app

COMMANDS = typer.main.get_command(app).commands


def test_topics_are_listed_and_shown_as_plain_text(command):
    listed = command("help").out
    for name, text in help_.topics().items():
        assert f"\n{name} " in listed
        shown = command("help", name.upper()).out
        assert shown.startswith(text.partition("\n")[0].removeprefix("# ").upper())
        assert "`" not in shown
        assert max(map(len, text.splitlines())) <= 80
        assert name not in COMMANDS


def test_topics_name_only_commands_and_options_that_exist():
    everywhere = typer.main.get_command(app)
    options = {name for part in [everywhere, *_all(COMMANDS)] for param in part.params for name in param.opts}
    for text in help_.topics().values():
        for name in re.findall(r"`ranker ([a-z-]+)", text):
            assert name in {*COMMANDS, "help"}
        assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) <= {*options, "--json"}


def test_every_environment_variable_is_documented():
    modules = Path(ranker.__file__).parent.rglob("*.py")
    read = {name for path in modules for name in re.findall(r"\"(RANKER_[A-Z_]+)", path.read_text(encoding="utf-8"))}
    described = set(re.findall(r"^- `(RANKER_[A-Z_]+)`", help_.topics()["environment"], re.MULTILINE))
    assert read == described


def test_without_colour_nothing_is_styled(command, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    command("help")
    assert output.color_system() is None
    Console(force_terminal=True, color_system=output.color_system()).print("[bold red]x[/]")
    assert "\x1b" not in capsys.readouterr().out


def _all(commands):
    for command in commands.values():
        yield command
        yield from _all(getattr(command, "commands", {}))
