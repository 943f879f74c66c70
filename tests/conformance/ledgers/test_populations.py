"""Populations that are joined and split: nothing spent is lost, and what was paid for stays free; on every store."""

from __future__ import annotations

import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest

from hushcount.accounting.spent import Spent
from hushcount.errors import (
    BudgetExhausted,
    InvalidParameter,
    JoinRefused,
    KeyReused,
    NotPermitted,
    ReservationClosed,
    UnknownDataset,
)
from hushcount.ledger import datasets
from hushcount.ledger.book import lock_book
from hushcount.ledger.ledger import EVERY, Page, Reservation, StoredRelease
from hushcount.ledger.limits import rho_limit
from hushcount.model.identities import Identity
from tests.conformance.ledgers.stores import (
    OWNER,
    Crash,
    Faulty,
    analyst,
    answered,
    ask,
    cost,
    dataset,
    group,
    known,
    sighting,
)


@pytest.fixture
def weeks(ledger):
    """A ledger with two weekly files, each its own population."""
    known(ledger, "week 1", "week 2")
    return ledger


def rho(ledger, account) -> tuple[str, str]:
    """What an account spent in its window and ever."""
    balance = ledger.balance(account)
    return str(balance.spent.rho), str(balance.lifetime.rho)


def test_joined_accounts_add_up(weeks):
    """Analysts, groups and the population itself have spent together what they had spent apart."""
    weeks.enroll("ann", "team", by=OWNER)
    answered(weeks, ask("a", dataset="week 1"))
    answered(weeks, ask("b", dataset="week 2", cost=cost("0.2")))
    answered(weeks, ask("c", dataset="week 2", analyst="bob"))
    joined = weeks.catalog.join("week 1", "week 2", by=OWNER)

    assert joined.population == weeks.catalog.find("week 2", by=OWNER).population == "week 1"
    assert rho(weeks, dataset("week 1")) == ("0.4", "0.4")
    assert rho(weeks, analyst("ann", "week 1")) == rho(weeks, group("team", "week 1")) == ("0.3", "0.3")
    assert rho(weeks, analyst("bob", "week 1")) == ("0.1", "0.1")
    assert weeks.balance(dataset("week 1")).queries == 3
    assert weeks.verify().problems == ()


def test_a_joined_population_has_one_limit(weeks):
    """What is left after a join is left for both files together."""
    weeks.set_limit(dataset(EVERY), rho_limit("0.25", "0.1"), by=OWNER)
    answered(weeks, ask("a", dataset="week 1"))
    answered(weeks, ask("b", dataset="week 2"))
    weeks.catalog.join("week 1", "week 2", by=OWNER)

    for name in ("week 1", "week 2"):
        with pytest.raises(BudgetExhausted):
            weeks.reserve(ask(f"c {name}", dataset=name))


def test_old_windows_stay_over_and_the_later_end_wins(weeks, clock):
    """What was spent in a window that is over counts in the total only; of two open windows the later end holds."""
    weeks.set_limit(dataset(EVERY), rho_limit(5, "0.1", window="day"), by=OWNER)
    answered(weeks, ask("a", dataset="week 2"))
    clock.forward(days=1)
    answered(weeks, ask("b", dataset="week 1"))
    weeks.set_limit(dataset(EVERY), rho_limit(5, "0.1", window="week"), by=OWNER)
    weeks.catalog.join("week 1", "week 2", by=OWNER)
    known(weeks, "week 3")
    answered(weeks, ask("c", dataset="week 3", cost=cost("0.3")))
    weeks.catalog.join("week 1", "week 3", by=OWNER)
    balance = weeks.balance(dataset("week 1"))

    assert (str(balance.spent.rho), str(balance.lifetime.rho)) == ("0.4", "0.5")
    assert balance.renews == datetime(2026, 3, 16, tzinfo=UTC)
    assert weeks.verify().problems == ()


