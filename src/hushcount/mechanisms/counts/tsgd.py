"""k-TSGD thresholded release (DVGM Definition 8): names and counts together, with one truncated noise for both."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np

from hushcount.errors import InvalidParameter
from hushcount.mechanisms.calibration import pure_epsilon
from hushcount.mechanisms.mechanism import Mechanism, even_noise
from hushcount.mechanisms.ranking import require_complete
from hushcount.mechanisms.released import past_threshold, release_counts, require_public_list
from hushcount.model.amounts import charge, share, whole
from hushcount.model.budgets import Budget
from hushcount.model.costs import Approximate, Cost
from hushcount.model.expectations import Expectation
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Counts, Histogram, Int64s, Items, Shown
from hushcount.model.outcomes import Outcome
from hushcount.noise import enclosures
from hushcount.noise.calls import AddTruncated, Reach
from hushcount.noise.laplace import require_rate
from hushcount.noise.source import NoiseSource
from hushcount.noise.tsgd import require_truncation

MOST_ITEMS = 3


@frozen
class TsgdPlan:
    """Noise on -bound..bound with rate epsilon; counts above the bound are shown.

    `public_items` and `public_threshold` are set for the two-threshold form: listed items are shown above their own
    threshold.
    """

    name: str
    max_items: int
    epsilon: Decimal
    bound: int
    cost: Cost
    public_items: Items | None = None
    public_threshold: int = 0


def plan_tsgd(
    budget: Budget, max_items: int, *, public_items: Items | None = None, public_threshold: int = 0
) -> TsgdPlan:
    """The smallest bound k with P[X = k] <= delta (DVGM Definition 7), for each of at most three items of a person.

    The ceiling in k leaves a part of delta unspent (0.77 of it is spent at (1, 1e-5)): what is charged is P[X = k]
    itself (erratum 20).
    """
    if whole("max_items", max_items) > MOST_ITEMS:
        raise InvalidParameter(
            "max_items", max_items, "at most 3 for 'tsgd'", "Use method 'gaussian-threshold' or 'pcr'."
        )
    if public_items is not None:
        require_public_list(public_items)
    epsilon, delta = pure_epsilon(budget, max_items), share(budget.delta, max_items)
    rate = float(epsilon)
    require_rate(Fraction(epsilon))
    bound = max(1, math.ceil(math.log1p(math.tanh(rate / 2) * (1 / float(delta) - 1)) / rate) - 1)
    while end_mass(epsilon, bound) > Fraction(delta):
        bound += 1
    require_truncation(Fraction(epsilon), bound)
    name = "tsgd" if public_items is None else "tsgd-public"
    cost = Cost.of((Approximate(epsilon=epsilon, delta=charge(end_mass(epsilon, bound))), max_items))
    return TsgdPlan(
        name=name,
        max_items=max_items,
        epsilon=epsilon,
        bound=bound,
        cost=cost,
        public_items=public_items,
        public_threshold=public_threshold,
    )


def end_mass(epsilon: Decimal, bound: int) -> Fraction:
    """P[X = k] of the k-TSGD, rounded up: e^(-k eps) (1 - e^-eps) / (1 + e^-eps - 2 e^(-(k+1) eps))."""
    rate = Fraction(epsilon)
    low, _ = enclosures.exp(-rate, 40)
    # Enclosed anew: as powers of the first they would have as many digits as the bound, which has no end.
    _, last = enclosures.exp(-rate * bound, 40)
    _, beyond = enclosures.exp(-rate * (bound + 1), 40)
    return last * (1 - low) / (1 + low - 2 * beyond)


def run_tsgd(histogram: Counts, plan: TsgdPlan, noise: NoiseSource) -> Outcome:
    """Noisy counts of all items whose noisy count exceeds the bound.

    Guarantee: (epsilon, P[X = bound])-DP for each item, each person being in at most max_items of them (DVGM Theorem
    6). Noise never exceeds the bound, so an item that nobody has can never be shown, and items need no list.
    Assumes: each person is counted in at most max_items items, once in each; the histogram is complete.

    | edge case | result |
    |---|---|
    | empty histogram | empty release (listed items: their noise), full cost |
    | an item of one person | shown with probability P[X = bound] <= delta |
    | an item of 2 bound + 1 people | always shown |

    With a public list: listed items get the same noise, zeros included, and are shown above `public_threshold`;
    unlisted ones above the bound (DVGM section 5). Source: DVGM Definitions 6-8. Corrected: exponents of Theorem 5's
    proof (erratum 19), numerics of k (21).
    """
    require_complete(histogram)
    public = plan.public_items
    listed = set() if public is None else set(public.tolist())

    def above(items: Items, counts: Int64s, threshold: int) -> Shown:
        call = AddTruncated(
            purpose=plan.name,
            keys=noise.identify(items),
            values=counts,
            reach=Reach(each=1, rows=plan.max_items),
            rate=Fraction(plan.epsilon),
            bound=plan.bound,
        )
        noisy = noise.perform(call)
        return items[noisy > threshold], noisy[noisy > threshold]

    def unlisted(block: Histogram) -> Shown:
        if not listed:
            return above(block.items[:], block.counts, plan.bound)
        own = np.array([item not in listed for item in block.items.tolist()], dtype=np.bool_)
        return above(block.items[own], block.counts[own], plan.bound)

    items, noisy = histogram.each(unlisted)
    if public is not None:
        more, theirs = above(public, histogram.of(public), plan.public_threshold)
        items, noisy = np.concatenate([items, more]), np.concatenate([noisy, theirs])
    release = release_counts(
        plan,
        items,
        noisy,
        law=("truncated-geometric", 1 / float(plan.epsilon)),
        cutoff=float(plan.bound + 1),
        noise=noise,
    )
    passed = [plan.public_threshold if item in listed else plan.bound for item in release.items.tolist()]
    return past_threshold(release, np.array(passed, dtype=np.int64), noise_bound=plan.bound)


def _expect(plan: TsgdPlan) -> Expectation:
    return even_noise("truncated-geometric", 1 / float(plan.epsilon), cutoff=plan.bound + 1)


TSGD = Mechanism(
    name="tsgd",
    question="count",
    wants="histogram",
    needs=frozenset({"max_items"}),
    calibrate=lambda budget, facts: plan_tsgd(budget, facts.max_items or 0),
    run=run_tsgd,
    expect=_expect,
)
TSGD_PUBLIC = replace(
    TSGD,
    name="tsgd-public",
    needs=frozenset({"max_items", "public_items"}),
    calibrate=lambda budget, facts: plan_tsgd(
        budget, facts.max_items or 0, public_items=require_public_list(facts.public_items)
    ),
)
