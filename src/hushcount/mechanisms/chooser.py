"""The chooser: from declared facts to a mechanism, with the reason in words (LI Table 1, DVGM section 5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hushcount.mechanisms.counts.gaussian_threshold import plan_gaussian_threshold
from hushcount.mechanisms.counts.tsgd import MOST_ITEMS as MOST_TSGD
from hushcount.mechanisms.counts.tsgd import plan_tsgd
from hushcount.mechanisms.counts.unknown_domain import UNKNOWN_ROWS, plan_unknown_laplace
from hushcount.mechanisms.selection.optimal import MOST_ITEMS as MOST_OPTIMAL
from hushcount.mechanisms.selection.optimal import midpoint, plan_optimal
from hushcount.mechanisms.selection.union import plan_union
from hushcount.mechanisms.table import Mechanism, Question, find
from hushcount.model.budgets import Budget
from hushcount.model.facts import Facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The mechanism, why, and the cut-offs compared: how many people an item needs for an even chance to be shown."""

    mechanism: Mechanism
    reason: str
    cutoffs: dict[str, float]


def choose(question: Question, budget: Budget, facts: Facts) -> Choice:
    """The mechanism for a question; no data is read.

    Where several answer it, the lowest expected cut-off for this budget wins, in the accounting that is in force.
    """
    match question:
        case "top":
            return _choose_top(facts)
        case "count":
            return _choose_count(budget, facts)
        case "vocab":
            return _choose_vocab(budget, facts)


def _choose_top(facts: Facts) -> Choice:
    if facts.public_items is not None:
        return _sure("known-gumbel", "the list of items is public, so k items always come back and no delta is spent")
    return _sure(
        "unknown-gumbel",
        "the list of items is private: names come from above a noisy threshold, and only what comes back is paid",
    )


def _choose_count(budget: Budget, facts: Facts) -> Choice:
    if facts.public_items is not None:
        return _sure("known-laplace", "the list of items is public, so every listed count is shown with noise")
    if facts.max_items is None:
        return _sure(
            "pcr",
            "nothing bounds how many items a person has: counts are found one by one, until the budget is used",
        )
    bound, cap = facts.max_items, facts.per_item_cap
    options: dict[str, Callable[[], float]] = {
        "gaussian-threshold": lambda: float(plan_gaussian_threshold(budget, bound, cap).threshold),
        "unknown-laplace": lambda: float(
            plan_unknown_laplace(budget, bound, cap, rows=max(UNKNOWN_ROWS, bound)).offset + cap
        ),
    }
    if bound <= MOST_TSGD and cap == 1:
        options["tsgd"] = lambda: float(plan_tsgd(budget, bound).bound + 1)
    return _lowest(options, f"a person has at most {bound} item{'s' * (bound > 1)}")


def _choose_vocab(budget: Budget, facts: Facts) -> Choice:
    if facts.max_items is None or facts.max_items > MOST_OPTIMAL:
        return _sure(
            "sips", "a person may have many items: items named in one round make room for rarer ones in the next"
        )
    bound = facts.max_items
    options: dict[str, Callable[[], float]] = {
        "optimal": lambda: float(midpoint(plan_optimal(budget, bound))),
        # The threshold is in units of weight one; a person who has all of the bound gives each item 1/sqrt(bound) of
        # it.
        "weighted-gaussian": lambda: plan_union("weighted", "gaussian", budget, max_items=bound).threshold * bound**0.5,
    }
    return _lowest(options, f"a person has at most {bound} item{'s' * (bound > 1)}")


def _sure(name: str, reason: str) -> Choice:
    return Choice(mechanism=find(name), reason=f"{name}: {reason}", cutoffs={})


def _lowest(options: dict[str, Callable[[], float]], because: str) -> Choice:
    cutoffs = {name: cutoff() for name, cutoff in options.items()}
    best = min(cutoffs, key=lambda name: cutoffs[name])
    listed = ", ".join(f"{name} {cutoff:.0f}" for name, cutoff in sorted(cutoffs.items(), key=lambda pair: pair[1]))
    return Choice(
        mechanism=find(best),
        reason=f"{best}: {because}, and it needs the fewest people to show an item (expected cut-offs: {listed})",
        cutoffs=cutoffs,
    )
