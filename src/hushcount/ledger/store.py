"""What a database must offer to hold a ledger: transactions and statements. Both stores run the same SQL through it.

Statements are written once, with `?` for parameters, in the SQL that SQLite and PostgreSQL share; the words in which
the two differ are the few fields of `Dialect`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

Value: TypeAlias = str | int | bytes | None
Row: TypeAlias = tuple[Any, ...]
Statement: TypeAlias = tuple[str, tuple[Value, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The words in which stores differ.

    Attributes:
        blob: the type of stored bytes.
        lock: what a SELECT on `books` ends with to hold that row until the transaction ends; nothing where a writing
            transaction is alone anyway.
    """

    blob: str
    lock: str


class Rows(Protocol):
    """An open transaction."""

    def fetch(self, sql: str, *values: Value) -> list[Row]:
        """Run one statement and return its rows."""

    def write(self, statements: Sequence[Statement]) -> None:
        """Run statements that return nothing, in order."""


class Database(Protocol):
    """A database that holds one ledger."""

    dialect: Dialect

    def writing(self) -> AbstractContextManager[Rows]:
        """A transaction that is durable once the block was left, and leaves no trace if the block raises."""

    def reading(self) -> AbstractContextManager[Rows]:
        """One consistent view of everything; locks nothing and changes nothing."""

    def close(self) -> None:
        """Let go of the database."""


class Conflict(Exception):
    """A unique row exists already: another transaction was first."""
