"""``ranker warm-up``."""

from __future__ import annotations

import time

from ranker.cli.options import DocumentFormatOption, JobsOption, working
from ranker.cli.output import Result, emit, say


def command(jobs: JobsOption = None, form: DocumentFormatOption = "table") -> None:
    """Compile ahead of time what the first long run needs.

    Other commands compile what they need by themselves; what is compiled is kept on disk. This compiles the kernels of
    the default features and metrics.

    Example: ranker warm-up
    """
    from ranker.extractors.warming import warm_up

    start = time.monotonic()
    with working("compiling kernels, once"):
        number = warm_up()
    seconds = time.monotonic() - start
    facts = {"kernels": number, "seconds": round(seconds, 1)}
    line = f"compiled {number} kernels in {seconds:.0f} s" if number else "nothing to compile"
    emit(Result(facts, [], lambda: say(line)), form)
