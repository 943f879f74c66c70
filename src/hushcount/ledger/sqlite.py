"""The ledger in one SQLite file: the default. Safe with many threads and processes on one machine.

Every commit is on the disk before it returns (`synchronous=FULL`); a writing transaction is alone (`BEGIN IMMEDIATE`);
readers are not held up by it (write-ahead log). The file must be on a local disk: SQLite's locks do not hold on network
file systems.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from hushcount.errors import LedgerUnavailable
from hushcount.ledger.book import Clock
from hushcount.ledger.ledger import Ledger
from hushcount.ledger.schema import migrate
from hushcount.ledger.sql import SqlLedger, utc_now
from hushcount.ledger.store import Conflict, Dialect, Row, Statement, Value

_WAIT_SECONDS = 30.0
_APPLICATION = 0x68757368  # "hush", so that a file of another program is not taken for a ledger


def open_sqlite(path: str | Path, *, clock: Clock = utc_now, create: bool = True) -> Ledger:
    """The ledger in this file.

    Args:
        path: the file. Its folder must exist.
        clock: tells the time.
        create: make the file if it is not there. Say False where a missing ledger would mean a forgotten budget.
    """
    return SqlLedger(SqliteDatabase(Path(path), create=create), clock)


class SqliteDatabase:
    """One SQLite file; implements `Database`. Threads take turns on one connection; a forked child opens its own."""

    dialect = Dialect(blob="BLOB", lock="")

    def __init__(self, path: Path, *, create: bool = True) -> None:
        self._path, self._lock = path, threading.RLock()
        if not create and not path.exists():
            raise LedgerUnavailable(
                f"there is no ledger at {str(path)!r}; it is not made anew, so no budget is forgotten."
            )
        with _named(path):
            _make_private(path)
        self._process = os.getpid()
        self._connection = self._connect()
        try:
            self._migrate()
        except BaseException:
            self.close()
            raise

    @contextmanager
    def writing(self) -> Iterator[SqliteRows]:
        """See `Database.writing`."""
        with self._transaction("BEGIN IMMEDIATE") as rows:
            yield rows

    @contextmanager
    def reading(self) -> Iterator[SqliteRows]:
        """See `Database.reading`."""
        with self._transaction("BEGIN DEFERRED") as rows:
            yield rows

    def close(self) -> None:
        """See `Database.close`."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[SqliteRows]:
        with self._lock, _named(self._path):
            connection = self._current()
            connection.execute(begin)
            try:
                yield SqliteRows(connection)
                connection.execute("COMMIT")
            except BaseException:
                # Also for an interrupt: a transaction left open would hold up every other process.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _migrate(self) -> None:
        with self.writing() as rows:
            version = rows.fetch("PRAGMA user_version")[0][0]
            newest = migrate(rows, self.dialect, version=version)
            if newest != version:
                rows.write([(f"PRAGMA user_version = {newest}", ()), (f"PRAGMA application_id = {_APPLICATION}", ())])

    def _current(self) -> sqlite3.Connection:
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

    def _connect(self) -> sqlite3.Connection:
        with _named(self._path):
            connection = sqlite3.connect(
                self._path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                _prepare(connection, self._path)
            except BaseException:
                connection.close()
                raise
            status = self._path.stat()
            self._identity = (status.st_dev, status.st_ino)
            return connection


class SqliteRows:
    """An open transaction on SQLite; implements `Rows`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def fetch(self, sql: str, *values: Value) -> list[Row]:
        """See `Rows.fetch`."""
        return self._connection.execute(sql, values).fetchall()

    def write(self, statements: Sequence[Statement]) -> None:
        """See `Rows.write`."""
        for sql, values in statements:
            self._connection.execute(sql, values)


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Set what the promises rest on; a file of another program is left alone."""
    if connection.execute("PRAGMA application_id").fetchone()[0] not in {0, _APPLICATION}:
        raise LedgerUnavailable(f"the file {str(path)!r} belongs to another program; name another.")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")


def _make_private(path: Path) -> None:
    """Make the file, readable by its owner alone, if it is not there. SQLite gives its side files the same mode."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


@contextmanager
def _named(path: Path) -> Iterator[None]:
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
            "was charged is lost."
        ) from error
    except OSError as error:
        raise LedgerUnavailable(f"the ledger at {str(path)!r} cannot be opened: {error.strerror}.") from error


_WORDS = {
    sqlite3.SQLITE_FULL: ("the disk is full", "Make room"),
    sqlite3.SQLITE_IOERR: ("the disk does not take or give what is asked of it", "Check the disk and its free space"),
    sqlite3.SQLITE_READONLY: ("it may not be written", "Allow writing to the file and its folder"),
    sqlite3.SQLITE_CANTOPEN: ("it cannot be opened or made", "Check that the folder is there and may be written"),
    sqlite3.SQLITE_BUSY: (f"other processes held it for {_WAIT_SECONDS:.0f} seconds", "Wait"),
    sqlite3.SQLITE_NOTADB: ("it is not a ledger", "Name another file"),
    sqlite3.SQLITE_CORRUPT: ("the file is damaged", "Restore it from a backup"),
}
