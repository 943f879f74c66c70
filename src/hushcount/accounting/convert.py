"""Conversions between privacy notions, each with its theorem; every answer is rounded against the spender.

Charges are decimals on the grid of amounts; all other answers are doubles, rounded up where they are a loss and down
where they are a grant. "delta0-approximate rho-zCDP" is zero-concentrated differential privacy that may fail with
probability delta0. Its total delta is delta0 + (1 - delta0) delta', where delta' comes from the rho-zCDP part (DP-SIPS,
lemma 7).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

from hushcount.accounting.bisection import last_true
from hushcount.accounting.normal import gaussian_delta
from hushcount.accounting.spent import chargeable
from hushcount.errors import InvalidParameter
from hushcount.model.amounts import (
    Number,
    amount,
    charge,
    float_above,
    float_below,
    positive,
    probability,
    whole,
)
from hushcount.model.costs import EVERY_ORDER

# Sixty digits for every formula below. The slack is far above what their few roundings add up to, far below a double.
_PRECISE = Context(prec=60, Emin=MIN_EMIN, Emax=MAX_EMAX)
_SLACK = Decimal("1e-40")
# The Renyi order is 1 + t. Any t > 0 gives a valid bound, so a floor is safe; it keeps ln(1 + t)/t exact to 50 digits.
_SMALLEST_T = 1e-9
# A granted rho is lowered by this factor, so that the way back, whose every step rounds up, ends within the target.
_WAY_BACK = 1 - Decimal("1e-13")
_LAST_DIGITS = Decimal("1e-15")
# Amounts are charged on a grid of 1e-36; far less than this cannot be spent.
_SMALLEST_GRANT = 1e-30
_SMALLEST_DELTA = Decimal("1e-300")
# tanh(100) differs from 1 by less than the grid of amounts.
_TANH_IS_ONE_FROM = 200


def zcdp_order(rho: Number, epsilon: Number) -> float:
    """The Renyi order alpha that `zcdp_delta` uses: the root of (2 alpha - 1) rho + ln(1 - 1/alpha) = epsilon."""
    return 1.0 + _order_for_delta(positive("rho", rho), amount("epsilon", epsilon))


def zcdp_delta(rho: Number, epsilon: Number, order: Decimal = EVERY_ORDER) -> float:
    """The delta' at which rho-zCDP gives (epsilon, delta')-DP, rounded up; by Renyi orders up to `order` alone.

    delta' = inf over alpha > 1 of exp((alpha - 1)(alpha rho - epsilon)) (1 - 1/alpha)^alpha / (alpha - 1): Canonne,
    Kamath and Steinke 2020, proposition 7, which is lemma 8 of DP-SIPS. Each alpha gives a valid bound; the best is
    found in doubles, the bound at it is then evaluated to sixty digits.
    """
    return min(1.0, _up(_zcdp_delta(positive("rho", rho), amount("epsilon", epsilon), order)))


def inner_delta(*, delta0: Number, total_delta: Number) -> Decimal:
    """The delta' with total_delta = delta0 + (1 - delta0) delta', rounded down (DP-SIPS, lemma 7)."""
    total, spent = _above(delta0, total_delta), _failure(delta0)
    with localcontext(_PRECISE) as context:
        context.prec, context.rounding = 400, ROUND_FLOOR
        return (total - spent) / (1 - spent)


def outer_delta(*, delta0: Number, inner: Number) -> float:
    """The total delta0 + (1 - delta0) delta', rounded up, at most 1."""
    failed, rest = _failure(delta0), amount("inner", inner)
    with localcontext(_PRECISE):
        return min(1.0, _up((failed + (1 - failed) * rest) * (1 + _SLACK)))


def delta_for(rho: Number, *, delta0: Number, epsilon: Number) -> float:
    """The total delta at which delta0-approximate rho-zCDP is (epsilon, delta)-DP, rounded up: DP-SIPS, corollary 9."""
    inner = _zcdp_delta(positive("rho", rho), amount("epsilon", epsilon), EVERY_ORDER)
    return outer_delta(delta0=delta0, inner=inner)


