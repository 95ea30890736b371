"""Options shared by several subcommands, declared once."""

from __future__ import annotations

import shlex
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Self

import typer
from typer import Option

from ranker.cli.output import (
    be_quiet,
    color_system,
    note_with_result,
    print_note,
    shows_progress,
    write_long_signatures,
)
from ranker.errors import DataError, OptionError
from ranker.files import exists, printable
from ranker.progress import listening
from ranker.threads import set_jobs

if TYPE_CHECKING:
    from ranker.corpora.dataset import Dataset
    from ranker.evaluation.choices import Level
    from ranker.extractors.base import Extractor


OUTPUT = "Output"
"""Heading of the options for output in the help of a command."""
OutputForm = Literal["table", "json", "jsonl", "csv"]
"""Output formats of most commands."""


def _use_threads(jobs: int | None) -> int | None:
    if jobs is None:
        return None
    if jobs < 1:
        raise typer.BadParameter("expected a whole number from 1.")
    set_jobs(jobs)
    return jobs


def _be_quiet(quiet: bool) -> bool:
    if quiet:
        be_quiet()
    return quiet


def _write_long_signatures(wanted: bool) -> bool:
    if wanted:
        write_long_signatures()
    return wanted


def _checked_kind(kind: str) -> str:
    from ranker.corpora.judgements import Kind

    Kind.parse(kind)
    return kind


DocumentFormat = Literal["table", "json"]
"""Output formats of commands whose result has no rows with the same columns."""
LevelName = Literal["segment", "document", "system", "corpus"]
"""Names of levels, including those in other programs."""
MOST_RESAMPLES, MOST_SEARCHES = 1_000_000, 100_000
SeedOption = Annotated[int, Option("--seed", help="Random seed.", min=0, max=2**32 - 1)]
JobsOption = Annotated[
    int | None,
    Option("--jobs", "-j", help="Number of threads (default: all cores).", metavar="N", callback=_use_threads),
]
QuietOption = Annotated[
    bool, Option("--quiet", "-q", help="Print no notes and no progress, only errors.", callback=_be_quiet)
]
LongSignaturesOption = Annotated[
    bool,
    Option(
        "--long-signatures",
        help="Print full signatures in tables, with all options and sacreBLEU's signature.",
        callback=_write_long_signatures,
    ),
]
ResamplesOption = Annotated[
    int, Option(help="Bootstrap samples for the 95% confidence intervals (0: no intervals).", min=0, max=MOST_RESAMPLES)
]
PercentOption = Annotated[bool, Option("--percent", help="Show scores between 0 and 1 as percentages, in tables.")]
_LP = typer.Option(
    "--lp",
    help="Language pair, such as de-en or *-en; may be repeated. Selects sources of these pairs, and states the pair "
    "of sources that name none.",
    metavar="LP",
)
LpOption = Annotated[list[str] | None, _LP]
_SEVERITY_WEIGHTS = typer.Option(
    "--severity-weights",
    help="Weights of severities of marked errors, also by category, such as critical=25,minor:style=0.5.",
    metavar="SEVERITY=WEIGHT",
)
_SYSTEMS = typer.Option(
    help="Columns with the outputs of systems, in a table with one row per source; separated by commas.",
    metavar="COLUMN",
)
SystemsOption = Annotated[list[str] | None, _SYSTEMS]
SeverityWeightsOption = Annotated[list[str] | None, _SEVERITY_WEIGHTS]
KindOption = Annotated[
    str,
    Option(
        "--kind",
        help="Kind of judgement: preferences, fluency, adequacy, win-rate, mqm, ..., or a column of the data; "
        "NAME:lower or NAME:higher sets which values are better.",
        metavar="KIND",
        callback=_checked_kind,
    ),
]
ReferencesAsCandidatesOption = Annotated[
    bool,
    Option(
        "--references-as-candidates",
        help="Treat references as additional candidates that are better than every system output, and score each "
        "against all references of its source, as Ye et al. (2007) do. Not available for preferences.",
    ),
]
ExcludeSelfOption = Annotated[
    bool,
    Option(
        "--exclude-self",
        help="Do not score references that are candidates against themselves, only against the other references of "
        "their source, and with a language model of all other references.",
    ),
]
EachOption = Annotated[
    int | None,
    Option(
        "--per-source",
        help="Number of consecutive lines of plain text, or records of single outputs, per source.",
        min=1,
    ),
]
ChecksOption = Annotated[
    bool,
    Option(
        "--checks/--no-checks",
        help="Rank outputs that are no translation (empty, a copy of the source or a part of it, in another language, "
        "a refusal, repeated words) below all other outputs. --no-checks ranks by scores alone.",
    ),
]
ModelOption = Annotated[
    Path | None,
    Option(
        "--model",
        "-M",
        help="Trained ranker: a file written by ranker train, or an included ranker such as full.",
        metavar="FILE|NAME",
    ),
]


