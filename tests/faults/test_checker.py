"""The checker finds each kind of wrong, on made-up histories that have just that one; and nothing in a right one."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from tests.faults.checker import check
from tests.faults.history import Asked, Entry, Event, Facts, Stored

CEILINGS = {"dataset": Decimal("0.2"), "analyst": Decimal("0.1")}
TENTH = Decimal("0.1")
EVENT = Event(
    client=1,
    analyst="ana",
    deed="ask",
    key="k",
    question='{"question": "top"}',
    invoked=0.0,
    ended=1.0,
    ending="ok",
    status=200,
    rows="rows",
    stored="bytes",
)
HELD = Entry(seq=1, kind="reserve", analyst="ana", key="k", moves=(("analyst", "ana", TENTH, Decimal(0)),))
PAID = Entry(seq=2, kind="settle", analyst="", key="", moves=(("analyst", "ana", -TENTH, TENTH),))
ASK = Asked(analyst="ana", key="k", state="settled", charged=TENTH, answer=1)
FACTS = Facts(
    log=(HELD, PAID),
    asks={1: ASK},
    releases={1: Stored(digest="bytes", rows="rows")},
    jobs={("ana", "k"): ("done", {})},
)
OPEN = replace(ASK, state="open", answer=None)
WHY = {"code": "store-failed", "charged": True}


def test_a_right_history_has_no_problem():
    """One question, held, settled, answered; and one whose end was unknown, and was then answered."""
    unknown = replace(EVENT, ending="unknown", status=0, rows="", stored="")
    verdict = check([unknown, EVENT], FACTS, CEILINGS)

    assert verdict.problems == ()
    assert (verdict.requests, verdict.unknown, verdict.answered, verdict.resumed) == (2, 1, 1, 1)


def test_a_charge_with_a_recorded_reason_is_not_lost():
    """A reservation without an answer is right if its job has failed and says that it stays charged."""
    facts = replace(FACTS, asks={1: OPEN}, releases={}, jobs={("ana", "k"): ("failed", WHY)})

    assert check([], facts, CEILINGS).problems == ()


@pytest.mark.parametrize(
    ("what", "events", "facts"),
    [
        ("verify: ", [EVENT], replace(FACTS, problems=("a link is broken",))),
        ("has 0.2 of 0.1", [EVENT], replace(FACTS, log=(HELD, replace(HELD, key="j"), PAID))),
        ("charged 2 times", [EVENT], replace(FACTS, asks={1: ASK, 2: ASK})),
        ("2 times in the log", [EVENT], replace(FACTS, log=(HELD, PAID, replace(HELD, seq=3, moves=())))),
        ("nobody was charged", [EVENT], replace(FACTS, asks={}, releases={})),
        ("nobody was charged", [replace(EVENT, key="j")], FACTS),
        ("than is stored", [replace(EVENT, stored="others")], FACTS),
        ("than is stored", [replace(EVENT, rows="others")], FACTS),
        ("same question", [EVENT, replace(EVENT, analyst="bo", rows="others")], FACTS),
        ("same key", [EVENT, replace(EVENT, rows="others")], FACTS),
        ("without an answer", [], replace(FACTS, asks={1: OPEN}, releases={}, jobs={})),
        ("without an answer", [], replace(FACTS, asks={1: OPEN}, jobs={("ana", "k"): ("running", {})})),
        (
            "without an answer",
            [],
            replace(FACTS, asks={1: OPEN}, jobs={("ana", "k"): ("failed", {**WHY, "charged": False})}),
        ),
        ("without an answer", [], replace(FACTS, releases={})),
        ("was told cancelled", [replace(EVENT, ending="fail", code="cancelled", rows="")], FACTS),
    ],
)
def test_each_wrong_is_found(what, events, facts):
    """A checker that finds nothing would be no checker."""
    verdict = check(events, facts, CEILINGS)

    assert any(what in problem for problem in verdict.problems), verdict.problems
