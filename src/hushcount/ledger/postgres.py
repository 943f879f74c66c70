"""The ledger in PostgreSQL, for many machines: one row lock per data set, one schema, the same SQL as elsewhere.

Transactions run at READ COMMITTED. All that a verb decides on is read after it holds the book's row, so it sees
everything that earlier holders committed. A commit returns when the server has it on disk (`synchronous_commit`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hushcount.errors import LedgerUnavailable, MissingExtra
from hushcount.ledger.book import Clock
from hushcount.ledger.ledger import Ledger
from hushcount.ledger.schema import migrate
from hushcount.ledger.sql import SqlLedger, utc_now
from hushcount.ledger.store import Conflict, Dialect, Row, Statement, Value

if TYPE_CHECKING:
    import psycopg

_WAIT_SECONDS = 30
# Any fixed number, so that two processes that open an empty database do not both make the tables.
_MIGRATION_LOCK = 0x68757368


def open_postgres(address: str, *, clock: Clock = utc_now, schema: str = "hushcount") -> Ledger:
    """The ledger in this database.

    Args:
        address: a connection string, such as "postgresql://host/db" or "host=... dbname=...".
        clock: tells the time.
        schema: the schema that holds the ledger's tables; made if it is not there.
    """
    return SqlLedger(PostgresDatabase(address, schema=schema), clock)


class PostgresDatabase:
    """One schema of a PostgreSQL database; implements `Database`. Each thread and forked child has a connection."""

    dialect = Dialect(blob="BYTEA", lock=" FOR UPDATE")

    def __init__(self, address: str, *, schema: str = "hushcount") -> None:
        self._address, self._schema = address, schema
        self._driver = _load_driver()
        self._mine = threading.local()
        self._all: list[tuple[int, psycopg.Connection[Row]]] = []
        try:
            self._migrate()
        except BaseException:
            self.close()
            raise

    @contextmanager
    def writing(self) -> Iterator[PostgresRows]:
        """See `Database.writing`."""
        with self._named():
            connection = self._connection()
            with connection.transaction():
                yield PostgresRows(connection)

    @contextmanager
    def reading(self) -> Iterator[PostgresRows]:
        """See `Database.reading`."""
        with self._named():
            connection = self._connection()
            with connection.transaction():
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                yield PostgresRows(connection)

    def close(self) -> None:
        """See `Database.close`."""
        for process, connection in self._all:
            if process == os.getpid():
                connection.close()

    def _migrate(self) -> None:
        with self.writing() as rows:
            rows.fetch("SELECT pg_advisory_xact_lock(?)", _MIGRATION_LOCK)
            rows.write(
                [
                    (f'CREATE SCHEMA IF NOT EXISTS "{self._schema}"', ()),
                    ("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)", ()),
                ]
            )
            found = rows.fetch("SELECT version FROM schema_version")
            version = found[0][0] if found else 0
            newest = migrate(rows, self.dialect, version=version)
            if newest != version:
                rows.write(
                    [
                        ("DELETE FROM schema_version", ()),
                        ("INSERT INTO schema_version (version) VALUES (?)", (newest,)),
                    ]
                )

    def _connection(self) -> psycopg.Connection[Row]:
        """This thread's connection; a new one after a fork, or if the old one broke."""
        held: tuple[int, psycopg.Connection[Row]] | None = getattr(self._mine, "held", None)
        if held is not None and held[0] == os.getpid() and not held[1].closed:
            return held[1]
        connection: psycopg.Connection[Row] = self._driver.connect(self._address, autocommit=True, connect_timeout=10)
        connection.execute("SELECT set_config('search_path', %s, false)", (f'"{self._schema}"',))
        connection.execute(f"SET lock_timeout = '{_WAIT_SECONDS}s'")
        if connection.execute("SHOW synchronous_commit").fetchall()[0][0] in {"off", "local"}:
            connection.execute("SET synchronous_commit = on")
        self._mine.held = (os.getpid(), connection)
        self._all.append(self._mine.held)
        return connection

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
                errors.LockNotAvailable: f"other processes held the data set for {_WAIT_SECONDS} seconds",
                errors.InsufficientPrivilege: "this database user may not write the ledger's tables",
            }
            cause = next((said for kind, said in words.items() if isinstance(error, kind)), "the server is not there")
            raise LedgerUnavailable(
                f"the ledger in PostgreSQL cannot be used: {cause} ({type(error).__name__}). If this call was to "
                "write, it may or may not have: repeat it with the same key, which never charges twice."
            ) from error


class PostgresRows:
    """An open transaction on PostgreSQL; implements `Rows`."""

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self._connection = connection

    def fetch(self, sql: str, *values: Value) -> list[Row]:
        """See `Rows.fetch`."""
        cursor = self._connection.execute(_translated(sql), values)
        return cursor.fetchall() if cursor.pgresult is not None and cursor.pgresult.nfields else []

    def write(self, statements: Sequence[Statement]) -> None:
        """See `Rows.write`. All statements go to the server in one round trip."""
        with self._connection.pipeline():
            for sql, values in statements:
                self._connection.execute(_translated(sql), values)


@lru_cache(maxsize=512)
def _translated(sql: str) -> Any:  # noqa: ANN401 (psycopg wants literal strings; ours are literals with marks changed)
    return sql.replace("%", "%%").replace("?", "%s")


def _load_driver() -> Any:  # noqa: ANN401 (the module, imported only where it is used)
    try:
        import psycopg  # noqa: PLC0415 (an extra: loaded only where it is used)
    except ImportError as error:
        raise MissingExtra("psycopg", "pip install 'hushcount[postgres]'") from error
    return psycopg
