"""A ledger in a file holds the clock on the wall against the machine's own: nobody renews a window by setting it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hushcount.errors import BudgetExhausted, ClockImplausible, NotPermitted
from hushcount.ledger import boots
from hushcount.ledger.boots import Boot, this_boot
from hushcount.ledger.founding import Founding
from hushcount.ledger.limits import rho_limit
from hushcount.ledger.sqlite import SqliteDatabase, found_sqlite, open_sqlite
from hushcount.ledger.store import utc_now
from tests.conformance.ledgers.stores import OWNER, SECRET, HandClock, answered, ask, dataset, known


class Machine:
    """A machine whose clock on the wall and whose own are set by hand."""

    def __init__(self) -> None:
        self.wall, self.since, self.boot = HandClock(), 0, "first"

    def __call__(self) -> Boot | None:
        """What the machine says of itself."""
        return None if self.boot is None else Boot(id=self.boot, since=self.since)

    def run(self, **step: float) -> None:
        """Time goes by, awake or asleep."""
        self.wall.forward(**step)
        self.since += timedelta(**step) // timedelta(microseconds=1)

    def restart(self, name: str | None) -> None:
        """Start anew."""
        self.boot, self.since = name, 0


@pytest.fixture
def machine():
    """A machine that was just started."""
    return Machine()


@pytest.fixture
def path(tmp_path):
    """Where the ledger is."""
    return tmp_path / "ledger.db"


@pytest.fixture
def ledger(path, machine):
    """A ledger with one question a day, asked today."""
    founding = Founding(owner=OWNER, limit=rho_limit("0.1", "0.1", window="day"), secret=SECRET)
    made = found_sqlite(path, founding, clock=machine.wall, boot=machine)
    known(made, "visits")
    answered(made, ask("today"))
    yield made
    made.close()


def rows(path) -> list:
    """The anchors that are kept."""
    database = SqliteDatabase(path, clock=HandClock())
    with database.reading() as transaction:
        found = transaction.fetch("SELECT boot, wall, since FROM anchors ORDER BY boot")
    database.close()
    return found


def test_a_clock_that_was_set_ahead_is_not_believed(ledger, machine):
    """More than a day ahead of the machine nothing is charged, registered or renewed; one can still look."""
    before = ledger.verify().heads
    machine.wall.forward(days=1, minutes=1)
    for deed in (
        lambda: ledger.reserve(ask("tomorrow")),
        lambda: ledger.check(ask("tomorrow")),
        lambda: known(ledger, "more"),
        lambda: ledger.set_limit(dataset(), rho_limit(9, "0.1"), by=OWNER),
        lambda: ledger.records.put("wish", "w", {}, owner="ann", by="ann"),
    ):
        with pytest.raises(ClockImplausible, match=r"24 hours more than this machine.*Nothing was charged") as failure:
            deed()
        assert failure.value.deed == "accept"

    assert ledger.verify().heads == before
    assert str(ledger.balance(dataset()).spent.rho) == "0.1"
    machine.wall.forward(days=-1)
    with pytest.raises(BudgetExhausted):
        ledger.reserve(ask("today again"))


class Reset(HandClock):
    """A clock that is a few days ahead for some readings, and set right after them."""

    wrong = 0

    def __call__(self):
        """The moment."""
        self.wrong -= 1
        return super().__call__() + timedelta(days=3 if self.wrong >= 0 else 0)


@pytest.mark.parametrize("readings", [1, 2, 3])
def test_a_clock_that_is_set_right_in_the_middle_of_a_verb(tmp_path, machine, readings):
    """It is believed as it was judged: no entry is dated by another reading, which would stop the data set."""
    machine.wall = Reset()
    founding = Founding(owner=OWNER, limit=rho_limit("9", "0.1", window="day"), secret=SECRET)
    ledger = found_sqlite(tmp_path / "ledger.db", founding, clock=machine.wall, boot=machine)
    known(ledger, "visits")
    machine.wall.wrong = readings
    for number in range(readings):
        with pytest.raises(ClockImplausible, match="more than this machine has run"):
            ledger.reserve(ask(f"wrong {number}"))

    answered(ledger, ask("right"))
    ledger.close()


def test_a_machine_that_slept_is_believed(ledger, machine):
    """The machine counts its sleep, so a month with the lid closed is a month."""
    machine.run(days=30)
    answered(ledger, ask("a month later"))

    assert str(ledger.balance(dataset()).lifetime.rho) == "0.2"
    assert ledger.verify().problems == ()


def test_less_than_a_day_is_a_correction(ledger, machine):
    """Clocks are put right by hours; what comes after is held against the newest entry."""
    machine.wall.forward(hours=23)
    answered(ledger, ask("tomorrow"))
    machine.wall.forward(hours=25)
    with pytest.raises(ClockImplausible):
        ledger.reserve(ask("the day after"))


def test_a_clock_behind_the_machine_renews_nothing(ledger, machine):
    """If only the machine's own clock goes on, no window is renewed; when the wall catches up it is believed."""
    machine.since += timedelta(days=3) // timedelta(microseconds=1)
    with pytest.raises(BudgetExhausted):
        ledger.reserve(ask("still today"))
    machine.wall.forward(days=3)
    answered(ledger, ask("three days later"))

    assert str(ledger.balance(dataset()).lifetime.rho) == "0.2"


