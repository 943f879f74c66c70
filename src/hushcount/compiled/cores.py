"""Two cores for one pass: NumPy and C let go of the interpreter's lock, so two threads are enough.

What is done on each must write to other places than the other does, and must not depend on it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from typing import TypeVar

_Part = TypeVar("_Part")
_Made = TypeVar("_Made")

# From so many rows on a second core saves more than it costs to ask it.
MANY_ROWS = 1 << 18
# More than will ever work at once: whoever asks for a second core never waits for somebody else's.
_MOST = 1024


def on_two_cores(work: Callable[[_Part], _Made], one: _Part, other: _Part) -> tuple[_Made, _Made]:
    """Do a thing with two parts at once.

    Whatever happens, an interrupt included, both have ended when this does. Of two failures one is told.
    """
    waiting = _seconds().submit(work, other)
    try:
        made = work(one)
    finally:
        wait((waiting,))
    return made, waiting.result()


def beside(work: Callable[[], _Made]) -> Future[_Made]:
    """Begin a thing on a second core; whoever asks for its result waits for its end."""
    return _seconds().submit(work)


@cache
def _seconds() -> ThreadPoolExecutor:
    """Threads that wait for work: a question asks for one some twenty times, and a start takes its time."""
    return ThreadPoolExecutor(max_workers=_MOST, thread_name_prefix="second core")


if hasattr(os, "register_at_fork"):
    # The child of a fork has none of these threads, and starts its own.
    os.register_at_fork(after_in_child=_seconds.cache_clear)
