"""Owners' pages beside the interface: every number is one that it gives, and who may not see one is refused."""

from __future__ import annotations

import json
import math
import re

import pytest

from tests.console.markup import words
from tests.console.owners.looks import PAGES
from tests.console.site import fetched, got
from tests.console.test_numbers import FOUND, numerals

# In our own sentences: a coin is right 50 times out of 100; a name such as guest4 is no number.
OURS = {"50", "100"}
NAMES = re.compile(
    r"\\u[0-9a-f]{4}|\b[tw]_\w+|(?:person|guest)\d+|http\S+|\b[0-9a-f]{10,}\b|/tmp\S+|clinic\S*|[a-z]+\.\w+"
)


def shares(value):
    """Shares as people say them: of 100, and of an upper bound the next whole one."""
    if isinstance(value, dict):
        return {one for member in value.values() for one in shares(member)}
    if isinstance(value, list):
        return {one for member in value for one in shares(member)}
    if isinstance(value, float) and 0 <= value <= 1:
        return {f"{100 * value:.2f}".rstrip("0").rstrip("."), str(math.ceil(100 * value))}
    return {f"{100 * float(value):g}"} if isinstance(value, str) and re.fullmatch(r"0\.\d+", value) else set()


@pytest.mark.parametrize("name", PAGES)
def test_every_number_on_a_page_is_in_its_twin(site, olga, name):
    """As a number, as a share of 100, or within a sentence; a page that shows one more fails."""
    path, _, query = PAGES[name].partition("?")
    page = NAMES.sub(" ", words(got(site, f"{path}?{query}", olga)[1]))
    form = json.loads(got(site, f"{path}.json?{query}", olga)[1])
    # Of a table of days, the days are counted.
    twin = numerals(form) | shares(form) | OURS | ({str(day) for day in range(1, 32)} if name == "limits" else set())

    assert set(FOUND.findall(page)) <= twin, set(FOUND.findall(page)) - twin
    assert not set(FOUND.findall(f"{page} 123,456,789")) <= twin


def test_twins_are_what_the_routes_say(site, olga):
    """Member by member, beside the interface itself."""
    limits = fetched(site, "/console/limits.json?data=reading&releases=4", olga)
    proposal = fetched(site, "/v1/datasets/reading/proposals", olga, {"share": "0.95"})
    people = fetched(site, "/console/people.json?data=reading&who=zoe", olga)
    trail = fetched(site, "/console/trail.json?data=reading", olga)
    log = {one["seq"]: one for one in fetched(site, "/v1/log?dataset=reading&limit=1000", olga)["data"]}
    own = {"account", "words", "asked"}
    verdict = fetched(site, "/v1/log/verify", olga, {})
    verified = fetched(site, "/console/trail/verified.json", olga)
    overview = fetched(site, "/console/overview.json", olga)
    usage = fetched(site, "/v1/datasets/reading/usage?limits=2,4,8", olga)
    account = fetched(site, "/v1/datasets/reading/budget", olga)["accounts"][0]
    reading = next(one for one in overview["datasets"] if one["name"] == "reading")

    assert limits["tried"] == usage
    assert {name: limits["proposal"][name] for name in proposal} == proposal
    assert limits["limits"] == fetched(site, "/v1/limits?dataset=reading", olga)["data"]
    assert people["why"] == fetched(site, "/v1/people/zoe/why?dataset=reading", olga)
    listed = fetched(site, "/v1/people?dataset=reading", olga)["data"]
    assert [{key: one[key] for key in one if key not in own} for one in people["people"]] == listed[:20]
    assert all({key: one[key] for key in one if key not in own} == log[one["seq"]] for one in trail["entries"])
    assert verified["whole"] == verdict["whole"] is True
    assert {one["entity"] for one in verified["heads"]} == {one["entity"] for one in verdict["heads"]}
    assert reading["today"] == usage["today"]
    assert reading["account"]["releases"] == account["releases"]


