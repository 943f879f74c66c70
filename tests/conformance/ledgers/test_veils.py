"""Veiled answers: stored and paid for, and nothing that the ledger tells is different before they show."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hushcount.accounting.spent import Spent
from hushcount.errors import BudgetExhausted, ReservationClosed
from hushcount.ledger.ledger import Page, Reservation, StoredRelease
from hushcount.ledger.limits import rho_limit
from tests.conformance.ledgers.stores import OWNER, Crash, Faulty, analyst, answered, ask, cost, dataset, known

WORST, ACTUAL = cost("0.1"), cost("0.04")
SECOND = timedelta(seconds=1)


def amounts(of) -> Spent:
    """What a cost comes to."""
    return Spent(rho=of.events[1][0].rho, delta=of.events[0][0].delta)


def veiled(ledger, question, clock, *, took=2 * SECOND):
    """A question that was answered under a veil."""
    held = ledger.reserve(question)
    assert isinstance(held, Reservation)
    ledger.touch(held)
    clock.now += took
    return ledger.settle(held, ACTUAL, payload=b"table", veiled=True)


def told(ledger):
    """All that the ledger tells an analyst, or decides: balances, prices of this and other questions, a refusal."""
    found = [ledger.balance(account) for account in (analyst(), dataset())]
    found += [ledger.check(ask(key, query=key)) for key in ("q", "other")]
    found.append(ledger.check(ask("dear", cost=cost("0.13"))))
    with pytest.raises(BudgetExhausted) as refused:
        ledger.reserve(ask("dear", cost=cost("0.13")))
    return [*found, refused.value.refusal, ledger.usage("visits", by=OWNER)]


def after(seconds):
    """It shows so long after now."""
    return lambda now, firsts: now + timedelta(seconds=seconds)


def test_nothing_tells_of_a_veiled_answer_before_it_shows(ledger, clock):
    """Neither balances nor prices nor what fits, nor what is refused; at its moment all of it does."""
    ledger.set_limit(dataset(), rho_limit("0.2", "0.1"), by=OWNER)
    held = ledger.reserve(ask("q"))
    ledger.touch(held)
    before = told(ledger)
    release = ledger.settle(held, ACTUAL, payload=b"table", veiled=True)
    assert told(ledger) == before
    shows = ledger.unveil("ann", ["q"], after(5))
    assert told(ledger) == before
    clock.now += 4 * SECOND
    assert told(ledger) == before
    clock.now += SECOND

    assert (release.payload, shows) == (b"table", clock.now)
    assert isinstance(ledger.reserve(ask("dear", cost=cost("0.13"))), Reservation)
    assert ledger.balance(analyst()).spent == amounts(ACTUAL)
    assert ledger.check(ask("again", query="q")).charge == Spent()
    assert not ledger.verify().problems


@pytest.mark.parametrize("look", ["price", "balance", "ask"])
def test_whoever_comes_first_finds_it_given_back(ledger, clock, look):
    """At its moment no worker is needed: a price, a balance and a question see it alike."""
    ledger.set_limit(dataset(), rho_limit("0.2", "0.1"), by=OWNER)
    veiled(ledger, ask("q"), clock)
    ledger.unveil("ann", ["q"], after(5))
    clock.now += 5 * SECOND
    if look == "price":
        assert ledger.check(ask("dear", cost=cost("0.13"))).refusal is None
    elif look == "balance":
        assert ledger.balance(dataset()).reserved == Spent()
    else:
        assert isinstance(ledger.reserve(ask("dear", cost=cost("0.13"))), Reservation)


def test_an_answer_that_nobody_unveils_is_charged_at_its_cost_when_its_time_is_over(ledger, clock, store):
    """A worker that dies while it waits loses nothing of what was paid for."""
    veiled(ledger, ask("q"), clock)
    other = store.open(clock)
    clock.now += timedelta(hours=1)

    assert other.balance(analyst()).spent == amounts(ACTUAL)
    assert other.balance(dataset()).reserved == Spent()
    assert other.recall("ann", "q").payload == b"table"
    assert other.recall("ann", "q").charged == amounts(ACTUAL)
    assert [entry.kind for entry in other.history(Page(entity="visits"), by=OWNER)][-1] == "settle"
    assert not other.verify().problems


def test_under_its_key_it_is_there_at_once(ledger, clock):
    """Whoever takes the question up after a crash is given the answer, and reads nothing again."""
    veiled(ledger, ask("q"), clock)
    again = ledger.reserve(ask("q"))

    assert isinstance(again, StoredRelease)
    assert again.payload == b"table"
    assert ledger.recall("ann", "q").charged == amounts(ACTUAL)


def test_what_is_veiled_cannot_be_given_back(ledger, clock):
    """It was answered."""
    held = ledger.reserve(ask("q"))
    ledger.touch(held)
    ledger.settle(held, ACTUAL, payload=b"table", veiled=True)
    with pytest.raises(ReservationClosed):
        ledger.refund(held)
    answered(ledger, ask("other", analyst="bob"), actual=ACTUAL)
    ledger.reserve(ask("mine", query="other", apart=True))
    again = ledger.recall("ann", "mine")
    with pytest.raises(ReservationClosed):
        ledger.refund(replace(held, number=again.proof.seq))


@pytest.mark.parametrize("first", ["ann", "bob"])
def test_two_who_ask_the_same_under_a_veil_pay_once_for_the_data(ledger, clock, first):
    """Whoever shows first: each analyst pays the price, the data set once."""
    for name in ("ann", "bob"):
        assert isinstance(ledger.reserve(ask(name, analyst=name, query="q")), Reservation)
    for name in ("ann", "bob"):
        ledger.settle(ledger.recall(name, name), ACTUAL, payload=name.encode(), veiled=True)
    for name in ("ann", "bob"):
        ledger.unveil(name, [name], after(5 if name == first else 9))
    clock.now += 7 * SECOND
    early = {name: ledger.balance(analyst(name)).spent for name in ("ann", "bob")}
    clock.now += 7 * SECOND

    assert early == {name: amounts(ACTUAL) if name == first else Spent() for name in ("ann", "bob")}
    assert [ledger.balance(analyst(name)).spent for name in ("ann", "bob")] == [amounts(ACTUAL)] * 2
    assert ledger.balance(dataset()).spent == amounts(ACTUAL)
    assert {ledger.recall(name, name).payload for name in ("ann", "bob")} == {b"ann"}
    assert not ledger.verify().problems


def test_a_stored_answer_of_somebody_else_is_held_like_a_new_one(ledger, clock):
    """Between analysts who are apart: the room that it needs, what is held, and how long its first run took."""
    ledger.set_limit(dataset(), rho_limit("0.2", "0.1"), by=OWNER)
    held = ledger.reserve(ask("one", analyst="bob", query="q"))
    clock.now += 9 * SECOND
    ledger.touch(held)
    clock.now += 3 * SECOND
    ledger.settle(held, ACTUAL, payload=b"table")
    new, there = (ledger.check(ask("two", query=query, apart=True)) for query in ("new", "q"))
    given = ledger.reserve(ask("two", query="q", apart=True))
    own = ledger.balance(analyst())
    seen = []

    def shows(now, firsts):
        seen.extend(firsts)
        return now + SECOND

    ledger.unveil("ann", ["two"], shows)
    clock.now += SECOND

    assert replace(there, stored=False) == new
    assert (given.payload, own.reserved, own.spent) == (b"table", amounts(WORST), Spent())
    assert seen == [3 * SECOND]
    assert [ledger.balance(account).spent for account in (analyst(), dataset())] == [amounts(ACTUAL)] * 2
    assert ledger.balance(dataset()).reserved == Spent()
    assert ledger.recall("ann", "two").charged == amounts(ACTUAL)
    assert not ledger.verify().problems
    # What they paid for is theirs, as their own is.
    again = ledger.reserve(ask("three", query="q", apart=True))
    assert (again.charged, ledger.balance(analyst()).reserved) == (Spent(), Spent())


def test_without_room_in_the_data_a_stored_answer_is_refused_like_a_new_one(ledger):
    """Or a full data set would tell which questions others asked; colleagues are given it."""
    ledger.set_limit(dataset(), rho_limit("0.1", "0.1"), by=OWNER)
    answered(ledger, ask("one", analyst="bob", query="q"))
    with pytest.raises(BudgetExhausted):
        ledger.reserve(ask("two", query="q", apart=True))

    assert isinstance(ledger.reserve(ask("two", query="q")), StoredRelease)


def test_a_crash_anywhere_under_a_veil_loses_nothing(store, clock):
    """Whatever step it dies at, asking again under the same key ends with one charge and one answer."""
    ledger = store.found(clock)
    known(ledger, "visits")

    def spine(over, key):
        held = over.reserve(ask(key))
        if isinstance(held, Reservation):
            over.touch(held)
            over.settle(held, ACTUAL, payload=b"table", veiled=True)
        over.unveil("ann", [key], after(5))

    steps = Faulty(store.database(clock))
    spine(store.over(steps), "count")
    for step in range(1, steps.steps + 1):
        key = f"crash {step}"
        with pytest.raises(Crash):
            spine(store.over(Faulty(store.database(clock), step)), key)
        spine(ledger, key)
        clock.now += 10 * SECOND
        assert ledger.recall("ann", key).payload == b"table"
    balance = ledger.balance(dataset())

    assert balance.reserved == Spent()
    assert balance.spent.rho == (steps.steps + 1) * amounts(ACTUAL).rho
    assert not ledger.verify().problems


def test_somebody_who_changes_when_it_shows_is_found_out(ledger, clock, store):
    """The moment is in the chain."""
    veiled(ledger, ask("q"), clock)
    ledger.unveil("ann", ["q"], after(5))
    database = store.database(clock)
    with database.writing() as rows:
        rows.write([("UPDATE asks SET expires = expires - 1000000", ())])
    database.close()

    assert any("asks" in problem for problem in ledger.verify().problems)
