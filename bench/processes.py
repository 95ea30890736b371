"""Commands in this process or in copies of it, so that nothing is imported again; copies need a system with fork."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
from collections.abc import Callable


def fork(action: Callable[[], int]) -> int:
    """Do something in a copy of this process, which ends with what is returned, or 70; return the copy's id."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        code = action()
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def wait(child: int) -> int:
    """Return the exit code of a copy, or minus the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def command(words: list[str]) -> int:
    """Run a command of `ranker` in this process, and return its exit code."""
    from ranker.cli.main import run

    try:
        run(words)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 1
    return 0


def captured(words: list[str]) -> tuple[int, str, str]:
    """Run a command of `ranker` in this process; return exit code, output and messages."""
    stdout, stderr = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        code = command(words)
    return code, stdout.getvalue(), stderr.getvalue()
