"""Asking in a browser, with scripts and without: price, rehearse, release, answer, compare, add up, receipt."""

from __future__ import annotations

import json
import re

import pytest

from tests.console.site import fetched

SCRIPTS = pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])


@SCRIPTS
def test_a_question_is_priced_rehearsed_released_compared_and_receipted(site, window, scripts):
    """The whole way of an answer, each step from the page before it; the numbers are those of the interface."""
    _, token = site.person()
    page = window(token, scripts=scripts)
    page.click("a.main[href*='data=reading']")
    page.fill("[name=k]", "4" if scripts else "5")
    page.click("text=See the price")
    said = page.inner_text("#price")
    page.click("text=Rehearse")
    rehearsed = page.inner_text("#rehearsal")
    page.click("text=Release the answer")
    page.wait_for_url("**/console/answers/r_*")
    release = page.url.rpartition("/")[2]
    told = fetched(site, f"/v1/releases/{release}", token)
    cells = [cell.replace(",", "") for cell in page.locator("tbody tr td:nth-child(3)").all_inner_texts()]
    page.select_option("#compare-a", "0")
    page.select_option("#compare-b", "3")
    page.click("text=Compare")
    compared = page.inner_text("#compare [role=status]")
    page.check("[name=sum][value='1']")
    page.check("[name=sum][value='2']")
    page.click("text=Add up the ticked rows")
    added = page.inner_text("#added")
    page.click("text=Receipt")
    receipt = page.inner_text("main")
    items = [row["item"] for row in told["rows"]]
    body = {"deed": "difference", "items": items[:1], "against": items[3:4]}
    gap = fetched(site, f"/v1/releases/{release}/derive", token, body)
    both = fetched(site, f"/v1/releases/{release}/derive", token, {"deed": "sum", "items": items[1:3]})

    assert re.search(r"1\s+release at most", said)
    assert "made up" in rehearsed
    assert [int(cell) for cell in cells] == [row["count"] for row in told["rows"]]
    assert f"is above {items[3]}, by {gap['low']:,} to {gap['high']:,} people" in compared
    assert f"2 rows together: {both['value']:,}, between {both['low']:,} and {both['high']:,}" in added
    assert told["receipt"]["id"] in receipt
    assert told["receipt"]["words"] in receipt


def test_the_price_follows_every_choice(site, window):
    """With scripts nothing is pressed: a choice, a filter and the slider change the price tag by themselves."""
    _, token = site.person()
    page = window(token)
    page.goto("/console/ask?data=reading")
    page.fill("[name=k]", "3")
    page.wait_for_selector("#price:has-text('the 3 articles')")
    page.focus("#step")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector(".price:has-text('2 releases at most')")
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector(".price:has-text('1 release at most')")
    page.fill("[name=where]", "article LIKE 'stadium%'")
    page.wait_for_selector("#price:has-text('where article LIKE')")
    page.fill("[name=where]", "article; DROP")
    page.wait_for_selector("#wrong [role=alert]")

    assert page.evaluate("document.activeElement.name") == "where"
    assert "Release" not in page.inner_text("#price")


def test_only_what_was_priced_is_released(site, window):
    """Without scripts a choice that was not priced yet is not released: the button stands for the price above it."""
    _, token = site.person()
    page = window(token, scripts=False)
    page.goto("/console/ask?data=reading&k=2")
    page.fill("[name=k]", "900")
    page.click("text=Release the answer")

    assert page.text_content("h1") == "the 2 articles that most readers have"


def test_the_same_question_is_free_and_says_when_it_was_answered(site, window):
    """The answer of before is offered for nothing, with its day, and is the same one."""
    _, token = site.person()
    page = window(token)
    page.goto("/console/ask?data=reading&k=6")
    page.click("text=Release the answer")
    first = page.locator("tbody tr").all_inner_texts()
    page.goto("/console/ask?data=reading&k=6")
    tag = page.inner_text("#price")
    page.click("text=Show the answer")
    day = site.service.setting.clock()

    assert f"You had this answered on {day.day} {day:%B %Y}" in tag
    assert page.locator("tbody tr").all_inner_texts() == first
    assert "cost nothing" in page.inner_text(".lead")


def test_a_second_click_pays_once(site, window):
    """The form has a key: sent twice it is one question."""
    name, token = site.person()
    page = window(token, scripts=False)
    page.goto("/console/ask?data=reading&k=8")
    form = {field.get_attribute("name"): field.input_value() for field in page.locator("#price form input").all()}
    for _ in range(2):
        page.context.request.post("/console/ask", form=form, headers={"Origin": site.url})
    made = fetched(site, "/v1/queries", token)["data"]

    assert len(made) == 1
    assert made[0]["analyst"] == name


@SCRIPTS
def test_a_question_under_way_shows_its_stage_and_can_be_stopped(site, window, gate, scripts):
    """While it runs it says how far it is; stopping it says whether that was free, and so does history."""
    _, token = site.person()
    page = window(token, scripts=scripts)
    page.goto("/console/ask?data=reading&question=count&step=1")
    page.click("text=Release the answer")
    page.wait_for_url("**/console/queries/q_*")
    going = page.inner_text("#job")
    page.goto("/console/history")
    listed = page.inner_text("#list")
    page.click("text=Stop it")
    stopping = page.inner_text("#job")
    gate.set()
    page.goto("/console/history")
    page.wait_for_selector(".tag:text-is('stopped')")

    assert "under way" in going
    assert "Stop it" in listed
    assert "It ends as soon as it can" in stopping
    assert fetched(site, "/v1/datasets/reading/budget", token)["known"]["own"]["releases"] == 0


def test_an_answer_comes_by_itself_when_it_is_there(site, window, gate):
    """Whoever stays on the page of a question under way is led to its answer."""
    _, token = site.person()
    page = window(token)
    page.goto("/console/ask?data=reading&question=people&step=0")
    page.click("text=Release the answer")
    page.wait_for_url("**/console/queries/q_*")
    gate.set()
    page.wait_for_url("**/console/answers/r_*")

    assert page.text_content("h1") == "how many readers there are"


def test_history_and_twin_tell_the_same(site, window):
    """What was asked, in words, with its cost, as the interface has it."""
    _, token = site.person()
    page = window(token)
    page.goto("/console/ask?data=reading&k=9")
    page.click("text=Release the answer")
    page.wait_for_url("**/console/answers/*")
    cost = json.loads(page.request.get(page.url + ".json").text())["cost"]["releases"]
    page.goto("/console/history")
    row = page.inner_text("tbody tr")

    assert "the 9 articles that most readers have" in row
    assert f"{cost:.2f}".rstrip("0").rstrip(".") in row
