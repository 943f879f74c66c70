"""The verbs of a ledger: reserve, touch, settle, refund, expiry, keys and stored answers, on every store."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hushcount.accounting.spent import Spent
from hushcount.errors import (
    BudgetExhausted,
    CostOverrun,
    InvalidParameter,
    KeyReused,
    ReservationClosed,
    UnsupportedCost,
)
from hushcount.ledger.ledger import Reservation, StoredRelease
from hushcount.ledger.limits import rho_limit
from hushcount.model.costs import Cost
from tests.conformance.ledgers.stores import OWNER, analyst, answered, ask, cost, dataset, group

TENTH = Spent(rho=cost().events[1][0].rho, delta=cost().events[0][0].delta)
ACCOUNTS = (analyst(), dataset())


def whole(ledger, account) -> Spent:
    """What an account spent and holds."""
    balance = ledger.balance(account)
    return balance.spent + balance.reserved


def test_a_query_is_held_then_charged(ledger):
    """The worst case is held on every account; settling charges what was used and gives back the rest."""
    held = ledger.reserve(ask("q"))
    during = [ledger.balance(account) for account in ACCOUNTS]
    ledger.touch(held)
    release = ledger.settle(held, cost("0.04", "0"), payload=b"table")
    after = [ledger.balance(account) for account in ACCOUNTS]

    assert isinstance(held, Reservation)
    assert [(b.reserved, b.spent) for b in during] == [(TENTH, Spent())] * 2
    assert (release.payload, release.repeated, release.charged) == (
        b"table",
        False,
        Spent(rho=cost("0.04", "0").events[0][0].rho),
    )
    assert [(b.reserved, b.spent, b.lifetime) for b in after] == [(Spent(), release.charged, release.charged)] * 2
    assert not ledger.verify().problems


def test_a_limit_is_filled_exactly_and_never_passed(ledger):
    """Ten tenths fit into one, the eleventh is refused and charges nothing."""
    ledger.set_limit(dataset(), rho_limit(1, "0.00001"), by=OWNER)
    for number in range(10):
        answered(ledger, ask(f"q{number}"))
    with pytest.raises(BudgetExhausted) as refused:
        ledger.reserve(ask("q10"))

    assert ledger.balance(dataset()).left == Spent()
    assert refused.value.refusal.room == Spent()
    assert ledger.balance(dataset()).queries == 10


def test_accounts_are_charged_together_or_not_at_all(ledger):
    """A group that has no room refuses for all: neither the analyst nor the data set is charged."""
    ledger.enroll("ann", "team", by=OWNER)
    ledger.set_limit(group("team"), rho_limit("0.15", "0.1"), by=OWNER)
    answered(ledger, ask("first"))
    with pytest.raises(BudgetExhausted, match="group 'team'"):
        ledger.reserve(ask("second"))

    assert [whole(ledger, account) for account in (analyst(), group("team"), dataset())] == [TENTH] * 3


def test_a_group_is_shared(ledger):
    """Two analysts of one group spend from one account; one who left is no longer stopped by it."""
    for name in ("ann", "bob"):
        ledger.enroll(name, "team", by=OWNER)
    ledger.set_limit(group("team"), rho_limit("0.2", "0.1"), by=OWNER)
    answered(ledger, ask("a", analyst="ann"))
    answered(ledger, ask("b", analyst="bob"))
    with pytest.raises(BudgetExhausted):
        ledger.reserve(ask("c", analyst="ann"))
    ledger.enroll("ann", "team", by=OWNER, member=False)

    assert isinstance(ledger.reserve(ask("c", analyst="ann")), Reservation)
    assert ledger.balance(group("team")).spent == TENTH + TENTH


def test_refund_gives_everything_back(ledger):
    """A reservation for which no data was read is freed, once; its key may be used again."""
    held = ledger.reserve(ask("q"))
    ledger.refund(held)
    ledger.refund(held)
    again = ledger.reserve(ask("q"))

    assert again.number != held.number
    assert whole(ledger, analyst()) == TENTH
    assert not ledger.verify().problems


def test_no_refund_once_data_was_touched(ledger):
    """After `touch` the charge stays, whatever happened then."""
    held = ledger.reserve(ask("q"))
    ledger.touch(held)
    ledger.touch(held)
    with pytest.raises(ReservationClosed, match="data was read"):
        ledger.refund(held)

    assert whole(ledger, analyst()) == TENTH


def test_no_data_may_be_read_for_a_closed_reservation(ledger):
    """A refunded or settled reservation cannot be touched, a refunded one cannot be settled."""
    refunded, settled = ledger.reserve(ask("a")), ledger.reserve(ask("b"))
    ledger.refund(refunded)
    ledger.settle(settled, cost(), payload=b"b")

    for held in (refunded, settled):
        with pytest.raises(ReservationClosed):
            ledger.touch(held)
    with pytest.raises(ReservationClosed):
        ledger.settle(refunded, cost(), payload=b"a")
    with pytest.raises(ReservationClosed):
        ledger.refund(settled)


def test_expiry_charges_in_full(ledger, clock):
    """What nobody settles is charged in full when its time is over, touched or not, and cannot be refunded then."""
    held = ledger.reserve(ask("q", lifetime=timedelta(minutes=5)))
    clock.forward(minutes=5)
    balance = ledger.balance(analyst())
    with pytest.raises(ReservationClosed, match="expired"):
        ledger.refund(held)

    assert (balance.spent, balance.reserved) == (TENTH, Spent())
    assert not ledger.verify().problems


def test_a_late_answer_is_accepted_in_the_same_window_at_full_price(ledger, clock):
    """Who paid in full gets their answer: settled late, nothing is given back and nothing more is charged."""
    held = ledger.reserve(ask("q"))
    ledger.touch(held)
    clock.forward(hours=2)
    release = ledger.settle(held, cost("0.01", "0"), payload=b"late")

    assert release.charged == TENTH
    assert ledger.balance(analyst()).spent == TENTH
    assert ledger.reserve(ask("q")).payload == b"late"
    assert not ledger.verify().problems


def test_an_answer_of_an_earlier_window_is_refused(ledger, clock):
    """Once the window that paid is over, an expired reservation's answer may not leave, and its key is used up."""
    held = ledger.reserve(ask("q"))
    clock.forward(days=40)
    with pytest.raises(ReservationClosed):
        ledger.settle(held, cost(), payload=b"too late")
    with pytest.raises(ReservationClosed, match="new key"):
        ledger.reserve(ask("q"))
    with pytest.raises(ReservationClosed):
        ledger.touch(held)

    assert ledger.balance(analyst()).lifetime == TENTH


