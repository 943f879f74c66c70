"""Windows, limits in force, roles, tracking, refusals and histories, on every store."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from hushcount.accounting import units
from hushcount.accounting.spent import Spent
from hushcount.accounting.units import Units
from hushcount.errors import BudgetExhausted, InvalidParameter, NotPermitted, UnknownDataset
from hushcount.ledger.ledger import EVERY, Account, Page, Reservation, Variant
from hushcount.ledger.limits import from_json, lasting, rho_limit, to_json, units_limit
from hushcount.model.costs import BoundedRange, Cost, Failure
from tests.conformance.ledgers.stores import OWNER, analyst, answered, ask, cost, dataset, group

EPSILON_PER, DELTA = Decimal("0.15"), Decimal("1e-10")


def linkedin(information: int, calls: int) -> Cost:
    """A cost in LinkedIn's units."""
    return Cost.of((BoundedRange(epsilon=EPSILON_PER), information), (Failure(delta=DELTA), calls))


def in_units(information: int, calls: int):
    """A limit in LinkedIn's units."""
    return units_limit(Units(information=information, calls=calls, epsilon_per=EPSILON_PER, delta_per_call=DELTA))


def test_a_window_opens_at_its_first_query(ledger, clock):
    """The window opens when something is charged in it, not when the month begins, and ends with the month."""
    answered(ledger, ask("march"))
    march = ledger.balance(analyst())
    clock.now = datetime(2026, 4, 7, 9, 30, tzinfo=UTC)
    unopened = ledger.balance(analyst())
    answered(ledger, ask("april"))
    april = ledger.balance(analyst())

    assert (march.opened, march.renews) == (datetime(2026, 3, 10, 12, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC))
    assert (unopened.opened, unopened.spent, unopened.lifetime) == (None, Spent(), march.lifetime)
    assert (april.opened, april.renews) == (clock.now, datetime(2026, 5, 1, tzinfo=UTC))
    assert april.lifetime == april.spent + march.spent


@pytest.mark.parametrize(("window", "step"), [("day", 1), ("week", 7), ("month", 31)])
def test_renewal_gives_a_new_budget_and_keeps_the_lifetime_total(ledger, clock, window, step):
    """After the window the limit is there again; the lifetime total goes on."""
    ledger.set_limit(dataset(), rho_limit("0.1", "0.1", window=window), by=OWNER)
    answered(ledger, ask("before"))
    with pytest.raises(BudgetExhausted):
        ledger.reserve(ask("same window"))
    clock.forward(days=step)
    answered(ledger, ask("after"))

    assert str(ledger.balance(dataset()).lifetime.rho) == "0.2"
    assert not ledger.verify().problems


def test_a_limit_without_window_is_never_renewed(ledger, clock):
    """Window "none" holds the lifetime total against the limit."""
    ledger.set_limit(dataset(), rho_limit("0.1", "0.1", window="none"), by=OWNER)
    answered(ledger, ask("first"))
    clock.forward(days=4000)
    ledger.set_clock("accept", by=OWNER)
    with pytest.raises(BudgetExhausted, match="never renewed"):
        ledger.reserve(ask("second"))


def test_a_running_query_counts_in_both_windows(ledger, clock):
    """What is held when the window changes is still held in the new one, and charged there."""
    ledger.set_limit(dataset(), rho_limit("0.1", "0.1", window="day"), by=OWNER)
    clock.now = datetime(2026, 3, 10, 23, 55, tzinfo=UTC)
    held = ledger.reserve(ask("late", lifetime=timedelta(hours=1)))
    clock.now = datetime(2026, 3, 11, 0, 5, tzinfo=UTC)
    with pytest.raises(BudgetExhausted):
        ledger.reserve(ask("next day"))
    ledger.settle(held, cost("0.03", "0"), payload=b"late")

    assert str(ledger.balance(dataset()).spent.rho) == "0.03"
    assert not ledger.verify().problems


