"""Entry point: registers the subcommands, and reports every expected failure in one line, with exit code 2."""

from __future__ import annotations

import errno
import functools
import math
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any, NoReturn

import typer
from typer import Option

from ranker.cli import (
    agreement,
    align,
    check,
    collect,
    contrast,
    data,
    encoder,
    evaluate,
    experiment,
    explain,
    features,
    gate,
    help,
    lm,
    nbest,
    plan,
    rank,
    report,
    rerank,
    score,
    systems,
    train,
    tune,
)
from ranker.cli.commands import Commands
from ranker.cli.messages import usage_message
from ranker.cli.options import JobsOption, LongSignaturesOption, QuietOption
from ranker.cli.output import be_quiet, begin, shortened
from ranker.errors import MissingError, RankerError
from ranker.files import display_name
from ranker.version import VERSION

app = Commands(
    "Rank machine translations with a metric learnt from human judgements.\n\nThe options below may be given after the "
    "command too, and so may --json, which is short for --format json.",
    completion=True,
)
for _heading, _commands in {
    "Rank, score and explain": {"rank": rank, "score": score, "explain": explain, "check": check},
    "Train and evaluate": {"train": train, "evaluate": evaluate, "report": report},
    "Compare systems": {"systems": systems, "contrast": contrast, "plan": plan, "gate": gate},
    "Data, features and help": {"data": data, "features": features, "help": help},
    "Applications": {
        "rerank": rerank,
        "tune": tune,
        "nbest": nbest,
        "collect": collect,
        "agreement": agreement,
        "experiment": experiment,
    },
    "Tools for makers of components": {"lm": lm, "encoder": encoder, "align": align},
}.items():
    for _name, _module in _commands.items():
        if hasattr(_module, "app"):
            app.add_typer(_module.app, name=_name, rich_help_panel=_heading)
        else:
            app.command(_name, rich_help_panel=_heading)(_module.command)

# options that take all the words up to the next option, as in -r ref1 ref2
_MANY = ("-r", "--references", "-t", "--translations", "--train", "--test", "--text")
_INTERRUPTED = 130
_LEAST_ADDRESS_SPACE = 2**30
"""Least address space in bytes: libraries reserve so much, though they use little of it."""
# typer's exit code if the reader of the output, such as head, closes the pipe
_PIPE_CLOSED = 1
# typer brings its own click or uses the installed one; either way these are the classes it raises
_UsageError: Any = typer.BadParameter.__mro__[1]
_ClickException: Any = typer.BadParameter.__mro__[2]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ranker {VERSION}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    jobs: JobsOption = None,
    quiet: QuietOption = False,
    long_signatures: LongSignaturesOption = False,
) -> None:
    """Declare the options that may also follow the command; fail if the memory limit is too low."""
    if _address_space() < _LEAST_ADDRESS_SPACE:
        # without enough memory, compilers and linear algebra end the process or try for ever
        _fail(
            f"out of memory{_limit_of_memory()}: ranker needs {_LEAST_ADDRESS_SPACE / 2**20:,.0f} MB: raise the limit"
        )


def repeat_option(arguments: Sequence[str]) -> list[str]:
    """Expand ``-r a b`` to ``-r a -r b``, the form in which click accepts several values of an option."""
    result: list[str] = []
    option, filled = "", False
    for index, word in enumerate(arguments):
        if word == "--":
            return result + list(arguments[index:])
        if word in _MANY:
            option, filled = word, False
        elif word.startswith("-") and word != "-":
            option = ""
        elif option and filled:
            result.append(option)
        filled = bool(option) and word != option
        result.append(word)
    return result


@functools.cache
def _command_line() -> Any:
    """Return the click command with all subcommands, built once per process."""
    return typer.main.get_command(app)


