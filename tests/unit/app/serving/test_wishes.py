"""Wishes for more, and grants that really end, wherever something breaks off."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from hushcount.app.serving.callers.callers import Caller
from hushcount.app.serving.callers.tokens import WantedToken, make_token
from hushcount.app.serving.owners import grants
from hushcount.app.serving.owners.grants import Extra, add_grant
from hushcount.app.serving.owners.limits import Target, set_limit, typed_limit
from hushcount.app.serving.owners.rules import read_rules
from hushcount.app.serving.owners.wishes import (
    OwnerAnswer,
    decide,
    find_wish,
    make_wish,
    wish_form,
    wishes_of,
    wishes_on,
    withdraw,
)
from hushcount.errors import BudgetExhausted, InvalidParameter, NotFound, NotPermitted, Outdated
from hushcount.ledger.ledger import Account
from hushcount.ledger.limits import to_json
from tests.unit.app.serving.stand_in import START
from tests.unit.app.serving.world import ARNE, CLICKS, EVE, KEY, MAX, OLGA, RAE, VISITS, ZOE

ACCOUNT = Account(kind="analyst", name="zoe", entity="visits")
DATA = Account(kind="dataset", name="visits", entity="visits")
NEXT_WEEK = START + timedelta(days=7)


@pytest.fixture
def bound(world):
    """Zoe may spend two releases a month."""
    set_limit(world.service, OLGA, Target(offer=VISITS, kind="analyst", name="zoe"), limit=typed_limit({"releases": 2}))
    return world


def wished(world, caller=ZOE, **changes):
    """A wish for three more until next week."""
    return make_wish(
        world.service, caller, VISITS, **{"releases": "3", "why": "the report", "until": NEXT_WEEK, **changes}
    )


def ceiling(world, account=ACCOUNT):
    """What an account may spend, in standard releases; None without a limit."""
    limit = world.ledger.balance(account).limit
    return None if limit is None else limit.ceiling.rho / Decimal("0.1")


def extra(releases="3", until=NEXT_WEEK):
    """What a decision adds."""
    return Extra(releases=Decimal(releases), until=until)


def test_a_wish_is_granted_and_ends(bound):
    """Two releases, then five, then two again; what was asked in between stays spent."""
    wish = wished(bound)
    for key in ("q1", "q2"):
        bound.answered("zoe", key)
    with pytest.raises(BudgetExhausted):
        bound.answered("zoe", "q3")
    decided = decide(bound.service, OLGA, wish.id, offer=VISITS, answer=OwnerAnswer(grant=True, words="Have them."))
    assert bound.answered("zoe", "q3")
    assert ceiling(bound) == 5
    bound.clock.move(days=7)

    assert ceiling(bound) == 2
    with pytest.raises(BudgetExhausted):
        bound.answered("zoe", "q4")
    assert decided.state == "granted"
    assert decided.decision.until == NEXT_WEEK


def test_a_grant_ends_at_its_moment_and_not_before(bound):
    """A second before it holds."""
    add_grant(bound.setting, ACCOUNT, extra(), by="olga")
    bound.clock.move(days=7, seconds=-1)
    assert ceiling(bound) == 5
    bound.clock.move(seconds=1)

    assert ceiling(bound) == 2


def test_a_grant_ends_with_the_window_that_it_raises(bound):
    """Or three more until January would be three more in each month; the decision says the real end."""
    wish = wished(bound, until=START + timedelta(days=60))
    decided = decide(bound.service, OLGA, wish.id, offer=VISITS, answer=OwnerAnswer(grant=True, words="Yes."))
    december = datetime(2026, 12, 1, tzinfo=UTC)

    assert decided.decision.until == december
    assert bound.ledger.balance(ACCOUNT).limit.until == december


def test_a_limit_for_all_is_raised_for_one_and_inherited_again(world):
    """Without a limit of their own the one for everybody is the ground; after it they have none again."""
    set_limit(world.service, OLGA, Target(offer=VISITS, kind="analyst"), limit=typed_limit({"releases": 1}))
    add_grant(world.setting, ACCOUNT, extra(), by="olga")
    assert (ceiling(world), ceiling(world, Account(kind="analyst", name="max", entity="visits"))) == (4, 1)
    world.clock.move(days=8)
    set_limit(world.service, OLGA, Target(offer=VISITS, kind="analyst"), limit=typed_limit({"releases": 7}))

    assert ceiling(world) == 7


def test_the_datas_own_account_is_raised_only_if_it_is_said(world):
    """Whoever has no limit of their own is not helped by one; the owner says that the data's is meant."""
    wish = wished(world)
    with pytest.raises(InvalidParameter, match="an account that has a limit"):
        decide(world.service, OLGA, wish.id, offer=VISITS, answer=OwnerAnswer(grant=True, words="Yes."))
    assert find_wish(world.service, ZOE, wish.id, offer=VISITS).state == "waiting"
    decide(world.service, OLGA, wish.id, offer=VISITS, answer=OwnerAnswer(grant=True, words="Yes.", of="dataset"))
    assert ceiling(world, DATA) == 13
    world.clock.move(days=7)

    assert ceiling(world, DATA) == 10


