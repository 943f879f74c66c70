"""People, limits and the log through a service: who may, what holds, and why."""

from __future__ import annotations

import pytest

from hushcount.app.serving.callers.callers import Caller, role_on
from hushcount.app.serving.callers.invitations import accept, invite
from hushcount.app.serving.callers.tokens import WantedToken, know_token, make_token
from hushcount.app.serving.owners.limits import Target, limit_form, limits_in_force, set_limit, typed_limit
from hushcount.app.serving.owners.log import entry_form, log_page, read_heads, verdict_form, verify
from hushcount.app.serving.owners.people import me, people, person_form, set_member, set_role, why
from hushcount.app.serving.owners.rules import read_rules
from hushcount.errors import BudgetExhausted, InvalidParameter, NotFound, NotPermitted
from hushcount.ledger.chain import canonical, link
from hushcount.ledger.ledger import EVERY, Account
from tests.conformance.ledgers.stores import answered, ask
from tests.unit.app.serving.world import ARNE, CLICKS, EVE, KEY, MAX, OLGA, RAE, VISITS, ZOE


def test_roles_are_given_for_one_data_set(world):
    """And hold there alone; taken away they are nobody's."""
    set_role(world.service, OLGA, "eve", role="analyst", offer=CLICKS)
    assert (role_on(world.service, EVE, CLICKS), role_on(world.service, EVE, VISITS)) == ("analyst", None)
    set_role(world.service, OLGA, "eve", role=None, offer=CLICKS)

    assert role_on(world.service, EVE, CLICKS) is None


def test_only_owners_give_roles(world):
    """An analyst is told so; a stranger learns nothing; an owner of one data set owns that one."""
    with pytest.raises(NotPermitted):
        set_role(world.service, ZOE, "eve", role="owner", offer=VISITS)
    with pytest.raises(NotPermitted):
        set_role(world.service, ARNE, "eve", role="owner", offer=None)
    with pytest.raises(NotFound):
        set_role(world.service, EVE, "eve", role="owner", offer=VISITS)
    set_role(world.service, OLGA, "otto", role="owner", offer=CLICKS)
    otto = Caller(name="otto")
    set_role(world.service, otto, "eve", role="reader", offer=CLICKS)
    for offer in (VISITS, None):
        with pytest.raises(NotFound):
            set_role(world.service, otto, "eve", role="owner", offer=offer)

    assert role_on(world.service, EVE, CLICKS) == "reader"


def test_groups_get_the_roles_that_groups_may_have(world):
    """Those named by an issuer; names that mean something else are refused."""
    set_role(world.service, OLGA, "group:lab", role="reader", offer=VISITS)
    assert role_on(world.service, Caller(name="eve", groups=("lab",)), VISITS) == "reader"
    for name, role in (("group:lab", "owner"), ("group:", "reader"), ("the service", "analyst"), ("*", "owner")):
        with pytest.raises(InvalidParameter):
            set_role(world.service, OLGA, name, role=role, offer=VISITS)


def test_who_has_which_role_is_told_with_who_gave_it(world):
    """For one data set, with those who have it for everything; to owners and auditors."""
    set_member(world.service, OLGA, "zoe", group="lab", member=True)
    found = {
        person.name: person_form(person, names={"visits": "Visits"}) for person in people(world.service, ARNE, VISITS)
    }

    assert set(found) == {"the service", "olga", "arne", "zoe", "max", "rae"}
    assert found["zoe"]["roles"] == [
        {"where": "the data set 'Visits'", "role": "analyst", "by": "olga", "when": "2026-11-16T12:00:00+00:00"}
    ]
    assert found["zoe"]["groups"] == ["lab"]
    assert found["olga"]["roles"][0]["where"] == "everything"
    assert "zoe" not in {person.name for person in people(world.service, OLGA, CLICKS)}
    with pytest.raises(NotPermitted):
        people(world.service, ZOE, VISITS)


def test_why_somebody_may_ask(world):
    """The role and who gave it, what bounds them, and their tokens with caps."""
    set_member(world.service, OLGA, "zoe", group="lab", member=True)
    make_token(world.setting, KEY, owner="zoe", wanted=WantedToken(label="nightly", cap="2"))
    told = why(world.service, OLGA, "zoe", offer=VISITS)
    words = " ".join(told.because)

    assert told.may
    assert "'zoe' may ask about 'visits': 'olga' gave them the role analyst for the data set 'visits'" in words
    assert "Analyst 'zoe' on this data set may spend no limit." in words
    assert "Group 'lab' on this data set" in words
    assert "This data set may spend 10 standard releases a month." in words
    assert "(nightly) asks for them until 2027-02-14, with a cap of 2 standard releases." in words