def test_an_owner_accepts_the_clock(ledger, machine):
    """Then windows are renewed as always, and the next jump is held against the accepted clock."""
    machine.wall.forward(days=3)
    with pytest.raises(NotPermitted):
        ledger.set_clock("accept", by="ann")
    said = ledger.set_clock("accept", by=OWNER)
    answered(ledger, ask("accepted"))
    machine.wall.forward(days=2)
    with pytest.raises(ClockImplausible):
        ledger.reserve(ask("again"))

    assert "was accepted" in said
    assert ledger.verify().problems == ()


def test_a_machine_that_was_started_anew_is_believed(ledger, machine, path):
    """Nobody knows for how long it was off; from its first entry on the clock is held against it again."""
    machine.wall.forward(days=5)
    machine.restart("second")
    answered(ledger, ask("after the start"))
    machine.run(hours=1)
    machine.wall.forward(days=2)
    with pytest.raises(ClockImplausible):
        ledger.reserve(ask("too early"))

    assert [boot for boot, *_ in rows(path)] == ["first", "second"]


def test_where_the_machine_does_not_tell_nothing_is_held_against_it(ledger, machine, path):
    """Without a name for this start there is no anchor and no doubt, up to a year."""
    machine.restart(None)
    machine.wall.forward(days=5)
    answered(ledger, ask("five days"))

    assert [boot for boot, *_ in rows(path)] == ["first"]


def test_another_process_holds_it_against_the_same_entry(ledger, machine, path):
    """The anchor is in the file, so that it does not matter which process asks."""
    machine.wall.forward(days=2)
    other = open_sqlite(path, secret=SECRET, clock=machine.wall, boot=machine)
    with pytest.raises(ClockImplausible):
        other.reserve(ask("elsewhere"))
    other.close()


def test_the_anchor_is_part_of_the_entrys_transaction(ledger, machine, path):
    """What is not committed leaves no anchor, and reads and jobs leave none either."""
    before = rows(path)
    machine.run(hours=1)
    with pytest.raises(BudgetExhausted):
        ledger.reserve(ask("refused"))
    ledger.jobs.leave("nobody")
    ledger.balance(dataset())
    unchanged = rows(path)
    machine.run(days=1)
    ledger.reserve(ask("tomorrow"))

    assert unchanged == before
    assert rows(path) != before


def test_by_default_it_is_this_machine(tmp_path, monkeypatch):
    """A ledger that goes by the wall is anchored in this machine's own clock; one that is set by hand is not."""
    founding = Founding(owner=OWNER, limit=None, secret=SECRET)
    monkeypatch.setattr(boots, "_name", lambda: "this machine")
    for name, clock in (("real", utc_now), ("by hand", HandClock())):
        ledger = found_sqlite(tmp_path / name, founding, clock=clock)
        known(ledger, "visits")
        ledger.close()

    assert [boot for boot, *_ in rows(tmp_path / "real")] == ["this machine"]
    assert rows(tmp_path / "by hand") == []


def test_this_machine_counts_upwards(monkeypatch):
    """It tells the same start each time, and time goes by; without a name of its own it is given one here."""
    if this_boot() is None:
        monkeypatch.setattr(boots, "_name", lambda: "this machine")
    first, second = this_boot(), this_boot()

    assert first.id == second.id
    assert 0 < first.since <= second.since


def test_a_machine_without_a_name_for_its_start(monkeypatch):
    """There is nothing to anchor to."""
    monkeypatch.setattr(boots, "_name", lambda: None)

    assert this_boot() is None
