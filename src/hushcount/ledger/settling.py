"""What becomes of a reservation: touched, settled, refunded or expired. Runs inside one transaction each."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from hushcount.accounting import zcdp
from hushcount.accounting.spent import Spent
from hushcount.errors import InvalidParameter, ReservationClosed
from hushcount.ledger import asks
from hushcount.ledger.accounts import Payer
from hushcount.ledger.asks import AskRow, StoredAnswer
from hushcount.ledger.book import NEVER, Book, accounts
from hushcount.ledger.chain import canonical, digest
from hushcount.ledger.ledger import Reservation, Shows, StoredRelease
from hushcount.ledger.store import Statement
from hushcount.ledger.windows import micros, moment
from hushcount.model.costs import Cost
from hushcount.model.frozen import frozen

_NOTHING = Spent()


@frozen
class PricedOutcome:
    """What a question came to, with all that can be told of it before a book is held, for then everybody else waits.

    Attributes:
        cost: what it cost, as events, and
        form: as JSON, and
        spent: as it is charged.
        payload: the answer, and
        digest: its hash.
    """

    cost: Cost
    form: dict[str, Any]
    spent: Spent
    payload: bytes
    digest: str


def outcome(cost: Cost, payload: bytes) -> PricedOutcome:
    """Look at what a question came to before the ledger is opened.

    Raises:
        InvalidParameter: the answer is no bytes.
    """
    if not isinstance(payload, bytes):
        raise InvalidParameter("payload", type(payload).__name__, "bytes")
    return PricedOutcome(
        cost=cost, form=cost.to_json(), spent=zcdp.spent(cost), payload=payload, digest=digest(payload)
    )


def sweep(book: Book) -> None:
    """Charge every reservation whose time is over, in full, in the window in which it expired; a veiled one is settled.

    Every verb that writes begins here, before any window is rolled. So it does not matter who comes by first, or when:
    the charge is the same. `book.expiry` is a lower bound of the next expiry, so that most calls need not look.
    """
    if book.now < book.expiry:
        return
    for row in asks.due(book):
        if row.answer is not None:
            _give(book, row, asks.answer(book, row.answer), at=row.expires)
            continue
        row.state = "expired"
        row.charge(row.held)
        lines = _move(book, row, dict.fromkeys(row.payers, row.held), at=row.expires)
        _end(book, row, kind="expire", lines=lines)
    upcoming = asks.next_due(book)
    book.expiry = NEVER if upcoming is None else upcoming
    # The verb that follows reads these rows again, so they are written before it.
    book.flush()


def touch(book: Book, reservation: Reservation) -> None:
    """Record that data is about to be read."""
    row = _find(book, reservation)
    if row.state == "refunded":
        raise ReservationClosed("the reservation was refunded, so no data may be read for it; reserve again.")
    if row.state in {"settled", "overrun"}:
        raise ReservationClosed(f"the reservation was {row.state} before; its data need not be read again.")
    if row.state == "expired" and not may_settle_late(book, row):
        raise ReservationClosed("the reservation expired and was charged in full; ask again under a new key.")
    if not row.touched:
        row.touched = book.now
        asks.update(book, row)
        book.append("touch", row.analyst, number=row.number, touched=row.touched)
    book.flush()


def refund(book: Book, reservation: Reservation) -> None:
    """Free a reservation for which no data was read."""
    row = _find(book, reservation)
    if row.state == "refunded":
        return
    if row.state != "open" or row.touched or row.answer is not None:
        why = "data was read for it" if row.state == "open" else f"it is {row.state}"
        raise ReservationClosed(f"the reservation cannot be refunded: {why}. It stays charged.")
    row.state = "refunded"
    _end(book, row, kind="refund", lines=_move(book, row, {}, at=book.now))
    book.flush()


def settle(
    book: Book, reservation: Reservation, made: PricedOutcome, *, veiled: bool = False
) -> tuple[StoredRelease | None, str]:
    """Charge the actual cost and store the answer; the second value says why nothing may be released, if so.

    An overrun must be charged and committed, so it is returned and not raised: an exception would undo the charge.
    """
    row, actual = _find(book, reservation), made.spent
    if row.answer is not None:
        stored = asks.answer(book, row.answer)
        return asks.hand_out(book, stored, row=row), ""
    if row.state == "overrun":
        return None, "this query used more than was reserved for it; it was charged before and may not be released."
    if row.state == "refunded" or (row.state == "expired" and not may_settle_late(book, row)):
        raise ReservationClosed(
            f"the reservation is {row.state}, so its answer may not be released; ask again under a new key."
        )
    held = row.held
    if actual.rho > held.rho or actual.delta > held.delta:
        return None, _overrun(book, row, actual)
    veiled = veiled and row.state == "open"
    book.transaction.send([asks.like(book.entity, row.number), accounts(book.entity, row.payers)])
    shared = asks.answer_like(book, row.number)
    if shared is not None and not row.fresh and within(shared.spent, held):
        return _join(book, row, shared, veiled=veiled), ""
    return _store(book, row, made, first=shared is None, veiled=veiled), ""


def looked_up(reservation: Reservation) -> list[Statement]:
    """What `settle` fetches."""
    entity, number = reservation.entity, reservation.number
    return [asks.like(entity, number), *([accounts(entity, reservation.payers)] if reservation.payers else [])]


def unveil(book: Book, analyst: str, keys: Sequence[str], *, shows: Shows) -> datetime | None:
    """Say when the veiled answers of an attempt show; what is due then is settled, at once if that is now."""
    found = [asks.by_key(book.transaction, analyst, key) for key in keys]
    rows = [row for entity, row in (one for one in found if one) if entity == book.entity]
    rows = [row for row in rows if row.state == "open" and row.answer is not None]
    if not rows:
        return None
    at = shows(moment(book.now), [_first_run(book, row) for row in rows if not row.touched])
    for row in rows:
        # Never later than it would end by itself.
        row.expires = min(row.expires, max(book.now, micros(at)))
        book.append("unveil", row.analyst, number=row.number, expires=row.expires)
        asks.expire_at(book, row.number, row.expires)
        book.expiry = min(book.expiry, row.expires)
    book.flush()
    last = max(row.expires for row in rows)
    sweep(book)
    return moment(last)


def _first_run(book: Book, row: AskRow) -> timedelta:
    """How long it took to make the stored answer that an ask was given: from the first look at the data to its end."""
    first = None if row.answer is None else asks.by_number(book, row.answer)
    if first is None:
        # It came from another book, which knows.
        return timedelta(0)
    began = first.touched if first.touched > 1 else first.made
    return moment(asks.answer(book, first.number).made) - moment(began)


def may_settle_late(book: Book, row: AskRow) -> bool:
    """Whether an expired ask may still be answered: no window that paid for it was renewed, and the book is open."""
    if book.merged is not None:
        return False
    return all(state.opened <= row.expires and book.now < state.until for state in book.load(row.payers))


def _store(book: Book, row: AskRow, made: PricedOutcome, *, first: bool, veiled: bool) -> StoredRelease:
    """Store the answer; the first one to its question on its data version is the one that repeats are given."""
    late = row.state == "expired"
    row.touched, row.answer = row.touched or 1, row.number
    answer = StoredAnswer(
        number=row.number, version=row.version, cost=made.cost, made=book.now, digest=made.digest, canonical=first
    )
    stored = {"answer": row.number, "digest": made.digest, "cost": made.form, "canonical": int(first)}
    asks.keep(book, row, answer, cost=canonical(made.form), payload=made.payload)
    if veiled:
        _veil(book, row, **stored)
        return asks.hand_out(book, answer, row=row, payload=made.payload)
    row.state = "settled"
    if not late:
        row.charge(made.spent)
    lines = [] if late else _move(book, row, dict.fromkeys(row.payers, made.spent), at=book.now)
    _end(book, row, kind="late" if late else "settle", lines=lines, **stored)
    asks.hold(book, row.number, payers=row.payers)
    book.flush()
    return asks.hand_out(book, answer, row=row, charged=row.charged, payload=made.payload)


def _join(book: Book, row: AskRow, shared: StoredAnswer, *, veiled: bool) -> StoredRelease:
    """Someone settled the same question first: give their answer, drop ours."""
    row.touched, row.answer = row.touched or 1, shared.number
    if veiled:
        _veil(book, row, answer=shared.number)
        return asks.hand_out(book, shared, row=row)
    _give(book, row, shared, at=book.now)
    return asks.hand_out(book, shared, row=row, charged=row.charged)


def _veil(book: Book, row: AskRow, **stored: object) -> None:
    """Note the answer of an ask that stays as it is to all who look."""
    book.append("keep", row.analyst, number=row.number, **stored)
    asks.update(book, row)
    book.flush()


def _give(book: Book, row: AskRow, stored: StoredAnswer, *, at: int) -> None:
    """Give a stored answer to who held the room for it: charged to those of the accounts that have not paid for it."""
    late, have = row.state == "expired", asks.paid(book, stored.number, payers=row.payers)
    charge: dict[Payer, Spent] = {payer: stored.spent for payer in row.payers if payer not in have}
    if not late:
        row.charge(charge.get(("analyst", row.analyst), _NOTHING))
    row.state, row.touched = "settled", row.touched or 1
    lines = [] if late else _move(book, row, charge, at=at)
    _end(book, row, kind="late" if late else "settle", lines=lines, answer=stored.number)
    asks.hold(book, stored.number, payers=[payer for payer in row.payers if payer not in have])
    # Who comes next must see who has paid.
    book.flush()


def _overrun(book: Book, row: AskRow, actual: Spent) -> str:
    """Charge the larger of what was used and what was held, whatever the limits say: it is spent."""
    held, late = row.held, row.state == "expired"
    used = Spent(rho=max(actual.rho, held.rho), delta=max(actual.delta, held.delta))
    row.state, row.touched = "overrun", row.touched or 1
    row.charge(used)
    charge = dict.fromkeys(row.payers, used - held if late else used)
    _end(book, row, kind="overrun", lines=_move(book, row, charge, at=book.now, freed=not late))
    book.flush()
    return (
        f"the query used rho = {actual.rho} and delta = {actual.delta}, but rho = {held.rho} and delta = {held.delta} "
        "were reserved: the mechanism's worst case is wrong. All of it was charged; the answer may not be released."
    )


def _move(book: Book, row: AskRow, charge: dict[Payer, Spent], *, at: int, freed: bool = True) -> list[list[object]]:
    """Take what was held off every account of the ask and put what is charged in its place; returns the log's lines."""
    back, lines = _NOTHING - row.held if freed else _NOTHING, []
    for state in book.load(row.payers):
        state.roll(at, state.period)
        lines.append(state.move(reserved=back, spent=charge.get(state.payer, _NOTHING)))
        book.save(state)
    return lines


def _end(book: Book, row: AskRow, *, kind: str, lines: list[list[object]], **more: object) -> None:
    """Record what became of an ask."""
    charged = [row.charged_rho, row.charged_delta]
    book.append(kind, row.analyst, number=row.number, state=row.state, charged=charged, lines=lines, **more)
    asks.update(book, row)


def _find(book: Book, reservation: Reservation) -> AskRow:
    row = asks.by_number(book, reservation.number)
    if row is None or row.analyst != reservation.analyst:
        raise ReservationClosed("this ledger does not know the reservation; it was made in another ledger.")
    return row


def within(spent: Spent, held: Spent) -> bool:
    """Whether an amount is covered by another."""
    return spent.rho <= held.rho and spent.delta <= held.delta
