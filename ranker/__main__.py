"""Entry point of the command line, which prints one line, and no traceback, whenever it is interrupted or stopped.

Nothing is imported before signal handlers are set.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

# Windows has no SIGHUP
_STOPPING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


def run() -> None:
    """Run the command line and exit with the code of `cli.main.run`, or 128 plus the number of a fatal signal."""
    _open_closed_streams()
    _buffer_stdout()
    # signals that the caller ignores, as nohup does, stay ignored
    early = [signum for signum in _STOPPING if signal.getsignal(signum) is signal.SIG_DFL]
    by_default = signal.getsignal(signal.SIGINT)
    if by_default is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    for signum in early:
        signal.signal(signum, _end)
    from ranker.cli.main import run as run_command

    for signum in early:
        signal.signal(signum, _stop)
    try:
        signal.signal(signal.SIGINT, by_default)
        run_command()
    except KeyboardInterrupt:
        _end(signal.SIGINT, None)
    except SystemExit as error:
        if error.code == 128 + signal.SIGINT:
            # after an interrupt inside exec() Python would end itself by the signal
            os._exit(error.code)
        # a library may wait for processes that it started, and nothing is left to clean up
        for signum in (signal.SIGINT, *_STOPPING):
            if signal.getsignal(signum) in (signal.default_int_handler, _stop):
                signal.signal(signum, _end)
        raise


def _open_closed_streams() -> None:
    """If standard error is closed, replace it by the null device, so that no file opened later receives messages.

    Code that needs standard input or output refuses a closed one.
    """
    if sys.stderr is None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        sys.stderr = open(2, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115


def _buffer_stdout() -> None:
    """Put a buffer around an unbuffered standard output, to which Python may write only a part of a text."""
    raw = getattr(sys.stdout, "buffer", None)
    if isinstance(raw, io.RawIOBase):
        buffer = io.BufferedWriter(raw)
        sys.stdout = io.TextIOWrapper(buffer, sys.stdout.encoding, sys.stdout.errors, line_buffering=True)


def _say(number: int) -> None:
    what = "interrupted" if number == signal.SIGINT else f"terminated by {signal.Signals(number).name}"
    try:
        os.write(2, f"ranker: {what}\n".encode())
    except OSError:
        return


def _end(number: int, _: FrameType | None) -> NoReturn:
    """Exit at once on a signal that arrives before or after there is anything to clean up."""
    _say(number)
    os._exit(128 + number)


def _stop(number: int, _: FrameType | None) -> NoReturn:
    """Turn a signal into an exception, so that temporary files are removed and child processes ended."""
    for signum in _STOPPING:
        signal.signal(signum, signal.SIG_IGN)
    _say(number)
    raise SystemExit(128 + number)


if __name__ == "__main__":
    run()
