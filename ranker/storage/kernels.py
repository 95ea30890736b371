"""Numba kernels that are compiled only when there is enough work for it to pay.

Compiling takes seconds per kernel and happens once; what is compiled is kept on disk. Until then a call on a few
sentences runs the same function as plain Python, which takes milliseconds. Both give the same bits, so that what is
compiled never shows in a result: kernels use integers, comparisons, single floating-point operations in a fixed order
and functions of `math`. A kernel that may give other bits is declared with ``elements=0`` and always compiled.

A few kernels have a `plain` form of their own, on lists: those of the features that ``ranker train --data sample`` uses
(n-grams, tokens, TER, METEOR, common subsequences, leaving out), which would take seconds longer without, 4.6 s for
`ngrams._matches` alone. All others need none for the first answer on a few sentences.

The environment variable ``RANKER_KERNELS`` set to ``compiled`` or ``plain`` uses one of the two for everything.
"""

from __future__ import annotations

import functools
import inspect
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import Any, Literal, TypeVar, cast, overload

import numpy as np

from ranker.threads import for_each_block, jobs

F = TypeVar("F", bound=Callable[..., Any])
Mode = Literal["auto", "compiled", "plain"]

ELEMENTS = 8_192
"""Default number of array elements that a kernel processes in one process before it is compiled."""

_LOADING = 4
"""Ratio of the elements from which on a kernel is worth compiling to those from which on it is worth loading."""

_WORTHWHILE = 32
"""Maximum number of parts into which as many elements as are worth compiling a kernel for are split."""

_PARTS = 16
"""Number of parts of the rows per thread, so that no thread waits long for another."""

_making = threading.RLock()
_seen: Counter[int] = Counter()
"""Number of array elements that each kernel, by its id, has processed."""


def source_of(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return the Python function that a kernel is compiled from, for calls with other types of arguments."""
    return cast("Callable[..., Any]", getattr(kernel, "py_func", kernel))


class _State(threading.local):
    """State of a thread: `plain` is True while the thread runs a kernel as plain Python."""

    plain = False


_state = _State()
_MODES: dict[str, Mode] = {"compiled": "compiled", "plain": "plain"}
_mode: Mode = _MODES.get(os.environ.get("RANKER_KERNELS", ""), "auto")


class Kernel:
    """A function that runs as plain Python until it has enough work for numba to compile it.

    Numba, which takes a third of a second to import, is imported by the first kernel that has. Compiled code may call
    kernels: numba takes them by `_numba_type_`, `targetoptions` and `py_func` for functions that it compiles.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        options: dict[str, Any],
        *,
        elements: int,
        tables: Sequence[str],
        size: Callable[..., int] | None,
        plain: Callable[..., Any] | None,
        rows: Sequence[str],
        offsets: Sequence[str],
    ) -> None:
        functools.update_wrapper(self, function)
        names = list(inspect.signature(function).parameters)
        self.py_func, self.targetoptions, self.elements = function, options, elements
        self.size, self.plain = size, plain or function
        self.tables = frozenset(map(names.index, tables))
        self.rows, self.offsets = tuple(map(names.index, rows)), tuple(map(names.index, offsets))
        self._made: Any = None

    @property
    def compiled(self) -> Any:
        """The function as numba compiles it, a `ranker.storage.compiled_kernels.CompiledKernel`."""
        if self._made is None:
            from ranker.storage.compiled_kernels import make

            with _making:
                self._made = self._made or make(self.py_func, self.targetoptions)
        return self._made

    @property
    def _numba_type_(self) -> Any:
        return self.compiled._numba_type_

    @property
    def signatures(self) -> list[Any]:
        """Types of arguments for which the function is compiled in this process."""
        return [] if self._made is None else list(self._made.signatures)

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function or the plain Python function."""
        if _state.plain:
            return self._without_kernels(*arguments)
        if (self._made and self._made.overloads and _mode != "plain") or not self._stays_plain(arguments):
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
        call = self.compiled
        if parts < 2:
            return call(*arguments)
        types = tuple(map(call.typeof_pyval, arguments))
        if types not in call.overloads:
            # here rather than in a helper, so that Ctrl-C stops it
            call.compile(types)
        bounds = [count * part // parts for part in range(parts + 1)]
        results: list[Any] = [None] * parts

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
        return bool(self.compiled.is_on_disk())


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
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        return function
    return Kernel(
        function,
        {"nogil": True, **options},
        elements=elements,
        tables=tables,
        size=size,
        plain=plain,
        rows=rows,
        offsets=offsets,
    )


@contextmanager
def using(mode: Mode) -> Iterator[None]:
    """Run all kernels inside the ``with`` block in `mode`, with the counts of processed elements reset to 0."""
    global _mode, _seen
    before, (_mode, _seen) = (_mode, _seen), (mode, Counter())
    try:
        yield
    finally:
        _mode, _seen = before
