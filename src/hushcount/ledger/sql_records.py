"""Records over a SQL database: each change is an entry in the book of rules. The same for every store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hushcount.errors import InvalidParameter, Outdated
from hushcount.ledger.book import Book, rule_book
from hushcount.ledger.chain import canonical
from hushcount.ledger.ledger import EVERY
from hushcount.ledger.names import is_name, named
from hushcount.ledger.records import Change, Record, ShownTable
from hushcount.ledger.store import Database, Row, Transaction, Value, run
from hushcount.ledger.windows import micros, moment
from hushcount.model.amounts import whole

RECORD_COLUMNS = ("kind", "id", "owner", "body", "edition", "made", "changed")
_LIST = ", ".join(RECORD_COLUMNS)
# Far above what a saved question with a public list of items needs.
_LONGEST_BODY = 4_000_000
_LARGEST_PAGE = 10_000


class SqlRecords:
    """The records of a ledger in a database; implements `Records`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(
        self,
        kind: str,
        id: str,  # noqa: A002 (the port's name)
        body: Mapping[str, Any] | None,
        *,
        owner: str,
        by: str,
        edition: int | None = None,
    ) -> Record | None:
        """See `Records.put`."""
        change = _checked(Change(kind=kind, id=id, body=body, owner=owner, by=by, edition=edition))
        return run(self._database, lambda transaction: _changed(transaction, change))

    def put_shown(self, change: Change, shown: ShownTable) -> Record | None:
        """See `Records.put_shown`."""
        change = _checked(change)

        def verb(transaction: Transaction) -> Record | None:
            record = _changed(transaction, change)
            transaction.show(shown)
            return record

        return run(self._database, verb)

    def find(self, kind: str, id: str) -> Record | None:  # noqa: A002
        """See `Records.find`."""
        with self._database.glancing() as transaction:
            return _find(transaction, kind, id)

    def page(self, kind: str, *, owner: str | None = None, after: str = "", size: int = 100) -> tuple[Record, ...]:
        """See `Records.page`."""
        if not is_name(kind, owner, after):
            return ()
        condition, values = "", list[Value]([kind, after])
        if owner is not None:
            condition, values = "AND owner = ? ", [*values, owner]
        with self._database.glancing() as transaction:
            found = transaction.fetch(
                f"SELECT {_LIST} FROM records WHERE kind = ? AND id > ? {condition}ORDER BY id LIMIT ?",  # noqa: S608
                *values,
                whole("size", size, most=_LARGEST_PAGE),
            )
        return tuple(_record(row) for row in found)


def _checked(change: Change) -> Change:
    """The change, if it can be kept."""
    for what, name in (("kind", change.kind), ("owner", change.owner), ("by", change.by)):
        named(what, name)
    if change.id != EVERY:
        named("id", change.id)
    return replace(change, body=None if change.body is None else _plain(change.body))


def _changed(transaction: Transaction, change: Change) -> Record | None:
    """Write a change, unless there is another edition than the caller has read."""
    rules, place = rule_book(transaction), (change.kind, change.id)
    present = _find(transaction, *place)
    standing = 0 if present is None else present.edition
    if change.edition is not None and change.edition != standing:
        raise Outdated(*place, edition=change.edition, present=standing)
    if present is None and change.body is None:
        return None
    return _write(rules, change, present)


def _plain(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body as JSON will give it back: what is not JSON is refused, keys are text."""
    try:
        text = json.dumps(dict(body), allow_nan=False)
        plain: dict[str, Any] = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise InvalidParameter("body", type(body).__name__, "an object of JSON") from None
    if len(text) > _LONGEST_BODY:
        raise InvalidParameter("body", f"{len(text)} letters", f"an object of JSON of at most {_LONGEST_BODY} letters")
    return plain


def _write(rules: Book, change: Change, present: Record | None) -> Record | None:
    """Write a record and the entry that says so."""
    place, form, owner = (change.kind, change.id), change.body, change.owner
    edition, made = (1, rules.now) if present is None else (present.edition + 1, micros(present.made))
    rules.append("record", change.by, record=list(place), owner=owner, content=form, edition=edition)
    row = (*place, owner, "" if form is None else canonical(form), edition, made, rules.now)
    rules.do("DELETE FROM records WHERE kind = ? AND id = ?", *place)
    if form is not None:
        marks = ", ".join("?" for _ in RECORD_COLUMNS)
        rules.do(f"INSERT INTO records ({_LIST}) VALUES ({marks})", *row)  # noqa: S608
    rules.flush()
    return None if form is None else _record(row)


def _find(transaction: Transaction, kind: str, name: str) -> Record | None:
    if not is_name(kind, name):
        return None
    found = transaction.fetch(f"SELECT {_LIST} FROM records WHERE kind = ? AND id = ?", kind, name)  # noqa: S608
    return _record(found[0]) if found else None


def _record(row: Row) -> Record:
    kind, name, owner, body, edition, made, changed = row
    return Record(
        kind=kind,
        id=name,
        owner=owner,
        body=json.loads(body),
        edition=edition,
        made=moment(made),
        changed=moment(changed),
    )
