"""Loans: a shared engine in the hands of one question, with a deadline.

What reads rows runs in a thread of its own, so that the deadline frees whoever waits, whatever the engine does. The
loan itself ends only when that thread has ended: until then the engine stays open and the question counts as running,
so that late ones never pile up in a store.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from hushcount.app.serving.data.refusals import late
from hushcount.app.serving.data.shelves import Held
from hushcount.app.serving.data.urgency import give_way
from hushcount.engines.engine import Engine, Interruptible, Paged, asking
from hushcount.model.identities import Identity, Sighting
from hushcount.model.inputs import Bound, Counts, Incidence
from hushcount.model.queries import Description, Selection

_T = TypeVar("_T")
# Seconds between two words to an engine that should stop: it may have been about to begin.
_AGAIN = 0.5


class Loan:
    """One engine, lent to one question."""

    def __init__(self, held: Held, *, store: str, seconds: float, ended: Callable[[], None]) -> None:
        self._engine, self._told, self._distributed = held.engine, held.told, held.distributed
        self._store, self._seconds, self._ended = store, seconds, ended
        self._until = time.monotonic() + seconds
        self._lock = threading.Lock()
        self._calls, self._over = 0, False

    @property
    def engine(self) -> Engine:
        """The engine as the question sees it."""
        if self._distributed:
            return LentDistributed(self._engine, self)
        return LentEngine(self._engine, self)

    def call(self, action: Callable[[], _T]) -> _T:
        """Do something that may take long.

        Raises:
            StoreTimeout: it took too long.
        """
        left = self._until - time.monotonic()
        if left <= 0:
            raise late(self._store, self._seconds)
        answer: Future[_T] = Future()
        with self._lock:
            self._calls += 1
        thread = threading.Thread(target=self._run, args=(answer, action), daemon=True)
        thread.start()
        try:
            return answer.result(left)
        except TimeoutError:
            if answer.done():
                # It came in the last moment, or is the engine's own.
                return answer.result()
        if isinstance(self._engine, Interruptible) and thread.ident is not None:
            self._engine.interrupt(thread.ident)
        raise late(self._store, self._seconds)

    def once(self, what: str, key: bytes, action: Callable[[], _T]) -> _T:
        """What the engine tells of its data, which is the same as long as it is open: asked for once."""
        if (what, key) not in self._told:
            self._told[what, key] = self.call(action)
        found: _T = self._told[what, key]
        return found

    @contextmanager
    def timed(self) -> Iterator[None]:
        """All that one question does in this thread, which an engine of many machines needs: stopped at the deadline.

        Raises:
            StoreTimeout: it was stopped.
        """
        over, stopped = threading.Event(), threading.Event()
        watching = threading.Thread(target=self._stop, args=(threading.get_ident(), over, stopped), daemon=True)
        watching.start()
        try:
            yield
        except Exception:
            if not stopped.is_set():
                raise
        else:
            return
        finally:
            over.set()
            watching.join()
        # Outside of the handler: the engine's own words about its end are nobody's.
        raise late(self._store, self._seconds)

    def _stop(self, thread: int, over: threading.Event, stopped: threading.Event) -> None:
        """At the deadline stop what a thread reads, and what it begins to read after that."""
        if over.wait(max(0.0, self._until - time.monotonic())) or not isinstance(self._engine, Interruptible):
            return
        stopped.set()
        while True:
            self._engine.interrupt(thread)
            if over.wait(_AGAIN):
                return

    def end(self) -> None:
        """Give the engine back, now or when the last call has ended; once more does nothing."""
        with self._lock:
            ends = self._calls == 0 and not self._over
            self._over = True
        if ends:
            self._ended()

    def _run(self, answer: Future[_T], action: Callable[[], _T]) -> None:
        give_way()
        try:
            found = action()
        except BaseException as error:  # noqa: BLE001  raised again where it is waited for
            ends = self._done()
            answer.set_exception(error)
        else:
            ends = self._done()
            answer.set_result(found)
        if ends:
            self._ended()

    def _done(self) -> bool:
        """One call less; whether that was the last one of a loan that nobody waits for."""
        with self._lock:
            self._calls -= 1
            return self._over and self._calls == 0


class LentEngine:
    """An engine as one question sees it: what reads rows has to be done before the deadline."""

    def __init__(self, engine: Engine, loan: Loan) -> None:
        self._engine, self._loan = engine, loan

    def describe(self) -> Description:
        """The columns."""
        return self._engine.describe()

    def validate(self, selection: Selection) -> None:
        """Refuse what these columns cannot answer."""
        self._engine.validate(selection)

    def validate_lists(self) -> None:
        """As `Paged.validate_lists`; of any other engine nothing is refused."""
        if isinstance(self._engine, Paged):
            self._engine.validate_lists()

    def fingerprint(self, key: bytes) -> str:
        """As `Engine.fingerprint`."""
        if isinstance(self._engine, Paged):
            # It holds no copy: whether its data is still there is found out before anything is charged.
            return self._loan.call(lambda: self._engine.fingerprint(key))
        return self._loan.once("fingerprint", key, lambda: self._engine.fingerprint(key))

    def sighting(self, key: bytes) -> Sighting:
        """As `Engine.sighting`."""
        return self._loan.once("sighting", key, lambda: self._engine.sighting(key))

    def rows_identity(self, key: bytes) -> Identity:
        """As `Engine.rows_identity`."""
        return self._loan.call(lambda: self._engine.rows_identity(key))

    def histogram(self, selection: Selection, *, bound: Bound | None = None, top: int | None = None) -> Counts:
        """As `Engine.histogram`."""
        return self._loan.call(lambda: self._engine.histogram(selection, bound=bound, top=top))

    def incidence(self, selection: Selection) -> Incidence:
        """As `Engine.incidence`."""
        return self._loan.call(lambda: self._engine.incidence(selection))

    def close(self) -> None:
        """Give it back: the next one may read. It stays open for others; who lends it closes it."""
        self._loan.end()


class LentDistributed:
    """An engine of many machines as one question sees it.

    It is asked in the question's own thread, by which Spark tells whose jobs are whose; the whole question has the
    deadline, and not each call.
    """

    def __init__(self, engine: Engine, loan: Loan) -> None:
        self._engine, self._loan = engine, loan

    @contextmanager
    def asking(self, say: Callable[[str], None]) -> Iterator[None]:
        """As `Distributed.asking`, and ended at the deadline."""
        with self._loan.timed(), asking(self._engine, say):
            yield

    def describe(self) -> Description:
        """The columns."""
        return self._engine.describe()

    def validate(self, selection: Selection) -> None:
        """Refuse what these columns cannot answer."""
        self._engine.validate(selection)

    def fingerprint(self, key: bytes) -> str:
        """As `Engine.fingerprint`."""
        return self._engine.fingerprint(key)

    def sighting(self, key: bytes) -> Sighting:
        """As `Engine.sighting`."""
        return self._engine.sighting(key)

    def rows_identity(self, key: bytes) -> Identity:
        """As `Engine.rows_identity`."""
        return self._engine.rows_identity(key)

    def histogram(self, selection: Selection, *, bound: Bound | None = None, top: int | None = None) -> Counts:
        """As `Engine.histogram`."""
        return self._engine.histogram(selection, bound=bound, top=top)

    def incidence(self, selection: Selection) -> Incidence:
        """As `Engine.incidence`."""
        return self._engine.incidence(selection)

    def close(self) -> None:
        """Give it back: the next one may read. It stays open for others; who lends it closes it."""
        self._loan.end()


if TYPE_CHECKING:
    _are_engines: tuple[type[Engine], ...] = (LentEngine, LentDistributed)
