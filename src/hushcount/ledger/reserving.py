"""Reserve: hold the worst case on every account, or hand over the stored answer. Runs inside one transaction."""

from __future__ import annotations

from datetime import timedelta

from hushcount.accounting import zcdp
from hushcount.accounting.spent import Spent
from hushcount.errors import CostOverrun, InvalidParameter, KeyReused, NotPermitted, ReservationClosed
from hushcount.ledger import asks, refusal
from hushcount.ledger.accounts import AccountState, Payer
from hushcount.ledger.asks import AskRow, StoredAnswer
from hushcount.ledger.book import Book, accounts, look, rules
from hushcount.ledger.ledger import SILENT, Account, Ask, Balance, Quote, Refusal, Reservation, StoredRelease
from hushcount.ledger.limits import Limit, Mode, more_like
from hushcount.ledger.names import is_name, named
from hushcount.ledger.settling import may_settle_late, within
from hushcount.ledger.standing import accounts_of, refuse_frozen, standing, standing_statement
from hushcount.ledger.store import Statement, Transaction
from hushcount.ledger.windows import SHOWN, moment
from hushcount.model.frozen import frozen


@frozen
class PricedAsk:
    """An ask with all that can be told of it before a book is held, for then everybody else waits.

    Attributes:
        ask: what is asked.
        worst: what it may cost.
        draft: its row, as far as it is known.
    """

    ask: Ask
    worst: Spent
    draft: AskRow


@frozen
class Effect:
    """What an ask would do to its accounts.

    Attributes:
        everybody: whether the analyst may see what others asked.
        payers: all accounts concerned.
        charged: those that have not paid for a stored answer yet.
        worst: what each of them must have room for. Whether there is room is decided by this alone: what a stored
            answer cost in fact was read from the data, and is told to nobody who has not paid for it.
        limits: the limits in force.
        states: the accounts of all payers.
        over: the accounts without room.
        stored: the stored answer that would be handed over.
    """

    everybody: bool
    payers: list[Payer]
    charged: list[AccountState]
    worst: Spent
    limits: dict[Payer, Limit]
    states: list[AccountState]
    over: tuple[AccountState, ...]
    stored: StoredAnswer | None

    @property
    def refused(self) -> list[AccountState]:
        """The accounts that refuse."""
        return [state for state in self.over if self.limits[state.payer].mode == "enforce"]

    @property
    def mode(self) -> Mode:
        """Says "track" if a limit concerned is only tracked, or if there is none at all: then the result is marked."""
        modes = [self.limits[payer].mode for payer in self.payers if payer in self.limits]
        return "enforce" if modes and "track" not in modes else "track"


def wanted(ask: Ask) -> PricedAsk:
    """Look at an ask before the ledger is opened.

    Raises:
        InvalidParameter: it could not be kept.
    """
    for what, name in (("analyst", ask.analyst), ("dataset", ask.dataset), ("version", ask.version), ("key", ask.key)):
        named(what, name)
    if ask.token is not None:
        named("token", ask.token)
    if ask.lifetime.total_seconds() <= 0:
        raise InvalidParameter("lifetime", ask.lifetime, "above zero")
    return PricedAsk(ask=ask, worst=zcdp.spent(ask.cost), draft=asks.draft(ask))


def decide(book: Book, wanted: PricedAsk, *, silent: frozenset[str] = SILENT) -> Effect:
    """What the ask would be charged, to whom, and who refuses. Changes nothing that is written."""
    ask, worst = wanted.ask, wanted.worst
    book.transaction.send(looked_up(book.entity, wanted))
    person = standing(book.transaction, ask.analyst, book.entity, dataset=ask.dataset)
    if person.role in silent:
        reads = "the ledger" if person.role == "auditor" else "what was published"
        raise NotPermitted(
            f"{ask.analyst!r} is {person.role} here: {person.role}s read {reads} and ask no questions. Nothing was "
            "charged."
        )
    refuse_frozen(person.frozen)
    payers = accounts_of(ask.analyst, person.groups, book.entity, token=ask.token)
    stored = None if ask.fresh else asks.canonical_answer(book, ask.version, wanted.draft.query, shown=True)
    if stored is not None and not within(stored.spent, worst):
        # Asked for less than the stored answer cost: as in `settle`, that one is not handed over.
        stored = None
    have = asks.paid(book, stored.number, payers=payers) if stored else set()
    if ask.apart and ("analyst", ask.analyst) not in have:
        # As if nobody had asked: every account must have room for it.
        have = set()
    states, limits = book.load(payers), book.limits(payers)
    over = tuple(
        state
        for state in states
        if state.payer not in have and state.payer in limits and not _fits(worst, book.left(state, limits[state.payer]))
    )
    return Effect(
        everybody=person.sees_all,
        payers=payers,
        charged=[state for state in states if state.payer not in have],
        worst=worst,
        limits=limits,
        states=states,
        over=over,
        stored=stored,
    )


