"""Base classes of the commands: their help, and the options that they share.

A parameter that is a record, such as `Input`, becomes one option per field. A parameter `form` becomes ``--format``,
with the choices of its type, and adds ``--json`` and ``--output``. Options that all commands share, such as
``--quiet``, may be given before or after the command. Data may be given without ``--data``, unless the command has
other arguments. The field for ``--severity-weights`` becomes an option only of commands with ``--kind``.
"""

from __future__ import annotations

import copy
import functools
import inspect
import itertools
import math
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import MISSING, fields, is_dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_type_hints

import typer
from typer import Argument, Option
from typer.core import TyperCommand, TyperGroup
from typer.models import ArgumentInfo

from ranker.cli.options import OUTPUT, JobsOption, KindOption, LongSignaturesOption, QuietOption, listed_paths
from ranker.cli.output import print_note
from ranker.errors import OptionError
from ranker.files import STDIN, display_name, exists

_FORM, _JSON, _OUTPUT = "form", "as_json", "output"
_DATA, _DATA_ARGUMENT, _WEIGHTS = "data", "named_data", "severity_weights"
_WRITTEN = (_OUTPUT, "target", "html")
"""Parameters with paths of files to write."""
_NAMES_FILES, _NAMES_METRICS = re.compile("FILE|PATH|NBEST"), re.compile("METRIC|FEATURES")
"""Metavars of texts that may name files to read, and of texts that may name them as values of options."""
_BY_SUFFIX = {".json": "json", ".jsonl": "jsonl", ".csv": "csv", ".md": "markdown", ".tex": "latex"}
_OTHER_SUFFIXES = (".gz", ".htm", ".html", ".ods", ".parquet", ".pdf", ".tsv", ".xls", ".xlsx", ".xml", ".yaml", ".yml")
"""Extensions of formats in which no result can be written; a table for people may not have them either."""

OutputOption = Annotated[
    Path | None,
    Option(
        "--output",
        "-o",
        help="Write the result to FILE instead of standard output; its extension determines the format.",
        rich_help_panel=OUTPUT,
    ),
]
_PROGRAM = "Program"
"""Heading of the options that all commands have; the help of ``ranker`` lists them."""
_JsonOption = Annotated[bool, Option("--json", help="Same as --format json.", rich_help_panel=_PROGRAM)]
_DataArgument = Annotated[list[str] | None, Argument(help="Same as --data.", metavar="DATA", show_default=False)]


def _after_command(annotation: Any) -> Any:
    """Copy the annotation of a program-wide option for use after a command, hidden from the command's help."""
    kind, option = get_args(annotation)
    option = copy.copy(option)
    option.rich_help_panel = _PROGRAM
    return Annotated[kind, option]


_COMMON = {
    "quiet": _after_command(QuietOption),
    "jobs": _after_command(JobsOption),
    "long_signatures": _after_command(LongSignaturesOption),
}
_GENERAL = "Options of all commands, such as --jobs and --quiet: ranker --help"

_VALUES = {"int": "N", "float": "X", "str": "TEXT", "path": "FILE"}
"""Names of option values in help, by their type."""

Function = TypeVar("Function", bound=Callable[..., Any])


