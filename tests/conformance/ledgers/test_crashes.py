"""A crash at every step of every verb: either nothing was released, or it is charged; a retry gets the answer.

LinkedIn's check, run and update leave a gap between release and charge (erratum 8); here there is none.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

import pytest

from hushcount.accounting import zcdp
from hushcount.accounting.spent import Spent
from hushcount.errors import ReservationClosed
from hushcount.ledger.limits import rho_limit
from tests.conformance.ledgers.stores import OWNER, Crash, Faulty, analyst, answered, ask, cost, dataset, known

USED = cost("0.04", "0")
WORST = zcdp.spent(cost())


def crashing(store, clock, *, at: int):
    """A ledger on a database that crashes at this step, and the database."""
    faulty = Faulty(store.database(clock))
    ledger = store.over(faulty)
    faulty.crash_at = at
    return ledger, faulty


def test_a_crash_anywhere_in_the_spine_loses_nothing(ledger, store, clock):
    """Wherever it dies, what left is charged; the retry releases the stored bytes, once charged, and all adds up."""
    crashes = 0
    for at in range(1, 200):
        name = known(ledger, f"data {at}").id
        question = ask(f"q{at}", dataset=name, version=name)
        doomed, _ = crashing(store, clock, at=at)
        left = b""
        try:
            left = answered(doomed, question, b"answer", USED).payload
        except Crash:
            crashes += 1
        doomed.close()
        between = ledger.balance(dataset(name))
        release = answered(ledger, question, b"answer", USED)
        after = ledger.balance(dataset(name))

        assert between.spent + between.reserved in (Spent(), WORST, zcdp.spent(USED))
        assert not left or between.spent == zcdp.spent(USED)
        assert release.payload == b"answer"
        assert (after.spent, after.reserved) == (zcdp.spent(USED), Spent())
        if left:
            break

    assert crashes > 30
    assert ledger.verify().problems == ()


def test_a_crash_anywhere_in_a_repeat_charges_once(ledger, store, clock):
    """Handing over stored bytes is charged and recorded in one step, wherever it dies."""
    answered(ledger, ask("made"), b"answer", USED)
    for at in range(1, 100):
        name = f"bob {at}"
        question = ask("again", query="made", analyst=name)
        doomed, _ = crashing(store, clock, at=at)
        left = None
        with suppress(Crash):
            left = doomed.reserve(question)
        doomed.close()
        between = ledger.balance(analyst(name)).spent
        release = ledger.reserve(question)

        assert between in (Spent(), zcdp.spent(USED))
        assert release.payload == b"answer"
        assert ledger.balance(analyst(name)).spent == zcdp.spent(USED)
        if left is not None:
            break

    assert at > 10
    assert ledger.balance(dataset()).spent == zcdp.spent(USED)
    assert ledger.verify().problems == ()


def test_a_crash_anywhere_in_a_refund_is_a_refund_or_none(ledger, store, clock):
    """A refund that died is done or not done; repeating it finishes it."""
    for at in range(1, 100):
        held = ledger.reserve(ask(f"q{at}"))
        doomed, _ = crashing(store, clock, at=at)
        crashed = False
        try:
            doomed.refund(held)
        except Crash:
            crashed = True
        doomed.close()

        assert ledger.balance(dataset()).reserved in (Spent(), WORST)

        ledger.refund(held)

        assert ledger.balance(dataset()).reserved == Spent()
        if not crashed:
            break

    assert at > 5
    assert ledger.verify().problems == ()


def test_a_crash_anywhere_while_expired_ones_are_charged(ledger, store, clock):
    """Expiry that died half-way is charged by whoever comes next, once."""
    lived = 0
    for at in range(1, 100):
        before = ledger.balance(dataset()).lifetime
        held = ledger.reserve(ask(f"q{at}", lifetime=timedelta(seconds=1)))
        clock.forward(seconds=2)
        doomed, _ = crashing(store, clock, at=at)
        crashed = False
        try:
            with pytest.raises(ReservationClosed):
                doomed.refund(held)
        except Crash:
            crashed = True
        doomed.close()

        assert ledger.balance(dataset()).lifetime - before == WORST
        lived += not crashed
        if lived:
            break

    assert at > 5
    assert ledger.verify().problems == ()


def test_a_crash_anywhere_in_a_change_of_rules_is_all_or_nothing(store, clock):
    """A rule that died half-way is as before or as wanted, and the chain holds."""
    ledger = store.found(clock)
    known(ledger, "visits")
    for at in range(1, 60):
        doomed, _ = crashing(store, clock, at=at)
        crashed = False
        try:
            doomed.grant("otto", "owner", by=OWNER)
            doomed.set_limit(dataset(), rho_limit(at, "0.1"), by=OWNER)
            doomed.enroll("ann", f"team {at}", by=OWNER)
        except Crash:
            crashed = True
        doomed.close()

        assert ledger.verify().problems == ()
        if not crashed:
            break

    assert at > 15
    assert ledger.balance(dataset()).limit.ceiling.rho == at
