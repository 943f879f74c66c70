"""Two cores for one pass: NumPy and C let go of the interpreter's lock, so two threads are enough.

What is done on each must write to other places than the other does, and must not depend on it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

_Part = TypeVar("_Part")
_Made = TypeVar("_Made")

# From so many rows on a second core saves more than it costs to ask it.
MANY_ROWS = 1 << 18
# More than will ever work at once: whoever asks for a second core never waits for somebody else's.
_MOST = 1024
# Kept threads that nobody uses.
_WAITING = list[ThreadPoolExecutor]()


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


@contextmanager
def kept_thread() -> Iterator[ThreadPoolExecutor]:
    """A thread that does things in their order, for one user at a time; it waits for the next one.

    A thread that ends gives back what memory DuckDB had kept for it. Whatever was asked of it has ended when this does,
    also what an interrupt kept its user from hearing of.
    """
    try:
        one = _WAITING.pop()
    except IndexError:
        one = ThreadPoolExecutor(max_workers=1, thread_name_prefix="kept")
    try:
        yield one
    finally:
        try:
            one.submit(_nothing).result()
        except BaseException:
            # Interrupted once more.
            one.shutdown()
            raise
        _WAITING.append(one)


def _nothing() -> None:
    """Done when all before it is."""


@cache
def _seconds() -> ThreadPoolExecutor:
    """Threads that wait for work: a question asks for one some twenty times, and a start takes its time."""
    return ThreadPoolExecutor(max_workers=_MOST, thread_name_prefix="second core")


if hasattr(os, "register_at_fork"):
    # The child of a fork has none of these threads, and starts its own.
    os.register_at_fork(after_in_child=_seconds.cache_clear)
    os.register_at_fork(after_in_child=_WAITING.clear)
