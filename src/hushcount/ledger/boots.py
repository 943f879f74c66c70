"""Which start of the machine this is, and for how long it has run since: a clock that nobody can set.

It counts the time that the machine slept, so a lid that was closed for a week is a week. It is compared with the clock
on the wall where that is all a ledger has to go by (`clocks.checked_now`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeAlias

from hushcount.model.frozen import frozen


@frozen
class Boot:
    """One start of a machine.

    Attributes:
        id: tells it from every other start of every machine.
        since: for how long the machine has run, in microseconds.
    """

    id: str
    since: int


# None where the machine does not tell.
BootClock: TypeAlias = Callable[[], Boot | None]


def this_boot() -> Boot | None:
    """The start of this machine; None where it has no name for it, or no clock that counts sleep."""
    name, clock = _name(), getattr(time, "CLOCK_BOOTTIME", None)
    return None if name is None or clock is None else Boot(id=name, since=time.clock_gettime_ns(clock) // 1000)


@cache
def _name() -> str | None:
    # A container may count from another moment than its neighbour on the same machine.
    space = Path("/proc/self/ns/time")
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {space.readlink() if space.is_symlink() else ''}".strip()
    except (OSError, ValueError):
        return None
