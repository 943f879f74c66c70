"""Black box: every mechanism as a user calls it, run many times on small tables, what was seen beside the claim."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

from hushcount.audit.blackbox.power import found_excess, runs_needed
from hushcount.audit.blackbox.tables import make_trials
from hushcount.audit.blackbox.trial import FIRST_LOOK, Trial, attack, measure, to_finding
from hushcount.audit.finding import Finding
from hushcount.mechanisms import table

__all__ = ["ALARM", "CASES", "Trial", "alarm_of_a_trial", "attack", "black_box", "measure"]

# The probability that all trials of a run together call any correct mechanism broken is at most this: with what the
# other steps may add, a whole run stays below one in a thousand.
ALARM = 9e-4
# Pairs of neighbours for each mechanism at most.
CASES = 4
# About how long one mechanism may take in a quick run, on one core, if nothing looks doubtful: a slow one is run less
# often, and its finding says what that finds.
_QUICK_SECONDS = 0.3
_FEWEST, _LOOKS = 24, 2


def alarm_of_a_trial() -> float:
    """The share of the whole run's alarm probability for one trial: all trials have the same (Bonferroni)."""
    return ALARM / (CASES * len(table.MECHANISMS))


def black_box(name: str, *, quick: bool = False, say: Callable[[str], None] = lambda _: None) -> Finding:
    """Attack one mechanism of the table on all its neighbours; quick: for a second or two, on some of them."""
    say(f"black box: {name}")
    began = time.perf_counter()
    alarm = alarm_of_a_trial()
    trials = list(make_trials(name, quick=quick))
    level, allowed = trials[0].epsilon, trials[0].claim.delta(trials[0].epsilon)
    runs = _affordable(trials, _QUICK_SECONDS) if quick else runs_needed(level, allowed, alarm=alarm / 2)
    found = [measure(trial, alarm=alarm, runs=runs) for trial in trials]
    excess = found_excess(level, allowed, runs=runs, alarm=alarm / 2)
    able = "only gross mistakes" if excess == math.inf else f"{excess:.0%} more than epsilon {level:.3g}"
    looked = f"{len(trials)} pairs of neighbours, {sum(one.runs for one in found):,} runs; {able} would have been found"
    return to_finding(found, looked=looked, seconds=time.perf_counter() - began)


def _affordable(trials: Sequence[Trial], seconds: float) -> int:
    """How many test runs on either neighbour fit into the time, if none looks doubtful after the first look."""
    for trial in trials:
        trial.two()  # the first run compiles and fills caches
    began = time.process_time()
    for trial in trials:
        for _ in range(_LOOKS):
            trial.one()
            trial.two()
    each = (time.process_time() - began) / (2 * _LOOKS * len(trials))
    # Two data sets, for each a first look and as many runs to choose the event on.
    return max(_FEWEST, int(seconds / each / len(trials) / 4 * FIRST_LOOK))
