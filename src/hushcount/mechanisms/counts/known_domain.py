"""Counts of every item on a public list, with discrete Laplace noise (LI Algorithm 1) or discrete Gaussian noise."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from hushcount.mechanisms.calibration import pure_epsilon, root_above, unfailing
from hushcount.mechanisms.mechanism import Mechanism, even_noise
from hushcount.mechanisms.ranking import require_complete
from hushcount.mechanisms.released import release_counts, require_public_list
from hushcount.model.amounts import charge, whole
from hushcount.model.budgets import Budget
from hushcount.model.costs import Cost, DiscreteGaussian, Pure
from hushcount.model.facts import Facts
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Counts, Items
from hushcount.model.outcomes import Outcome
from hushcount.noise.calls import AddGaussian, AddLaplace, Reach
from hushcount.noise.gaussian import require_variance
from hushcount.noise.laplace import require_rate
from hushcount.noise.source import NoiseSource


@frozen
class KnownLaplacePlan:
    """Noise of scale cap/epsilon on each count; a person is in at most max_items counts."""

    name: str
    max_items: int
    per_item_cap: int
    epsilon: Decimal
    public_items: Items
    cost: Cost


def plan_known_laplace(
    budget: Budget, max_items: int, public_items: Items, *, per_item_cap: int = 1
) -> KnownLaplacePlan:
    """Epsilon for each count so that max_items of them fit the budget. LI's epsilon_per is twice this epsilon."""
    whole("max_items", max_items, most=2**31)
    require_public_list(public_items)
    # A person cannot be in more counts than there are on the list.
    parts = min(max_items, len(public_items))
    epsilon = pure_epsilon(budget, parts)
    require_rate(Fraction(epsilon) / per_item_cap)
    cost = Cost.of((Pure(epsilon=epsilon), parts))
    return KnownLaplacePlan(
        name="known-laplace",
        max_items=max_items,
        per_item_cap=per_item_cap,
        epsilon=epsilon,
        public_items=public_items,
        cost=cost,
    )


def run_known_laplace(histogram: Counts, plan: KnownLaplacePlan, noise: NoiseSource) -> Outcome:
    """A noisy count for every listed item, zeros included; items that are not listed are left out.

    Guarantee: each count is epsilon-DP, a person moves at most max_items of them: max_items epsilon-DP, max_items
    epsilon tanh(epsilon/2)-zCDP; no delta. With epsilon = epsilon_per/2 this is LI's Delta epsilon_per-bounded range
    (Lemma 5.2).
    Assumes: the list is public, declared and not observed (erratum 4); each person adds at most cap to each of at most
    max_items counts; the histogram is complete.

    | edge case | result |
    |---|---|
    | a histogram that is not complete | refused: a missing row would be read as zero |
    | empty histogram | noise around zero for every listed item |
    | noisy counts below zero | stay as they are; clamping is the reader's post-processing |

    Source: LI Algorithm 1 with discrete noise on integers.
    """
    require_complete(histogram)
    rate = Fraction(plan.epsilon) / plan.per_item_cap
    call = AddLaplace(
        purpose=plan.name,
        keys=noise.identify(plan.public_items),
        values=histogram.of(plan.public_items),
        reach=Reach(each=plan.per_item_cap, rows=plan.max_items),
        rate=rate,
    )
    return release_counts(
        plan,
        plan.public_items,
        noise.perform(call),
        law=("discrete-laplace", float(1 / rate)),
        cutoff=None,
        noise=noise,
    )


def _plan(budget: Budget, facts: Facts) -> KnownLaplacePlan:
    """Without a declared bound: nobody can have more of the listed items than there are."""
    public = require_public_list(facts.public_items)
    return plan_known_laplace(budget, facts.max_items or len(public), public, per_item_cap=facts.per_item_cap)


KNOWN_LAPLACE = Mechanism(
    name="known-laplace",
    question="count",
    wants="histogram",
    needs=frozenset({"public_items"}),
    takes=frozenset({"max_items", "per_item_cap"}),
    calibrate=_plan,
    run=run_known_laplace,
    expect=lambda plan: even_noise("discrete-laplace", plan.per_item_cap / float(plan.epsilon), cutoff=None),
    listed_only=True,
)


@frozen
class KnownGaussianPlan:
    """Discrete Gaussian noise of this standard deviation on each count; a person is in at most max_items counts."""

    name: str
    max_items: int
    per_item_cap: int
    gaussian_stddev: float
    public_items: Items
    cost: Cost


def plan_known_gaussian(
    budget: Budget, max_items: int, public_items: Items, *, per_item_cap: int = 1
) -> KnownGaussianPlan:
    """Sigma = cap sqrt(max_items) / sqrt(2 rho), which grows with the root of a person's items and not with them."""
    whole("max_items", max_items, most=2**31)
    require_public_list(public_items)
    # A person cannot be in more counts than there are on the list.
    squared = Fraction(min(max_items, len(public_items)) * per_item_cap**2, 2)
    stddev = root_above(squared / Fraction(unfailing(budget)))
    require_variance(Fraction(stddev) ** 2)
    return KnownGaussianPlan(
        name="known-gaussian",
        max_items=max_items,
        per_item_cap=per_item_cap,
        gaussian_stddev=stddev,
        public_items=public_items,
        cost=Cost.of(DiscreteGaussian(rho=charge(squared / Fraction(stddev) ** 2))),
    )


def run_known_gaussian(histogram: Counts, plan: KnownGaussianPlan, noise: NoiseSource) -> Outcome:
    """A noisy count for every listed item, zeros included; items that are not listed are left out.

    Guarantee: rho-zCDP with rho = max_items cap² / (2 sigma²): the discrete Gaussian on integers of l2-sensitivity cap
    sqrt(max_items) (Canonne, Kamath and Steinke); no delta, since the list is public and nothing can be shown that a
    neighbour could not show. Under (epsilon, delta) all of delta pays for the conversion.
    Assumes: the list is public, declared and not observed (erratum 4); each person adds at most cap to each of at most
    max_items counts; the histogram is complete.

    | edge case | result |
    |---|---|
    | a histogram that is not complete | refused: a missing row would be read as zero |
    | empty histogram | noise around zero for every listed item |
    | noisy counts below zero | stay as they are; clamping is the reader's post-processing |

    Source: LI Algorithm 1 with the noise of Canonne, Kamath and Steinke (2020) in place of Laplace noise.
    """
    require_complete(histogram)
    call = AddGaussian(
        purpose=plan.name,
        keys=noise.identify(plan.public_items),
        values=histogram.of(plan.public_items),
        reach=Reach(each=plan.per_item_cap, rows=plan.max_items),
        variance=Fraction(plan.gaussian_stddev) ** 2,
    )
    return release_counts(
        plan,
        plan.public_items,
        noise.perform(call),
        law=("discrete-gaussian", plan.gaussian_stddev),
        cutoff=None,
        noise=noise,
    )


def _plan_gaussian(budget: Budget, facts: Facts) -> KnownGaussianPlan:
    public = require_public_list(facts.public_items)
    return plan_known_gaussian(budget, facts.max_items or len(public), public, per_item_cap=facts.per_item_cap)


KNOWN_GAUSSIAN = replace(
    KNOWN_LAPLACE,
    name="known-gaussian",
    calibrate=_plan_gaussian,
    run=run_known_gaussian,
    expect=lambda plan: even_noise("discrete-gaussian", plan.gaussian_stddev, cutoff=None),
)
