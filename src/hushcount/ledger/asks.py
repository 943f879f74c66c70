"""Rows of asks and stored answers: what was asked, what became of it, and the bytes that were paid for."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from hushcount.accounting import zcdp
from hushcount.accounting.spent import Spent
from hushcount.ledger.accounts import Payer
from hushcount.ledger.addresses import redact
from hushcount.ledger.book import Book, parts
from hushcount.ledger.chain import canonical, decimal_text, digest
from hushcount.ledger.ledger import Account, Ask, Reservation, StoredRelease
from hushcount.ledger.limits import Mode
from hushcount.ledger.store import Statement, Transaction
from hushcount.ledger.windows import moment
from hushcount.model.costs import Cost
from hushcount.model.frozen import frozen

# open -> settled | refunded | expired | overrun; expired -> settled (late). A repeat of a stored answer begins settled.
# One that is open and has an answer is veiled: at `expires` it is settled. `touched` is the moment at which data was
# about to be read, 0 before, and 1 where that moment is not known.
AskState: TypeAlias = Literal["open", "settled", "refunded", "expired", "overrun"]


@dataclass(slots=True, kw_only=True)
class AskRow:
    """One row of `asks`; the fields are its columns, the entity apart."""

    number: int
    analyst: str
    ask_key: str
    request: str
    what: str
    dataset: str
    version: str
    query: str
    family: str
    fresh: int
    cost: str
    held_rho: str
    held_delta: str
    state: AskState
    touched: int
    made: int
    expires: int
    mode: Mode
    accounts: str
    charged_rho: str
    charged_delta: str
    answer: int | None

    @property
    def held(self) -> Spent:
        """The worst case that was reserved."""
        return Spent(rho=Decimal(self.held_rho), delta=Decimal(self.held_delta))

    @property
    def payers(self) -> list[Payer]:
        """The accounts that were charged, as they were when it was asked."""
        return list(_payers(self.accounts))

    @property
    def charged(self) -> Spent:
        """What was charged to the analyst's account in the end."""
        return Spent(rho=Decimal(self.charged_rho), delta=Decimal(self.charged_delta))

    def charge(self, spent: Spent) -> None:
        """Note what was charged to the analyst's account."""
        self.charged_rho, self.charged_delta = decimal_text(spent.rho), decimal_text(spent.delta)


COLUMNS = tuple(f.name for f in fields(AskRow))
_LIST = ", ".join(COLUMNS)
_MARKS = ", ".join("?" for _ in COLUMNS)
_OF_KEY = f"SELECT entity, {_LIST} FROM asks WHERE analyst = ? AND ask_key = ? AND state <> 'refunded'"  # noqa: S608
_OF_NUMBER = f"SELECT {_LIST} FROM asks WHERE entity = ? AND number = ?"  # noqa: S608 (names from above)
_CANONICAL = (
    "SELECT number, version, cost, made, digest FROM releases "
    "WHERE entity = ? AND version = ? AND query = ? AND canonical = 1"
)
_STORED = "SELECT number, version, cost, made, digest FROM releases WHERE entity = ? AND number = ?"
_PAYLOAD = "SELECT payload FROM releases WHERE entity = ? AND number = ?"
# Not a join: of tables that it has not counted yet a server may read all answers of the version for each of them.
_LIKE = (
    "SELECT number, version, cost, made, digest FROM releases WHERE entity = ? "
    "AND version = (SELECT version FROM asks WHERE entity = ? AND number = ?) "
    "AND query = (SELECT query FROM asks WHERE entity = ? AND number = ?) AND canonical = 1"
)
# Whoever paid for it has it. Not EXISTS, which a server makes a join, and may read all holders for it.
_HAD = (
    " AND (SELECT h.number FROM holders h WHERE h.entity = releases.entity AND h.number = releases.number LIMIT 1) "
    "IS NOT NULL"
)
# A row of `releases` without its entity, its number and its bytes.
ANSWER_COLUMNS = ("dataset", "version", "query", "family", "what", "canonical", "cost", "made", "digest")
_ANSWER = ", ".join(ANSWER_COLUMNS)


@frozen
class StoredAnswer:
    """One row of `releases` without its bytes."""

    number: int
    version: str
    cost: Cost
    made: int
    digest: str
    canonical: bool = True

    @property
    def spent(self) -> Spent:
        """What making it cost."""
        return zcdp.spent(self.cost)


def request_digest(ask: Ask) -> str:
    """What makes two requests under one key the same: not the data version, so that a retry finds its answer."""
    form = {"dataset": ask.dataset, "query": ask.query, "cost": ask.cost.to_json(), "fresh": ask.fresh}
    return digest(canonical(form).encode())


