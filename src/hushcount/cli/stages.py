"""Progress: the name of the stage under way, shown only once a command has taken two seconds."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.status import Status

_PATIENCE = 2.0


class Stages:
    """Shows a spinner with the stage's name on a terminal, or a line for each stage elsewhere, after two seconds."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._stage = ""
        self._begun = time.monotonic()
        self._lock = threading.Lock()
        self._status: Status | None = None
        self._showing = False
        self._timer = threading.Timer(_PATIENCE, self._show)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        if not self._quiet:
            self._timer.start()
        return self

    def say(self, stage: str) -> None:
        """A stage begins. One without a name: from here on somebody else shows on this terminal how far it is."""
        with self._lock:
            self._stage = stage
            if not stage:
                self._hide()
            elif self._showing:
                self._tell()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._hide()

    def _hide(self) -> None:
        self._timer.cancel()
        self._quiet, self._showing = True, False
        if self._status is not None:
            self._status.stop()

    def _show(self) -> None:
        with self._lock:
            if self._quiet:
                return
            self._showing = True
            if sys.stderr.isatty():
                from rich.console import Console  # not needed by fast commands

                self._status = Console(stderr=True).status("")
                self._status.start()
            self._tell()

    def _tell(self) -> None:
        if self._status is not None:
            self._status.update(f"{self._stage} …")
        else:
            sys.stderr.write(f"{time.monotonic() - self._begun:5.1f} s  {self._stage} …\n")
