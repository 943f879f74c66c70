"""NTM's choice: how many items to count, and how much of a person's list may count, by the exponential mechanism."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from decimal import Decimal
from fractions import Fraction

from hushcount.mechanisms.calibration import root_below
from hushcount.mechanisms.counts.ntm_shape import Shape
from hushcount.model.amounts import allow, share
from hushcount.model.costs import BoundedRange, Cost
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Clip, Int64s
from hushcount.noise.calls import Peel, Reach

# What one person counts in a loss.
UNIT = 1 << 20


@frozen
class Ladder:
    """How candidates follow one another, from the one under which nobody is clipped to ever rougher ones.

    Attributes:
        growth: by how much the number of items grows from step to step, until all are in.
        shrinking: what is left of the room at each step from there on.
        steps: how many such steps.
        worth: a step is worth the loss of this share of a person's worth of the smallest count.
        least: a step's log-prior at least, and
        most: at most.
    """

    growth: float = 1.05
    shrinking: float = 0.9
    steps: int = 39
    worth: float = 0.02
    least: float = 0.25
    most: float = 1.5


def candidates(shape: Shape, room: float, ladder: Ladder) -> tuple[Clip, ...]:
    """The clips to choose from, from public and released values only.

    `room` is B* = 2 rho eta²: with it the last item's noise is the share eta of its predicted count. The first
    candidate has as many items as fit without clipping anybody, and at least one.
    """
    all_items, first = len(shape), _fitting(shape, room)
    found = [shape.unclipped(first)]
    while first < all_items:
        first = min(all_items, max(first + 1, math.floor(first * ladder.growth)))
        found.append(Clip(first=first, radius=shape.radius(first, room)))
    last = found[-1].radius
    shrunk = (max(1, math.floor(last * ladder.shrinking ** (step / 2))) for step in range(1, ladder.steps + 1))
    return (*found, *(Clip(first=all_items, radius=radius) for radius in shrunk))


def _fitting(shape: Shape, room: float) -> int:
    squares, all_items = shape.squares, len(shape)
    # S grows with the number of items, and the room of the last one shrinks: those that fit come first.
    fitting = bisect_left(range(1, all_items + 1), 1, key=lambda k: int(squares[k - 1]) > shape.radius(k, room) ** 2)
    return max(fitting, 1)


def rarest(shape: Shape, room: float) -> float:
    """About the count of the rarest item that will be measured, as far as it can be told before the choice.

    It is between the last one that fits without a clip and the last one of all: their geometric mean.
    """
    return math.sqrt(float(shape.predictions[_fitting(shape, room) - 1]) * float(shape.predictions[-1]))


def log_priors(shape: Shape, clips: tuple[Clip, ...], *, epsilon: float, ladder: Ladder) -> list[float]:
    """Lambda of each candidate: the sum over it and those before of clip(epsilon worth P_k, least, most)."""
    steps = [
        min(max(epsilon * ladder.worth * float(shape.predictions[clip.first - 1]), ladder.least), ladder.most)
        for clip in clips
    ]
    return list(itertools.accumulate(steps))


def choice_rho(most: Decimal, count: float, ladder: Ladder) -> Decimal:
    """What a choice needs, of the share that it may have, where the rarest item has about this count.

    With epsilon = most / (worth count) a step's log-prior is just what it may be at most. A larger epsilon would tell
    losses apart that are smaller than what a step is worth.
    """
    return _needed(most, (ladder.most / (ladder.worth * count)) ** 2 / 8)


def loss_rho(most: Decimal, stddev: float) -> Decimal:
    """What a loss needs, of the share that it may have, to be released with noise of this deviation, in people."""
    return _needed(most, 1 / (2 * stddev**2))


def _needed(most: Decimal, wanted: float) -> Decimal:
    """At most all of a share of rho, and at least a hundredth, so that noise fits into its bits."""
    return most if wanted >= most else max(share(most, 100), allow(wanted))


def choice_epsilon(rho: Decimal) -> Decimal:
    """Epsilon = sqrt(8 rho), rounded down: one choice of bounded range epsilon is epsilon²/8-zCDP."""
    return Decimal(root_below(8 * Fraction(rho)))


def choice_cost(rho: Decimal) -> Cost:
    """What a choice costs."""
    return Cost.of(BoundedRange(epsilon=choice_epsilon(rho)))


def choice_call(purpose: str, losses: Int64s, *, priors: list[float], epsilon: Decimal) -> Peel:
    """The draw: candidate j with weight exp(Lambda_j - epsilon losses_j / UNIT).

    One person more raises every loss by something from 0 to UNIT, so all log-weights move the same way by at most
    epsilon: range epsilon. A score such as -|loss - goal| would move both ways, and have twice the range.
    """
    middle = (max(priors) + min(priors)) / 2
    return Peel(
        purpose=purpose,
        keys=None,
        values=-losses,
        reach=Reach(spread=UNIT),
        rate=Fraction(epsilon) / UNIT,
        # Any positive numbers will do as priors, as long as both neighbours have the same.
        priors={row: Fraction(math.exp(prior - middle)) for row, prior in enumerate(priors)},
        most=1,
    )
