"""Compiles every kernel for one thread: `NUMBA_BOUNDSCHECK=1 python -m pytest -p bench.serial_kernels`.

With that variable an index out of bounds is an error, but numba loses the errors of parallel loops. It must be imported
before any module that has kernels. Compiled kernels are kept apart from others by a NUMBA_CACHE_DIR of their own.
"""

from __future__ import annotations

from typing import Any

import numba

_njit = numba.njit


def _serial(*arguments: Any, parallel: bool = False, **options: Any) -> Any:
    return _njit(*arguments, **options)


numba.njit = _serial
