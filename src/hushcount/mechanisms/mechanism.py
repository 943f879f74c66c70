"""A mechanism as one record: all that the product, the chooser and the auditor know of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from hushcount.errors import InvalidParameter
from hushcount.mechanisms.calibration import Plan
from hushcount.model.budgets import Budget
from hushcount.model.expectations import Expectation
from hushcount.model.facts import Fact, Facts
from hushcount.model.frozen import frozen
from hushcount.model.outcomes import Law, Outcome
from hushcount.model.queries import Question
from hushcount.noise.source import NoiseSource
from hushcount.noise.widths import half_width

Planner: TypeAlias = Callable[[Budget, Facts], Plan]

# Why a fact that a mechanism needs must be there, and why one that it does not take must not.
_NEEDED: dict[Fact, str] = {
    "max_items": "Use 'ntm' or 'sips', which need no bound, or declare one.",
    "public_items": "It shows the items of a public list, and of no other.",
    "k": "It shows so many items.",
}
_UNUSED: dict[Fact, str] = {
    "max_items": "It takes all items of every person: a bound would change nothing.",
    "per_item_cap": "It looks at people, not at rows.",
    "public_items": "It shows what it finds, on a list or not: a public list would change nothing.",
    "k": "It shows all that it can; a top list shows the first k.",
    "with_counts": "Only a top list has names with or without counts.",
    "relative_error": "Only 'ntm', 'pcr' and 'plume-threshold' aim at a share; say a number of people instead.",
}


@frozen
class Mechanism:
    """One mechanism. What is not said here, nobody knows of it.

    Attributes:
        name: what it is called by `method`, in receipts and in the docs.
        question: what it answers.
        wants: what input its run takes: people per item, a handle on who has what, or both, each read when asked for.
        needs: facts that it cannot be planned without.
        takes: further facts that change its plan. Any other is refused, since it would change nothing.
        calibrate: from a budget and these facts to a plan; see `plan`.
        run: from the input, the plan and a noise source to an outcome.
        expect: what can be said of an answer under a plan.
        small: as `calibrate`, for the auditor, which follows every outcome: where plans look at many rows by design,
            one that looks at few. None if `calibrate` will do.
        fetch: how many of the largest counts the histogram must have under a plan, None for all.
        listed_only: items off the public list are never looked at, so that a bound need not be spent on them.
        sequential: people are visited one after another, each seeing what those before did: no cluster can share
            that out.
        weighs: its cut-off is a weight: people who have nothing else count one, others less.
        from_boundary: its cut-off is counted from the count of the first item that it does not look at, which stays
            private; zero where it looks at all.
        version: part of the key of consistent noise (erratum 9). It rises with any change in what a mechanism draws or
            in what it is given, such as another bounding hash; equal noise on the old and the new input would show
            their difference.
    """

    name: str
    question: Question
    wants: Literal["histogram", "incidence", "holdings"]
    needs: frozenset[Fact] = frozenset()
    takes: frozenset[Fact] = frozenset()
    calibrate: Planner
    run: Callable[[Any, Any, NoiseSource], Outcome]
    expect: Callable[[Any], Expectation]
    small: Planner | None = None
    fetch: Callable[[Any], int | None] = lambda _: None
    listed_only: bool = False
    sequential: bool = False
    weighs: bool = False
    from_boundary: bool = False
    version: int = 2

    def plan(self, budget: Budget, facts: Facts) -> Plan:
        """Calibrate to a budget; no data is read.

        Raises:
            InvalidParameter: a fact is missing, out of range, or would change nothing.
        """
        self._check(facts)
        # A list may be long, and is compared with no other: only plans without one are kept.
        return (_kept if facts.public_items is None else _calibrated)(self.calibrate, budget, facts)

    def plan_small(self, budget: Budget, facts: Facts) -> Plan:
        """As `plan`, small enough for every outcome to be followed."""
        self._check(facts)
        return (self.small or self.calibrate)(budget, facts)

    def fitting(self, facts: Facts) -> Facts:
        """Those of the facts that it needs or takes; for facts that nobody declared for this question."""
        return facts.only(self.needs | self.takes)

    def _check(self, facts: Facts) -> None:
        missing = sorted(self.needs - facts.declared)
        if missing:
            raise InvalidParameter(missing[0], None, f"declared for '{self.name}'", _NEEDED.get(missing[0], ""))
        unused = sorted(facts.declared - self.needs - self.takes)
        if unused:
            value = "a list" if unused[0] == "public_items" else getattr(facts, unused[0])
            raise InvalidParameter(unused[0], value, f"left out for '{self.name}'", _UNUSED[unused[0]])


def _calibrated(calibrate: Planner, budget: Budget, facts: Facts) -> Plan:
    return calibrate(budget, facts)


# A question is planned when it is priced, before it is taken and when it is run, and asked again and again.
_kept = lru_cache(maxsize=256)(_calibrated)


def even_noise(law: Law, scale: float, *, cutoff: float | None) -> Expectation:
    """What to expect where every count has the same noise."""
    return Expectation(give_or_take=half_width(law, scale), cutoff=None if cutoff is None else float(cutoff))