def test_repeats_stay_free_after_a_join(weeks):
    """Stored answers of the closed book are given from the joined one, free to who paid and once paid by others."""
    answered(weeks, ask("a", dataset="week 2", query="q", version="w2"), b"bytes", cost("0.04", "0"))
    weeks.catalog.join("week 1", "week 2", by=OWNER)
    mine = weeks.reserve(ask("b", dataset="week 2", query="q", version="w2"))
    theirs = weeks.reserve(ask("c", dataset="week 2", query="q", version="w2", analyst="bob"))

    assert (mine.payload, mine.charged, mine.entity) == (b"bytes", Spent(), "week 1")
    assert (theirs.payload, str(theirs.charged.rho)) == (b"bytes", "0.04")
    assert rho(weeks, dataset("week 1")) == ("0.04", "0.04")
    assert weeks.verify().problems == ()


def test_the_own_answer_of_the_kept_book_stays(weeks):
    """Where both books have answered the same question on the same data, the kept one's answer is the one repeated."""
    answered(weeks, ask("a", dataset="week 1", query="q", version="same"), b"one")
    answered(weeks, ask("b", dataset="week 2", query="q", version="same", analyst="bob"), b"two")
    weeks.catalog.join("week 1", "week 2", by=OWNER)

    assert weeks.reserve(ask("c", dataset="week 2", query="q", version="same")).payload == b"one"
    assert weeks.reserve(ask("b", dataset="week 2", query="q", version="same", analyst="bob")).payload == b"two"
    assert weeks.verify().problems == ()


def test_keys_survive_a_join(weeks, clock):
    """A retry under the key of a question that was asked before the join gets what that question got, for free."""
    answered(weeks, ask("done", dataset="week 2"), b"paid")
    weeks.reserve(ask("gone", dataset="week 2", lifetime=timedelta(minutes=1)))
    clock.forward(minutes=2)
    weeks.catalog.join("week 1", "week 2", by=OWNER)
    before = rho(weeks, dataset("week 1"))

    assert weeks.reserve(ask("done", dataset="week 2")).payload == b"paid"
    with pytest.raises(ReservationClosed, match="new key"):
        weeks.reserve(ask("gone", dataset="week 2"))
    with pytest.raises(KeyReused):
        weeks.reserve(ask("done", dataset="week 1"))
    assert rho(weeks, dataset("week 1")) == before


def test_a_closed_book_takes_nothing(weeks, clock):
    """Nothing is charged, settled or limited where a population was closed; its balance is the joined one."""
    held = weeks.reserve(ask("late", dataset="week 2", lifetime=timedelta(minutes=1)))
    clock.forward(minutes=2)
    weeks.catalog.join("week 1", "week 2", by=OWNER)
    with pytest.raises(ReservationClosed):
        weeks.settle(held, cost(), payload=b"too late")
    with pytest.raises(UnknownDataset, match="Did you mean 'week 1'"):
        weeks.set_limit(dataset("week 2"), rho_limit(1, "0.1"), by=OWNER)
    # The data set of that name is still there: whoever owns it owns nothing of the population.
    weeks.grant("otto", "owner", entity="week 2", by=OWNER)
    with pytest.raises(NotPermitted):
        weeks.set_limit(dataset("week 1"), rho_limit(1, "0.1"), by="otto")

    assert weeks.balance(dataset("week 2")) == weeks.balance(dataset("week 1"))
    assert weeks.reserve(ask("new", dataset="week 2")).entity == "week 1"


def test_no_join_while_a_query_runs_on_the_other(weeks):
    """A running query would settle into a closed book: refused until it ended; one on the kept book does not matter."""
    running = weeks.reserve(ask("a", dataset="week 2"))
    kept = weeks.reserve(ask("b", dataset="week 1"))
    with pytest.raises(JoinRefused, match="running on 'week 2'"):
        weeks.catalog.join("week 1", "week 2", by=OWNER)
    weeks.settle(running, cost(), payload=b"done")
    weeks.catalog.join("week 1", "week 2", by=OWNER)

    assert weeks.settle(kept, cost(), payload=b"too").payload == b"too"
    assert weeks.verify().problems == ()


