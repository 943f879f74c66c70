"""Mechanisms as they were printed or are easily miscoded, kept only so that tests can show what is wrong with them.

None is safe to use. Plain Python on plain numbers; the weightings have a module of their own, `broken_weightings`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from scipy import integrate

Counts = Mapping[str, int]


# LinkedIn's Audience Engagements API


def bottom_odds_as_printed(place: int, fetched: int, delta: float) -> float:
    """LI Algorithm 4's ln(min{place, fetched - place}/delta): counts rows that were fetched as a domain (erratum 1)."""
    return min(place, fetched - place) / delta


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


def appendix_a_offset(epsilon: float, delta: float, max_items: int) -> int:
    """Appendix A's Delta ln(Delta/dhat)/eps_per, half of Algorithm 3's, rounded up; eps_per = 2 epsilon (erratum 5)."""
    growth, share = math.exp(epsilon) + 1, delta
    for _ in range(200):  # dhat solves delta = dhat/4 (e^epsilon + 1) (3 + ln(Delta/dhat))
        share = 4 * delta / growth / (3 + math.log(max_items / share))
    return math.ceil(max_items * math.log(max_items / share) / (2 * epsilon))


def names_by_true_count(counts: Counts, selected: Sequence[str]) -> tuple[str, ...]:
    """Selected names sorted again by their true counts (erratum 6)."""
    return tuple(sorted(selected, key=lambda item: (-counts[item], item)))


# Private Count Release


def unclamped_stddev(relative_error: float, log_odds: float, epsilon: float) -> float:
    """PCR eq. (2), used whether or not it is above 2/epsilon (erratum 11)."""
    return relative_error / 1.5 * (1 + log_odds / epsilon)


def top_with_missing_boundary(counts: Counts, rows: int) -> tuple[dict[str, int], int]:
    """A data frame of at most `rows` rows; the count behind them is not there and is taken as zero (erratum 12)."""
    kept = sorted((item for item in counts if counts[item]), key=lambda item: (-counts[item], item))[:rows]
    return {item: counts[item] for item in kept}, 0


def next_epsilon_as_rendered(epsilon: float) -> float:
    """The step of PCR as one rendering of the text has it, sqrt(2 epsilon) (erratum 13)."""
    return math.sqrt(2 * epsilon)


# Differentially private partition selection


def keep_table_past_crossover(epsilon: float, delta: float, crossover: int, length: int) -> list[float]:
    """pi_opt's closed form with a crossover n1 handed in: one too large breaks inequality (4) (erratum 21)."""
    growth = math.expm1(epsilon)
    table = [min(1.0, math.expm1(n * epsilon) / growth * delta) for n in range(crossover + 1)]
    for n in range(crossover + 1, length):
        decay = math.exp(-(n - crossover) * epsilon)
        table.append(min(1.0, (1 - decay) * (1 + delta / growth) + decay * table[crossover]))
    return table


def chance_of_double_at_most(probability: float) -> Fraction:
    """P[rand <= p] for a double `rand` that is a multiple of 2^-53: above p, by much where p is small (erratum 21)."""
    return Fraction(math.floor(Fraction(probability) * 2**53) + 1, 2**53)


# Differentially Private Set Union, DP-SIPS and GW


def share_as_printed(delta: float, parts: int) -> float:
    """1 - (1 - delta)^(1/t) in doubles (erratum 29)."""
    return 1 - (1 - delta) ** (1 / parts)


def single_item_threshold(scale: float, delta: float) -> float:
    """GW's 1 - ln(2 delta)/epsilon: as if one item at most were new (erratum 36)."""
    return 1 - scale * math.log(2 * delta)


def noised_without_bound(held: int, max_items: int) -> list[float]:
    """Weights of the items that DPSU Algorithm 1 noises for one person alone: all they hold, cut ones at 0 (24)."""
    kept = min(held, max_items)
    return [kept**-0.5] * kept + [0.0] * (held - kept)
