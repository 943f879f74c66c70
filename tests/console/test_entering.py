"""Signing in by an issuer: there and back in a browser, and every way back that is not the one that began."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hushcount.app.serving.setup.config import Oidc
from tests.console.issuer import SECRET, CodeIssuer
from tests.console.site import served
from tests.console.test_guard import called


@pytest.fixture(scope="module")
def issuer():
    """An issuer."""
    made = CodeIssuer()
    yield made
    made.close()


@pytest.fixture(scope="module")
def entered(tmp_path_factory, issuer):
    """A console where people sign in by the issuer alone, and everybody in the group may ask."""
    folder = tmp_path_factory.mktemp("entered")
    secret = folder / "oidc-secret"
    secret.write_text(SECRET, encoding="utf-8")
    secret.chmod(0o600)
    oidc = Oidc(
        issuer=issuer.address,
        client_id="hushcount",
        audience="the interface",
        client_secret_file=secret,
        groups_claim="groups",
    )

    def by_it_alone(config):
        return replace(config, auth=replace(config.auth, tokens=False, oidc=oidc))

    with served(folder, hostile=[], change=by_it_alone) as site:
        offer = site.service.served.find("reading")
        site.service.ledger.grant("group:reporting", "analyst", dataset=offer.id, by="olga")
        yield site


@pytest.fixture
def gone(entered):
    """A browser's cookie once it went there, and where it was sent."""
    status, headers, _ = called(entered, "GET", "/console/enter?next=/console/history")
    assert status == 303
    return headers["set-cookie"].partition(";")[0], headers["location"]


def came(entered, issuer, gone, change=lambda address: address, **more):
    """Come back, with a changed address or cookie: status, headers, body."""
    from urllib.parse import parse_qs, urlsplit

    back = issuer.code_for(parse_qs(urlsplit(gone[1]).query))
    address = change(back.removeprefix(entered.url))
    try:
        return called(entered, "GET", address, **{"Cookie": gone[0], **more})
    finally:
        entered.forgive()


def test_a_browser_is_signed_in_by_the_issuer(entered, window):
    """There, back, and on to the page that was wanted; with the groups that the issuer said; and out again."""
    page = window()
    page.goto(f"{entered.url}/console/budget")
    page.click("text=Sign in at localhost")
    page.wait_for_url("**/console/budget")
    who, left = page.inner_text(".who"), page.inner_text("main")
    cookies = {one["name"]: one["sameSite"] for one in page.context.cookies(entered.url)}
    page.click("text=Sign out")
    page.goto(f"{entered.url}/console/data")

    assert "zoe" in who
    assert "reading" in left
    assert cookies == {"hushcount": "Strict"}
    assert "/console/sign-in" in page.url


def test_the_way_back_works_once(entered, issuer, gone):
    """It begins a session; the code is spent then."""
    status, headers, _ = came(entered, issuer, gone)
    again = called(entered, "GET", f"/console/entered?code=code-0&state={'x'}", Cookie=gone[0])
    entered.forgive()

    assert (status, headers["location"]) == (303, "/console/history")
    assert again[0] == 401


@pytest.mark.parametrize(
    ("change", "cookie"),
    [
        (lambda address: address.replace("state=", "state=x"), None),
        (lambda address: address.replace("code=", "nocode="), None),
        (lambda address: address.replace("code=code", "code=other"), None),
        (lambda address: address.replace("iss=http", "iss=https"), None),
        (lambda address: address, ""),
        (lambda address: address, "hushcount-entry=forged.mac"),
    ],
    ids=["another state", "no code", "another code", "another issuer", "never went", "forged"],
)
def test_any_other_way_back_signs_nobody_in(entered, issuer, gone, change, cookie):
    """Whatever is changed of it, no session begins; the page says to begin anew."""
    more = {} if cookie is None else {"Cookie": cookie}
    status, headers, body = came(entered, issuer, gone, change, **more)

    assert status == 401
    assert "set-cookie" not in headers
    assert "Nothing was charged" in body


def test_the_cookie_of_another_browser_is_no_help(entered, issuer, gone):
    """Who is made to come back on somebody else's way is not signed in as them."""
    other = called(entered, "GET", "/console/enter")[1]["set-cookie"].partition(";")[0]
    status, headers, _ = came(entered, issuer, gone, Cookie=other)

    assert status == 401
    assert "set-cookie" not in headers


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "another"},
        {"aud": "the interface"},
        {"iss": "http://localhost:1"},
        {"exp": 1},
        {"sub": "group:reporting"},
    ],
    ids=["nonce", "audience", "issuer", "over", "a group's name"],
)
def test_a_word_that_is_not_for_this_way_in_is_refused(entered, issuer, gone, claims):
    """A nonce of another way in, a word for the interface, of somebody else, over, or that names no person."""
    issuer.claims = claims
    try:
        status, headers, _ = came(entered, issuer, gone)
    finally:
        issuer.claims = {}

    assert status == 401
    assert "set-cookie" not in headers


def test_an_entry_is_over_after_ten_minutes_and_holds_under_our_key_alone():
    """What the browser keeps for the way back is ours, and not for long."""
    from datetime import UTC, datetime, timedelta

    from hushcount.app.serving.callers.entering import LIFE, entry_of, new_entry
    from hushcount.errors import NotSignedIn

    now, key = datetime(2026, 11, 17, tzinfo=UTC), bytes(range(32))
    entry = new_entry("/console/data", now)
    kept = entry.kept(key)

    assert entry_of(key, kept, now + LIFE - timedelta(seconds=1)) == entry
    for wrong, when in ((kept, now + LIFE), (kept[:-1] + "x", now), ("", now), (f"e30.{'0' * 64}", now)):
        with pytest.raises(NotSignedIn):
            entry_of(key, wrong, when)
    with pytest.raises(NotSignedIn):
        entry_of(bytes(32), kept, now)
