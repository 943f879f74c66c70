"""What does not fit: the page says why, what would, what is free, and lets one ask for more."""

from __future__ import annotations

from datetime import datetime

import pytest

from tests.console.site import fetched

SCRIPTS = pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])


def limited(site, releases):
    """An analyst with a limit of their own, and their token."""
    name, token = site.person()
    olga = site.token("olga", scopes=("manage", "ask"))
    limit = {"dataset": "reading", "analyst": name, "releases": releases, "window": "month"}
    fetched(site, "/v1/limits", olga, limit, method="PUT")
    return name, token, olga


@SCRIPTS
def test_a_refusal_leads_to_a_request_and_a_grant_to_the_answer(site, window, scripts):
    """Refused, asked for more, granted by an owner, released."""
    _, token, olga = limited(site, "0.5")
    page = window(token, scripts=scripts)
    page.expected.append("403")
    page.goto("/console/ask?data=reading&k=11")
    priced = page.inner_text("#price")
    page.click("text=Try it all the same")
    refused = page.inner_text("#wrong")
    page.click("#wrong >> text=for more")
    page.fill("#why", "The quarterly report <b>needs</b> it")
    page.click("text=Send to the owners")
    waiting = page.inner_text("#more")
    (wish,) = fetched(site, "/v1/requests", token)["data"]
    decision = {"grant": True, "sentence": "With pleasure", "releases": "1"}
    fetched(site, f"/v1/requests/{wish['id']}/decision", olga, decision)
    page.goto("/console/budget?data=reading")
    granted = page.inner_text("#more")
    page.goto("/console/ask?data=reading&k=11")
    page.click("text=Release the answer")

    assert "This does not fit into what is left" in priced
    assert "It may cost 1 release; 0.5 are left of your own budget. Nothing was charged." in refused
    assert wish["releases"] == "1.0"
    assert wish["why"] == "The quarterly report <b>needs</b> it"
    assert "waits for an owner" in waiting
    assert "With pleasure" in granted
    assert page.text_content("h1") == "the 11 articles that most readers have"


def test_what_would_fit_is_one_click_away(site, window):
    """The cheaper way that a refusal names can be priced and released."""
    _, token, _ = limited(site, "0.5")
    page = window(token)
    page.expected.append("403")
    page.goto("/console/ask?data=reading&k=12")
    page.click("text=Try it all the same")
    page.click("text=Price that instead")
    priced = page.inner_text("#price")
    page.click("text=Release the answer")

    assert "0.1 releases at most" in " ".join(priced.split())
    assert page.text_content("h1") == "the 12 articles that most readers have"


def test_the_budget_is_told_in_plain_words(site, window):
    """How much more, until when and what that means, of one's own before what all share, and what it went to."""
    _, token, _ = limited(site, "4")
    body = {"mode": "release", "dataset": "reading", "question": "people"}
    fetched(site, "/v1/queries", token, body, headers={"Idempotency-Key": "budget"})
    page = window(token)
    page.goto("/console/budget?data=reading")
    first = page.inner_text("section.card")
    own = fetched(site, "/v1/datasets/reading/budget", token)
    (mine,) = [one for one in own["accounts"] if one["kind"] == "analyst"]
    page.locator("summary:text-is('What renewal means')").first.click()
    renews = datetime.fromisoformat(mine["renews"])
    told, went = page.inner_text("section.card"), page.inner_text("section:has(h2:text-is('What it went to'))")
    page.goto("/console/data")

    assert own["left"]["like_this"] == 3
    assert f"About 3 more usual questions until {renews.day} {renews:%B %Y}" in " ".join(first.split())
    assert first.index("Your own budget") < first.index("shared by all who ask")
    assert f"3 of 4 releases left; 1 spent this month. Renewed on {renews.day} {renews:%B %Y}." in first
    assert mine["renewal"] in told
    assert "how many readers there are" in went
    room = f"Room for about 3 more usual questions until {renews.day} {renews:%B %Y}."
    assert room in " ".join(page.inner_text("main").split())
    assert "Protects everything that any one reader did in reading" in page.inner_text("main")


def test_a_wish_can_be_taken_back(site, window):
    """Without a decision it ends as its owner wants."""
    _, token = site.person()
    page = window(token, scripts=False)
    page.goto("/console/budget?data=reading&more=2")
    page.fill("#why", "Perhaps")
    page.click("text=Send to the owners")
    page.click("text=Take it back")

    assert "taken back" in page.inner_text("#more")


def test_a_filter_that_cannot_be_is_told_on_the_page(site, window):
    """With its reason; the sentence stays as it was typed, so that it can be put right."""
    _, token = site.person()
    page = window(token, scripts=False)
    page.goto("/console/ask?data=reading&where=nothing_like_it+%3D+1")
    reply = page.request.get("/console/ask.json?data=reading&where=nothing_like_it+%3D+1")

    assert "nothing_like_it" in page.inner_text("#wrong")
    assert page.input_value("[name=where]") == "nothing_like_it = 1"
    assert (reply.status, reply.json()["problem"]["code"]) == (400, "unknown-column")


def test_what_is_not_shared_looks_as_if_it_was_not_there(site, window):
    """Data that is not granted, answers of others, and nonsense are refused in the same words."""
    _, mine = site.person()
    _, theirs = site.person()
    other = window(theirs)
    other.goto("/console/ask?data=reading&k=2")
    other.click("text=Release the answer")
    other.wait_for_url("**/console/answers/*")
    page = window(mine)
    page.expected.append("404")
    words = set()
    for path in ("/console/ask?data=hostile", "/console/ask?data=nonsense"):
        page.goto(path)
        words.add(page.inner_text("[role=alert]"))
    page.goto(other.url)
    hidden = page.inner_text("[role=alert]")
    page.goto(other.url[:-1] + ("a" if not other.url.endswith("a") else "b"))

    assert len(words) == 1
    assert page.inner_text("[role=alert]") == hidden