def query_digest(ask: Ask) -> str:
    """The canonical question, short."""
    return digest(ask.query.encode("utf-8", "surrogatepass"))


def family_digest(ask: Ask) -> str:
    """The family of the question, short; empty if it has none."""
    return digest(ask.family.encode("utf-8", "surrogatepass")) if ask.family else ""


def _printable(text: str) -> str:
    return text if text.isprintable() else "".join(sign if sign.isprintable() else " " for sign in text)


def draft(ask: Ask) -> AskRow:
    """The row of a new ask, as far as it is known before a book is held."""
    held = zcdp.spent(ask.cost)
    return AskRow(
        number=0,
        analyst=ask.analyst,
        ask_key=ask.key,
        request=request_digest(ask),
        what=redact(_printable(ask.what)),
        dataset=ask.dataset,
        version=ask.version,
        query=query_digest(ask),
        family=family_digest(ask),
        fresh=int(ask.fresh),
        cost=canonical(ask.cost.to_json()),
        held_rho=decimal_text(held.rho),
        held_delta=decimal_text(held.delta),
        state="open",
        touched=0,
        made=0,
        expires=0,
        mode="enforce",
        accounts="[]",
        charged_rho="0",
        charged_delta="0",
        answer=None,
    )


def make_row(book: Book, drawn: AskRow, payers: list[Payer], *, mode: Mode) -> AskRow:
    """The row of a new ask in its book; its number is that of the log entry that will record it."""
    said = json.dumps([list(payer) for payer in payers], separators=(",", ":"))
    return replace(drawn, number=book.seq + 1, made=book.now, expires=book.now, mode=mode, accounts=said)


def as_body(row: AskRow) -> dict[str, Any]:
    """The whole row, for the log."""
    return {name: getattr(row, name) for name in COLUMNS}


def insert(book: Book, row: AskRow) -> None:
    """Write a new ask."""
    values = tuple(getattr(row, name) for name in COLUMNS)
    book.do(f"INSERT INTO asks (entity, {_LIST}) VALUES (?, {_MARKS})", book.entity, *values)  # noqa: S608


def update(book: Book, row: AskRow) -> None:
    """Write what became of an ask."""
    book.do(
        "UPDATE asks SET state = ?, touched = ?, charged_rho = ?, charged_delta = ?, answer = ? "
        "WHERE entity = ? AND number = ?",
        *(row.state, row.touched, row.charged_rho, row.charged_delta, row.answer, book.entity, row.number),
    )


def expire_at(book: Book, number: int, expires: int) -> None:
    """Write when a running ask ends by itself."""
    book.do("UPDATE asks SET expires = ? WHERE entity = ? AND number = ?", expires, book.entity, number)


def keep(book: Book, row: AskRow, made: StoredAnswer, *, cost: str, payload: bytes) -> None:
    """Write a stored answer. The first one to its question on its data version is the one that repeats are given."""
    book.do(
        f"INSERT INTO releases (entity, number, {_ANSWER}, payload) "  # noqa: S608 (names from above)
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        *(book.entity, row.number, row.dataset, row.version, row.query, row.family, row.what, int(made.canonical)),
        *(cost, made.made, made.digest, payload),
    )


def copy_answer(book: Book, entity: str, number: int, *, as_number: int, dataset: str) -> None:
    """Write a stored answer of another book into this one, byte for byte, under its number here and its data set."""
    others = ", ".join(ANSWER_COLUMNS[1:])
    book.do(
        f"INSERT INTO releases (entity, number, dataset, {others}, payload) "  # noqa: S608 (names from above)
        f"SELECT ?, ?, ?, {others}, payload FROM releases WHERE entity = ? AND number = ?",
        *(book.entity, as_number, dataset, entity, number),
    )


def by_key(transaction: Transaction, analyst: str, key: str) -> tuple[str, AskRow] | None:
    """The ask that used this analyst's key before, with its entity. One that was refunded does not count."""
    found = transaction.fetch(_OF_KEY, analyst, key)
    return (found[0][0], _row(found[0][1:])) if found else None


def of_key(analyst: str, key: str) -> Statement:
    """What `by_key` fetches."""
    return _OF_KEY, (analyst, key)


def by_number(book: Book, number: int) -> AskRow | None:
    """One ask of this book."""
    found = book.transaction.fetch(_OF_NUMBER, book.entity, number)
    return _row(found[0]) if found else None


def of_number(entity: str, number: int) -> Statement:
    """What `by_number` fetches."""
    return _OF_NUMBER, (entity, number)


def due(book: Book) -> list[AskRow]:
    """The running asks whose time is over, oldest expiry first."""
    found = book.transaction.fetch(
        f"SELECT {_LIST} FROM asks WHERE entity = ? AND state = 'open' AND expires <= ? ORDER BY expires, number",  # noqa: S608
        book.entity,
        book.now,
    )
    return [_row(row) for row in found]


