"""Patience: how long a call waits for one reply and for its answer, and how often it tries again."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

_LONGEST_PAUSE = 8.0
# A server may ask for more time between two tries, but not for a sleep without end.
_LONGEST_WISH = 30.0
_SHORTEST_WISH = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long is waited.

    Attributes:
        reply: seconds for one reply, from its first to its last byte.
        whole: seconds for a call with all its tries and all its polling.
        attempts: how often one request is tried at most.
        pause: seconds before the second try; each pause is twice the one before.
        sleep: what waits; tests hand over their own.
        clock: what tells the time, in seconds.
    """

    reply: float = 30.0
    whole: float = 600.0
    attempts: int = 6
    pause: float = 0.5
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    @property
    def wait(self) -> int:
        """How many seconds the server is asked to hold a request until its answer is there."""
        return max(0, min(10, int(self.reply / 2)))

    def before(self, attempt: int, wish: str | None) -> float:
        """Seconds to pause before a further try; `wish` is the server's Retry-After."""
        return max(min(self.pause * 2.0**attempt, _LONGEST_PAUSE), wished(wish) or 0.0)


def wished(text: str | None) -> float | None:
    """The seconds of a Retry-After, within reason; None for a date, which no server of ours sends, or for nonsense."""
    if text is None or not (text.isascii() and text.strip().isdigit()):
        return None
    # A number of a thousand digits is also one.
    return max(_SHORTEST_WISH, min(float(text.strip()[:6]), _LONGEST_WISH))
