"""The time check: does the time of a release tell the size of the noise in it?

A sampler that loops until it accepts takes longer for larger draws, and whoever can time it learns the noise and so the
count (Jin et al. 2022). Nothing here claims constant time: the check reports a rank correlation with its interval, and
fails only on one that is both certain and large.
"""

from __future__ import annotations

import gc
import math
import time

import numpy as np
import numpy.typing as npt

from hushcount.audit.finding import Finding
from hushcount.audit.system.product import Product
from hushcount.mechanisms.calibration import Plan
from hushcount.mechanisms.mechanism import Mechanism
from hushcount.mechanisms.table import MECHANISMS
from hushcount.model.budgets import rho_budget
from hushcount.model.facts import Facts
from hushcount.model.frozen import frozen
from hushcount.model.inputs import Histogram
from hushcount.model.outcomes import Outcome

_ITEM = "timed"
# So far above every cut-off that it is always shown, so that there is noise to look at.
_PEOPLE = 100_000
_QUICK, _FULL, _WARM = 160, 3000, 10
# A mechanism that needs longer than this many seconds for all its releases is left out, with a word.
_PATIENCE = {_QUICK: 1.5, _FULL: 60.0}
# If time and noise are independent then, whatever the machine does meanwhile, every order of the noise is as likely as
# the one seen, and the rank correlation of n pairs is nearly normal with deviation 1/sqrt(n - 1). At this size and this
# many deviations an alarm has probability below 2e-9 for each comparison, and there are a dozen.
_LARGE, _CERTAIN = 0.25, 6.0
TIME_FALSE_ALARM = 1e-7


@frozen
class _Seen:
    """A correlation, what of, from how many releases."""

    what: str
    correlation: float
    runs: int

    @property
    def limit(self) -> float:
        """From here on it is both certain and large."""
        return max(_LARGE, _CERTAIN / math.sqrt(self.runs - 1))

    @property
    def tells(self) -> bool:
        """Whether it is."""
        return abs(self.correlation) >= self.limit


def look_at_time(product: Product, *, quick: bool) -> Finding:
    """Time many releases of one count with fresh noise, and correlate the time with the noise and with its size.

    A quick look ends with the first mechanism whose time tells.
    """
    runs = _QUICK if quick else _FULL
    found: list[_Seen] = []
    slow = []
    for mechanism, plan in _timed():
        seen = _correlate(product, mechanism, plan, runs=runs)
        found += seen
        slow += [] if seen else [mechanism.name]
        if quick and any(one.tells for one in seen):
            break
    if not found:
        return _nothing_timed(slow)
    worst = max(found, key=lambda one: abs(one.correlation) / one.limit)
    low, high = _interval(worst.correlation, worst.runs)
    return Finding(
        subject="time tells nothing",
        step="system",
        holds=not worst.tells,
        claimed=f"no rank correlation of time and noise of {worst.limit:.2f} or more (constant time is not claimed)",
        measured=f"{worst.correlation:+.3f}, 95 % interval {low:+.3f} to {high:+.3f}: {worst.what}",
        where=(
            "that is the largest beside its limit; a weaker link than its interval, another machine, or somebody "
            "with many more samples is not seen"
        ),
        looked=f"{len(found)} comparisons of {runs:,} releases" + f"; too slow for it: {', '.join(slow)}" * bool(slow),
    )


def _nothing_timed(slow: list[str]) -> Finding:
    return Finding(
        subject="time tells nothing",
        step="system",
        holds=True,
        claimed="constant time is not claimed",
        measured="not measured: this machine is too slow for it",
        where=", ".join(slow),
        looked="nothing",
    )


def rank_correlation(left: npt.NDArray[np.float64], right: npt.NDArray[np.float64]) -> float:
    """Spearman's rank correlation, ties at their middle rank; 0 if one side is all ties."""
    ranks = [_ranks(side) for side in (left, right)]
    centred = [rank - rank.mean() for rank in ranks]
    norms = [math.sqrt(float(side @ side)) for side in centred]
    return float(centred[0] @ centred[1]) / (norms[0] * norms[1]) if all(norms) else 0.0


def _ranks(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    _, places, sizes = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(sizes).astype(np.float64)
    middle: npt.NDArray[np.float64] = (last - (sizes - 1) / 2)[places]
    return middle


def _interval(correlation: float, runs: int) -> tuple[float, float]:
    """Fisher's interval, with the variance 1.06/(n - 3) of ranks (Fieller, Hartley and Pearson 1957)."""
    centre, half = math.atanh(max(-0.999999, min(0.999999, correlation))), 1.96 * math.sqrt(1.06 / (runs - 3))
    return math.tanh(centre - half), math.tanh(centre + half)


def _timed() -> list[tuple[Mechanism, Plan]]:
    """Every mechanism that releases noisy counts of a histogram, calibrated for one item of each person."""
    facts = Facts(max_items=1, public_items=np.array([_ITEM], dtype=object))
    return [
        (mechanism, mechanism.plan(rho_budget("0.1", "1e-6"), mechanism.fitting(facts)))
        for mechanism in MECHANISMS
        if mechanism.question == "count" and mechanism.wants == "histogram"
    ]


def _correlate(product: Product, mechanism: Mechanism, plan: Plan, *, runs: int) -> tuple[_Seen, ...]:
    """Time against the noise and against its size, the noise in its own released scale; nothing if it is too slow."""
    histogram = Histogram(
        items=np.array([_ITEM], dtype=object), counts=np.array([_PEOPLE], dtype=np.int64), complete=True
    )
    product.draw(mechanism, histogram, plan)
    begun = time.thread_time()
    for _ in range(_WARM):
        product.draw(mechanism, histogram, plan)
    if (time.thread_time() - begun) * runs / _WARM > _PATIENCE[runs]:
        return ()
    seconds, noise = np.zeros(runs), np.zeros(runs)
    # The collector would strike whatever release it meets; it knows nothing of noise, but it hides everything else.
    gc.disable()
    try:
        for run in range(runs):
            # The processor's time for this thread: what other programs do meanwhile would only hide a link.
            started = time.thread_time_ns()
            outcome = product.draw(mechanism, histogram, plan)
            seconds[run] = time.thread_time_ns() - started
            noise[run] = _standardised(outcome)
    finally:
        gc.enable()
    return (
        _Seen(what=f"{mechanism.name}, its noise", correlation=rank_correlation(seconds, noise), runs=runs),
        _Seen(what=f"{mechanism.name}, size of it", correlation=rank_correlation(seconds, np.abs(noise)), runs=runs),
    )


def _standardised(outcome: Outcome) -> float:
    """The noise of the one count in its own scale; 0 where nothing was shown."""
    if outcome.counts is None or outcome.noise_scale is None or not len(outcome.counts):
        return 0.0
    return float((int(outcome.counts[0]) - _PEOPLE) / outcome.noise_scale[0])
