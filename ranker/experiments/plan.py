"""Experiments as lists of tables to make one by one, so that a failure costs one table and no other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from ranker.experiments.tables import Experiment, Failure, Table
from ranker.progress import report

T = TypeVar("T")


@dataclass(frozen=True)
class TableTask:
    """One table of an experiment, or a few that are made together."""

    title: str
    make: Callable[[], Iterable[Table]]


@dataclass(frozen=True)
class Plan:
    """An experiment that is yet to be run."""

    name: str
    tasks: tuple[TableTask, ...]
    signature: str

    def outcomes(self) -> Iterator[Table | Failure]:
        """Make the tables one after another; a task that raises an exception gives a `Failure`, and the rest follow."""
        for number, task in enumerate(self.tasks):
            report("tables", number, len(self.tasks))
            try:
                yield from task.make()
            except Exception as error:
                yield Failure(task.title, error)

    def run(self) -> Experiment:
        """Make all tables."""
        tables = []
        for outcome in self.outcomes():
            if isinstance(outcome, Failure):
                raise outcome.error
            tables.append(outcome)
        return Experiment(self.name, tuple(tables), self.signature)


class Once(Generic[T]):
    """What several tables need: made at the first call, returned by every call; an error is raised by every call."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._values: list[T] = []
        self._error: Exception | None = None

    def __call__(self) -> T:
        """Return the value, or raise the error that kept it from being made."""
        if self._error is not None:
            raise self._error
        if not self._values:
            try:
                self._values.append(self._make())
            except Exception as error:
                self._error = error
                raise
        return self._values[0]