class Command(TyperCommand):
    """A command whose help lists its options by subject, and which refuses numbers that are infinite or undefined."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command, unless an option is a number that is not finite, such as ``inf`` or ``nan``."""
        parameters: list[Any] = self.params
        for parameter in parameters:
            value = ctx.params.get(parameter.name)
            if isinstance(value, float) and not math.isfinite(value):
                raise typer.BadParameter(f"expected a finite number, found '{value}'.", ctx=ctx, param=parameter)
        return super().invoke(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options under the heading of their subject."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = help_record(parameter, ctx)
            if record is not None:
                by_default = "Arguments" if parameter.param_type_name == "argument" else "Options"
                sections.setdefault(getattr(parameter, "rich_help_panel", None) or by_default, []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)
        formatter.write(f"\n{_GENERAL}\n")


def help_record(parameter: Any, ctx: Any) -> tuple[str, str] | None:
    """Return a parameter's names and description for help; None if it is hidden or shared by all commands."""
    if getattr(parameter, "rich_help_panel", None) == _PROGRAM:
        return None
    record: tuple[str, str] | None = parameter.get_help_record(ctx)
    if record is not None and parameter.param_type_name == "argument":
        # typer adds the type to the name, as in "DATA <list[str]>"
        return parameter.metavar or parameter.name.upper(), record[1]
    # and to options without a metavar, as in "--seed <int range>"
    return record and (
        re.sub("<([^>]+)>", lambda kind: _VALUES.get(kind[1].removesuffix(" range"), kind[1]), record[0]),
        record[1],
    )


class Group(TyperGroup):
    """A group of commands, listed by task."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands under the heading of their task."""
        longest = max(map(len, self.commands))
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.commands.items():
            record = name.ljust(longest), command.get_short_help_str(formatter.width - longest - 4)
            sections.setdefault(getattr(command, "rich_help_panel", None) or "Commands", []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)


class Commands(typer.Typer):
    """A group that adds the shared options to its commands, whose help lists options by subject."""

    def __init__(self, help: str, *, completion: bool = False) -> None:
        super().__init__(
            cls=Group,
            help=help,
            no_args_is_help=True,
            add_completion=completion,
            rich_markup_mode=None,
            pretty_exceptions_enable=False,
            context_settings={"help_option_names": ["-h", "--help"]},
            # without a callback, typer would turn a group with one command into that command
            callback=lambda: None,
        )

    def command(
        self, name: str | None = None, *, secret: bool = False, writes_files: bool = False, **settings: Any
    ) -> Callable[[Function], Function]:
        """Return a decorator that adds a command to the group, with the options that all commands share.

        The result of a `secret` command is written to a file that only the user can read. A command that `writes_files`
        prints only their names, so it has no ``--output``.
        """
        register = super().command(name, cls=Command, **settings)

        def add(function: Function) -> Function:
            register(_with_options(function, 0o600 if secret else 0o666, result=not writes_files))
            return function

        return add


def _with_options(function: Callable[..., int | None], mode: int, *, result: bool) -> Callable[..., int | None]:
    """Wrap `function` as a command with an option for each field of its records, and the options all commands share.

    If it has a `result`, ``--output`` writes it to a file of `mode`.
    """
    signature = inspect.signature(function, eval_str=True)
    parameters: dict[str, inspect.Parameter] = {}
    records: dict[str, tuple[Any, dict[str, inspect.Parameter]]] = {}
    judged = any(parameter.annotation == KindOption for parameter in signature.parameters.values())
    for name, parameter in signature.parameters.items():
        record, *without = get_args(parameter.annotation) or (parameter.annotation,)
        if is_dataclass(record):
            records[name] = record, _fields(record, {*itertools.chain(*without), *([] if judged else [_WEIGHTS])})
            parameters |= records[name][1]
        else:
            # keyword-only parameters may have any order
            parameters[name] = parameter.replace(kind=parameter.KEYWORD_ONLY)
    arguments = {name for name, parameter in parameters.items() if isinstance(_info(parameter), ArgumentInfo)}
    has_data = _DATA in parameters and _DATA not in arguments
    if has_data and not arguments:
        parameters = {_DATA_ARGUMENT: _option(_DATA_ARGUMENT, _DataArgument, None), **parameters}
    prints, writes = _FORM in parameters, result and _OUTPUT not in parameters
    if prints:
        default, choices = parameters[_FORM].default, get_args(parameters[_FORM].annotation)
        parameters[_FORM] = _format_option(choices, default)
        if "json" in choices:
            parameters[_JSON] = _option(_JSON, _JsonOption, False)
        if writes:
            parameters[_OUTPUT] = _option(_OUTPUT, OutputOption, None)
    # a command may have its own option --output, for something other than the result
    names_result = _OUTPUT in parameters and parameters[_OUTPUT].annotation == OutputOption
    common = {name: _option(name, annotation, None) for name, annotation in _COMMON.items()}
    parameters |= common

    @functools.wraps(function)
    def command(**values: Any) -> int | None:
        for name in common:
            del values[name]
        if has_data:
            values[_DATA] = listed_paths([*(values.pop(_DATA_ARGUMENT, None) or []), *(values[_DATA] or [])])
        read = _files_read(values, parameters)
        if sum(file == STDIN for file in read) > 1:
            raise OptionError("standard input (-) is given more than once: give it once, and files for the rest")
        refuse_overwriting([values[name] for name in _WRITTEN if name in values], read)
        for name, (record, options) in records.items():
            given = {field: values.pop(field) for field in options}
            values[name] = record(**{field: value for field, value in given.items() if value is not None})
        if not prints:
            return function(**values)
        _refuse_formats(values.get(_OUTPUT), choices)
        target = values[_OUTPUT] if names_result else None
        form = _form(values[_FORM], values.pop(_JSON, False), target, choices) or default
        with written_to(values.pop(_OUTPUT) if writes else None, mode):
            return function(**{**values, _FORM: form})

    vars(command)["__signature__"] = signature.replace(parameters=[*parameters.values()])
    return command


def _files_read(values: Mapping[str, Any], parameters: Mapping[str, inspect.Parameter]) -> list[str]:
    """Return the texts in the values of parameters that name files to read, such as FILE in ``NAME=FILE``."""
    files: list[str] = []
    for name, value in values.items():
        metavar = getattr(_info(parameters[name]), "metavar", None) or ""
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, Path) or (isinstance(text, str) and _NAMES_FILES.search(metavar)):
                if name not in _WRITTEN:
                    files += {str(text), *str(text).split(","), str(text).rpartition("=")[2]}
            elif isinstance(text, str) and _NAMES_METRICS.search(metavar):
                files += re.findall(r"=([^,\[\]]+)", text)
    return files


