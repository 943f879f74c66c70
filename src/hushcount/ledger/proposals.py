"""Limits from tracked history: what would have limited whom, and limits that leave most analysts alone.

The curves are those of figure 5 of "LinkedIn's Audience Engagements API": the share of analysts who would have exceeded
a limit, by days since their window opened, which is at their first query in it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Literal, TypeAlias

from hushcount.accounting.spent import EXACT, Spent
from hushcount.errors import InvalidParameter
from hushcount.ledger.ledger import Use
from hushcount.ledger.limits import Limit, rho_limit
from hushcount.ledger.windows import Window, ends
from hushcount.model.amounts import Number, allow, positive, probability
from hushcount.model.frozen import frozen

Measure: TypeAlias = Literal["rho", "delta"]
_DAYS = {"day": 1, "week": 7, "month": 31}
# (analyst, end of the window) to the charges in it: days since it opened, and the amount.
_Windows: TypeAlias = Mapping[tuple[str, datetime], list[tuple[int, Decimal]]]


@frozen
class Exceeding:
    """The share of analysts who would have exceeded `limit` within so many days; `shares[0]` is the first day."""

    measure: Measure
    limit: Decimal
    shares: tuple[float, ...]


@frozen
class Stop:
    """When a limit would first have stopped an analyst: the moment, and how many days after their window opened."""

    analyst: str
    at: datetime
    day: int
    measure: Measure


@frozen
class Proposal:
    """A limit that would have left at least `share` of the analysts alone, and whom it would have stopped."""

    limit: Limit
    share: float
    analysts: int
    stopped: tuple[str, ...]


def exceeding(
    uses: Iterable[Use], limits: Sequence[Number], *, measure: Measure, window: Window = "month"
) -> tuple[Exceeding, ...]:
    """The curves of figure 5, one per limit. An analyst counts as exceeding if any of their windows would have."""
    grouped = _group(uses, measure, window)
    analysts = {analyst for analyst, _ in grouped}
    curves = []
    for limit in (allow(positive("limit", value)) for value in limits):
        first: dict[str, int] = {}
        for (analyst, _), charges in grouped.items():
            day = _exceeded(charges, limit)
            if day is not None:
                first[analyst] = min(day, first.get(analyst, day))
        shares = tuple(_share(first.values(), day, len(analysts)) for day in range(_DAYS[window]))
        curves.append(Exceeding(measure=measure, limit=limit, shares=shares))
    return tuple(curves)


def stops(uses: Iterable[Use], limit: Limit) -> tuple[Stop, ...]:
    """Whom a limit would have stopped in any of their windows, and when first; the earliest first."""
    ceiling, found = limit.ceiling, dict[str, Stop]()
    running: dict[tuple[str, datetime], tuple[datetime, Spent]] = {}
    for use in sorted(uses, key=lambda use: use.at):
        key = use.analyst, ends(limit.window, use.at)
        opened, before = running.get(key, (use.at, Spent()))
        rho, delta = EXACT.add(before.rho, use.spent.rho), EXACT.add(before.delta, use.spent.delta)
        running[key] = opened, Spent(rho=rho, delta=delta)
        if use.analyst not in found and (rho > ceiling.rho or delta > ceiling.delta):
            measure: Measure = "rho" if rho > ceiling.rho else "delta"
            found[use.analyst] = Stop(analyst=use.analyst, at=use.at, day=(use.at - opened).days, measure=measure)
    return tuple(found.values())


def propose(uses: Iterable[Use], *, share: Number = "0.95", window: Window = "month") -> Proposal:
    """The smallest limit that would have left at least `share` of the analysts alone, each in all of their windows.

    Rho and delta are each set so that no more than half of the rest is stopped by it.
    """
    kept = list(uses)
    largest = {measure: _largest(_group(kept, measure, window)) for measure in ("rho", "delta")}
    if not largest["rho"]:
        raise InvalidParameter("uses", "nothing", "a history with at least one query", "Track for a while first.")
    rest = (1 - probability("share", share)) / 2
    rho, delta = (_quantile(list(largest[measure].values()), rest) for measure in ("rho", "delta"))
    stopped = {who for who, most in largest["rho"].items() if most > rho}
    stopped |= {who for who, most in largest["delta"].items() if most > delta}
    return Proposal(
        limit=rho_limit(rho, delta, window=window),
        share=1 - len(stopped) / len(largest["rho"]),
        analysts=len(largest["rho"]),
        stopped=tuple(sorted(stopped)),
    )


def _group(uses: Iterable[Use], measure: str, window: Window) -> _Windows:
    if window not in _DAYS:
        raise InvalidParameter("window", window, f"one of {', '.join(_DAYS)}")
    opened: dict[tuple[str, datetime], datetime] = {}
    grouped: dict[tuple[str, datetime], list[tuple[int, Decimal]]] = defaultdict(list)
    for use in sorted(uses, key=lambda use: use.at):
        key = use.analyst, ends(window, use.at)
        since = use.at - opened.setdefault(key, use.at)
        grouped[key].append((since.days, getattr(use.spent, measure)))
    return grouped


def _exceeded(charges: list[tuple[int, Decimal]], limit: Decimal) -> int | None:
    """The day on which the running total first exceeds the limit."""
    total = Decimal(0)
    for day, spent in charges:
        total = EXACT.add(total, spent)
        if total > limit:
            return day
    return None


def _largest(grouped: _Windows) -> dict[str, Decimal]:
    """The dearest window of every analyst."""
    most: dict[str, Decimal] = {}
    for (analyst, _), charges in grouped.items():
        total = Decimal(0)
        for _, spent in charges:
            total = EXACT.add(total, spent)
        most[analyst] = max(total, most.get(analyst, Decimal(0)))
    return most


def _quantile(values: list[Decimal], rest: Decimal) -> Decimal:
    """The smallest of the values that at most the share `rest` of them exceeds."""
    ranked = sorted(values)
    return ranked[len(ranked) - 1 - math.floor(rest * len(ranked))]


def _share(days: Iterable[int], day: int, analysts: int) -> float:
    return sum(first <= day for first in days) / analysts if analysts else 0.0
