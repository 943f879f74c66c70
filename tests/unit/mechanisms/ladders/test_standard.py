"""Tables that come with the package are those that would be made, and are what a standard question reads."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest

from hushcount.app.planning import make_plan
from hushcount.app.request import make_request
from hushcount.ledger.limits import NEW_ORDER
from hushcount.mechanisms.ladders import standard
from hushcount.mechanisms.ladders import tables as made_tables
from hushcount.mechanisms.selection.ladder import plan_ladder
from hushcount.model.budgets import RhoBudget
from tests.stored.ladders import rounds, tables

ROUNDS = rounds()


def stored(rho, delta, max_items, cap):
    """The tables of one round as they lie in the file."""
    return [chances.table for chances in standard.tables(rho, delta, max_items=max_items, cap=cap)]


def differs(one, other):
    """By how much two tables differ at the most, as a share; without end if they are not of one length."""
    return float((np.abs(one - other) / np.maximum(other, 1e-300)).max()) if len(one) == len(other) else math.inf


@pytest.mark.parametrize("one", ROUNDS, ids=lambda one: f"{one[0]:.4f} up to {one[3]:g}")
def test_stored_tables_are_those_that_are_made_and_certified_now(one):
    """Up to the last bits of exponentials, which machines may give differently."""
    made = [chances.table for _, chances in tables(*one)]

    assert len(made) == (1 if one[3] == math.inf else 4)
    assert [differs(*both) < 1e-9 for both in zip(stored(*one), made, strict=True)] == [True] * len(made)


def test_a_table_of_another_budget_would_be_seen():
    """Twin: rho a thousandth larger, delta a thousandth larger, one order less."""
    rho, delta, items, cap = ROUNDS[-1]
    more = Decimal("1.001")

    for other in ((rho * more, delta, items, cap), (rho, delta * more, items, cap), (rho, delta, items, cap - 1)):
        (_, chances), *_ = tables(*other)
        assert differs(stored(*ROUNDS[-1])[0], chances.table) > 1e-5


def test_nothing_else_is_in_the_file():
    """A round that nobody asks for any more would only be carried along."""
    with np.load(standard.FILE) as kept:
        found = set(kept.files)

    assert found == {
        standard.name(rho, delta, max_items=items, cap=cap, number=number)
        for rho, delta, items, cap in ROUNDS
        for number in range(len(stored(rho, delta, items, cap)))
    }


@pytest.mark.parametrize("order", [None, NEW_ORDER], ids=["without a ledger", "by a ledger"])
def test_a_standard_question_waits_for_no_certificate(order, monkeypatch):
    """Its plan is made although nothing can be certified, and has the tables of the file."""
    made_tables.ladders.cache_clear()
    monkeypatch.setattr(made_tables, "staircase", lambda *_: pytest.fail("a search for steps"))
    plan = make_plan(make_request("vocab", user="user", item="item", options={}), order).plan

    for one in plan.rounds:
        kept = standard.tables(one.rho, one.delta, max_items=plan.max_items, cap=one.cap)
        assert one.ladders.tables == kept != ()


@pytest.mark.parametrize(
    ("rho", "delta", "items"),
    [("0.1000001", "1e-6", 100), ("0.1", "1.000001e-6", 100), ("0.1", "1e-6", 99)],
    ids=["another rho", "another delta", "fewer items"],
)
def test_every_other_budget_has_tables_of_its_own(rho, delta, items, monkeypatch):
    """However close: none is answered from tables that were made for another."""
    made_tables.ladders.cache_clear()
    searched, search = [], made_tables.staircase
    monkeypatch.setattr(made_tables, "staircase", lambda *given: searched.append(given) or search(*given))
    plan_ladder(RhoBudget(Decimal(rho), Decimal(delta)), items)

    assert len(searched) == 3
