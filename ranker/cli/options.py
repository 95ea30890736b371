"""Options that several subcommands share, declared once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ranker.cli.output import color_system, note_with_result, print_note, shows_progress
from ranker.errors import OptionError
from ranker.files import printable
from ranker.progress import listening
from ranker.threads import set_jobs

if TYPE_CHECKING:
    from ranker.corpora.dataset import Dataset
    from ranker.evaluation.choices import Level
    from ranker.extractors.base import Extractor


OUTPUT = "Output"
"""Heading of the options for output in the help of a command."""
OutputForm = Literal["table", "json", "jsonl", "csv"]
"""Forms of output."""


def _use_threads(jobs: int | None) -> int | None:
    if jobs is None:
        return None
    if jobs < 1:
        raise typer.BadParameter("expected a whole number from 1.")
    set_jobs(jobs)
    return jobs


def _checked_kind(kind: str) -> str:
    from ranker.corpora.judgements import Kind

    Kind.parse(kind)
    return kind


FormatOption = Annotated[
    OutputForm, typer.Option("--format", "-f", help="Format of the result:", metavar="FORMAT", rich_help_panel=OUTPUT)
]
DocumentFormat = Literal["table", "json"]
"""Formats of a result that has no rows of one shape."""
DocumentFormatOption = Annotated[
    DocumentFormat,
    typer.Option("--format", "-f", help="Format of the result:", metavar="FORMAT", rich_help_panel=OUTPUT),
]
LevelName = Literal["segment", "document", "system", "corpus"]
"""Names of levels, including what other programs call them."""
MOST_RESAMPLES, MOST_SEARCHES = 1_000_000, 100_000
SeedOption = Annotated[int, typer.Option("--seed", help="Random seed.", min=0, max=2**32 - 1)]
JobsOption = Annotated[
    int | None,
    typer.Option("--jobs", "-j", help="Number of threads (default: all cores).", callback=_use_threads),
]
LpOption = Annotated[
    list[str] | None,
    typer.Option(
        "--lp",
        help="Language pair, such as de-en or *-en; may be repeated. Selects from data that names language pairs, and "
        "states the pair of data that does not.",
        metavar="LP",
    ),
]
KindOption = Annotated[
    str,
    typer.Option(
        "--kind",
        help="Kind of judgement: preferences, fluency, adequacy, win-rate, mqm, ..., or a column of the data; "
        "NAME:lower or NAME:higher sets which values are better.",
        metavar="KIND",
        callback=_checked_kind,
    ),
]
ReferencesAsCandidatesOption = Annotated[
    bool,
    typer.Option(
        "--references-as-candidates",
        help="Treat references as additional candidates that are better than every system output, and score each "
        "against all references of its source, as Ye et al. (2007) do. Not available for preferences.",
    ),
]
ExcludeSelfOption = Annotated[
    bool,
    typer.Option(
        "--exclude-self",
        help="Score references that are candidates without themselves: against the other references of their source, "
        "and with a language model of all other references.",
    ),
]
DataOption = Annotated[
    list[str] | None,
    typer.Option(
        "--data",
        "-d",
        help="Corpus name, file (JSON, CSV, SGML, ...), directory, or - for stdin; may be repeated, or a list "
        "separated by commas.",
        metavar="NAME|PATH",
    ),
]
EachOption = Annotated[
    int | None,
    typer.Option("--per-source", help="Number of consecutive lines of plain text per source.", metavar="N", min=1),
]
SourceOption = Annotated[
    Path | None,
    typer.Option("--source", "-s", help="Source sentences: one per line, or SGML or XML.", metavar="FILE"),
]
ReferencesOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--references", "-r", help="Reference translations, one per line: one or more files.", metavar="FILE..."
    ),
]
NoReferencesOption = Annotated[
    bool,
    typer.Option("--no-references", help="Ignore references in the data."),
]
TranslationsOption = Annotated[
    list[Path] | None,
    typer.Option("--translations", "-t", help="System outputs, one per line: one or more files.", metavar="FILE..."),
]
ModelOption = Annotated[
    Path | None,
    typer.Option(
        "--model",
        "-M",
        help="Trained ranker: a file written by ranker train, or an included ranker such as full.",
        metavar="FILE|NAME",
    ),
]


def check_exclude_self(references_as_candidates: bool, exclude_self: bool) -> None:
    """Refuse ``--exclude-self`` without references as candidates."""
    if exclude_self and not references_as_candidates:
        raise OptionError("--exclude-self: applies to references as candidates; give --references-as-candidates too")


def level_of(name: LevelName | None) -> Level | None:
    """Return the level that is meant: the corpus of a system's outputs is the system."""
    return "system" if name == "corpus" else name


