"""``ranker warm-up``."""

from __future__ import annotations

import time

from ranker.cli.options import DocumentFormat, JobsOption, working
from ranker.cli.output import emit, say


def command(jobs: JobsOption = None, form: DocumentFormat = "table") -> None:
    """Compile numba kernels now instead of during the first run.

    This is optional: other commands compile the kernels they need and cache them on disk. This command compiles those
    of the default features and metrics.

    Example: ranker warm-up
    """
    from ranker.extractors.warming import warm_up

    start = time.monotonic()
    with working("compiling kernels"):
        number = warm_up()
    seconds = time.monotonic() - start
    facts = {"kernels": number, "seconds": round(seconds, 1)}
    line = f"compiled {number} kernels in {seconds:.0f} s" if number else "nothing to compile"
    emit(form, facts, [], lambda: say(line))