def test_a_changed_period_is_no_renewal(ledger, clock):
    """A new period takes effect when the open window ends: changing it back and forth frees nothing."""
    ledger.set_limit(dataset(), rho_limit("0.1", "0.1", window="month"), by=OWNER)
    answered(ledger, ask("first"))
    ledger.set_limit(dataset(), rho_limit("0.1", "0.1", window="day"), by=OWNER)
    clock.forward(days=2)
    with pytest.raises(BudgetExhausted):
        ledger.reserve(ask("second"))


def test_a_clock_that_goes_backwards_is_not_believed(ledger, clock):
    """Time already seen stays seen: no window reopens, no expired reservation comes back to life."""
    ledger.set_limit(dataset(), rho_limit("0.2", "0.1", window="day"), by=OWNER)
    held = ledger.reserve(ask("first", lifetime=timedelta(minutes=1)))
    clock.forward(days=1)
    answered(ledger, ask("second"))
    clock.forward(days=-1)
    spent = ledger.balance(dataset())
    answered(ledger, ask("third"))
    with pytest.raises(BudgetExhausted):
        ledger.reserve(ask("fourth"))

    assert str(spent.spent.rho) == "0.1"
    assert str(spent.lifetime.rho) == "0.2"
    assert held.number not in [
        entry.seq for entry in ledger.history(Page(entity="visits"), by=OWNER) if entry.kind == "refund"
    ]
    assert not ledger.verify().problems


def test_the_nearest_rule_wins(ledger):
    """An account's own limit goes before its person's, the data set's rule and the general one."""
    anyone = {"kind": "analyst", "name": EVERY}
    for account, rho in (
        (Account(**anyone, entity=EVERY), "0.1"),
        (Account(**anyone, entity="visits"), "0.2"),
        (Account(kind="analyst", name="ann", entity=EVERY), "0.3"),
        (analyst("ann"), "0.4"),
    ):
        ledger.set_limit(account, rho_limit(rho, "0.1"), by=OWNER)
    found = [
        str(ledger.balance(a).limit.ceiling.rho.normalize())
        for a in (analyst("ann"), analyst("ann", "clicks"), analyst("bob"), analyst("bob", "clicks"))
    ]
    ledger.set_limit(analyst("ann"), None, by=OWNER)

    assert found == ["0.4", "0.3", "0.2", "0.1"]
    assert str(ledger.balance(analyst("ann")).limit.ceiling.rho.normalize()) == "0.3"


def test_limits_change_by_an_owner_with_a_record(ledger, clock):
    """Only an owner changes limits; the log says who and when and what."""
    with pytest.raises(NotPermitted, match="Owners here: olga"):
        ledger.set_limit(analyst(), rho_limit(9, "0.1"), by="ann")
    ledger.grant("otto", "owner", entity="visits", by=OWNER)
    clock.forward(hours=1)
    ledger.set_limit(analyst(), rho_limit(9, "0.1"), by="otto")
    with pytest.raises(NotPermitted):
        ledger.set_limit(analyst(entity="clicks"), rho_limit(9, "0.1"), by="otto")
    last = ledger.history(Page(entity=EVERY), by=OWNER)[-1]

    assert (last.kind, last.by, last.at, last.body["limit"]["terms"]["rho"]) == ("limit", "otto", clock.now, "9")


def test_a_cut_limit_stops_new_queries_and_keeps_the_old(ledger):
    """A limit below what was spent leaves a negative rest; running queries still settle."""
    held = ledger.reserve(ask("running"))
    ledger.set_limit(dataset(), rho_limit("0.01", "0.1"), by=OWNER)
    release = ledger.settle(held, cost(), payload=b"done")
    with pytest.raises(BudgetExhausted):
        ledger.reserve(ask("new"))

    assert release.payload == b"done"
    assert str(ledger.balance(dataset()).left.rho.normalize()) == "-0.09"


