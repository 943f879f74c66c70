"""The advisor: parameters from what three simple attacks achieve, and the guarantee that they add up to.

As in section 8.3 of "LinkedIn's Audience Engagements API", epsilon_per comes from the averaging attack, the information
budget from the differencing attack, the delta of a call and the call budget from the chance that a count of one person
is shown. The guarantee is stated by the printed formula and by the tight one (`units.Promise`).
"""

from __future__ import annotations

import math
from decimal import Decimal

from hushcount.accounting import attacks, units
from hushcount.accounting.bisection import last_true
from hushcount.accounting.spent import EXACT
from hushcount.accounting.units import Promise, Units
from hushcount.ledger.limits import NEW_ORDER
from hushcount.model.amounts import Number, allow, positive, probability, share, whole
from hushcount.model.frozen import frozen

# Far below and above any epsilon_per in use.
_SMALLEST, _LARGEST = 1e-6, 100.0


@frozen
class Goals:
    """What the attacks may achieve; each number is the owner's to choose.

    Attributes:
        repeats: how often the same count may be drawn anew while the data stays the same; 30 for a daily refresh.
        averaging: the chance that the mean of those answers rounds to the true count.
        calls: the unknown-domain queries of a window.
        unique: the chance that any of them shows a count of one person.
        epsilon_per: a choice instead of the one from `averaging`, as LinkedIn's 0.15.
        delta_per_call: a choice instead of the one from `unique`, as LinkedIn's 1e-10.
        total_delta: where to state epsilon; two and a third times the delta of all calls unless said otherwise.
    """

    repeats: int = 30
    averaging: Number = "0.1"
    calls: int = 30
    unique: Number = "1e-8"
    epsilon_per: Number | None = None
    delta_per_call: Number | None = None
    total_delta: Number | None = None


@frozen
class Advice:
    """Parameters and what they mean.

    Attributes:
        budget: k*, l*, epsilon_per and delta of a window.
        results: the k of two top-k queries at which fewer than one count is expected to be near the truth in both;
            k* is what two such queries cost, with counts: 2 (2k + 1).
        averaging: the chance that averaging succeeds.
        near: the chance that one noisy count rounds to the true one.
        unique: the bound on the chance that a count of one person is shown in the window.
        promise: the guarantee of the whole budget.
    """

    budget: Units
    results: int
    averaging: float
    near: float
    unique: float
    promise: Promise


def advise(goals: Goals | None = None) -> Advice:
    """Parameters that keep the three attacks within the goals."""
    goals = goals or Goals()
    step = _epsilon_per(goals)
    calls = whole("calls", goals.calls)
    failure = _delta_per_call(goals)
    results = attacks.differencing_results(step)
    budget = Units(information=2 * units.unknown_gumbel(results), calls=calls, epsilon_per=step, delta_per_call=failure)
    failures = EXACT.multiply(failure, calls)
    total = probability("total_delta", goals.total_delta or share(EXACT.multiply(failures, 7), 3))
    return Advice(
        budget=budget,
        results=results,
        averaging=attacks.averaging_success(step, goals.repeats),
        near=attacks.near_count(step),
        unique=attacks.unique_count_shown(failure, calls=calls),
        # A new ledger knows other costs, which this budget may be spent on, too, for so many orders.
        promise=units.guarantee(budget, total, order=NEW_ORDER),
    )


def _epsilon_per(goals: Goals) -> Decimal:
    """The largest epsilon_per, rounded down to three digits, at which averaging succeeds no more often than wanted."""
    if goals.epsilon_per is not None:
        return positive("epsilon_per", goals.epsilon_per)
    wanted = float(probability("averaging", goals.averaging))
    found = last_true(lambda step: attacks.averaging_success(step, goals.repeats) <= wanted, _SMALLEST, _LARGEST)
    return _three_digits(found)


def _delta_per_call(goals: Goals) -> Decimal:
    """The largest delta of a call at which the calls together show a unique count no more often than wanted."""
    if goals.delta_per_call is not None:
        return positive("delta_per_call", goals.delta_per_call)
    wanted = float(probability("unique", goals.unique))
    return _three_digits(wanted / goals.calls)


def _three_digits(value: float) -> Decimal:
    """Rounded down, so that the goal still holds."""
    digits = 2 - math.floor(math.log10(value))
    return allow(Decimal(math.floor(Decimal(value).scaleb(digits))).scaleb(-digits)).normalize()
