"""Cost events: the only currency between mechanisms, accountants and the ledger.

Charter. A cost event says which kind of randomised step was run, in parameters that a theorem can be applied to; it
does not say what the step is worth, which is an accountant's business. Kinds are only ever added. The meaning of a kind
and of its fields never changes. An accountant that does not know a kind refuses it; nothing is ever skipped. All events
are for the neighbouring relation "one person and all their rows are added or removed".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, TypeAlias

from hushcount.errors import UnsupportedCost
from hushcount.model.frozen import frozen


@frozen
class Gaussian:
    """Gaussian noise of deviation sigma on l2-sensitivity s, rho = s²/(2 sigma²): (2 rho)^½-GDP and rho-zCDP."""

    rho: Decimal


@frozen
class DiscreteGaussian:
    """Discrete Gaussian noise on integers, same rho: rho-zCDP (Canonne, Kamath, Steinke), *not* exactly Gaussian DP."""

    rho: Decimal


@frozen
class Concentrated:
    """Any rho-zCDP step, or a sequence of steps held below rho by a filter."""

    rho: Decimal


@frozen
class Truncated:
    """Any step with D_a <= rho a for Renyi orders 1 < a <= order, and nothing said of higher ones (truncated CDP)."""

    rho: Decimal
    order: Decimal


@frozen
class BoundedRange:
    """One epsilon-bounded-range step, such as one exponential-mechanism choice: epsilon-DP and epsilon²/8-zCDP."""

    epsilon: Decimal


@frozen
class Pure:
    """One epsilon-DP step, such as discrete Laplace noise of scale (l1-sensitivity)/epsilon."""

    epsilon: Decimal


@frozen
class Approximate:
    """One (epsilon, delta)-DP step about which nothing more is known, such as k-TSGD or the optimal primitive."""

    epsilon: Decimal
    delta: Decimal


@frozen
class Failure:
    """With probability at most delta the step it stands beside shows something that its neighbour cannot show."""

    delta: Decimal


Event: TypeAlias = Gaussian | DiscreteGaussian | Concentrated | Truncated | BoundedRange | Pure | Approximate | Failure

KINDS: dict[str, type[Event]] = {
    "gaussian": Gaussian,
    "discrete-gaussian": DiscreteGaussian,
    "concentrated": Concentrated,
    "truncated": Truncated,
    "bounded-range": BoundedRange,
    "pure": Pure,
    "approximate": Approximate,
    "failure": Failure,
}
_NAMES = {kind: name for name, kind in KINDS.items()}
JSON_VERSION = 1
# All Renyi orders.
EVERY_ORDER = Decimal("Infinity")


@dataclass(frozen=True, slots=True)
class Cost:
    """A bag of events, each with how many times it happened. Order carries no meaning."""

    events: tuple[tuple[Event, int], ...] = ()

    @staticmethod
    def of(*events: Event | tuple[Event, int]) -> Cost:
        """A cost from single events and (event, times) pairs; equal events are merged, zero times are dropped."""
        times: dict[Event, int] = {}
        for entry in events:
            event, count = entry if isinstance(entry, tuple) else (entry, 1)
            if count < 0:
                raise ValueError(f"an event cannot happen {count} times")
            if count:
                times[event] = times.get(event, 0) + count
        return Cost(tuple(sorted(times.items(), key=lambda pair: (_NAMES[type(pair[0])], repr(pair[0])))))

    def __add__(self, other: Cost) -> Cost:
        return Cost.of(*self.events, *other.events)

    @staticmethod
    def total(costs: Iterable[Cost]) -> Cost:
        """All of `costs` together, merged once."""
        return Cost.of(*(pair for cost in costs for pair in cost.events))

    @property
    def order(self) -> Decimal:
        """The largest Renyi order at which all of the events are known to hold; infinite if none is truncated."""
        return min((event.order for event, _ in self.events if isinstance(event, Truncated)), default=EVERY_ORDER)

    def to_json(self) -> dict[str, Any]:
        """A JSON form that later versions will still read."""
        rows = []
        for event, times in self.events:
            values = {field.name: str(getattr(event, field.name)) for field in fields(event)}
            rows.append({"kind": _NAMES[type(event)], "times": times, **values})
        return {"version": JSON_VERSION, "events": rows}

    @staticmethod
    def from_json(form: dict[str, Any]) -> Cost:
        """The cost that `to_json` wrote. Unknown versions and kinds are refused, never skipped."""
        if form.get("version") != JSON_VERSION:
            raise UnsupportedCost(
                f"cost form version {form.get('version')!r} is unknown; this version reads {JSON_VERSION}"
            )
        pairs = []
        for row in form["events"]:
            kind = KINDS.get(row["kind"])
            if kind is None:
                raise UnsupportedCost(f"cost kind {row['kind']!r} is unknown; a newer hushcount wrote it")
            values = {field.name: Decimal(row[field.name]) for field in fields(kind)}
            pairs.append((kind(**values), int(row["times"])))
        return Cost.of(*pairs)
