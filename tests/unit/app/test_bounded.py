"""The bounded input: what a plan has read of the data, the same for the product and for the auditor."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from hushcount.app import answer, bounded
from hushcount.app.bounded import Reading, bounded_input
from hushcount.audit import subject
from hushcount.audit.small_table import SmallTable, small_table
from hushcount.mechanisms.table import MECHANISMS, find
from hushcount.model.budgets import STANDARD
from hushcount.model.facts import Facts
from hushcount.model.queries import Selection
from hushcount.noise.source import SeededSource

LISTED = np.array(["a", "b"], dtype=object)
SELECTION = Selection(user="user", item="item")


@dataclass
class Asked:
    """Data that notes what it is asked for, and gives what other data has, or nothing."""

    reads: list = field(default_factory=list)
    of: SmallTable | None = None

    def histogram(self, selection, *, bound=None, top=None):
        """Note the bound and the number of rows."""
        self.reads.append(("histogram", selection, bound, top))
        return self.of and self.of.histogram(selection, bound=bound, top=top)

    def incidence(self, selection):
        """Note that the handle was asked for."""
        self.reads.append(("incidence", selection))
        return self.of and self.of.incidence(selection)


def read(mechanism):
    """What a mechanism has read, its plan, and the noise that keyed it."""
    facts = mechanism.fitting(Facts(max_items=2, k=2, public_items=LISTED))
    plan, noise, data = mechanism.plan(STANDARD, facts), SeededSource(7), Asked()
    bounded_input(data, mechanism, plan=plan, facts=facts, selection=SELECTION, noise=noise)
    (one,) = data.reads
    return one, plan, noise


READ_AT_ONCE = [mechanism for mechanism in MECHANISMS if mechanism.wants != "holdings"]


@pytest.mark.parametrize("mechanism", READ_AT_ONCE, ids=lambda mechanism: mechanism.name)
def test_a_plan_says_what_is_read(mechanism):
    """One read, of the kind that the record wants; bounded as the plan says, under a key of its own."""
    (kind, selection, *rest), plan, noise = read(mechanism)

    assert (kind, selection) == (mechanism.wants, SELECTION)
    if kind == "histogram":
        bound, top = rest
        assert top == mechanism.fetch(plan)
        assert (bound is None) == (plan.max_items is None)
        assert bound is None or (bound.max_items, bound.salt) == (plan.max_items, noise.salt("bound"))


def both_views(cap: int) -> tuple[Reading, Asked]:
    """Both views of a small table, and what is read for them."""
    asked = Asked(of=small_table((("p", "a"), ("p", "a"), ("p", "b"), ("q", "a"))))
    selection = Selection(user="user", item="item", per_item_cap=cap)
    bounded = bounded_input(
        asked,
        find("hybrid-top"),
        plan=find("hybrid-top").plan(STANDARD, Facts(k=2)),
        facts=Facts(k=2),
        selection=selection,
        noise=SeededSource(7),
    )
    return bounded, asked


def test_views_are_read_when_they_are_asked_for():
    """Nothing at first; the largest counts cut where the data is; lists once, however often they are looked at."""
    views, asked = both_views(1)
    assert asked.reads == []

    views.top(1001)
    assert asked.reads == [("histogram", SELECTION, None, 1001)]

    assert views.incidence() is views.incidence()
    assert views.counts_of(np.array(["b", "z", "a"], dtype=object)).tolist() == [1, 0, 2]
    assert asked.reads[1:] == [("incidence", SELECTION)]


def test_counts_of_named_items_keep_to_the_cap():
    """Where rows count up to a cap, people's lists are of distinct items, and counts are of rows."""
    views, asked = both_views(2)

    assert views.top(2).counts.tolist() == [3, 1]
    assert views.counts_of(np.array(["b", "a"], dtype=object)).tolist() == [1, 3]
    assert views.incidence() is not None
    assert asked.reads[-1] == ("incidence", SELECTION)
    assert asked.reads[1][2].only.tolist() == ["b", "a"]


def test_a_bound_is_spent_on_listed_items_only_where_no_other_is_looked_at():
    """known-laplace looks at its list alone; tsgd-public at all items."""
    (_, _, listed, _), _, _ = read(find("known-laplace"))
    (_, _, everything, _), _, _ = read(find("tsgd-public"))

    assert listed.only is LISTED
    assert everything.only is None


def test_the_product_and_the_auditor_read_by_the_same_function():
    """What is audited is what is run."""
    assert answer.bounded_input is subject.bounded_input is bounded.bounded_input