def test_no_rule_is_dropped_in_silence(weeks):
    """Limits and roles of the closed population alone are settled first; those of the kept one go on."""
    weeks.set_limit(dataset("week 1"), rho_limit(2, "0.1"), by=OWNER)
    weeks.set_limit(dataset("week 2"), rho_limit(1, "0.1"), by=OWNER)
    with pytest.raises(JoinRefused, match="limits of its own"):
        weeks.catalog.join("week 1", "week 2", by=OWNER)
    weeks.set_limit(dataset("week 2"), rho_limit(2, "0.1"), by=OWNER)
    weeks.grant("otto", "auditor", entity="week 2", by=OWNER)
    with pytest.raises(JoinRefused, match="roles of its own"):
        weeks.catalog.join("week 1", "week 2", by=OWNER)
    weeks.grant("otto", None, entity="week 2", by=OWNER)
    weeks.catalog.join("week 1", "week 2", by=OWNER)

    assert str(weeks.balance(dataset("week 2")).limit.ceiling.rho.normalize()) == "2"


def test_joins_and_splits_are_for_owners_of_both(weeks):
    """An analyst, or the owner of one side alone, cannot say whose people data is about."""
    weeks.grant("otto", "owner", entity="week 1", by=OWNER)
    for by in ("ann", "otto"):
        with pytest.raises(NotPermitted):
            weeks.catalog.join("week 1", "week 2", by=by)
    weeks.catalog.join("week 2", "clicks", by=OWNER)
    with pytest.raises(NotPermitted):
        weeks.catalog.split("clicks", by="otto")
    with pytest.raises(JoinRefused, match="already"):
        weeks.catalog.join("week 2", "clicks", by=OWNER)


def test_usage_covers_what_was_joined(weeks):
    """Proposals for a population see the questions of all the books that it took over."""
    answered(weeks, ask("a", dataset="week 1"))
    answered(weeks, ask("b", dataset="week 2", analyst="bob"))
    known(weeks, "week 0")
    weeks.catalog.join("week 1", "week 2", by=OWNER)
    weeks.catalog.join("week 0", "week 1", by=OWNER)

    assert [use.analyst for use in weeks.usage("week 0", by=OWNER)] == ["ann", "bob"]


def test_what_leaves_takes_everything_that_was_spent(weeks):
    """A split data set starts with a copy of all accounts, and with what runs as if it were spent: never less."""
    weeks.catalog.join("week 1", "week 2", by=OWNER)
    answered(weeks, ask("a", dataset="week 1"), b"table")
    held = weeks.reserve(ask("b", dataset="week 2", cost=cost("0.3")))
    left = weeks.catalog.split("week 2", by=OWNER)
    before = rho(weeks, dataset("week 1"))
    weeks.settle(held, cost("0.2"), payload=b"later")

    assert (left.id, left.population) == ("week 2", "week 2 apart")
    assert (before, rho(weeks, dataset("week 1"))) == (("0.1", "0.1"), ("0.3", "0.3"))
    assert rho(weeks, dataset("week 2 apart")) == rho(weeks, analyst("ann", "week 2 apart")) == ("0.4", "0.4")
    assert weeks.balance(dataset("week 2 apart")).reserved == Spent()
    assert weeks.verify().problems == ()


def test_limits_and_roles_leave_too(weeks):
    """What was decided for a population alone holds for those who leave it, so that a split lifts no limit."""
    weeks.catalog.join("week 1", "week 2", by=OWNER)
    weeks.set_limit(dataset("week 1"), rho_limit("0.15", "0.1", window="none"), by=OWNER)
    weeks.set_limit(analyst("bob", "week 1"), rho_limit("0.05", "0.1"), by=OWNER)
    weeks.grant("ada", "auditor", entity="week 1", by=OWNER)
    answered(weeks, ask("a", dataset="week 1"))
    weeks.catalog.split("week 2", by=OWNER)
    with pytest.raises(BudgetExhausted):
        weeks.reserve(ask("b", dataset="week 2"))
    with pytest.raises(NotPermitted, match="auditor"):
        weeks.reserve(ask("c", dataset="week 2", analyst="ada"))

    assert str(weeks.balance(analyst("bob", "week 2 apart")).limit.ceiling.rho.normalize()) == "0.05"
    assert weeks.verify().problems == ()