def epsilon_for(rho: Number, *, delta0: Number, total_delta: Number, order: Decimal = EVERY_ORDER) -> float:
    """The epsilon at which delta0-approximate rho-zCDP is (epsilon, total_delta)-DP, rounded up (DP-SIPS, corollary 9).

    epsilon = rho alpha + ln(1 - 1/alpha) - (ln delta' + ln alpha)/(alpha - 1), smallest where t = alpha - 1 solves
    rho t² + ln(1 + t) = ln(1/delta'). Every alpha is valid by itself, so where the loss is known for orders up to
    `order` alone, the smallest over those is (it falls up to the best alpha).
    """
    exact, inner = positive("rho", rho), inner_delta(delta0=delta0, total_delta=total_delta)
    t = _within(_order_for_epsilon(exact, inner), order)
    with localcontext(_PRECISE):
        slope = (inner.ln() + (1 + t).ln()) / t
        epsilon = exact * (1 + t) + (t / (1 + t)).ln() - slope
        epsilon += _SLACK * (1 + exact * (1 + t) - inner.ln() / t)
    return _up(max(epsilon, Decimal(0)))


def order_for(rho: Number, *, delta0: Number, total_delta: Number) -> float:
    """The Renyi order that `epsilon_for` uses where all are known; no higher one is needed."""
    return 1.0 + _order_for_epsilon(positive("rho", rho), inner_delta(delta0=delta0, total_delta=total_delta))


def rho_for(epsilon: Number, *, total_delta: Number, delta0: Number = 0, order: Decimal = EVERY_ORDER) -> float:
    """The largest rho, rounded down, such that delta0-approximate rho-zCDP gives (epsilon, total_delta)-DP.

    For fixed t = alpha - 1, corollary 9 of DP-SIPS solved for rho is
    ((ln delta' + ln(1 + t))/t + epsilon + ln(1 + 1/t))/(1 + t); any t is valid, the best one is found in doubles.
    """
    exact, inner = amount("epsilon", epsilon), inner_delta(delta0=delta0, total_delta=total_delta)
    t = _within(_order_for_rho(exact, inner), order)
    with localcontext(_PRECISE):
        rho = ((inner.ln() + (1 + t).ln()) / t + exact + ((1 + t) / t).ln()) / (1 + t)
        rho -= _SLACK * (1 + exact - inner.ln() / t)
        # At an order below the best one epsilon is mostly not rho's: the last digit of epsilon is then many of rho's.
        lost = exact * _LAST_DIGITS if t + 1 == order else 0
        return _down("epsilon", epsilon, rho * _WAY_BACK - lost)


def simple_epsilon(rho: Number, *, delta0: Number, total_delta: Number) -> float:
    """The well-known loose form rho + 2 (rho ln(1/delta'))^½ at delta' = total_delta - delta0, for comparison only.

    Bun and Steinke 2016. Theorem 6 of Private Count Release prints 2 (2 ln(1/delta'))^½, which claims too small an
    epsilon for every rho above 2 (erratum 14).
    """
    exact, total = positive("rho", rho), _above(delta0, total_delta)
    with localcontext(_PRECISE):
        rest = total - amount("delta0", delta0)
        return _up(exact + 2 * (-exact * rest.ln()).sqrt() + _SLACK)


def pure_to_zcdp(epsilon: Number) -> Decimal:
    """The rho of an epsilon-DP step, epsilon tanh(epsilon/2), rounded up to the grid.

    Tight on randomised response, the worst case of all epsilon-DP steps, and below the better known epsilon²/2 (Bun and
    Steinke 2016, proposition 3.3). tanh(epsilon/2) = (1 - e)/(1 + e) with e = exp(-epsilon), which `decimal` rounds
    correctly.
    """
    exact = chargeable("epsilon", epsilon)
    if exact > _TANH_IS_ONE_FROM:
        return exact
    with localcontext(_PRECISE) as context:
        context.prec = 100
        shrunk = (-exact).exp()
        return charge(exact * (1 - shrunk) / (1 + shrunk) + _SLACK) if exact else charge(0)


def zcdp_to_pure(rho: Number) -> float:
    """The largest epsilon, rounded down, whose epsilon-DP step fits into rho: epsilon tanh(epsilon/2) <= rho."""
    exact = positive("rho", rho)
    target = float(exact)
    # epsilon tanh(epsilon/2) is at most epsilon²/2 and at least epsilon - 1, so the root lies between these two.
    low, high = math.sqrt(target), 2.0 + 2.0 * target
    guess = last_true(lambda epsilon: epsilon * math.tanh(0.5 * epsilon) <= target, low, high)
    return _fitting(exact, Decimal(guess), pure_to_zcdp)


