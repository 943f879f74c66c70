"""The exact step: the whole output law on both of two neighbours, and the (epsilon, delta) curve between them.

The curve is the least that any proof could claim for these neighbours, so it must nowhere be above the claim. Every run
is also priced from the calls it made, and must not cost more than it charged. What is not priced, call by call, are the
deltas of thresholds: they are in the curve.

Errors go one way. A law is known up to the probability that was not followed, and what is missing on the second
neighbour could lie where it does most harm to the finding: so e^epsilon times it is taken off. What is reported is
proven, up to the rounding of doubles.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from hushcount.accounting import basic, zcdp
from hushcount.audit.exact.enumeration import DrawsOutsideHook, OutputLaw, Path, enumerate_law, fixed_salts
from hushcount.audit.finding import Finding, Point
from hushcount.audit.neighbours import Neighbours, Table
from hushcount.audit.pricing import overspent, price
from hushcount.audit.subject import Subject
from hushcount.model.costs import Cost
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Counts, Histogram, Holdings, Incidence
from hushcount.noise.calls import AnyCall, Peel, items_of

# What the rounding of doubles can add up to in a curve: a claim is broken only by more than this.
_ROUNDING = 1e-9
# Epsilons that are looked at. Between two of them no excess above this factor can hide.
_LAST, _STEP, _DEPTH, _CLOSE = 10.0, 0.25, 6, 1.02
# A law of which more than this is missing shows too little: tables with as many items are then left out.
_TOO_MUCH = 1e-3
# Everything about a call that its price depends on.
_NOT_PRICED = {"keys", "values", "priors", "table", "ladders"}


@frozen
class Effort:
    """How much to do for one subject, in runs, not in seconds: the verdict is then the same on every machine.

    Attributes:
        runs: after so many no further pair of neighbours is begun.
        runs_on_lists: the same for mechanisms that go through everybody's lists, where a run takes longer.
        runs_for_a_law: no law takes more.
        missing: how much of a law may be missing, if these runs allow it.
        stop_when_broken: whether the first pair that breaks the claim is the last.
    """

    runs: int
    runs_on_lists: int
    runs_for_a_law: int
    missing: float
    stop_when_broken: bool


QUICK = Effort(runs=400, runs_on_lists=150, runs_for_a_law=500, missing=1e-6, stop_when_broken=True)
FULL = Effort(runs=5000, runs_on_lists=1500, runs_for_a_law=3000, missing=1e-7, stop_when_broken=False)


@frozen
class TwoLaws:
    """Two laws side by side: the probability of each output under either, and what is missing of the second."""

    likely: npt.NDArray[np.float64]
    rare: npt.NDArray[np.float64]
    missing: float

    def delta(self, epsilon: float) -> float:
        """The least delta that is proven necessary at this epsilon; falls with epsilon."""
        return self.deltas([epsilon])[0]

    def deltas(self, epsilons: Sequence[float]) -> list[float]:
        """As `delta`, for many epsilons at once."""
        growth = np.exp(np.array(epsilons))
        over = np.maximum(self.likely - growth[:, None] * self.rare, 0).sum(axis=1)
        proven: list[float] = np.maximum(over - growth * self.missing, 0).tolist()
        return proven


@frozen
class _Seen:
    """A place on the curve of a pair, beside the claim; in which direction is in the words."""

    at: Point
    claimed: float
    where: str

    @property
    def ratio(self) -> float:
        """Above one only if the claim is broken."""
        return self.at.delta / (self.claimed + _ROUNDING)


@dataclass(slots=True, kw_only=True)
class _Search:
    """One subject under way."""

    subject: Subject
    effort: Effort
    claim: Callable[[float], float]
    epsilons: tuple[float, ...]
    claims: npt.NDArray[np.float64] = field(init=False)
    highest: npt.NDArray[np.float64] = field(init=False)
    tables: dict[Table, OutputLaw] = field(default_factory=dict)
    laws: dict[Hashable, OutputLaw] = field(default_factory=dict)
    verdicts: dict[Hashable, str | None] = field(default_factory=dict)
    worst: _Seen | None = None
    unpaid: tuple[str, str] | None = None
    runs: int = 0
    pairs: int = 0
    outputs: int = 0
    missing: float = 0.0
    draws: int = 0
    too_many_items: float = math.inf

    def __post_init__(self) -> None:
        self.claims = np.array([self.claim(epsilon) for epsilon in self.epsilons])
        self.highest = np.zeros(len(self.epsilons))

    @property
    def broken(self) -> bool:
        """Whether a claim was broken."""
        return self.unpaid is not None or (self.worst is not None and self.worst.ratio > 1)


def exact(
    subject: Subject, *, quick: bool, say: Callable[[str], None] = lambda _: None, effort: Effort | None = None
) -> Finding:
    """Compare the curve of every pair of neighbours, as far as the effort goes, with the subject's claim.

    Args:
        subject: what to look at.
        quick: less effort, and stop at the first pair that breaks the claim.
        say: told what is looked at.
        effort: another effort than these two.
    """
    say(f"exact: {subject.name}, {subject.variant}")
    begun = time.monotonic()
    effort = effort or (QUICK if quick else FULL)
    most_runs = effort.runs if subject.mechanism.wants == "histogram" else effort.runs_on_lists
    claim = _remembered(subject.claim.delta)
    search = _Search(subject=subject, effort=effort, claim=claim, epsilons=_epsilons(subject))
    family = list(subject.neighbours())
    try:
        for pair in family:
            if search.runs >= most_runs or (search.broken and effort.stop_when_broken):
                break
            if pair.items < search.too_many_items:
                _look(search, pair)
    except DrawsOutsideHook as error:
        search.unpaid = (str(error), "a draw was made outside the hook, so that nothing is known about it")
    if not search.draws and not search.broken:
        search.unpaid = ("no run drew anything, so nothing was looked at", "plan it so that it answers: see `small`")
    looked = (
        f"{search.pairs} of {len(family)} neighbours, {search.outputs:,} outputs in {search.runs:,} runs; "
        f"laws known to {search.missing:.0e}; {subject.variant}"
    )
    return replace(_finding(search), looked=looked, seconds=time.monotonic() - begun)


def compare(subject: Subject, pair: Neighbours, *, quick: bool = False) -> float:
    """On one pair of neighbours, the largest proven delta beside the claimed one: above one if the claim is broken.

    Infinite if a run cost more than it charged.
    """
    search = _Search(
        subject=subject,
        effort=QUICK if quick else FULL,
        claim=_remembered(subject.claim.delta),
        epsilons=_epsilons(subject),
    )
    _look(search, pair)
    return math.inf if search.unpaid else search.worst.ratio if search.worst else 0.0


def _look(search: _Search, pair: Neighbours) -> None:
    """Both laws of a pair, and both directions."""
    one, two = (_law(search, rows, pair.where) for rows in (pair.rows, pair.without))
    search.pairs += 1
    search.outputs += len(one.chances.keys() | two.chances.keys())
    search.missing = max(search.missing, one.missing, two.missing)
    if max(one.missing, two.missing) > _TOO_MUCH:
        search.too_many_items = pair.items
    ways = ((one, two, "with the person against without"), (two, one, "without the person against with"))
    for likely, rare, words in ways:
        seen = _worst_place(search, _curve(likely, rare), f"{pair.where}; {words}")
        if search.worst is None or seen.ratio > search.worst.ratio:
            search.worst = seen


def _law(search: _Search, rows: Table, where: str) -> OutputLaw:
    """The law on one table, of which many come again: without the person two pairs may be the same."""
    if rows not in search.tables:
        search.tables[rows] = _law_of_input(search, rows, where)
    return search.tables[rows]


def _law_of_input(search: _Search, rows: Table, where: str) -> OutputLaw:
    """As above; tables that give the mechanism the same input have the same law."""
    subject = search.subject
    bounded = subject.read(rows, fixed_salts())
    key = _key(bounded, rows)
    if key not in search.laws:
        law = enumerate_law(
            lambda noise: subject.run(bounded, subject.plan, noise),
            missing=search.effort.missing,
            most_paths=search.effort.runs_for_a_law,
            look=lambda path: _price(search, path, where),
        )
        search.laws[key] = law
        search.runs += law.paths
    return search.laws[key]


def _key(bounded: Counts | Incidence | Holdings, rows: Table) -> Hashable:
    if isinstance(bounded, Histogram):
        return (tuple(bounded.items.tolist()), tuple(bounded.counts.tolist()), bounded.complete)
    return tuple(sorted(rows))


def _curve(likely: OutputLaw, rare: OutputLaw) -> TwoLaws:
    outputs = list(likely.chances)
    return TwoLaws(
        likely=np.array([likely.chances[output] for output in outputs]),
        rare=np.array([rare.chances.get(output, 0.0) for output in outputs]),
        missing=rare.missing,
    )


def _worst_place(search: _Search, curve: TwoLaws, where: str) -> _Seen:
    """Where the curve comes nearest to the claim, or farthest above it; its heights on the grid are remembered."""
    heights, claims = np.array(curve.deltas(search.epsilons)), search.claims
    search.highest = np.maximum(search.highest, heights)
    place = int(np.argmax(heights / (claims + _ROUNDING)))
    on_grid = (search.epsilons[place], float(heights[place]))
    points = [on_grid, *_between(search, curve, heights)]
    seen = [
        _Seen(at=Point(epsilon=epsilon, delta=delta), claimed=search.claim(epsilon), where=where)
        for epsilon, delta in points
    ]
    return max(seen, key=lambda one: one.ratio)


def _between(search: _Search, curve: TwoLaws, heights: npt.NDArray[np.float64]) -> Iterator[tuple[float, float]]:
    """The curve between two epsilons of the grid, wherever it could be above the claim there.

    Both fall with epsilon: if the curve at the left end is not above the claim at the right end, it is nowhere above it
    between them. A curve that touches its claim everywhere is let go with a small factor.
    """
    open_to_doubt = np.flatnonzero(heights[:-1] > search.claims[1:] * _CLOSE + _ROUNDING).tolist()
    waiting = [(*search.epsilons[place : place + 2], float(heights[place]), 0) for place in open_to_doubt]
    while waiting:
        left, right, height, depth = waiting.pop()
        if depth < _DEPTH and height > search.claim(right) * _CLOSE + _ROUNDING:
            middle = (left + right) / 2
            lower = curve.delta(middle)
            yield middle, lower
            waiting += [(left, middle, height, depth + 1), (middle, right, lower, depth + 1)]


def _epsilons(subject: Subject) -> tuple[float, ...]:
    """A grid, and the epsilon at which the claim has its corner."""
    grid = {step * _STEP for step in range(int(_LAST / _STEP) + 1)}
    if basic.supports(subject.plan.cost):
        grid.add(min(_LAST, float(basic.guarantee(subject.plan.cost).epsilon)))
    return tuple(sorted(grid))


def _remembered(claim: Callable[[float], float]) -> Callable[[float], float]:
    known: dict[float, float] = {}

    def delta(epsilon: float) -> float:
        if epsilon not in known:
            known[epsilon] = claim(epsilon)
        return known[epsilon]

    return delta


def _price(search: _Search, path: Path, where: str) -> None:
    """Hold what a run's calls cost against what it charged, and that against what was reserved."""
    search.draws += len(path.calls)
    if path.outcome is None or search.unpaid is not None:
        return
    calls = merged(path.calls)
    key = (path.outcome.cost, *(_priced_part(call, drawn) for call, drawn in calls))
    if key not in search.verdicts:
        prices = [cost for cost in (price(call, drawn) for call, drawn in calls) if cost is not None]
        search.verdicts[key] = overspent(prices, path.outcome.cost) or _over_reserve(search, path.outcome.cost)
    words = search.verdicts[key]
    if words is not None:
        shown = len(path.outcome.items)
        search.unpaid = (words, f"{where}; on a run that shows {shown} items after {len(path.calls)} draws")


