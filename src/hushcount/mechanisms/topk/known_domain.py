"""KnownGumb (LI Algorithm 2): the k most held items of a public list."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from hushcount.errors import InvalidParameter
from hushcount.mechanisms.calibration import root_below, unfailing
from hushcount.mechanisms.mechanism import Mechanism
from hushcount.mechanisms.ranking import require_complete
from hushcount.mechanisms.released import counted_within, release_top, require_public_list, unit_stddev, with_counts
from hushcount.model.amounts import charge, whole
from hushcount.model.budgets import Budget
from hushcount.model.costs import BoundedRange, Cost, DiscreteGaussian
from hushcount.model.expectations import Expectation
from hushcount.model.facts import Facts
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Counts, Items
from hushcount.model.outcomes import Outcome
from hushcount.noise.calls import Peel, Reach
from hushcount.noise.gaussian import require_variance
from hushcount.noise.source import NoiseSource


@frozen
class KnownGumbelPlan:
    """k selections at epsilon and, if counts are wanted, k counts at the same cost each."""

    name: str
    max_items: None
    per_item_cap: int
    k: int
    counts: bool
    epsilon: Decimal
    public_items: Items
    cost: Cost


def plan_known_gumbel(budget: Budget, facts: Facts) -> KnownGumbelPlan:
    """epsilon_per so that 2k (names only: k) information units of epsilon²/8 fit rho.

    Nothing can fail, so no part of delta is kept back for failures.
    """
    units = whole("k", facts.k or 0) * (2 if facts.with_counts else 1)
    rho = Fraction(unfailing(budget))
    return known_gumbel_at(Decimal(root_below(8 * rho / units)), facts)


def known_gumbel_at(epsilon: Decimal, facts: Facts) -> KnownGumbelPlan:
    """The plan at a given epsilon for each step (LI's epsilon_per)."""
    public, k = require_public_list(facts.public_items), whole("k", facts.k or 0)
    if facts.with_counts:
        require_variance(Fraction(unit_stddev(Fraction(epsilon), facts.per_item_cap)) ** 2)
    if k > len(public):
        raise InvalidParameter("k", k, f"at most {len(public)}, the length of the public list")
    return KnownGumbelPlan(
        name="known-gumbel",
        max_items=None,
        per_item_cap=facts.per_item_cap,
        k=k,
        counts=facts.with_counts,
        epsilon=epsilon,
        public_items=public,
        cost=step_cost(epsilon, selections=k, counts=k if facts.with_counts else 0),
    )


def step_cost(epsilon: Decimal, *, selections: int, counts: int) -> Cost:
    """Selections are epsilon-bounded range; counts have sigma = 2 cap / epsilon, rho = epsilon²/8."""
    rho = charge(Fraction(epsilon) ** 2 / 8)
    return Cost.of((BoundedRange(epsilon=epsilon), selections), (DiscreteGaussian(rho=rho), counts))


def run_known_gumbel(histogram: Counts, plan: KnownGumbelPlan, noise: NoiseSource) -> Outcome:
    """The k names picked by the exponential mechanism without replacement, and noisy counts for them.

    Guarantee: k selections of epsilon-bounded range and k counts of epsilon²/8-zCDP: 2k epsilon²/8-zCDP together; no
    delta (LI Lemma 5.2). Add or remove one person: all scores move in one direction by at most cap, so the range of the
    score is cap, not twice that (erratum 40).
    Assumes: the list is public (erratum 4); one person adds at most cap to any one count; the histogram is complete.

    | edge case | result |
    |---|---|
    | a histogram that is not complete | refused: a missing row would be read as zero |
    | k = length of the list | all of it, in noisy order |
    | empty histogram | k names of the list at random |

    Source: LI Algorithm 2, counts by separately drawn Gaussian noise (erratum 6; BEYOND 4).
    """
    require_complete(histogram)
    counts = histogram.of(plan.public_items)
    keys = noise.identify(plan.public_items)
    call = Peel(
        purpose=f"{plan.name}/select",
        keys=keys,
        values=counts,
        reach=Reach(spread=plan.per_item_cap),
        rate=Fraction(plan.epsilon) / plan.per_item_cap,
        most=plan.k,
    )
    chosen = noise.perform(call)
    names = release_top(plan, plan.public_items[chosen], cutoff=None, noise=noise)
    if not plan.counts:
        return names
    return with_counts(names, plan, counts[chosen], keys=keys.at(chosen), noise=noise)


KNOWN_GUMBEL = Mechanism(
    name="known-gumbel",
    question="top",
    wants="histogram",
    needs=frozenset({"k", "public_items"}),
    takes=frozenset({"per_item_cap", "with_counts"}),
    calibrate=plan_known_gumbel,
    run=run_known_gumbel,
    expect=lambda plan: Expectation(give_or_take=counted_within(plan)),
    # 3: under (epsilon, delta) all of delta pays for the conversion, so the same question is drawn at another epsilon.
    version=3,
)