def looked_up(entity: str, wanted: PricedAsk) -> list[Statement]:
    """What `decide` fetches, as far as it is known before the asker's groups are."""
    ask = wanted.ask
    payers = accounts_of(ask.analyst, (), entity, token=ask.token)
    return [
        standing_statement(ask.analyst, entity, ask.dataset),
        *([] if ask.fresh else [asks.of_question(entity, ask.version, wanted.draft.query, shown=True)]),
        accounts(entity, payers),
        rules(entity, payers),
    ]


def quote(book: Book, wanted: PricedAsk) -> Quote:
    """What `reserve` would do now. A reader may know the price, too."""
    decision = decide(book, wanted, silent=SILENT - {"reader"})
    balances = _balances(book, decision)
    lefts = [balance.left for balance in balances if balance.left is not None and _enforced(balance)]
    counts = [count for left in lefts if (count := more_like(left, decision.worst)) is not None]
    mine = any(state.kind == "analyst" for state in decision.charged)
    return Quote(
        charge=decision.worst if mine else Spent(),
        stored=decision.stored is not None,
        refusal=_explain(book, wanted.ask, decision) if decision.refused else None,
        balances=balances,
        more=min(counts, default=None),
    )


def reserve(book: Book, wanted: PricedAsk) -> Reservation | StoredRelease:
    """Hold the worst case, or return what the same key or the same question got before."""
    ask = wanted.ask
    earlier = asks.by_key(book.transaction, ask.analyst, ask.key)
    if earlier is not None:
        return _again(book, wanted, earlier)
    decision = decide(book, wanted)
    if decision.refused:
        raise refusal.error(_explain(book, ask, decision))
    row = asks.make_row(book, wanted.draft, decision.payers, mode=decision.mode)
    for state in decision.charged:
        limit = decision.limits.get(state.payer)
        state.roll(book.now, limit.window if limit is not None and limit.window != "none" else SHOWN)
        state.queries += 1
        book.save(state)
    expires = book.now + ask.lifetime // timedelta(microseconds=1)
    if decision.stored is None:
        return _hold(book, row, decision, expires=expires)
    if ask.apart and len(decision.charged) == len(decision.payers):
        row.answer = decision.stored.number
        _hold(book, row, decision, expires=expires)
        return asks.hand_out(book, decision.stored, row=row)
    return _repeat(book, row, decision)


def recall(transaction: Transaction, analyst: str, key: str) -> Reservation | StoredRelease | None:
    """What became of an attempt; see `Ledger.recall`."""
    found = asks.by_key(transaction, analyst, key) if is_name(analyst, key) else None
    if found is None:
        return None
    entity, row = found
    # What was asked then is where it was asked, also if the data set has moved since.
    following = [] if row.answer is None else asks.of_answer(entity, row.answer)
    book = look(transaction, entity, follow=False, following=following)
    if row.answer is not None:
        stored = asks.answer(book, row.answer)
        return asks.hand_out(book, stored, row=row, charged=_charge(book, row, stored))
    if row.state == "overrun":
        raise _overran(key)
    return asks.reservation(book, row)


def _charge(book: Book, row: AskRow, stored: StoredAnswer) -> Spent:
    """What an answered ask charged to its analyst, or will as soon as it shows."""
    if row.state == "open" and not asks.paid(book, stored.number, payers=[("analyst", row.analyst)]):
        row.charge(stored.spent)
    return row.charged


def _hold(book: Book, row: AskRow, decision: Effect, *, expires: int) -> Reservation:
    row.expires = expires
    book.expiry = min(book.expiry, expires)
    lines = [state.move(reserved=decision.worst) for state in decision.charged]
    over = [list(state.payer) for state in decision.over]
    book.append("reserve", row.analyst, ask=asks.as_body(row), lines=lines, over=over, limits=_seen(decision))
    asks.insert(book, row)
    book.flush()
    accounts = tuple(Account(kind=state.kind, name=state.name, entity=book.entity) for state in decision.over)
    return asks.reservation(book, row, over=accounts)


