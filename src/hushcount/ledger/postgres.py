"""The ledger in PostgreSQL, for many machines: one row lock per data set, one schema, the same SQL as elsewhere.

Transactions run at READ COMMITTED. All that a verb decides on is read after it holds the book's row, so it sees
everything that earlier holders committed. A verb returns when the server has it on disk (`synchronous_commit`). Where
nothing is handed out on the strength of it, the book is free for the next one before that: the server's log is written
in the order of commits, so nothing that follows is on disk without it, and one write of the disk does for many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

from hushcount.errors import LedgerForeign, LedgerUnavailable, MissingExtra
from hushcount.ledger.founding import Founding, bring_up_to_date, found
from hushcount.ledger.ledger import Ledger
from hushcount.ledger.lines import WAIT_SECONDS, Lines
from hushcount.ledger.records import ShownTable
from hushcount.ledger.schema import SIGNS, TABLES
from hushcount.ledger.shown_tables import show_table
from hushcount.ledger.sql import SqlLedger
from hushcount.ledger.store import Clock, Conflict, Dialect, Row, Statement, Transaction, Value
from hushcount.ledger.windows import micros
from hushcount.ledger.wire import Wire

_CLOCK = "SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::BIGINT"
# A commit that does not wait for the disk, and a mark in the server's log that does: for all that came before it. On a
# replica, which cannot write one, nothing is seen that is not in its log.
_LATE: Statement = ("SET LOCAL synchronous_commit = off", ())
_MARK: Statement = (
    "SELECT CASE WHEN pg_is_in_recovery() THEN NULL ELSE pg_logical_emit_message(true, 'hushcount', ''::text) END",
    (),
)
# Who waits for a book does so in this queue; the row is held as well, and that is what protects it. All of a database
# have one set of such locks: the schema tells its ledgers apart.
_QUEUE = "SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || '/' || {}, 0))"
# Any fixed number, so that two processes do not found or migrate at once.
_UPGRADE_LOCK = 0x68757368


def found_postgres(
    address: str, founding: Founding, *, schema: str = "hushcount", clock: Clock | None = None
) -> Ledger:
    """Found a ledger in this database, or open the one that somebody else founded there meanwhile.

    Args:
        address: a connection string, such as "postgresql://host/db" or "host=... dbname=...".
        founding: what the ledger begins with.
        schema: the schema that is to hold the ledger's tables; made if it is not there.
        clock: tells the time, for tests; otherwise the server does.

    Raises:
        LedgerForeign: the schema holds something else; it was not written to.
        SecretUnusable: the ledger that is there has another secret.
    """
    database = PostgresDatabase(address, schema=schema, clock=clock)
    try:
        made = found(database, founding)
    except BaseException:
        database.close()
        raise
    return _opened(database, founding.secret, schema, founded=made)


def open_postgres(address: str, *, secret: str, schema: str = "hushcount", clock: Clock | None = None) -> Ledger:
    """The ledger in this database. Never makes one.

    Args:
        address: a connection string, such as "postgresql://host/db" or "host=... dbname=...".
        secret: the fingerprint of the secret that answers are drawn under.
        schema: the schema that holds the ledger's tables.
        clock: tells the time, for tests; otherwise the server does.

    Raises:
        LedgerMissing: there is no ledger in that schema.
        LedgerForeign: the schema holds something else; it was not written to.
        SecretUnusable: the ledger was founded with another secret.
    """
    return _opened(PostgresDatabase(address, schema=schema, clock=clock), secret, schema, founded=False)


def _opened(database: PostgresDatabase, secret: str, schema: str, *, founded: bool) -> Ledger:
    try:
        # The address is not named: it may hold a password.
        migrated = bring_up_to_date(database, secret, place=f"in the schema {schema!r} of that server")
    except BaseException:
        database.close()
        raise
    return SqlLedger(database, founded=founded, migrated=migrated)


class PostgresDatabase:
    """One schema of a PostgreSQL database; implements `Database`. Each thread and forked child has a connection."""

    def __init__(self, address: str, *, schema: str = "hushcount", clock: Clock | None = None) -> None:
        self._schema, self._clock = schema, clock
        self._driver = _load_driver()
        self._lines = Lines(address, schema, self._driver)

    def writing(self) -> AbstractContextManager[PostgresTransaction]:
        """See `Database.writing`."""
        return self._transaction("BEGIN")

    def jotting(self) -> AbstractContextManager[PostgresTransaction]:
        """See `Database.jotting`."""
        return self._transaction("BEGIN", "SET LOCAL synchronous_commit = off")

    def reading(self) -> AbstractContextManager[PostgresTransaction]:
        """See `Database.reading`."""
        return self._transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", wrote=False)

    @contextmanager
    def glancing(self) -> Iterator[PostgresTransaction]:
        """See `Database.glancing`."""
        with self._named():
            transaction = PostgresTransaction(self._lines.wire(), self._clock, ())
            try:
                yield transaction
            except BaseException:
                transaction.roll_back()
                raise

    @contextmanager
    def _transaction(self, *begin: str, wrote: bool = True) -> Iterator[PostgresTransaction]:
        with self._named():
            transaction = PostgresTransaction(self._lines.wire(), self._clock, begin)
            try:
                yield transaction
                transaction.commit() if wrote else transaction.end()
            except BaseException:
                # Also for an interrupt: a transaction left open would hold up every other process.
                transaction.roll_back()
                raise

    def close(self) -> None:
        """See `Database.close`."""
        self._lines.close()

    @contextmanager
    def upgrading(self) -> Iterator[PostgresTransaction]:
        """See `Database.upgrading`."""
        with self.writing() as transaction:
            transaction.fetch("SELECT pg_advisory_xact_lock(?)", _UPGRADE_LOCK)
            if not transaction.fetch("SELECT 1 FROM pg_namespace WHERE nspname = ?", self._schema):
                transaction.write([(f'CREATE SCHEMA "{self._schema}"', ())])
            yield transaction

    def version(self, transaction: Transaction) -> int:
        """See `Database.version`."""
        found = transaction.fetch(
            "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE n.nspname = ? AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')",
            self._schema,
        )
        names = {name for (name,) in found}
        if not names:
            return 0
        known = transaction.fetch("SELECT version FROM schema_version") if names >= SIGNS | {"schema_version"} else []
        if not known:
            raise LedgerForeign(
                f"the schema {self._schema!r} of that server holds tables of another program; name another database. "
                "It was left as it is."
            )
        return int(known[0][0])

    def set_version(self, transaction: Transaction, version: int) -> None:
        """See `Database.set_version`."""
        transaction.write(
            [
                ("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)", ()),
                ("DELETE FROM schema_version", ()),
                ("INSERT INTO schema_version (version) VALUES (?)", (version,)),
            ]
        )

    def await_disk(self) -> None:
        """See `Database.await_disk`."""
        with self._named():
            self._lines.wire().ask([_MARK])

    def scrub(self) -> None:
        """See `Database.scrub`."""
        with self._named():
            for table in ("books", *TABLES):
                self._lines.wire().plain.execute(f"VACUUM FULL {table}")

    @contextmanager
    def _named(self) -> Iterator[None]:
        """PostgreSQL's errors in our words."""
        errors = self._driver.errors
        try:
            yield
        except errors.UniqueViolation as error:
            raise Conflict(str(error)) from error
        except (errors.SerializationFailure, errors.DeadlockDetected) as error:
            raise Conflict(str(error)) from error
        except self._driver.Error as error:
            words = {
                errors.DiskFull: "the server's disk is full",
                errors.ReadOnlySqlTransaction: "the server does not take writes (a replica, or set to read only)",
                errors.LockNotAvailable: f"other processes held the data set for {WAIT_SECONDS} seconds",
                errors.InsufficientPrivilege: "this database user may not write the ledger's tables",
            }
            cause = next((said for kind, said in words.items() if isinstance(error, kind)), "the server is not there")
            raise LedgerUnavailable(
                f"the ledger in PostgreSQL cannot be used: {cause} ({type(error).__name__}). If this call was to "
                "write, it may or may not have: repeat it with the same key, which never charges twice.",
                passes=isinstance(error, self._driver.OperationalError | errors.ReadOnlySqlTransaction),
            ) from error


