"""The chooser: from declared facts to a mechanism, with the reason in words (LI Table 1, DVGM section 5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TypeVar

from hushcount.errors import InvalidParameter
from hushcount.mechanisms.counts.tsgd import MOST_ITEMS as MOST_TSGD
from hushcount.mechanisms.mechanism import Mechanism
from hushcount.mechanisms.selection.optimal import MOST_ITEMS as MOST_OPTIMAL
from hushcount.mechanisms.table import find
from hushcount.model.budgets import Budget
from hushcount.model.facts import Facts
from hushcount.model.frozen import frozen
from hushcount.model.queries import Question

Amount = TypeVar("Amount", int, float)


@frozen
class Choice:
    """The mechanism, why, and what was compared.

    Attributes:
        mechanism: what was chosen.
        reason: why, in a sentence that begins with its name.
        cutoffs: by mechanism, how many people an item needs for an even chance to be shown.
        widths: by mechanism, half of a 95 % interval of each count, where all items are shown anyway.
    """

    mechanism: Mechanism
    reason: str
    cutoffs: dict[str, float] = field(default_factory=dict)
    widths: dict[str, int] = field(default_factory=dict)


def choose(question: Question, budget: Budget, facts: Facts) -> Choice:
    """The mechanism for a question; no data is read.

    Where several answer it, the lowest expected cut-off for this budget wins, in the accounting that is in force; where
    the list is public, the narrowest interval.
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
        return _narrowest(("known-laplace", "known-gaussian"), budget, facts)
    if facts.max_items is None and facts.per_item_cap > 1:
        return _sure(
            "pcr-batched",
            "nothing bounds how many items a person has, and rows count: counts are found level by level, until the "
            "budget is used",
        )
    if facts.max_items is None:
        return _sure(
            "ntm", "nothing bounds how many items a person has: items are named first, then all are measured together"
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
    return Choice(mechanism=find(name), reason=f"{name}: {reason}")


def _narrowest(rivals: tuple[str, ...], budget: Budget, facts: Facts) -> Choice:
    """The first of the rivals whose counts have the narrowest intervals: on a tie the one that is pure."""
    widths = _of_each(rivals, lambda mechanism: _give_or_take(mechanism, budget, facts))
    best = min(widths, key=lambda name: widths[name])
    listed = ", ".join(f"{name} {width:,}" for name, width in sorted(widths.items(), key=lambda pair: pair[1]))
    because = "the list of items is public, so every listed count is shown, and it adds the least noise"
    if facts.public_items is not None and len(facts.public_items) == 1:
        because = "there is one number to tell, and it adds the least noise"
    return Choice(mechanism=find(best), reason=f"{best}: {because} (give or take: {listed})", widths=widths)


def _of_each(rivals: Sequence[str], measure: Callable[[Mechanism], Amount]) -> dict[str, Amount]:
    """What is compared of each rival that can be planned at all; if none can, the first says why."""
    found: dict[str, Amount] = {}
    refusals: list[InvalidParameter] = []
    for name in rivals:
        try:
            found[name] = measure(find(name))
        except InvalidParameter as refused:
            refusals.append(refused)
    if not found:
        raise refusals[0]
    return found


def _give_or_take(mechanism: Mechanism, budget: Budget, facts: Facts) -> int:
    return mechanism.expect(mechanism.plan(budget, mechanism.fitting(facts))).give_or_take or 0


def _lowest(rivals: list[str], budget: Budget, facts: Facts, *, bound: int) -> Choice:
    cutoffs = _of_each(rivals, lambda mechanism: _people_needed(mechanism, budget, facts, bound=bound))
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
