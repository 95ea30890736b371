"""Starts the command line, so that it ends in one line whenever it is interrupted or stopped.

Nothing is imported before the signals are taken care of.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

# Windows has no SIGHUP
_STOPPING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


def run() -> None:
    """Run the command line and exit: 128 and the number of the signal that ended it, else as `ranker.cli.main.run`."""
    _open_closed_streams()
    # what the caller had set to be ignored, as nohup does, stays ignored
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
        raise


def _open_closed_streams() -> None:
    """Replace a closed standard error by the null device, so that no file is opened there and gets messages.

    Closed standard input and output are refused by whoever needs them.
    """
    if sys.stderr is None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        sys.stderr = open(2, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115


def _say(number: int) -> None:
    what = "interrupted" if number == signal.SIGINT else f"terminated by {signal.Signals(number).name}"
    try:
        os.write(2, f"ranker: {what}\n".encode())
    except OSError:
        return


def _end(number: int, _: FrameType | None) -> NoReturn:
    """Exit at once, while nothing has been done yet."""
    _say(number)
    os._exit(128 + number)


def _stop(number: int, _: FrameType | None) -> NoReturn:
    """Exit after temporary files are removed and child processes are ended."""
    for signum in _STOPPING:
        signal.signal(signum, signal.SIG_IGN)
    _say(number)
    raise SystemExit(128 + number)


if __name__ == "__main__":
    run()
