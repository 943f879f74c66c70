"""The watch over a SQL database."""

from __future__ import annotations

from hushcount.ledger.schema import newest_version
from hushcount.ledger.store import Database
from hushcount.ledger.watch import Vitals
from hushcount.ledger.windows import moment


class SqlWatch:
    """The watch over a ledger in a database; implements `Watch`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def vitals(self) -> Vitals:
        """See `Watch.vitals`."""
        with self._database.reading() as transaction:
            version = self._database.version(transaction)
            found = transaction.fetch("SELECT value FROM settings WHERE name = 'secret'")
            # Last, so that as little as possible lies between this and whoever compares clocks.
            now = moment(transaction.now())
        return Vitals(version=version, newest=newest_version(), secret=str(found[0][0]) if found else "", now=now)

    def running(self) -> int:
        """See `Watch.running`. Those that are open have an index of their own."""
        with self._database.glancing() as transaction:
            return int(transaction.fetch("SELECT COUNT(*) FROM asks WHERE state = 'open'")[0][0])