def test_several_grants_end_each_at_its_time(bound):
    """In any order of their ends."""
    add_grant(bound.setting, ACCOUNT, extra("1", START + timedelta(days=5)), by="olga")
    add_grant(bound.setting, ACCOUNT, extra("10", START + timedelta(days=2)), by="olga")
    add_grant(bound.setting, ACCOUNT, extra("100", START + timedelta(days=3)), by="olga")
    seen = [ceiling(bound)]
    for _ in range(5):
        bound.clock.move(days=1)
        seen.append(ceiling(bound))

    assert seen == [113, 113, 103, 3, 3, 2]


def test_what_an_owner_sets_meanwhile_stays(bound):
    """Less, to stop somebody at once; or more; or the very limit of before: the grant changes none of it."""
    for count in (0, 50, 2):
        set_limit(
            bound.service, OLGA, Target(offer=VISITS, kind="analyst", name="zoe"), limit=typed_limit({"releases": 2})
        )
        add_grant(bound.setting, ACCOUNT, extra(until=bound.clock() + timedelta(days=1)), by="olga")
        assert ceiling(bound) == 5
        typed = typed_limit({"rho": "0", "delta": "0"} if count == 0 else {"releases": count})
        set_limit(bound.service, OLGA, Target(offer=VISITS, kind="analyst", name="zoe"), limit=typed)
        assert ceiling(bound) == count
        bound.clock.move(days=2)

        assert ceiling(bound) == count


def test_of_two_grants_at_once_none_is_lost(bound, monkeypatch):
    """Whoever read the rules before the other wrote looks again."""
    real, first = grants.read_rules, []

    def stale(setting):
        rules = real(setting)
        if not first:
            first.append(add_grant_of_another)
            add_grant_of_another()
        return rules

    def add_grant_of_another():
        add_grant(bound.setting, ACCOUNT, extra("10"), by="olga")

    monkeypatch.setattr(grants, "read_rules", stale)
    add_grant(bound.setting, ACCOUNT, extra(), by="olga")
    assert ceiling(bound) == 15
    bound.clock.move(days=7)
    assert ceiling(bound) == 2


def test_a_limit_that_is_made_from_old_rules_is_refused(bound):
    """Nothing is changed, not even by who may."""
    seq = read_rules(bound.setting).seq
    bound.ledger.set_limit(ACCOUNT, typed_limit({"releases": 4}), by="olga")
    with pytest.raises(Outdated):
        bound.ledger.set_limit(ACCOUNT, typed_limit({"releases": 9}), by="olga", after=seq)
    assert ceiling(bound) == 4


