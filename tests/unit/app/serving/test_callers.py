"""Roles: nobody by default, narrowed by tokens, and what is refused looks like what is not there."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hushcount.app.serving.callers.callers import Caller, require, require_self, role_on, roles_on
from hushcount.app.serving.callers.tokens import Token
from hushcount.errors import NotFound, NotPermitted
from hushcount.ledger.ledger import EVERY
from tests.unit.app.serving.stand_in import START, StandInOffer, make_service

OFFER, OTHER = StandInOffer(id="d1"), StandInOffer(id="d2")


@pytest.fixture
def service():
    """Zoe is an analyst of one data set, olga owns everything, arne audits, the group lab reads one."""
    service = make_service()
    ledger = service.setting.ledger
    ledger.roles.update(
        {
            ("zoe", "d1"): "analyst",
            ("olga", EVERY): "owner",
            ("arne", EVERY): "auditor",
            ("nightly", "d1"): "program",
            ("group:lab", "d1"): "reader",
            ("group:staff", "d1"): "analyst",
            ("group:boss", "d1"): "owner",
        }
    )
    return service


def token(owner, *scopes, datasets=None, cap=None):
    """A token with these scopes."""
    return Token(
        id="t_1",
        owner=owner,
        label="script",
        scopes=scopes,
        datasets=datasets,
        expires=START + timedelta(days=1),
        cap=cap,
        made=START,
    )


def test_nobody_has_a_role_by_default(service):
    """A stranger, and an analyst elsewhere, are nobody here; as if the data was not there."""
    for caller, offer in ((Caller(name="max"), OFFER), (Caller(name="zoe"), OTHER), (Caller(name="zoe"), None)):
        assert role_on(service, caller, offer) is None
        with pytest.raises(NotFound) as refused:
            require(service, caller, offer, "analyst", deed="ask")
        assert "engagements" not in str(refused.value)


def test_what_is_forbidden_and_what_is_missing_are_told_in_the_same_words(service):
    """A caller cannot find out which data sets there are."""
    texts = set()
    for offer in (OTHER, StandInOffer(id="never registered")):
        with pytest.raises(NotFound) as refused:
            require(service, Caller(name="zoe"), offer, "analyst", deed="ask")
        texts.add(str(refused.value))

    assert len(texts) == 1


def test_a_role_that_is_not_enough_is_said(service):
    """Whoever may see the data is told what they lack."""
    with pytest.raises(NotPermitted, match="may not change limits: that is for owners, and their role here is analyst"):
        require(service, Caller(name="zoe"), OFFER, "owner", deed="change limits")

    assert require(service, Caller(name="zoe"), OFFER, "owner", "analyst", deed="ask") == "analyst"
    assert require(service, Caller(name="olga"), OTHER, "owner", "analyst", deed="ask") == "owner"


def test_the_person_at_the_machine_owns_everything(service):
    """In the mode for one person, also what nobody gave them."""
    caller = Caller(name="max", local=True)

    assert role_on(service, caller, OFFER) == role_on(service, caller, None) == "owner"


@pytest.mark.parametrize(
    ("name", "scopes", "roles"),
    [
        ("olga", ("manage",), {"owner"}),
        ("olga", ("ask",), {"analyst"}),
        ("olga", ("read",), {"reader"}),
        ("olga", ("program",), {"program"}),
        ("olga", ("ask", "program"), {"analyst", "program"}),
        ("zoe", ("manage",), {"analyst"}),
        ("zoe", ("ask",), {"analyst"}),
        ("zoe", ("read",), {"reader"}),
        ("zoe", ("program",), set()),
        ("arne", ("ask",), set()),
        ("arne", ("read",), {"auditor"}),
        ("arne", ("manage",), {"auditor"}),
        ("nightly", ("program",), {"program"}),
        ("nightly", ("ask",), set()),
        ("nightly", ("read",), set()),
        ("max", ("manage",), set()),
    ],
)
def test_a_token_narrows_and_never_widens(service, name, scopes, roles):
    """Each scope makes of a role the same or less."""
    assert roles_on(service, Caller(name=name, token=token(name, *scopes)), OFFER) == roles


def test_a_token_for_some_data_sets_reaches_no_other_and_nothing_general(service):
    """What concerns the whole ledger is not one of its data sets."""
    caller = Caller(name="olga", token=token("olga", "manage", datasets=("d1",)))

    assert role_on(service, caller, OFFER) == "owner"
    assert role_on(service, caller, OTHER) is None
    assert role_on(service, caller, None) is None
    with pytest.raises(NotFound):
        require(service, caller, OTHER, "owner", deed="look")


def test_a_narrowed_token_is_not_the_person(service):
    """What is for themselves needs them, or a whole token."""
    for narrowed in (token("zoe", "ask"), token("zoe", "manage", datasets=()), token("zoe", "manage", cap="1")):
        with pytest.raises(NotPermitted):
            require_self(Caller(name="zoe", token=narrowed), deed="make tokens")

    require_self(Caller(name="zoe", token=token("zoe", "manage")), deed="make tokens")
    require_self(Caller(name="zoe"), deed="make tokens")


def test_groups_give_roles_to_those_without_one_of_their_own(service):
    """The strongest of a group's roles that groups may have; an owner by group is nobody."""
    assert role_on(service, Caller(name="max", groups=("lab",)), OFFER) == "reader"
    assert role_on(service, Caller(name="max", groups=("lab", "staff")), OFFER) == "analyst"
    assert role_on(service, Caller(name="max", groups=("boss",)), OFFER) is None
    assert role_on(service, Caller(name="max", groups=("lab",)), OTHER) is None
    assert role_on(service, Caller(name="nightly", groups=("staff",)), OFFER) == "program"


def test_a_role_that_is_taken_ends_its_tokens_powers(service):
    """A token never outlives what its owner may."""
    caller = Caller(name="zoe", token=token("zoe", "ask"))
    assert role_on(service, caller, OFFER) == "analyst"
    service.setting.ledger.grant("zoe", None, entity="d1", by="olga")

    assert role_on(service, caller, OFFER) is None
