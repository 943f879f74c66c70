"""The clock: implausible jumps are refused until an owner says what is right, and a repair frees nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from hushcount.accounting.spent import Spent
from hushcount.errors import BudgetExhausted, ClockImplausible, InvalidParameter, NotPermitted
from hushcount.ledger import postgres
from hushcount.ledger.ledger import EVERY, Page
from hushcount.ledger.limits import rho_limit
from tests.conformance.ledgers.stores import OWNER, START, analyst, answered, ask, cost, dataset, known

WRITING = (
    lambda ledger: ledger.reserve(ask("new")),
    lambda ledger: ledger.check(ask("new")),
    lambda ledger: known(ledger, "new data"),
    lambda ledger: ledger.set_limit(dataset(), rho_limit(9, "0.1"), by=OWNER),
    lambda ledger: ledger.catalog.repin("visits", "uid", by=OWNER),
)


@pytest.mark.parametrize("deed", WRITING)
def test_a_jump_of_more_than_a_year_is_refused(ledger, clock, deed):
    """Nothing is charged, registered or changed more than 366 days after the newest entry; one can still look."""
    answered(ledger, ask("q"))
    before = ledger.verify().heads
    clock.forward(days=367)
    with pytest.raises(ClockImplausible, match=r"an owner says so\. Nothing was charged"):
        deed(ledger)

    assert ledger.verify().heads == before
    assert str(ledger.balance(dataset()).spent.rho) == "0.1"


def test_the_newest_entry_of_the_whole_ledger_counts(ledger, clock):
    """A data set that rested for years is asked again without ado if the ledger was used meanwhile."""
    answered(ledger, ask("q"))
    for _ in range(3):
        clock.forward(days=300)
        answered(ledger, ask(f"clicks {clock.now}", dataset="clicks"))
    answered(ledger, ask("r"))

    assert str(ledger.balance(dataset()).spent.rho) == "0.1"


def test_an_owner_accepts_the_clock(ledger, clock):
    """After a long pause an owner says that the clock is right, on record; then windows are renewed as always."""
    ledger.set_limit(dataset(), rho_limit("0.1", "0.1"), by=OWNER)
    answered(ledger, ask("q"))
    clock.forward(days=1000)
    with pytest.raises(NotPermitted):
        ledger.set_clock("accept", by="ann")
    said = ledger.set_clock("accept", by=OWNER)
    answered(ledger, ask("r"))
    last = ledger.history(Page(entity=EVERY), by=OWNER)[-1]

    assert "2028-12-04" in said
    assert (last.kind, last.body["deed"], last.by, last.at) == ("clock", "accept", OWNER, clock.now)
    assert str(ledger.balance(dataset()).lifetime.rho) == "0.2"
    assert ledger.verify().problems == ()
    with pytest.raises(InvalidParameter):
        ledger.set_clock("stop", by=OWNER)


def test_a_step_back_of_more_than_a_day_is_refused(ledger, clock):
    """Up to a day a clock that goes back is not believed and goes on; more is refused with the owner's command."""
    answered(ledger, ask("q"))
    clock.forward(days=-1)
    answered(ledger, ask("r"))
    clock.forward(minutes=-1)
    with pytest.raises(ClockImplausible, match=r"takes that back\. Nothing was charged"):
        ledger.reserve(ask("s"))
    with pytest.raises(ClockImplausible, match="take back"):
        ledger.set_clock("accept", by=OWNER)

    assert str(ledger.balance(dataset()).spent.rho) == "0.2"


@pytest.fixture
def astray(ledger, clock):
    """A ledger under a clock that stood eleven months ahead for a while: windows were renewed before their time."""
    ledger.set_limit(dataset(), rho_limit(1, "0.1"), by=OWNER)
    answered(ledger, ask("march", cost=cost("0.7")))
    clock.forward(days=330)
    answered(ledger, ask("future", cost=cost("0.2")))
    ledger.reserve(ask("running", cost=cost("0.05"), lifetime=timedelta(minutes=10)))
    clock.now = START + timedelta(hours=1)
    return ledger


