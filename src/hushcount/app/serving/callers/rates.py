"""Rates: how many requests one caller may send in a short time, so that no script keeps the others out.

Not a budget: what is learnt is bounded by the ledger alone, and an exhausted budget is never told as "later".
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from hushcount.errors import TooManyRequests

# So many seconds' worth may come at once.
BURST = 5
_MOST_CALLERS = 10_000


@dataclass(slots=True, kw_only=True)
class Rates:
    """A bucket for each caller, filled steadily; the oldest are forgotten when there are too many, and are full then.

    Attributes:
        each: requests a second; 0 for as many as they like.
        seconds: the clock.
    """

    each: int
    seconds: Callable[[], float] = time.monotonic
    _left: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def policy(self) -> str | None:
        """How many requests may come in how many seconds, as the header `RateLimit-Policy` says it; None if any."""
        return f'"requests";q={self.each * BURST};w={BURST}' if self.each else None

    def take(self, caller: str) -> None:
        """Let one request of a caller pass.

        Raises:
            TooManyRequests: with the time after which to try again.
        """
        if not self.each:
            return
        most, now = float(self.each * BURST), self.seconds()
        with self._lock:
            left, at = self._left.get(caller, (most, now))
            left = min(most, left + (now - at) * self.each)
            self._left[caller] = (left - 1 if left >= 1 else left, now)
            self._left.move_to_end(caller)
            while len(self._left) > _MOST_CALLERS:
                self._left.popitem(last=False)
        if left < 1:
            wait = max(1, math.ceil((1 - left) / self.each))
            raise TooManyRequests(
                f"more than {self.each} requests a second came from you for a while. Wait {wait} s; answers are pushed "
                "to whoever waits for them with Prefer: wait. Nothing was charged.",
                after=wait,
            )
