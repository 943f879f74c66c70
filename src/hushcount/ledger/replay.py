"""Replay: every table of a ledger computed again from its log, and compared with what the ledger says.

The log alone decides. A row that the log does not explain, a balance that it does not add up to, a stored answer whose
bytes have another hash, a broken link and a step that the rules forbid are each reported in words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from hushcount.errors import HushcountError
from hushcount.ledger import asks
from hushcount.ledger.accounts import ACCOUNT_COLUMNS, to_row
from hushcount.ledger.addresses import redact
from hushcount.ledger.chain import digest, link
from hushcount.ledger.datasets import DATASET_COLUMNS
from hushcount.ledger.ledger import EVERY, Proof, Verdict
from hushcount.ledger.migration import hashes_of
from hushcount.ledger.replayed import Parting, Replayed
from hushcount.ledger.schema import TABLES
from hushcount.ledger.sql_records import RECORD_COLUMNS
from hushcount.ledger.store import Row, Transaction
from hushcount.model.frozen import frozen

_PAGE = 5_000
_REPORTED = 20
# Tables whose rows belong to the ledger as a whole, and so to the book of rules.
_RULES = frozenset(
    {"limits", "roles", "members", "datasets", "identities", "settings", "records", "dataset_roles"},
)


@frozen
class _Sides:
    """What is kept of a replayed book until all are, to compare what two books say of each other."""

    merged: str | None
    parted: dict[tuple[str, int], Parting]
    came: list[Parting]
    origin: Parting | None
    common: list[tuple[str, frozenset[Row]]]
    adopted: list[tuple[str, int, str]]
    digests: dict[int, str]


def verify(transaction: Transaction, anchors: Mapping[str, Proof]) -> Verdict:
    """Replay every book and compare; see `Ledger.verify`."""
    problems: list[str] = []
    heads: list[Proof] = []
    sides: dict[str, _Sides] = {}
    populations: set[str] = set()
    for row in transaction.fetch("SELECT entity, seq, head, seen, merged, expiry FROM books ORDER BY 1"):
        entity, *stated, expiry = row
        book = replay_book(transaction, entity, anchor=anchors.get(entity))
        if tuple(stated) != (book.seq, book.head, book.seen, book.merged):
            book.problems.append(f"book {entity!r}: its head is not the end of its log")
        if any(moment < expiry for moment in book.expiries({})):
            book.problems.append(f"book {entity!r}: a reservation would never expire")
        problems += book.problems + list(_compare(transaction, book))
        populations |= {row.entity for row in book.rules.datasets.values()}
        sides[entity] = _Sides(
            merged=book.merged,
            parted=book.parted,
            came=book.came,
            origin=book.origin,
            common=book.common,
            adopted=book.adopted,
            digests={number: release[-1] for number, release in book.releases.items()},
        )
        heads.append(Proof(entity=entity, seq=book.seq, hash=book.head))
    problems += _disagreements(sides, populations)
    problems += _not_common(sides)
    problems += _strangers(transaction, set(sides))
    problems += _missing(transaction, {name: proof for name, proof in anchors.items() if name not in sides})
    return Verdict(problems=tuple(problems[:_REPORTED]), heads=tuple(heads))


def replay_book(transaction: Transaction, entity: str, *, anchor: Proof | None = None) -> Replayed:
    """One book computed from its log; with an anchor, that the kept link is still in it."""
    book = Replayed(entity)
    while page := transaction.fetch(
        "SELECT seq, by_whom, body, hash FROM log WHERE entity = ? AND seq > ? ORDER BY seq LIMIT ?",
        *(entity, book.seq, _PAGE),
    ):
        for row in page:
            _follow(book, row)
            if anchor is not None and row[0] == anchor.seq and anchor.hash not in (row[3], _once(transaction, book)):
                book.problems.append(f"book {entity!r}, entry {row[0]}: it is not that of the proof that was kept")
    if anchor is not None and book.seq < anchor.seq:
        book.problems.append(f"book {entity!r}: it ends at {book.seq}, before the kept proof of entry {anchor.seq}")
    return book


def _once(transaction: Transaction, book: Replayed) -> str | None:
    """The hash that the newest entry of the replay had before something was taken out of it."""
    found = transaction.fetch("SELECT hash FROM redacted WHERE entity = ? AND seq = ?", book.entity, book.seq)
    return found[0][0] if found else None


def _follow(book: Replayed, row: Row) -> None:
    """Take one entry; whatever is wrong with it is told, and the replay goes on."""
    seq, by, text, stated = row
    expected, seen = (book.entity, book.seq + 1, book.head, by), book.seen
    book.seq, book.head = seq, stated
    try:
        body = json.loads(text)
        told = (body["entity"], body["seq"], body["previous"], body["by"])
        if told != expected or seq != expected[1] or link(text) != stated:
            book.problems.append(f"book {book.entity!r}, entry {seq}: the chain is broken here")
        if body["at"] < seen and (body["kind"], body.get("deed")) != ("clock", "repair"):
            book.problems.append(f"book {book.entity!r}, entry {seq}: it is dated before the entry before it")
        book.seen = body["at"]
        book.apply(body)
    # An entry that nests too deep is told like any other that somebody made up.
    except (HushcountError, LookupError, ValueError, TypeError, ArithmeticError, RecursionError) as error:
        book.problems.append(f"book {book.entity!r}, entry {seq}: it makes no sense ({type(error).__name__})")


def _compare(transaction: Transaction, book: Replayed) -> Iterator[str]:
    """Every table of one book against its replay."""
    expected: list[tuple[str, tuple[str, ...], set[Row]]] = [
        ("accounts", ACCOUNT_COLUMNS, {to_row(state) for state in book.accounts.values()}),
        ("asks", asks.COLUMNS, {tuple(ask[name] for name in asks.COLUMNS) for ask in book.asks.values()}),
        ("releases", ("number", *asks.ANSWER_COLUMNS), {(number, *row) for number, row in book.releases.items()}),
        ("holders", ("number", "kind", "name"), book.holders),
    ]
    for table, columns, rebuilt in expected:
        wanted = ", ".join(columns)
        found = set(transaction.fetch(f"SELECT {wanted} FROM {table} WHERE entity = ?", book.entity))  # noqa: S608
        if found != rebuilt:
            count = len(found ^ rebuilt)
            yield f"book {book.entity!r}: table {table} is not what the log adds up to ({count} rows differ)"
    for number, payload, stated in _payloads(transaction, book.entity):
        if digest(bytes(payload)) != stated:
            yield f"book {book.entity!r}: the bytes of release {number} were changed"
    if hashes_of(transaction, book.entity) != book.redacted:
        yield f"book {book.entity!r}: the hashes from before its redaction were changed"
    if book.entity == EVERY:
        yield from _compare_rules(transaction, book)


def _compare_rules(transaction: Transaction, book: Replayed) -> Iterator[str]:
    said = book.rules
    rules: tuple[tuple[str, tuple[str, ...], set[Row]], ...] = (
        ("limits", ("entity", "kind", "name", "body"), {(*rule, text) for rule, text in said.limits.items()}),
        ("roles", ("entity", "person", "role"), {(*place, role) for place, role in said.roles.items()}),
        ("members", ("analyst", "name"), said.members),
        (
            "datasets",
            DATASET_COLUMNS,
            {tuple(getattr(row, name) for name in DATASET_COLUMNS) for row in said.datasets.values()},
        ),
        ("identities", ("identity", "dataset"), set(said.identities.items())),
        ("settings", ("name", "value"), set(said.settings.items())),
        ("records", RECORD_COLUMNS, {(*place, *row) for place, row in said.records.items()}),
        (
            "dataset_roles",
            ("dataset", "person", "role"),
            {(*place, role) for place, role in said.dataset_roles.items()},
        ),
    )
    for table, columns, rebuilt in rules:
        if set(transaction.fetch(f"SELECT {', '.join(columns)} FROM {table}")) != rebuilt:  # noqa: S608
            yield f"table {table} is not what the log says"


def _disagreements(sides: Mapping[str, _Sides], populations: set[str]) -> Iterator[str]:
    """What two books say of the same accounts and answers, and data sets whose book is not there or closed."""
    for entity, book in sides.items():
        for came in book.came:
            there = sides[came.other].parted.get((entity, came.seq)) if came.other in sides else None
            if there is None or (there.hash, there.accounts) != (came.hash, came.accounts):
                yield f"book {entity!r}: the accounts that came from {came.other!r} are not those that went there"
        for other, number, text in book.adopted:
            if other not in sides or sides[other].digests.get(number) != text:
                yield f"book {entity!r}: an adopted answer is not that of {other!r}"
        if book.merged is not None and (
            book.merged not in sides or entity not in {c.other for c in sides[book.merged].came}
        ):
            yield f"book {entity!r}: it was closed, and nobody took it over"
    for entity in sorted(populations):
        if entity not in sides or sides[entity].merged is not None:
            yield f"the catalog has data sets of {entity!r}, whose book is not open"


def _not_common(sides: Mapping[str, _Sides]) -> Iterator[str]:
    """What a join took off although neither book began with exactly these accounts of the other."""
    begun = {(entity, book.origin.other): book.origin.accounts for entity, book in sides.items() if book.origin}
    for entity, book in sides.items():
        for other, rows in book.common:
            if rows not in (begun.get((entity, other)), begun.get((other, entity))):
                yield f"book {entity!r}: what it is said to have had in common with {other!r} is not what it was"


def _missing(transaction: Transaction, anchors: Mapping[str, Proof]) -> Iterator[str]:
    """Kept links of books that are not there, or were renamed when passwords were taken out of their names."""
    for name, proof in anchors.items():
        if not transaction.fetch("SELECT 1 FROM redacted WHERE seq = ? AND hash = ?", proof.seq, proof.hash):
            yield f"book {redact(name)!r} is missing"


def _payloads(transaction: Transaction, entity: str) -> Iterator[Row]:
    last = 0
    while page := transaction.fetch(
        "SELECT number, payload, digest FROM releases WHERE entity = ? AND number > ? ORDER BY number LIMIT 200",
        entity,
        last,
    ):
        yield from page
        last = page[-1][0]


def _strangers(transaction: Transaction, known: set[str]) -> Iterator[str]:
    """Rows that belong to no book."""
    for table in TABLES:
        if table in _RULES:
            if EVERY not in known and transaction.fetch(f"SELECT 1 FROM {table} LIMIT 1"):  # noqa: S608
                yield f"table {table} has rules, but no book of rules"
            continue
        strangers = transaction.fetch(
            f"SELECT DISTINCT entity FROM {table} WHERE entity NOT IN (SELECT entity FROM books)"  # noqa: S608
        )
        yield from (f"table {table} has rows of {entity!r}, which has no book" for (entity,) in strangers)