def _over_reserve(search: _Search, charged: Cost) -> str | None:
    reserved, paid = zcdp.spent(search.subject.plan.cost), zcdp.spent(charged)
    if paid.rho > reserved.rho or paid.delta > reserved.delta:
        return f"charged were rho {paid.rho:.4g} and delta {paid.delta:.4g}, more than was reserved"
    if charged.order < search.subject.plan.cost.order:
        return f"charged was for Renyi orders up to {charged.order:.4g}, fewer than was reserved"
    return None


def merged(calls: tuple[tuple[AnyCall, Any], ...]) -> list[tuple[AnyCall, int]]:
    """Calls with the length of their outcomes; those that are blocks of one draw as one.

    A mechanism may treat its items in blocks, each with a call of the same purpose and law. The reach is that of all of
    them together: one person has no more items because they stand in two blocks. Items that come again are drawn
    again, and paid for again.
    """
    if len({call.purpose for call, _ in calls}) == len(calls):
        return [(call, len(outcome)) for call, outcome in calls]
    found: dict[Hashable, tuple[AnyCall, int]] = {}
    drawn: dict[Hashable, set[str]] = {}
    for number, (call, outcome) in enumerate(calls):
        items = set(items_of(call))
        key = _priced_part(call, 0)
        if isinstance(call, Peel) or len(items) < len(call.values) or items & drawn.get(key, set()):
            key = number
        before = found.get(key)
        if before is None:
            found[key] = (call, len(outcome))
        else:
            whole: Any = before[0]
            values = np.concatenate([whole.values, call.values])
            found[key] = (replace(whole, keys=None, values=values), before[1] + len(outcome))
        drawn.setdefault(key, set()).update(items)
    return list(found.values())


