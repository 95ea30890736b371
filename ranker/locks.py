"""Locks on files and folders, released when the process that holds them ends.

On Windows, and on file systems that do not support such locks, nothing is locked, and the remains of killed runs are
not removed.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

HAS_LOCKS = sys.platform != "win32"


def open_folder(path: str | Path) -> int:
    """Open a folder and return its descriptor, for `lock`."""
    if sys.platform == "win32":
        # folders cannot be opened on Windows: a descriptor of the null device takes their place
        if not Path(path).is_dir():
            raise FileNotFoundError(str(path))
        return os.open(os.devnull, os.O_RDONLY)
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


def lock(descriptor: int, *, wait: bool = True) -> bool:
    """Lock an open file or folder until `descriptor` is closed; return False if locks are not supported."""
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True