def test_the_same_key_is_one_reservation(ledger):
    """A retry before the answer returns the same reservation and holds nothing more."""
    first, second = ledger.reserve(ask("q")), ledger.reserve(ask("q"))

    assert first == second
    assert whole(ledger, dataset()) == TENTH


def test_the_same_key_is_one_answer(ledger):
    """A retry after the answer returns the stored bytes, also with fresh, also after the data changed."""
    answered(ledger, ask("q", fresh=True), b"first")
    again = ledger.reserve(ask("q", fresh=True, version="v2"))

    assert isinstance(again, StoredRelease)
    assert (again.payload, again.charged, again.version) == (b"first", Spent(), "v1")
    assert whole(ledger, dataset()) == TENTH


def test_settling_twice_returns_the_first_answer(ledger):
    """Two runs under one reservation give one release: the bytes of whoever settled first."""
    held = ledger.reserve(ask("q"))
    first = ledger.settle(held, cost("0.05"), payload=b"first")
    second = ledger.settle(held, cost("0.09"), payload=b"second")

    assert (first.payload, second.payload) == (b"first", b"first")
    assert ledger.balance(analyst()).spent == first.charged


@pytest.mark.parametrize(
    "change",
    [
        {"query": "other"},
        {"cost": cost("0.2")},
        {"fresh": True},
        {"dataset": "clicks"},
        {"dataset": "clicks", "version": "w1"},
    ],
)
def test_a_key_belongs_to_one_request(ledger, change):
    """A key that comes back with another request is refused and charges nothing."""
    ledger.reserve(ask("k", query="q"))
    with pytest.raises(KeyReused, match="question k"):
        ledger.reserve(ask("k", **{"query": "q", **change}))

    assert whole(ledger, analyst()) == TENTH


