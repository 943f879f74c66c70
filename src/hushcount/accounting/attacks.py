"""LinkedIn's rationale for its parameters: what three simple attacks achieve against them.

These are plausibility figures for choosing parameters, not guarantees. Source: "LinkedIn's Audience Engagements API",
section 8.3.
"""

from __future__ import annotations

import math

from hushcount.accounting.normal import tail
from hushcount.model.amounts import Number, amount, positive, whole


def averaging_success(epsilon_per: Number, repeats: int) -> float:
    """Chance that the mean of `repeats` fresh noisy answers rounds to the true count, by the normal approximation.

    The noise is Laplace of scale 2/epsilon_per, of standard deviation 2 · 2^½/epsilon_per; the mean must be within ½
    (8.3.1).
    """
    step = float(positive("epsilon_per", epsilon_per))
    return 1.0 - 2.0 * tail(step * math.sqrt(whole("repeats", repeats)) / (4.0 * math.sqrt(2.0)))


def near_count(epsilon_per: Number) -> float:
    """Chance that Laplace noise of scale 2/epsilon_per is below ½, so that rounding shows the true count (8.3.2)."""
    return -math.expm1(-float(positive("epsilon_per", epsilon_per)) / 4.0)


def differencing_results(epsilon_per: Number) -> int:
    """The most results k of two differing top-k queries with less than one expected near in both, 1/p² (8.3.2)."""
    return math.floor(near_count(epsilon_per) ** -2)


def unique_count_shown(epsilon_per: Number, *, delta_per_call: Number, calls: int) -> float:
    """Bound on the chance that any of `calls` unknown-domain top-k answers shows a count of one person (8.3.3)."""
    step, share = float(positive("epsilon_per", epsilon_per)), float(amount("delta_per_call", delta_per_call))
    return whole("calls", calls) * share * math.exp(-step)
