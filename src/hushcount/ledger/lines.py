"""The connections to a PostgreSQL server: one for each thread and forked child, made when first asked for.

A thread of Python's that ends leaves its own to the next one. Of a thread that others made Python knows no end.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hushcount.errors import LedgerUnavailable
from hushcount.ledger.store import Row
from hushcount.ledger.wire import Wire

if TYPE_CHECKING:
    import psycopg

# No process waits longer for another to let go of a book.
WAIT_SECONDS = 30
_CONNECT_SECONDS = 10
# A server that takes connections says so when it has no place left, or only replicas are there: that passes.
_PASSING = ("too many", "connection slots", "session is")


class Lines:
    """Connections to one schema of a server."""

    def __init__(self, address: str, schema: str, driver: Any) -> None:  # noqa: ANN401 (the module)
        self._address, self._schema, self._driver = address, schema, driver
        self._mine = threading.local()
        self._all: list[tuple[int, threading.Thread, Wire]] = []

    def close(self) -> None:
        """Close those of this process; a parent's are its own."""
        for process, _, wire in self._all:
            if process == os.getpid():
                wire.connection.close()

    def wire(self) -> Wire:
        """This thread's connection; another one after a fork, or if the old one broke."""
        held: tuple[int, Wire] | None = getattr(self._mine, "held", None)
        if held is not None and held[0] == os.getpid() and not held[1].connection.closed:
            return held[1]
        wire = self._left_behind() or self._new()
        self._mine.held = (os.getpid(), wire)
        self._all.append((os.getpid(), threading.current_thread(), wire))
        return wire

    def _left_behind(self) -> Wire | None:
        """The connection of a thread that has ended, if there is a good one: servers have places for so many."""
        for one in tuple(self._all):
            process, thread, wire = one
            if process != os.getpid() or (thread.is_alive() and not wire.connection.closed):
                continue
            try:
                self._all.remove(one)
            except ValueError:
                # Another thread was there first.
                continue
            if wire.is_idle():
                return wire
            with suppress(Exception):
                wire.connection.close()
        return None

    def _new(self) -> Wire:
        connection = self._connected()
        connection.execute("SELECT set_config('search_path', %s, false)", (f'"{self._schema}"',))
        connection.execute(f"SET lock_timeout = '{WAIT_SECONDS}s'")
        if connection.execute("SHOW synchronous_commit").fetchall()[0][0] in {"off", "local"}:
            connection.execute("SET synchronous_commit = on")
        return Wire(connection, self._driver)

    def _connected(self) -> psycopg.Connection[Row]:
        """A new connection.

        Raises:
            LedgerUnavailable: the server answers and does not let us in, which waiting does not change.
        """
        try:
            return self._connect()
        except self._driver.OperationalError:
            if not self._answers():
                raise
        # It may have come up in between: what it says now counts.
        try:
            return self._connect()
        except self._driver.OperationalError as error:
            if not self._answers() or any(words in str(error) for words in _PASSING):
                raise
        # Outside of the handler: the server's words are not kept, which may tell of the address.
        raise LedgerUnavailable(
            "the ledger in PostgreSQL cannot be used: the server is there and does not let us in. Check the user, the "
            "password and the name of the database. Nothing was charged."
        )

    def _connect(self) -> psycopg.Connection[Row]:
        made: psycopg.Connection[Row] = self._driver.connect(
            self._address, autocommit=True, connect_timeout=_CONNECT_SECONDS
        )
        return made

    def _answers(self) -> bool:
        """Whether the server takes connections, by its own code: one that starts or stops does not."""
        address = self._driver.conninfo.make_conninfo(self._address, connect_timeout=_CONNECT_SECONDS)
        return bool(self._driver.pq.PGconn.ping(address.encode()) == self._driver.pq.Ping.OK)