def listed_paths(values: list[str] | None) -> list[str]:
    """Return what repeated options and lists with commas name; a file whose name holds a comma is one."""
    return [
        path.strip()
        for text in values or []
        for path in ([text] if "," not in text or _exists(text) else text.split(","))
    ]


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def read_input(
    data: list[str],
    source: Path | None,
    references: list[Path] | None,
    translations: list[Path] | None,
    lp: list[str] | None,
    *,
    kind: str | None = None,
    parts: list[Dataset] | None = None,
    no_references: bool = False,
    extractors: Sequence[Extractor] = (),
    to_score: bool = True,
    conclusions: bool = False,
) -> Dataset:
    """Read the data set that the options name: corpora, or parallel files, without its references if so told.

    What is `to_score` is without candidates that would be compared with themselves alone, which a note says. Another
    note names the corpora that hold no judgements of `kind`, if it is given; the corpora are added to `parts`. Scores
    that `extractors` read from files are attached. Notes say what is probably wrong with the data, and with
    `conclusions` whether they are few to draw any from.
    """
    parallel = bool(source or references or translations)
    if references and no_references:
        raise OptionError("give either references (-r) or --no-references")
    if parallel and data:
        raise OptionError("give either a corpus or parallel files (-s, -r, -t), not both")
    if not parallel and not data:
        raise OptionError("no data: give a corpus name, a file, - for stdin, or -r REF... -t SYSTEM... (and -s SRC)")
    from ranker.corpora import catalogue, sanity
    from ranker.corpora.dataset import concatenate
    from ranker.corpora.formats.reading import read_parallel
    from ranker.corpora.own_references import without_only_references

    with working("reading"):
        if parallel:
            corpora = [read_parallel(source, references or [], translations or [])]
        else:
            corpora = [catalogue.load(path) for path in data]
        if no_references:
            corpora = [corpus.without_references() for corpus in corpora]
        whole = concatenate([corpus.with_language_pair(lp or []) for corpus in corpora])
        dataset = whole.select_language_pairs(lp) if lp else whole
        if extractors:
            from ranker.extractors.given import with_given_scores

            whole = with_given_scores(whole, extractors, dataset.language_pairs)
            dataset = whole.select_language_pairs(lp) if lp else whole
        note = None
        if to_score:
            dataset, note = without_only_references(dataset)
    if note:
        print_note(note)
    if kind is not None and len(corpora) > 1:
        _say_unused(corpora, dataset, kind)
    if parts is not None:
        parts.extend(corpora)
    checks = (*sanity.CHECKS, *sanity.CONCLUSIONS) if conclusions else sanity.CHECKS
    rest = f"ranker data check {' '.join(data)}" if data else "ranker data check lists all notes about a data file"
    note_with_result(map(str, sanity.notes_of(dataset, checks)), rest)
    return dataset


def _say_unused(corpora: list[Dataset], together: Dataset, kind: str) -> None:
    from ranker.corpora.judgements import Kind, kinds, rating_names, resolve_kind

    used = Kind.parse(resolve_kind(together, kind)).name
    for corpus in corpora:
        available = kinds(corpus)
        if used not in (*available, *rating_names(corpus)):
            holds = f"it has {', '.join(available)}" if available else "it has none"
            print_note(f"{corpus.name}: skipped, no judgements of kind {used!r} ({holds})")


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on stderr what is being done, if it is a terminal; gone when it is done."""
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
