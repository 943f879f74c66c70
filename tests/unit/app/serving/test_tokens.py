"""Tokens and invitations: what proves them, what ends them, what they may never do."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest

from hushcount.app.serving.callers import passes
from hushcount.app.serving.callers.invitations import accept, invite
from hushcount.app.serving.callers.tokens import WantedToken, know_token, make_token, revoke, token_form, tokens_of
from hushcount.app.serving.opening import open_service
from hushcount.errors import InvalidParameter, NotFound, NotPermitted, NotSignedIn
from hushcount.ledger.ledger import EVERY, SERVICE
from tests.unit.app.serving.services import make_config, running_service
from tests.unit.app.serving.stand_in import make_service

KEY = bytes(range(32))


@pytest.fixture
def service():
    """A service whose clock stands."""
    return make_service()


def made(service, **wanted):
    """A token of zoe's."""
    return make_token(service.setting, KEY, owner="zoe", wanted=WantedToken(label="script", **wanted))


def test_a_token_is_known_again(service):
    """Its text alone brings back for whom it acts and what narrows it."""
    new = made(service, scopes=("ask", "read"), datasets=("d2", "d1"), cap="2.5")
    token = know_token(service.setting, KEY, new.text.text)

    assert token == new.token
    assert (token.owner, token.scopes, token.datasets, token.cap) == ("zoe", ("read", "ask"), ("d1", "d2"), "2.5")


def test_what_is_kept_and_shown_holds_no_secret(service):
    """Neither the record, nor the form, nor what is printed for debugging has any of the secret's letters."""
    new = made(service)
    secret = new.text.text.removeprefix("hush_")[16:68]
    record = service.setting.ledger.records.find("token", new.token.id)

    assert len(secret) == 52
    for shown in (repr(record), repr(new), str(token_form(new.token))):
        assert secret[:12] not in shown
    assert passes.digest(KEY, new.text.text) == record.body["digest"]
    assert passes.digest(bytes(32), new.text.text) != record.body["digest"]


def test_every_single_changed_letter_is_caught_before_the_ledger_is_asked(service, monkeypatch):
    """The checksum sees each change of one letter, a cut, a prefix in other letters, and what is added."""
    text = made(service).text.text
    monkeypatch.setattr(service.setting.ledger, "records", None)
    wrong = [text[:n] + ("a" if text[n] != "a" else "b") + text[n + 1 :] for n in range(5, len(text))]

    for other in (*wrong, text[:-1], text + "a", text.upper(), "hush_", "", "hush_" + "ä" * 75, text + "\n"):
        with pytest.raises(NotSignedIn, match="mistyped"):
            know_token(service.setting, KEY, other)


def test_another_secret_with_a_right_checksum_is_nobodys(service):
    """Also under the id of a token that is there, and under another key of the service."""
    text = made(service).text.text
    body = text[5:21] + "a" * 52
    forged = f"hush_{body}{passes._checksum('hush_' + body)}"  # noqa: SLF001

    for key, other in ((KEY, forged), (bytes(32), text), (KEY, passes.new_pass("hush_", "t").text)):
        with pytest.raises(NotSignedIn, match="nobody has this token"):
            know_token(service.setting, key, other)


def test_a_record_that_is_not_there_is_compared_like_one_that_is(monkeypatch):
    """The comparison in constant time is made in both cases, and never succeeds without a record."""
    calls = []
    real = passes.hmac.compare_digest
    monkeypatch.setattr(passes.hmac, "compare_digest", lambda a, b: calls.append(1) or real(a, b))

    assert not passes.matches(KEY, "", kept=None)
    assert passes.matches(KEY, "x", kept=passes.digest(KEY, "x"))
    assert len(calls) == 2


def test_a_revoked_token_ends_at_once(service):
    """Its owner revokes it, repeatedly if they like; others cannot, and cannot tell that it is there."""
    new = made(service)
    with pytest.raises(NotFound):
        revoke(service.setting, new.token.id, by="max")
    with pytest.raises(NotFound):
        revoke(service.setting, "t_nothing", by="zoe")
    assert know_token(service.setting, KEY, new.text.text)
    first = revoke(service.setting, new.token.id, by="zoe")
    service.setting.clock.move(minutes=5)

    assert revoke(service.setting, new.token.id, by="zoe").revoked == first.revoked
    assert tokens_of(service.setting, "zoe") == ()
    with pytest.raises(NotSignedIn, match="revoked"):
        know_token(service.setting, KEY, new.text.text)


def test_an_owner_revokes_anybodys(service):
    """A leaked token is ended by whoever finds it."""
    new = made(service)
    revoke(service.setting, new.token.id, by="olga", everybody=True)

    with pytest.raises(NotSignedIn):
        know_token(service.setting, KEY, new.text.text)


def test_a_token_ends_with_its_time(service):
    """A second before it is taken, at its end it is not."""
    text = made(service, life=timedelta(hours=1)).text.text
    service.setting.clock.move(minutes=59, seconds=59)
    assert know_token(service.setting, KEY, text)
    service.setting.clock.move(seconds=1)

    with pytest.raises(NotSignedIn, match="ended"):
        know_token(service.setting, KEY, text)


def test_a_cap_is_a_limit_of_the_ledger(service, monkeypatch):
    """For all populations and the token's life; where it cannot be set, nobody gets the token's text."""
    new = made(service, cap="3")
    limit, by = service.setting.ledger.limits["token", new.token.id, EVERY]

    assert by == "zoe"
    assert (limit.ceiling.rho, limit.window, limit.mode) == (Decimal("0.3"), "none", "enforce")

    def fail(*_, **__):
        raise NotPermitted("no")

    monkeypatch.setattr(service.setting.ledger, "set_limit", fail)
    with pytest.raises(NotPermitted):
        made(service, cap="3")


