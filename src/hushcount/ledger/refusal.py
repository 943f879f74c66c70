"""Refusals that help: asked, left, who spent it on what, when it renews, what would fit, what is already answered."""

from __future__ import annotations

import json
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from hushcount.accounting import zcdp
from hushcount.accounting.spent import Spent
from hushcount.errors import BudgetExhausted
from hushcount.ledger.asks import family_digest, query_digest
from hushcount.ledger.book import Book
from hushcount.ledger.ledger import Ask, Balance, Refusal, Spender, Variant
from hushcount.ledger.standing import owners
from hushcount.ledger.windows import moment
from hushcount.model.costs import Cost

_LOOKED_AT = 50
_SHOWN = 5
_ZERO = Decimal(0)


def explain(
    book: Book, ask: Ask, *, asked: Spent, short: tuple[Balance, ...], enforced: tuple[Balance, ...]
) -> Refusal:
    """Everything that a refused analyst wants to know, from a bounded number of rows.

    Args:
        book: the data set's book.
        ask: what was refused.
        asked: its worst case.
        short: the accounts that refuse.
        enforced: all accounts with an enforced limit.
    """
    lefts = [balance.left for balance in enforced if balance.left is not None]
    room = Spent(rho=max(_ZERO, min(left.rho for left in lefts)), delta=max(_ZERO, min(left.delta for left in lefts)))
    renews = [balance.renews for balance in short]
    return Refusal(
        asked=asked,
        short=short,
        room=room,
        spenders=_spenders(book, ask, short),
        renews=None if any(moment is None for moment in renews) else max(m for m in renews if m is not None),
        variant=cheapest_fitting(ask.variants, room),
        stored=_stored(book, ask),
        ask_whom=owners(book.rows, book.entity),
    )


def cheapest_fitting(variants: tuple[Variant, ...], room: Spent) -> Variant | None:
    """The cheapest of the variants that fits into `room`, by rho and then by delta."""
    priced = [(zcdp.spent(variant.cost), variant) for variant in variants]
    fitting = [(s.rho, s.delta, i) for i, (s, _) in enumerate(priced) if s.rho <= room.rho and s.delta <= room.delta]
    return priced[min(fitting)[2]][1] if fitting else None


def error(refusal: Refusal) -> BudgetExhausted:
    """The refusal as an error, in words."""
    balance = refusal.short[0]
    left = balance.left or Spent()
    by_rho = refusal.asked.rho > left.rho
    asked, have = (refusal.asked.rho, left.rho) if by_rho else (refusal.asked.delta, left.delta)
    what = f"{'rho' if by_rho else 'delta'} of {balance.account}"
    return BudgetExhausted(what, asked=asked, left=have, refusal=refusal, text=to_text(refusal))


def to_text(refusal: Refusal) -> str:
    """The refusal in sentences."""
    asked = refusal.asked
    lines = [f"This query may cost rho = {_up(asked.rho)} and delta = {_up(asked.delta)}; nothing was charged."]
    for balance in refusal.short:
        left = balance.left or Spent()
        lines.append(f"The {balance.account} has rho = {_down(left.rho)} and delta = {_down(left.delta)} left.")
    if refusal.spenders:
        spent = "; ".join(
            f"{s.analyst}: {s.what or 'a query'}, rho = {_up(s.spent.rho)}, {s.when:%Y-%m-%d %H:%M}"
            for s in refusal.spenders
        )
        lines.append(f"Spent lately by {spent}.")
    if refusal.renews is not None:
        lines.append(f"It renews on {refusal.renews:%Y-%m-%d %H:%M} UTC.")
    else:
        lines.append("It is never renewed.")
    if refusal.variant is not None:
        lines.append(f"This would fit: {refusal.variant.label}.")
    elif refusal.room.rho > 0:
        lines.append(f"A query of at most rho = {_down(refusal.room.rho)} would fit.")
    if refusal.stored:
        found = ", ".join(f"{number} ({what or 'no words given'})" for number, what in refusal.stored)
        lines.append(f"Already yours, for free: release {found}.")
    if refusal.ask_whom:
        lines.append(f"To raise the limit, ask {', '.join(refusal.ask_whom)}.")
    return " ".join(lines)


def _spenders(book: Book, ask: Ask, short: tuple[Balance, ...]) -> tuple[Spender, ...]:
    """The dearest of the latest charges, of this analyst alone if only their own account is short."""
    mine = all(balance.account.kind == "analyst" for balance in short)
    # A repeat of a stored answer cost the data set nothing, so it is listed to its own analyst only.
    whose = "analyst = ?" if mine else "(answer IS NULL OR answer = number)"
    found = book.rows.fetch(
        "SELECT analyst, what, charged_rho, charged_delta, cost, state, made FROM asks "  # noqa: S608 (no outside text)
        f"WHERE entity = ? AND {whose} AND state <> 'refunded' ORDER BY number DESC LIMIT {_LOOKED_AT}",
        book.entity,
        *([ask.analyst] if mine else []),
    )
    charges = [
        Spender(analyst=analyst, what=what, spent=_charged(rho, delta, cost=cost, state=state), when=moment(made))
        for analyst, what, rho, delta, cost, state, made in found
    ]
    dearest = sorted((c for c in charges if c.spent != Spent()), key=lambda c: c.spent.rho, reverse=True)
    return tuple(dearest[:_SHOWN])


def _charged(rho: str, delta: str, *, cost: str, state: str) -> Spent:
    """What a query was charged, or still holds."""
    if state == "open":
        return zcdp.spent(Cost.from_json(json.loads(cost)))
    return Spent(rho=Decimal(rho), delta=Decimal(delta))


def _stored(book: Book, ask: Ask) -> tuple[tuple[int, str], ...]:
    """Answers of the same family, or to the very question, that this analyst's account has paid for."""
    found = book.rows.fetch(
        "SELECT r.number, r.what FROM releases r "  # noqa: S608 (no outside text)
        "JOIN holders h ON h.entity = r.entity AND h.number = r.number "
        "AND h.kind = 'analyst' AND h.name = ? WHERE r.entity = ? AND r.version = ? "
        f"AND {'r.family' if ask.family else 'r.query'} = ? ORDER BY r.number DESC LIMIT {_SHOWN}",
        ask.analyst,
        book.entity,
        ask.version,
        family_digest(ask) or query_digest(ask),
    )
    return tuple((number, what) for number, what in found)


def _up(value: Decimal) -> str:
    return _short(value, ROUND_CEILING)


def _down(value: Decimal) -> str:
    return _short(value, ROUND_FLOOR)


def _short(value: Decimal, rounding: str) -> str:
    return f"{float(Context(prec=4, rounding=rounding).plus(value)):g}"