def check_references_as_candidates(chosen: bool, *, exclude_self: bool, no_references: bool) -> None:
    """Refuse options that contradict ``--references-as-candidates``, or that need it where it was not `chosen`."""
    if chosen and no_references:
        raise OptionError("give either --references-as-candidates or --no-references, not both")
    if exclude_self and not chosen:
        raise OptionError("--exclude-self: applies to references as candidates; give --references-as-candidates too")


def typed_options(context: typer.Context, without: Container[str]) -> dict[str, list[str]]:
    """Return the names of typed parameters not in `without`, each with its option; arguments have an empty list."""
    options = {}
    for parameter in context.command.params:
        name, source = parameter.name or "", context.get_parameter_source(parameter.name or "")
        is_option = parameter.param_type_name == "option"
        # earlier versions of typer name this source also for arguments that were not given
        given = source is not None and source.name == "COMMANDLINE" and (is_option or bool(context.params[name]))
        if given and name not in without:
            options[name] = [max(parameter.opts, key=len)] if is_option else []
    return options


def typed(context: typer.Context, without: Container[str], *more: str) -> str:
    """Return the command line as typed, with the words `more` added and the parameters in `without` left out."""
    words = context.command_path.split()
    for name, option in typed_options(context, without).items():
        value = context.params[name]
        for each in value if isinstance(value, list | tuple) else [value]:
            words += option if isinstance(each, bool) else [*option, str(each)]
    return shlex.join([*words, *more])


def level_of(name: LevelName | None) -> Level | None:
    """Return the level that an option names; "corpus" is another name for "system"."""
    return "system" if name == "corpus" else name


def listed_paths(values: list[str] | None) -> list[str]:
    """Return the paths given by repeated options or separated by commas, except for commas in existing files' names."""
    return [path for text in values or [] for path in ([text] if exists(text) else map(str.strip, text.split(",")))]


def listed_names(values: Sequence[str]) -> list[str]:
    """Return the names given by repeated options or separated by commas."""
    return [name.strip() for text in values for name in text.split(",")]


