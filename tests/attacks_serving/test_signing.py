"""Signing in: whoever is not who they say gets nowhere, by whatever header."""

from __future__ import annotations

import base64
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from hushcount.app.serving.callers.invitations import invite
from hushcount.app.serving.callers.tokens import WantedToken, make_token
from tests.api.served import COUNT, TOP, staged_alone

HOSTS = (
    "evil.example",
    "127.0.0.1.evil.example",
    "127.0.0.1@evil.example",
    "evil.example:80@127.0.0.1",
    "127.1",
    "0",
    "",
)
BETWEEN = (
    "X-Forwarded-For",
    "X-Forwarded-Proto",
    "X-Forwarded-Server",
    "Forwarded",
    "Via",
    "X-Real-IP",
    "CF-Connecting-IP",
)
PAGES = (
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """A service where nobody signs in."""
    with staged_alone(tmp_path_factory.mktemp("alone")) as client:
        yield client


@pytest.mark.parametrize("host", HOSTS)
def test_another_name_for_this_machine_is_refused(alone, host):
    """A page elsewhere can make a browser call us under its own name."""
    assert alone.get("/v1/me").status == 200
    assert replace(alone, host=host).get("/v1/me").status in {401, 403}


@pytest.mark.parametrize("header", BETWEEN)
def test_nobody_is_local_through_somebody_else(alone, header):
    """Whoever forwards says so, and then it is not the person at this machine."""
    assert alone.request("GET", "/v1/me", headers={header: "192.0.2.1"}).status == 401


@pytest.mark.parametrize("headers", PAGES, ids=str)
def test_pages_of_others_get_nothing(alone, headers):
    """Neither to read nor to ask."""
    assert alone.request("GET", "/v1/me", headers=headers).status == 403
    assert alone.request("POST", "/v1/queries", TOP, headers=headers).status == 403


def test_only_this_machine_is_local(alone):
    """By the connection itself."""
    assert replace(alone, peer="192.0.2.1").get("/v1/me").status == 401
    assert replace(alone, peer="").get("/v1/me").status == 401


def test_basic_reads_only(fresh):
    """A browser sends it along unasked."""
    token = fresh.analyst.headers["Authorization"].split()[1]
    basic = {"Authorization": "Basic " + base64.b64encode(f"x:{token}".encode()).decode()}
    assert fresh.anybody.request("GET", "/v1/me", headers=basic).status == 200
    for method, path in (("POST", "/v1/queries"), ("PUT", "/v1/limits"), ("DELETE", "/v1/queries/q_x")):
        assert fresh.anybody.request(method, path, TOP, headers=basic).status == 401


def test_a_token_under_another_key_is_nobody_s(fresh):
    """Also if its record is there."""
    new = make_token(fresh.service.setting, os.urandom(32), owner="ana", wanted=WantedToken(label="x"))
    assert fresh.anybody.signed(new.text.text).get("/v1/me").status == 401


def test_an_invitation_is_good_for_one(fresh):
    """Of many who come at once, too."""
    text = invite(fresh.service.setting, fresh.service.tokens_key, person="eve", by="olga").text.text
    with ThreadPoolExecutor(6) as pool:
        replies = list(pool.map(lambda _: fresh.anybody.post("/v1/invitations", {"invitation": text}), range(6)))
    assert sorted(reply.status for reply in replies) == [201] + [401] * 5


def test_a_narrowed_token_does_not_change_what_is_about_other_data(fresh):
    """A saved question that it cannot see is not written over."""
    hidden = {**COUNT, "dataset": "hidden", "item": "item"}
    assert fresh.owner.post("/v1/questions", {"name": "mine", "asked": hidden}).status == 201
    narrow = fresh.token("olga", datasets=(fresh.service.served.find("events").id,))
    assert narrow.post("/v1/questions", {"name": "mine", "asked": TOP}).status == 403
    assert [one["dataset"] for one in fresh.owner.get("/v1/questions").form["data"]] == ["hidden"]
