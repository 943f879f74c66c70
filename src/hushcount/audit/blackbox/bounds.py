"""Bounds from counted runs: exact Clopper-Pearson limits, and what they prove about epsilon and delta.

If an event was seen k times in n independent runs, then with probability at least 1 - alarm its probability is at least
`lower(k, n, alarm)`, and with probability at least 1 - alarm it is at most `upper(k, n, alarm)` (Clopper and Pearson
1934). Both follow from the binomial law alone; nothing is approximated but the last digits of the arithmetic.
"""

from __future__ import annotations

import math

from hushcount.errors import InvalidParameter
from hushcount.model.amounts import whole
from hushcount.model.frozen import frozen

_TINY = 1e-300
_STEPS = 200


def binomial_tail(least: int, runs: int, chance: float) -> float:
    """P[X >= least] for X binomial of `runs` and `chance`: the regularised incomplete beta I_chance(k, n - k + 1)."""
    if least <= 0:
        return 1.0
    if least > runs or chance <= 0:
        return 0.0
    return 1.0 if chance >= 1 else _beta(chance, least, runs - least + 1)


def lower(seen: int, runs: int, alarm: float) -> float:
    """The smallest probability that is not refuted: P[X >= seen] = alarm at it. Too high with probability <= alarm."""
    _check(seen, runs, alarm)
    if seen == 0:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in {low, high}:
            break
        low, high = (middle, high) if binomial_tail(seen, runs, middle) < alarm else (low, middle)
    return low


def upper(seen: int, runs: int, alarm: float) -> float:
    """The largest probability that is not refuted: P[X <= seen] = alarm at it. Too low with probability <= alarm."""
    _check(seen, runs, alarm)
    return 1.0 - lower(runs - seen, runs, alarm)


@frozen
class Proven:
    """With confidence: an event has at least probability `likely` on one data set and at most `rare` on the other."""

    likely: float
    rare: float

    def delta(self, epsilon: float) -> float:
        """The least delta that the laws have at this epsilon: likely - e^epsilon rare, or zero if that is less."""
        return max(0.0, self.likely - math.exp(epsilon) * self.rare)

    def epsilon(self, delta: float) -> float:
        """The least epsilon that the laws have at this delta: ln((likely - delta)/rare), or zero if that is less."""
        if self.likely - delta <= self.rare:
            return 0.0
        return math.inf if self.rare == 0 else math.log((self.likely - delta) / self.rare)


def proven(*, likely: tuple[int, int], rare: tuple[int, int], alarm: float) -> Proven:
    """What two counts prove about one event that was fixed before these runs; each is (times seen, runs).

    Half of `alarm` goes to either probability. Both limits hold at once, for all epsilon and delta at once, with
    probability at least 1 - alarm, because the limits themselves do not depend on epsilon or delta.
    """
    return Proven(likely=lower(*likely, alarm / 2), rare=upper(*rare, alarm / 2))


def _check(seen: int, runs: int, alarm: float) -> None:
    whole("runs", runs)
    whole("seen", seen, least=0, most=runs)
    if not 0 < alarm < 1:
        raise InvalidParameter("alarm", alarm, "a probability between zero and one", "1e-3 is the usual choice.")


def _beta(x: float, a: int, b: int) -> float:
    """I_x(a, b), by the continued fraction on the side where it converges fast (about sqrt(a + b) steps)."""
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    if x < (a + 1) / (a + b + 2):
        return math.exp(front) * _fraction(x, a, b) / a
    return 1.0 - math.exp(front) * _fraction(1 - x, b, a) / b


def _fraction(x: float, a: int, b: int) -> float:
    """The continued fraction of the incomplete beta function (DLMF 8.17.22), by the modified Lentz method."""
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1) or _TINY)
    value = d
    for m in range(1, 20 * math.isqrt(a + b) + 200):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / (1 + term * d or _TINY)
            c = 1 + term / c or _TINY
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value
