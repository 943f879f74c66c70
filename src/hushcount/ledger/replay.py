"""Replay: every table of a ledger computed again from its log, and compared with what the ledger says.

The log alone decides. A row that the log does not explain, a balance that it does not add up to, a stored answer whose
bytes have another hash, a broken link and a step that the rules forbid are each reported in words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from hushcount.accounting import zcdp
from hushcount.accounting.spent import Spent
from hushcount.errors import HushcountError
from hushcount.ledger import asks
from hushcount.ledger.book import ACCOUNT_COLUMNS, AccountKey, State, account_row
from hushcount.ledger.chain import START, canonical, digest, link
from hushcount.ledger.ledger import EVERY, Proof, Verdict
from hushcount.ledger.schema import TABLES
from hushcount.ledger.store import Row, Rows
from hushcount.model.costs import Cost

_PAGE = 5_000
_REPORTED = 20
_NOTHING = Spent()
# What an ask may become, from what it is.
_STEPS = {
    "settle": ("open", "settled"),
    "expire": ("open", "expired"),
    "refund": ("open", "refunded"),
    "late": ("expired", "settled"),
}


@dataclass(slots=True)
class Replayed:
    """One book, computed from its log."""

    entity: str
    seq: int = 0
    head: str = START
    seen: int = 0
    accounts: dict[AccountKey, State] = field(default_factory=dict)
    asks: dict[int, dict[str, Any]] = field(default_factory=dict)
    releases: dict[int, Row] = field(default_factory=dict)
    holders: set[Row] = field(default_factory=set)
    names: set[Row] = field(default_factory=set)
    versions: set[Row] = field(default_factory=set)
    limits: dict[Row, str] = field(default_factory=dict)
    roles: dict[Row, str] = field(default_factory=dict)
    members: set[Row] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)

    def apply(self, body: Mapping[str, Any]) -> None:
        """Take one entry into account."""
        kind = body["kind"]
        if kind in {"name", "version"}:
            (self.names if kind == "name" else self.versions).add((body["value"],))
        elif kind in {"limit", "role", "member"}:
            self._rule(body)
        elif kind in {"reserve", "repeat"}:
            self._begin(body)
        elif kind == "touch":
            self.asks[body["number"]]["touched"] = 1
        else:
            self._end(body)

    def complain(self, body: Mapping[str, Any], words: str) -> None:
        """Note what is wrong with an entry."""
        self.problems.append(f"book {self.entity!r}, entry {body['seq']}: {words}")

    def _rule(self, body: Mapping[str, Any]) -> None:
        if body["kind"] == "limit":
            key = tuple(body["rule"])
            self.limits.pop(key, None)
            if body["limit"] is not None:
                self.limits[key] = canonical(body["limit"])
        elif body["kind"] == "role":
            self.roles.pop((body["place"], body["person"]), None)
            if body["role"] is not None:
                self.roles[body["place"], body["person"]] = body["role"]
        else:
            (self.members.add if body["member"] else self.members.discard)((body["analyst"], body["group"]))

    def _begin(self, body: Mapping[str, Any]) -> None:
        ask = dict(body["ask"])
        self.asks[ask["number"]] = ask
        worst = zcdp.spent(Cost.from_json(json.loads(ask["cost"])))
        for key, reserved, _ in self._lines(body):
            self.accounts[key].queries += 1
            if body["kind"] == "repeat":
                self.holders.add((ask["answer"], *key))
            elif reserved != worst:
                self.complain(body, "what was held is not the worst case")
        for kind, name, rho, delta, window, mode in body["limits"]:
            state = self.accounts.get((kind, name))
            if state is not None and mode == "enforce":
                base = (state.lifetime if window == "none" else state.spent) + state.reserved
                over_rho, over_delta = base.rho > Decimal(rho), base.delta > Decimal(delta)
                if (over_rho and worst.rho > 0) or (over_delta and worst.delta > 0):
                    self.complain(body, f"{kind} {name!r} went over its limit")

    def _end(self, body: Mapping[str, Any]) -> None:
        ask, kind = self.asks[body["number"]], body["kind"]
        worst = zcdp.spent(Cost.from_json(json.loads(ask["cost"])))
        was, becomes = _STEPS.get(kind, (ask["state"], "overrun"))
        if (ask["state"], body["state"]) != (was, becomes) or (kind == "refund" and ask["touched"]):
            self.complain(body, f"{kind} of a query that was {ask['state']}")
        for _, reserved, spent in self._lines(body):
            if ask["state"] == "open" and reserved != _NOTHING - worst:
                self.complain(body, "what was freed is not what was held")
            if kind != "overrun" and (spent.rho > worst.rho or spent.delta > worst.delta):
                self.complain(body, "more was charged than was held")
            if kind == "expire" and spent != worst:
                self.complain(body, "an expired query was not charged in full")
        ask["state"], (ask["charged_rho"], ask["charged_delta"]) = body["state"], body["charged"]
        if kind in {"settle", "late", "overrun"}:
            ask["touched"] = 1
        if "answer" in body:
            ask["answer"] = body["answer"]
            self.holders.update((body["answer"], *key) for key in json.loads(ask["accounts"]))
        if "digest" in body:
            self.releases[ask["number"]] = (
                ask["version"],
                ask["query"],
                ask["family"],
                ask["what"],
                body["canonical"],
                canonical(body["cost"]),
                body["at"],
                body["digest"],
            )

    def _lines(self, body: Mapping[str, Any]) -> Iterator[tuple[AccountKey, Spent, Spent]]:
        """Apply the lines of an entry to the accounts, and yield each."""
        for kind, name, period, opened, until, *amounts in body["lines"]:
            state = self.accounts.setdefault((kind, name), State(kind, name))
            if opened != state.opened:
                if opened < state.until:
                    self.complain(body, f"the window of {kind} {name!r} was renewed too early")
                state.period, state.opened, state.until, state.spent = period, opened, until, _NOTHING
            exact = [Decimal(text) for text in amounts]
            reserved, spent = Spent(rho=exact[0], delta=exact[1]), Spent(rho=exact[2], delta=exact[3])
            if spent.rho < 0 or spent.delta < 0:
                self.complain(body, "a charge is negative")
            state.move(reserved=reserved, spent=spent)
            yield (kind, name), reserved, spent


def verify(rows: Rows, anchors: Mapping[str, Proof]) -> Verdict:
    """Replay every book and compare; see `Ledger.verify`."""
    problems: list[str] = []
    heads: list[Proof] = []
    known: list[str] = []
    for entity, seq, head, seen, expiry in rows.fetch("SELECT entity, seq, head, seen, expiry FROM books ORDER BY 1"):
        book = _replay(rows, entity, anchors.get(entity))
        if (seq, head, seen) != (book.seq, book.head, book.seen):
            book.problems.append(f"book {entity!r}: its head is not the end of its log")
        if any(ask["state"] == "open" and ask["expires"] < expiry for ask in book.asks.values()):
            book.problems.append(f"book {entity!r}: a reservation would never expire")
        problems += book.problems + list(_compare(rows, book))
        known.append(entity)
        heads.append(Proof(entity=entity, seq=book.seq, hash=book.head))
    problems += _strangers(rows, known)
    problems += [f"book {entity!r} is missing" for entity in anchors if entity not in known]
    return Verdict(problems=tuple(problems[:_REPORTED]), heads=tuple(heads))


def _replay(rows: Rows, entity: str, anchor: Proof | None) -> Replayed:
    book = Replayed(entity)
    while page := rows.fetch(
        "SELECT seq, by_whom, body, hash FROM log WHERE entity = ? AND seq > ? ORDER BY seq LIMIT ?",
        *(entity, book.seq, _PAGE),
    ):
        for row in page:
            _follow(book, row)
            if anchor is not None and row[0] == anchor.seq and row[3] != anchor.hash:
                book.problems.append(f"book {entity!r}, entry {row[0]}: it is not that of the proof that was kept")
    if anchor is not None and book.seq < anchor.seq:
        book.problems.append(f"book {entity!r}: it ends at {book.seq}, before the kept proof of entry {anchor.seq}")
    return book


def _follow(book: Replayed, row: Row) -> None:
    """Take one entry; whatever is wrong with it is told, and the replay goes on."""
    seq, by, text, stated = row
    expected = (book.entity, book.seq + 1, book.head, by)
    book.seq, book.head = seq, stated
    try:
        body = json.loads(text)
        told = (body["entity"], body["seq"], body["previous"], body["by"])
        if told != expected or seq != expected[1] or link(text) != stated:
            book.problems.append(f"book {book.entity!r}, entry {seq}: the chain is broken here")
        book.seen = body["at"]
        book.apply(body)
    except (HushcountError, LookupError, ValueError, TypeError, ArithmeticError) as error:
        book.problems.append(f"book {book.entity!r}, entry {seq}: it makes no sense ({type(error).__name__})")


def _compare(rows: Rows, book: Replayed) -> Iterator[str]:
    """Every table of one book against its replay."""
    accounts = ", ".join(ACCOUNT_COLUMNS)
    columns = ", ".join(asks.COLUMNS)
    expected: list[tuple[str, str, set[Row]]] = [
        ("accounts", accounts, {account_row(state) for state in book.accounts.values()}),
        ("asks", columns, {tuple(ask[name] for name in asks.COLUMNS) for ask in book.asks.values()}),
        (
            "releases",
            "number, version, query, family, what, canonical, cost, made, digest",
            {(number, *row) for number, row in book.releases.items()},
        ),
        ("holders", "number, kind, name", book.holders),
        ("names", "name", book.names),
        ("versions", "version", book.versions),
    ]
    for table, wanted, rebuilt in expected:
        found = set(rows.fetch(f"SELECT {wanted} FROM {table} WHERE entity = ?", book.entity))  # noqa: S608
        if found != rebuilt:
            count = len(found ^ rebuilt)
            yield f"book {book.entity!r}: table {table} is not what the log adds up to ({count} rows differ)"
    for number, payload, stated in _payloads(rows, book.entity):
        if digest(bytes(payload)) != stated:
            yield f"book {book.entity!r}: the bytes of release {number} were changed"
    if book.entity == EVERY:
        yield from _compare_rules(rows, book)


def _compare_rules(rows: Rows, book: Replayed) -> Iterator[str]:
    rules = (
        ("limits", "entity, kind, name, body", {(*key, text) for key, text in book.limits.items()}),
        ("roles", "entity, person, role", {(*key, role) for key, role in book.roles.items()}),
        ("members", "analyst, name", book.members),
    )
    for table, wanted, rebuilt in rules:
        if set(rows.fetch(f"SELECT {wanted} FROM {table}")) != rebuilt:  # noqa: S608
            yield f"table {table} is not what the log says"


def _payloads(rows: Rows, entity: str) -> Iterator[Row]:
    last = 0
    while page := rows.fetch(
        "SELECT number, payload, digest FROM releases WHERE entity = ? AND number > ? ORDER BY number LIMIT 200",
        entity,
        last,
    ):
        yield from page
        last = page[-1][0]


def _strangers(rows: Rows, known: list[str]) -> list[str]:
    """Rows that belong to no book."""
    found = []
    for table in TABLES:
        if table in {"limits", "roles", "members"}:
            if EVERY not in known and rows.fetch(f"SELECT 1 FROM {table} LIMIT 1"):  # noqa: S608
                found.append(f"table {table} has rules, but no book of rules")
            continue
        strangers = rows.fetch(
            f"SELECT DISTINCT entity FROM {table} WHERE entity NOT IN (SELECT entity FROM books)"  # noqa: S608
        )
        found += [f"table {table} has rows of {entity!r}, which has no book" for (entity,) in strangers]
    return found
