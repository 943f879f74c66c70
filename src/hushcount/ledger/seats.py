"""Seats: connections to one SQLite file, on which threads take turns; and what SQLite says, in our words."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hushcount.errors import LedgerUnavailable
from hushcount.ledger.store import Conflict

WAIT_SECONDS = 30.0
_SHORTEST, _LONGEST = 0.001, 0.016
_MOST_READERS = 4


class Seat:
    """A connection on which threads take turns; a forked child opens its own.

    Attributes:
        turn: whose it is.
    """

    def __init__(self, path: Path, *, draft: bool, patient: bool) -> None:
        self._path, self._draft, self._patient, self.turn = path, draft, patient, threading.RLock()
        self._process, self._connection = os.getpid(), self._connect()

    def current(self) -> sqlite3.Connection:
        """The connection, if the file is still the one that it was opened on."""
        if self._process != os.getpid():
            # A connection must not be used across a fork; the parent's is left alone.
            self._process, self._connection = os.getpid(), self._connect()
        try:
            now = self._path.stat()
        except OSError:
            now = None
        if now is None or (now.st_dev, now.st_ino) != self._identity:
            # SQLite would go on writing to the file that was taken away, and what it charges would be lost.
            raise LedgerUnavailable(
                f"the ledger at {str(self._path)!r} was moved, removed or replaced while it was open. Put it back and "
                "open it again; a budget must not start anew."
            )
        return self._connection

    def close(self) -> None:
        """Let go of it."""
        with self.turn:
            self._connection.close()

    def _connect(self) -> sqlite3.Connection:
        with in_our_words(self._path):
            connection = sqlite3.connect(
                self._path, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                _prepare(connection, draft=self._draft)
                if not self._patient:
                    # Who is to write waits in `patiently`, and who has begun waits for nobody.
                    connection.execute("PRAGMA busy_timeout = 0")
            except BaseException:
                connection.close()
                raise
            status = self._path.stat()
            self._identity = (status.st_dev, status.st_ino)
            return connection


class Seats:
    """The seats of those who read: one for each who reads at once, up to a few; whoever comes then waits for one.

    With one alone whoever only looks at a balance would wait until others have read what they need for their questions.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._free, self._made = [Seat(path, draft=False, patient=True)], 1
        self._given_back = threading.Condition()

    @contextmanager
    def one(self) -> Iterator[Seat]:
        """A seat that nobody else has."""
        seat = self._take()
        try:
            yield seat
        finally:
            with self._given_back:
                self._free.append(seat)
                self._given_back.notify()

    @contextmanager
    def all(self) -> Iterator[None]:
        """Nobody reads meanwhile."""
        with self._given_back:
            self._given_back.wait_for(lambda: len(self._free) == self._made)
            yield

    def close(self) -> None:
        """Let go of all of them, once those who read now have read."""
        with self._given_back:
            # Not for ever: in a forked child those whom its parent's threads had never come back.
            self._given_back.wait_for(lambda: len(self._free) == self._made, WAIT_SECONDS)
            for seat in self._free:
                seat.close()

    def _take(self) -> Seat:
        with self._given_back:
            while not self._free and self._made >= _MOST_READERS:
                self._given_back.wait()
            if self._free:
                return self._free.pop()
            self._made += 1
        try:
            return Seat(self._path, draft=False, patient=True)
        except BaseException:
            with self._given_back:
                self._made -= 1
                self._given_back.notify()
            raise


def _prepare(connection: sqlite3.Connection, *, draft: bool) -> None:
    """Set what the promises rest on."""
    if not draft:
        # A copy that was put back may have no log beside it yet. To whoever makes one while another does SQLite says at
        # once that it is busy, however long it was told to wait.
        patiently(connection, "PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")


def patiently(connection: sqlite3.Connection, sql: str) -> None:
    """Execute as soon as nobody is in the way; after `WAIT_SECONDS` that somebody was is an error."""
    for last in pauses():
        try:
            connection.execute(sql)
        except sqlite3.OperationalError as error:
            if last or error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
        else:
            return


def pauses() -> Iterator[bool]:
    """When to try again what others are in the way of, and whether it is for the last time.

    SQLite itself would look again after ever longer pauses, of up to a tenth of a second, while others write for some
    milliseconds each; we never pause for longer than a few of them, and give up after as long.
    """
    until, pause = time.monotonic() + WAIT_SECONDS, _SHORTEST
    while time.monotonic() < until:
        yield False
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST)
    yield True


@contextmanager
def in_our_words(path: Path) -> Iterator[None]:
    """SQLite's errors in our words. Whatever was committed before is safe; the transaction at hand did not happen."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        if error.sqlite_errorcode in {sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY}:
            raise Conflict(str(error)) from error
        raise
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        cause, cure = _WORDS.get(code, (str(error), "Look at the file"))
        raise LedgerUnavailable(
            f"the ledger at {str(path)!r} cannot be used: {cause}. {cure}, then repeat with the same key; nothing that "
            "was charged is lost.",
            passes=code == sqlite3.SQLITE_BUSY,
        ) from error
    except OSError as error:
        raise LedgerUnavailable(f"the ledger at {str(path)!r} cannot be opened: {error.strerror}.") from error


_WORDS = {
    sqlite3.SQLITE_FULL: ("the disk is full", "Make room"),
    sqlite3.SQLITE_IOERR: ("the disk does not take or give what is asked of it", "Check the disk and its free space"),
    sqlite3.SQLITE_READONLY: ("it may not be written", "Allow writing to the file and its folder"),
    sqlite3.SQLITE_CANTOPEN: ("it cannot be opened or made", "Check that the folder is there and may be written"),
    sqlite3.SQLITE_BUSY: (f"other processes held it for {WAIT_SECONDS:.0f} seconds", "Wait"),
    sqlite3.SQLITE_NOTADB: ("it is not a ledger", "Name another file"),
    sqlite3.SQLITE_CORRUPT: ("the file is damaged", "Restore it from a backup"),
}
