"""Waiting lines: so many questions read a store at once, so many wait in the order they came, the next is refused."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field

from hushcount.app.serving.data.refusals import FULL, busy, no_turn
from hushcount.app.serving.setup.config import StoreConfig


@dataclass(slots=True, eq=False)
class _Turn:
    """The place of one who waits: woken alone, and told whether it is their turn or the end."""

    woken: threading.Event = field(default_factory=threading.Event)
    has_come: bool = False


class Line:
    """The line before one store. Any number of threads may stand in it; nobody waits while there is room to read."""

    def __init__(self, store: StoreConfig) -> None:
        self._store = store
        self._running = 0
        self._waiting: deque[_Turn] = deque()
        self._lock = threading.Lock()
        self._closed = False

    def enter(self) -> None:
        """Wait for a turn, no longer than one question may read.

        Raises:
            Busy: too many wait already, or it took too long, or the service stops. Nothing was read or charged.
        """
        with self._lock:
            if self._closed:
                raise busy(self._store.name, "the service stops")
            if self._running < self._store.max_running:
                self._running += 1
                return
            if len(self._waiting) >= self._store.max_waiting:
                raise busy(self._store.name, FULL)
            turn = _Turn()
            self._waiting.append(turn)
        self._wait(turn)

    def leave(self) -> None:
        """Let the next one go."""
        with self._lock:
            self._running -= 1
            if self._waiting and self._running < self._store.max_running:
                turn = self._waiting.popleft()
                self._running += 1
                turn.has_come = True
                turn.woken.set()

    def close(self) -> None:
        """Send away all who wait; those who read go on."""
        with self._lock:
            self._closed = True
            for turn in self._waiting:
                turn.woken.set()
            self._waiting.clear()

    @property
    def load(self) -> tuple[int, int]:
        """How many read, and how many wait."""
        with self._lock:
            return self._running, len(self._waiting)

    def _wait(self, turn: _Turn) -> None:
        patience = self._store.timeout.total_seconds()
        turn.woken.wait(patience)
        with self._lock:
            if turn.has_come:
                return
            if not self._closed:
                self._waiting.remove(turn)
                raise no_turn(self._store.name, patience)
        raise busy(self._store.name, "the service stops")
