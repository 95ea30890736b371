"""Experiments as lists of tables to make one by one, so that a failure costs one table and no other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ranker.apps.experiments.tables import Experiment, Failure, Table
from ranker.progress import report
from ranker.version import VERSION


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

    @classmethod
    def of(cls, name: str, tasks: Sequence[TableTask], signed: Mapping[str, object]) -> Plan:
        """Make a plan whose signature has the version, the experiment, and the settings that have a value."""
        parts = {"ranker": VERSION, "experiment": name, **signed}
        return cls(name, tuple(tasks), "|".join(f"{key}:{value}" for key, value in parts.items() if value is not None))

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