def bounded_range_to_zcdp(epsilon: Number) -> Decimal:
    """The rho of one epsilon-bounded-range step, epsilon²/8, rounded up to the grid (Cesar and Rogers 2021)."""
    return charge(Fraction(chargeable("epsilon", epsilon)) ** 2 / 8)


def zcdp_to_bounded_range(rho: Number) -> float:
    """The largest epsilon, rounded down, whose bounded-range step fits into rho: epsilon = (8 rho)^½."""
    exact = positive("rho", rho)
    return _fitting(exact, _PRECISE.sqrt(_PRECISE.multiply(8, exact)), bounded_range_to_zcdp)


def gaussian_stddev(epsilon: Number, delta: Number, *, l2_sensitivity: Number = 1) -> float:
    """The smallest standard deviation, rounded up, of Gaussian noise that gives (epsilon, delta)-DP.

    The analytic Gaussian mechanism: Balle and Wang 2018, theorem 8, with the exact curve `gaussian_delta`.
    """
    sensitivity = positive("l2_sensitivity", l2_sensitivity)
    mu = _largest_mu(amount("epsilon", epsilon), probability("delta", delta))
    with localcontext(_PRECISE):
        return _up(sensitivity / Decimal(mu))


def gdp_delta(mu: Number, epsilon: Number) -> float:
    """The delta at which mu-Gaussian DP is (epsilon, delta)-DP, rounded up (Dong, Roth and Su 2019, corollary 2.13)."""
    return gaussian_delta(float_above(positive("mu", mu)), float_below(amount("epsilon", epsilon)))


def gdp_epsilon(mu: Number, delta: Number) -> float:
    """The smallest epsilon at which mu-Gaussian DP gives (epsilon, delta)-DP, rounded up."""
    shift, target = float_above(positive("mu", mu)), _reachable(probability("delta", delta))
    if gaussian_delta(shift, 0.0) <= target:
        return 0.0
    # P(privacy loss > epsilon) bounds delta, and the loss is normal with mean mu²/2 and standard deviation mu.
    high = 0.5 * shift * shift + shift * (math.sqrt(-2.0 * math.log(target)) + 1.0)
    low = last_true(lambda epsilon: gaussian_delta(shift, epsilon) > target, high * 2.0**-60, high)
    return math.nextafter(low, math.inf)


def gdp_rho_for(epsilon: Number, *, total_delta: Number, delta0: Number = 0) -> float:
    """The largest rho, rounded down, that Gaussian noise alone may spend for (epsilon, total_delta)-DP.

    Gaussian steps compose exactly: rho's add up and the whole is (2 rho)^½-Gaussian DP, so the total delta is
    delta0 + (1 - delta0) HS_epsilon((2 rho)^½). That allows 16 to 21 % more rho than the way through zCDP (erratum 35).
    """
    inner = inner_delta(delta0=delta0, total_delta=total_delta)
    mu = Decimal(_largest_mu(amount("epsilon", epsilon), inner))
    with localcontext(_PRECISE):
        return _down("epsilon", epsilon, mu * mu / 2 * _WAY_BACK)


def split_delta(delta: Number, parts: int) -> float:
    """The share of delta for each of `parts` independent failures, 1 - (1 - delta)^(1/parts), rounded down.

    Computed as -expm1(log1p(-delta)/parts): as written, the formula is 0 in doubles at delta = 1e-15 and off by 1e-4 of
    its value at 1e-10 (erratum 29). The shares multiply out to delta, they do not add up to it: `parts` times the share
    is above delta by a part in 2/delta. Whoever charges a *sum* of deltas must split by delta/parts instead.
    """
    whole_delta, count = float_below(probability("delta", delta)), whole("parts", parts)
    # log1p, the division and expm1 are each right to about one unit in the last place; the factor takes off a dozen.
    return -math.expm1(math.log1p(-whole_delta) / count) * (1.0 - 3e-15)


def gaussian_mu(rho: Number) -> float:
    """The mu = (2 rho)^½ of Gaussian noise that costs rho, rounded up; mu is l2-sensitivity over standard deviation."""
    with localcontext(_PRECISE):
        return float_above((2 * positive("rho", rho)).sqrt() * (1 + _SLACK))