def test_roles(ledger):
    """Auditors read everything and ask nothing; analysts see their own deeds; only owners give roles and groups."""
    ledger.grant("ada", "auditor", by=OWNER)
    answered(ledger, ask("a", analyst="ann"))
    answered(ledger, ask("b", analyst="bob"))
    seen = {name: {entry.by for entry in ledger.history(Page(entity="visits"), by=name)} for name in ("ann", "ada")}
    with pytest.raises(NotPermitted, match="auditor"):
        ledger.reserve(ask("c", analyst="ada"))
    with pytest.raises(NotPermitted, match="own history"):
        ledger.history(Page(entity="visits", analyst="bob"), by="ann")
    for deed in (
        lambda: ledger.grant("ann", "owner", by="ann"),
        lambda: ledger.enroll("ann", "team", by="ann"),
        lambda: ledger.usage("visits", by="ann"),
        lambda: ledger.set_limit(group("team"), None, by="ada"),
    ):
        with pytest.raises(NotPermitted):
            deed()

    assert seen["ann"] == {"ann"}
    assert seen["ada"] >= {"ann", "bob"}
    assert len(ledger.usage("visits", by="ada")) == 2


def test_a_role_can_be_taken_away(ledger):
    """Without a role everybody is an analyst again."""
    ledger.grant("otto", "owner", by=OWNER)
    ledger.grant("otto", None, by=OWNER)

    with pytest.raises(NotPermitted):
        ledger.grant("eve", "owner", by="otto")


def test_nobody_claims_a_ledger(store):
    """A ledger has an owner from its founding on; whoever wants to be one is told whom to ask."""
    store.found(owner="first")

    with pytest.raises(NotPermitted, match="first"):
        store.open().grant("second", "owner", by="second")
    with pytest.raises(NotPermitted, match="only owner"):
        store.open().grant("first", None, by="first")


def test_rules_for_what_nobody_registered_are_refused(ledger):
    """A limit or a role for no population would bind nothing: it is refused, with the nearest that there is."""
    for deed in (
        lambda: ledger.set_limit(dataset("visit"), rho_limit(1, "0.1"), by=OWNER),
        lambda: ledger.grant("otto", "owner", entity="visit", by=OWNER),
    ):
        with pytest.raises(UnknownDataset):
            deed()


def test_tracking_records_and_marks_and_never_blocks(ledger):
    """A tracked limit lets everything through, marks the result and names the accounts that are over."""
    ledger.set_limit(dataset(), rho_limit("0.15", "0.1", mode="track"), by=OWNER)
    held = [ledger.reserve(ask(f"q{number}")) for number in range(3)]
    release = ledger.settle(held[2], cost(), payload=b"marked")

    assert [reservation.over for reservation in held] == [(), (dataset(),), (dataset(),)]
    assert {reservation.mode for reservation in held} | {release.mode} == {"track"}
    assert str(ledger.balance(dataset()).left.rho.normalize()) == "-0.15"
    assert not ledger.verify().problems


def test_without_any_limit_results_are_marked(ledger):
    """Nothing is enforced where nothing is set, and the result says so; one enforced limit is enough."""
    unlimited = ledger.reserve(ask("q1"))
    ledger.set_limit(dataset(), rho_limit(9, "0.1"), by=OWNER)

    assert (unlimited.mode, ledger.reserve(ask("q2")).mode) == ("track", "enforce")


def test_a_top_k_of_unknown_domain_needs_one_unit_more_than_printed(ledger):
    """LinkedIn's algorithm 5 lets k* = 2k through and ends at -1 (erratum 3): 2k is refused, 2k + 1 filled exactly."""
    k = 50
    question = ask("top", cost=linkedin(units.unknown_gumbel(k), 1))
    ledger.set_limit(analyst(), in_units(2 * k, 1), by=OWNER)
    with pytest.raises(BudgetExhausted):
        ledger.reserve(question)
    ledger.set_limit(analyst(), in_units(2 * k + 1, 1), by=OWNER)
    answered(ledger, question)

    assert ledger.balance(analyst()).left == Spent()


