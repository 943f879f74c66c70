"""The chooser: from declared facts to a mechanism, with the reason in words (LI Table 1, DVGM section 5)."""

from __future__ import annotations

from dataclasses import dataclass

from hushcount.mechanisms.counts.tsgd import MOST_ITEMS as MOST_TSGD
from hushcount.mechanisms.mechanism import Mechanism
from hushcount.mechanisms.selection.optimal import MOST_ITEMS as MOST_OPTIMAL
from hushcount.mechanisms.table import find
from hushcount.model.budgets import Budget
from hushcount.model.facts import Facts
from hushcount.model.queries import Question


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
        "hybrid-top",
        "the list of items is private: what stands out is shown, what is missing is named and chosen from, and only "
        "what is drawn is paid",
    )


def _choose_count(budget: Budget, facts: Facts) -> Choice:
    if facts.public_items is not None:
        return _sure("known-laplace", "the list of items is public, so every listed count is shown with noise")
    if facts.max_items is None:
        return _sure(
            "pcr",
            "nothing bounds how many items a person has: counts are found one by one, until the budget is used",
        )
    rivals = ["gaussian-threshold", "unknown-laplace"]
    if facts.max_items <= MOST_TSGD and facts.per_item_cap == 1:
        rivals.append("tsgd")
    return _lowest(rivals, budget, facts, bound=facts.max_items)


def _choose_vocab(budget: Budget, facts: Facts) -> Choice:
    if facts.max_items is None or facts.max_items > MOST_OPTIMAL:
        return _sure(
            "ladder", "a person may have many items: items named in one round make room for rarer ones in the next"
        )
    return _lowest(["optimal", "weighted-gaussian", "ladder"], budget, facts, bound=facts.max_items)


def _sure(name: str, reason: str) -> Choice:
    return Choice(mechanism=find(name), reason=f"{name}: {reason}", cutoffs={})


def _lowest(rivals: list[str], budget: Budget, facts: Facts, *, bound: int) -> Choice:
    cutoffs = {name: _people_needed(find(name), budget, facts, bound=bound) for name in rivals}
    best = min(cutoffs, key=lambda name: cutoffs[name])
    listed = ", ".join(f"{name} {cutoff:.0f}" for name, cutoff in sorted(cutoffs.items(), key=lambda pair: pair[1]))
    because = f"a person has at most {bound} item{'s' * (bound > 1)}"
    return Choice(
        mechanism=find(best),
        reason=f"{best}: {because}, and it needs the fewest people to show an item (expected cut-offs: {listed})",
        cutoffs=cutoffs,
    )


def _people_needed(mechanism: Mechanism, budget: Budget, facts: Facts, *, bound: int) -> float:
    cutoff = mechanism.expect(mechanism.plan(budget, mechanism.fitting(facts))).cutoff or 0.0
    # A cut-off by weight is in units of weight one; a person who has all of the bound gives each item 1/sqrt(bound).
    return cutoff * bound**0.5 if mechanism.weighs else cutoff