def refuse_overwriting(targets: Sequence[Path | None], read: Sequence[str]) -> None:
    """Refuse to write a file that is among the files `read`, or is the pairs file of one of them."""
    for target in targets:
        if target is None or not target.is_file():
            continue
        from ranker.corpora.formats.preference_pairs import companion

        pairs = [companion(name) for name in read if Path(name).name]
        if any(exists(path) and target.samefile(path) for path in (*map(Path, read), *filter(None, pairs))):
            what = "is read by this command, which would replace it: write to another file"
            raise OptionError(f"{display_name(target)}: {what}")


def _fields(record: Any, without: Container[str]) -> dict[str, inspect.Parameter]:
    """Return a parameter for each field of a record except those in `without`, with the default of the field."""
    hints = get_type_hints(record, include_extras=True)
    return {
        each.name: _option(each.name, hints[each.name], None if each.default is MISSING else each.default)
        for each in fields(record)
        if each.name not in without
    }


def _info(parameter: inspect.Parameter) -> object:
    """Return a parameter's annotation for typer; None for the command's context."""
    return next(iter(get_args(parameter.annotation)[1:]), None)


def _option(name: str, annotation: Any, default: object) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _format_option(choices: tuple[str, ...], default: str) -> inspect.Parameter:
    """Return the parameter ``--format``, which is None if not given; only its help names the default."""
    said = {"json": "json (or --json)", default: f"{default} (the default)"}
    listed = [said.get(choice, choice) for choice in choices]
    about = f"Format of the result: {', '.join(listed)}."
    option = typer.Option("--format", "-f", help=about, metavar="FORMAT", rich_help_panel=OUTPUT)
    return _option(_FORM, Annotated[Literal[choices] | None, option], None)


def _refuse_formats(targets: Path | list[Path] | None, choices: tuple[str, ...]) -> None:
    """Refuse output files named like a format, since ``-o json`` is most likely meant as ``--format json``."""
    for target in [targets] if isinstance(targets, Path) else targets or []:
        if str(target) in choices:
            raise OptionError(
                f"-o {target}: -o takes a file name; to choose the format use --format {target} or -f {target}"
            )


def _form(option: str | None, as_json: bool, target: Path | None, choices: tuple[str, ...]) -> str | None:
    """Return the format that the options, or else the output file's extension, select; None for the default."""
    if as_json:
        if option not in (None, "json"):
            raise OptionError(f"--json means --format json and conflicts with --format {option}: give one of them")
        return "json"
    if option or target is None:
        return option
    suffix = target.suffix.lower()
    suggested = _BY_SUFFIX.get(suffix)
    if suggested in choices:
        return suggested
    if suggested or suffix in _OTHER_SUFFIXES:
        known = " or ".join(end for end, form in _BY_SUFFIX.items() if form in choices)
        what = f"-o {target}: the result cannot be written as {suffix}; expected a name ending in {known}"
        raise OptionError(f"{what}, or give the format with --format")
    return None


@contextmanager
def written_to(target: Path | None, mode: int = 0o666) -> Iterator[None]:
    """Redirect what the block prints to the file `target`, if given; an error leaves the file unwritten."""
    if target is None:
        yield
        return
    from ranker.files import replacing

    with replacing(target, mode) as stream:
        text = TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
        with redirect_stdout(text):
            yield
        text.flush()
        text.detach()
    print_note(f"written: {target}")