@dataclass(frozen=True)
class Corpora:
    """The corpora and language pairs that a command reads; `Commands` turns the fields into options."""

    data: Annotated[
        list[str],
        Option(
            "--data",
            "-d",
            help="Corpus name, file (JSON, CSV, SGML, ...), directory, or - for stdin; may be repeated, or a list "
            "separated by commas.",
            metavar="NAME|PATH",
        ),
    ] = field(default_factory=list)
    lp: Annotated[list[str], _LP] = field(default_factory=list)

    def each(self) -> list[Self]:
        """Return one record per corpus, for commands that read the corpora separately."""
        return [replace(self, data=[name]) for name in self.data] or [self]

    def read(
        self,
        extractors: Sequence[Extractor] = (),
        *,
        kind: str | None = None,
        parts: list[Dataset] | None = None,
        to_score: bool = True,
        conclusions: bool = False,
        identical: bool = True,
    ) -> Dataset:
        """Read the data set that the options name, with the scores that `extractors` read from files.

        With `to_score`, candidates that could be compared only with themselves are left out, with a note. Another note
        names corpora without judgements of `kind`; the corpora are added to `parts`. Further notes name probable errors
        in the data and, with `conclusions`, data that are too few for conclusions. Without `identical`, no note names
        systems that are nearly identical.
        """
        self.check()
        from ranker.corpora import sanity
        from ranker.corpora.joining import join_corpora
        from ranker.corpora.own_references import check_texts, without_only_references
        from ranker.corpora.selection import select_language_pairs, with_language_pair

        with working("reading"):
            corpora = self._corpora()
            whole = join_corpora([with_language_pair(corpus, self.lp) for corpus in corpora])
            dataset = select_language_pairs(whole, self.lp) if self.lp else whole
            if extractors:
                from ranker.extractors.composed.external_scores import with_given_scores

                whole = with_given_scores(whole, extractors, dataset.language_pairs)
                dataset = select_language_pairs(whole, self.lp) if self.lp else whole
            if to_score:
                check_texts(dataset)
            dataset, note = without_only_references(dataset) if to_score else (dataset, None)
        for text in ([note] if note else []) + [*sanity.given_twice(corpora if len(corpora) > 1 else ())]:
            print_note(text)
        if kind is not None and len(corpora) > 1:
            from ranker.corpora.judgements import resolve_kind

            for unused in unused_notes(corpora, resolve_kind(dataset, kind)):
                print_note(unused)
        if parts is not None:
            parts.extend(corpora)
        checks = [check for check in sanity.CHECKS if identical or check is not sanity.nearly_identical_systems]
        checks += sanity.CONCLUSIONS if conclusions else ()
        check = "; ".join(f"ranker data check {shlex.quote(name)}" for name in self.data)
        rest = check if self.data else "ranker data check lists all notes about a data file"
        note_with_result(map(str, sanity.notes_of(dataset, checks)), rest)
        return dataset

    def check(self) -> None:
        """Refuse options that name no data or contradict each other."""
        if not self.data:
            raise OptionError("no data: give a corpus name or a file (--data)")

    def _corpora(self) -> list[Dataset]:
        return [self._loaded(name) for name in self.data]

    def _loaded(self, name: str) -> Dataset:
        from ranker.corpora import catalogue
        from ranker.corpora.selection import only_pair

        return catalogue.load(name, lp=only_pair(self.lp))


@dataclass(frozen=True)
class CorpusInput(Corpora):
    """The corpora that a command reads, with or without references, and files with scores of their candidates."""

    severity_weights: Annotated[list[str], _SEVERITY_WEIGHTS] = field(default_factory=list)
    given: Annotated[
        list[str],
        Option(
            help="File with the scores that a model or metric reads as given[name=NAME]; may be repeated.",
            metavar="NAME=FILE",
        ),
    ] = field(default_factory=list)
    no_references: Annotated[bool, Option("--no-references", help="Ignore references in the data.")] = False

    def not_for_shards(self) -> dict[str, object]:
        """Options that shards do not allow, with their values."""
        return {"--lp": self.lp, "--given": self.given}

    def _loaded(self, name: str, systems: Sequence[str] = ()) -> Dataset:
        from ranker.corpora import catalogue
        from ranker.corpora.selection import only_pair, without_references
        from ranker.corpora.severity_weights import weights_of

        weights = weights_of(self.severity_weights)
        corpus = catalogue.load(name, systems=systems, severity_weights=weights, lp=only_pair(self.lp))
        if not self.no_references:
            return corpus
        return without_references(corpus)


