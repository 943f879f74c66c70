"""What becomes of a reservation: touched, settled, refunded or expired. Runs inside one transaction each."""

from __future__ import annotations

from hushcount.accounting import zcdp
from hushcount.accounting.spent import Spent
from hushcount.errors import InvalidParameter, ReservationClosed
from hushcount.ledger import asks
from hushcount.ledger.accounts import Payer
from hushcount.ledger.asks import Answer, AskRow
from hushcount.ledger.book import NEVER, Book
from hushcount.ledger.chain import digest
from hushcount.ledger.ledger import Reservation, StoredRelease
from hushcount.model.costs import Cost

_NOTHING = Spent()


def sweep(book: Book) -> None:
    """Charge every reservation whose time is over, in full, in the window in which it expired.

    Every verb that writes begins here, before any window is rolled. So it does not matter who comes by first, or when:
    the charge is the same. `book.expiry` is a lower bound of the next expiry, so that most calls need not look.
    """
    if book.now < book.expiry:
        return
    for row in asks.due(book):
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
        row.touched = 1
        asks.update(book, row)
        book.append("touch", row.analyst, number=row.number)
    book.flush()


def refund(book: Book, reservation: Reservation) -> None:
    """Free a reservation for which no data was read."""
    row = _find(book, reservation)
    if row.state == "refunded":
        return
    if row.state != "open" or row.touched:
        why = "data was read for it" if row.state == "open" else f"it is {row.state}"
        raise ReservationClosed(f"the reservation cannot be refunded: {why}. It stays charged.")
    row.state = "refunded"
    _end(book, row, kind="refund", lines=_move(book, row, {}, at=book.now))
    book.flush()


def settle(book: Book, reservation: Reservation, *, cost: Cost, payload: bytes) -> tuple[StoredRelease | None, str]:
    """Charge the actual cost and store the answer; the second value says why nothing may be released, if so.

    An overrun must be charged and committed, so it is returned and not raised: an exception would undo the charge.
    """
    if not isinstance(payload, bytes):
        raise InvalidParameter("payload", type(payload).__name__, "bytes")
    row, actual = _find(book, reservation), zcdp.spent(cost)
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
    book.transaction.send([asks.of_question(book, row.version, row.query), book.accounts(row.payers)])
    shared = asks.canonical_answer(book, row.version, row.query)
    if shared is not None and not row.fresh and within(shared.spent, held):
        return _join(book, row, shared), ""
    return _store(book, row, cost=cost, payload=payload, first=shared is None), ""


def may_settle_late(book: Book, row: AskRow) -> bool:
    """Whether an expired ask may still be answered: no window that paid for it was renewed, and the book is open."""
    if book.merged is not None:
        return False
    return all(state.opened <= row.expires and book.now < state.until for state in book.load(row.payers))


def _store(book: Book, row: AskRow, *, cost: Cost, payload: bytes, first: bool) -> StoredRelease:
    """Store the answer; the first one to its question on its data version is the one that repeats are given."""
    spent, late = zcdp.spent(cost), row.state == "expired"
    if not late:
        row.charge(spent)
    row.state, row.touched, row.answer = "settled", 1, row.number
    made = Answer(
        number=row.number, version=row.version, cost=cost, made=book.now, digest=digest(payload), canonical=first
    )
    lines = [] if late else _move(book, row, dict.fromkeys(row.payers, spent), at=book.now)
    stored = {"answer": row.number, "digest": made.digest, "cost": cost.to_json(), "canonical": int(first)}
    _end(book, row, kind="late" if late else "settle", lines=lines, **stored)
    asks.keep(book, row, made, payload=payload)
    asks.hold(book, row.number, payers=row.payers)
    book.flush()
    return asks.hand_out(book, made, row=row, charged=row.charged, payload=payload)


def _join(book: Book, row: AskRow, shared: Answer) -> StoredRelease:
    """Someone settled the same question first: give their answer, charge whoever has not paid for it, drop ours."""
    late, have = row.state == "expired", asks.paid(book, shared.number, payers=row.payers)
    charge: dict[Payer, Spent] = {payer: shared.spent for payer in row.payers if payer not in have}
    if not late:
        row.charge(charge.get(("analyst", row.analyst), _NOTHING))
    row.state, row.touched, row.answer = "settled", 1, shared.number
    lines = [] if late else _move(book, row, charge, at=book.now)
    _end(book, row, kind="late" if late else "settle", lines=lines, answer=shared.number)
    asks.hold(book, shared.number, payers=[payer for payer in row.payers if payer not in have])
    book.flush()
    return asks.hand_out(book, shared, row=row, charged=row.charged)


def _overrun(book: Book, row: AskRow, actual: Spent) -> str:
    """Charge the larger of what was used and what was held, whatever the limits say: it is spent."""
    held, late = row.held, row.state == "expired"
    used = Spent(rho=max(actual.rho, held.rho), delta=max(actual.delta, held.delta))
    row.state, row.touched = "overrun", 1
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
