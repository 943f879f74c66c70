"""Refusals that help: asked, left, who spent it on what, when it renews, what would fit, what is already answered."""

from __future__ import annotations

import json
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from hushcount.accounting import zcdp
from hushcount.accounting.spent import Spent
from hushcount.errors import BudgetExhausted
from hushcount.ledger.asks import family_digest, query_digest
from hushcount.ledger.book import Book
from hushcount.ledger.ledger import Ask, Balance, Owned, Refusal, Spender, Variant, Way
from hushcount.ledger.standing import owners
from hushcount.ledger.store import Row
from hushcount.ledger.windows import moment
from hushcount.model.budgets import STANDARD
from hushcount.model.costs import Cost

_LOOKED_AT = 50
_SHOWN = 5
# The words of a question are cut here: a filter may fill a screen. Two charges are named where they fit into a line.
_WORDS, _LINE = 60, 80
_ZERO, _NEVER = Decimal(0), Decimal("Infinity")
# Fewer standard releases than this are what rounding left of a limit.
_DUST = Decimal("0.00001")
_CHARGE = "analyst, what, charged_rho, charged_delta, cost, state, made"


def explain(
    book: Book, ask: Ask, *, short: tuple[Balance, ...], enforced: tuple[Balance, ...], everybody: bool
) -> Refusal:
    """Everything that a refused analyst wants to know and may, from a bounded number of rows.

    Args:
        book: the population's book.
        ask: what was refused.
        short: the accounts that refuse.
        enforced: all accounts with an enforced limit.
        everybody: whether the analyst may see what others asked.
    """
    room, own = _room(enforced), [balance for balance in short if balance.account.kind in {"analyst", "token"}]
    renews = [balance.renews for balance in short]
    # If only accounts of their own are short, what others spent is no part of the reason.
    charges = _mine(book, ask) if len(own) == len(short) else _latest(book)
    shown = [charge for charge in charges if everybody or charge.analyst == ask.analyst]
    hidden = [] if everybody else [charge.spent for charge in charges if charge.analyst != ask.analyst]
    return Refusal(
        asked=zcdp.spent(ask.cost),
        short=short,
        room=room,
        spenders=tuple(sorted(shown, key=lambda charge: charge.spent.rho, reverse=True)[:_SHOWN]),
        others=sum(hidden, Spent()),
        renews=None if any(moment is None for moment in renews) else max(m for m in renews if m is not None),
        variant=fitting(ask, _room(own) if ask.apart and len(own) == len(short) else room),
        stored=_stored(book, ask),
        ask_whom=owners(book.transaction, book.entity),
    )


def fitting(ask: Ask, room: Spent) -> Variant | None:
    """The cheapest of the variants that fits into `room`; where only delta is short, the one that changes least.

    Planning takes longer than all else that is told, so they are planned one by one until one fits. What may cost as
    much as one that was too dear is passed over: with more of rho, or of delta, nothing becomes cheaper in it.
    """
    by_delta = zcdp.spent(ask.cost).rho <= room.rho
    ways = [_way(one) for one in ask.variants]
    ways.sort(key=lambda way: (-way.most.rho if by_delta else way.most.rho, -way.most.delta))
    least_rho, least_delta = _NEVER, _NEVER
    for way in ways:
        variant = way.plan() if way.most.rho < least_rho and way.most.delta < least_delta else None
        if variant is None:
            continue
        spent = zcdp.spent(variant.cost)
        if spent.rho <= room.rho and spent.delta <= room.delta:
            return variant
        if spent.rho > room.rho:
            least_rho = min(least_rho, way.most.rho)
        if spent.delta > room.delta:
            least_delta = min(least_delta, way.most.delta)
    return None


def _way(one: Variant | Way) -> Way:
    return one if isinstance(one, Way) else Way(most=zcdp.spent(one.cost), plan=lambda: one)


