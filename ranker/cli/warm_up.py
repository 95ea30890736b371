"""``ranker warm-up``."""

from __future__ import annotations

import time

import typer

from ranker.cli.options import JobsOption, working


def command(jobs: JobsOption = None) -> None:
    """Compile the kernels of the default features and metrics, so that the first long run does not have to.

    Other commands compile what they need by themselves; what is compiled is kept on disk.

    Example: ranker warm-up
    """
    from ranker.extractors.warming import warm_up

    start = time.monotonic()
    with working("compiling kernels, once"):
        number = warm_up()
    typer.echo(f"compiled {number} kernels in {time.monotonic() - start:.0f} s" if number else "nothing to compile")
