"""LinkedIn's budget units: information units for results, call units for unknown-domain queries.

One information unit is one step that is (epsilon_per²/8)-zCDP: one item chosen, one count with Gaussian noise of
deviation 2/epsilon_per or Laplace noise of that scale, or one choice of threshold index. One call unit is the delta of
one unknown-domain query. So k* units and l* calls are (l* delta)-approximate (k* epsilon_per²/8)-zCDP, and both budgets
are views of one (rho, delta) filter.

Source: "LinkedIn's Audience Engagements API", section 6. Corrected here: the worst case of an unknown-domain top-k
query is 2k + 1 units, not 2k (erratum 3); known-domain queries use no call unit (erratum 3); delta is charged once per
call instead of twice and the whole of delta* is used (erratum 7); epsilon comes from the tight conversion (erratum
10); there is no minimum with k* epsilon_per, which holds only if every unit is epsilon_per-DP: a count with Gaussian
noise is not (erratum 45).
"""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from hushcount.accounting import convert, zcdp
from hushcount.accounting.spent import EXACT
from hushcount.errors import InvalidParameter
from hushcount.model.amounts import Number, allow, amount, float_above, positive, probability, whole
from hushcount.model.costs import EVERY_ORDER, BoundedRange, Cost, Failure
from hushcount.model.frozen import frozen

_DOWN = Context(prec=60, rounding=ROUND_FLOOR)


@frozen
class Units:
    """A budget: `information` units (k*) of `epsilon_per` each, and `calls` (l*) of `delta_per_call` each."""

    information: int
    calls: int
    epsilon_per: Decimal
    delta_per_call: Decimal


@frozen
class Promise:
    """The epsilon of a budget at `total_delta`, three ways; infinite where that way leaves no delta for epsilon.

    Attributes:
        total_delta: the delta* of the promise.
        printed: equation (6.1) of theorem 2, with 2 l* delta for the calls.
        converted: the same delta for the calls, tight conversion.
        tight: l* delta for the calls, tight conversion. The one to state.
    """

    total_delta: Decimal
    printed: float
    converted: float
    tight: float


def known_laplace(max_items_per_user: int) -> int:
    """Information units of KnownLap, a known-domain histogram in which a person is in at most so many items."""
    return whole("max_items_per_user", max_items_per_user)


def unknown_laplace() -> int:
    """Information units of UnkLap, whose noise is already scaled by the items per person."""
    return 1


def known_gumbel(k: int, *, counts: bool = True) -> int:
    """Information units of KnownGumb for k results: k choices, and k counts if asked for."""
    return whole("k", k) * (2 if counts else 1)


def unknown_gumbel(k: int, *, counts: bool = True) -> int:
    """Information units to reserve for UnkGumb: k choices, k counts if asked for, one threshold index.

    Reserving 2k, as printed, lets the budget go one unit below zero (erratum 3).
    """
    return known_gumbel(k, counts=counts) + 1


def unknown_gumbel_used(items: int, *, bottom: bool, counts: bool = True) -> int:
    """Information units that UnkGumb used, from its outcome alone (pay what you get).

    Args:
        items: items returned.
        bottom: whether the answer ended early, in the bottom outcome, which was a choice too.
        counts: whether each item came with a count.
    """
    chosen = whole("items", items, least=0 if bottom else 1) + (1 if bottom else 0)
    return chosen + (items if counts else 0) + 1


def cost(units: Units) -> Cost:
    """The whole budget as a cost: what it is worth once all of it is spent."""
    step = BoundedRange(epsilon=positive("epsilon_per", units.epsilon_per))
    call = Failure(delta=amount("delta_per_call", units.delta_per_call))
    return Cost.of(
        (step, whole("information", units.information, least=0)), (call, whole("calls", units.calls, least=0))
    )


def guarantee(units: Units, total_delta: Number, *, order: Decimal = EVERY_ORDER) -> Promise:
    """The epsilon of the whole budget at a total delta, as printed and as tight.

    Args:
        units: the budget.
        total_delta: the delta at which epsilon is told.
        order: the Renyi orders that may be used for what is not as printed; those of the ledger in which other costs
            are charged to the same budget.
    """
    total, spent = probability("total_delta", total_delta), zcdp.spent(cost(units))
    once, twice = spent.delta, EXACT.multiply(2, spent.delta)

    def least(delta0: Decimal, *, tight: bool) -> float:
        if spent.rho == 0 and delta0 <= total:
            return 0.0
        if delta0 >= total:
            return math.inf
        if not tight:
            return convert.simple_epsilon(spent.rho, delta0=delta0, total_delta=total)
        return convert.epsilon_for(spent.rho, delta0=delta0, total_delta=total, order=order)

    return Promise(
        total_delta=total,
        printed=least(twice, tight=False),
        converted=least(twice, tight=True),
        tight=least(once, tight=True),
    )


