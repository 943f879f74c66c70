"""The ledger in one SQLite file: the default. Safe with many threads and processes on one machine.

Every commit is on the disk before it returns (`synchronous=FULL`); a writing transaction is alone (`BEGIN IMMEDIATE`);
readers are not held up by it (write-ahead log). The file must be on a local disk: SQLite's locks do not hold on network
file systems.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from pathlib import Path

from hushcount.errors import LedgerForeign, LedgerMissing, LedgerUnavailable
from hushcount.ledger.boots import Boot, BootClock, this_boot
from hushcount.ledger.founding import Founding, bring_up_to_date, found
from hushcount.ledger.held import hold, let_go
from hushcount.ledger.ledger import Ledger
from hushcount.ledger.records import ShownTable
from hushcount.ledger.seats import WAIT_SECONDS, Seat, Seats, in_our_words, patiently, pauses
from hushcount.ledger.sql import SqlLedger
from hushcount.ledger.store import Clock, Dialect, Row, Statement, Transaction, Value, utc_now
from hushcount.ledger.windows import micros

_APPLICATION = 0x68757368  # "hush", so that a file of another program is not taken for a ledger
_HEADER_BYTES = 100


def found_sqlite(
    path: str | Path, founding: Founding, *, clock: Clock = utc_now, boot: BootClock | None = None
) -> Ledger:
    """Found a ledger in this file, or open the one that somebody else founded there meanwhile.

    It is made as a draft and appears under its name when it is complete: nobody can ever open it without its rules.

    Args:
        path: the file. Its folder is made if need be.
        founding: what the ledger begins with.
        clock: tells the time.
        boot: tells for how long the machine runs; see `SqliteDatabase`.

    Raises:
        LedgerForeign: there is a file that is not a ledger; it was not written to.
        LedgerUnavailable: no ledger can be kept there.
        SecretUnusable: the ledger that is there has another secret.
    """
    path, made = Path(path), False
    if path.exists():
        # Here to complete what an older version broke off; a ledger that is whole is left as it is.
        database = SqliteDatabase(path, clock=clock)
        try:
            made = found(database, founding)
        finally:
            database.close()
    else:
        made = _make(path, founding, clock)
    database = SqliteDatabase(path, clock=clock, boot=boot)
    return _opened(database, founding.secret, path, founded=made)


def open_sqlite(path: str | Path, *, secret: str, clock: Clock = utc_now, boot: BootClock | None = None) -> Ledger:
    """The ledger in this file. Never makes one.

    Args:
        path: the file.
        secret: the fingerprint of the secret that answers are drawn under.
        clock: tells the time.
        boot: tells for how long the machine runs; see `SqliteDatabase`.

    Raises:
        LedgerMissing: there is no such file.
        LedgerForeign: the file is not a ledger; it was not written to.
        SecretUnusable: the ledger was founded with another secret.
    """
    return _opened(SqliteDatabase(Path(path), clock=clock, boot=boot), secret, Path(path), founded=False)


def _opened(database: SqliteDatabase, secret: str, path: Path, *, founded: bool) -> Ledger:
    try:
        database.refuse_triggers()
        migrated = bring_up_to_date(database, secret, place=f"at {str(path)!r}")
    except BaseException:
        database.close()
        raise
    return SqlLedger(database, founded=founded, migrated=migrated)


class SqliteDatabase:
    """One SQLite file; implements `Database`. Threads take turns on one connection to write and on others to read.

    So whoever looks waits for nobody whose commit is on its way to the disk, and hardly ever for others who look.

    Args:
        path: a file that holds a ledger, or an empty draft that is to hold one.
        clock: tells the time.
        boot: tells for how long the machine runs, to hold the clock against it. If it is left out the machine does,
            unless the clock is one that was set by hand.
        draft: whether it is a draft, of which nobody else knows yet.
    """

    def __init__(
        self, path: Path, *, clock: Clock = utc_now, boot: BootClock | None = None, draft: bool = False
    ) -> None:
        self._path, self._clock = path, clock
        self._boot = this_boot if boot is None and clock is utc_now else boot
        with in_our_words(path):
            held = hold(path, _believe if draft else _refuse_foreign)
        # Also where nobody closes it.
        self._let_go = weakref.finalize(self, let_go, held)
        self._let_go.atexit = False
        self._writer = Seat(path, draft=draft, patient=False)
        # A draft is written and read in turn by one.
        self._readers = None if draft else Seats(path)

    @contextmanager
    def writing(self) -> Iterator[SqliteTransaction]:
        """See `Database.writing`."""
        with self._transaction("BEGIN IMMEDIATE", self._boot) as transaction:
            yield transaction

    @contextmanager
    def jotting(self) -> Iterator[SqliteTransaction]:
        """See `Database.jotting`. The file stays whole in any case; the next durable commit takes this one along."""
        with self._transaction("BEGIN IMMEDIATE", self._boot, durable=False) as transaction:
            yield transaction

    @contextmanager
    def reading(self) -> Iterator[SqliteTransaction]:
        """See `Database.reading`."""
        with self._reader() as seat, self._transaction("BEGIN DEFERRED", self._boot, seat=seat) as transaction:
            yield transaction

    @contextmanager
    def glancing(self) -> Iterator[SqliteTransaction]:
        """See `Database.glancing`."""
        with self._reader() as seat, seat.turn, in_our_words(self._path):
            yield SqliteTransaction(seat.current(), self._clock, self._boot)

    def upgrading(self) -> AbstractContextManager[SqliteTransaction]:
        """See `Database.upgrading`. Every writing transaction is alone. An older ledger has no anchors yet."""
        return self._transaction("BEGIN IMMEDIATE", None)

    def version(self, transaction: Transaction) -> int:
        """See `Database.version`. Files of others were refused before they were opened."""
        return int(transaction.fetch("PRAGMA user_version")[0][0])

    def set_version(self, transaction: Transaction, version: int) -> None:
        """See `Database.set_version`."""
        transaction.write([(f"PRAGMA user_version = {version}", ()), (f"PRAGMA application_id = {_APPLICATION}", ())])

    def await_disk(self) -> None:
        """See `Database.await_disk`. Nothing is seen before it is there."""

    def scrub(self) -> None:
        """See `Database.scrub`."""
        with nullcontext() if self._readers is None else self._readers.all(), self._writer.turn:
            try:
                connection = self._writer.current()
                patiently(connection, "VACUUM")
                # Whoever reads now needs the old pages until they have read; then they go.
                busy = all(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] for _ in pauses())
            except sqlite3.Error:
                busy = True
        if busy:
            raise LedgerUnavailable(
                f"the ledger at {str(self._path)!r} was brought up to date, but what was taken out of it may still be "
                f"on its free pages. End all programs that use it, then run: sqlite3 {str(self._path)!r} VACUUM"
            )

    def refuse_triggers(self) -> None:
        """Refuse a ledger that somebody taught to change its own rows: it has no triggers of ours."""
        with self.reading() as transaction:
            if transaction.fetch("SELECT 1 FROM sqlite_master WHERE type = 'trigger' LIMIT 1"):
                raise LedgerForeign(
                    f"the ledger at {str(self._path)!r} has triggers, and hushcount makes none: somebody changed it. "
                    "Restore it from a backup. Nothing was charged."
                )

    def seal(self) -> None:
        """Let a draft be used by many from now on; until here all of it is in the one file."""
        self._writer.current().execute("PRAGMA journal_mode = WAL")

    def close(self) -> None:
        """See `Database.close`."""
        if self._readers is not None:
            self._readers.close()
        self._writer.close()
        self._let_go()

    def _reader(self) -> AbstractContextManager[Seat]:
        """A seat to read on."""
        return nullcontext(self._writer) if self._readers is None else self._readers.one()

    @contextmanager
    def _transaction(
        self, begin: str, boot: BootClock | None, *, durable: bool = True, seat: Seat | None = None
    ) -> Iterator[SqliteTransaction]:
        seat = seat or self._writer
        with seat.turn, in_our_words(self._path):
            connection = seat.current()
            if seat is self._writer:
                # Said for every transaction that writes, so that none relies on what the one before it left.
                connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            patiently(connection, begin)
            try:
                yield SqliteTransaction(connection, self._clock, boot)
                connection.execute("COMMIT")
            except BaseException:
                # Also for an interrupt: a transaction left open would hold up every other process.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise


class SqliteTransaction:
    """An open transaction on SQLite; implements `Transaction`."""

    dialect = Dialect(blob="BLOB", lock="")

    def __init__(self, connection: sqlite3.Connection, clock: Clock, boot: BootClock | None = None) -> None:
        self._connection, self._clock, self._boot = connection, clock, boot
        self._moment: tuple[int, Boot | None] | None = None

    def fetch(self, sql: str, *values: Value) -> list[Row]:
        """See `Transaction.fetch`."""
        return self._connection.execute(sql, values).fetchall()

    def write(self, statements: Sequence[Statement]) -> None:
        """See `Transaction.write`."""
        for sql, values in statements:
            self._connection.execute(sql, values)

    def send(self, statements: Sequence[Statement]) -> None:
        """See `Transaction.send`. There is no server to wait for."""

    def now(self) -> int:
        """See `Transaction.now`."""
        return self._read()[0]

    def _read(self) -> tuple[int, Boot | None]:
        """Both clocks, read once: one that is set meanwhile would be judged by one reading and written by another."""
        if self._moment is None:
            self._moment = micros(self._clock()), None if self._boot is None else self._boot()
        return self._moment

    def ahead(self) -> int:
        """See `Transaction.ahead`. After the machine was started anew there is nothing to hold the clock against."""
        now, here = self._read()
        found = [] if here is None else self.fetch("SELECT wall, since FROM anchors WHERE boot = ?", here.id)
        if here is None or not found:
            return 0
        wall, since = found[0]
        return int((now - wall) - (here.since - since))

    def anchor(self) -> None:
        """See `Transaction.anchor`."""
        now, here = self._read()
        if here is not None:
            self.fetch(
                "INSERT INTO anchors (boot, wall, since) VALUES (?, ?, ?) "
                "ON CONFLICT (boot) DO UPDATE SET wall = excluded.wall, since = excluded.since",
                *(here.id, now, here.since),
            )

    def let_go(self) -> None:
        """See `Transaction.let_go`. A file has one writer at a time, to the end."""

    def show(self, shown: ShownTable) -> None:
        """See `Transaction.show`. A file that others read is a file that others hold: nothing is shown in it."""


def _make(path: Path, founding: Founding, clock: Clock) -> bool:
    """Found a ledger in a draft and give it its name; False if somebody else was first."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Readable by its owner alone; SQLite gives its side files the same mode.
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        os.close(handle)
    except OSError as error:
        raise _unkept(path, error) from None
    draft = Path(name)
    try:
        database = SqliteDatabase(draft, clock=clock, draft=True)
        try:
            found(database, founding)
            database.seal()
        finally:
            database.close()
        return _publish(draft, path)
    except OSError as error:
        raise _unkept(path, error) from None
    finally:
        draft.unlink(missing_ok=True)


