"""Small tables: every mechanism as a user calls it, by `count`, `top` and `vocab`, on a few rows.

A mechanism is here by being in the table: its record says what it needs (a bound, a public list, a k). Its budget is
one where few runs show much: epsilon 2, or rho 0.7 where the noise is Gaussian, and a delta that puts the cut-off at
about three people. The neighbours are bad cases by construction.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from functools import partial
from typing import Any

from hushcount.app.release import Release
from hushcount.app.setting import passing_setting
from hushcount.audit.asking import asked_by_name
from hushcount.audit.blackbox.power import best_level
from hushcount.audit.blackbox.trial import LEVELS, Trial
from hushcount.audit.claim import Claim, cost_claim, own_epsilon
from hushcount.audit.neighbours import Table
from hushcount.audit.small_table import ITEM, USER, SmallTable, small_table
from hushcount.library.questions import count, estimate, top, vocab
from hushcount.mechanisms.mechanism import Mechanism
from hushcount.mechanisms.table import find
from hushcount.model.costs import Cost
from hushcount.model.frozen import frozen

_EPSILON = {"epsilon": "2", "delta": "0.009"}
_RHO = {"rho": "0.7", "delta": "0.009"}
_ITEMS = ("a", "b", "c")
# What made-up data gives is nobody's to keep: no receipt, no ledger, a secret that is forgotten.
_NOBODY = passing_setting()
# How often each number of people is tried, and where trying ends.
_LOOKS, _MOST_PEOPLE = 3, 64
_QUESTIONS: dict[str, Callable[..., Release]] = {"count": count, "top": top, "vocab": vocab}


@frozen
class Case:
    """A mechanism with the options that it is asked with, what it then claims, and where that is compared best."""

    name: str
    ask: Callable[[SmallTable], Release]
    claim: Claim
    epsilon: float


def make_case(name: str, *, max_items: int = 1, per_item_cap: int = 1) -> Case:
    """A mechanism of the table with options that it accepts: a bound on items, and a public list where it wants one."""
    mechanism = find(name)
    named = asked_by_name(mechanism, max_items=max_items, k=1, keys=_ITEMS, per_item_cap=per_item_cap)
    options = {**named, **_EPSILON, "fresh": True, "setting": _NOBODY}
    cost = _cost(mechanism, options)
    if own_epsilon(cost) is None:
        options = {**named, **_RHO, "fresh": True, "setting": _NOBODY}
        cost = _cost(mechanism, options)
    claim = cost_claim(cost)
    ask = partial(_QUESTIONS[mechanism.question], user=USER, item=ITEM, **options)
    return Case(name=name, ask=ask, claim=claim, epsilon=own_epsilon(cost) or best_level(claim, LEVELS))


def make_trials(name: str, *, quick: bool = False) -> Iterator[Trial]:
    """One trial for each pair of neighbours: an item at the cut-off, that of one person, a person in everything.

    A mechanism that takes a cap is also asked with one: a person has an item at the cut-off in two rows.

    Args:
        name: the mechanism.
        quick: the items at the cut-off only.
    """
    one = make_case(name)
    edge = find_edge(one)
    held, others = _holders("a", edge), _tied(edge)
    yield _trial(one, f"one of {edge} people with an item leaves, others tie", held[1:] + others, held[:1])
    if "per_item_cap" in find(name).takes:
        # Cut-offs stand cap times as high.
        where = f"a person with two rows of an item of {2 * edge} people leaves, others tie"
        rows = _holders("a", 2 * edge - 1) + _tied(2 * edge)
        yield _trial(make_case(name, per_item_cap=2), where, rows, (("z", "a"),) * 2)
    if quick:
        return
    yield _trial(one, "the only person with an item leaves", others, (("z", "a"),))
    two = make_case(name, max_items=2)
    edge = find_edge(two)
    rest = _holders("a", edge - 1) + _holders("b", edge - 1) + _holders("c", edge)
    yield _trial(two, f"a person with two items of {edge} people leaves", rest, (("z", "a"), ("z", "b")))


def find_edge(case: Case) -> int:
    """About how many people an item needs to be shown as often as not, from a few runs; two where all items are."""

    def is_shown(people: int) -> bool:
        table = small_table(_holders("a", people))
        return 2 * sum(len(case.ask(table)) > 0 for _ in range(_LOOKS)) > _LOOKS

    high = 1
    while high < _MOST_PEOPLE and not is_shown(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_shown(middle) else (middle, high)
    return max(2, high)


def _cost(mechanism: Mechanism, options: dict[str, Any]) -> Cost:
    return estimate(user=USER, item=ITEM, question=mechanism.question, **options).cost


def _holders(item: str, people: int) -> Table:
    return tuple((f"{item}{person}", item) for person in range(people))


def _tied(people: int) -> Table:
    return _holders("b", people) + _holders("c", people)


def _trial(case: Case, where: str, rows: Table, more: Table) -> Trial:
    """A table, and the same with the rows of one more person."""
    return Trial(
        name=case.name,
        claim=case.claim,
        epsilon=case.epsilon,
        one=partial(_output, case.ask, small_table(rows)),
        two=partial(_output, case.ask, small_table(rows + more)),
        where=where,
    )


def _output(ask: Callable[..., Release], table: SmallTable) -> Hashable:
    """The rows of a release as they are shown: in their order, names with counts where there are counts."""
    release = ask(table)
    names = release.items.tolist()
    return tuple(names) if release.counts is None else tuple(zip(names, release.counts.tolist(), strict=True))
