"""How many threads or processes to use: one setting for the whole program."""

from __future__ import annotations

import os
import sys

_jobs: int | None = None


def set_jobs(jobs: int) -> None:
    """Use `jobs` threads or worker processes from now on."""
    global _jobs
    _jobs = jobs
    if "numba" in sys.modules:
        import numba

        numba.set_num_threads(min(jobs, numba.config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]
    else:
        # read once, when numba is imported
        os.environ["NUMBA_NUM_THREADS"] = str(jobs)


def jobs() -> int:
    """Return the number of threads or worker processes to use; by default all cores this process may use."""
    if _jobs is not None:
        return _jobs
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
