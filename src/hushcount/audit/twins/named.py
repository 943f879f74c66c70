"""Twins of NTM, which names and then measures, and of PCR in batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import TypeVar, cast

import numpy as np

from hushcount.audit.neighbours import PERSON, Neighbours
from hushcount.audit.subject import Run
from hushcount.audit.twins.altered import Altered, altered
from hushcount.audit.twins.twin import Original, Twin
from hushcount.engines.incidence import MemoryIncidence
from hushcount.mechanisms.counts.ntm import run_ntm
from hushcount.mechanisms.counts.ntm_choice import UNIT, Ladder
from hushcount.mechanisms.counts.ntm_plan import NtmPlan, Settings, Shares, plan_ntm
from hushcount.mechanisms.counts.pcr_batched import BatchedPlan, peeling_rho, plan_pcr_batched, run_pcr_batched
from hushcount.model.amounts import charge
from hushcount.model.budgets import epsilon_budget, rho_budget
from hushcount.model.costs import BoundedRange, Cost, DiscreteGaussian
from hushcount.model.facts import Facts
from hushcount.model.inputs import Clip, Histogram, Incidence, Int64s, Items, Ranked, UniformWeights, WeightedHistogram
from hushcount.model.outcomes import Outcome
from hushcount.noise.calls import AddGaussian, AnyCall, Call, Peel, Reach
from hushcount.noise.source import NoiseSource

_T = TypeVar("_T")

_ITEMS = tuple("abcdef")
# All steps, on a coarse grid, and candidates down to where a person who holds everything is nearly clipped away.
# Choices and losses need less than their shares.
_SETTINGS = Settings(lists=8, crowded=1e6, finest=4, loss_noise=2.0, ladder=Ladder(steps=60, worth=0.1))
_PLAN = plan_ntm(epsilon_budget(4, "0.05"), relative_error=0.5, settings=_SETTINGS)
# Everybody has one item, but for two who have all: one of these leaves.
_CROWD = tuple((f"{item}{person}", item) for item in _ITEMS for person in range(40))
_LONG = tuple((person, item) for person in ("another", PERSON) for item in _ITEMS)
_NTM = Original(
    mechanism="ntm",
    facts=Facts(relative_error=0.5),
    plan=_PLAN,
    pairs=(Neighbours(rows=_CROWD + _LONG, person=PERSON, where="six items of forty people, two more hold all"),),
)
# An item of everybody weighs 240.4 there without the person and 240.8 with: between these naming is given up.
_BY_CROWD = replace(_NTM, plan=replace(_PLAN, crowded=_PLAN.rounds[2].threshold / 240.6))


def _by_means() -> Original:
    """Six items of eleven people or of twelve: between these they are too few to go on naming."""
    parts = Shares(names=(Fraction(1, 4), Fraction(1, 4)), first=1, means=(Fraction(1, 100), Fraction(1, 100)))
    plan = plan_ntm(epsilon_budget(4, "0.05"), relative_error=0.5, shares=parts, settings=_SETTINGS)
    left = float(plan.rho) * float(1 - parts.crowd - parts.names[0] - parts.means[0])
    few = left / (len(_ITEMS) * peeling_rho(plan.peeling, 11.5))
    rows = tuple((f"{item}{person}", item) for item in _ITEMS for person in range(10)) + _LONG
    pair = Neighbours(rows=rows, person=PERSON, where="six items of ten people, two more hold all")
    return replace(_NTM, plan=replace(plan, few=(few, few)), pairs=(pair,))


_BY_MEANS = _by_means()
_BATCHED = Original(
    mechanism="pcr-batched",
    facts=Facts(relative_error=0.5),
    plan=plan_pcr_batched(rho_budget(1, "0.05"), rows=2, epsilon_first="0.9", relative_error=0.5, levels=2),
    pairs=(Neighbours(rows=_CROWD[:80] + _LONG[6:], person=PERSON, where="two items of forty people"),),
)


@dataclass(frozen=True, slots=True)
class Unclipped:
    """Who has what, in whose sums nobody is ever clipped."""

    inner: MemoryIncidence

    def weights(self, rule: UniformWeights) -> WeightedHistogram:
        """As they are."""
        return self.inner.weights(rule)

    def everyone(self, rule: UniformWeights) -> int:
        """As it is."""
        return self.inner.everyone(rule)

    def held(self, listed: Items) -> int:
        """As it is."""
        return self.inner.held(listed)

    def losses(self, ranked: Ranked, clips: Sequence[Clip], *, unit: int) -> Int64s:
        """As they are."""
        return self.inner.losses(ranked, clips, unit=unit)

    def largest(self, top: int) -> Histogram:
        """As they are."""
        return self.inner.largest(top)

    def clipped(self, ranked: Ranked, clip: Clip) -> Int64s:
        """Without the clip."""
        return self.inner.clipped(ranked, replace(clip, radius=2**31 - 1))


def without_clip(data: MemoryIncidence, plan: NtmPlan, noise: NoiseSource) -> Outcome:
    """The sums that are measured are not clipped, though their noise is that of clipped ones."""
    # It does not ask for bounded lists.
    return run_ntm(cast("Incidence", Unclipped(data)), plan, noise)


def two_sided(call: AnyCall) -> AnyCall:
    """The score is how near a loss is to a goal: one person moves some scores up and others down."""
    if not isinstance(call, Peel) or not call.purpose.startswith("ntm/choice"):
        return call
    return replace(call, values=-np.abs(-call.values - UNIT * 9 // 10))


def means_of_one(call: AnyCall) -> AnyCall:
    """The sum over a group's items has the noise of a single count."""
    if not isinstance(call, AddGaussian) or not call.purpose.startswith("ntm/mean"):
        return call
    return replace(call, reach=Reach(l2=1), variance=call.variance / Fraction(call.reach.l2 or 1) ** 2)


