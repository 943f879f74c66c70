"""Two cores for one pass: NumPy and C let go of the interpreter's lock, so two threads are enough.

What is done on each must write to other places than the other does, and must not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_Part = TypeVar("_Part")
_Made = TypeVar("_Made")

# From so many rows on a second core saves more than it costs to ask it.
MANY_ROWS = 1_000_000


def on_two_cores(work: Callable[[_Part], _Made], one: _Part, other: _Part) -> tuple[_Made, _Made]:
    """Do a thing with two parts at once.

    Whatever happens, an interrupt included, no thread is left: both have ended when this does. Of two failures one is
    told.
    """
    with ThreadPoolExecutor(max_workers=1) as second:
        waiting = second.submit(work, other)
        return work(one), waiting.result()
