"""Guessing: what a spent budget means for one person, as how often a guess about them can be right."""

from __future__ import annotations

import math

from hushcount.accounting.spent import Spent
from hushcount.model.amounts import amount, float_above

# A few roundings of doubles, each below 1e-15.
_SLACK = 1e-12


def best_guess(spent: Spent) -> float:
    """How often at most somebody guesses right whether a person is in the data; between one half and one.

    Guarantee: for every two neighbours x and y, of which one was chosen by a fair coin, whoever sees all releases that
    together cost `spent`, chosen one after the other, and knows x and y, names the chosen one with at most this
    probability. Rounded up.
    Assumes: the releases are delta-approximately rho-zCDP together, for orders from one up to any.
    Edge cases: nothing spent is one half; a delta of one, or a large rho, is one.
    Source: the best guess is right with probability (1 + TV) / 2 (Neyman and Pearson). The divergence of order one is
    at most rho (Bun and Steinke 2016, as orders go to one), so TV is at most sqrt(rho / 2) (Pinsker) and at most
    sqrt(1 - exp(-rho)) (Bretagnolle and Huber 1979). Outside of events of probability delta: TV <= delta +
    (1 - delta) times that.
    """
    rho, delta = float_above(amount("rho", spent.rho)), min(1.0, float_above(amount("delta", spent.delta)))
    apart = min(math.sqrt(rho / 2), math.sqrt(-math.expm1(-rho)), 1.0)
    return min(1.0, (1 + delta + (1 - delta) * apart) / 2 + (_SLACK if rho or delta else 0.0))