def test_stored_answers_leave_too(weeks):
    """What was paid for on a data set is still free after it left, and other data's answers stay behind."""
    weeks.catalog.join("week 1", "week 2", by=OWNER)
    answered(weeks, ask("a", dataset="week 2", query="q", version="w2"), b"two")
    answered(weeks, ask("b", dataset="week 1", query="q", version="w1"), b"one")
    weeks.catalog.split("week 2", by=OWNER)
    again = weeks.reserve(ask("c", dataset="week 2", query="q", version="w2"))
    kinds = [entry.kind for entry in weeks.history(Page(entity="week 2 apart"), by=OWNER)]

    assert (again.payload, again.charged, again.entity) == (b"two", Spent(), "week 2 apart")
    assert kinds == ["split", "adopt", "repeat"]
    assert weeks.reserve(ask("a", dataset="week 2", query="q", version="w2")).payload == b"two"


def test_some_identities_leave_as_a_new_data_set(weeks):
    """Files that were registered together by mistake can part; what remains is found as before."""
    seen = sighting("w1", "x1", title="mixed")
    weeks.catalog.register(seen, person="uid", name=None, by="ann")
    answered(weeks, ask("a", dataset="mixed"))
    new = weeks.catalog.split("mixed", by=OWNER, new="exits", identities=(Identity(kind="bytes", value="x1"),))
    for change in (
        {"identities": (Identity(kind="bytes", value="w9"),), "new": "other"},
        {"identities": (Identity(kind="bytes", value="w1"),), "new": "other"},
        {"identities": (Identity(kind="bytes", value="w1"),)},
        {"new": "other"},
        {},
    ):
        with pytest.raises(InvalidParameter):
            weeks.catalog.split("mixed", by=OWNER, **change)

    assert (new.name, new.person, [str(i) for i in new.identities]) == ("exits", "uid", ["bytes:x1"])
    assert (new.id, new.population) == ("exits", "exits")
    assert weeks.catalog.lookup(sighting("x1")).id == "exits"
    assert weeks.catalog.lookup(sighting("w1")).id == "mixed"
    assert rho(weeks, dataset(new.population)) == ("0.1", "0.1")
    assert weeks.verify().problems == ()


@pytest.mark.parametrize("names", [("week 1", "week 2"), ("week 2", "week 1")])
def test_parting_and_meeting_again_counts_once_what_was_shared(weeks, names):
    """A split and a join, however often and whichever stays, add what each spent alone. Before, all was doubled."""
    weeks.catalog.join("week 1", "week 2", by=OWNER)
    answered(weeks, ask("before", dataset="week 2"))
    for number in range(3):
        weeks.catalog.split("week 2", by=OWNER)
        answered(weeks, ask(f"one {number}", dataset="week 1", cost=cost("0.01")))
        answered(weeks, ask(f"two {number}", dataset="week 2", cost=cost("0.02"), analyst="bob"))
        joined = weeks.catalog.join(*names, by=OWNER).population

        assert rho(weeks, dataset(joined)) == (f"0.1{3 * (number + 1)}",) * 2
        assert rho(weeks, analyst("ann", joined)) == (f"0.1{number + 1}",) * 2
        assert rho(weeks, analyst("bob", joined)) == (f"0.0{2 * (number + 1)}",) * 2
        assert weeks.balance(dataset(joined)).queries == 1 + 2 * (number + 1)
        assert weeks.verify().problems == ()


