"""Asking in a browser, with scripts and without: price, rehearse, release, answer, compare, add up, receipt."""

from __future__ import annotations

import json
import re
from urllib.parse import urlsplit

import pytest

from tests.console.markup import words
from tests.console.site import fetched, got

SCRIPTS = pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
SENTENCES = {
    "top": "The [7] [article] that most readers have",
    "count": "How many readers have each [article]",
    "people": "How many readers are there",
    "names": "Which [article] may be published",
    "words": "Which words of [article] may be published",
}
# What is seen of a sentence, each field as its value in brackets; and how many lines it takes.
READ = """sentence => {
  const said = (node) => node.nodeType === 3 ? node.data : node.tagName === "BR" ? " / " : !node.checkVisibility() ? ""
    : "value" in node ? `[${node.value || node.placeholder}]` : [...node.childNodes].map(said).join("");
  return [said(sentence), sentence.getBoundingClientRect().height / parseFloat(getComputedStyle(sentence).lineHeight)];
}"""


@SCRIPTS
def test_a_question_is_priced_rehearsed_released_compared_and_receipted(site, window, scripts):
    """The whole way of an answer, each step from the page before it; the numbers are those of the interface."""
    _, token = site.person()
    page = window(token, scripts=scripts)
    page.goto("/console/data")
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


def test_the_form_is_a_sentence(site, window):
    """With its fields in it, in two lines on a wide screen; what belongs to other questions is not there."""
    page = window(site.person()[1], scripts=False, viewport={"width": 1920, "height": 1000})
    page.goto("/console/ask?data=reading&k=7")
    found = {}
    for kind in SENTENCES:
        page.check(f"[name=question][value={kind}]")
        said, lines = page.locator(".sentence").evaluate(READ)
        found[kind] = " ".join(said.split()), round(lines)

    assert found == {kind: (f"{said} / where [everything]", 2) for kind, said in SENTENCES.items()}


@SCRIPTS
def test_an_answer_leads_to_more_rows_and_to_sharper_ones(site, window, scripts):
    """The cheapest way to see more and the next sharper one, each at the interface's own price, one click away."""
    _, token = site.person()
    page = window(token, scripts=scripts)
    page.goto(f"/console/ask?data=reading&k={20 + scripts}")
    page.click("text=Release the answer")
    page.wait_for_url("**/console/answers/r_*")
    missing = " ".join(page.inner_text("section:has(h2:text-is('What is missing?'))").split())
    twin = fetched(site, f"{urlsplit(page.url).path}.json", token)
    asked = {"dataset": "reading", "question": "top", "item": "article"}
    more, sharper = (
        fetched(site, "/v1/queries", token, {**asked, "k": k, "rho": rho})
        for k, rho in ((2 * (20 + scripts), "0.01"), (20 + scripts, "0.2"))
    )
    page.click("text=Sharpen it")
    sharp = page.inner_text("#price")
    page.go_back()
    page.click("text=See its price")
    wider = page.inner_text("#price")

    assert (twin["more"]["price"], twin["sharper"]["price"]) == (more, sharper)
    assert f"Ask for {more['question']}: 0.1 releases at most" in missing
    assert f"The same question: 2 releases at most, give or take {sharper['expected']['give_or_take']}" in missing
    assert re.search(r"^2\s+releases at most", sharp, re.MULTILINE)
    assert f"the {2 * (20 + scripts)} articles" in wider


def test_what_shows_fewer_rows_than_were_asked_for_needs_a_lower_cut_off(site):
    """Then a longer list shows nothing more: the way to more rows is the dearer question, which is sharper too."""
    _, token = site.person()
    body = {"mode": "release", "dataset": "reading", "question": "top", "item": "article", "k": 900, "rho": "0.01"}
    release = fetched(site, "/v1/queries", token, body, headers={"Idempotency-Key": "few"})["release"]
    twin = fetched(site, f"/console/answers/{release['id']}.json", token)
    page = words(got(site, f"/console/answers/{release['id']}", token)[1])

    assert release["shown"] < 900
    assert twin["more"] == twin["sharper"]
    assert (twin["more"]["fields"]["k"], twin["more"]["price"]["cost"]["releases"]) == ("900", 0.2)
    assert "The same with a lower cut-off: 0.2 releases at most" in page
    assert "that you asked for are here" not in page


def test_an_answer_is_printed_as_a_page_to_read(site, window):
    """On paper there are the question, the picture, the rows and what was protected, dark on white; no controls."""
    _, token = site.person()
    page = window(token, color_scheme="dark")
    page.goto("/console/ask?data=reading&k=3")
    page.click("text=Release the answer")
    page.wait_for_url("**/console/answers/r_*")
    controls = ("nav.places", "#rows button", "#compare select", "a.button", "[name=sum]", ".who")
    before = [page.locator(one).first.is_visible() for one in controls]
    page.emulate_media(media="print", color_scheme="dark")

    assert all(before)
    assert not any(page.locator(one).first.is_visible() for one in controls)
    assert all(page.locator(one).first.is_visible() for one in ("h1", "svg.chart.bars", "tbody td.num"))
    assert "protected" in page.inner_text("main")
    colours = "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector('td')).color]"
    assert page.evaluate(colours) == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"]


def test_two_browsers_at_once_pay_once(site, window, gate):
    """One person presses the same button in two windows while nothing is answered yet: both see it, paid once."""
    _, token = site.person()
    first, second = window(token), window(token)
    for page in (first, second):
        page.goto("/console/ask?data=reading&k=17")
        page.click("text=Release the answer")
        page.wait_for_url("**/console/queries/q_*")
    gate.set()
    for page in (first, second):
        page.wait_for_url("**/console/answers/r_*")
    rows = [page.locator("tbody tr").all_inner_texts() for page in (first, second)]
    spent = fetched(site, "/v1/datasets/reading/budget", token)["known"]["own"]["releases"]
    first.goto("/console/history")
    listed = first.locator("tbody tr").all_inner_texts()

    assert rows[0] == rows[1]
    assert 0.9 < spent <= 1
    assert len(listed) == 2
    assert sum("free, again" in row for row in listed) == 1


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
    """While it runs it says how far it is; whoever stays there, or in history, is told that it stopped and was free."""
    _, token = site.person()
    page, other = window(token, scripts=scripts), window(token, scripts=scripts)
    page.goto("/console/ask?data=reading&question=count&step=1")
    page.click("text=Release the answer")
    page.wait_for_url("**/console/queries/q_*")
    going = page.inner_text("#job")
    other.goto("/console/history")
    listed = other.inner_text("#list")
    page.goto("/console/history")
    page.click("text=Stop it")
    stopping = page.inner_text("#job")
    gate.set()
    page.wait_for_selector("h1:text-is('It was stopped')")
    other.wait_for_selector(".tag:text-is('stopped')")

    assert "under way" in going
    assert "Stop it" in listed
    assert "It ends as soon as it can" in stopping
    assert "Nothing was charged" in page.inner_text("#job")
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