@pytest.mark.parametrize("meanwhile", [False, True])
def test_grants_of_earlier_versions_end_when_a_service_opens(bound, meanwhile):
    """They were limits without an end, with a record of what to take back; what an owner set meanwhile stays."""
    base, raised = typed_limit({"releases": 2}), typed_limit({"releases": 50})
    body = {"rule": ["visits", "analyst", "zoe"], "base": to_json(base), "ours": [to_json(raised)], "extras": []}
    bound.ledger.records.put("grant", "g_1", {**body, "done": True}, owner="olga", by="olga")
    bound.ledger.set_limit(ACCOUNT, typed_limit({"releases": 7}) if meanwhile else raised, by="olga")
    grants.end_old_grants(bound.setting)

    assert ceiling(bound) == (7 if meanwhile else 2)
    assert bound.ledger.records.find("grant", "g_1") is None
    grants.end_old_grants(bound.setting)


def test_a_grant_is_for_a_time_to_come(bound):
    """One that is over already changes nothing."""
    with pytest.raises(InvalidParameter, match="a moment to come"):
        add_grant(bound.setting, ACCOUNT, extra(until=START), by="olga")

    assert ceiling(bound) == 2


def test_a_grant_is_for_owners(bound):
    """The ledger refuses the change, and the service does not make it later in its own name."""
    with pytest.raises(NotPermitted):
        add_grant(bound.setting, ACCOUNT, extra(), by="zoe")
    assert ceiling(bound) == 2
    add_grant(bound.setting, ACCOUNT, extra("1"), by="olga")
    with pytest.raises(NotPermitted):
        add_grant(bound.setting, ACCOUNT, extra(), by="zoe")

    assert ceiling(bound) == 3


def test_an_owner_of_one_data_set_grants_nothing_on_the_people_of_several(bound):
    """The wish waits for who may, and nothing is raised then or later."""
    bound.ledger.grant("otto", "owner", dataset="visits", by="olga")
    wish = wished(bound)
    with pytest.raises(NotPermitted):
        decide(bound.service, Caller(name="otto"), wish.id, offer=VISITS, answer=OwnerAnswer(grant=True, words="Yes."))

    assert ceiling(bound) == 2
    assert find_wish(bound.service, ZOE, wish.id, offer=VISITS).state == "waiting"


def test_wishes_are_made_by_those_who_ask(bound):
    """Not by readers, auditors or strangers; three wait at most."""
    for caller, error in ((RAE, NotPermitted), (ARNE, NotPermitted), (EVE, NotFound)):
        with pytest.raises(error):
            wished(bound, caller)
    for _ in range(3):
        wished(bound)
    with pytest.raises(NotPermitted, match="wait for this data already"):
        wished(bound)
    withdraw(bound.service, ZOE, wishes_of(bound.service, ZOE)[0].id)

    assert wished(bound).state == "waiting"


@pytest.mark.parametrize(
    "changes",
    [
        {"releases": "0"},
        {"releases": "-1"},
        {"releases": "1001"},
        {"releases": "NaN"},
        {"releases": "many"},
        {"why": " "},
        {"why": "x" * 1001},
        {"why": "a\x00b"},
        {"until": START},
        {"until": START + timedelta(days=367)},
        {"until": NEXT_WEEK.replace(tzinfo=None)},
    ],
)
def test_wishes_that_cannot_be_are_refused(bound, changes):
    """How much, why and until when are each within bounds."""
    with pytest.raises(InvalidParameter):
        wished(bound, **changes)

    assert wishes_of(bound.service, ZOE) == ()


def test_wishes_are_seen_by_who_made_them_and_who_decides(bound):
    """Others cannot tell that there are any."""
    wish = wished(bound)
    assert wishes_of(bound.service, MAX) == ()
    assert [one.id for one in wishes_on(bound.service, OLGA, VISITS)] == [wish.id]
    assert wishes_on(bound.service, OLGA, CLICKS) == ()
    assert find_wish(bound.service, ARNE, wish.id, offer=VISITS) == wish
    for caller, name in ((MAX, wish.id), (EVE, wish.id), (MAX, "w_nothing")):
        with pytest.raises(NotFound):
            find_wish(bound.service, caller, name, offer=VISITS)
    with pytest.raises(NotPermitted):
        wishes_on(bound.service, ZOE, VISITS)
    with pytest.raises(NotFound):
        withdraw(bound.service, MAX, wish.id)


