"""Options of commands that also run shard by shard, and what these runs print."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ranker.cli.output import Result, say, say_note, say_progress, say_signatures
from ranker.cli.scorer import suited_model
from ranker.errors import OptionError, counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ranker.extractors.text.reference_counts import CountsReferences
    from ranker.scaling.plan import Run
    from ranker.scaling.references import AllReferences
    from ranker.scaling.scorers import NamedScorers
    from ranker.scaling.tasks import Finished, Stage

SHARDS = "Data larger than memory"
"""Heading of the options for shards in the help of a command."""
EngineName = Literal["local", "dask"]
EngineOption = Annotated[
    EngineName | None,
    typer.Option(
        "--engine",
        help="Where shards are processed: local (the default: one after the other in this process) or dask (several "
        "processes; needs mt-ranker[dask]).",
        metavar="NAME",
        rich_help_panel=SHARDS,
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers",
        help="Number of processes with --engine dask (default: all cores).",
        metavar="N",
        min=1,
        rich_help_panel=SHARDS,
    ),
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        help="Address of a running Dask scheduler, such as tcp://host:8786.",
        metavar="ADDRESS",
        rich_help_panel=SHARDS,
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        help="Directory for one result file (Parquet) per shard and results.json. If it has results of an interrupted "
        "run, the run continues.",
        metavar="DIR",
        rich_help_panel=SHARDS,
    ),
]


@contextmanager
def run_of(
    data: Sequence[str],
    engine: EngineName | None,
    workers: int | None,
    scheduler: str | None,
    out: Path | None,
    *,
    unsuited: Mapping[str, object],
    must_write: bool,
) -> Iterator[Run | None]:
    """Give the run on shards that the options ask for, or None if the data are no shards.

    Parameters
    ----------
    data : list of str
    engine, workers, scheduler, out
        The options.
    unsuited : mapping of str to object
        Options that shards have not, with their values.
    must_write : bool
        Whether the result is a file per shard, which needs a directory.
    """
    from ranker.corpora.shards.shards import Shards

    shards = Shards.open(data)
    if shards is None:
        options = {"--engine": engine, "--workers": workers, "--scheduler": scheduler, "--out": out}
        conflicting = [option for option, value in options.items() if value is not None]
        if conflicting:
            what = "for shards only: make them with ranker data shard, or give a pattern such as 'data/*.jsonl.gz'"
            instead = "; to write the result to a file, use --output" if conflicting[0] == "--out" else ""
            raise OptionError(f"{conflicting[0]}: {what}{instead}")
        yield None
        return
    refused = [option for option, value in unsuited.items() if value]
    if refused:
        raise OptionError(f"{refused[0]}: not available for shards")
    if must_write and out is None:
        raise OptionError("the result has one file per shard: give a directory for them (--out DIR)")
    from ranker.scaling.engines import Engine
    from ranker.scaling.plan import Run

    def tell(line: str) -> None:
        say_progress(f"ranker: {line}")

    with ExitStack() as opened:
        chosen = opened.enter_context(Engine(engine or "local", workers, scheduler, tell))
        folder = out or Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="ranker-")))
        yield Run(shards, folder, chosen, tell)


def chosen_for(
    run: Run,
    metric: str | None,
    model: Path | None,
    *,
    references: bool,
    learners: Sequence[CountsReferences] = (),
) -> tuple[NamedScorers, AllReferences | None]:
    """Return the scorer that the options name, or the included ranker, and all references if it needs them.

    What else learns from n-grams of all references is named in `learners`.

    Raises
    ------
    OptionError
        If both are given, or it cannot score shard by shard.
    """
    from ranker.ranking import make_scorer
    from ranker.scaling.scorers import NamedScorers

    whole = None
    if metric is None and model is None:
        whole = run.collect_references(references=references)
        model = Path(suited_model(whole.dataset()))
    # says what is wrong with two of them
    make_scorer(metric, model)
    named = NamedScorers.of([metric] if metric else [], model)
    if not named.need_all_references:
        return named, None
    whole = whole or run.collect_references(references=references)
    return named, run.count_references(whole, [*named.members(), *learners], references=references)


def finish(run: Run, stage: Stage, finished: Sequence[Finished], notes: Sequence[str | None], **facts: object) -> None:
    """Write the manifest of a run and print notes.

    Raises
    ------
    DataError
        If a shard failed, after the results of all others are written.
    """
    messages = [*notes, *(shard.note for shard in finished)]
    different = list(dict.fromkeys(note for note in messages if note))
    for note in different[:5]:
        say_note(note)
    if len(different) > 5:
        say_note(f"{counted(len(different) - 5, 'more note')} about single shards")
    run.write_manifest(stage, finished, notes=different, **facts)
    run.check(finished)


def written_files(run: Run, finished: Sequence[Finished], signatures: list[str]) -> Result:
    """Return what to print about the files of a run."""
    from ranker.scaling.plan import MANIFEST
    from ranker.scaling.tasks import result_path

    rows = [{"file": result_path(run.folder, shard.number), "rows": shard.rows} for shard in finished]
    total = sum(shard.rows for shard in finished)

    def show() -> None:
        say(f"written: {total:,} rows in {counted(len(rows), 'file')}, listed in {run.folder / MANIFEST}", "")
        say_signatures(*signatures)

    shown = [{**row, "file": str(row["file"])} for row in rows]
    return Result({"signature": "\n".join(signatures), "rows": total, "files": shown}, shown, show)
