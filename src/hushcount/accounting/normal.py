"""The standard normal law: tail, upper quantile, and the exact privacy curve of Gaussian noise, without SciPy.

Rounding is against the spender: the quantile is never below the true one, the privacy curve never below the true curve.
The error bounds assume the platform's `erfc` and `exp` to be right to ten units in the last place; common ones are
right to five.
"""

from __future__ import annotations

import math
from decimal import Context

from hushcount.errors import InvalidParameter
from hushcount.model.amounts import Number, float_above, float_below, probability

_SQRT_HALF = math.sqrt(0.5)
_SQRT_TAU = math.sqrt(2.0 * math.pi)

# The tail at a rounded x is off by a factor of about x²·2^-52, which is 3e-13 at x = 38; this allows for more.
_TAIL_ERROR = 1e-12
# Relative error of one erfc, exp or Mills ratio at a given double.
_TERM_ERROR = 1e-14
# Below this the tail nears the subnormal doubles, where its relative error is no longer bounded.
_SMALLEST_P = 1e-304
_SMALL_MU = 4e-4
_FRACTION_FROM = 4.0
_FRACTION_DEPTH = 60


def tail(x: float) -> float:
    """P(Z > x) for a standard normal Z, to a relative error of 1e-12 for x up to 37."""
    return 0.5 * math.erfc(x * _SQRT_HALF)


def mills(x: float) -> float:
    """The Mills ratio P(Z > x)/phi(x) for x >= -1, which neither overflows nor underflows.

    From 4 up, Laplace's continued fraction 1/(x + 1/(x + 2/(x + ...))): all its terms are positive, so nothing cancels.
    """
    if x < _FRACTION_FROM:
        return _SQRT_TAU * math.exp(0.5 * x * x) * tail(x)
    rest = x
    for step in range(_FRACTION_DEPTH, 0, -1):
        rest = x + step / rest
    return 1.0 / rest


def isf(p: Number) -> float:
    """A double x with P(Z > x) <= p for certain, and above the true quantile by 1e-11 at most.

    The float form `1 - (1 - delta)**(1/t)` of p is 0 for small delta and then gives an infinite threshold (erratum 29);
    use `convert.split_delta` for p. Below 1e-304 the closed bound x = (2 ln(1/p))^½ is returned, one per cent too high.

    Args:
        p: a probability in (0, 1).
    """
    exact = probability("p", p)
    if exact < _SMALLEST_P:
        context = Context(prec=30)
        return math.nextafter(float_above(context.sqrt(context.multiply(-2, context.ln(exact)))), math.inf)
    if 2 * exact > 1:
        # A larger 1 - p gives a larger answer, so the floor is safe.
        return -_inside(max(float_above(1 - exact), _SMALLEST_P))
    return _outside(float_below(exact))


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The smallest delta for which N(mu, 1) and N(0, 1) are (epsilon, delta)-indistinguishable, rounded up, at most 1.

    HS_epsilon(mu) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu) (Balle and Wang 2018, theorem 8). With
    a = epsilon/mu - mu/2, b = a + mu and the Mills ratio R it is phi(a)(R(a) - R(b)), since phi(a) = e^epsilon phi(b):
    no exponential of epsilon is ever formed. For small mu the difference is taken by Taylor's formula.

    Args:
        mu: l2-sensitivity over standard deviation, zero or more.
        epsilon: zero or more.
    """
    if not mu >= 0 or not epsilon >= 0 or math.isinf(mu) or math.isinf(epsilon):
        raise InvalidParameter("mu, epsilon", (mu, epsilon), "finite numbers, zero or more")
    if mu == 0:
        return 0.0
    a, b = epsilon / mu - 0.5 * mu, epsilon / mu + 0.5 * mu
    density = math.exp(-0.5 * a * a) / _SQRT_TAU
    if mu < _SMALL_MU:
        value, scale = density * _mills_drop(a, mu), density * mu
    else:
        scale = tail(a) if a < _FRACTION_FROM else density * mills(a)
        value = scale - density * mills(b)
    # The error of a moves all terms together and so counts relative to the value; that of erfc, exp and R counts
    # relative to the terms before they are subtracted. One step up covers an underflow to zero.
    return min(1.0, math.nextafter(max(0.0, value) * (1.0 + 2 * _TAIL_ERROR) + 4 * _TERM_ERROR * scale, math.inf))


def _mills_drop(a: float, mu: float) -> float:
    """R(a) - R(a + mu) from above, for small mu.

    R(x) is the integral of e^(-xt - t²/2) over t > 0, so its derivatives alternate in sign and Taylor's formula, cut
    after a positive term, is an upper bound; it is too high by a relative mu³ or so. R' = xR - 1, R" = R + xR', and the
    third derivative is 2R' + xR".
    """
    ratio = mills(a)
    first = a * ratio - 1.0
    second = ratio + a * first
    third = 2.0 * first + a * second
    return mu * (-first - mu * (second / 2.0 + mu * third / 6.0))


def _quantile(p: float) -> float:
    """The upper quantile for p <= ½, to about rounding error.

    Newton's method on ln P(Z > x), which is concave and falling: from a start on the right of the root it stays there.
    """
    x = math.sqrt(-2.0 * math.log(p))
    for _ in range(60):
        q = tail(x)
        step = (math.log(q) - math.log(p)) * q * _SQRT_TAU * math.exp(0.5 * x * x)
        x += step
        if abs(step) <= 1e-15 * (1.0 + x):
            break
    return max(0.0, x)


def _outside(p: float) -> float:
    """For p <= ½: x with P(Z > x) <= p for certain."""
    x = _quantile(p)
    x += 2.0 * _TAIL_ERROR * mills(x)
    step = 1e-12
    while tail(x) * (1.0 + _TAIL_ERROR) > p:
        x, step = x + step, 2.0 * step
    return x


def _inside(p: float) -> float:
    """For p <= ½: x with P(Z > x) >= p for certain, so that P(Z > -x) <= 1 - p."""
    x = _quantile(p)
    x -= 2.0 * _TAIL_ERROR * mills(x)
    step = 1e-12
    while tail(x) * (1.0 - _TAIL_ERROR) < p:
        x, step = x - step, 2.0 * step
    return x
