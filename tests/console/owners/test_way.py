"""The way of an owner in a browser, with scripts and without: data is added and tracked, limited, and more granted."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.console.site import fetched

SCRIPTS = pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])


def ask(page, name: str, k: int) -> None:
    """Release an answer about a data set, from its page."""
    page.goto(f"/console/ask?data={name}&item=diagnosis&k={k}")
    page.click("#price button.main, #price button:text-is('Try it all the same')")


def walked(owner, name: str, analyst: str) -> tuple[list[str], str, str, list[str], str, str]:
    """The wizard, step by step, with a rehearsal: its warnings, the first choice, and what each later page said."""
    owner.goto("/console/overview")
    owner.click("text=Add data")
    owner.fill("#table-1", f"{name}.parquet")
    owner.click("text=Look at its columns")
    warnings = owner.locator(".warning").all_inner_texts()
    first = owner.locator(".choices li").first.inner_text()
    owner.check("[name=person][value=patient]")
    owner.check(".pills [value=diagnosis]")
    owner.fill("#name", name)
    owner.click("text=Go on")
    protects, choices = owner.inner_text(".lead"), owner.locator("tbody tr").all_inner_texts()
    owner.click("text=rehearse a count of diagnosis")
    rehearsed = owner.inner_text("#rehearsal")
    owner.go_back()
    owner.check("[name=preset][value=cautious]")
    owner.fill("#names", analyst)
    owner.click("text=Go live, tracked")
    return warnings, first, protects, choices, rehearsed, owner.inner_text("main")


@SCRIPTS
def test_data_is_added_tracked_looked_at_and_limited(site, window, olga, scripts):
    """Wizard, tracked, figure 5, proposal, enforced: then an analyst is refused, and shown the way out."""
    name = "clinic" if scripts else "wards"
    analyst, token = site.person()
    owner, theirs = window(olga, scripts=scripts), window(token, scripts=scripts)
    warnings, first, protects, choices, rehearsed, live = walked(owner, name, analyst)
    for k in (2, 3, 4):
        ask(theirs, name, k)
        theirs.wait_for_url("**/console/answers/r_*")
    tracked = theirs.inner_text("main")
    owner.goto(f"/console/limits?data={name}")
    figure = owner.inner_text("#found")
    owner.click("text=Try the proposed limit")
    owner.wait_for_url("**releases=*")
    proposed = owner.inner_text(".verdict")
    owner.goto(f"/console/limits?data={name}&releases=1")
    owner.fill("#from", "")
    owner.click("text=Enforce 1 release a month")
    owner.wait_for_url("**done=*")
    holds = owner.inner_text("section:has(h2:text-is('What holds now'))")
    theirs.expected.append("403")
    ask(theirs, name, 5)
    refused = theirs.inner_text("[role=alert]")
    way_out = theirs.locator("[role=alert] a.button").first.get_attribute("href")

    assert len(warnings) == 3
    assert "patient" in first
    assert f"everything that any one patient did in {name}" in protects
    assert [line.split("\t")[0] for line in choices[:2]] == ["any number of items", "at most 1 item"]
    assert "all of this is made up" in rehearsed
    assert "made-up diagnosis 1" in rehearsed
    assert "1 release a month\ntracked, stops nobody" in live
    assert "Nobody asked about this data yet" in live
    assert tracked
    assert "would have stopped 1 of 1" in figure
    assert re.search(rf"{analyst}\s+\d+ {datetime.now(UTC):%B %Y}\s+day 1 of their month\s", figure)
    assert "at most 62 times out of 100" in figure
    assert "3 releases a month for each analyst would have stopped nobody" in proposed
    assert re.search(
        r"each analyst\s+set by olga, [^\t]+\t1 release a month\s+Lift[^\t]*\tat most 62 times out of 100", holds
    )
    assert re.search(rf"every data set, all together[^\t]+\t10 releases a month\s+not here: {name} has its own", holds)
    assert "Nothing was charged" in refused
    assert "/console/budget?" in way_out


@SCRIPTS
def test_a_refusal_becomes_a_request_that_is_granted_and_the_answer_is_released(site, window, olga, scripts):
    """Two browsers at once: the analyst is refused and asks for more, the owner grants it, and the question fits."""
    analyst, token = site.person()
    owner, theirs = window(olga, scripts=scripts), window(token, scripts=scripts)
    limit = {"dataset": "reading", "analyst": analyst, "releases": "0.5"}
    fetched(site, "/v1/limits", olga, limit, method="PUT")
    fetched(site, "/v1/limits", olga, {"dataset": "reading", "releases": "1000"}, method="PUT")
    theirs.expected.append("403")
    theirs.goto("/console/ask?data=reading&item=article&k=12")
    theirs.click("text=Try it all the same")
    theirs.click("[role=alert] a.button")
    theirs.fill("#why", f"The board of {analyst} asked for it.")
    theirs.click("text=Send to the owners")
    waits = theirs.inner_text("#more")
    owner.goto("/console/overview")
    owner.click("text=/Decide \\d+ request/")
    card = owner.locator(f"section:has(h2:text('{analyst} asks'))")
    said = card.inner_text()
    card.locator("[name=sentence]").fill("For the board, this once.")
    card.locator("text=Grant").last.click()
    decided = owner.inner_text("section:has(h2:text-is('Decided lately')) li:first-child")
    theirs.goto("/console/budget?data=reading")
    granted = theirs.inner_text("#more")
    theirs.goto("/console/ask?data=reading&item=article&k=12")
    theirs.click("text=Release the answer")
    theirs.wait_for_url("**/console/answers/r_*")

    assert "waits for an owner" in waits
    assert f"The board of {analyst} asked for it." in said
    assert "0.5 of 0.5 releases left" in said
    assert "granted" in decided
    assert analyst in decided
    assert "For the board, this once." in granted
    assert theirs.locator("tbody tr").count() > 0


def test_a_declined_request_tells_why(site, window, olga):
    """The sentence reaches whoever asked, and nothing is granted."""
    analyst, token = site.person()
    wish = {"dataset": "reading", "releases": "3", "why": "I am curious."}
    made = fetched(site, "/v1/requests", token, wish)
    owner, theirs = window(olga), window(token)
    owner.goto("/console/requests")
    card = owner.locator(f"section:has(h2:text('{analyst} asks'))")
    card.locator("[name=sentence]").fill("Ask again next month.")
    card.locator("text=Decline").click()
    theirs.goto("/console/budget?data=reading")

    assert "Ask again next month." in theirs.inner_text("#more")
    assert fetched(site, f"/v1/requests/{made['id']}", token)["state"] == "declined"


def test_the_slider_moves_the_figure_and_sets_nothing(site, window, olga):
    """With scripts nothing is pressed: the verdict follows the slider. What is enforced changes by the button alone."""
    page = window(olga)
    page.goto("/console/limits?data=reading&releases=3")
    before = fetched(site, "/v1/limits?dataset=reading", olga)["data"]
    shown = page.inner_text(".verdict")
    page.focus("#releases")
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.querySelector('.verdict').innerText.startsWith('5 releases')")
    page.select_option("#window", "week")
    page.wait_for_function("() => document.querySelector('.verdict').innerText.startsWith('5 releases a week')")

    assert shown.startswith("3 releases a month for each analyst would have stopped ")
    assert page.evaluate("document.activeElement.id") in {"releases", "window"}
    assert "releases=5" in page.url
    assert fetched(site, "/v1/limits?dataset=reading", olga)["data"] == before


def test_a_limit_from_a_day_on_is_told_as_that(site, window, olga):
    """The page says from when; until then it is tracked."""
    page = window(olga, scripts=False)
    page.goto("/console/limits?data=surveys&releases=4")
    day = page.input_value("#from")
    page.click("text=Enforce 4 releases a month")
    said = fetched(site, "/v1/limits?dataset=surveys", olga)["data"][-1]
    holds = page.inner_text("section:has(h2:text-is('What holds now'))")
    page.click("tr:has-text('each analyst') >> text=Lift")

    assert (said["mode"], said["enforced_from"][:10]) == ("track", day)
    assert "tracked, enforced from" in holds
    assert "each analyst" not in page.inner_text("section:has(h2:text-is('What holds now'))")


def test_who_is_over_a_tracked_limit_is_red(site, window, olga):
    """With what they spent, as the interface has it; whoever is not over is as everybody else."""
    analyst, token = site.person()
    limit = {"dataset": "reading", "analyst": analyst, "releases": "8", "mode": "track"}
    fetched(site, "/v1/limits", olga, limit, method="PUT")
    for number in range(2):
        body = {"dataset": "reading", "question": "people", "where": f"article != '{number}'", "rho": "0.5"}
        fetched(site, "/v1/queries", token, {**body, "mode": "release"}, headers={"Idempotency-Key": f"red-{number}"})
    page = window(olga)
    page.goto("/console/overview")
    rows = page.locator("section:has(h2:has-text('reading')) tbody tr").evaluate_all(
        "rows => rows.map(({cells: [name, spent]}) => [name.innerText, getComputedStyle(spent).color, spent.innerText])"
    )
    told = fetched(site, "/console/overview.json", olga)["datasets"]
    spenders = next(one for one in told if one["name"] == "reading")["spenders"]
    account = fetched(site, "/v1/datasets/reading/budget", token)["accounts"]
    own = next(one for one in account if one["kind"] == "analyst")["releases"]

    assert [f"{analyst} over", "rgb(161, 22, 22)", "10"] in rows
    assert [one["releases"] for one in spenders if one["name"] == analyst] == [own]
    assert [name.endswith(" over") for name, *_ in rows] == [one["over"] for one in spenders]
    assert {colour == "rgb(161, 22, 22)" for name, colour, _ in rows if " over" not in name} <= {False}


def test_data_that_cannot_be_read_is_told(site, window, olga):
    """On the page of health, while its file is away; the service is well all the same."""
    page, place = window(olga), Path(site.service.config.store("files").place)
    (place / "surveys.parquet").rename(place / "away")
    page.goto("/console/health")
    away, well = page.inner_text("section:has(h2:text-is('Stores'))"), page.inner_text("h1")
    (place / "away").rename(place / "surveys.parquet")
    page.reload()

    assert re.search(r"reading\s+can be read\s+surveys\s+cannot be read", away)
    assert well == "All is well"
    assert "cannot be read" not in page.inner_text("main")


def test_a_stop_holds_until_it_is_lifted(site, window, olga):
    """All questions about a data set, from the overview, with a reason; and on again."""
    page = window(olga)
    page.goto("/console/overview")
    card = page.locator("section.card:has(h2:has-text('surveys'))")
    card.locator("summary").click()
    card.locator("[name=why]").fill("we look into a complaint")
    card.locator("text=Stop them now").click()
    stopped = page.inner_text("section.card:has(h2:has-text('surveys'))")
    data = page.goto("/console/data").status
    page.goto("/console/overview")
    page.click("section.card:has(h2:has-text('surveys')) >> text=Let questions go on")

    assert "we look into a complaint" in stopped
    assert data == 200
    assert "we look into a complaint" not in page.inner_text("main")


def test_a_role_is_given_explained_and_taken_away(site, window, olga):
    """Why may somebody ask? Who gave the role and when, and what bounds them; without one, that nobody did."""
    page = window(olga, scripts=False)
    page.goto("/console/people?data=surveys")
    page.fill("#person", "newcomer")
    page.click("text=Give it")
    given = page.inner_text("section:has(.tag.good:text-is('may ask'))")
    page.fill("#member", "newcomer")
    page.fill("#group", "north")
    page.click("text=Put in")
    grouped = page.inner_text("tr:has-text('newcomer')")
    page.fill("#invite", "newcomer")
    page.click("text=Make a link")
    link = page.inner_text("#secret")
    page.goto("/console/people?data=surveys")
    again = page.inner_text("main")
    page.fill("#person", "newcomer")
    page.select_option("#role", "nobody")
    page.click("text=Give it")

    assert "'olga' gave them the role analyst" in given
    assert "north" in grouped
    assert f"{site.url}/welcome#hushinvite_" in link
    assert link not in again
    assert "nobody gave them a role" in page.inner_text("main")


def test_the_trail_is_filtered_and_exported(site, window, olga):
    """What one person did, page by page, newest first; and the entries themselves as the interface has them."""
    page = window(olga, scripts=False)
    page.goto("/console/trail?data=reading")
    page.fill("#who", "zoe")
    page.click("button:text-is('Show')")
    seen = []
    while True:
        seen += page.locator("tbody tr").evaluate_all(
            "rows => rows.map(row => [+row.cells[0].innerText, row.cells[2].innerText])"
        )
        if not page.locator("text=Older entries").count():
            break
        page.click("text=Older entries")
    page.goto("/console/trail?data=reading")
    exported = page.request.get(page.get_attribute("text=Export", "href")).json()["data"]
    log = fetched(site, "/v1/log?dataset=reading&limit=1000", olga)["data"]
    page.goto("/console/trail?data=reading&who=nobody-at-all")

    assert [number for number, _ in seen] == [one["seq"] for one in reversed(log) if one["by"] == "zoe"]
    assert {name for _, name in seen} == {"zoe"}
    assert len(seen) > 25
    assert exported == log
    assert "Nothing that nobody-at-all did is here" in page.inner_text("main")


def test_the_chain_is_verified_and_compared_with_what_was_kept(site, window, olga):
    """Whole, with heads to keep; a head that is not in it is found."""
    page = window(olga, scripts=False)
    page.goto("/console/trail?data=reading")
    page.click("text=Verify now")
    kept = page.inner_text("#heads")
    page.fill("#kept", kept)
    page.click("button:text-is('Compare')")
    compared = page.inner_text("main")
    page.fill("#kept", kept.replace('"hash": "', '"hash": "0'))
    page.click("button:text-is('Compare')")

    assert "The chain is whole" in compared
    assert "links that you kept" in compared
    assert "The chain is broken" in page.inner_text("h1")
