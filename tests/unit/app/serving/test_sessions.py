"""Sessions: what proves them, what ends them, and what they never are more than."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace

import pytest

from hushcount.app.serving.callers import sessions
from hushcount.app.serving.callers.callers import Caller
from hushcount.app.serving.callers.tokens import WantedToken, make_token, revoke
from hushcount.app.serving.setup.config import Server
from hushcount.errors import NotSignedIn
from tests.unit.app.serving.stand_in import make_service

KEY = bytes(range(32))


@pytest.fixture
def service():
    """A service whose clock stands."""
    return make_service()


def token_of(service, **wanted):
    """A token of zoe's."""
    return make_token(service.setting, KEY, owner="zoe", wanted=WantedToken(label="browser", **wanted)).token


def begun(service, **known):
    """The cookie of a new session of zoe's."""
    return sessions.begin(service.setting, KEY, caller=Caller(name="zoe", **known)).text


def test_a_session_is_its_token_and_no_more(service):
    """Whoever has the cookie acts as the token does, narrowed as it is."""
    token = token_of(service, scopes=("read",), datasets=("d1",))

    assert sessions.know_session(service.setting, KEY, begun(service, token=token)) == Caller(name="zoe", token=token)


def test_a_session_of_an_issuer_keeps_its_groups(service):
    """As the issuer said them."""
    known = sessions.know_session(service.setting, KEY, begun(service, groups=("a", "b")))

    assert known == Caller(name="zoe", groups=("a", "b"))


def test_what_is_kept_holds_no_secret(service):
    """A copy of the ledger signs nobody in."""
    text = begun(service, token=token_of(service))
    (record,) = service.setting.ledger.records.page(sessions.KIND)

    assert text.removeprefix(sessions.PREFIX)[16:28] not in repr(record)
    for key, given in ((bytes(32), text), (KEY, text[:-1]), (KEY, record.body["digest"]), (KEY, "")):
        with pytest.raises(NotSignedIn):
            sessions.know_session(service.setting, key, given)


@pytest.mark.parametrize("how", ["sign out", "revoke", "hours", "the token's own end"])
def test_a_session_ends(service, how):
    """By signing out, with its token, and after its hours; of the last two the earlier."""
    token = token_of(service, life=timedelta(hours=1) if how == "the token's own end" else timedelta(days=1))
    text = begun(service, token=token)
    if how == "sign out":
        sessions.end(service.setting, KEY, text)
        sessions.end(service.setting, KEY, text)
    elif how == "revoke":
        revoke(service.setting, token.id, by="zoe")
    else:
        service.setting.clock.move(hours=12 if how == "hours" else 1)

    with pytest.raises(NotSignedIn, match="over"):
        sessions.know_session(service.setting, KEY, text)


def test_the_oldest_sessions_give_way(service):
    """Twenty at most: a stolen way in is not kept alive by many new ones, and the ledger is not filled."""
    token = token_of(service)
    texts = [begun(service, token=token) for _ in range(25)]

    assert len(service.setting.ledger.records.page(sessions.KIND, size=100)) == 20
    assert sessions.know_session(service.setting, KEY, texts[-1]).name == "zoe"


@pytest.mark.parametrize("header", [None, "", "other=x", "__Host-hushcount=b", "hushcount", "a\x00b=c"])
def test_a_cookie_that_is_not_there_is_none(header):
    """Nor is one of a name that is nearly the same."""
    assert sessions.cookie_of(header, "hushcount") is None
    assert sessions.cookie_of("a=b; hushcount=text; c=d", "hushcount") == "text"


@pytest.mark.parametrize("name", [sessions.COOKIE, "hushcount-entry"])
def test_over_tls_a_cookie_has_a_name_that_no_other_host_can_set(name):
    """And a plain one, which a neighbour can plant, is not looked at: neither to sign in, nor to sign out."""
    over_tls, plain = (SimpleNamespace(server=Server(public_url=url)) for url in ("https://c.example", None))

    assert sessions.cookie_name(over_tls, name) == f"__Host-{name}"
    assert sessions.cookie_name(plain, name) == name