def two_people_lost(call: AnyCall) -> AnyCall:
    """What a clip takes away has half of the noise that one person needs."""
    if not isinstance(call, AddGaussian) or not call.purpose.startswith("ntm/lost"):
        return call
    return replace(call, variance=call.variance / 4)


def precision_by_truth(call: AnyCall) -> AnyCall:
    """A choice costs less than was charged where nobody loses much: how much is told by the true losses."""
    if not isinstance(call, Peel) or not call.purpose.startswith("ntm/choice"):
        return call
    return replace(call, rate=call.rate / (1 + Fraction(int(call.values.min()), -UNIT)))


def bound_by_truth(call: AnyCall) -> AnyCall:
    """What a clip takes away has the more noise the more it is: more than was charged for, never less."""
    if not isinstance(call, AddGaussian) or not call.purpose.startswith("ntm/lost"):
        return call
    return replace(call, variance=call.variance * (1 + Fraction(int(call.values[0]), call.reach.l2 or 1)))


class Peeking(Altered):
    """A source whose sums of one purpose are drawn and paid for, and then known without their noise."""

    def __init__(self, noise: NoiseSource, purpose: str) -> None:
        super().__init__(noise, lambda call: call)
        self._purpose = purpose

    def perform(self, call: Call[_T]) -> _T:
        """The outcome, or the true values."""
        drawn = super().perform(call)
        return cast("_T", call.values) if call.purpose.startswith(self._purpose) else drawn


def _peeking(purpose: str) -> Run:
    """A run that decides by true values where it should by released ones."""
    return lambda data, plan, noise: run_ntm(data, plan, Peeking(noise, purpose))


def _uncharged(run: Run, kind: type[BoundedRange | DiscreteGaussian]) -> Run:
    """A run that leaves the last step of a kind out of what it charges."""

    def cheaper(data: object, plan: object, noise: NoiseSource) -> Outcome:
        outcome = run(data, plan, noise)
        events = list(outcome.cost.events)
        place = next(place for place, (event, _) in enumerate(events) if isinstance(event, kind))
        event, times = events[place]
        events[place] = (event, times - 1)
        return replace(outcome, cost=Cost.of(*events))

    return cheaper


def _bound_free(data: object, plan: object, noise: NoiseSource) -> Outcome:
    """What a clip takes away is drawn with its noise, and is not charged."""
    prices: list[Decimal] = []

    def noted(call: AnyCall) -> AnyCall:
        if isinstance(call, AddGaussian) and call.purpose.startswith("ntm/lost"):
            prices.append(charge(Fraction(call.reach.l2 or 1) ** 2 / (2 * call.variance)))
        return call

    outcome = altered(run_ntm, noted)(data, plan, noise)
    events = [
        (event, times - prices.count(event.rho) if isinstance(event, DiscreteGaussian) else times)
        for event, times in outcome.cost.events
    ]
    return replace(outcome, cost=Cost.of(*((event, times) for event, times in events if times)))


