"""Roles for one data set, accounts of tokens, freezes, and what became of an attempt, on every store."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hushcount.accounting.spent import Spent
from hushcount.errors import (
    BudgetExhausted,
    CostOverrun,
    Frozen,
    InvalidParameter,
    NotPermitted,
    UnknownDataset,
)
from hushcount.ledger.ledger import EVERY, Account, Page, Reservation, StoredRelease
from hushcount.ledger.limits import rho_limit
from hushcount.model.identities import Identity
from tests.conformance.ledgers.stores import OWNER, analyst, answered, ask, cost, dataset, known, sighting


def token(name: str = "t_1", entity: str = "visits") -> Account:
    """A token's account."""
    return Account(kind="token", name=name, entity=entity)


def asked(key: str, name: str, **changes):
    """A question that is asked with a token."""
    return ask(key, token=name, **changes)


def freeze(ledger, place: str):
    """An owner's stop."""
    ledger.records.put("freeze", place, {}, owner=OWNER, by=OWNER)


def lift(ledger, place: str):
    """The end of it."""
    ledger.records.put("freeze", place, None, owner=OWNER, by=OWNER)


@pytest.fixture
def shared(ledger):
    """A ledger in which the data sets visits and clicks are about the same people, called visits."""
    ledger.catalog.join("visits", "clicks", by=OWNER)
    return ledger


def test_whoever_was_given_nothing_is_nobody(ledger):
    """Only what was granted is told; that everybody is an analyst without it is for others to decide."""
    assert ledger.role_of(OWNER) == "owner"
    assert ledger.role_of(OWNER, dataset="visits") == "owner"
    assert ledger.role_of("ann") is None
    assert ledger.role_of("ann", dataset="visits") is None
    assert ledger.role_of(OWNER, dataset="never registered") == "owner"


def test_the_most_particular_role_holds(shared):
    """That for the data set goes before its population's, and that before the one for all."""
    for role, place in (("auditor", {}), ("analyst", {"entity": "visits"}), ("reader", {"dataset": "clicks"})):
        shared.grant("ann", role, by=OWNER, **place)
    found = [shared.role_of("ann", dataset=name) for name in ("clicks", "visits", None)]
    with pytest.raises(NotPermitted, match="reader"):
        shared.reserve(ask("q", dataset="clicks"))
    held = shared.reserve(ask("q"))
    for place in ({"dataset": "clicks"}, {"entity": "visits"}, {}):
        shared.grant("ann", None, by=OWNER, **place)
        found.append(shared.role_of("ann", dataset="clicks"))

    assert found == ["reader", "analyst", "auditor", "analyst", "auditor", None]
    assert isinstance(held, Reservation)
    assert shared.verify().problems == ()


def test_a_role_for_a_data_set_is_none_for_its_population(shared):
    """A data set that is called like its population can still be meant alone, and its owner owns nothing else."""
    shared.grant("otto", "owner", dataset="visits", by=OWNER)
    shared.grant("rae", "reader", dataset="visits", by="otto")
    for deed in (
        lambda: shared.grant("rae", "reader", dataset="clicks", by="otto"),
        lambda: shared.grant("rae", "reader", entity="visits", by="otto"),
        lambda: shared.set_limit(dataset(), rho_limit(9, "0.1"), by="otto"),
        lambda: shared.catalog.repin("visits", "row", by="otto"),
        lambda: shared.usage("visits", by="otto"),
    ):
        with pytest.raises(NotPermitted):
            deed()

    assert [shared.role_of("otto", dataset=name) for name in ("visits", "clicks")] == ["owner", None]
    assert shared.role_of("rae", dataset="visits") == "reader"