@lru_cache(maxsize=1 << 14)
def _zcdp_delta(rho: Decimal, epsilon: Decimal, order: Decimal) -> Decimal:
    t = _within(_order_for_delta(rho, epsilon), order)
    with localcontext(_PRECISE):
        exponent = t * ((1 + t) * rho - epsilon) + t * (t / (1 + t)).ln() - (1 + t).ln()
        exponent += _SLACK * (1 + t * ((1 + t) * rho + epsilon) + t)
        return min(Decimal(1), exponent.exp() * (1 + _SLACK))


def _within(t: float, order: Decimal) -> Decimal:
    """The t = alpha - 1 that is best among the orders that are known; what is minimised falls up to the best of all."""
    if order <= 1:
        raise InvalidParameter("order", order, "above one", "Of no Renyi order nothing follows.")
    return min(Decimal(t), _PRECISE.subtract(order, 1))


def _order_for_delta(rho: Decimal, epsilon: Decimal) -> float:
    """The t = alpha - 1 that makes delta smallest for given rho and epsilon; its logarithm is convex in t."""
    slope, target = float(rho), float(epsilon)
    high = max(1.0, (target + 1.0) / (2.0 * slope))
    return last_true(lambda t: (2.0 * t + 1.0) * slope - target + math.log(t) - math.log1p(t) <= 0.0, _SMALLEST_T, high)


def _order_for_epsilon(rho: Decimal, inner: Decimal) -> float:
    """The t = alpha - 1 that makes epsilon smallest for given rho and delta'."""
    slope, target = float(rho), -float(inner.ln(_PRECISE))
    high = max(2.0 * _SMALLEST_T, math.sqrt(target / slope))
    return last_true(lambda t: slope * t * t + math.log1p(t) <= target, _SMALLEST_T, high)


def _order_for_rho(epsilon: Decimal, inner: Decimal) -> float:
    """The t = alpha - 1 that makes rho largest for given epsilon and delta': both conditions of optimality."""
    shift, target = float(epsilon), -float(inner.ln(_PRECISE))
    high = max(2.0 * _SMALLEST_T, math.expm1(min(target, 600.0)))
    return last_true(
        lambda t: t / (2.0 + 1.0 / t) * (shift + math.log1p(1.0 / t)) + math.log1p(t) <= target, _SMALLEST_T, high
    )


def _fitting(rho: Decimal, guess: Decimal, price: Callable[[Number], Decimal]) -> float:
    """`guess`, lowered a little until its price, rounded up to the grid as when charged, fits into rho."""
    epsilon, step = _down("rho", rho, guess), 1e-16
    while price(Decimal(epsilon)) > rho:
        step *= 2.0
        epsilon = _down("rho", rho, Decimal(epsilon * (1.0 - step)))
    return epsilon


def _largest_mu(epsilon: Decimal, delta: Decimal) -> float:
    """The largest mu, rounded down, with HS_epsilon(mu) <= delta."""
    level, target = float_below(epsilon), _reachable(delta)
    return last_true(lambda mu: gaussian_delta(mu, level) <= target, 1e-303, 1e150)


def _reachable(delta: Decimal) -> float:
    """`delta` as a double, rounded down; refused where doubles end."""
    if delta < _SMALLEST_DELTA:
        raise InvalidParameter("delta", delta, f"at least {_SMALLEST_DELTA} for Gaussian noise")
    return float_below(delta)


def _failure(delta0: Number) -> Decimal:
    exact = amount("delta0", delta0)
    if exact >= 1:
        raise InvalidParameter("delta0", delta0, "below one")
    return exact


def _above(delta0: Number, total_delta: Number) -> Decimal:
    total, spent = probability("total_delta", total_delta), _failure(delta0)
    if total <= spent:
        hint = "Ask for a larger total_delta, or leave less of it to failures."
        raise InvalidParameter(
            "total_delta", total_delta, f"above the {spent} already spent on failures (delta0)", hint
        )
    return total


def _down(name: str, value: Number, found: Decimal) -> float:
    """A double below `found`, one step more than needed for the reason given in `_up`; refused if nothing is left."""
    granted = math.nextafter(float_below(found), 0.0) if found > 0 else 0.0
    if granted < _SMALLEST_GRANT:
        raise InvalidParameter(name, value, f"large enough to allow an amount above {_SMALLEST_GRANT}")
    return granted


def _up(value: Decimal) -> float:
    """A double above `value`, one step more than needed, so that its shortest decimal is not below `value` either."""
    return math.nextafter(float_above(value), math.inf) if value > 0 else 0.0
