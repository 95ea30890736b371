"""Numba kernels that are compiled only when there is enough work for it to pay.

Compiling takes seconds per kernel and happens once; what is compiled is kept on disk. Until then a call on a few
sentences runs the same function as plain Python, which takes milliseconds. Both give the same bits, so that what is
compiled never shows in a result: kernels use integers, comparisons, single floating-point operations in a fixed order
and functions of `math`. One that may not be so is declared with ``elements=0`` and always compiled.

A few kernels have a `plain` form of their own, on lists: those of the features that ``ranker train --data sample`` uses
(n-grams, tokens, TER, METEOR, common subsequences, leaving out), which would take seconds longer without, 4.6 s for
`ngrams._matches` alone. All others need none for the first answer on a few sentences.

Files of compiled kernels have a digest in their names: of the function and of all kernels and constants that it uses,
in whatever module these are, so that a change of any of them compiles it again. Numba's own files depend on the module
of the function alone.

The environment variable ``RANKER_KERNELS`` set to ``compiled`` or ``plain`` uses one of the two for everything.
"""

from __future__ import annotations

import functools
import glob
import hashlib
import inspect
import math
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, Literal, TypeVar, cast, overload

import numpy as np
from numba import njit
from numba.core.caching import IndexDataCacheFile
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from ranker import progress
from ranker.threads import for_each_block, jobs

F = TypeVar("F", bound=Callable[..., Any])
Mode = Literal["auto", "compiled", "plain"]

ELEMENTS = 8_192
"""Default number of array elements that a kernel processes in one process before it is compiled."""

_LOADING = 4
"""Times that a kernel must process more elements to be worth compiling than to be worth loading from disk."""

_WORTHWHILE = 32
"""Parts that are worth a thread's attention if a kernel takes as many elements as are worth compiling it."""

_PARTS = 16
"""Number of parts of the rows per thread, so that no thread waits long for another."""

_compiled = 0
_seen: Counter[int] = Counter()
"""Array elements that each kernel, by its id, has taken."""