def test_the_other_twins_are_what_the_routes_say_too(site, olga):
    """Requests with their accounts, what each fact would do to a count, and the limits to begin with."""
    zoe = site.token("zoe")
    wish = fetched(site, "/v1/requests", zoe, {"dataset": "reading", "releases": "2.5", "why": "numbers"})
    waiting = next(
        one for one in fetched(site, "/console/requests.json", olga)["waiting"] if one.pop("id") == wish["id"]
    )
    overview = fetched(site, "/console/overview.json", olga)
    own = fetched(site, "/v1/datasets/reading/budget", zoe)["accounts"]
    fetched(site, f"/v1/requests/{wish['id']}", zoe, method="DELETE")
    setup = fetched(site, "/console/setup.json?data=reading&column=article&most=7", olga)
    body = {"dataset": "reading", "question": "count", "item": "article", "preset": "standard"}
    prices = {
        bound: fetched(site, "/v1/queries", olga, {**body, **({} if bound is None else {"max_items_per_user": bound})})
        for bound in (None, 1, 7, 10, 100)
    }
    accounts = {one["kind"]: one["releases"] for one in own}

    assert {name: waiting[name] for name in wish if name != "id"} == {name: wish[name] for name in wish if name != "id"}
    assert waiting["account"]["releases"] == accounts["analyst"]
    assert waiting["data"]["releases"] == accounts["dataset"]
    assert wish in overview["requests"]
    assert {one["most"]: one["expected"] for one in setup["choices"]} == {
        bound: price["expected"] for bound, price in prices.items()
    }
    assert setup["data"] == fetched(site, "/v1/datasets/reading", olga)


def test_who_asked_last_is_who_the_log_says(site, olga):
    """The day of the last charge, of everybody on the page; none for whoever never asked."""
    people = fetched(site, "/console/people.json?data=reading", olga)["people"]
    log = fetched(site, "/v1/log?dataset=reading&limit=1000", olga)["data"]
    last = {one["by"]: one["at"][:13] for one in log if one["kind"] == "reserve"}

    assert {one["name"]: one["asked"] and one["asked"][:13] for one in people} == {
        one["name"]: last.get(one["name"]) for one in people
    }
    assert {one["asked"] is None for one in people} == {True, False}


@pytest.mark.parametrize("name", PAGES)
def test_an_analyst_sees_no_page_of_owners(site, name):
    """Neither the page nor its twin, nor the way there."""
    _, token = site.person()
    path, _, query = PAGES[name].partition("?")
    status, page = got(site, f"{path}?{query}", token)
    twin, _ = got(site, f"{path}.json?{query}", token)
    _, data = got(site, "/console/data", token)

    assert status == twin
    assert status in {403, 404}
    assert "guest" not in words(page)
    assert "Overview" not in words(data)


def test_an_auditor_sees_all_and_has_no_buttons(site):
    """No form that changes something is on any page but signing out; what is sent all the same is refused."""
    token = site.token("arne", scopes=("manage", "ask"))
    pages = {name: got(site, path, token) for name, path in PAGES.items() if name not in {"add", "person", "setup"}}
    forms = {name: set(re.findall(r'method="post" action="([^"]+)"', page)) for name, (_, page) in pages.items()}

    assert {status for status, _ in pages.values()} == {200}
    assert set().union(*forms.values()) <= {"/console/sign-out", "/console/trail/verified"}
    assert got(site, PAGES["add"], token)[0] == 403


def test_an_owner_of_one_data_set_sees_that_alone(site):
    """Their own data, and nothing of what is for owners of everything."""
    _, token = site.person(role="owner", dataset="surveys")
    overview = fetched(site, "/console/overview.json", token)
    limits = fetched(site, "/console/limits.json", token)

    assert [one["name"] for one in overview["datasets"]] == ["surveys"]
    assert limits["datasets"] == ["surveys"]
    assert got(site, "/console/limits?data=reading", token)[0] == 404
    assert got(site, "/console/trail/verified", token)[0] == 404
    assert got(site, "/console/health", token)[0] == 404
    assert {got(site, f"/console/{name}", token)[0] for name in ("people", "requests", "trail")} == {200}