def delta_per_call(total_delta: Number, calls: int) -> Decimal:
    """Half of delta* shared among the calls, delta*/(2 l*), rounded down; the other half is left for epsilon.

    The paper suggests delta*/(6 l*) and charges it twice, which leaves a sixth of delta* unused (erratum 7).
    """
    return allow(_DOWN.divide(probability("total_delta", total_delta), 2 * whole("calls", calls)))


def solve_epsilon_per(
    information: int, calls: int, *, epsilon: Number, total_delta: Number, delta_per_call: Number | None = None
) -> Decimal:
    """The largest epsilon_per, rounded down, at which the budget is (epsilon, total_delta)-DP.

    Args:
        information: k*, at least 1.
        calls: l*.
        epsilon: the target epsilon*.
        total_delta: the target delta*.
        delta_per_call: the delta of one call; half of delta* is shared among the calls if left out.
    """
    count = whole("information", information)
    target = positive("epsilon", epsilon)
    rho = convert.rho_for(target, total_delta=total_delta, delta0=_failures(calls, total_delta, delta_per_call))
    return allow(convert.zcdp_to_bounded_range(Fraction(rho) / count))


def solve_information(
    calls: int, *, epsilon_per: Number, epsilon: Number, total_delta: Number, delta_per_call: Number | None = None
) -> int:
    """The largest k*, or zero, at which the budget is (epsilon, total_delta)-DP; see `solve_epsilon_per`."""
    step, target = positive("epsilon_per", epsilon_per), positive("epsilon", epsilon)
    failures, price = _failures(calls, total_delta, delta_per_call), convert.bounded_range_to_zcdp(step)
    by_rho = Fraction(convert.rho_for(target, total_delta=total_delta, delta0=failures)) // Fraction(price)
    # rho was rounded down, so one more may fit. `epsilon_for` is a double above the truth: nothing is overspent.
    more = convert.epsilon_for(EXACT.multiply(price, by_rho + 1), delta0=failures, total_delta=total_delta)
    return by_rho + (1 if more <= float_above(target) else 0)


def solve_calls(
    information: int, *, epsilon_per: Number, delta_per_call: Number, epsilon: Number, total_delta: Number
) -> int:
    """The largest l*, zero if none, at which the budget is (epsilon, total_delta)-DP."""
    room = _room_for_failures(information, epsilon_per, epsilon=epsilon, total_delta=total_delta)
    return Fraction(room) // Fraction(positive("delta_per_call", delta_per_call))


def solve_delta(information: int, calls: int, *, epsilon_per: Number, epsilon: Number, total_delta: Number) -> Decimal:
    """The largest delta per call, rounded down, at which the budget is (epsilon, total_delta)-DP.

    Raises:
        InvalidParameter: the information units alone exceed the target.
    """
    room = _room_for_failures(information, epsilon_per, epsilon=epsilon, total_delta=total_delta)
    share = allow(_DOWN.divide(room, whole("calls", calls)))
    if share == 0:
        hint = "Lower epsilon_per or information, or raise the target."
        raise InvalidParameter(
            "information", information, f"few enough for epsilon = {epsilon} at delta = {total_delta}", hint
        )
    return share


def _failures(calls: int, total_delta: Number, per_call: Number | None) -> Decimal:
    """The delta of all calls together."""
    if whole("calls", calls, least=0) == 0:
        return Decimal(0)
    each = delta_per_call(total_delta, calls) if per_call is None else positive("delta_per_call", per_call)
    return EXACT.multiply(each, calls)


def _room_for_failures(information: int, epsilon_per: Number, *, epsilon: Number, total_delta: Number) -> Decimal:
    """The largest delta0, rounded down, that information units leave: delta0 + (1 - delta0) delta' = total_delta."""
    step, target = positive("epsilon_per", epsilon_per), positive("epsilon", epsilon)
    total, count = probability("total_delta", total_delta), whole("information", information)
    rho = EXACT.multiply(convert.bounded_range_to_zcdp(step), count)
    inner = Decimal(convert.zcdp_delta(rho, target))
    return convert.inner_delta(delta0=inner, total_delta=total) if inner < total else Decimal(0)