def _priced_part(call: AnyCall, drawn: int) -> Hashable:
    law = tuple([getattr(call, name) for name in _priced_names(type(call))])
    return (type(call), law, len(call.values) if drawn else 0, drawn)


@cache
def _priced_names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(part.name for part in fields(kind) if part.name not in _NOT_PRICED)


def _finding(search: _Search) -> Finding:
    """The worst that was seen. A broken curve says more than an unpaid draw, so it comes first."""
    subject, worst = search.subject, search.worst
    claimed = subject.claim.words
    if search.unpaid is not None and (worst is None or worst.ratio <= 1):
        measured, where = search.unpaid
    elif worst is not None:
        measured = f"delta {worst.at.delta:.4g} at epsilon {worst.at.epsilon:.4g}, claimed {worst.claimed:.4g}"
        where = worst.where
    else:
        measured, where = "nothing", "no neighbours were given"
    shown = search.epsilons if worst else ()
    return Finding(
        subject=subject.name,
        step="exact",
        holds=worst is not None and not search.broken,
        claimed=claimed,
        measured=measured,
        where=where,
        looked="",
        claim=_points(shown, map(search.claim, shown)),
        # The highest of all pairs: another pair may be the worst at each epsilon.
        points=_points(shown, search.highest.tolist() if shown else ()),
    )


def _points(epsilons: Iterable[float], deltas: Iterable[float]) -> tuple[Point, ...]:
    pairs = zip(epsilons, deltas, strict=True)
    return tuple(Point(epsilon=epsilon, delta=delta) for epsilon, delta in pairs)