def test_known_domain_queries_need_no_call(ledger):
    """With l* = 0 known-domain queries run, unknown-domain ones do not."""
    ledger.set_limit(analyst(), in_units(200, 0), by=OWNER)
    known = ledger.reserve(ask("known", cost=linkedin(units.known_gumbel(50), 0)))
    with pytest.raises(BudgetExhausted, match="delta"):
        ledger.reserve(ask("unknown", cost=linkedin(units.unknown_laplace(), 1)))

    assert isinstance(known, Reservation)


def test_pay_what_you_get(ledger):
    """A top-k that ended early costs what it showed: 2 |o| units, bottom counted, and its call."""
    ledger.set_limit(analyst(), in_units(101, 1), by=OWNER)
    used = units.unknown_gumbel_used(7, bottom=True)
    answered(ledger, ask("top", cost=linkedin(units.unknown_gumbel(50), 1)), actual=linkedin(used, 1))
    left = ledger.balance(analyst()).left

    assert used == 16
    assert left.rho / (EPSILON_PER**2 / 8) == 101 - 16
    assert left.delta == 0


def test_a_refusal_says_everything(ledger, clock):
    """Asked, left, what one spent oneself and others in sum, renewal, what fits, free answers, whom to ask."""
    ledger.set_limit(dataset(), rho_limit("0.25", "0.1"), by=OWNER)
    answered(ledger, ask("a", analyst="bob", what="bob's table"))
    answered(ledger, ask("b", family="visits by page"))
    variants = (
        Variant(label="--preset generous", cost=cost("0.5")),
        Variant(label="-k 5", cost=cost("0.05")),
        Variant(label="--preset cautious", cost=cost("0.01")),
    )
    with pytest.raises(BudgetExhausted) as caught:
        ledger.reserve(ask("c", family="visits by page", variants=variants))
    refusal, text = caught.value.refusal, str(caught.value)

    assert (str(refusal.asked.rho.normalize()), str(refusal.room.rho.normalize())) == ("0.1", "0.05")
    assert [balance.account for balance in refusal.short] == [dataset()]
    assert {(s.analyst, s.what) for s in refusal.spenders} == {("ann", "question b")}
    assert str(refusal.others.rho.normalize()) == "0.1"
    assert refusal.renews == datetime(2026, 4, 1, tzinfo=UTC)
    assert refusal.variant == variants[2]
    assert [(one.what, one.key) for one in refusal.stored] == [("question b", "b")]
    assert refusal.ask_whom == (OWNER,)
    assert text.splitlines() == [
        "This question may cost 1 standard release; nothing was charged.",
        f"The {dataset()} has 0.5 standard releases left, renewed on 2026-04-01 00:00 UTC. For more, ask olga.",
        "Spent lately: 1 by ann (question b, 2026-03-10); 1 by others.",
        "This would fit: --preset cautious. Yours already, and free: question b.",
    ]
    assert "bob" not in text


def test_owners_are_told_who_spent_it(ledger):
    """To an owner who asks a question, a refusal names everybody's charges; there is no sum of others then."""
    ledger.set_limit(dataset(), rho_limit("0.25", "0.1"), by=OWNER)
    answered(ledger, ask("a", analyst="bob", what="bob's table"))
    answered(ledger, ask("b", analyst="cyd", what="cyd's table"))
    with pytest.raises(BudgetExhausted, match="bob's table") as caught:
        ledger.reserve(ask("c", analyst=OWNER))

    assert {s.analyst for s in caught.value.refusal.spenders} == {"bob", "cyd"}
    assert caught.value.refusal.others == Spent()


def test_histories_come_in_pages(ledger):
    """Entries come oldest first, page by page, and name who did what."""
    for number in range(5):
        answered(ledger, ask(f"q{number}"))
    first = ledger.history(Page(entity="visits", size=4), by=OWNER)
    rest = ledger.history(Page(entity="visits", after=first[-1].seq), by=OWNER)
    kinds = [entry.kind for entry in (*first, *rest)]

    assert [entry.seq for entry in (*first, *rest)] == list(range(1, 17))
    assert kinds == ["open", *["reserve", "touch", "settle"] * 5]
    assert (first[1].body["ask"]["what"], first[1].body["ask"]["dataset"]) == ("question q0", "visits")


