"""The Renyi orders of a ledger: fixed when it is founded, heeded by costs and limits, only ever lowered, in the log."""

from __future__ import annotations

from decimal import Decimal

import pytest

from hushcount.accounting import convert
from hushcount.errors import InvalidParameter, NotPermitted, UnsupportedCost
from hushcount.ledger.ledger import EVERY, Account, Page
from hushcount.ledger.limits import epsilon_limit, for_order, rho_limit, show
from hushcount.model.costs import EVERY_ORDER, Cost, Failure, Truncated
from tests.conformance.ledgers.stores import OWNER, analyst, answered, ask, cost, dataset, known


def capped(order: str, rho: str = "0.1") -> Cost:
    """A cost that is known for orders up to this."""
    return Cost.of(Truncated(rho=Decimal(rho), order=Decimal(order)), Failure(delta=Decimal("1e-6")))


def of_all_orders(store, clock):
    """A ledger as an older version founded it: without a word about orders."""
    for name in ("visits", "clicks"):
        known(store.found(clock), name)
    database = store.database(clock)
    with database.upgrading() as transaction:
        transaction.write([("DELETE FROM settings WHERE name = 'order'", ())])
    database.close()
    return store.open(clock)


def test_a_new_ledger_knows_orders_up_to_sixteen(ledger):
    """Costs known for these and for more are taken, for fewer refused, and nothing is charged for a refusal."""
    assert ledger.order == 16
    answered(ledger, ask("plain"))
    answered(ledger, ask("capped", query="q2", cost=capped("16")))
    answered(ledger, ask("more", query="q3", cost=capped("33")))
    before = ledger.balance(dataset()).spent
    for verb in (ledger.reserve, ledger.check):
        with pytest.raises(UnsupportedCost, match="orders up to 16"):
            verb(ask("fewer", query="q4", cost=capped("15.9")))

    assert ledger.balance(dataset()).spent == before
    assert before.rho == Decimal("0.3")
    assert not ledger.verify().problems


def test_what_settles_must_be_known_for_them_too(ledger):
    """A run that comes back with fewer orders than it was reserved for is not released."""
    held = ledger.reserve(ask("one", cost=capped("16")))
    ledger.touch(held)
    with pytest.raises(UnsupportedCost):
        ledger.settle(held, capped("8"), payload=b"never")


def test_limits_are_written_for_the_orders_of_the_ledger(ledger):
    """An epsilon is worth the rho that these orders allow; rho stays as it is, and is shown by them."""
    small, delta = Decimal("0.8"), Decimal("1e-6")
    ledger.set_limit(dataset(), epsilon_limit(small, delta), by=OWNER)
    ceiling = ledger.balance(dataset()).limit.ceiling
    expected = convert.rho_for(small, total_delta=delta, delta0="5e-7", order=Decimal(16))

    assert float(ceiling.rho) == pytest.approx(expected, rel=1e-12)
    assert ceiling.rho < epsilon_limit(small, delta).ceiling.rho
    shown = show(ceiling, ledger.balance(dataset()).limit, rounding="down")
    assert 0.7999 < shown.epsilon <= 0.8
    ledger.set_limit(dataset(), rho_limit("0.01", "1e-6"), by=OWNER)
    told = show(ledger.balance(dataset()).limit.ceiling, ledger.balance(dataset()).limit, rounding="down")
    assert told.epsilon == convert.epsilon_for("0.01", delta0="1e-6", total_delta="2e-6", order=Decimal(16))


def test_an_older_ledger_knows_all_orders_until_an_owner_says_otherwise(store, clock):
    """Then in the log, once and for all, with every limit written anew; what was spent stays."""
    ledger = of_all_orders(store, clock)
    assert ledger.order == EVERY_ORDER
    answered(ledger, ask("plain"))
    ledger.set_limit(dataset(), epsilon_limit("0.8", "1e-6"), by=OWNER)
    free = ledger.balance(dataset()).limit
    with pytest.raises(UnsupportedCost, match="orders up to Infinity"):
        ledger.reserve(ask("capped", query="q2", cost=capped("16")))

    ledger.lower_order(Decimal(16), by=OWNER)

    assert ledger.order == store.open(clock).order == 16
    assert ledger.balance(dataset()).limit == for_order(free, Decimal(16))
    assert ledger.balance(dataset()).limit.ceiling.rho < free.ceiling.rho
    kinds = [entry.kind for entry in ledger.history(Page(entity=EVERY), by=OWNER)]
    assert "order" in kinds
    ledger.set_limit(dataset(), None, by=OWNER)
    answered(ledger, ask("capped", query="q2", cost=capped("16")))


def test_an_epsilon_that_these_orders_cannot_promise_is_refused(ledger):
    """Below 0.72 at delta 1e-6, however little is spent; rho can be said, and a ledger of all orders founded."""
    with pytest.raises(InvalidParameter, match=r"above 0\.7.*Renyi orders up to 16.*Say rho"):
        ledger.set_limit(dataset(), epsilon_limit("0.5", "1e-6"), by=OWNER)
    assert ledger.balance(dataset()).limit is None


@pytest.mark.parametrize("order", ["16", "17", "Infinity", "12"])
def test_orders_are_never_had_back(ledger, order):
    """Neither the same nor more, nor fewer than those by which amounts without a limit are told."""
    with pytest.raises(InvalidParameter, match="order"):
        ledger.lower_order(Decimal(order), by=OWNER)

    assert ledger.order == 16
    assert not ledger.verify().problems


def test_only_owners_lower_them(ledger):
    """An analyst may not."""
    with pytest.raises(NotPermitted):
        ledger.lower_order(Decimal(12), by="ann")
    assert ledger.order == 16


def test_an_account_of_an_analyst_is_told_by_the_same_orders(ledger):
    """Limits of analysts are stamped like those of data sets."""
    ledger.set_limit(analyst(), rho_limit("0.2", "1e-5"), by=OWNER)
    every = Account(kind="analyst", name="*", entity=EVERY)
    ledger.set_limit(every, rho_limit("0.3", "1e-5"), by=OWNER)

    assert ledger.balance(analyst()).limit.order == 16
    assert cost().order == EVERY_ORDER