@pytest.mark.parametrize("role", ["owner", "auditor"])
def test_a_role_for_a_data_set_is_enough_to_read_what_is_about_it_alone(shared, role):
    """Its questions and what they were charged, page by page; nothing of another data set of the same people."""
    shared.grant("otto", role, dataset="visits", by=OWNER)
    for number in range(3):
        answered(shared, ask(f"v{number}", dataset="visits"))
        answered(shared, ask(f"c{number}", dataset="clicks", analyst="bob", what="a secret of clicks"))
    shared.refund(shared.reserve(ask("free", dataset="visits")))
    everything = shared.history(Page(entity="visits", size=1000), by=OWNER)
    page, seen = Page(entity="visits", size=2, dataset="visits"), []
    while found := shared.history(replace(page, after=seen[-1].seq if seen else 0), by="otto"):
        assert len(found) <= 2
        seen += found

    assert seen == [one for one in everything if one.by == "ann"]
    assert {one.kind for one in seen} == {"reserve", "touch", "settle", "refund"}
    assert "clicks" not in str(seen)
    assert shared.history(replace(page, analyst=EVERY), by="otto") == ()
    assert {use.analyst for use in shared.usage("visits", by="otto", dataset="visits")} == {"ann"}
    for deed in (
        lambda: shared.history(Page(entity="visits", analyst=EVERY), by="otto"),
        lambda: shared.history(Page(entity="visits", analyst=EVERY, dataset="clicks"), by="otto"),
        lambda: shared.history(Page(entity=EVERY, analyst=EVERY), by="otto"),
        lambda: shared.usage("visits", by="otto"),
        lambda: shared.usage("visits", by="otto", dataset="clicks"),
    ):
        with pytest.raises(NotPermitted):
            deed()
    # Without asking for all of it one is given what one did oneself: nothing.
    assert shared.history(Page(entity="visits", dataset="clicks"), by="otto") == ()
    assert [one.kind for one in shared.history(Page(entity=EVERY, dataset="visits"), by="otto")] == []


def test_nobody_shuts_the_owner_out(shared):
    """Whoever owns a data set may call the owner of everything a reader of it, who takes that back."""
    shared.grant("otto", "owner", dataset="clicks", by=OWNER)
    shared.grant(OWNER, "reader", dataset="clicks", by="otto")
    called = shared.role_of(OWNER, dataset="clicks")
    shared.grant("otto", None, dataset="clicks", by=OWNER)
    shared.grant(OWNER, None, dataset="clicks", by=OWNER)

    assert (called, shared.role_of(OWNER, dataset="clicks")) == ("reader", "owner")


def test_a_data_sets_id_is_taken_where_no_population_has_it(shared):
    """`entity` means the population; where there is none of that name, the data set."""
    shared.grant("ann", "reader", entity="clicks", by=OWNER)
    shared.grant("bob", "reader", entity="visits", by=OWNER)

    assert [shared.role_of("ann", dataset=name) for name in ("clicks", "visits")] == ["reader", None]
    assert [shared.role_of("bob", dataset=name) for name in ("clicks", "visits")] == ["reader", "reader"]
    for place in ({"dataset": "nowhere"}, {"entity": "nowhere"}):
        with pytest.raises(UnknownDataset):
            shared.grant("ann", "reader", by=OWNER, **place)
    with pytest.raises(InvalidParameter, match="owner, analyst, reader, auditor, program"):
        shared.grant("ann", "king", dataset="clicks", by=OWNER)


def test_roles_of_a_closed_population_hold_nothing(ledger):
    """What was granted to a population before it was joined is not a role for the data set of that name afterwards."""
    for entity in ("visits", "clicks"):
        ledger.grant("rob", "auditor", entity=entity, by=OWNER)
    ledger.catalog.join("visits", "clicks", by=OWNER)
    ledger.grant("rob", None, entity="visits", by=OWNER)

    assert ledger.role_of("rob", dataset="clicks") is None


def test_a_part_that_leaves_keeps_the_data_sets_roles(ledger):
    """Who may only read a data set may only read the part of it that became one of its own."""
    met = sighting("/data/clicks", "/data/more clicks", kind="path")
    ledger.catalog.register(met, person="user", name="clicks", by=OWNER)
    ledger.grant("rae", "reader", dataset="clicks", by=OWNER)
    left = ledger.catalog.split(
        "clicks", by=OWNER, new="more", identities=(Identity(kind="path", value="/data/more clicks"),)
    )

    assert ledger.role_of("rae", dataset=left.id) == "reader"
    assert ledger.verify().problems == ()


def test_readers_and_programs_see_what_is_theirs(ledger):
    """Neither sees what others did; a program asks, a reader only learns prices."""
    ledger.grant("rae", "reader", by=OWNER)
    ledger.grant("pro", "program", by=OWNER)
    answered(ledger, ask("a", analyst="bob"))
    answered(ledger, ask("b", analyst="pro"))
    seen = {name: {e.by for e in ledger.history(Page(entity="visits"), by=name)} for name in ("rae", "pro")}
    with pytest.raises(NotPermitted, match="Nothing was charged"):
        ledger.reserve(ask("c", analyst="rae"))
    for name in ("rae", "pro"):
        with pytest.raises(NotPermitted):
            ledger.history(Page(entity="visits", analyst="bob"), by=name)
        assert all(known_as.identities == () for known_as in ledger.catalog.datasets(by=name))

    assert seen == {"rae": set(), "pro": {"pro"}}
    assert str(ledger.check(ask("c", analyst="rae")).charge.rho.normalize()) == "0.1"