def test_a_repair_takes_back_a_renewal(astray, clock):
    """What was spent in the true window and in those of the future counts together from now on: nothing is freed."""
    with pytest.raises(ClockImplausible):
        astray.reserve(ask("frozen"))
    said = astray.set_clock("repair", by=OWNER)
    balance = astray.balance(dataset())
    with pytest.raises(BudgetExhausted):
        astray.reserve(ask("too much"))
    answered(astray, ask("fits", cost=cost("0.05")))

    assert "1 books" in said
    assert (str(balance.spent.rho), str(balance.reserved.rho), str(balance.lifetime.rho)) == ("0.9", "0.05", "0.9")
    assert balance.renews == datetime(2026, 4, 1, tzinfo=UTC)
    assert str(astray.balance(dataset()).left.rho.normalize()) == "0"
    assert astray.verify().problems == ()


def test_a_repair_lets_reservations_of_the_future_expire(astray, clock):
    """A reservation that would live until next year lives its own minutes from now on, and is then charged."""
    astray.set_clock("repair", by=OWNER)
    clock.forward(minutes=11)
    balance = astray.balance(dataset())

    assert (str(balance.spent.rho), balance.reserved) == ("0.95", Spent())
    assert astray.verify().problems == ()


def test_after_a_repair_windows_renew_at_their_own_time(astray, clock):
    """The month after the repair is a new window, with the whole limit."""
    astray.set_clock("repair", by=OWNER)
    clock.now = datetime(2026, 4, 2, tzinfo=UTC)
    balance = astray.balance(dataset())

    assert (balance.spent, str(balance.left.rho.normalize())) == (Spent(), "1")
    assert str(balance.lifetime.rho) == "0.95"


def test_a_repair_is_for_owners_and_on_record(astray, clock):
    """Every book that is dated back says so, and so does the book of rules; others may not do it."""
    with pytest.raises(NotPermitted):
        astray.set_clock("repair", by="ann")
    astray.set_clock("repair", by=OWNER)
    lasts = [astray.history(Page(entity=entity, size=1000), by=OWNER)[-1] for entity in ("visits", EVERY)]

    assert {(e.kind, e.body["deed"], e.by, e.at) for e in lasts} == {("clock", "repair", OWNER, clock.now)}


def test_a_repair_of_nothing_does_nothing(ledger):
    """Where no entry is dated in the future, no window is touched."""
    answered(ledger, ask("q"))
    before = ledger.balance(dataset())

    assert ledger.set_clock("repair", by=OWNER).startswith("0 books")
    assert ledger.balance(dataset()) == before
    assert ledger.verify().problems == ()


def test_a_repair_after_a_join_in_the_future_counts_everything(ledger, clock):
    """Where populations were joined under the wrong clock, the whole total counts in the window: never less."""
    known(ledger, "week 1", "week 2")
    answered(ledger, ask("a", dataset="week 1"))
    answered(ledger, ask("b", dataset="week 2", cost=cost("0.3")))
    clock.forward(days=300)
    answered(ledger, ask("c", dataset="week 1"))
    ledger.catalog.join("week 1", "week 2", by=OWNER)
    clock.now = START + timedelta(hours=1)
    ledger.set_clock("repair", by=OWNER)

    assert str(ledger.balance(dataset("week 1")).spent.rho) == "0.5"
    assert str(ledger.balance(analyst("ann", "week 1")).spent.rho) == "0.5"
    assert ledger.verify().problems == ()


def test_the_server_tells_the_time(server_store, monkeypatch):
    """On PostgreSQL windows go by the server's clock: what a client's clock says does not matter."""
    ledger = server_store.found()
    known(ledger, "visits")
    database = server_store.over(server_store.served())
    # A server whose clock is two days ahead of this machine's.
    ahead = "clock_timestamp() + INTERVAL '2 days'"
    monkeypatch.setattr(postgres, "_CLOCK", postgres._CLOCK.replace("clock_timestamp()", ahead))  # noqa: SLF001
    answered(database, ask("q"))
    at = database.history(Page(entity="visits", size=100), by=OWNER)[-1].at

    assert abs(at - datetime.now(UTC) - timedelta(days=2)) < timedelta(hours=1)