class PostgresTransaction:
    """An open transaction on PostgreSQL; implements `Transaction`.

    While a book is held others wait for it, and each word to the server and back is a wait of its own. So its beginning
    goes with the first fetch, what is written with the next one or with the commit, and what was sent is asked for at
    once.
    """

    dialect = Dialect(blob="BYTEA", lock=" FOR UPDATE", queue=_QUEUE, clock=(_CLOCK, ()))

    def __init__(self, wire: Wire, clock: Clock | None, begin: Sequence[str]) -> None:
        self._wire, self._clock = wire, clock
        self._begin, self._due = begin, list[Statement]()
        self._sent: dict[Statement, list[Row]] = {}
        self._lets_go = False

    def fetch(self, sql: str, *values: Value) -> list[Row]:
        """See `Transaction.fetch`."""
        found = self._sent.pop((sql, values), None)
        return self._exchange([(sql, values)])[0] if found is None else found

    def write(self, statements: Sequence[Statement]) -> None:
        """See `Transaction.write`."""
        self._sent.clear()
        self._due += statements

    def send(self, statements: Sequence[Statement]) -> None:
        """See `Transaction.send`."""
        missing = [one for one in statements if one not in self._sent]
        if missing:
            self._sent.update(zip(missing, self._exchange(missing), strict=True))

    def now(self) -> int:
        """See `Transaction.now`. The server's clock, so that it does not matter which machine asks."""
        return int(self.fetch(_CLOCK)[0][0]) if self._clock is None else micros(self._clock())

    def ahead(self) -> int:
        """See `Transaction.ahead`. The server's clock is believed."""
        return 0

    def anchor(self) -> None:
        """See `Transaction.anchor`. Nothing is needed."""

    def let_go(self) -> None:
        """See `Transaction.let_go`."""
        self._lets_go = True

    def show(self, shown: ShownTable) -> None:
        """See `Transaction.show`."""
        (schema,) = self.fetch("SELECT current_schema()")[0]
        # All that was due has been written, and whatever comes is of this transaction too.
        show_table(self._wire.plain, f"{schema}_published", shown)

    def commit(self) -> None:
        """Write what is due, and all of it for good."""
        if not self._due and self._begin:
            return
        if self._lets_go:
            self._due.append(_LATE)
        self._exchange([], end=(("COMMIT", ()), *([_MARK] if self._lets_go else [])))

    def end(self) -> None:
        """Let go of a view of what is there. Nothing hangs on it, so nobody waits until the server has done it."""
        if not self._begin:
            self._wire.tell([("COMMIT", ())])

    def roll_back(self) -> None:
        """Leave no trace, and hold nothing any more."""
        if self._begin:
            return
        connection = self._wire.connection
        with suppress(Exception):
            # Whoever was interrupted between two words cannot tell which of them the server answers next.
            if not self._wire.owed:
                connection.execute("ROLLBACK", prepare=False)
                return
        # Whatever it was, the server ends what was open when the line is cut.
        with suppress(Exception):
            connection.close()

    def _exchange(self, statements: Sequence[Statement], *, end: Sequence[Statement] = ()) -> list[list[Row]]:
        """The beginning and all that is due, then these, then the end, in one round trip; the rows of these."""
        before = [*((word, ()) for word in self._begin), *self._due]
        self._begin, self._due = (), []
        said = self._wire.ask([*before, *statements, *end])
        if end and said[-len(end)][1] != "COMMIT":
            # The server ends what had failed before by rolling it back, and calls that no error.
            raise LedgerUnavailable(
                "the ledger in PostgreSQL took back what was to be written; repeat it with the same key."
            )
        return [rows for rows, _ in said[len(before) : len(before) + len(statements)]]


def _load_driver() -> Any:  # noqa: ANN401 (the module, imported only where it is used)
    try:
        import psycopg
    except ImportError as error:
        raise MissingExtra("psycopg", "pip install 'hushcount[postgres]'") from error
    return psycopg
