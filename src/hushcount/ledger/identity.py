"""Which book a data set's spending goes to: identity is the data's content, then its name, never the name alone.

A version id that was seen before is the same data, whatever it is called now; a name that was seen before is the same
data set with newer content. So neither a copy under another name nor a new version opens a fresh budget.
"""

from __future__ import annotations

from hushcount.errors import InvalidParameter
from hushcount.ledger.book import Book, Clock, create_book, lock_book, look
from hushcount.ledger.ledger import EVERY
from hushcount.ledger.store import Conflict, Dialect, Rows


def named(what: str, name: str) -> str:
    """A name that can stand in the ledger."""
    if not name or name == EVERY or not name.isprintable():
        raise InvalidParameter(what, name, f"a printable name other than '{EVERY}'")
    return name


def entity_of(rows: Rows, dataset: str, version: str) -> str | None:
    """The identity of data by its content, or else by its name; None if neither was seen."""
    found = rows.fetch(
        "SELECT 0, entity FROM versions WHERE version = ? UNION ALL SELECT 1, entity FROM names WHERE name = ? "
        "ORDER BY 1",
        version,
        dataset,
    )
    return found[0][1] if found else None


def look_data(rows: Rows, dataset: str, *, version: str, clock: Clock) -> Book:
    """The book of this data, to read from; an empty one if the ledger has not seen it."""
    return look(rows, entity_of(rows, dataset, version) or dataset, clock)


def open_data(rows: Rows, dialect: Dialect, *, dataset: str, version: str, clock: Clock) -> Book:
    """The book of this data, for writing; name and version are bound to it if they are new.

    Raises:
        Conflict: another transaction bound the version to another book first; start again.
    """
    found = rows.fetch(
        "SELECT 0, entity FROM versions WHERE version = ? UNION ALL SELECT 1, entity FROM names WHERE name = ? "
        "ORDER BY 1",
        version,
        dataset,
    )
    by: dict[int, str] = dict(found)
    if len(by) == 2:
        # The common case: both are known. Neither binding ever changes, so it could be read before the lock.
        book = lock_book(rows, dialect, entity=by[0], clock=clock)
        if book is not None:
            return book
    book = create_book(rows, dialect, entity=found[0][1] if found else dataset, clock=clock)
    if 1 not in by:
        _bind(book, "name", dataset)
    if 0 not in by:
        _bind(book, "version", version)
    return book


def _bind(book: Book, what: str, value: str) -> None:
    """Bind a name or a version to the book. Whoever comes second finds the row there and must start again."""
    # The row must be there before anybody can be told that the binding holds, so it is not left to `flush`.
    book.rows.write(
        [
            (
                f"INSERT INTO {what}s ({what}, entity) VALUES (?, ?) ON CONFLICT DO NOTHING",  # noqa: S608
                (value, book.entity),
            )
        ]
    )
    bound = book.rows.fetch(f"SELECT entity FROM {what}s WHERE {what} = ?", value)  # noqa: S608
    if bound[0][0] != book.entity:
        raise Conflict(value)
    book.append(what, "", value=value)
