"""What a ledger tells of its past over a SQL database: the log, charges, heads, and the verdict of a replay."""

from __future__ import annotations

from collections.abc import Mapping

from hushcount.ledger import history, replay
from hushcount.ledger.ledger import Entry, Page, Proof, Use, Verdict
from hushcount.ledger.standing import require
from hushcount.ledger.store import Database


class SqlHistory:
    """The past of a ledger in a database; implements that part of `Ledger`."""

    _database: Database

    def history(self, page: Page, *, by: str) -> tuple[Entry, ...]:
        """See `Ledger.history`."""
        with self._database.reading() as transaction:
            return history.entries(transaction, page, by=by)

    def usage(self, entity: str, *, by: str, dataset: str | None = None) -> tuple[Use, ...]:
        """See `Ledger.usage`."""
        deed = "see what everybody spent"
        with self._database.reading() as transaction:
            require(transaction, by, entity=entity, dataset=dataset, roles=("owner", "auditor"), deed=deed)
            return history.uses(transaction, entity, dataset=dataset)

    def heads(self) -> tuple[Proof, ...]:
        """See `Ledger.heads`."""
        with self._database.reading() as transaction:
            rows = transaction.fetch("SELECT entity, seq, head FROM books WHERE seq > 0 ORDER BY entity")
        # Links are kept elsewhere: one that the server then lost would be missed for ever.
        self._database.await_disk()
        return tuple(Proof(entity=entity, seq=seq, hash=head) for entity, seq, head in rows)

    def verify(self, anchors: Mapping[str, Proof] | None = None) -> Verdict:
        """See `Ledger.verify`."""
        with self._database.reading() as transaction:
            verdict = replay.verify(transaction, anchors or {})
        self._database.await_disk()
        return verdict