@pytest.mark.parametrize(
    "wanted", [{"scopes": ("everything",)}, {"scopes": ()}, {"life": timedelta(0)}, {"life": timedelta(days=367)}]
)
def test_what_cannot_be_is_not_made(service, wanted):
    """A scope that is not known, no scope, no life, a life without end."""
    with pytest.raises(InvalidParameter):
        made(service, **wanted)

    assert tokens_of(service.setting, "zoe") == ()


def test_a_bad_cap_leaves_nothing_behind(service):
    """A cap that is no number makes neither a limit nor a token."""
    with pytest.raises(InvalidParameter):
        made(service, cap="many")

    assert not service.setting.ledger.limits
    assert tokens_of(service.setting, "zoe") == ()


def test_a_narrowed_token_makes_no_other(service):
    """Or its bounds would bind nothing; a whole one makes tokens that end no later than itself."""
    for bounds in ({"scopes": ("ask",)}, {"scopes": ("manage",), "cap": "1"}, {"scopes": ("manage",), "datasets": ()}):
        maker = made(service, **bounds).token
        with pytest.raises(NotPermitted, match="narrowed or capped"):
            make_token(service.setting, KEY, owner="zoe", wanted=WantedToken(label="more"), maker=maker)
    whole = made(service, scopes=("manage",), life=timedelta(days=1)).token
    child = make_token(service.setting, KEY, owner="zoe", wanted=WantedToken(label="more"), maker=whole)

    assert child.token.expires == whole.expires


def test_a_person_has_a_hundred_tokens_at_most(service):
    """Revoked ones do not count."""
    first = made(service)
    for _ in range(99):
        made(service)
    with pytest.raises(NotPermitted, match="revoke some"):
        made(service)
    revoke(service.setting, first.token.id, by="zoe")

    assert made(service)


def test_an_invitation_makes_an_owner_once(service):
    """The link gives the role and a token; the second time, and for ever after, it gives nothing."""
    invitation = invite(service.setting, KEY, person="olga", by=SERVICE)
    assert invitation.link("https://c.example").startswith("https://c.example/welcome#hushinvite_")
    assert invitation.text.text not in repr(invitation)
    new = accept(service.setting, KEY, invitation.text.text)

    assert service.setting.ledger.roles == {("olga", EVERY): "owner"}
    assert know_token(service.setting, KEY, new.text.text).owner == "olga"
    with pytest.raises(NotSignedIn):
        accept(service.setting, KEY, invitation.text.text)


def test_of_two_who_accept_at_once_one_gets_it(service, monkeypatch):
    """Whoever read the record before the other wrote it is refused by its edition."""
    invitation = invite(service.setting, KEY, person="olga", by=SERVICE)
    records = service.setting.ledger.records
    stale = records.find("invitation", invitation.id)
    accept(service.setting, KEY, invitation.text.text)
    service.setting.ledger.roles.clear()
    monkeypatch.setattr(records, "find", lambda kind, name: stale)

    with pytest.raises(NotSignedIn):
        accept(service.setting, KEY, invitation.text.text)
    assert not service.setting.ledger.roles


def test_an_invitation_ends_and_is_no_token(service):
    """After a day it gives nothing; it never signs anybody in, nor does a token invite."""
    invitation = invite(service.setting, KEY, person="olga", by=SERVICE)
    token = made(service)
    with pytest.raises(NotSignedIn):
        know_token(service.setting, KEY, invitation.text.text)
    with pytest.raises(NotSignedIn):
        accept(service.setting, KEY, token.text.text)
    service.setting.clock.move(days=1)

    with pytest.raises(NotSignedIn):
        accept(service.setting, KEY, invitation.text.text)
    assert not service.setting.ledger.roles


def test_reserved_names_are_not_invited(service):
    """The service's own name and names that look like groups are nobody's."""
    for name in (SERVICE, "group:all", "*", "", "a\nb"):
        with pytest.raises(InvalidParameter):
            invite(service.setting, KEY, person=name, by=SERVICE)


def test_ids_are_random(service):
    """No counter: two tokens share no beginning, and ids have 80 bits."""
    ids = {made(service).token.id for _ in range(50)}

    assert len({one[:6] for one in ids}) > 40
    assert all(len(one) == 18 for one in ids)


def test_a_new_key_ends_all_tokens_and_nothing_else(tmp_path):
    """What to do if the key got out: a new file and a restart. Roles, spending and answers are as they were."""
    config = make_config(tmp_path)
    with running_service(config) as before:
        old = make_token(before.setting, before.tokens_key, owner="zoe", wanted=WantedToken(label="script")).text.text
        sent = invite(before.setting, before.tokens_key, person="eve", by=SERVICE)
        known = know_token(before.setting, before.tokens_key, old)
    config.keys.tokens.write_bytes(bytes(range(64, 96)))
    with open_service(config) as after:
        new = make_token(after.setting, after.tokens_key, owner="zoe", wanted=WantedToken(label="script")).text.text
        with pytest.raises(NotSignedIn, match="nobody has this token"):
            know_token(after.setting, after.tokens_key, old)
        with pytest.raises(NotSignedIn):
            accept(after.setting, after.tokens_key, sent.text.text)

        assert (known.owner, after.ledger.role_of("olga")) == ("zoe", "owner")
        assert not after.ledger.verify().problems
        assert know_token(after.setting, after.tokens_key, new).owner == "zoe"
