"""Options of commands that can also run shard by shard, and the output of these runs."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from ranker.cli.options import CorpusInput, working
from ranker.cli.output import emit, print_note, say, say_progress, say_signatures
from ranker.errors import OptionError, counted
from ranker.files import used_alone
from ranker.signature import make_signature

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ranker.apps.scaling.parts import ShardResult
    from ranker.apps.scaling.tables import Made, NamedScorers
    from ranker.corpora.formats.shards import Shards

SHARDS = "Data larger than memory"
"""Heading of the options for shards in the help of a command."""
_MOST_NOTES = 5


@dataclass(frozen=True)
class ShardOptions:
    """Options of a command that apply only to data in shards."""

    workers: Annotated[
        str | None,
        Option(
            help="Process shards in N processes of this machine, or on the cluster of a running Dask scheduler, as "
            "tcp://host:8786 (needs mt-ranker[dask]).",
            metavar="N|ADDRESS",
            rich_help_panel=SHARDS,
        ),
    ] = None
    out: Annotated[
        Path | None,
        Option(
            help="Directory for one result file (Parquet) per shard and results.json. If it has results of an "
            "interrupted run, the run continues.",
            metavar="DIR",
            rich_help_panel=SHARDS,
        ),
    ] = None

    def find(self, inputs: CorpusInput, unsuited: Mapping[str, object], *, must_write: bool) -> Shards | None:
        """Return the shards that the data options name, or None if they name no shards.

        `unsuited` are options, with their values, that are not available for shards, besides those of input.
        `must_write` is True if the result is a file for each shard, which requires a directory.
        """
        from ranker.corpora.formats.shards import Shards

        shards = Shards.open(inputs.data)
        if shards is None:
            options = {"--workers": self.workers, "--out": self.out}
            for option in [option for option, value in options.items() if value is not None]:
                what = "for shards only: make them with ranker data shard, or give a pattern such as 'data/*.jsonl.gz'"
                instead = "; to write the result to a file, use --output" if option == "--out" else ""
                raise OptionError(f"{option}: {what}{instead}")
            return None
        for option in [option for option, value in {**inputs.not_for_shards(), **unsuited}.items() if value]:
            raise OptionError(f"{option}: not available for shards, only for whole data sets")
        if must_write and self.out is None:
            raise OptionError("the result has one file per shard: give a directory for these files (--out DIR)")
        folders = {Path(shard.file).parent.resolve() for shard in shards.shards}
        if self.out is not None and self.out.resolve() in folders:
            raise OptionError(f"--out {self.out}: this is the directory of the shards; choose another for the results")
        return shards


@contextmanager
def processed(
    shards: Shards, options: ShardOptions, named: NamedScorers, about: str, make: Callable[..., Made], *more: object
) -> Iterator[tuple[list[ShardResult], list[str]]]:
    """Call `make` for every shard, print notes, and yield results and signatures; raise an error if any shard fails.

    `make` is called with `named`, `more` and the shard; `about` distinguishes its results from those of other calls.
    """
    from ranker.apps.scaling.cluster import dask_client
    from ranker.apps.scaling.parts import check, data_signature, process, write_results
    from ranker.ranking.scorers import result_head
    from ranker.threads import jobs

    with ExitStack() as opened:
        client = opened.enter_context(dask_client(options.workers))
        if client is not None:
            say_progress(f"ranker: Dask dashboard: {client.dashboard_link}")
        folder = options.out or Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="ranker-")))
        opened.enter_context(used_alone(folder))
        processes = int(options.workers) if options.workers and options.workers.isdecimal() else 0
        threads = max(jobs() // processes, 1) if processes else None
        made = functools.partial(make, named, *more)
        with working("processing"):
            parts = process(shards, made, f"{named.signature()}\n{about}", folder, client, threads)
        reused = sum(part.reused for part in parts)
        if reused:
            say_progress(f"ranker: {counted(reused, 'shard')} finished by an earlier run")
        notes = list(dict.fromkeys(part.note for part in parts if part.note))
        for note in notes[:_MOST_NOTES]:
            print_note(note)
        if len(notes) > _MOST_NOTES:
            print_note(f"{counted(len(notes) - _MOST_NOTES, 'more note')} about single shards")
        ranked = {"ranked": data_signature(shards, parts)}
        signatures = [make_signature(head, ranked) for head in map(result_head, named.scorers())]
        check(parts, options.out)
        if options.out is not None:
            write_results(folder, shards, parts, signatures=signatures, result=about, notes=notes)
        yield parts, signatures


def emit_files(
    form: str,
    shards: Shards,
    options: ShardOptions,
    named: NamedScorers,
    about: str,
    make: Callable[..., Made],
    **signed: object,
) -> None:
    """Process the shards, and print the names of the files written."""
    from ranker.apps.scaling.parts import RESULTS

    out = options.out
    assert out is not None
    with processed(shards, options, named, about, make) as (parts, heads):
        signatures = [make_signature(head, signed) for head in heads]
        rows = [{"file": str(out / part.path.name), "rows": part.rows} for part in parts if part.path]
        total = sum(part.rows for part in parts)

    def show() -> None:
        say(f"written: {total:,} rows in {counted(len(rows), 'file')}, listed in {out / RESULTS}", "")
        say_signatures(*signatures)

    emit(form, {"signature": "\n".join(signatures), "rows": total, "files": rows}, rows, show)