def test_what_was_held_at_a_split_is_never_counted_less(weeks):
    """A query that ran at a split may settle for less: what left keeps its worst case, also when joined."""
    weeks.catalog.join("week 1", "week 2", by=OWNER)
    held = weeks.reserve(ask("a", dataset="week 1", cost=cost("0.3")))
    weeks.catalog.split("week 2", by=OWNER)
    weeks.settle(held, cost("0.2"), payload=b"later")
    weeks.catalog.join("week 1", "week 2", by=OWNER)

    assert rho(weeks, dataset("week 1")) == ("0.5", "0.5")
    assert weeks.verify().problems == ()


def test_a_renewal_since_the_split_takes_nothing_off_the_window(weeks, clock):
    """What was shared in a window that is over counts once in the total, and takes nothing off the new window."""
    weeks.set_limit(dataset(EVERY), rho_limit(5, "0.1", window="day"), by=OWNER)
    weeks.catalog.join("week 1", "week 2", by=OWNER)
    answered(weeks, ask("a", dataset="week 1"))
    weeks.catalog.split("week 2", by=OWNER)
    clock.forward(days=1)
    answered(weeks, ask("b", dataset="week 1", cost=cost("0.01")))
    answered(weeks, ask("c", dataset="week 2", cost=cost("0.02")))
    weeks.catalog.join("week 1", "week 2", by=OWNER)

    assert rho(weeks, dataset("week 1")) == ("0.03", "0.13")
    assert weeks.verify().problems == ()


def test_among_three_what_was_shared_is_never_counted_less_than_once(weeks):
    """Two that left the same third know nothing of each other: joined, they count it twice; with the third, once."""
    known(weeks, "week 3")
    for other in ("week 2", "week 3"):
        weeks.catalog.join("week 1", other, by=OWNER)
    answered(weeks, ask("a", dataset="week 1"))
    for leaving in ("week 2", "week 3"):
        weeks.catalog.split(leaving, by=OWNER)
        answered(weeks, ask(leaving, dataset=leaving, cost=cost("0.01")))
    siblings = weeks.catalog.join("week 2", "week 3", by=OWNER).population
    apart = rho(weeks, dataset(siblings))
    weeks.catalog.join("week 1", "week 2", by=OWNER)

    assert apart == ("0.22", "0.22")
    assert rho(weeks, dataset("week 1")) == ("0.22", "0.22")
    assert weeks.verify().problems == ()


def test_a_split_and_a_join_give_back_no_budget(weeks):
    """Parting and meeting again frees nothing, and an answer that was paid for on either side stays paid for."""
    weeks.catalog.join("week 1", "week 2", by=OWNER)
    answered(weeks, ask("a", dataset="week 2", query="q"), b"bytes")
    weeks.catalog.split("week 2", by=OWNER)
    answered(weeks, ask("b", dataset="week 2", query="q", analyst="bob"))
    weeks.catalog.join("week 1", "week 2", by=OWNER)

    assert rho(weeks, dataset("week 1")) == ("0.1", "0.1")
    assert isinstance(weeks.reserve(ask("c", dataset="week 2", query="q", analyst="bob")), StoredRelease)
    assert weeks.balance(analyst("bob", "week 1")).spent.rho == cost("0.1", "0").events[0][0].rho
    assert weeks.verify().problems == ()


def test_a_late_answer_of_the_kept_book_is_not_paid_by_a_window_that_came_with_a_join(weeks, clock):
    """An expired query whose own window is over stays closed, also if a longer window is joined to its account."""
    weeks.set_limit(analyst(EVERY, EVERY), rho_limit(5, "0.1", window="day"), by=OWNER)
    weeks.set_limit(dataset(EVERY), rho_limit(5, "0.1", window="day"), by=OWNER)
    held = weeks.reserve(ask("a", dataset="week 1", lifetime=timedelta(minutes=1)))
    clock.forward(days=1)
    weeks.set_limit(analyst(EVERY, EVERY), rho_limit(5, "0.1", window="month"), by=OWNER)
    weeks.set_limit(dataset(EVERY), rho_limit(5, "0.1", window="month"), by=OWNER)
    answered(weeks, ask("b", dataset="week 2"))
    weeks.catalog.join("week 1", "week 2", by=OWNER)

    with pytest.raises(ReservationClosed):
        weeks.settle(held, cost(), payload=b"unpaid")