@dataclass(frozen=True)
class Input(CorpusInput):
    """The data that a command reads: corpora, or parallel files of plain text."""

    source: Annotated[Path | None, Option("--source", "-s", help="Source sentences: one per line, or SGML or XML.")] = (
        None
    )
    references: Annotated[
        list[Path],
        Option(
            "--references", "-r", help="Reference translations, one per line: one or more files.", metavar="FILE..."
        ),
    ] = field(default_factory=list)
    translations: Annotated[
        list[Path],
        Option(
            "--translations",
            "-t",
            help="System outputs, one per line: one or more files. Systems are named after the parts in which the "
            "names of the files differ.",
            metavar="[NAME=]FILE...",
        ),
    ] = field(default_factory=list)
    align: Annotated[
        bool, Option("--align", help="Realign translations whose lines differ from the source's, by length and words.")
    ] = False
    systems: Annotated[list[str], _SYSTEMS] = field(default_factory=list)

    @property
    def parallel(self) -> bool:
        """True if the data are parallel text files (-s, -r, -t)."""
        return bool(self.source or self.references or self.translations)

    def check(self) -> None:
        """Refuse options that name no data or contradict each other."""
        if self.references and self.no_references:
            raise OptionError("give either references (-r) or --no-references, not both")
        if self.parallel and self.data:
            raise OptionError("give either a corpus or parallel files (-s, -r, -t), not both")
        if self.align and not self.parallel:
            raise OptionError("--align: give translations in plain text (-t), and the source (-s) or references (-r)")
        if not self.parallel and not self.data:
            raise OptionError(
                "no data: give a corpus name, a file, - for stdin, or -r REF... -t SYSTEM... (and -s SRC)"
            )

    def system(self, name: str) -> str:
        """Return the system whose translations are in the file `name`, or `name` itself if there is no such file."""
        from ranker.corpora.formats.system_names import system_files

        files = system_files(self.translations).items()
        return next((system for system, path in files if name in (str(path), Path(path).name)), name)

    def not_for_shards(self) -> dict[str, object]:
        """Options that shards do not allow, with their values."""
        files = {"-s": self.source, "-r": self.references, "-t": self.translations}
        return {**super().not_for_shards(), **files}

    def _corpora(self) -> list[Dataset]:
        from ranker.corpora.formats.reading import read_parallel

        if self.parallel:
            return [read_parallel(self.source, self.references, self.translations, self.align)]
        try:
            return [self._loaded(name, listed_names(self.systems)) for name in self.data]
        except DataError:
            self._refuse_plain_texts()
            raise

    def _refuse_plain_texts(self) -> None:
        """Refuse several plain-text files given as corpora, with an error that names the right options for them."""
        from ranker.corpora.formats.reading import format_of

        if len(self.data) > 1 and all(Path(name).is_file() and format_of(name) is None for name in self.data):
            *sources, reference, first = self.data[:3]
            options = [*(f"-s {name}" for name in sources), f"-r {reference}", " ".join(["-t", first, *self.data[3:]])]
            listed = printable(" ".join(options))
            raise OptionError(f"pass plain-text files with options: {listed} (sources, references, translations)")


class OmitFields(tuple[str, ...]):
    """Fields of a record for which a command has no option, as in ``Annotated[Input, OmitFields(["given"])]``."""


TextInput = Annotated[Input, OmitFields(["no_references"])]
"""The input of commands that have no option ``--no-references``."""


def unused_notes(corpora: Sequence[Dataset], kind: str) -> Iterator[str]:
    """Yield a note on each corpus without judgements of `kind`, unless it is the only corpus."""
    from ranker.corpora.judgements import Kind, kinds, rating_names

    used = Kind.parse(kind).name
    for corpus in corpora if len(corpora) > 1 else ():
        available = kinds(corpus)
        if used not in (*available, *rating_names(corpus)):
            holds = f"it has {', '.join(available)}" if available else "it has none"
            yield f"{corpus.name}: skipped, no judgements of kind {used!r} ({holds})"


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show the current task on stderr, if that is a terminal, until the block ends."""
    if not shows_progress():
        yield
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True, color_system=color_system()).status(escape(printable(f"{what} ..."))) as status:

        def show(part: str, done: int, total: int) -> None:
            number = f"{done:,} of {total:,}" if total else f"{done:,}"
            status.update(escape(printable(f"{what} ... {number} {part}")))

        with listening(show):
            yield
