"""Variants: the budgets and facts that a mechanism is audited with, each fact that its record names at several values.

A mechanism is calibrated to its facts, and forgetting one of them is an easy mistake: with a cap of one, noise for a
cap of one is right. So every value of every fact meets every value of every other fact at least once (all pairs), which
takes a few plans where all combinations would take dozens.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from hushcount.audit.small_table import listed
from hushcount.mechanisms.mechanism import Mechanism
from hushcount.model.budgets import Budget, epsilon_budget, rho_budget
from hushcount.model.facts import Fact, Facts
from hushcount.model.frozen import frozen

# What each fact is tried at. Small, so that laws are small; a cap of two lets one person move a count by two.
VALUES: dict[Fact, tuple[Any, ...]] = {
    "max_items": (2, 1),
    "per_item_cap": (1, 2),
    "public_items": (listed("a", "b"), listed("a", "c")),
    "k": (2, 1),
    "with_counts": (False, True),
    # Half of each count, and, unsaid, a tenth, where the clamp of PCR acts.
    "relative_error": (0.5, None),
}
# Delta is large, so that what it pays for shows; budgets are large, so that noise is narrow and laws are small.
_BUDGETS: tuple[Budget, ...] = (epsilon_budget(4, "0.05"), rho_budget(2, "0.01"))


@frozen
class Circumstances:
    """A budget and facts to plan with."""

    budget: Budget
    facts: Facts

    @property
    def words(self) -> str:
        """All of it in words."""
        budget, facts = self.budget, self.facts
        total = f"rho {budget.rho}" if hasattr(budget, "rho") else f"epsilon {budget.epsilon}"
        words = [total, f"delta {budget.delta}"]
        words += [f"up to {facts.max_items} items a person"] * (facts.max_items is not None)
        words += [f"rows counted up to {facts.per_item_cap} times"] * (facts.per_item_cap > 1)
        words += [f"the first {facts.k}"] * (facts.k is not None)
        words += ["names only"] * (not facts.with_counts)
        words += [f"within {facts.relative_error} of each count"] * (facts.relative_error is not None)
        return ", ".join(words)


def variants_of(mechanism: Mechanism, *, quick: bool) -> tuple[Circumstances, ...]:
    """All pairs of values of the facts that a mechanism needs and takes, and of these with each budget.

    A quick run looks at both budgets of a mechanism with one fact by turns only.
    """
    named = sorted(mechanism.needs | mechanism.takes, key=list(VALUES).index)
    choices: dict[str, Sequence[Any]] = {fact: VALUES[fact] for fact in named}
    if quick and len(named) < 2:
        rows = [dict(row, budget=place) for place, row in enumerate(covering({f: len(v) for f, v in choices.items()}))]
        rows = rows if named else [{"budget": place} for place in range(len(_BUDGETS))]
    else:
        rows = covering({"budget": len(_BUDGETS), **{fact: len(values) for fact, values in choices.items()}})
    return tuple(
        Circumstances(
            budget=_BUDGETS[row["budget"] % len(_BUDGETS)],
            facts=Facts(**{fact: values[row[fact]] for fact, values in choices.items()}),
        )
        for row in rows
    )


def covering(levels: Mapping[str, int]) -> list[dict[str, int]]:
    """Rows of one level of each factor in which every pair of levels of two factors is there; of one, every level.

    Greedy: the next row is the first of those with most pairs that no row has yet. The first has all levels zero.
    """
    rows = [dict(zip(levels, row, strict=True)) for row in itertools.product(*map(range, levels.values()))]
    missing = set().union(*map(_pairs, rows))
    chosen = []
    while missing:
        best = max(rows, key=lambda row: len(missing & _pairs(row)))
        chosen.append(best)
        missing -= _pairs(best)
    return chosen


def _pairs(row: Mapping[str, int]) -> set[Hashable]:
    return set(itertools.combinations(sorted(row.items()), min(2, len(row))))
