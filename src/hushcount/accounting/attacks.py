"""LinkedIn's rationale for its parameters: what three simple attacks achieve against them.

These are plausibility figures for choosing parameters, not guarantees. Source: "LinkedIn's Audience Engagements API",
section 8.3.
"""

from __future__ import annotations

import math

from hushcount.accounting.normal import tail
from hushcount.model.amounts import Number, amount, float_above, positive, whole


def averaging_success(epsilon_per: Number, repeats: int) -> float:
    """Chance that the mean of `repeats` fresh noisy answers rounds to the true count, which is within ½ of it (8.3.1).

    The noise is what a top list draws for a count: Gaussian of deviation 2/epsilon_per, of which the mean is normal
    again. The paper draws Laplace noise of that scale, which is 2^½ times as wide, and states 11.5 % where this is
    16.3 %.
    """
    step = float(positive("epsilon_per", epsilon_per))
    return 1.0 - 2.0 * tail(step * math.sqrt(whole("repeats", repeats)) / 4.0)


def near_count(epsilon_per: Number) -> float:
    """Chance that Laplace noise of scale 2/epsilon_per is below ½, so that rounding shows the true count (8.3.2).

    Gaussian noise of that deviation has fewer such draws, by a fifth: this errs to the safe side.
    """
    return -math.expm1(-float(positive("epsilon_per", epsilon_per)) / 4.0)


def differencing_results(epsilon_per: Number) -> int:
    """The most results k of two differing top-k queries with less than one expected near in both, 1/p² (8.3.2)."""
    return math.floor(near_count(epsilon_per) ** -2)


def unique_count_shown(delta_per_call: Number, *, calls: int) -> float:
    """Bound on the chance that any of `calls` unknown-domain top-k answers shows a count of one person (8.3.3).

    The paper states l* delta e^-epsilon_per, for a boundary count of one. With fewer items than are fetched it is zero,
    and each item of one person stands as high above the boundary as the threshold is made for: l* delta (erratum 42).
    """
    return whole("calls", calls) * float_above(amount("delta_per_call", delta_per_call))