def error(refusal: Refusal) -> BudgetExhausted:
    """The refusal as an error, in words."""
    balance = refusal.short[0]
    left = _least(balance)
    by_rho = refusal.asked.rho > left.rho
    asked, have = (refusal.asked.rho, left.rho) if by_rho else (refusal.asked.delta, left.delta)
    what = f"{'rho' if by_rho else 'delta'} of {balance.account}"
    return BudgetExhausted(what, asked=asked, left=have, refusal=refusal, text=to_text(refusal))


def to_text(refusal: Refusal) -> str:
    """The refusal in at most four short lines, told in standard releases; what to type, where one types, is a fifth."""
    asked = refusal.asked
    lines = [
        f"This question may cost {_releases(asked.rho, ROUND_CEILING)}; nothing was charged.",
        f"{_sentence('; '.join(_has(balance, asked) for balance in refusal.short))}{_renewed(refusal)}{_whom(refusal)}",
        _spent(refusal),
        " ".join(filter(None, (_fits(refusal), _yours(refusal)))),
    ]
    return "\n".join(filter(None, lines))


def _least(balance: Balance) -> Spent:
    """What an account has left; of one whose limit was cut below what was spent, nothing."""
    left = balance.left or Spent()
    return Spent(rho=max(_ZERO, left.rho), delta=max(_ZERO, left.delta))


def _has(balance: Balance, asked: Spent) -> str:
    """What an account has left of what is short there."""
    left = _least(balance)
    if asked.rho > left.rho:
        return f"the {balance.account} has {_releases(left.rho, ROUND_FLOOR)} left"
    # It is the other half of a price, and releases would not tell it.
    needed, have = _short(asked.delta, ROUND_CEILING), _short(left.delta, ROUND_FLOOR)
    return f"the {balance.account} has a delta of {have} left, and {needed} is needed"


def _renewed(refusal: Refusal) -> str:
    if refusal.renews is not None:
        return f", renewed on {refusal.renews:%Y-%m-%d %H:%M} UTC."
    never = any(balance.limit is not None and balance.limit.window == "none" for balance in refusal.short)
    return ", never renewed." if never else "."


def _spent(refusal: Refusal) -> str:
    """The dearest charges, two if they are short, and what all others come to."""
    each = [
        f"{_number(one.spent.rho, ROUND_CEILING)} by {one.analyst} "
        f"({_brief(one.what or 'a question')}, {one.when:%Y-%m-%d})"
        for one in refusal.spenders[:2]
    ]
    said = each if len("; ".join(each)) <= _LINE else each[:1]
    rest = refusal.spenders[len(said) :]
    if rest:
        amount = _number(sum((one.spent.rho for one in rest), _ZERO), ROUND_CEILING)
        said.append(f"{amount} in {len(rest)} more")
    if refusal.others != Spent():
        said.append(f"{_number(refusal.others.rho, ROUND_CEILING)} by others")
    return f"Spent lately: {'; '.join(said)}." if said else ""


def _fits(refusal: Refusal) -> str:
    if refusal.variant is not None:
        return f"This would fit: {refusal.variant}."
    if refusal.room.rho >= _DUST * STANDARD.rho:
        return f"A question of at most {_releases(refusal.room.rho, ROUND_FLOOR)} would fit."
    return ""


def _yours(refusal: Refusal) -> str:
    """What is theirs already."""
    # Of one question asked anew each time there may be several, all in the same words.
    words = dict.fromkeys(_brief(one.what or "a question") for one in refusal.stored)
    return f"Yours already, and free: {'; '.join(words)}." if words else ""


def _whom(refusal: Refusal) -> str:
    return f" For more, ask {', '.join(refusal.ask_whom)}." if refusal.ask_whom else ""


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def _brief(what: str) -> str:
    return what if len(what) <= _WORDS else f"{what[: _WORDS - 1]}…"


def _room(balances: Iterable[Balance]) -> Spent:
    """The most that fits into all of these accounts."""
    lefts = [balance.left for balance in balances if balance.left is not None]
    return Spent(rho=max(_ZERO, min(left.rho for left in lefts)), delta=max(_ZERO, min(left.delta for left in lefts)))


