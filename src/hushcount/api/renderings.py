"""Renderings: stored releases as the bytes that leave, kept while there is room. A release never changes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

_MOST_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """One release in one format.

    Attributes:
        body: the bytes.
        media: their media type.
        etag: what stands for these bytes, with its quotation marks.
    """

    body: bytes
    media: str
    etag: str


class Renderings:
    """The releases that were read last, each in the formats that it was read in. Safe for any number of threads.

    Args:
        most: how many bytes are kept at most.
    """

    def __init__(self, most: int = _MOST_BYTES) -> None:
        self._most, self._size = most, 0
        self._kept: OrderedDict[tuple[str, ...], Rendering] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple[str, ...], make: Callable[[], Rendering]) -> Rendering:
        """The rendering of this key, made if it is not kept. Two who ask at once may both make it: it is the same."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                return found
        made = make()
        if len(made.body) > self._most // 4:
            # One that would push out most of the others is made each time.
            return made
        with self._lock:
            if key not in self._kept:
                self._size += len(made.body)
                self._kept[key] = made
            while self._size > self._most:
                _, dropped = self._kept.popitem(last=False)
                self._size -= len(dropped.body)
        return made
