"""Shelves: the open engine of one place, shared by all questions about it, and exchanged when the data changed.

An engine answers about one state of the data only. When the data changed, the next question has a new engine opened,
once for all who wait for it; questions under way finish on the old one, which is closed after the last.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from hushcount.app.serving.data.offers import Offer
from hushcount.app.serving.data.refusals import busy, late
from hushcount.app.serving.data.stamps import Stamp
from hushcount.app.serving.data.urgency import give_way
from hushcount.engines.engine import Distributed, Engine
from hushcount.errors import StoreFailed, StoreIncomplete, StoreTimeout, UnreadableSource
from hushcount.model.frozen import frozen

# Data that changes again whenever it was opened is given up after so many times.
_TRIES = 3
# Seconds that closing waits for an opening under way.
_PATIENCE = 5.0


@dataclass(slots=True, kw_only=True)
class Held:
    """An open engine, and who uses it.

    Attributes:
        engine: the engine.
        stamp: of the data when it was opened; None if nothing tells, so that it serves one question only.
        users: how many questions use it.
        retired: whether it is closed after the last of them.
        told: what it told of its data once, by what was asked; it answers about one state only.
        distributed: whether it runs on many machines; asked once, since to look for its methods takes a while.
    """

    engine: Engine
    stamp: Stamp | None
    users: int = 0
    retired: bool = False
    told: dict[tuple[str, bytes], Any] = field(default_factory=dict)
    distributed: bool = field(init=False)

    def __post_init__(self) -> None:
        self.distributed = isinstance(self.engine, Distributed)


@frozen
class Access:
    """How the data of an offer is reached.

    Attributes:
        open: opens an engine that does not see later changes, or refuses when they happen.
        stamp: tells whether the data changed; told whether to wait until every later change shows.
    """

    open: Callable[[Offer], Engine]
    stamp: Callable[[Offer, bool], Stamp | None]


class Shelf:
    """The engines of one place. Any number of threads may take from it."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._lock = threading.Lock()
        self._current: Held | None = None
        self._opening: Future[Held] | None = None
        self._closed = False

    def take(self, offer: Offer, *, until: float) -> Held:
        """An engine on the data as it is now, to be given back.

        Args:
            offer: whose data.
            until: the moment of the monotonic clock when nobody waits for it any more.

        Raises:
            UnreadableSource: it cannot be opened, is gone, or changes all the time.
            StoreTimeout: it could not be opened in time; the opening goes on, for the next question.
            Busy: the service stops.
        """
        for _ in range(_TRIES):
            stamp = self._present(offer)
            if stamp is None:
                return _used(Held(engine=self._access.open(offer), stamp=None, retired=True))
            with self._lock:
                self._refuse_closed(offer)
                current = self._current
                if current is not None and current.stamp == stamp:
                    return _used(current)
                opening = self._opening = self._opening or self._begin(offer)
            self._wait(opening, offer, until)
        raise UnreadableSource(
            f"the data of {offer.name!r} changes all the time, so no state of it can be named. Nothing was charged; "
            'ask again when it is written, or let the operator set snapshot = "day".'
        )

    def give_back(self, held: Held) -> None:
        """Close what nobody uses any more and nobody will be given."""
        with self._lock:
            held.users -= 1
            ends = held.retired and held.users == 0
        if ends:
            held.engine.close()

    def close(self) -> None:
        """Give out nothing more; close what is not in use now, and the rest when it is given back."""
        with self._lock:
            self._closed = True
            opening = self._opening
        if opening is not None:
            # What is opened after that is closed by whoever opened it.
            with suppress(TimeoutError):
                opening.exception(_PATIENCE)
        self._retire()

    def _present(self, offer: Offer) -> Stamp | None:
        try:
            return self._access.stamp(offer, False)  # noqa: FBT003
        except BaseException:
            # What is gone is not answered about from a copy: it may have been taken away on purpose.
            self._retire()
            raise

    def _begin(self, offer: Offer) -> Future[Held]:
        opening: Future[Held] = Future()
        threading.Thread(target=self._open, args=(offer, opening), daemon=True).start()
        return opening

    def _open(self, offer: Offer, opening: Future[Held]) -> None:
        """Open the data. Its stamp is taken before, so that a change in between opens it once more."""
        # An engine's own threads are begun here, and are as urgent as this one.
        give_way()
        try:
            stamp = self._access.stamp(offer, True)  # noqa: FBT003
            held = Held(engine=self._access.open(offer), stamp=stamp)
        except BaseException as error:  # noqa: BLE001  raised again where it is waited for
            with self._lock:
                self._opening = None
            opening.set_exception(error)
            return
        self._retire(held)
        opening.set_result(held)

    def _retire(self, successor: Held | None = None) -> None:
        with self._lock:
            old = self._current
            self._current = None if self._closed else successor
            if successor is not None:
                self._opening = None
            ends = [held for held in (old, successor) if held is not None and held is not self._current]
            for held in ends:
                held.retired = True
            idle = [held for held in ends if held.users == 0]
        for held in idle:
            held.engine.close()

    def _wait(self, opening: Future[Held], offer: Offer, until: float) -> None:
        try:
            opening.result(max(0.0, until - time.monotonic()))
        except TimeoutError:
            raise late(offer.store.name, offer.store.timeout.total_seconds()) from None
        except (UnreadableSource, StoreFailed, StoreIncomplete, StoreTimeout) as error:
            # One of its own for each who waited: what is noted on one must not be read on another.
            raise type(error)(*error.args) from None

    def _refuse_closed(self, offer: Offer) -> None:
        if self._closed:
            raise busy(offer.store.name, "the service stops")


def _used(held: Held) -> Held:
    held.users += 1
    return held