def source_of(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return the Python function that a kernel is compiled from, for calls with other types of arguments."""
    function: Callable[..., Any] = cast(Any, kernel).py_func
    return function


class _State(threading.local):
    """State of a thread: `plain` is True while the thread runs a kernel as plain Python."""

    plain = False


_state = _State()
_MODES: dict[str, Mode] = {"compiled": "compiled", "plain": "plain"}
_mode: Mode = _MODES.get(os.environ.get("RANKER_KERNELS", ""), "auto")


class Kernel(CPUDispatcher):
    """A function that runs as plain Python until it has enough work for numba to compile it."""

    elements: int
    tables: frozenset[int]
    size: Callable[..., int] | None
    plain: Callable[..., Any]
    rows: tuple[int, ...]
    offsets: tuple[int, ...]
    _cache: Any

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function or the plain Python function."""
        if _state.plain:
            return self._without_kernels(*arguments)
        if (self.overloads and _mode != "plain") or not self._stays_plain(arguments):
            return self._in_parts(arguments)
        _state.plain = True
        try:
            # what wraps round in compiled integers does so here, with a warning of NumPy's
            with np.errstate(all="ignore"):
                return self._without_kernels(*arguments)
        finally:
            _state.plain = False

    def _in_parts(self, arguments: tuple[Any, ...]) -> Any:
        """Call the compiled function; if there is enough work, split the rows among threads."""
        count, parts = self._count_rows(arguments), 1
        if count > 1 and (threads := jobs()) > 1:
            worthwhile = _WORTHWHILE * self._size(arguments) // (self.elements or ELEMENTS)
            parts = min(count, _PARTS * threads, worthwhile)
        if parts < 2:
            return super().__call__(*arguments)
        types = tuple(map(self.typeof_pyval, arguments))
        if types not in self.overloads:
            # here rather than in a helper, so that Ctrl-C stops it
            self.compile(types)
        bounds = [count * part // parts for part in range(parts + 1)]
        results: list[Any] = [None] * parts
        call = super().__call__

        def run(part: int) -> None:
            own = list(arguments)
            start, stop = bounds[part], bounds[part + 1]
            for place in self.rows:
                own[place] = own[place][start:stop]
            for place in self.offsets:
                own[place] = own[place][start : stop + 1]
            results[part] = call(*own)

        for_each_block(run, parts)
        if isinstance(results[0], tuple):
            return tuple(map(np.concatenate, zip(*results, strict=True)))
        return None if results[0] is None else np.concatenate(results)

    def _count_rows(self, arguments: tuple[Any, ...]) -> int:
        if self.rows:
            return len(arguments[self.rows[0]])
        return len(arguments[self.offsets[0]]) - 1 if self.offsets else 0

    @functools.cached_property
    def _without_kernels(self) -> Any:
        """Plain Python version, which calls the plain versions of other kernels because that is faster."""
        copied = _with_names(self.plain, _plain_names(self.plain))
        copied.py_func = copied if self.plain is self.py_func else _with_names(self.py_func, _plain_names(self.py_func))
        return copied

    def compile(self, signature: Any) -> Any:
        """Compile for the argument types in `signature`, or load the compiled code if it is on disk."""
        global _compiled
        # of several threads that ask for the same, the first compiles
        with global_compiler_lock:
            if signature in self.overloads or self._is_on_disk():
                return super().compile(signature)
            _compiled += 1
            progress.report("kernels compiled, once", _compiled, 0)
            result = super().compile(signature)
            self._remove_former_files()
            return result

    def _stays_plain(self, arguments: tuple[Any, ...]) -> bool:
        if _mode != "auto" or not self.elements:
            return _mode == "plain" and self.elements > 0
        _seen[id(self)] += self._size(arguments)
        seen = _seen[id(self)]
        return seen <= self.elements // _LOADING or (seen <= self.elements and not self._was_on_disk)

    def _size(self, arguments: tuple[Any, ...]) -> int:
        if self.size is not None:
            return self.size(*arguments)
        return sum(
            argument.size
            for place, argument in enumerate(arguments)
            if isinstance(argument, np.ndarray) and place not in self.tables
        )

    @functools.cached_property
    def _was_on_disk(self) -> bool:
        """True if compiled code was on disk when this process first asked."""
        return self._is_on_disk()

    def _is_on_disk(self) -> bool:
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
        if isinstance(value, (CPUDispatcher, FunctionType)):
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


def _with_names(function: Any, names: dict[str, Any]) -> Any:
    """Copy a function, with `names` as the globals of the copy."""
    copied = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    copied.__kwdefaults__ = function.__kwdefaults__
    return copied


_names: dict[int, dict[str, Any]] = {}
"""Globals of modules, by their id, with functions in place of kernels."""


def _plain_names(function: Any) -> dict[str, Any]:
    """Return the globals of a function with all kernels replaced by their plain versions."""
    original: dict[str, Any] = function.__globals__
    if id(original) not in _names:
        names = _names[id(original)] = dict(original)
        for name, value in original.items():
            if isinstance(value, Kernel):
                names[name] = value._without_kernels
    return _names[id(original)]


@overload
def kernel(function: F, *, elements: int = ELEMENTS, tables: Sequence[str] = (), **options: Any) -> F: ...


@overload
def kernel(
    function: None = None,
    *,
    elements: int = ELEMENTS,
    tables: Sequence[str] = (),
    size: Callable[..., int] | None = None,
    plain: Callable[..., Any] | None = None,
    rows: Sequence[str] = (),
    offsets: Sequence[str] = (),
    **options: Any,
) -> Callable[[F], F]: ...


def kernel(
    function: Callable[..., Any] | None = None,
    *,
    elements: int = ELEMENTS,
    tables: Sequence[str] = (),
    size: Callable[..., int] | None = None,
    plain: Callable[..., Any] | None = None,
    rows: Sequence[str] = (),
    offsets: Sequence[str] = (),
    **options: Any,
) -> Any:
    """Decorate a function so that numba compiles it, keeps it on disk and runs it without the interpreter's lock."""
    if function is None:
        return functools.partial(
            kernel, elements=elements, tables=tables, size=size, plain=plain, rows=rows, offsets=offsets, **options
        )
    compiled: Any = njit(nogil=True, **options)(function)
    if not hasattr(compiled, "py_func"):
        # with NUMBA_DISABLE_JIT it is the function itself
        return compiled
    with suppress(RuntimeError):
        # raised where no folder can be written to
        compiled.enable_caching()
    names = list(inspect.signature(function).parameters)
    compiled.__class__ = Kernel
    compiled.elements, compiled.tables = elements, frozenset(map(names.index, tables))
    compiled.size, compiled.plain = size, plain or function
    compiled.rows, compiled.offsets = tuple(map(names.index, rows)), tuple(map(names.index, offsets))
    return compiled


def compiled() -> int:
    """Return the number of kernels that this process has compiled instead of loading from disk."""
    return _compiled


@contextmanager
def using(mode: Mode) -> Iterator[None]:
    """Run all kernels inside the ``with`` block in `mode`, with the counts of processed elements reset to 0."""
    global _mode, _seen
    before, (_mode, _seen) = (_mode, _seen), (mode, Counter())
    try:
        yield
    finally:
        _mode, _seen = before
