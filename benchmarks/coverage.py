"""How often the 95 % intervals of every count mechanism hold the true count, and what was counted under a bound.

Prints the table of docs/accuracy.md:  python -m benchmarks.coverage
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np

from hushcount.app.intervals import intervals
from hushcount.engines.incidence import MemoryIncidence, incidence
from hushcount.mechanisms.mechanism import Mechanism
from hushcount.mechanisms.table import MECHANISMS, find
from hushcount.model.budgets import DEFAULT_DELTA, PRESETS, rho_budget
from hushcount.model.facts import Facts
from hushcount.model.inputs import Bound, Counts, Incidence, Items
from hushcount.noise.source import NoiseSource, SeededSource

PEOPLE, RUNS, BOUND = 20_000, 60, 2
_LISTED = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """Of all rows of some runs: how many there are, and shares of them.

    Attributes:
        rows: how many.
        counted: those whose interval holds what was counted.
        true: those whose interval holds the true count.
    """

    rows: int
    counted: float
    true: float


@lru_cache(maxsize=4)
def skewed(people: int, longest: int = 60) -> MemoryIncidence:
    """People with one item or dozens, of which few are held by most and most by few."""
    rng = np.random.default_rng(7)
    holders = np.repeat(np.arange(people), np.minimum(rng.zipf(1.6, people), longest))
    held = np.minimum(rng.zipf(1.5, len(holders)), 3000)
    pairs = np.unique(np.stack([holders, held]), axis=1)
    return incidence(pairs[0].tolist(), [f"i{item}" for item in pairs[1]])


def cases() -> list[tuple[str, int | None]]:
    """Every count mechanism, without a bound where it can be, and with one where it takes one."""
    found: list[tuple[str, int | None]] = []
    for mechanism in MECHANISMS:
        if mechanism.question == "count":
            found += [] if "max_items" in mechanism.needs else [(mechanism.name, None)]
            found += [(mechanism.name, BOUND)] if "max_items" in mechanism.needs | mechanism.takes else []
    return found


def covered(
    log: MemoryIncidence, name: str, *, rho: Decimal | str, bound: int | None, runs: int, narrowed: float = 1.0
) -> Covered:
    """Run a mechanism so often, and look at all its intervals.

    Args:
        log: who has what.
        name: the mechanism.
        rho: the budget.
        bound: on each person's items, if any.
        runs: how often.
        narrowed: what is left of every interval on both sides of the count: less than one for a broken twin.
    """
    mechanism = find(name)
    public = np.array([*(f"i{item}" for item in range(1, _LISTED)), "nobody"], dtype=object)
    facts = mechanism.fitting(Facts(max_items=bound, public_items=public))
    plan = mechanism.plan(rho_budget(rho, DEFAULT_DELTA), facts)
    seen = []
    for seed in range(runs):
        noise = SeededSource(seed)
        given = _Given(log, mechanism, bound=plan.max_items, public=facts.public_items, noise=noise)
        outcome = mechanism.run(given.input, plan, noise)
        ends = intervals(outcome)
        if ends is None or outcome.counts is None:  # pragma: no cover (they count)
            raise LookupError("counts")
        low = outcome.counts - np.floor(narrowed * (outcome.counts - ends[0])).astype(np.int64)
        high = outcome.counts + np.floor(narrowed * (ends[1] - outcome.counts)).astype(np.int64)
        counted, true = given.counted.of(outcome.items), log.histogram().of(outcome.items)
        held = (low <= counted) & (counted <= high), (low <= true) & (true <= high)
        seen.append(np.stack(held, axis=1))
    rows = np.concatenate(seen)
    shares = rows.mean(axis=0).tolist() if len(rows) else [1.0, 1.0]
    return Covered(rows=len(rows), counted=shares[0], true=shares[1])


class _Given:
    """The bounded input of a mechanism, and what was counted in it: of everybody all, or as many as the bound keeps."""

    def __init__(
        self, log: MemoryIncidence, mechanism: Mechanism, *, bound: int | None, public: Items | None, noise: NoiseSource
    ) -> None:
        self.log, self.counted = log, _all(log)
        self.input: Counts | Incidence | _Given = self
        if mechanism.wants == "histogram" and bound is not None:
            only = public if mechanism.listed_only else None
            self.counted = log.counts(Bound(max_items=bound, salt=noise.salt("bound"), only=only))
        if mechanism.wants == "histogram":
            self.input = self.counted

    def counts(self, bound: Bound) -> Counts:
        """As the log's, and remembered: a mechanism that sees who has what bounds by itself."""
        self.counted = self.log.counts(bound)
        return self.counted

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever the log has
        return getattr(self.log, name)


def _all(log: MemoryIncidence) -> Counts:
    return log.histogram()


def main() -> None:
    """Print the table."""
    print("| mechanism | bound | preset | rows of a run | held what was counted | held the true count |")
    print("|---|--:|---|--:|--:|--:|")
    for name, bound in cases():
        for preset, rho in PRESETS.items():
            found = covered(skewed(PEOPLE), name, rho=rho, bound=bound, runs=RUNS)
            said = "-" if bound is None else str(bound)
            shares = f"{100 * found.counted:.1f} % | {100 * found.true:.1f} %"
            print(f"| `{name}` | {said} | {preset} | {found.rows / RUNS:.0f} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
