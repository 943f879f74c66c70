"""Mechanisms as they were printed or are easily miscoded, kept only so that tests can show what is wrong with them.

None is safe to use. Plain Python on plain numbers. What the auditor attacks too is in `hushcount.audit.twins`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from scipy import integrate

Counts = Mapping[str, int]


# LinkedIn's Audience Engagements API


def argmin_plus_gumbel(thresholds: Sequence[float], epsilon: float, which: int) -> float:
    """P[which = argmin(threshold_i + Gumbel(1/epsilon))], by integration: report-noisy-min, not the EM (erratum 2)."""
    heights = [epsilon * threshold for threshold in thresholds]

    def density(x: float) -> float:
        y = x - heights[which]
        if y < -700:
            return 0.0
        others = sum(math.log(-math.expm1(-math.exp(height - x))) for n, height in enumerate(heights) if n != which)
        return math.exp(-y - math.exp(-y) + others)

    return float(integrate.quad(density, min(heights) - 8, max(heights) + 40, limit=500, epsabs=0, epsrel=1e-10)[0])


def place_weights_with_wrong_sign(thresholds: Sequence[float], epsilon: float) -> list[float]:
    """Weights e^(+epsilon threshold): private, and prefers the *highest* threshold (a third-party slip, erratum 2)."""
    weights = [math.exp(epsilon * (threshold - max(thresholds))) for threshold in thresholds]
    return [weight / sum(weights) for weight in weights]


def may_run_as_printed(k: int, units_left: int) -> bool:
    """LI Algorithm 5 refuses `if 2k > k*`, for a query that may use 2k + 1 (erratum 3)."""
    return 2 * k <= units_left


def observed_support(counts: Counts) -> frozenset[str]:
    """The 'known' domain taken to be what was observed: what can be released depends on the data (erratum 4)."""
    return frozenset(item for item, count in counts.items() if count > 0)


def names_by_true_count(counts: Counts, selected: Sequence[str]) -> tuple[str, ...]:
    """Selected names sorted again by their true counts (erratum 6)."""
    return tuple(sorted(selected, key=lambda item: (-counts[item], item)))


# Private Count Release


def top_with_missing_boundary(counts: Counts, rows: int) -> tuple[dict[str, int], int]:
    """A data frame of at most `rows` rows; the count behind them is not there and is taken as zero (erratum 12)."""
    kept = sorted((item for item in counts if counts[item]), key=lambda item: (-counts[item], item))[:rows]
    return {item: counts[item] for item in kept}, 0


# Differentially Private Set Union, DP-SIPS and GW


def noised_without_bound(held: int, max_items: int) -> list[float]:
    """Weights of the items that DPSU Algorithm 1 noises for one person alone: all they hold, cut ones at 0 (24)."""
    kept = min(held, max_items)
    return [kept**-0.5] * kept + [0.0] * (held - kept)