def test_keys_of_two_analysts_do_not_meet(ledger):
    """The same key from another analyst is another key."""
    ledger.reserve(ask("k", query="q1", analyst="ann"))

    assert isinstance(ledger.reserve(ask("k", query="q2", analyst="bob")), Reservation)


def test_data_that_changes_under_a_running_query_is_told(ledger):
    """A retry that finds other data than it reserved for is refused: its answer would be filed under the old data."""
    ledger.reserve(ask("q"))
    with pytest.raises(KeyReused, match="data changed"):
        ledger.reserve(ask("q", version="v2"))


def test_an_overrun_is_charged_and_never_released(ledger):
    """A mechanism used more than it reserved: all of it is charged, beyond the limit if need be, nothing leaves."""
    ledger.set_limit(dataset(), rho_limit("0.1", "0.1"), by=OWNER)
    held = ledger.reserve(ask("q"))
    for _ in range(2):
        with pytest.raises(CostOverrun):
            ledger.settle(held, cost("0.3", "0"), payload=b"secret")
    with pytest.raises(CostOverrun):
        ledger.reserve(ask("q"))
    balance = ledger.balance(dataset())

    assert (str(balance.spent.rho), balance.spent.delta) == ("0.3", TENTH.delta)
    assert balance.reserved == Spent()
    assert not ledger.verify().problems


def test_the_same_question_is_free(ledger):
    """The same question on the same data, under another key, gives the same bytes and costs the asker nothing more."""
    answered(ledger, ask("k1", query="q"), b"bytes \x00\xff")
    again = ledger.reserve(ask("k2", query="q"))

    assert (again.payload, again.repeated, again.charged) == (b"bytes \x00\xff", True, Spent())
    assert [whole(ledger, account) for account in ACCOUNTS] == [TENTH] * 2


def test_another_analyst_pays_for_the_same_bytes_once_and_the_data_set_does_not(ledger):
    """Stored bytes go to another analyst only with a record of whose loss it is (erratum 41): charged to them, once."""
    answered(ledger, ask("k1", query="q", analyst="ann"), actual=cost("0.04", "0"))
    used = ledger.balance(dataset()).spent
    first = ledger.reserve(ask("k2", query="q", analyst="bob"))
    second = ledger.reserve(ask("k3", query="q", analyst="bob"))

    assert (first.charged, second.charged) == (used, Spent())
    assert whole(ledger, analyst("bob")) == whole(ledger, dataset()) == used
    assert not ledger.verify().problems


def test_a_group_pays_once_for_the_same_bytes(ledger):
    """The second member of a group who asks pays for themselves, the group does not pay again."""
    for name in ("ann", "bob"):
        ledger.enroll(name, "team", by=OWNER)
    answered(ledger, ask("k1", query="q", analyst="ann"))
    ledger.reserve(ask("k2", query="q", analyst="bob"))

    assert whole(ledger, group("team")) == whole(ledger, analyst("bob")) == TENTH


def test_stored_bytes_are_refused_to_who_cannot_pay(ledger):
    """An analyst without room does not get bytes that they have not paid for."""
    answered(ledger, ask("k1", query="q", analyst="ann"))
    ledger.set_limit(analyst("bob"), rho_limit("0.05", "0.1"), by=OWNER)
    with pytest.raises(BudgetExhausted, match="analyst 'bob'"):
        ledger.reserve(ask("k2", query="q", analyst="bob"))

    assert whole(ledger, analyst("bob")) == Spent()