def _latest(book: Book) -> list[Spender]:
    """The latest charges to the population, whoever asked. A repeat of a stored answer cost it nothing."""
    # The conditions are those of the index `asks_paid`, so that repeats are not read, however many there are.
    found = book.transaction.fetch(
        f"SELECT {_CHARGE} FROM asks WHERE entity = ? AND (answer IS NULL OR answer = number) "  # noqa: S608 (own words)
        f"AND state <> 'refunded' ORDER BY number DESC LIMIT {_LOOKED_AT}",
        book.entity,
    )
    return _charges(found)


def _mine(book: Book, ask: Ask) -> list[Spender]:
    """The latest charges to this analyst's account."""
    # What was refunded is left out afterwards: the number of rows that are read is bounded, whatever they are.
    found = book.transaction.fetch(
        f"SELECT {_CHARGE} FROM asks WHERE entity = ? AND analyst = ? "  # noqa: S608 (own words)
        f"ORDER BY number DESC LIMIT {_LOOKED_AT}",
        book.entity,
        ask.analyst,
    )
    return _charges(found)


def _charges(found: list[Row]) -> list[Spender]:
    charges = [
        Spender(analyst=analyst, what=what, spent=_charged(rho, delta, cost=cost, state=state), when=moment(made))
        for analyst, what, rho, delta, cost, state, made in found
        if state != "refunded"
    ]
    return [charge for charge in charges if charge.spent != Spent()]


def _charged(rho: str, delta: str, *, cost: str, state: str) -> Spent:
    """What a query was charged, or still holds."""
    if state == "open":
        return zcdp.spent(Cost.from_json(json.loads(cost)))
    return Spent(rho=Decimal(rho), delta=Decimal(delta))


def _stored(book: Book, ask: Ask) -> tuple[Owned, ...]:
    """Answers of the same family, or to the very question, that this analyst's account has paid for."""
    alike = (
        ("r.family = ?", family_digest(ask)) if ask.family else ("r.query = ? AND r.canonical = 1", query_digest(ask))
    )
    # Only the latest of the family are looked at, however many others have asked for.
    found = book.transaction.fetch(
        "SELECT l.number, l.what FROM (SELECT r.entity, r.number, r.what FROM releases r "  # noqa: S608 (own words)
        f"WHERE r.entity = ? AND r.version = ? AND {alike[0]} ORDER BY r.number DESC LIMIT {_LOOKED_AT}) l "
        "JOIN holders h ON h.entity = l.entity AND h.number = l.number AND h.kind = 'analyst' AND h.name = ? "
        f"ORDER BY l.number DESC LIMIT {_SHOWN}",
        *(book.entity, ask.version, alike[1], ask.analyst),
    )
    keys = _keys(book, ask.analyst) if found else {}
    return tuple(Owned(number=number, what=what, key=keys.get(number)) for number, what in found)


def _keys(book: Book, analyst: str) -> dict[int, str]:
    """Under which key this analyst was given each answer, among the latest: their own asks, whoever made it."""
    found = book.transaction.fetch(
        "SELECT answer, ask_key FROM asks WHERE entity = ? AND analyst = ? "  # noqa: S608 (own words)
        f"ORDER BY number DESC LIMIT {_LOOKED_AT}",
        book.entity,
        analyst,
    )
    return {answer: key for answer, key in found if answer is not None}


def _releases(rho: Decimal, rounding: str) -> str:
    """So many standard releases."""
    number = _number(rho, rounding)
    return f"{number} standard release{'' if number == '1' else 's'}"


def _number(rho: Decimal, rounding: str) -> str:
    """In releases; a rest that no question fits into is none."""
    releases = rho / STANDARD.rho
    return "0" if rounding == ROUND_FLOOR and releases < _DUST else _short(releases, rounding)


def _short(value: Decimal, rounding: str) -> str:
    return f"{float(Context(prec=3, rounding=rounding).plus(value)):g}"