def next_due(book: Book) -> int | None:
    """The earliest expiry among running asks that are not due yet."""
    found = book.transaction.fetch(
        "SELECT MIN(expires) FROM asks WHERE entity = ? AND state = 'open' AND expires > ?", book.entity, book.now
    )
    return found[0][0] if found else None


def canonical_answer(book: Book, version: str, query: str, *, shown: bool = False) -> StoredAnswer | None:
    """The stored answer to this question on this data version; with `shown`, not if all who asked for it are veiled."""
    sql, values = of_question(book.entity, version, query, shown=shown)
    found = book.transaction.fetch(sql, *values)
    return _answer(found[0]) if found else None


def of_question(entity: str, version: str, query: str, *, shown: bool = False) -> Statement:
    """What `canonical_answer` fetches."""
    return f"{_CANONICAL}{_HAD if shown else ''}", (entity, version, query)


def answer_like(book: Book, number: int) -> StoredAnswer | None:
    """The stored answer to the question of an ask, on its data version."""
    sql, values = like(book.entity, number)
    found = book.transaction.fetch(sql, *values)
    return _answer(found[0]) if found else None


def like(entity: str, number: int) -> Statement:
    """What `answer_like` fetches."""
    return _LIKE, (entity, entity, number, entity, number)


def answer(book: Book, number: int) -> StoredAnswer:
    """A stored answer by its number."""
    return _answer(book.transaction.fetch(_STORED, book.entity, number)[0])


def of_answer(entity: str, number: int) -> list[Statement]:
    """What `answer` and `payload_of` fetch."""
    return [(_STORED, (entity, number)), (_PAYLOAD, (entity, number))]


def paid(book: Book, number: int, *, payers: list[Payer]) -> set[Payer]:
    """Those of the accounts that paid for a stored answer already."""
    marks = " OR ".join("(kind = ? AND name = ?)" for _ in payers)
    found = book.transaction.fetch(
        f"SELECT kind, name FROM holders WHERE entity = ? AND number = ? AND ({marks})",  # noqa: S608
        book.entity,
        number,
        *(part for payer in payers for part in payer),
    )
    return {(kind, name) for kind, name in found}


def hold(book: Book, number: int, *, payers: list[Payer]) -> None:
    """Note which accounts paid for a stored answer."""
    for some in parts(payers):
        marks = ", ".join("(?, ?, ?, ?)" for _ in some)
        book.do(
            f"INSERT INTO holders (entity, number, kind, name) VALUES {marks} ON CONFLICT DO NOTHING",  # noqa: S608
            *(value for kind, name in some for value in (book.entity, number, kind, name)),
        )


def payload_of(book: Book, number: int) -> bytes:
    """The bytes of a stored answer."""
    return bytes(book.transaction.fetch(_PAYLOAD, book.entity, number)[0][0])


def hand_out(
    book: Book, stored: StoredAnswer, *, row: AskRow, charged: Spent | None = None, payload: bytes | None = None
) -> StoredRelease:
    """The stored answer with its bytes, as the asker gets it; `charged` is what this very call charged to them."""
    return StoredRelease(
        entity=book.entity,
        number=stored.number,
        version=stored.version,
        payload=payload_of(book, stored.number) if payload is None else payload,
        cost=stored.cost,
        charged=charged or Spent(),
        held=row.held,
        repeated=stored.number != row.number,
        made=moment(stored.made),
        mode=row.mode,
        proof=book.proof,
    )


def reservation(book: Book, row: AskRow, *, over: tuple[Account, ...] = ()) -> Reservation:
    """The reservation that a running ask stands for; `over` are the accounts whose tracked limit it exceeds."""
    return Reservation(
        entity=book.entity,
        number=row.number,
        analyst=row.analyst,
        held=row.held,
        expires=moment(row.expires),
        mode=row.mode,
        over=over,
        payers=_payers(row.accounts),
    )


def _row(values: tuple[Any, ...]) -> AskRow:
    return AskRow(**dict(zip(COLUMNS, values, strict=True)))


def _answer(row: tuple[Any, ...]) -> StoredAnswer:
    number, version, cost, made, shown = row
    return StoredAnswer(number=number, version=version, cost=_cost(cost), made=made, digest=shown)


@lru_cache(maxsize=1024)
def _payers(text: str) -> tuple[Payer, ...]:
    """The accounts of an ask as they were written: the same few, again and again."""
    return tuple((kind, name) for kind, name in json.loads(text))


@lru_cache(maxsize=1024)
def _cost(text: str) -> Cost:
    """A cost as it was written; that of an answer is read whenever it is given again."""
    return Cost.from_json(json.loads(text))