def _publish(draft: Path, path: Path) -> bool:
    """Give the draft its name. Linking fails if another process was first: then that one's ledger is the ledger."""
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return True


def _unkept(path: Path, error: OSError) -> LedgerUnavailable:
    return LedgerUnavailable(
        f"no ledger can be kept at {str(path)!r} ({error.strerror}); name a place that can be written. Nothing was "
        "charged."
    )


def _believe(_: Path) -> None:
    """A draft is ours."""


def _refuse_foreign(path: Path) -> None:
    """Look at a file without SQLite, which would write to it: whatever is not a ledger is left as it is.

    Only if SQLite has it not open in this process: see `held`.
    """
    try:
        # Before it is opened: to open a pipe would last until somebody writes to it.
        if not stat.S_ISREG(path.stat().st_mode):
            raise LedgerForeign(
                f"{str(path)!r} is a folder, a pipe or a device and not a ledger; name another place. Nothing was "
                "charged."
            )
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
    except FileNotFoundError:
        raise LedgerMissing(
            f"there is no ledger at {str(path)!r}; none is made by opening it, so that no budget is forgotten."
        ) from None
    if not header:
        raise LedgerForeign(
            f"the file {str(path)!r} is empty, so it is not a ledger; if it was one, put it back from a backup. If "
            "not, remove it or name another. It was left as it is."
        )
    if not header.startswith(b"SQLite format 3\0"):
        raise LedgerForeign(f"the file {str(path)!r} is not a ledger; name another. It was left as it is.")
    # The number is in the file itself, unless the first transaction ever has not been moved there from the log yet.
    if int.from_bytes(header[68:72], "big") != _APPLICATION and not _is_ours_in_log(path):
        raise LedgerForeign(
            f"the file {str(path)!r} is a database of another program; name another. It was left as it is."
        )


def _is_ours_in_log(path: Path) -> bool:
    log = path.with_name(path.name + "-wal")
    if not log.exists() or not log.stat().st_size:
        return False
    address = f"{path.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True, timeout=WAIT_SECONDS)) as connection:
        return bool(connection.execute("PRAGMA application_id").fetchone()[0] == _APPLICATION)