def _repeat(book: Book, row: AskRow, decision: Effect) -> StoredRelease:
    """Hand over a stored answer: charged to whoever has not paid for it, and recorded also if that is nobody."""
    if decision.stored is None:  # pragma: no cover (the caller looked)
        raise LookupError(row.number)
    spent = decision.stored.spent
    mine = any(state.kind == "analyst" for state in decision.charged)
    row.state, row.answer = "settled", decision.stored.number
    row.charge(spent if mine else Spent())
    over = [list(state.payer) for state in decision.over if not _fits(spent, state.left(decision.limits[state.payer]))]
    lines = [state.move(spent=spent) for state in decision.charged]
    book.append("repeat", row.analyst, ask=asks.as_body(row), lines=lines, over=over, limits=_seen(decision))
    asks.insert(book, row)
    asks.hold(book, decision.stored.number, payers=[state.payer for state in decision.charged])
    book.flush()
    return asks.hand_out(book, decision.stored, row=row, charged=row.charged)


def _again(book: Book, wanted: PricedAsk, earlier: tuple[str, AskRow]) -> Reservation | StoredRelease:
    """The same key again: what it got before, if it is the same request. Nothing is written for it."""
    (entity, row), ask, frozen = earlier, wanted.ask, None
    if row.answer is None:
        # What was answered stays; for what is not, data would be read now.
        frozen = standing(book.transaction, ask.analyst, book.entity, dataset=ask.dataset).frozen
    if row.request != wanted.draft.request:
        raise KeyReused(
            f"the key {ask.key!r} was used for another request ({row.what or 'no words given'}, at "
            f"{moment(row.made):%Y-%m-%d %H:%M} UTC). Use a new key for a new question; nothing was charged now."
        )
    if entity != book.entity:
        # The data set has moved to another population since; what was asked then is where it was asked.
        book = look(book.transaction, entity, follow=False)
    if row.answer is not None:
        stored = asks.answer(book, row.answer)
        return asks.hand_out(book, stored, row=row)
    if row.state == "overrun":
        raise _overran(ask.key)
    refuse_frozen(frozen, held=True)
    # A book that the data set has left may hold reservations that nobody came by to charge yet.
    over = row.state == "expired" or row.expires <= book.now
    if over and not may_settle_late(book, row):
        raise ReservationClosed(
            f"the reservation of key {ask.key!r} expired in an earlier window and was charged in full. Use a new key."
        )
    if row.version != ask.version:
        raise KeyReused(
            f"the data changed while the query of key {ask.key!r} was running; what was held for it stays charged "
            "unless it is refunded. Use a new key to ask the new data."
        )
    return asks.reservation(book, row)


def _overran(key: str) -> CostOverrun:
    return CostOverrun(f"the query of key {key!r} used more than was reserved: it was charged, not released.")


def _explain(book: Book, ask: Ask, decision: Effect) -> Refusal:
    balances = _balances(book, decision)
    short = tuple(b for s in decision.refused for b in balances if (b.account.kind, b.account.name) == s.payer)
    enforced = tuple(balance for balance in balances if _enforced(balance))
    return refusal.explain(book, ask, short=short, enforced=enforced, everybody=decision.everybody)


def _balances(book: Book, decision: Effect) -> tuple[Balance, ...]:
    """Of all payers, before the query."""
    return tuple(book.balance(state, decision.limits.get(state.payer)) for state in decision.states)


def _enforced(balance: Balance) -> bool:
    return balance.limit is not None and balance.limit.mode == "enforce"


def _fits(asked: Spent, left: Spent) -> bool:
    # A part that asks for nothing always fits: a known-domain query has no delta and runs where no call is left.
    return (asked.rho <= left.rho or asked.rho == 0) and (asked.delta <= left.delta or asked.delta == 0)


def _seen(decision: Effect) -> list[list[str]]:
    """The limits that were held against, for the log: a replay needs no other book to check them."""
    rows = []
    for state in decision.charged:
        limit = decision.limits.get(state.payer)
        if limit is not None:
            rows.append([*state.payer, str(limit.ceiling.rho), str(limit.ceiling.delta), limit.window, limit.mode])
    return rows