def test_a_narrowed_token_sees_and_changes_no_more_of_ones_own(bound):
    """One for other data finds nothing; one that only reads takes nothing back."""
    wish = wished(bound)
    for scopes, datasets, error in ((("manage",), ("clicks",), NotFound), (("read",), None, NotPermitted)):
        wanted = WantedToken(label="s", scopes=scopes, datasets=datasets)
        caller = Caller(name="zoe", token=make_token(bound.setting, KEY, owner="zoe", wanted=wanted).token)
        with pytest.raises(error):
            withdraw(bound.service, caller, wish.id)
        assert len(wishes_of(bound.service, caller)) == (datasets is None)

    assert find_wish(bound.service, ZOE, wish.id, offer=VISITS).state == "waiting"


def test_a_decision_is_made_once_by_an_owner_and_is_on_record(bound):
    """With less than was wished; a second one, and one by the wisher, are refused."""
    wish = wished(bound)
    for caller in (ZOE, ARNE):
        with pytest.raises(NotPermitted):
            decide(bound.service, caller, wish.id, offer=VISITS, answer=OwnerAnswer(grant=True, words="Yes."))
    answer = OwnerAnswer(grant=True, words="One will do.", releases="1", until=START + timedelta(days=2))
    decided = decide(bound.service, OLGA, wish.id, offer=VISITS, answer=answer)
    for grant in (True, False):
        with pytest.raises(NotPermitted, match="granted already"):
            decide(bound.service, OLGA, wish.id, offer=VISITS, answer=OwnerAnswer(grant=grant, words="Again."))
    with pytest.raises(NotPermitted):
        withdraw(bound.service, ZOE, wish.id)

    assert ceiling(bound) == 3
    assert find_wish(bound.service, ZOE, wish.id, offer=None) == decided
    assert wish_form(decided)["decision"] == {
        "by": "olga",
        "at": "2026-11-16T12:00:00+00:00",
        "words": "One will do.",
        "releases": "1",
        "until": "2026-11-18T12:00:00+00:00",
        "of": "analyst",
    }


def test_a_declined_wish_changes_nothing(bound):
    """But the sentence is kept."""
    wish = wished(bound)
    decided = decide(
        bound.service, OLGA, wish.id, offer=VISITS, answer=OwnerAnswer(grant=False, words="Not this month.")
    )

    assert ceiling(bound) == 2
    assert (decided.state, decided.decision.words, decided.decision.releases) == ("declined", "Not this month.", None)


def test_a_wish_about_other_data_is_not_decided_here(bound):
    """An owner of one data set decides for that one."""
    wish = wished(bound)
    bound.ledger.grant("otto", "owner", dataset="clicks", by="olga")
    with pytest.raises(NotFound):
        decide(bound.service, Caller(name="otto"), wish.id, offer=CLICKS, answer=OwnerAnswer(grant=True, words="Yes."))
    with pytest.raises(NotFound):
        decide(bound.service, OLGA, wish.id, offer=CLICKS, answer=OwnerAnswer(grant=True, words="Yes."))

    assert find_wish(bound.service, ZOE, wish.id, offer=VISITS).state == "waiting"


def test_of_two_owners_who_decide_at_once_one_does(bound, monkeypatch):
    """The second read the wish before the first had decided."""
    wish = wished(bound)
    stale = bound.ledger.records.find("wish", wish.id)
    decide(bound.service, OLGA, wish.id, offer=VISITS, answer=OwnerAnswer(grant=True, words="Yes."))
    real = bound.ledger.records.find
    monkeypatch.setattr(bound.ledger.records, "find", lambda kind, name: stale if kind == "wish" else real(kind, name))
    with pytest.raises(Outdated):
        decide(bound.service, OLGA, wish.id, offer=VISITS, answer=OwnerAnswer(grant=True, words="Me too."))

    assert ceiling(bound) == 5
