"""Who is let in, and what a page of somebody else's can do: nothing."""

from __future__ import annotations

import http.client
from urllib.parse import urlencode

import pytest

from tests.console.site import fetched


def called(site, method, path, body=None, **headers):
    """One exchange without following anything: status, headers, body."""
    connection = http.client.HTTPConnection(site.url.removeprefix("http://"), timeout=60)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if body is not None:
        named.setdefault("Content-Type", "application/x-www-form-urlencoded")
    connection.request(method, path, None if body is None else urlencode(body), named)
    reply = connection.getresponse()
    told = reply.status, dict(reply.getheaders()), reply.read().decode()
    connection.close()
    return told


def session(site, token):
    """The header of whoever signed in with a token."""
    kept = site.cookie(token)
    return f"{kept['name']}={kept['value']}"


def test_pages_tell_browsers_to_keep_out(site):
    """The policy allows our own script and style alone, and no frame; pages are not kept."""
    _, token = site.person()
    status, headers, body = called(site, "GET", "/console/data", Cookie=session(site, token))
    policy = {
        name["lower"] for name in ({"lower": part.strip()} for part in headers["content-security-policy"].split(";"))
    }

    assert status == 200
    assert {"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"} <= policy
    assert {"form-action 'self'", "base-uri 'none'", "connect-src 'self'"} <= policy
    assert (headers["x-content-type-options"], headers["cache-control"]) == ("nosniff", "no-store")
    assert headers["referrer-policy"] == "same-origin"
    assert "style=" not in body


def test_what_the_policy_refuses_is_noticed_by_every_test(site, window):
    """A window in which a script or a style is refused has complained: so no other test here met one."""
    page = window(site.person()[1])
    page.expected.append("Content Security Policy")
    page.goto("/console/data")
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<p style=\"color: red\">x</p>')")
    page.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: 'window.ran = 1'}))")

    assert len([said for said in page.complaints if "Content Security Policy" in said]) == 2
    assert page.evaluate("window.ran") is None


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
@pytest.mark.parametrize("path", ["/console/ask", "/console/tokens", "/console/budget/more", "/console/sign-out"])
def test_a_form_of_another_site_changes_nothing(site, path, headers):
    """Nor does one that says nothing of where it comes from, whatever session it has."""
    _, token = site.person()
    body = {"data": "reading", "label": "stolen", "releases": "5", "why": "because", "key": "k", "question": "people"}
    kept = session(site, token)
    status, _, _ = called(site, "POST", path, body if path != "/console/sign-out" else {}, Cookie=kept, **headers)

    assert status == 403
    assert len(fetched(site, "/v1/tokens", token)["data"]) == 1
    assert fetched(site, "/v1/requests", token)["data"] == []
    assert fetched(site, "/v1/queries", token)["data"] == []
    assert called(site, "GET", "/console/data", Cookie=kept)[0] == 200


def test_a_session_is_no_way_around_the_guard_of_the_interface(site):
    """With a session alone the interface can be read, and changed by pages of this site only."""
    _, token = site.person()
    kept = session(site, token)
    body = {"label": "stolen"}
    read = called(site, "GET", "/v1/tokens", Cookie=kept)
    other = called(site, "POST", "/v1/tokens", body, Cookie=kept, Origin="https://elsewhere.example")
    plain = called(site, "POST", "/v1/tokens", body, Cookie=kept, Origin=site.url, Content_Type="text/plain")

    assert read[0] == 200
    assert other[0] == 403
    assert plain[0] == 415


def test_a_link_from_elsewhere_opens_once_more_by_itself(site):
    """With such a link browsers send no session: the page is asked for again from here, and not refused."""
    _, token = site.person()
    strange = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    status, headers, _ = called(site, "GET", "/console/history?after=x", **strange)
    again = called(site, "GET", "/console/history", Cookie=session(site, token), Sec_Fetch_Site="same-origin")
    fetch = called(site, "GET", "/console/history", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="cors")
    data = called(site, "GET", "/v1/datasets", Cookie=session(site, token), **strange)

    assert (status, headers["refresh"]) == (200, "0; url=/console/history?after=x")
    assert again[0] == 200
    assert fetch[0] == 403
    assert data[0] == 403


@pytest.mark.parametrize(
    "onward",
    ["https://elsewhere.example/", "//elsewhere.example", "/console/\\elsewhere", "/v1/me", "javascript:x", ""],
)
def test_signing_in_leads_to_pages_of_the_console_alone(site, onward):
    """Whatever the link said."""
    _, token = site.person()
    status, headers, _ = called(site, "POST", "/console/sign-in", {"token": token, "next": onward}, Origin=site.url)

    assert (status, headers["location"]) == (303, "/console/data")
    assert "HttpOnly" in headers["set-cookie"]
    assert "SameSite=Strict" in headers["set-cookie"]


def test_wrong_tokens_are_counted(site):
    """Twenty from one address, and the next has to wait, also with a right one."""
    attempts = 0
    while called(site, "POST", "/console/sign-in", {"token": "hush_wrong"}, Origin=site.url)[0] == 401:
        attempts += 1
        assert attempts <= 20
    status, headers, body = called(site, "POST", "/console/sign-in", {"token": "hush_wrong"}, Origin=site.url)
    site.forgive()

    assert attempts >= 15
    assert status == 429
    assert int(headers["retry-after"]) > 0
    assert "Wait" in body


def test_an_invitation_is_accepted_in_a_browser(site, window):
    """Its secret comes from behind the '#', is not in the address any more, and works once."""
    from hushcount.app.serving.callers.invitations import invite

    made = invite(site.service.setting, site.service.tokens_key, person="newcomer", role=None, by="olga")
    page = window()
    page.expected.append("401")
    page.goto(made.link(""))
    address = page.url
    page.click("text=Accept")
    token = page.inner_text("#secret").strip()
    page.click("text=I have kept it")
    there = page.inner_text("main")
    page.goto(made.link(""))
    page.click("text=Accept")

    assert "#" not in address
    assert fetched(site, "/v1/me", token)["name"] == "newcomer"
    assert "Nothing is shared with you yet" in there
    assert "was used" in page.inner_text("[role=alert]")