def test_a_token_is_charged_with_the_others(ledger):
    """Held, settled, refunded and expired like every account of the question; other tokens pay nothing."""
    first = ledger.reserve(asked("a", "t_1"))
    holding = ledger.balance(token())
    ledger.touch(first)
    ledger.settle(first, cost("0.07"), payload=b"one")
    ledger.refund(ledger.reserve(asked("b", "t_1")))
    answered(ledger, asked("c", "t_2"))
    answered(ledger, ask("d"))

    assert str(holding.reserved.rho) == "0.1"
    assert [str(ledger.balance(token(name)).spent.rho) for name in ("t_1", "t_2", "t_3")] == ["0.07", "0.1", "0"]
    assert str(ledger.balance(analyst()).spent.rho) == "0.27"
    assert ledger.balance(token()).reserved == Spent()
    assert ledger.verify().problems == ()


def test_a_cap_holds_a_token_back_and_not_its_analyst(ledger):
    """The limit of a token is for each population; the refusal names it, and nobody else's spending."""
    ledger.set_limit(token(entity=EVERY), rho_limit("0.15", "0.1", window="none"), by=OWNER)
    answered(ledger, asked("a", "t_1"))
    answered(ledger, ask("other", analyst="bob"))
    with pytest.raises(BudgetExhausted, match=r"token 't_1' has 0\.5 standard releases left") as refused:
        ledger.reserve(asked("b", "t_1"))
    answered(ledger, asked("b", "t_2"))
    answered(ledger, asked("c", "t_1", dataset="clicks"))

    assert [balance.account for balance in refused.value.refusal.short] == [token()]
    assert refused.value.refusal.others == Spent()
    assert str(ledger.balance(token()).left.rho.normalize()) == "0.05"
    assert ledger.check(asked("d", "t_1")).more == 0
    assert ledger.verify().problems == ()


def test_a_stored_answer_is_charged_to_a_new_token_once(ledger):
    """What the analyst has paid for, another token of theirs pays from its cap, once; the analyst and world nothing."""
    answered(ledger, asked("a", "t_1", query="q"))
    again = [ledger.reserve(asked(f"again {n}", "t_2", query="q")) for n in range(2)]

    assert all(isinstance(one, StoredRelease) and one.charged == Spent() for one in again)
    assert [str(ledger.balance(token(name)).spent.rho) for name in ("t_1", "t_2")] == ["0.1", "0.1"]
    assert str(ledger.balance(dataset()).spent.rho) == str(ledger.balance(analyst()).spent.rho) == "0.1"


def test_who_owns_a_token_sets_its_cap(ledger):
    """Its record says whose it is; nobody else's cap, no other limit, and none for one population."""
    ledger.records.put("token", "t_1", {}, owner="ann", by="ann")
    ledger.set_limit(token(entity=EVERY), rho_limit("0.2", "0.1"), by="ann")
    ledger.set_limit(token(entity=EVERY), None, by="ann")
    for account, by in (
        (token(entity=EVERY), "bob"),
        (token("t_2", entity=EVERY), "ann"),
        (token(EVERY, entity=EVERY), "ann"),
        (token(), "ann"),
        (analyst("t_1", entity=EVERY), "ann"),
    ):
        with pytest.raises(NotPermitted):
            ledger.set_limit(account, rho_limit(9, "0.1"), by=by)
    with pytest.raises(InvalidParameter, match="token"):
        ledger.set_limit(Account(kind="king", name="x", entity=EVERY), None, by=OWNER)


def test_tokens_move_with_their_population(ledger):
    """A cap counts what the token spent before populations were joined, and after they part."""
    ledger.set_limit(token(entity=EVERY), rho_limit("0.25", "0.1", window="none"), by=OWNER)
    answered(ledger, asked("a", "t_1"))
    answered(ledger, asked("b", "t_1", dataset="clicks", version="w"))
    ledger.catalog.join("visits", "clicks", by=OWNER)
    with pytest.raises(BudgetExhausted):
        ledger.reserve(asked("c", "t_1"))
    left = ledger.catalog.split("clicks", by=OWNER)

    assert str(ledger.balance(token(entity=left.population)).lifetime.rho) == "0.2"
    assert ledger.verify().problems == ()


