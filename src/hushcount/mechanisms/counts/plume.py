"""Plume's "naive" pipeline (Amin et al. 2022), the baseline of PCR: bound, find items, bound again, add noise."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from hushcount.errors import InvalidParameter
from hushcount.mechanisms.calibration import concentrated, root_above
from hushcount.mechanisms.mechanism import Mechanism, even_noise
from hushcount.mechanisms.released import past_threshold, release_counts
from hushcount.mechanisms.selection.union import UnionPlan, name_items, plan_union
from hushcount.model.amounts import charge, share, whole
from hushcount.model.budgets import Budget, RhoBudget
from hushcount.model.costs import Cost, DiscreteGaussian
from hushcount.model.expectations import Expectation
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Bound, Incidence
from hushcount.model.outcomes import Outcome
from hushcount.noise.calls import AddGaussian, Reach
from hushcount.noise.gaussian import require_variance
from hushcount.noise.source import NoiseSource


@frozen
class PlumePlan:
    """A weighted-Gaussian selection, then noise on bounded counts; rows below `least` are dropped."""

    name: str
    max_items: int
    selection: UnionPlan
    gaussian_stddev: float
    least: float
    cost: Cost


def plan_plume(budget: Budget, max_items: int, *, relative_error: float | None = None) -> PlumePlan:
    """Half of rho finds the items, half counts them.

    The l2-sensitivity of counts with at most m items for each person is sqrt(m): the PCR paper uses m, which handicaps
    this baseline (erratum 17). With a relative error r, rows below (2 + r) sigma / r are dropped ("Plume with
    threshold"): post-processing of the noisy counts.
    """
    whole("max_items", max_items, most=2**20)
    total = concentrated(budget)
    half = share(total.rho, 2)
    selection = plan_union("weighted", "gaussian", RhoBudget(half, total.delta), max_items=max_items)
    stddev = root_above(Fraction(max_items, 2) / Fraction(half))
    require_variance(Fraction(stddev) ** 2)
    if relative_error is not None and not relative_error > 0:
        raise InvalidParameter("relative_error", relative_error, "above zero")
    return PlumePlan(
        name="plume" if relative_error is None else "plume-threshold",
        max_items=max_items,
        selection=selection,
        gaussian_stddev=stddev,
        least=float("-inf") if relative_error is None else (2 + relative_error) * stddev / relative_error,
        cost=selection.cost + Cost.of(DiscreteGaussian(rho=charge(Fraction(max_items, 2) / Fraction(stddev) ** 2))),
    )


def run_plume(incidence: Incidence, plan: PlumePlan, noise: NoiseSource) -> Outcome:
    """Name items by weighted Gaussian, then release their noisy counts over people bounded afresh.

    Guarantee (one person and all their rows added or removed): delta-approximate rho-zCDP, the sum of selection and
    counts.
    Assumes: the bound is declared, not computed from the data: the paper's use of the data's own 95th percentile is not
    private (erratum 39).

    | edge case | result |
    |---|---|
    | nothing named | empty release, full cost |
    | a named item that the second bound cuts from everybody | count zero plus noise |

    Source: PCR section 1 and 4. Corrected: sensitivity sqrt(m') (erratum 17). Biased by the bound, as any bounded
    count.
    """
    named = name_items(incidence, plan.selection, noise, without=None, purpose="plume/select")
    bound = Bound(max_items=plan.max_items, salt=noise.salt("bound/plume/count"), only=named)
    call = AddGaussian(
        purpose="plume/count",
        keys=noise.identify(named),
        values=incidence.counts(bound).of(named),
        reach=Reach(each=1, rows=plan.max_items),
        variance=Fraction(plan.gaussian_stddev) ** 2,
    )
    noisy = noise.perform(call)
    shown = noisy >= plan.least
    release = release_counts(
        plan,
        named[shown],
        noisy[shown],
        law=("discrete-gaussian", plan.gaussian_stddev),
        cutoff=max(plan.selection.threshold, plan.least),
        noise=noise,
    )
    # Items are named by coins of their own; only the dropping of small rows looks at the noise that is released.
    return release if plan.least == -math.inf else past_threshold(release, math.ceil(plan.least) - 1)


def _expect(plan: PlumePlan) -> Expectation:
    return even_noise("discrete-gaussian", plan.gaussian_stddev, cutoff=max(plan.selection.threshold, plan.least))


PLUME = Mechanism(
    name="plume",
    question="count",
    wants="incidence",
    needs=frozenset({"max_items"}),
    calibrate=lambda budget, facts: plan_plume(budget, facts.max_items or 0),
    run=run_plume,
    expect=_expect,
    weighs=True,
)
# Rows are dropped by their counts, far above the weight at which they are found.
PLUME_THRESHOLD = replace(
    PLUME,
    name="plume-threshold",
    takes=frozenset({"relative_error"}),
    calibrate=lambda budget, facts: plan_plume(budget, facts.max_items or 0, relative_error=facts.aim),
    weighs=False,
)
