"""NTM, name then measure: counts with no item list and no bound on the items of a person, the default of `count`."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Literal

import numpy as np

from hushcount.mechanisms.counts.ntm_choice import Ladder, choice_rho, loss_rho, rarest
from hushcount.mechanisms.counts.ntm_course import Course, Group, Measured
from hushcount.mechanisms.counts.ntm_estimates import estimate
from hushcount.mechanisms.counts.ntm_plan import NtmPlan, Settings, Shares, plan_ntm, settings_for
from hushcount.mechanisms.counts.ntm_shape import Shape, shape_of
from hushcount.mechanisms.counts.pcr_batched import peel_counts, peeling_rho, small_pcr_batched
from hushcount.mechanisms.counts.purse import Purse
from hushcount.mechanisms.mechanism import Mechanism
from hushcount.mechanisms.ranking import rank
from hushcount.mechanisms.released import release_counts
from hushcount.model.amounts import allow
from hushcount.model.budgets import Budget, EpsilonBudget
from hushcount.model.expectations import Expectation
from hushcount.model.facts import Facts
from hushcount.model.inputs import Clip, Incidence
from hushcount.model.outcomes import Outcome
from hushcount.noise.source import NoiseSource
from hushcount.noise.widths import half_width

# Where naming reaches items of so small a share of all people, few names mean that there are few items, or that all of
# them are alike and come with the last of the first rounds: asked before that round, and after it.
_REACHED = (0.2, 0.05)
# For the auditor: an error from which on counts have few outcomes.
_ROUGH = 0.5
# More names are looked for only while what is there could be measured with so much to spare.
_SPARE = 1.5
_PEELED = "Lists are so long, or people so few, that counts were found one by one instead of named and then measured."


def run_ntm(incidence: Incidence, plan: NtmPlan, noise: NoiseSource) -> Outcome:
    """Name items in rounds, then measure them all together, twice, under a clip that is chosen privately.

    1. One number says how much an item would weigh that everybody had. If naming needs too large a share of it, counts
       are peeled instead, as `pcr-batched` does, with all that is left.
    2. Rounds name items, and the mean count of what each named is measured. If nothing was named, or so little that
       what is left could peel it several times over though rarer items could not be named, counts are peeled with that.
       This is asked before the last of the first rounds, which is the dearest, and after it.
    3. A first choice, of how many of them to count and of how much of a person's list may count; where all are kept and
       there is room, one or two rounds more.
    4. Rough counts; a second choice from what they predict; final counts with all that is left. Choices and losses
       have no more of their shares than the predicted counts tell that they need.

    Guarantee: delta-approximate rho-zCDP, by the filter: every step is charged before it is drawn, and which steps
    follow, and with which numbers, is decided from released values alone. A naming round is delta_i-approximate
    rho_i-zCDP (`union`, "ks"), the deltas add up to delta. A mean moves by its group's size at most, a choice has range
    epsilon (each person raises each loss by something from 0 to 1), the sums of a measurement move by the clip's radius
    at most in l2, whatever a person holds, and what a clip takes away by one person at most.
    Assumes: nothing about how many items a person has. Each person counts once for an item (a per-item cap is refused).
    Unbiased but for the clip: a count is low by at most what the clip took away; the interval allows for it, at 95 %
    for each row, given that the row is shown. Which of its two counts it goes by is told in `ntm_estimates.estimate`.

    | edge case | result |
    |---|---|
    | no data, or nothing can be named | what peeling finds, which may be nothing |
    | one item is more than the budget can measure well | it is measured alone, and shown if it came out well |
    | nobody can be clipped | no loss is bought, and the counts are unbiased |
    | a tiny budget | grids are coarser, so that noise stays within 64 bits |

    Source: new here (docs, mechanisms/count.md; no paper prints it): the steepest keep curve, Dong, Durfee and Rogers
    2020 for the range of the choice, Canonne, Kamath and Steinke 2020 for integer noise, Whitehouse, Ramdas, Rogers and
    Wu 2023 for the filter. Added: the first step; the loss is bought with noise, so that upper ends rest on it; the
    first candidate has the smallest radius that clips nobody.
    """
    course = Course(incidence=incidence, plan=plan, noise=noise, purse=Purse(plan.rho, plan.delta))
    needs, crowd = plan.rounds[plan.first - 1].threshold, course.crowd() if plan.crowd else math.inf
    if plan.crowded * crowd < needs:
        return _peeled(course)
    last = plan.first - 1
    groups = _named(course, [], range(last))
    if last and needs > _REACHED[0] * crowd and _few(course, groups, times=plan.few[0]):
        return _peeled(course)
    groups = _named(course, groups, range(last, plan.first))
    if not groups or (needs > _REACHED[1] * crowd and _few(course, groups, times=plan.few[1])):
        return _peeled(course)
    shape, rho = _shape(groups, plan), plan.rough
    if not rho:
        return _release(course, _final(course, shape))
    room = 2 * float(rho) * plan.rough_noise**2
    precision = choice_rho(plan.choices[0], rarest(shape, room), plan.ladder)
    clip = course.choose(shape, room=room, rho=precision, number=0)
    if clip.first == len(shape):
        kept = min(1.0, clip.radius**2 / int(shape.squares[-1]))
        groups, before = _more_names(course, groups, kept), groups
        shape = shape if groups is before else _shape(groups, plan)
        clip = Clip(first=len(shape), radius=_radius(shape, kept))
    bound = loss_rho(plan.losses[0], plan.loss_noise * shape.stddev(clip, rho))
    lost = course.lost(shape, clip, rho=bound, number=0)
    rough = replace(course.measure(shape, clip, rho=rho, purpose="rough"), lost=lost[0], lost_stddev=lost[1])
    return _release(course, _final(course, _predicted(plan, groups, rough)), rough)


def _named(course: Course, groups: list[Group], rounds: range) -> list[Group]:
    for number in rounds:
        found = course.name(number, groups)
        groups = groups if found is None else [*groups, found]
    return groups


def _few(course: Course, groups: list[Group], *, times: float) -> bool:
    """Whether so few items were named, if any, that what is left could peel them so many times over."""
    needed = math.fsum(len(group.items) * peeling_rho(course.plan.peeling, group.mean) for group in groups)
    return not groups or float(course.purse.rho) >= times * needed


def _more_names(course: Course, groups: list[Group], kept: float) -> list[Group]:
    """Further rounds, each only if what was named up to there can be measured well with what is left."""
    plan = course.plan
    for number in range(plan.first, len(plan.rounds)):
        needed = math.fsum(len(group.items) / (plan.final_noise * group.mean) ** 2 / 2 for group in groups)
        if _SPARE * kept * needed > course.purse.rho - plan.rough - plan.choices[1] - sum(plan.losses):
            break
        groups = _named(course, groups, range(number, number + 1))
    return groups


def _shape(groups: list[Group], plan: NtmPlan) -> Shape:
    """All named items, each predicted by the mean of its group."""
    items = np.concatenate([group.items for group in groups])
    means = np.concatenate([np.full(len(group.items), group.mean) for group in groups])
    return shape_of(items, means, rho=plan.least, finest=plan.finest)


def _radius(shape: Shape, kept: float) -> int:
    """The radius that leaves the same share of all squares as was chosen before more items were named."""
    if kept >= 1:
        return shape.unclipped(len(shape)).radius
    return max(1, math.floor(math.sqrt(kept * int(shape.squares[-1]))))


def _predicted(plan: NtmPlan, groups: list[Group], rough: Measured) -> Shape:
    """The items that were counted, by their rough counts and the means of their groups together."""
    mean = {item: group.mean for group in groups for item in group.items.tolist()}
    means = np.array([mean[item] for item in rough.items.tolist()])
    believed, known = 1 / (plan.spread * means) ** 2, 1 / rough.stddevs**2
    predicted = (rough.counts * known + means * believed) / (known + believed)
    return shape_of(rough.items, np.maximum(predicted, means / 4), rho=plan.least, finest=plan.finest)


def _final(course: Course, shape: Shape) -> Measured:
    """The second choice, and the counts with all that is left; what a clip takes away is bought only if it can.

    How much the choice and the loss need is decided before both, by what the rarest count will be about.
    """
    plan, left = course.plan, Fraction(course.purse.rho)
    precision = bound = Decimal(0)
    if plan.clips:
        reserved = Fraction(plan.choices[1]) + Fraction(plan.losses[1])
        count = rarest(shape, 2 * float(left - reserved) * plan.final_noise**2)
        precision = choice_rho(plan.choices[1], count, plan.ladder)
        bound = loss_rho(plan.losses[1], plan.loss_noise * plan.final_noise * count)
    # Fractions, since decimals would be rounded to 28 digits, perhaps up.
    rho = allow(left - Fraction(precision) - Fraction(bound))
    clip = course.choose(shape, room=2 * float(rho) * plan.final_noise**2, rho=precision, number=1)
    lost = course.lost(shape, clip, rho=bound, number=1)
    rho = rho if shape.clips_somebody(clip) else course.purse.rho
    return replace(course.measure(shape, clip, rho=rho, purpose="counts"), lost=lost[0], lost_stddev=lost[1])


def _release(course: Course, final: Measured, rough: Measured | None = None) -> Outcome:
    plan = course.plan
    asked = plan.relative_error if plan.asked else None
    found = estimate(final, rough, most_noise=plan.dropped * plan.final_noise, asked=asked)
    released = release_counts(
        plan,
        found.items,
        found.counts,
        law=("discrete-gaussian", found.stddevs),
        cutoff=final.smallest,
        noise=course.noise,
    )
    return replace(released, low=found.low, high=found.high, cost=course.purse.bought, remark=_remark(found.lost))


def _remark(lost: int) -> str | None:
    """What the clips left out, from what was released of it."""
    if not lost:
        return None
    return (
        "People with very many items count a little less for each of them, so that nobody moves all counts together "
        f"by much. A number may be too low for that, by up to about {lost:,} people: 'at most' allows for it."
    )


def _peeled(course: Course) -> Outcome:
    """Counts by peeling, with all that is left; nothing where naming has used up delta."""
    plan, purse = course.plan, course.purse
    if not purse.delta:
        nothing = release_counts(
            plan,
            np.array([], dtype=object),
            np.array([], dtype=np.int64),
            law=("discrete-gaussian", 1.0),
            cutoff=plan.rounds[-1].threshold,
            noise=course.noise,
        )
        return replace(nothing, cost=purse.bought)
    peeling = replace(plan.peeling, rho=purse.rho, delta=purse.delta)
    top = rank(course.incidence.largest(peeling.fetched + 1), peeling.fetched)
    found = peel_counts(top, peeling, purse=purse, noise=course.noise)
    released = release_counts(
        plan,
        found.items,
        found.counts,
        law=("discrete-gaussian", found.stddevs),
        cutoff=found.cutoff,
        noise=course.noise,
    )
    return replace(released, cost=purse.bought, remark=_PEELED)


def expect_ntm(plan: NtmPlan) -> Expectation:
    """For a few numbers of items that a person has among the counted ones: the rarest count, and its noise."""
    left = float(plan.rho - sum(plan.choices) - sum(plan.losses) - plan.rough - plan.crowd)
    left -= sum(float(one) for one in plan.means[: plan.first]) + sum(
        1 / (2 * one.noise_scale**2) for one in plan.rounds[: plan.first]
    )
    notes = []
    for length in (10, 100, 1000):
        # All alike, `length` items of count c with noise eta c need length / (2 (eta c)²) of rho.
        cutoff = math.sqrt(length / (2 * left)) / plan.final_noise
        width = half_width("discrete-gaussian", plan.final_noise * cutoff)
        notes.append(
            f"If people have up to {length:,} of the counted items, the rarest has about {cutoff:,.0f} people, "
            f"give or take {width:,}."
        )
    notes.append("The more rows share the price, the wider each is: a top list has fewer, and sharper ones.")
    return Expectation(notes=tuple(notes))


def _mechanism(name: Literal["ntm", "ntm-unclipped"]) -> Mechanism:
    clips = name == "ntm"

    def calibrate(budget: Budget, facts: Facts) -> NtmPlan:
        settings = settings_for(facts.relative_error)
        return plan_ntm(budget, clips=clips, relative_error=facts.aim, settings=settings)

    def small(budget: Budget, facts: Facts) -> NtmPlan:
        return _small(budget, clips=clips, relative_error=facts.aim)

    return Mechanism(
        name=name,
        question="count",
        wants="incidence",
        takes=frozenset({"relative_error"}),
        calibrate=calibrate,
        run=run_ntm,
        expect=expect_ntm,
        small=small,
        # Without a clip nothing has changed since 6.
        version=7 if clips else 6,
    )


def _small(budget: Budget, *, clips: bool, relative_error: float) -> NtmPlan:
    """For the auditor. Under (epsilon, delta) all steps, on coarse grids; under rho few enough for every outcome.

    These few are one round, one choice of three, and one measurement, of two steps for each item. Where counts may be
    rough, so that they have few outcomes, the crowd goes before them, and all ways to peeling are open.
    """
    # A step is worth so much, and a loss may be so noisy, that both need less than their shares.
    coarse = Settings(lists=4, finest=4, loss_noise=3.0, ladder=Ladder(steps=2, worth=0.5))
    peeling = small_pcr_batched(budget, Facts(relative_error=relative_error))
    if isinstance(budget, EpsilonBudget):
        plan = plan_ntm(budget, clips=clips, relative_error=relative_error, settings=coarse)
        # So that a crowd of two people is as likely to be too small as not: both ways are gone.
        return replace(plan, peeling=peeling, crowded=plan.rounds[plan.first - 1].threshold / 2)
    nothing, turns = Fraction(0), relative_error >= _ROUGH
    shares = Shares(
        crowd=Fraction(1, 4) if turns else nothing,
        # A second round that is never drawn leaves its delta to peeling.
        names=(Fraction(1, 6), Fraction(1, 12)) if turns else (Fraction(1, 3),),
        first=1,
        means=(nothing, nothing) if turns else (nothing,),
        choices=(nothing, Fraction(1, 6)),
        rough=nothing,
        losses=(nothing, nothing),
    )
    settings = replace(coarse, finest=1, dropped=1e6)
    plan = plan_ntm(budget, clips=clips, relative_error=relative_error, shares=shares, settings=settings)
    return replace(plan, peeling=peeling)


NTM, NTM_UNCLIPPED = _mechanism("ntm"), _mechanism("ntm-unclipped")
