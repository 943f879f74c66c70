"""Files that this process has open by SQLite, so that nobody else here opens and closes one of them.

POSIX takes all locks that a process has on a file away as soon as it closes any handle of it, whoever had opened that
(sqlite.org/howtocorrupt.html, 2.2). SQLite knows that of its own handles; of one that was opened beside it, to look at
a file's first bytes, it does not. Without its lock another process takes itself for the last one, and removes the log
of writes on which this one goes on: what is charged then, nobody ever sees.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

# Device and inode: locks are those of the file, whatever it is called.
Identity: TypeAlias = tuple[int, int]

_OPEN = Counter[Identity]()
# A ledger that nobody closed may be collected at any moment, also in the thread that has this.
_looking = threading.RLock()


def hold(path: Path, look: Callable[[Path], None]) -> Identity:
    """Note that SQLite is about to open a file. It is looked at before, if this process has not opened it already.

    Args:
        path: the file.
        look: opens it, closes it, and refuses it if it is none of ours.
    """
    with _looking:
        if not path.exists() or not _OPEN[_identity(path)]:
            look(path)
        held = _identity(path)
        _OPEN[held] += 1
        return held


def let_go(held: Identity) -> None:
    """Note that SQLite has closed a file once."""
    with _looking:
        _OPEN[held] -= 1
        if _OPEN[held] <= 0:
            del _OPEN[held]


def _identity(path: Path) -> Identity:
    status = path.stat()
    return status.st_dev, status.st_ino


def _renew() -> None:
    """A child of a fork is alone: whoever had the lock is not there. It opens its own, so all that is noted stays."""
    global _looking  # noqa: PLW0603
    _looking = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
