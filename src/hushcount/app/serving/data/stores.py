"""Stores: everything that the service reads, lent to one question at a time for as long as it may take."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from hushcount.app.serving.data.access import direct_access
from hushcount.app.serving.data.lines import Line
from hushcount.app.serving.data.loans import Loan
from hushcount.app.serving.data.offers import Offer
from hushcount.app.serving.data.refusals import FULL, busy
from hushcount.app.serving.data.shelves import Access, Shelf
from hushcount.engines.engine import Engine
from hushcount.errors import HushcountError
from hushcount.model.queries import Description

_PATIENCE = timedelta(seconds=30)


class Stores:
    """The open engines of a service, one for each place, and the line before each store.

    Any number of threads may borrow. A slow store has its own line, so that it keeps nobody from another.
    """

    def __init__(self, access: Access | None = None) -> None:
        self._access = access or direct_access()
        self._lock = threading.Lock()
        self._shelves: dict[tuple[str, str], Shelf] = {}
        self._lines: dict[str, Line] = {}
        self._lent = 0
        self._returned = threading.Condition(self._lock)
        self._closed = False

    @contextmanager
    def lend(self, offer: Offer) -> Iterator[Engine]:
        """An open engine on the present version of an offer's data, shared with others, for one question.

        Whoever borrows waits for their turn first, and has the store's timeout from then on. All answers of one loan
        are about one version.

        Raises:
            Busy: too many questions wait for the store. Nothing was read or charged.
            UnreadableSource: the data is gone or cannot be read. Nothing was charged.
            StoreTimeout: it took too long; what was held by then is charged as the ledger says.
        """
        line, shelf, seconds = self._line(offer), self._shelf(offer), offer.store.timeout.total_seconds()
        # Counted from the beginning: closing waits also for who has a turn and is about to read.
        with self._lock:
            self._lent += 1
        try:
            line.enter()
        except BaseException:
            self._return()
            raise
        try:
            held = shelf.take(offer, until=time.monotonic() + seconds)
        except BaseException:
            line.leave()
            self._return()
            raise

        def ended() -> None:
            shelf.give_back(held)
            line.leave()
            self._return()

        loan = Loan(held, store=offer.store.name, seconds=seconds, ended=ended)
        try:
            yield loan.engine
        finally:
            loan.end()

    @contextmanager
    def look(self, offer: Offer) -> Iterator[Engine]:
        """An open engine for columns and versions; waits in no line, since no values are read."""
        shelf, seconds = self._shelf(offer), offer.store.timeout.total_seconds()
        held = shelf.take(offer, until=time.monotonic() + seconds)
        # As a loan, so that what it told of its data once is not asked again for every price.
        loan = Loan(held, store=offer.store.name, seconds=seconds, ended=lambda: shelf.give_back(held))
        try:
            yield loan.engine
        finally:
            loan.end()

    def describe(self, offer: Offer) -> Description:
        """The columns of an offer."""
        with self.look(offer) as engine:
            return engine.describe()

    def refuse_full(self, offer: Offer, *, left: int = 0) -> None:
        """Refuse a question for which there would be no room in the line.

        Args:
            offer: whose store.
            left: how many more wait for it, but not in its line.

        Raises:
            Busy: so it is.
        """
        _, waiting = self.load(offer)
        if waiting + left >= offer.store.max_waiting:
            raise busy(offer.store.name, FULL)

    def refresh(self, offers: Iterable[Offer]) -> dict[str, HushcountError]:
        """Open what changed, so that no question waits for it; what failed, by the offer's name.

        To be called at the start and soon after each midnight: what is served by the day is copied then.
        """
        failed = dict[str, HushcountError]()
        for offer in offers:
            try:
                self.describe(offer)
            except HushcountError as error:
                failed[offer.name] = error
        return failed

    def load(self, offer: Offer) -> tuple[int, int]:
        """How many questions read the offer's store, and how many wait for it."""
        return self._line(offer).load

    def close(self, patience: timedelta = _PATIENCE) -> None:
        """Lend nothing more, wait for questions under way, and close what nobody uses; the rest when it is returned."""
        with self._lock:
            self._closed = True
            lines, shelves = list(self._lines.values()), list(self._shelves.values())
        for line in lines:
            line.close()
        with self._returned:
            self._returned.wait_for(lambda: self._lent == 0, patience.total_seconds())
        for shelf in shelves:
            shelf.close()

    def _return(self) -> None:
        with self._returned:
            self._lent -= 1
            self._returned.notify_all()

    def _line(self, offer: Offer) -> Line:
        with self._lock:
            line = self._lines.setdefault(offer.store.name, Line(offer.store))
            if self._closed:
                line.close()
            return line

    def _shelf(self, offer: Offer) -> Shelf:
        with self._lock:
            return self._shelves.setdefault(offer.place, Shelf(self._access))
