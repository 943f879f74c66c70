"""For every study a deliberately wrong mechanism, or a wrong piece of accounting: its small-scale run must not pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

from hushcount.audit.twins.weightings import algorithm_8
from hushcount.mechanisms.counts.ntm_plan import plan_ntm
from hushcount.mechanisms.mechanism import Mechanism
from hushcount.mechanisms.selection.optimal import plan_optimal
from hushcount.mechanisms.table import find
from studies.default_count import BUDGET
from studies.logs import made
from studies.study import Scale

SMALL = Scale(log=made, small=True)


def with_plan(name: str, change: Callable[[Any], Any]) -> Scale:
    """A scale at which one mechanism runs another plan than it was given."""
    sound = find(name)
    return with_mechanism(replace(sound, run=lambda data, plan, noise: sound.run(data, change(plan), noise)))


def with_mechanism(broken: Mechanism) -> Scale:
    """A scale at which one mechanism is a broken one."""
    return replace(SMALL, find=lambda name: broken if name == broken.name else find(name))


def first_round(plan: Any) -> Any:
    """The ladder without its later rounds."""
    return replace(plan, rounds=plan.rounds[:1])


def run_twice(name: str) -> Scale:
    """A mechanism that passes over the data once more than it has to."""
    sound = find(name)

    def run(data: Any, plan: Any, noise: Any) -> Any:
        sound.run(data, plan, noise)
        return sound.run(data, plan, noise)

    return with_mechanism(replace(sound, run=run))


def counting(name: str, factor: float, *, above: float = 0.0) -> Scale:
    """Counts too large by a factor, where rho is above something."""
    sound = find(name)

    def run(data: Any, plan: Any, noise: Any) -> Any:
        found = sound.run(data, plan, noise)
        wrong = (factor * found.counts).astype(found.counts.dtype)
        return replace(found, counts=wrong) if float(plan.rho) > above else found

    return with_mechanism(replace(sound, run=run))


def unseen(plan: Any) -> Any:
    """The default with a bar that hides most rows; any other plan as it is."""
    return replace(plan, dropped=0.6) if plan == plan_ntm(BUDGET) else plan


# What is wrong in words, and the scale at which it is.
MECHANISMS: dict[str, tuple[str, Scale]] = {
    "pcr-figures": ("PCR spends twice its rho", with_plan("pcr", lambda plan: replace(plan, rho=2 * plan.rho))),
    "pcr-parameters": ("PCR does not look at r", with_plan("pcr", lambda plan: replace(plan, relative_error=0.1))),
    "engagements-figure-3": (
        "the threshold is for a delta of 1 %",
        with_plan("unknown-gumbel", lambda plan: replace(plan, delta=Decimal("0.01"))),
    ),
    "engagements-figure-4": (
        "the threshold is four people too low",
        with_plan("unknown-laplace", lambda plan: replace(plan, offset=plan.offset - 4)),
    ),
    "engagements-attacks": (
        "a top list spends twenty times its delta",
        with_plan("unknown-gumbel", lambda plan: replace(plan, delta=20 * plan.delta)),
    ),
    "partition-figure-1": (
        "every item is kept as if one more person had it",
        with_plan("optimal", lambda plan: replace(plan, table=plan.table[1:])),
    ),
    "partition-figure-4": (
        "a threshold a fifth too high",
        with_plan("weighted-gaussian", lambda plan: replace(plan, threshold=1.2 * plan.threshold)),
    ),
    "partition-public": (
        "listed items need as many people as others",
        with_plan("tsgd-public", lambda plan: replace(plan, public_threshold=plan.bound)),
    ),
    "union-table-2": (
        "a threshold a tenth too low",
        with_plan("weighted-gaussian", lambda plan: replace(plan, threshold=0.9 * plan.threshold)),
    ),
    "union-table-3": ("a ladder of one round", with_plan("ladder", first_round)),
    "union-ngrams": ("a ladder of one round", with_plan("ladder", first_round)),
    "union-policies": (
        "the cap is the threshold, whatever the plan says",
        with_plan("policy-gaussian", lambda plan: replace(plan, full=plan.threshold)),
    ),
    "sips-table-2": (
        "a threshold a seventh too low",
        with_plan("weighted-gaussian", lambda plan: replace(plan, threshold=0.85 * plan.threshold)),
    ),
    "sips-parameters": (
        "every threshold a seventh too low",
        with_plan(
            "sips",
            lambda plan: replace(
                plan, rounds=tuple(replace(one, threshold=0.85 * one.threshold) for one in plan.rounds)
            ),
        ),
    ),
    "sips-scaling": ("a pass too many", run_twice("sips")),
    "peers": ("counts a third too large", counting("ntm", 4 / 3)),
    "default-count": ("counts a fifth too large", counting("ntm", 1.2)),
    "default-count-shares": ("the default shows only what is far sharper than asked", with_plan("ntm", unseen)),
    "default-vocab": ("a ladder of one round", with_plan("ladder", first_round)),
    "default-top": (
        "a list of half the length",
        with_plan("hybrid-top", lambda plan: replace(plan, k=max(1, plan.k // 4))),
    ),
    "default-chooser": (
        "a threshold six times too high",
        with_plan("gaussian-threshold", lambda plan: replace(plan, threshold=6 * plan.threshold)),
    ),
    "default-presets": ("counts a fifth too large at a large rho", counting("ntm", 1.2, above=0.3)),
}

# What is wrong in words, where, and what stands there instead: for studies that ask no mechanism, or a plan alone.
PIECES: dict[str, tuple[str, str, Any]] = {
    "engagements-figure-5": (
        "counts are not paid for",
        "hushcount.accounting.units.unknown_gumbel_used",
        lambda items, *, bottom: items + bottom + 1,
    ),
    "engagements-budget": (
        "erratum 3: a list is checked for 2k units",
        "hushcount.accounting.units.unknown_gumbel",
        lambda k: 2 * k,
    ),
    "partition-midpoints": (
        "the optimal table is for a delta ten thousand times smaller",
        "studies.keeping.plan_optimal",
        lambda budget, bound: plan_optimal(replace(budget, delta=budget.delta / 10_000), bound),
    ),
    "union-algorithm-8": (
        "erratum 22: ours is Algorithm 8",
        "studies.union_algorithm_8.in_descent",
        lambda people, cutoff, most: algorithm_8(people, cutoff=cutoff),
    ),
    "sips-budgets": (
        "a conversion that is a tenth too dear",
        "hushcount.accounting.convert.delta_for",
        lambda rho, *, delta0, epsilon: 5.5e-5,
    ),
}