def _counted_again_free(data: Histogram, plan: BatchedPlan, noise: NoiseSource) -> Outcome:
    """The second count of everything is not charged."""
    outcome = run_pcr_batched(data, plan, noise)
    ranges = [(event, times) for event, times in outcome.cost.events if not isinstance(event, DiscreteGaussian)]
    counts = [(event, times) for event, times in outcome.cost.events if isinstance(event, DiscreteGaussian)]
    return replace(outcome, cost=Cost.of(*ranges, *counts[1:]))


NAMED_TWINS: tuple[Twin, ...] = (
    Twin(
        name="score to both sides",
        erratum="rule: one person moves all scores of a choice the same way",
        what="A clip is chosen by how near its loss is to a goal, so one person raises some scores and lowers others.",
        caught_by="replay",
        broken=_NTM.twin(run=altered(run_ntm, two_sided)),
        sound=_NTM.sound,
        steps=("replay",),
    ),
    Twin(
        name="sums that are not clipped",
        erratum="rule: what one person adds, as a vector of integers, is no longer than what the noise is for",
        what="The noise is that of clipped lists, and the lists are not clipped.",
        caught_by="replay",
        broken=_NTM.twin(run=without_clip),
        sound=_NTM.sound,
        steps=("replay",),
    ),
    Twin(
        name="mean with the noise of one count",
        erratum="rule: one person may be in every item of a group",
        what="The mean count of a group is measured as if a person were in one item of it.",
        caught_by="replay",
        broken=_NTM.twin(run=altered(run_ntm, means_of_one)),
        sound=_NTM.sound,
        steps=("replay",),
    ),
    Twin(
        name="loss with too little noise",
        erratum="rule: what a clip takes away moves by one person",
        what="What a clip takes away has half of the noise that was charged for.",
        caught_by="replay",
        broken=_NTM.twin(run=altered(run_ntm, two_people_lost)),
        sound=_NTM.sound,
        steps=("replay",),
    ),
    Twin(
        name="naming given up by the true crowd",
        erratum="rule: which steps follow is decided from released values alone",
        what="Whether to name or to peel is decided by how much all people weigh, without the noise that was paid for.",
        caught_by="replay",
        broken=_BY_CROWD.twin(run=_peeking("ntm/crowd")),
        sound=_BY_CROWD.sound,
        steps=("replay",),
    ),
    Twin(
        name="naming given up by true counts",
        erratum="rule: which steps follow is decided from released values alone",
        what="Whether the first names are too few is decided by their true mean count.",
        caught_by="replay",
        broken=_BY_MEANS.twin(run=_peeking("ntm/mean")),
        sound=_BY_MEANS.sound,
        steps=("replay",),
    ),
    Twin(
        name="choice that is not charged",
        erratum="rule: every step is charged before its output is used",
        what="One of the two choices of a clip is free.",
        caught_by="replay",
        broken=_NTM.twin(run=_uncharged(run_ntm, BoundedRange)),
        sound=_NTM.sound,
        steps=("replay",),
    ),
    Twin(
        name="choice as sharp as the true losses ask for",
        erratum="rule: what a step costs is decided from released values alone",
        what="A choice takes less of rho the more people lose, and not by the counts that were predicted.",
        caught_by="replay",
        broken=_NTM.twin(run=altered(run_ntm, precision_by_truth)),
        sound=_NTM.sound,
        steps=("replay",),
    ),
    Twin(
        name="loss with noise by the true loss",
        erratum="rule: what a step costs is decided from released values alone",
        what="What a clip takes away has noise in proportion to it, and not to the counts that were predicted.",
        caught_by="replay",
        broken=_NTM.twin(run=altered(run_ntm, bound_by_truth)),
        sound=_NTM.sound,
        steps=("replay",),
    ),
    Twin(
        name="loss that is not charged",
        erratum="rule: every step is charged before its output is used",
        what="What a clip takes away is released with its noise, and is free.",
        caught_by="replay",
        broken=_NTM.twin(run=_bound_free),
        sound=_NTM.sound,
        steps=("replay",),
    ),
    Twin(
        name="second count that is not charged",
        erratum="rule: every step is charged before its output is used",
        what="What is left at the end counts everything again, and is not charged.",
        caught_by="replay",
        broken=_BATCHED.twin(run=_counted_again_free),
        sound=_BATCHED.sound,
        steps=("replay",),
    ),
)
