"""What is kept in memory because it never changes: stored answers, and the bytes in which they leave."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from hushcount.model.frozen import frozen

T = TypeVar("T")
MOST_BYTES = 32 * 2**20


@frozen
class Rendering:
    """One release in one format.

    Attributes:
        body: the bytes.
        media: their media type.
    """

    body: bytes
    media: str


class Kept(Generic[T]):
    """Things that were used last, as many as there is room for. Safe for any number of threads.

    Args:
        size: how many bytes one takes.
        most: how many bytes all may take.
    """

    def __init__(self, size: Callable[[T], int], most: int = MOST_BYTES) -> None:
        self._size_of, self._most, self._size = size, most, 0
        self._kept: OrderedDict[tuple[str, ...], T] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: tuple[str, ...]) -> T | None:
        """The thing of this key, if it is kept."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def get(self, key: tuple[str, ...], make: Callable[[], T]) -> T:
        """The thing of this key, made if it is not kept. Two who ask at once may both make it: it is the same."""
        found = self.find(key)
        if found is not None:
            return found
        made = make()
        size = self._size_of(made)
        if size > self._most // 4:
            # One that would push out most of the others is made each time.
            return made
        with self._lock:
            if key not in self._kept:
                self._size += size
                self._kept[key] = made
            while self._size > self._most:
                _, dropped = self._kept.popitem(last=False)
                self._size -= self._size_of(dropped)
        return made