def test_why_somebody_may_not(world):
    """No role, a role that asks nothing, a freeze; each in a sentence."""
    nobody, reader = (why(world.service, OLGA, name, offer=VISITS) for name in ("eve", "rae"))
    assert (nobody.may, nobody.role) == (False, None)
    assert "nobody gave them a role" in nobody.because[0]
    assert (reader.may, "may not ask" in reader.because[0]) == (False, True)
    for place in ("visits", EVERY):
        world.ledger.records.put("freeze", place, {}, owner="olga", by="olga")
        frozen = why(world.service, OLGA, "zoe", offer=VISITS)
        assert not frozen.may
        assert "are stopped since 2026-11-16 12:00 UTC" in " ".join(frozen.because)
        world.ledger.records.put("freeze", place, None, owner="olga", by="olga")

    assert why(world.service, ZOE, "zoe", offer=VISITS).may
    for caller, error in ((MAX, NotPermitted), (EVE, NotFound)):
        with pytest.raises(error):
            why(world.service, caller, "zoe", offer=VISITS)


def test_what_why_says_is_what_the_ledger_does(world):
    """Whoever may not, by the words, gets nothing from the ledger either, as far as the ledger knows roles."""
    assert not why(world.service, OLGA, "rae", offer=VISITS).may
    with pytest.raises(NotPermitted):
        world.answered("rae", "q")
    assert why(world.service, OLGA, "zoe", offer=VISITS).may

    assert world.answered("zoe", "q").payload


def test_callers_are_told_who_they_are(world):
    """With groups of the ledger and of their issuer, and their token without its secret."""
    set_member(world.service, OLGA, "zoe", group="lab", member=True)
    new = make_token(world.setting, KEY, owner="zoe", wanted=WantedToken(label="s", cap="1"))
    told = me(world.service, Caller(name="zoe", token=new.token, groups=("staff",)))

    assert told["groups"] == ["lab", "staff"]
    assert told["token"] == {"id": new.token.id, "scopes": ["ask"], "cap": "1"}
    assert me(world.service, OLGA)["role"] == "owner"
    assert me(world.service, EVE)["role"] is None
    assert me(world.service, Caller(name="ann", local=True))["role"] == "owner"


def test_rules_are_read_on_from_where_they_were(world):
    """A second reading takes up what came after, and equals one from the start."""
    first = read_rules(world.setting)
    set_role(world.service, OLGA, "max", role=None, offer=VISITS)
    set_member(world.service, OLGA, "zoe", group="lab", member=True)
    second, other = read_rules(world.setting), world.again()

    assert second == read_rules(other.setting)
    other.setting.ledger.close()
    assert len(second.roles) == len(first.roles) - 1
    assert (first.groups_of("zoe"), second.groups_of("zoe")) == ((), ("lab",))


def test_rules_are_not_read_in_part(world):
    """A service that does not own the ledger would see its own deeds only, and take them for all."""
    world.ledger.grant(world.setting.analyst, None, by="olga")
    with pytest.raises(NotPermitted, match="does not own this ledger"):
        read_rules(world.setting)
    world.ledger.grant(world.setting.analyst, "owner", by="olga")

    assert read_rules(world.setting).roles


def test_limits_are_set_by_owners_and_bind(world):
    """For one analyst, for all of them, for the data; each is listed with who set it."""
    limit = typed_limit({"releases": "2"})
    target = Target(offer=VISITS, kind="analyst", name="zoe")
    for caller, error in ((ZOE, NotPermitted), (ARNE, NotPermitted), (EVE, NotFound)):
        with pytest.raises(error):
            set_limit(world.service, caller, target, limit=limit)
    set_limit(world.service, OLGA, target, limit=limit)
    set_limit(world.service, OLGA, Target(offer=VISITS, kind="analyst"), limit=typed_limit({"releases": "5"}))
    found = limits_in_force(world.service, ARNE, VISITS)
    for key in ("q1", "q2"):
        world.answered("zoe", key)

    assert [(one["whose"], one["words"], one["by"]) for one in found] == [
        ("every data set", "10 standard releases a month", "the service"),
        ("every analyst on this data set", "5 standard releases a month", "olga"),
        ("analyst 'zoe' on this data set", "2 standard releases a month", "olga"),
    ]
    with pytest.raises(BudgetExhausted):
        world.answered("zoe", "q3")
    assert len(limits_in_force(world.service, OLGA, CLICKS)) == 1
    with pytest.raises(NotPermitted):
        limits_in_force(world.service, ZOE, VISITS)
    set_limit(world.service, OLGA, target, limit=None)
    assert world.answered("zoe", "q3")
    assert limit_form(None)["words"] == "no limit"


