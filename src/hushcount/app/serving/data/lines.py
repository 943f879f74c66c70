"""Waiting lines: so many questions read a store at once, so many wait in the order they came, the next is refused."""

from __future__ import annotations

import threading
from collections import deque

from hushcount.app.serving.data.refusals import FULL, busy
from hushcount.app.serving.setup.config import StoreConfig


class Line:
    """The line before one store. Any number of threads may stand in it."""

    def __init__(self, store: StoreConfig) -> None:
        self._store = store
        self._running = 0
        self._waiting: deque[object] = deque()
        self._moved = threading.Condition()
        self._closed = False

    def enter(self) -> None:
        """Wait for a turn, no longer than one question may read.

        Raises:
            Busy: too many wait already, or it took too long, or the service stops. Nothing was read or charged.
        """
        with self._moved:
            if self._closed:
                raise busy(self._store.name, "the service stops")
            if not self._waiting and self._running < self._store.max_running:
                self._running += 1
                return
            if len(self._waiting) >= self._store.max_waiting:
                raise busy(self._store.name, FULL)
            self._wait()

    def leave(self) -> None:
        """Let the next one go."""
        with self._moved:
            self._running -= 1
            self._moved.notify_all()

    def close(self) -> None:
        """Send away all who wait; those who read go on."""
        with self._moved:
            self._closed = True
            self._moved.notify_all()

    @property
    def load(self) -> tuple[int, int]:
        """How many read, and how many wait."""
        with self._moved:
            return self._running, len(self._waiting)

    def _wait(self) -> None:
        ticket = object()
        self._waiting.append(ticket)
        try:
            came = self._moved.wait_for(lambda: self._closed or self._is_next(ticket), self._patience)
        finally:
            self._waiting.remove(ticket)
            # Who stood behind may be next now.
            self._moved.notify_all()
        if self._closed:
            raise busy(self._store.name, "the service stops")
        if not came:
            raise busy(self._store.name, f"there was no turn within {self._patience:g} s")
        self._running += 1

    def _is_next(self, ticket: object) -> bool:
        return self._waiting[0] is ticket and self._running < self._store.max_running

    @property
    def _patience(self) -> float:
        return self._store.timeout.total_seconds()