def test_fresh_draws_anew_and_pays(ledger):
    """`fresh` reserves although an answer is stored; both are charged; the first stays the one that is repeated."""
    answered(ledger, ask("k1", query="q"), b"first")
    second = answered(ledger, ask("k2", query="q", fresh=True), b"second")
    third = ledger.reserve(ask("k3", query="q"))

    assert (second.payload, second.charged, third.payload) == (b"second", TENTH, b"first")
    assert whole(ledger, dataset()) == TENTH + TENTH


def test_changed_data_is_a_new_question(ledger):
    """A new version has no stored answer (erratum 9); it is charged to the same accounts as the old one."""
    answered(ledger, ask("k1", query="q"))
    held = ledger.reserve(ask("k2", query="q", version="v2"))

    assert isinstance(held, Reservation)
    assert whole(ledger, dataset()) == TENTH + TENTH


def test_two_at_once_share_one_answer(ledger):
    """Two analysts run the same question at once: the second gets the first one's bytes, the data set pays once."""
    first = ledger.reserve(ask("k1", query="q", analyst="ann"))
    second = ledger.reserve(ask("k2", query="q", analyst="bob"))
    ledger.settle(first, cost(), payload=b"first")
    shared = ledger.settle(second, cost(), payload=b"second")

    assert (shared.payload, shared.repeated, shared.charged) == (b"first", True, TENTH)
    assert [whole(ledger, account) for account in (analyst("ann"), analyst("bob"), dataset())] == [TENTH] * 3
    assert not ledger.verify().problems


def test_free_of_cost_is_free_of_limits(ledger):
    """A query that costs nothing runs in a book that is full; a reserved part of zero always fits."""
    ledger.set_limit(dataset(), rho_limit("0.1", "0"), by=OWNER)
    answered(ledger, ask("a", cost=cost("0.1", "0")))

    assert isinstance(ledger.reserve(ask("b", cost=Cost())), Reservation)


def test_check_says_what_reserve_would_do_and_does_nothing(ledger):
    """A quote has the charge, whether an answer is stored, how many more fit, the refusal; the ledger stays as is."""
    ledger.set_limit(dataset(), rho_limit("0.35", "0.1"), by=OWNER)
    new = ledger.check(ask("q1"))
    answered(ledger, ask("q1"))
    mine, theirs = ledger.check(ask("k2", query="q1")), ledger.check(ask("k2", query="q1", analyst="bob"))
    dear = ledger.check(ask("q2", cost=cost("0.3")))

    assert (new.charge, new.stored, new.more, new.refusal) == (TENTH, False, 3, None)
    assert (mine.charge, mine.stored) == (Spent(), True)
    assert (theirs.charge, theirs.stored) == (TENTH, True)
    assert dear.refusal.room.rho == dear.balances[-1].left.rho
    assert dear.more == 0
    assert ledger.balance(dataset()).queries == 1


@pytest.mark.parametrize(
    "bad",
    [
        {"analyst": ""},
        {"analyst": "*"},
        {"dataset": "a\x00b"},
        {"key": ""},
        {"version": ""},
        {"lifetime": timedelta(0)},
    ],
)
def test_what_cannot_be_kept_is_refused_beforehand(ledger, bad):
    """Empty, wild and unprintable names are refused before the ledger is touched."""
    with pytest.raises(InvalidParameter):
        ledger.reserve(ask("q", **bad))


def test_unknown_costs_are_refused(ledger):
    """A cost without a zCDP theorem cannot be reserved."""

    class Unknown:
        pass

    with pytest.raises(UnsupportedCost):
        ledger.reserve(ask("q", cost=Cost(((Unknown(), 1),))))


def test_texts_are_kept_whatever_they_hold(ledger):
    """Questions may hold any text: NUL, lone surrogates, quotes, per cent signs and question marks."""
    odd = "50% of '?' \" \\ \x00 \ud800 \U0001f600"
    answered(ledger, ask("q", query=odd, what=odd, family=odd, analyst="Ä ? % '\""))

    assert ledger.reserve(ask("k", query=odd, analyst="Ä ? % '\"")).repeated
    assert not ledger.verify().problems
