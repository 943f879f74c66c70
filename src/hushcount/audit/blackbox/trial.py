"""A trial: run something many times on two neighbours and look for an probe that the claim does not allow.

The runs of a trial are in three parts. On the first the probe is chosen. The second tests it, and the bounds that it
gives are reported. Only if the second part looks as if the claim might be broken, the third part makes the test long
enough to be sure. No run that an probe was chosen on is ever used to test it. Half of the alarm probability of a trial
is for the test after the second part and half for the one after the third, so that a correct subject is called broken
with probability at most `alarm`, whatever was chosen and whenever it was stopped (union bound over two Clopper-Pearson
tests, each a union bound over two probabilities).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Sequence

from hushcount.audit.blackbox.bounds import Proven, proven
from hushcount.audit.blackbox.probes import Probe, choose_probe
from hushcount.audit.claim import Claim
from hushcount.audit.finding import Finding, Point
from hushcount.model.frozen import frozen

# Where a claim is compared besides the trial's own epsilon.
LEVELS = tuple(step / 4 for step in range(1, 25))
# The share of the test runs that choose the probe, and as many that test it first. With a quarter, an excess that the
# whole test is long enough for stands 3.2 standard errors above the claim after the first look, so that asking for one
# standard error before going on misses it in about one of eighty cases.
FIRST_LOOK = 4


@frozen
class Trial:
    """Something to attack: two neighbours, as functions that run the subject on them once, and what it claims.

    Attributes:
        name: the subject.
        claim: what it says about its privacy.
        epsilon: where the claim is compared first of all: its own epsilon, if it has one.
        one: a run on the first data set; its output.
        two: a run on the second.
        where: which neighbours these are, in words.
    """

    name: str
    claim: Claim
    epsilon: float
    one: Callable[[], Hashable]
    two: Callable[[], Hashable]
    where: str

    def allowed(self) -> tuple[Point, ...]:
        """The claim at its own epsilon, and at all the others where it is compared."""
        return self.claim.curve((self.epsilon, *(level for level in LEVELS if level != self.epsilon)))


@frozen
class TrialResult:
    """What one trial showed: the probe, the bounds, and at which epsilon it came closest to breaking the claim.

    Attributes:
        trial: what was attacked.
        probe: the probe that was tested.
        bounds: what is proven of its two probabilities.
        at: the claimed epsilon and delta that the bounds break; the trial's own, if none or several are broken.
        runs: how many runs there were, on both data sets together.
        points: the proven curve.
    """

    trial: Trial
    probe: Probe
    bounds: Proven
    at: Point
    runs: int
    points: tuple[Point, ...]

    @property
    def excess(self) -> float:
        """By how much the proven delta is above the claimed one; the claim is broken if this is positive."""
        return self.bounds.delta(self.at.epsilon) - self.at.delta


def measure(trial: Trial, *, alarm: float, runs: int) -> TrialResult:
    """Attack a trial. A subject that keeps its claim is called broken with probability at most `alarm`.

    Args:
        trial: what to attack.
        alarm: that probability.
        runs: how many test runs on either neighbour to make, where it comes to that (see `power.runs_needed`).
    """
    allowed = trial.allowed()
    first = max(runs // FIRST_LOOK, 1)
    probe = choose_probe(_sample(trial.one, first), _sample(trial.two, first), allowed)
    one, two = probe.count(_sample(trial.one, first)), probe.count(_sample(trial.two, first))
    made = first
    if _is_doubtful(probe, (one, two), first, allowed):
        rest = max(runs - first, 1)
        one, two = one + probe.count(_sample(trial.one, rest)), two + probe.count(_sample(trial.two, rest))
        made += rest
    likely, rare = (two, one) if probe.likely_on_two else (one, two)
    bounds = proven(likely=(likely, made), rare=(rare, made), alarm=alarm / 2)
    broken = [point for point in allowed if bounds.delta(point.epsilon) > point.delta]
    points = tuple(Point(epsilon=point.epsilon, delta=bounds.delta(point.epsilon)) for point in allowed)
    return TrialResult(
        trial=trial,
        probe=probe,
        bounds=bounds,
        at=broken[0] if broken else allowed[0],
        runs=2 * (first + made),
        points=tuple(sorted(points, key=lambda point: point.epsilon)),
    )


def attack(trial: Trial, *, alarm: float, runs: int) -> Finding:
    """As `measure`, as a finding."""
    began = time.perf_counter()
    found = measure(trial, alarm=alarm, runs=runs)
    return to_finding([found], looked=f"{found.runs:,} runs", seconds=time.perf_counter() - began)


def to_finding(found: Sequence[TrialResult], *, looked: str, seconds: float) -> Finding:
    """The trials of one subject as one finding: the claim is broken if one of them broke it; the worst is shown."""
    worst = max(found, key=lambda one: (one.excess, one.bounds.epsilon(one.at.delta)))
    trial, at, bounds = worst.trial, worst.at, worst.bounds
    return Finding(
        subject=trial.name,
        step="black box",
        holds=worst.excess <= 0,
        claimed=trial.claim.words,
        measured=f"epsilon at least {bounds.epsilon(at.delta):.3g} at delta {at.delta:.3g}, claimed {at.epsilon:.3g}",
        where=f"{trial.where}; the probe that {worst.probe.words}",
        looked=looked,
        claim=trial.claim.curve(point.epsilon for point in worst.points),
        points=worst.points,
        seconds=seconds,
    )


def _sample(run: Callable[[], Hashable], runs: int) -> list[Hashable]:
    return [run() for _ in range(runs)]


def _is_doubtful(probe: Probe, seen: tuple[int, int], runs: int, allowed: Sequence[Point]) -> bool:
    """Whether the estimate is more than one standard error above the claim at some epsilon."""
    often, seldom = seen[::-1] if probe.likely_on_two else seen
    # One more than was seen: at a large epsilon, never seen in a few runs is no sign of never.
    likely, rare = often / runs, (seldom + 1) / (runs + 1)
    for point in allowed:
        growth = math.exp(point.epsilon)
        error = math.sqrt((likely * (1 - likely) + growth**2 * rare * (1 - rare)) / runs)
        if likely - growth * rare - error > point.delta:
            return True
    return False
