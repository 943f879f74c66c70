"""One course of NTM: the steps that meet private values, each paid before it is drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field
from decimal import Decimal
from fractions import Fraction

import numpy as np

from hushcount.mechanisms.counts.ntm_choice import (
    UNIT,
    candidates,
    choice_call,
    choice_cost,
    choice_epsilon,
    log_priors,
)
from hushcount.mechanisms.counts.ntm_plan import NtmPlan
from hushcount.mechanisms.counts.ntm_shape import Floats, Shape
from hushcount.mechanisms.counts.purse import Purse
from hushcount.mechanisms.selection.union import name_items
from hushcount.model.amounts import charge
from hushcount.model.costs import Cost, DiscreteGaussian
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Bound, Clip, Incidence, Int64s, Items, Ranked, UniformWeights
from hushcount.noise.calls import AddGaussian, Reach
from hushcount.noise.source import NoiseSource

# A mean is thought to be at least so many standard deviations of its noise.
_LEAST_MEAN = 1.5
# One person is cut into no finer parts.
_FINEST = 20


@frozen
class Group:
    """What one round named, and the mean count of it, as far as it was released."""

    items: Items
    mean: float


@frozen
class Measured:
    """Noisy counts of some items under a clip.

    Attributes:
        items: the items.
        counts: their counts, with noise; below the true ones, apart from it, by at most what was lost.
        stddevs: of the noise of each.
        smallest: the smallest count that was predicted for one of them.
        predicted: all of these predictions, where rows are chosen by them.
        lost: what the clip takes away, in people, if it was released; zero for certain if nobody can be clipped.
        lost_stddev: of the noise of `lost`.
    """

    items: Items
    counts: Floats
    stddevs: Floats
    smallest: float
    predicted: Floats | None = None
    lost: float | Floats = 0.0
    lost_stddev: float | Floats = 0.0


@frozen
class Course:
    """A run under way.

    Attributes:
        incidence: who has what.
        plan: what is done.
        noise: where noise comes from.
        purse: what pays.
        taken: of the items that were asked about last, if any, what clips take away, in the unit of choices.
    """

    incidence: Incidence
    plan: NtmPlan
    noise: NoiseSource
    purse: Purse
    taken: list[tuple[Ranked, dict[Clip, int]]] = field(default_factory=list, repr=False, compare=False)

    def crowd(self) -> float:
        """What an item would weigh that everybody had, with noise; one person adds one at most."""
        rho, one = self.plan.crowd, self.plan.rounds[0]
        bound, bits = Bound(max_items=one.max_items, salt=self.noise.salt("ntm/crowd")), self._bits(rho)
        weight = self.incidence.everyone(UniformWeights(bound=bound, norm=2, share="held", bits=bits))
        return self._noisy("ntm/crowd", np.array([weight]), 1 << bits, rho)[0] / (1 << bits)

    def name(self, number: int, before: list[Group]) -> Group | None:
        """What the round of this number names beside what was named before, if anything, and its mean count."""
        plan, one = self.plan, self.plan.rounds[number]
        self.purse.pay(one.cost)
        without = np.concatenate([group.items for group in before]) if before else None
        named = name_items(self.incidence, one, self.noise, without=without, purpose=f"ntm/names/{number}")
        if not len(named):
            return None
        named = np.sort(named)
        mean = self._mean(named, number) if plan.means[number] else one.threshold
        return Group(items=named, mean=min([mean, *(group.mean for group in before)]))

    def _mean(self, named: Items, number: int) -> float:
        """The mean count: a person is in each of these items once at most, so moves the sum by their number."""
        rho = self.plan.means[number]
        total = np.array([self.incidence.held(named)])
        noisy = self._noisy(f"ntm/mean/{number}", total, len(named), rho)[0] / len(named)
        return max(noisy, _LEAST_MEAN / math.sqrt(2 * rho))

    def choose(self, shape: Shape, *, room: float, rho: Decimal, number: int) -> Clip:
        """How many of the items to count, and under which clip: the first or the second choice, for this rho."""
        plan = self.plan
        clips = candidates(shape, room, plan.ladder)
        if not plan.clips:
            return clips[0]
        self.purse.pay(choice_cost(rho))
        epsilon = choice_epsilon(rho)
        losses = self._taken(shape, clips, unit=UNIT)
        priors = log_priors(shape, clips, epsilon=float(epsilon), ladder=plan.ladder)
        call = choice_call(f"ntm/choice/{number}", losses, priors=priors, epsilon=epsilon)
        return clips[int(self.noise.perform(call)[0])]

    def measure(self, shape: Shape, clip: Clip, *, rho: Decimal, purpose: str) -> Measured:
        """The counts of the first items under a clip: one person moves the sums by its radius at most, in l2."""
        items, steps = shape.ranked.items[: clip.first], shape.ranked.amplitudes[: clip.first]
        self.purse.pay(Cost.of(DiscreteGaussian(rho=charge(rho))))
        call = AddGaussian(
            purpose=f"ntm/{purpose}",
            keys=self.noise.identify(items),
            values=self.incidence.clipped(shape.ranked, clip),
            reach=Reach(l2=clip.radius),
            variance=Fraction(clip.radius) ** 2 / (2 * Fraction(rho)),
        )
        return Measured(
            items=items,
            counts=self.noise.perform(call) / steps,
            stddevs=math.sqrt(call.variance) / steps,
            smallest=float(shape.predictions[clip.first - 1]),
            predicted=shape.predictions[: clip.first],
        )

    def lost(self, shape: Shape, clip: Clip, *, rho: Decimal, number: int) -> tuple[float, float]:
        """What a clip takes away, with noise, and the deviation of the noise; nothing is bought where it is zero."""
        if not rho or not shape.clips_somebody(clip):
            return 0.0, 0.0
        unit = 1 << self._bits(rho)
        lost = self._noisy(f"ntm/lost/{number}", self._taken(shape, [clip], unit=unit), unit, rho)[0]
        return max(0.0, lost / unit), 1 / math.sqrt(2 * rho)

    def _taken(self, shape: Shape, clips: Sequence[Clip], *, unit: int) -> Int64s:
        """What clips take away. Of the clip that a choice came to it is known: no pass over all people again."""
        for ranked, known in self.taken:
            if ranked is shape.ranked and unit == UNIT and known.keys() >= set(clips):
                return np.array([known[clip] for clip in clips], dtype=np.int64)
        losses = self.incidence.losses(shape.ranked, clips, unit=unit)
        if unit == UNIT:
            self.taken[:] = [(shape.ranked, dict(zip(clips, losses.tolist(), strict=True)))]
        return losses

    def _noisy(self, purpose: str, values: Int64s, reach: int, rho: Decimal) -> list[int]:
        """Sums over people that belong to no item, paid for and drawn."""
        self.purse.pay(Cost.of(DiscreteGaussian(rho=charge(rho))))
        variance = Fraction(reach) ** 2 / (2 * Fraction(rho))
        call = AddGaussian(purpose=purpose, keys=None, values=values, reach=Reach(l2=reach), variance=variance)
        noisy: list[int] = self.noise.perform(call).tolist()
        return noisy

    def _bits(self, rho: Decimal) -> int:
        """How fine one person can be cut for a sum with noise at this cost, whose variance must stay below 2^62."""
        return max(1, min(_FINEST, self.plan.finest, (62 + math.floor(math.log2(2 * rho))) // 2))