@pytest.mark.parametrize("deed", ["join", "split", "register", "rename"])
def test_a_crash_anywhere_in_a_change_of_the_catalog_is_all_or_nothing(weeks, store, clock, deed):
    """Wherever it dies, the ledger is whole, nothing spent is lost, and the repetition goes through."""
    answered(weeks, ask("a", dataset="week 1"), b"one")
    answered(weeks, ask("b", dataset="week 2"), b"two")
    if deed == "split":
        weeks.catalog.join("week 1", "week 2", by=OWNER)
    deeds = {
        "join": lambda ledger: ledger.catalog.join("week 1", "week 2", by=OWNER),
        "split": lambda ledger: ledger.catalog.split("week 2", by=OWNER),
        "register": lambda ledger: ledger.catalog.register(sighting("n"), person="user", name=None, by="ann"),
        "rename": lambda ledger: ledger.catalog.rename("week 1", "first week", by=OWNER),
    }
    crashes = 0
    for at in range(1, 100):
        doomed = store.over(Faulty(store.database(clock), crash_at=at))
        done = False
        with suppress(Crash):
            deeds[deed](doomed)
            done = True
        doomed.close()
        total = sum(weeks.balance(dataset(d.population)).lifetime.rho for d in weeks.catalog.datasets(by=OWNER))

        assert weeks.verify().problems == ()
        assert total >= cost("0.2").events[1][0].rho
        if done:
            break
        crashes += 1
        # The commit may have happened although nobody heard of it.
        if crashes > 3 and changed(weeks, deed):
            break

    assert crashes > 5


def changed(ledger, deed: str) -> bool:
    """Whether the change is there."""
    names = {d.name: d.population for d in ledger.catalog.datasets(by=OWNER)}
    return {
        "join": names["week 2"] == "week 1",
        "split": names["week 2"] == "week 2 apart",
        "register": "data" in names,
        "rename": "first week" in names,
    }[deed]


def test_a_question_that_races_a_join_finds_the_new_book(weeks, monkeypatch):
    """Between reading which population it is and holding its book, a join moves the data set: the verb starts again."""
    real, locked = datasets.lock_book_of, []

    def stale(transaction, name, *, following):
        book = real(transaction, name, following=following) if locked else lock_book(transaction, "week 2")
        locked.append(book.entity)
        return book

    weeks.catalog.join("week 1", "week 2", by=OWNER)
    monkeypatch.setattr(datasets, "lock_book_of", stale)
    held = weeks.reserve(ask("a", dataset="week 2"))

    assert (held.entity, locked) == ("week 1", ["week 2", "week 1"])


def test_questions_and_joins_at_once(store, clock):
    """Six threads ask while populations are joined and split: all is charged where the data set is, nothing is lost."""
    ledger = store.found(clock)
    names = [f"week {number}" for number in range(3)]
    known(ledger, *names)
    failures, asked = [], []

    def spend(thread: int) -> None:
        try:
            for number in range(8):
                name = names[(thread + number) % 3]
                answered(ledger, ask(f"{thread} {number}", dataset=name, version=name))
                asked.append(name)
        except Exception as error:  # noqa: BLE001 (told below)
            failures.append(error)

    def rearrange() -> None:
        for number in range(6):
            with suppress(JoinRefused, InvalidParameter):
                ledger.catalog.join("week 0", names[1 + number % 2], by=OWNER)
            with suppress(JoinRefused, InvalidParameter):
                ledger.catalog.split(names[1 + number % 2], by=OWNER)

    threads = [threading.Thread(target=spend, args=(thread,)) for thread in range(6)]
    threads.append(threading.Thread(target=rearrange))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    total = sum(len(ledger.usage(d.entity, by=OWNER)) for d in ledger.verify().heads if d.entity != EVERY)

    assert not failures
    assert len(asked) == 48
    assert total >= 48
    assert ledger.verify().problems == ()
    assert isinstance(ledger.reserve(ask("after", dataset="week 2")), Reservation)