def run(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with 0, 2 (refused, a line on stderr), 3 (gate failed) or 130 (interrupted)."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    begin()
    if sys.stdout is None:
        _fail("standard output is closed")
    try:
        code = _command_line()(repeat_option(words), prog_name="ranker", standalone_mode=False)
        if code == _INTERRUPTED:
            # typer returns this exit code instead of raising; older versions raise Abort
            raise KeyboardInterrupt
        sys.stdout.flush()
        raise SystemExit(code if isinstance(code, int) else 0)
    except _ClickException as error:
        where = error.ctx.command_path if isinstance(error, _UsageError) and error.ctx else _command_path(words)
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error.format_message())
            raise SystemExit(0) from None
        _fail(usage_message(error, where) if isinstance(error, _UsageError) else str(error))
    except MissingError as error:
        # the message says in several lines how to get what is missing
        _fail(*str(error).split("\n"))
    except RankerError as error:
        _fail(str(error))
    except (KeyboardInterrupt, typer.Abort):
        _say("ranker: interrupted")
        raise SystemExit(_INTERRUPTED) from None
    except (MemoryError, ImportError, SystemError) as error:
        _exit_if_stopped(error)
        _fail_of_plug_in(error)
        _fail_without_memory(error)
        raise
    except UnicodeEncodeError as error:
        _fail_of_plug_in(error)
        _fail(f"the output contains characters that {error.encoding} cannot encode: set PYTHONIOENCODING=utf-8")
    except OSError as error:
        _fail_of_plug_in(error)
        if error.filename is not None:
            _fail(f"{display_name(os.fsdecode(error.filename))}: {error.strerror or error}")
        _fail_without_memory(error)
        if error.errno is None and str(error).strip():
            _fail(f"a library cannot be loaded: {str(error).strip().splitlines()[0]}: install it again")
        # an error without a file name is about standard output
        _silence_stdout()
        if isinstance(error, BrokenPipeError):
            raise SystemExit(_PIPE_CLOSED) from None
        _fail(f"cannot write the output: {error.strerror or error}")
    except Exception as error:
        _fail_of_plug_in(error)
        raise
    finally:
        # a program that runs commands gets the notes of the library again
        be_quiet(False)


def _command_path(words: Sequence[str]) -> str:
    """Return the full name of the command in a command line, such as ``ranker data get``."""
    path, command = "ranker", _command_line()
    for word in words:
        if not word.startswith("-"):
            command = getattr(command, "commands", {}).get(word)
            if command is None:
                break
            path = f"{path} {word}"
    return path


def _exit_if_stopped(error: BaseException) -> None:
    """Exit if a signal's exception caused the error, as when it arrives while numba's C code runs; otherwise return."""
    while error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, KeyboardInterrupt):
        _say("ranker: interrupted")
        raise SystemExit(_INTERRUPTED) from None
    if isinstance(error, SystemExit):
        raise error from None


def _fail_of_plug_in(error: Exception) -> None:
    """Exit with a message if the error was raised by a plug-in; otherwise return."""
    registry = sys.modules.get("ranker.extractors.registry")
    message = registry.failed_plug_in(error) if registry is not None else None
    if message is not None:
        _fail(message)


def _fail_without_memory(error: Exception) -> None:
    """Exit with a message if memory ran out; under a memory limit, that includes libraries that cannot be loaded."""
    limit = _limit_of_memory()
    if not isinstance(error, MemoryError) and getattr(error, "errno", None) != errno.ENOMEM:
        if not limit or getattr(error, "errno", None) is not None or isinstance(error, ModuleNotFoundError):
            return
        _fail(f"out of memory{limit}, a library cannot be loaded: raise the limit")
    _fail(f"out of memory{limit}: give fewer sources or fewer candidates at a time, or use a smaller model")


def _limit_of_memory() -> str:
    """Return a phrase for messages that states this process's memory limit, empty if there is no limit."""
    most = _address_space()
    return "" if most == math.inf else f" (limited to {most / 2**20:,.0f} MB by ulimit -v)"


def _address_space() -> float:
    """Return the limit on the address space of this process in bytes, infinite if there is no limit."""
    try:
        import resource
    except ImportError:
        return math.inf
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    return math.inf if most == resource.RLIM_INFINITY else most


def _silence_stdout() -> None:
    """Keep Python from reporting an error when it closes a standard output that accepts no more data."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(*lines: str) -> NoReturn:
    _say("ranker: error: " + "\n".join(map(shortened, lines)))
    raise SystemExit(2) from None


def _say(text: str) -> None:
    """Print a line on stderr, if it is open."""
    with suppress(OSError, ValueError):
        if sys.stderr is not None:
            print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    run()