def test_a_tokens_cap_is_held_by_the_ledger(world):
    """Two releases through the token, whatever its owner may spend otherwise; others cannot lift it."""
    new = make_token(world.setting, KEY, owner="zoe", wanted=WantedToken(label="agent", cap="2"))
    for key in ("q1", "q2"):
        answered(world.ledger, ask(key, analyst="zoe", token=new.token.id))
    with pytest.raises(BudgetExhausted):
        answered(world.ledger, ask("q3", analyst="zoe", token=new.token.id))
    assert answered(world.ledger, ask("q4", analyst="zoe"))
    with pytest.raises(NotPermitted):
        world.ledger.set_limit(Account(kind="token", name=new.token.id, entity=EVERY), None, by="max")

    assert know_token(world.setting, KEY, new.text.text).cap == "2"


def test_an_invitation_founds_an_owner_in_a_real_ledger(world):
    """The role is in the log, given by the service; the token signs in."""
    text = invite(world.setting, KEY, person="nina", by="the service").text.text
    new = accept(world.setting, KEY, text)

    assert world.ledger.role_of("nina") == "owner"
    assert know_token(world.again().setting, KEY, new.text.text).owner == "nina"
    for entry in log_page(world.service, OLGA, None, size=1000).entries:
        assert text not in str(entry)
        assert new.text.text not in str(entry)


def test_the_log_is_read_in_pages(world):
    """All entries once, oldest first; hashes can be computed from what is shown."""
    for n in range(4):
        world.answered("zoe", f"q{n}")
    found, after = [], 0
    while True:
        page = log_page(world.service, ARNE, VISITS, after=after, size=5)
        found += page.entries
        if page.after is None:
            break
        after = page.after

    assert [entry.seq for entry in found] == list(range(1, len(found) + 1))
    assert len(found) > 10
    for entry in map(entry_form, found):
        assert link(canonical(entry["body"])) == entry["hash"]


def test_the_log_is_for_those_who_see_all(world):
    """Neither analysts nor strangers; an owner of one data set of several is shown what is about that one alone."""
    for caller, offer, error in (
        (ZOE, VISITS, NotPermitted),
        (RAE, VISITS, NotPermitted),
        (EVE, VISITS, NotFound),
        (ZOE, None, NotFound),
    ):
        with pytest.raises(error):
            log_page(world.service, caller, offer)
    set_role(world.service, OLGA, "otto", role="owner", offer=VISITS)
    world.answered("zoe", "q")
    world.answered("max", "of clicks", dataset="clicks")
    shown = log_page(world.service, Caller(name="otto"), VISITS).entries
    assert [(entry.kind, entry.by) for entry in shown] == [(kind, "zoe") for kind in ("reserve", "touch", "settle")]
    for offer in (CLICKS, None):
        with pytest.raises((NotPermitted, NotFound)):
            log_page(world.service, Caller(name="otto"), offer)
    for size in (0, 100_000):
        with pytest.raises(InvalidParameter):
            log_page(world.service, OLGA, VISITS, size=size)


def test_a_verdict_comes_with_heads_that_can_be_held_against_it(world):
    """Whole now and against its own heads; not against heads that are not in it."""
    world.answered("zoe", "q")
    form = verdict_form(verify(world.service, ARNE))
    heads = read_heads(form["heads"])
    world.answered("zoe", "q2")
    forged = read_heads([{**head, "hash": "0" * 64} for head in form["heads"]])

    assert form["whole"]
    assert {head["entity"] for head in form["heads"]} >= {EVERY, "visits"}
    assert verify(world.service, OLGA, kept=heads).problems == ()
    assert verify(world.service, OLGA, kept=forged).problems
    for caller, error in ((ZOE, NotFound), (EVE, NotFound)):
        with pytest.raises(error):
            verify(world.service, caller)
    for wrong in (None, [1], [{"entity": "x"}], "heads"):
        with pytest.raises(InvalidParameter):
            read_heads(wrong)
