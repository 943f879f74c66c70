"""Formulas as printed or easily miscoded, kept only to be found out by the auditor and the tests. None is safe."""

from __future__ import annotations

import math
from fractions import Fraction


def bottom_odds_as_printed(place: int, fetched: int, delta: float) -> float:
    """LI Algorithm 4's ln(min{place, fetched - place}/delta): counts rows that were fetched as a domain (erratum 1)."""
    return min(place, fetched - place) / delta


def appendix_a_offset(epsilon: float, delta: float, max_items: int) -> int:
    """Appendix A's Delta ln(Delta/dhat)/eps_per, half of Algorithm 3's, rounded up; eps_per = 2 epsilon (erratum 5)."""
    growth, share = math.exp(epsilon) + 1, delta
    for _ in range(200):  # dhat solves delta = dhat/4 (e^epsilon + 1) (3 + ln(Delta/dhat))
        share = 4 * delta / growth / (3 + math.log(max_items / share))
    return math.ceil(max_items * math.log(max_items / share) / (2 * epsilon))


def unclamped_stddev(relative_error: float, log_odds: float, epsilon: float) -> float:
    """PCR eq. (2), used whether or not it is above 2/epsilon (erratum 11)."""
    return relative_error / 1.5 * (1 + log_odds / epsilon)


def next_epsilon_as_rendered(epsilon: float) -> float:
    """The step of PCR as one rendering of the text has it, sqrt(2 epsilon) (erratum 13)."""
    return math.sqrt(2 * epsilon)


def keep_table_past_crossover(epsilon: float, delta: float, *, crossover: int, length: int) -> list[float]:
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


def share_as_printed(delta: float, parts: int) -> float:
    """1 - (1 - delta)^(1/t) in doubles (erratum 29)."""
    return 1 - math.pow(1 - delta, 1 / parts)