def test_usage_is_every_charge(ledger, clock):
    """Settled and expired queries and paid repeats are uses; refunded ones are not."""
    answered(ledger, ask("a"), actual=cost("0.04", "0"))
    ledger.refund(ledger.reserve(ask("b")))
    ledger.reserve(ask("c"))
    ledger.reserve(ask("d", query="a", analyst="bob"))
    clock.forward(hours=1)
    total = ledger.balance(analyst()).lifetime
    uses = ledger.usage("visits", by=OWNER)

    assert [(use.analyst, str(use.spent.rho)) for use in uses] == [("ann", "0.04"), ("ann", "0.1"), ("bob", "0.04")]
    assert uses[0].spent + uses[1].spent == total


def left(ledger, account):
    """How much rho is left of an account's limit; None without one."""
    found = ledger.balance(account).left
    return None if found is None else str(found.rho.normalize())


def test_a_limit_with_an_end_ends_by_itself(ledger, clock, store):
    """At its moment, for what is asked and what is told; then the next one holds, and after the last those for all."""
    ledger.set_limit(Account(kind="analyst", name=EVERY, entity="visits"), rho_limit("0.2", "0.1"), by=OWNER)
    week, month = clock.now + timedelta(days=7), clock.now + timedelta(days=9)
    second = lasting(rho_limit("0.4", "0.1"), until=month, then=None)
    ledger.set_limit(analyst(), lasting(rho_limit("0.9", "0.1"), until=week, then=second), by=OWNER)
    seen = [left(ledger, analyst())]
    for step in (timedelta(days=7) - timedelta(microseconds=1), timedelta(microseconds=1), timedelta(days=2)):
        clock.now += step
        seen.append(left(store.open(clock), analyst()))
        held = ledger.check(ask("dear", cost=cost("0.9"))).refusal is None, ledger.check(ask("q")).refusal is None
        assert held == (seen[-1] == "0.9", True)
    with pytest.raises(BudgetExhausted):
        ledger.reserve(ask("dear", cost=cost("0.3")))

    assert seen == ["0.9", "0.9", "0.4", "0.2"]
    assert not ledger.verify().problems


@pytest.mark.parametrize("base", [None, rho_limit("0.3", "0.1")])
def test_a_limit_with_an_end_ends_also_where_people_part(ledger, clock, base):
    """A population that leaves takes its limits along, with their ends: nobody needs to remember them."""
    ledger.catalog.join("visits", "clicks", by=OWNER)
    if base is not None:
        ledger.set_limit(analyst(), base, by=OWNER)
    raised = lasting(rho_limit("0.9", "0.1"), until=clock.now + timedelta(days=2), then=base)
    ledger.set_limit(analyst(), raised, by=OWNER)
    apart = ledger.catalog.split("clicks", by=OWNER).population
    both = [analyst(), analyst(entity=apart)]
    before = [left(ledger, one) for one in both]
    clock.now += timedelta(days=2)

    assert before == ["0.9", "0.9"]
    assert [left(ledger, one) for one in both] == [None if base is None else "0.3"] * 2
    assert not ledger.verify().problems


def test_a_limit_with_an_end_is_read_back_as_it_was_written(clock):
    """And one without says nothing of it, as it always did."""
    plain = rho_limit("0.9", "0.1")
    chain = lasting(plain, until=clock.now, then=lasting(plain, until=clock.now + timedelta(days=1), then=plain))
    assert from_json(json.loads(json.dumps(to_json(chain)))) == chain
    assert set(to_json(plain)) == {"kind", "terms", "rho", "delta", "window", "mode"}
    with pytest.raises(InvalidParameter):
        lasting(plain, until=datetime(2026, 1, 1), then=None)  # noqa: DTZ001  that is what is refused
