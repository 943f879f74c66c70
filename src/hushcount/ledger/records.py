"""The records port: small documents of which every change is in the chain, and so is replayed by `verify`.

Tokens, wishes for more, saved questions, freezes, served data sets and snapshots are records: what they say decides who
may ask what, so nobody may change it without a trace. Who may change which is decided by whoever calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol, TypeAlias

from hushcount.model.frozen import frozen

Columns: TypeAlias = Mapping[str, tuple[str, Sequence[str | int | None]]]


@frozen
class Record:
    """One document as it stands.

    Attributes:
        kind: what it is, such as "token".
        id: its name among those of its kind.
        owner: whose it is.
        body: what it says; JSON.
        edition: how often it was written since it is there: 1 for a new one.
        made: when it was written first.
        changed: when it was written last.
    """

    kind: str
    id: str
    owner: str
    body: Mapping[str, Any]
    edition: int
    made: datetime
    changed: datetime


@frozen
class Change:
    """A change of a record, as `Records.put` takes it."""

    kind: str
    id: str
    body: Mapping[str, Any] | None
    owner: str
    by: str
    edition: int | None = None


@frozen
class ShownTable:
    """A table that other programs may read beside the ledger, where its database has a place for such tables.

    Attributes:
        name: what it is called there.
        columns: the columns by name, all of one length; each with its type in SQL. None takes the table away.
    """

    name: str
    columns: Columns | None = None


class Records(Protocol):
    """The records of a ledger. Each verb is one transaction."""

    def put(
        self,
        kind: str,
        id: str,  # noqa: A002 (what it is called everywhere)
        body: Mapping[str, Any] | None,
        *,
        owner: str,
        by: str,
        edition: int | None = None,
    ) -> Record | None:
        """Write a record, or remove it with a body of None; returns it as it stands, None if it is gone.

        Args:
            kind: what it is.
            id: its name among those of its kind; "*" where it is about everything, as a freeze may be.
            body: what it says from now on; JSON.
            owner: whose it is from now on.
            by: who changes it, for the log.
            edition: the edition that the caller has read; 0 if it must be new. None overwrites whatever is there.

        Raises:
            Outdated: the present edition is another one. Nothing was written.
            ClockImplausible: when it is written cannot be told; see `Ledger.set_clock`.
        """

    def put_shown(self, change: Change, shown: ShownTable) -> Record | None:
        """As `put`, and in the same transaction a table that shows what the record says: both are there, or neither.

        Only PostgreSQL has a place for tables: the schema of the ledger's own with `_published` after its name, which
        is made where the ledger's user may, and used where they may make tables in it.
        """

    def find(self, kind: str, id: str) -> Record | None:  # noqa: A002
        """One record; None if there is none."""

    def page(self, kind: str, *, owner: str | None = None, after: str = "", size: int = 100) -> tuple[Record, ...]:
        """The records of a kind after an id, by id; with `owner`, only theirs."""
