"""Commands run in this process."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path


def run_command(words: list[str], out: Path | None) -> tuple[int, str, str]:
    """Run a command in this process; return exit code, output and messages."""
    from ranker.cli.main import run

    stdout, stderr = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
            run(words)
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    if out is not None:
        out.write_text(stdout.getvalue(), encoding="utf-8")
    return code, stdout.getvalue(), stderr.getvalue()
