"""What takes seconds: the statistics of the owner's page and the queue of active selection, in a thread."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ranker.collect.campaign import CampaignSettings, connect, count_judgements
from ranker.collect.tasks import KINDS
from ranker.errors import RankerError, note_logger

if TYPE_CHECKING:
    from ranker.arrays import FloatArray
    from ranker.corpora.dataset import Dataset

_LOG = note_logger(__name__)
_NEW = 0.02
"""Proportion of new judgements after which the queue is recomputed; at least `_NEWEST`."""
_NEWEST = 10


class Background:
    """Computes in a thread, one thing at a time; features are extracted once."""

    def __init__(self, path: str | Path, settings: CampaignSettings) -> None:
        self._path, self._settings = path, settings
        self._turn = asyncio.Lock()
        self._columns: FloatArray | None = None
        self._queue: asyncio.Task[None] | None = None
        self._queued = -_NEWEST

    async def figures(self) -> tuple[int, dict[str, Any]]:
        """Return the statistics as JSON, and the number of judgements that they cover."""
        async with self._turn:
            return await asyncio.to_thread(self._compute_figures)

    def _compute_figures(self) -> tuple[int, dict[str, Any]]:
        from ranker.collect.figures import figures_of

        with closing(connect(self._path)) as connection:
            count = count_judgements(connection)
            return count, figures_of(connection, self._settings).document(KINDS[self._settings.kind])

    def _features(self, dataset: Dataset) -> FloatArray:
        from ranker.collect.figures import feature_columns

        if self._columns is None:
            self._columns = feature_columns(self._settings, dataset)
        return self._columns

    def judged(self, count: int) -> None:
        """Begin to recompute the queue if there are many new judgements."""
        busy = self._queue is not None and not self._queue.done()
        if self._settings.next == "active" and not busy and count - self._queued >= max(_NEWEST, _NEW * count):
            self._queued = count
            self._queue = asyncio.create_task(self._refresh())

    async def _refresh(self) -> None:
        try:
            async with self._turn:
                await asyncio.to_thread(self._compute_queue)
        except RankerError as error:
            _LOG.warning("ranker: note: items are chosen uniformly: %s", error)

    def _compute_queue(self) -> None:
        from ranker.collect.exporting import dataset_of
        from ranker.collect.figures import refresh_queue

        with closing(connect(self._path)) as connection:
            columns = self._features(dataset_of(connection, self._settings))
            refresh_queue(connection, self._settings, columns)
