"""Every number on a page is one that the interface gives, and the twin of each page is made of what its routes say."""

from __future__ import annotations

import json
import re
from datetime import datetime

import pytest

from hushcount.console.texts import amount, number
from tests.console.markup import words
from tests.console.site import fetched, got

# Numbers that stand in our own sentences: 95 of 100 cases.
OURS = {"95", "100"}
FOUND = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?")


def numerals(value):
    """Every numeral that a form may be read as."""
    if isinstance(value, dict):
        return {one for member in value.values() for one in numerals(member)}
    if isinstance(value, list):
        return {one for member in value for one in numerals(member)} | numerals(len(value))
    if isinstance(value, bool) or value is None:
        return set()
    if isinstance(value, str):
        return set(FOUND.findall(value)) | _moments(value) | _amounts(value)
    return {number(value), number(-value), amount(value), *FOUND.findall(str(value))}


def _moments(text):
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return set()
    return {str(found.day), str(found.year), f"{found:%H}", f"{found:%M}"}


def _amounts(text):
    return {amount(text)} if re.fullmatch(r"\d+(\.\d+)?", text) else set()


@pytest.fixture(scope="module")
def asked(site):
    """Somebody who asked a question and wishes for more, with their token and the answer's name."""
    _, token = site.person()
    body = {"mode": "release", "dataset": "reading", "question": "top", "item": "article", "k": 13}
    headers = {"Idempotency-Key": "numbers"}
    done = fetched(site, "/v1/queries", token, body, headers=headers)
    fetched(site, "/v1/requests", token, {"dataset": "reading", "releases": "3.5", "why": "numbers"})
    return token, done["release"]["id"]


@pytest.mark.parametrize(
    "path",
    [
        "/console/data{}",
        "/console/ask{}?data=reading&k=14&step=1",
        "/console/ask{}?data=reading&question=count",
        "/console/ask{}?data=reading&k=13",
        "/console/answers/{release}{}?a=0&b=5&sum=1&sum=2&sum=3",
        "/console/answers/{release}/receipt{}",
        "/console/history{}",
        "/console/budget{}?data=reading",
        "/console/tokens{}",
    ],
)
def test_every_number_on_a_page_is_in_its_twin(site, asked, path):
    """As a number or within a sentence; a page that shows one more fails, as the same check shows."""
    token, release = asked
    page = words(got(site, path.format("", release=release), token)[1])
    twin = numerals(json.loads(got(site, path.format(".json", release=release), token)[1])) | OURS
    names = re.sub(r"\b[trqw]_\w+|person\d+|http\S+|reader-\d+", " ", page)

    assert set(FOUND.findall(names)) <= twin, set(FOUND.findall(names)) - twin
    assert not set(FOUND.findall(f"{names} 123,456,789")) <= twin


def test_twins_are_what_the_routes_say(site, asked):
    """Member by member, beside the interface itself."""
    token, release = asked
    data = fetched(site, "/console/data.json", token)["datasets"][0]
    price = {"dataset": "reading", "question": "top", "item": "article", "k": 14, "rho": "0.02"}
    ask = fetched(site, "/console/ask.json?data=reading&k=14&step=1", token)
    answer = fetched(site, f"/console/answers/{release}.json", token)
    history = fetched(site, "/console/history.json", token)
    budget = fetched(site, "/console/budget.json?data=reading", token)
    own = {"words", "costs"}

    assert {name: data[name] for name in data if name != "left"} == fetched(site, "/v1/datasets/reading", token)
    assert data["left"] == fetched(site, "/v1/datasets/reading/budget", token)["left"]
    assert ask["price"] == fetched(site, "/v1/queries", token, price)
    assert answer["release"] == fetched(site, f"/v1/releases/{release}", token)
    assert fetched(site, f"/console/answers/{release}/receipt.json", token)["receipt"] == fetched(
        site, f"/v1/releases/{release}/receipt", token
    )
    told = fetched(site, "/v1/queries", token)["data"]
    assert [{name: one[name] for name in one if name not in own} for one in history["data"]] == told
    assert history["data"][0]["costs"] == [fetched(site, f"/v1/queries/{told[0]['id']}", token)["cost"]]
    assert budget["budget"] == fetched(site, "/v1/datasets/reading/budget", token)
    assert budget["wishes"] == fetched(site, "/v1/requests", token)["data"]
    tokens = fetched(site, "/console/tokens.json", token)["data"]
    assert sorted(tokens, key=str) == sorted(fetched(site, "/v1/tokens", token)["data"], key=str)


def test_derived_numbers_are_what_the_route_says(site, asked):
    """A comparison and a sum, as POST /v1/releases/{release}/derive has them."""
    token, release = asked
    rows = fetched(site, f"/v1/releases/{release}", token)["rows"]
    twin = fetched(site, f"/console/answers/{release}.json?a=2&b=0&sum=4&sum=6", token)
    items = [row["item"] for row in rows]
    gap = {"deed": "difference", "items": [items[2]], "against": [items[0]]}
    both = {"deed": "sum", "items": [items[4], items[6]]}

    assert twin["compared"] == {"a": 2, "b": 0, **fetched(site, f"/v1/releases/{release}/derive", token, gap)}
    assert twin["added"] == {"rows": [4, 6], **fetched(site, f"/v1/releases/{release}/derive", token, both)}