@pytest.mark.parametrize("place", ["visits", "clicks", EVERY])
def test_a_freeze_stops_questions(shared, place):
    """Of the population, of the data set or of everything: nothing is held or charged, until it is lifted."""
    before = shared.verify().heads[1:]
    freeze(shared, place)
    for verb in (shared.reserve, shared.check):
        with pytest.raises(Frozen, match="Nothing was charged") as failure:
            verb(ask("q", dataset="clicks"))
    other = place == "clicks" and isinstance(shared.reserve(ask("other")), Reservation)

    assert failure.value.place == place
    assert other == (place == "clicks")
    if not other:
        assert shared.verify().heads[1:] == before
    lift(shared, place)
    assert isinstance(shared.reserve(ask("q", dataset="clicks")), Reservation)


def test_a_freeze_of_another_place_stops_nothing(ledger):
    """And a record of another kind is no freeze."""
    freeze(ledger, "clicks")
    ledger.records.put("saved", "visits", {}, owner="ann", by="ann")

    assert isinstance(ledger.reserve(ask("q")), Reservation)


def test_what_is_under_way_when_a_freeze_comes(ledger):
    """What was answered is still handed out to its key; what is held can be settled or refunded, not begun again."""
    answered(ledger, ask("done"), b"paid")
    held, other = ledger.reserve(ask("running")), ledger.reserve(ask("waiting"))
    ledger.touch(held)
    freeze(ledger, "visits")
    again = ledger.reserve(ask("done"))
    for key in ("running", "waiting"):
        with pytest.raises(Frozen, match="charged when it expires"):
            ledger.reserve(ask(key))
    with pytest.raises(Frozen):
        ledger.reserve(ask("done again", query="done"))
    ledger.refund(other)

    assert again.payload == b"paid"
    assert ledger.settle(held, cost(), payload=b"table").payload == b"table"


def test_frozen_populations_neither_meet_nor_part(shared):
    """A freeze would not follow the data sets, so it must be lifted first."""
    known(shared, "more")
    for place in ("visits", "clicks"):
        freeze(shared, place)
        with pytest.raises(Frozen, match="Lift the freeze"):
            shared.catalog.split("clicks", by=OWNER)
        with pytest.raises(Frozen, match="Lift the freeze"):
            shared.catalog.join("more", "clicks", by=OWNER)
        lift(shared, place)
    freeze(shared, EVERY)

    assert shared.catalog.split("clicks", by=OWNER).population == "clicks apart"


def test_what_became_of_an_attempt(ledger, clock):
    """Never made, held, answered, repeated, refunded, expired: told without writing anything."""
    held = ledger.reserve(ask("held", lifetime=timedelta(minutes=5)))
    answered(ledger, ask("done", query="q"), b"table", actual=cost("0.04"))
    ledger.reserve(ask("repeat", query="q"))
    ledger.refund(ledger.reserve(ask("refunded")))
    heads = ledger.verify().heads
    done, repeat = ledger.recall("ann", "done"), ledger.recall("ann", "repeat")

    assert ledger.recall("ann", "held") == held
    assert (done.payload, str(done.charged.rho), done.repeated) == (b"table", "0.04", False)
    assert (repeat.payload, repeat.charged, repeat.repeated) == (b"table", Spent(), True)
    assert [ledger.recall("ann", key) for key in ("refunded", "never")] == [None, None]
    assert ledger.recall("bob", "done") is None
    clock.forward(hours=1)
    assert ledger.recall("ann", "held") == held
    assert ledger.verify().heads == heads


def test_an_overrun_is_recalled_as_one(ledger):
    """There is no answer and nothing to go on with."""
    over = ledger.reserve(ask("over"))
    with pytest.raises(CostOverrun):
        ledger.settle(over, cost("0.2"), payload=b"never")
    with pytest.raises(CostOverrun, match="it was charged"):
        ledger.recall("ann", "over")


def test_an_attempt_is_recalled_after_its_data_set_moved(ledger):
    """Where it was asked is where it is, also after its population was closed."""
    answered(ledger, ask("done", dataset="clicks"), b"table")
    ledger.catalog.join("visits", "clicks", by=OWNER)
    found = ledger.recall("ann", "done")

    assert (found.entity, found.payload) == ("clicks", b"table")
