"""Kernels as numba compiles them. This module imports numba; all others leave that to the first kernel that needs it.

Files of compiled kernels have a digest in their names: of the function and of all kernels and constants that it uses,
in whatever module these are, so that a change of any of them compiles it again. Numba's own files depend on the module
of the function alone.
"""

from __future__ import annotations

import functools
import glob
import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, cast

import numpy as np
from numba import njit
from numba.core.caching import IndexDataCacheFile
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from ranker import progress

number = 0
"""Number of functions that this process has compiled instead of loading from disk."""


def make(function: Callable[..., Any], options: Mapping[str, Any]) -> CompiledKernel:
    """Return a function that numba compiles with the given options, once for each combination of argument types."""
    made: Any = njit(**options)(function)
    with suppress(RuntimeError):
        # raised where no folder can be written to
        made.enable_caching()
    made.__class__ = CompiledKernel
    return cast(CompiledKernel, made)


class CompiledKernel(CPUDispatcher):
    """A function that numba compiles, whose file on disk has a digest of the code in its name."""

    _cache: Any

    def compile(self, signature: Any) -> Any:
        """Compile for the argument types in `signature`, or load the compiled code if it is on disk."""
        global number
        # of several threads that ask for the same, the first compiles
        with global_compiler_lock:
            if signature in self.overloads or self.is_on_disk():
                return super().compile(signature)
            number += 1
            progress.report("kernels compiled, once", number, 0)
            result = super().compile(signature)
            self._remove_former_files()
            return result

    def is_on_disk(self) -> bool:
        """True if code compiled for some types of arguments is on disk."""
        return self._file is not None and bool(self._file._load_index())

    @functools.cached_property
    def _file(self) -> Any:
        """Index of the kernel in numba's cache, named by a digest of the code; None if nothing can be cached."""
        if getattr(self._cache, "_cache_file", None) is None:
            return None
        digest = hashlib.sha256()
        _add_function(digest, self, set())
        name = digest.hexdigest()[:16].join(self._stem).removesuffix(".")
        index: Any = IndexDataCacheFile
        self._cache._cache_file = index(self._cache.cache_path, name, digest.digest())
        return self._cache._cache_file

    @property
    def _stem(self) -> tuple[str, str]:
        """Parts of the kernel's file names before and after the digest; the second includes Python's version."""
        name, _, rest = self._cache._impl.filename_base.rpartition("-")
        return f"{name}-", f".{rest.partition('.')[2]}."

    def _remove_former_files(self) -> None:
        """Remove compiled code that is outdated because the function or something that it uses has changed."""
        if self._file is None:
            return
        kept = self._file._index_name.removesuffix("nbi")
        pattern = "*".join(map(glob.escape, self._stem))
        for path in Path(self._cache.cache_path).glob(f"{pattern}*nb[ic]"):
            if not path.name.startswith(kept):
                with suppress(OSError):
                    path.unlink()


def _add_function(digest: Any, function: Any, seen: set[int]) -> None:
    """Update a digest with everything that numba compiles into a function: its code and the values of global names."""
    python = getattr(function, "py_func", function)
    if id(python) in seen:
        return
    seen.add(id(python))
    options = sorted(getattr(function, "targetoptions", {}).items())
    digest.update(repr((python.__qualname__, options, python.__defaults__)).encode())
    values = [cell.cell_contents for cell in python.__closure__ or ()]
    for code in _codes(python.__code__):
        constants = [constant for constant in code.co_consts if not isinstance(constant, CodeType)]
        digest.update(repr((code.co_code, code.co_names, constants)).encode())
        values += _values(code.co_names, python.__globals__)
    for value in values:
        if isinstance(value, FunctionType) or hasattr(value, "py_func"):
            _add_function(digest, value, seen)
        elif isinstance(value, np.ndarray):
            digest.update(repr((value.dtype, value.shape)).encode() + value.tobytes())
        else:
            digest.update(repr((value, getattr(value, "_fields", ()))).encode())


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code objects of a function and of the functions and comprehensions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _values(names: Sequence[str], known: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the values that `names` have in `known` and in modules found there, except NumPy and `math`."""
    for name in names:
        value = known.get(name)
        if not isinstance(value, ModuleType):
            yield value
        elif value not in (np, math):
            yield from _values(names, vars(value))
