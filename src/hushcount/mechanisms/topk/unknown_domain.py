"""UnkGumb (LI Algorithm 4, after Durfee and Rogers 2019): the k most held items, no list, no bound per person."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from hushcount.mechanisms.calibration import concentrated, require_covered, root_below
from hushcount.mechanisms.mechanism import Mechanism
from hushcount.mechanisms.ranking import Contest, bottom_odds, place_call, rank
from hushcount.mechanisms.released import counted_within, release_top, unit_stddev, with_counts
from hushcount.mechanisms.topk.known_domain import step_cost
from hushcount.model.amounts import whole
from hushcount.model.budgets import Budget
from hushcount.model.costs import Cost, Failure
from hushcount.model.expectations import Expectation
from hushcount.model.facts import Facts
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Histogram
from hushcount.model.outcomes import Outcome
from hushcount.noise.gaussian import require_variance
from hushcount.noise.source import NoiseSource


@frozen
class UnknownGumbelPlan:
    """Up to k selections and k counts and one choice of the threshold's place, at epsilon each; delta for the call."""

    name: str
    max_items: None
    per_item_cap: int
    k: int
    rows: int
    counts: bool
    epsilon: Decimal
    delta: Decimal
    cost: Cost


def plan_unknown_gumbel(budget: Budget, facts: Facts, *, rows: int | None = None) -> UnknownGumbelPlan:
    """epsilon_per so that 2k + 1 (names only: k + 1) units of epsilon²/8 fit rho (erratum 3)."""
    units = whole("k", facts.k or 0) * (2 if facts.with_counts else 1) + 1
    total = concentrated(budget)
    return unknown_gumbel_at(Decimal(root_below(8 * Fraction(total.rho) / units)), total.delta, facts, rows=rows)


def unknown_gumbel_at(epsilon: Decimal, delta: Decimal, facts: Facts, *, rows: int | None = None) -> UnknownGumbelPlan:
    """The plan at LI's epsilon_per for each step and delta for the call; rows defaults to LI's max(10 k, 1000)."""
    k = whole("k", facts.k or 0, most=2**20)
    require_covered(delta, epsilon, facts.per_item_cap)
    if facts.with_counts:
        require_variance(Fraction(unit_stddev(Fraction(epsilon), facts.per_item_cap)) ** 2)
    fetched = max(10 * k, 1000) if rows is None else whole("rows", rows, least=k, most=2**24)
    counts = k if facts.with_counts else 0
    return UnknownGumbelPlan(
        name="unknown-gumbel",
        max_items=None,
        per_item_cap=facts.per_item_cap,
        k=k,
        rows=fetched,
        counts=facts.with_counts,
        epsilon=epsilon,
        delta=delta,
        cost=step_cost(epsilon, selections=k + 1, counts=counts) + Cost.of(Failure(delta=delta)),
    )


def run_unknown_gumbel(histogram: Histogram, plan: UnknownGumbelPlan, noise: NoiseSource) -> Outcome:
    """Choose where the threshold stands, select at most k names above it, noise their counts; pay for what comes back.

    Guarantee: delta-approximate zCDP: every selection (bottom is one), the choice of the threshold's place, and every
    count is epsilon²/8 (LI Theorem 1, DR19). With j items and bottom: j + 1 selections + 1 place + j counts; with k
    items: k + 1 + k. What is charged depends on the release only (pay what you get).
    Assumes: one person adds at most cap to any one count; nothing about how many counts.

    | edge case | result |
    |---|---|
    | fewer items than asked for above the threshold | a shorter list, and it says so |
    | empty histogram | empty list; costs the place and bottom |
    | ties with the boundary | never selected |

    Source: LI Algorithm 4. Corrected: the union bound is over `place` items, ln(place/delta), not min{place, fetched -
    place} (erratum 1: up to 999 times the claimed delta); the place is drawn by the exponential mechanism,
    argmin(threshold - Gumbel), not argmin(threshold + Gumbel) (erratum 2: up to 6 times epsilon and more); names and
    counts have separate noise and no score is released (erratum 6).
    """
    top = rank(histogram, plan.rows)
    drawn = place_call(
        top, plan.k, epsilon=Fraction(plan.epsilon), cap=plan.per_item_cap, purpose="unknown-gumbel/place"
    )
    place = plan.k + int(noise.perform(drawn)[0])
    above = top.above(place)
    keys = noise.identify(top.items[:above])
    contest = Contest(
        keys=keys,
        counts=top.counts[:above],
        bottom=(int(top.counts[place]) + plan.per_item_cap, bottom_odds(place, Fraction(plan.delta))),
        epsilon=Fraction(plan.epsilon),
        cap=plan.per_item_cap,
        most=plan.k,
    )
    order = noise.perform(contest.call("unknown-gumbel"))
    chosen = order[order < above]
    names = replace(
        release_top(plan, top.items[chosen], cutoff=_cutoff(plan, place), noise=noise), cost=_paid(plan, len(chosen))
    )
    if not plan.counts:
        return names
    return with_counts(names, plan, top.counts[chosen], keys=keys.at(chosen), noise=noise)


def _paid(plan: UnknownGumbelPlan, found: int) -> Cost:
    bottom = 1 if found < plan.k else 0
    counts = found if plan.counts else 0
    return step_cost(plan.epsilon, selections=found + bottom + 1, counts=counts) + Cost.of(Failure(delta=plan.delta))


def _cutoff(plan: UnknownGumbelPlan, place: int) -> float:
    """How far above the boundary an item must be; the boundary count is private, the place and epsilon are released."""
    return plan.per_item_cap * (1 + math.log(place / float(plan.delta)) / float(plan.epsilon))


def expect_unknown_gumbel(plan: UnknownGumbelPlan) -> Expectation:
    """As if the threshold stood at the first place that it can, k."""
    cutoff = _cutoff(plan, plan.k)
    note = f"An item must be held by about {cutoff:.0f} more people than the items just below the list."
    return Expectation(give_or_take=counted_within(plan), cutoff=cutoff, notes=(note,))


UNKNOWN_GUMBEL = Mechanism(
    name="unknown-gumbel",
    question="top",
    wants="histogram",
    needs=frozenset({"k"}),
    takes=frozenset({"per_item_cap", "with_counts"}),
    calibrate=plan_unknown_gumbel,
    run=run_unknown_gumbel,
    expect=expect_unknown_gumbel,
    small=lambda budget, facts: plan_unknown_gumbel(budget, facts, rows=max(2, facts.k or 0) + 1),
    fetch=lambda plan: plan.rows + 1,
    from_boundary=True,
)
