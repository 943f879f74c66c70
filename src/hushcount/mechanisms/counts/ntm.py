"""NTM, name then measure: counts with no item list and no bound on the items of a person, the default of `count`."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from hushcount.mechanisms.counts.ntm_course import Course, Group, Measured
from hushcount.mechanisms.counts.ntm_plan import NtmPlan, plan_ntm
from hushcount.mechanisms.counts.ntm_shape import Floats, Shape, shape_of
from hushcount.mechanisms.counts.pcr_batched import peel_counts
from hushcount.mechanisms.counts.purse import Purse
from hushcount.mechanisms.mechanism import Mechanism
from hushcount.mechanisms.ranking import rank
from hushcount.mechanisms.released import release_counts
from hushcount.model.budgets import Budget
from hushcount.model.expectations import Expectation
from hushcount.model.facts import Facts
from hushcount.model.inputs import Clip, Incidence, Items
from hushcount.model.outcomes import Outcome
from hushcount.noise.source import NoiseSource

_SIDE = 1.959964  # 95 % of a normal law lie within so many standard deviations
# More names are looked for only while what is there could be measured with so much to spare.
_SPARE = 1.5


def run_ntm(incidence: Incidence, plan: NtmPlan, noise: NoiseSource) -> Outcome:
    """..."""
    course = Course(incidence=incidence, plan=plan, noise=noise, purse=Purse(plan.rho, plan.delta))
    if plan.crowd and course.crowd() * plan.crowded < plan.rounds[plan.first - 1].threshold:
        return _peeled(course)
    groups = _named(course, [], range(plan.first))
    if not groups:
        return _peeled(course)
    shape = _shape(groups, Fraction(plan.rough))
    clip = course.choose(shape, room=2 * float(plan.rough) * plan.rough_noise**2, number=0)
    kept = clip.radius**2 / int(shape.squares[clip.first - 1])
    if clip.first == len(shape):
        groups = _more_names(course, groups, min(kept, 1.0))
        shape = _shape(groups, Fraction(plan.rough))
        clip = Clip(first=len(shape), radius=_radius(shape, kept))
    rough = course.measure(shape, clip, rho=plan.rough, number=0)
    final, last = _final(course, groups, shape, rough)
    return _release(course, rough, final, last)


def _named(course: Course, groups: list[Group], rounds: range) -> list[Group]:
    for number in rounds:
        found = course.name(number, groups)
        if found is not None:
            groups = [*groups, found]
    return groups


def _more_names(course: Course, groups: list[Group], kept: float) -> list[Group]:
    plan = course.plan
    for number in range(plan.first, len(plan.rounds)):
        wanted = [len(group.items) / (plan.final_noise * group.mean) ** 2 / 2 for group in groups]
        left = course.purse.rho - plan.rough - plan.choices[1] - sum(plan.losses)
        if _SPARE * kept * math.fsum(wanted) > left:
            break
        groups = _named(course, groups, range(number, number + 1))
    return groups


def _shape(groups: list[Group], rho: Fraction) -> Shape:
    items = np.concatenate([group.items for group in groups])
    means = np.concatenate([np.full(len(group.items), group.mean) for group in groups])
    return shape_of(items, means, rho)


def _radius(shape: Shape, kept: float) -> int:
    """The radius that leaves the same share of all items' squares as was chosen before more were named."""
    everything = shape.unclipped(len(shape)).radius
    return everything if kept >= 1 else max(1, math.floor(math.sqrt(kept * int(shape.squares[-1]))))


def _final(course: Course, groups: list[Group], shape: Shape, rough: Measured) -> tuple[Measured, float]:
    plan = course.plan
    mean = {item: group.mean for group in groups for item in group.items.tolist()}
    means = np.array([mean[item] for item in rough.items.tolist()])
    belief, known = 1 / (plan.spread * means) ** 2, 1 / rough.stddevs**2
    predicted = np.maximum((rough.counts * known + means * belief) / (known + belief), means / 4)
    left = course.purse.rho - (plan.choices[1] + plan.losses[1] if plan.clips else 0)
    better = shape_of(rough.items, predicted, Fraction(left))
    clip = course.choose(better, room=2 * float(left) * plan.final_noise**2, number=1)
    rho = left if course.clips_somebody(better, clip) else course.purse.rho
    return course.measure(better, clip, rho=rho, number=1), float(better.predictions[clip.first - 1])


def _release(course: Course, rough: Measured, final: Measured, last: float) -> Outcome:
    """Both counts of each item, weighed by their precision; items whose noise is too large for them are left out.

    Each of the two is low by at most what its clip took away, so the estimate by at most the same mean of both. The
    noise of these two numbers is independent of the counts': so the upper end is the estimate, the weighted losses, and
    1.96 deviations of all noises together. Each end is missed with probability 2.5 % at most.
    """
    plan = course.plan
    place = {item: row for row, item in enumerate(final.items.tolist())}
    rows = np.array([place.get(item, -1) for item in rough.items.tolist()])
    first, second = 1 / rough.stddevs**2, np.where(rows >= 0, 1 / final.stddevs[rows] ** 2, 0)
    part = second / (first + second)
    counts = np.rint((1 - part) * rough.counts + part * final.counts[rows]).astype(np.int64)
    # Rounding to a whole number adds 1/12.
    stddevs = np.sqrt(1 / (first + second) + 1 / 12)
    wide = np.sqrt(stddevs**2 + ((1 - part) * rough.lost_stddev) ** 2 + (part * final.lost_stddev) ** 2)
    slack = np.ceil((1 - part) * rough.lost + part * final.lost + _SIDE * (wide - stddevs)).astype(np.int64)
    shown = np.flatnonzero(stddevs <= plan.dropped * plan.final_noise * counts)
    released = release_counts(
        plan,
        rough.items[shown],
        counts[shown],
        law=("discrete-gaussian", stddevs[shown]),
        cutoff=last,
        noise=course.noise,
    )
    by_item = dict(zip(rough.items.tolist(), slack.tolist(), strict=True))
    above = np.array([by_item[item] for item in released.items.tolist()], dtype=np.int64)
    return replace(released, slack=above, cost=course.purse.bought, remark=_remark(rough, final))


def _remark(rough: Measured, final: Measured) -> str | None:
    if not rough.lost_stddev and not final.lost_stddev:
        return None
    lost = max(one.lost + _SIDE * one.lost_stddev for one in (rough, final))
    return (
        "Long lists were clipped so that one person moves all counts together only a little: no count is too low by "
        f"more than about {math.ceil(lost):,} people for it, and the upper ends allow for that."
    )


def _peeled(course: Course) -> Outcome:
    """Counts by peeling, with all that is left: naming would need too many people for each item, or named nothing."""
    plan, purse = course.plan, course.purse
    peeling = replace(plan.peeling, rho=purse.rho, delta=purse.delta)
    top = rank(course.incidence.largest(peeling.fetched + 1), peeling.fetched)
    found = peel_counts(top, peeling, purse, course.noise)
    law = ("discrete-gaussian", found.stddevs)
    released = release_counts(plan, found.items, found.counts, law=law, cutoff=found.cutoff, noise=course.noise)
    remark = "For lists this long and so few people, counts were found one by one instead of all at once."
    return replace(released, cost=purse.bought, remark=remark)


def expect_ntm(plan: NtmPlan) -> Expectation:
    return Expectation(notes=())


def _plan(budget: Budget, facts: Facts) -> NtmPlan:
    return plan_ntm(budget, relative_error=facts.aim)


def _plan_unclipped(budget: Budget, facts: Facts) -> NtmPlan:
    return plan_ntm(budget, clips=False, relative_error=facts.aim)


def _mechanism(name: str, calibrate) -> Mechanism:
    return Mechanism(
        name=name,
        question="count",
        wants="incidence",
        takes=frozenset({"relative_error"}),
        calibrate=calibrate,
        run=run_ntm,
        expect=expect_ntm,
    )


NTM, NTM_UNCLIPPED = _mechanism("ntm", _plan), _mechanism("ntm-unclipped", _plan_unclipped)
