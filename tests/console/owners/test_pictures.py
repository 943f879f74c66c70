"""Owners' pages as people see them: pictures for the docs, what axe finds, how heavy they are, how keys walk them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hushcount.app.serving.callers.callers import Caller
from hushcount.app.serving.owners import wishes
from tests.console.owners.looks import PAGES
from tests.console.test_pictures import HEAVIEST, LOOKS, PICTURES, drawn, findings, weight

# What is in the docs: every page in the light, and what owners look at most in the dark and on a phone.
KEPT = {"light": tuple(PAGES), "dark": ("overview", "limits"), "phone": ("overview", "limits")}
# Looked at as well; not in the docs.
OTHERS = {
    "nobody asked": "/console/limits?data=surveys",
    "everybody": "/console/people?data=reading&all=yes",
    "rules": "/console/trail?rules=yes",
}
LEDGER = "/srv/hushcount/ledger.sqlite"
WHY = "The yearly report for the board compares all topics with last year, and I have two left to ask."


def name_of(page: str, look: str) -> str:
    """What a picture is called."""
    return f"owner-{page}.png" if look == "light" else f"owner-{page}-{look}.png"


@pytest.fixture(scope="module")
def wished(site):
    """Somebody waits for a decision, until the pictures are drawn."""
    service, zoe = site.service, Caller(name="zoe")
    until = service.setting.clock() + timedelta(days=10)
    wish = wishes.make_wish(service, zoe, service.served.find("reading"), releases="2", why=WHY, until=until)
    yield
    wishes.withdraw(service, zoe, wish.id)


def test_every_page_is_without_serious_findings(window, olga, wished):
    """Nothing serious is found by axe, contrast among it; nothing is wider than the window; each has its picture."""
    page, found = window(olga), {}
    for name, path in (*PAGES.items(), *OTHERS.items()):
        page.goto(path)
        if name == "health":
            # Where the tests run is of no interest to readers.
            page.evaluate("place => { document.querySelector('dl.facts dd').textContent = place }", LEDGER)
        for look in LOOKS:
            found[name, look] = findings(page, look)
            if name in KEPT[look]:
                drawn(page, name_of(name, look))

    assert {place: told for place, told in found.items() if told} == {}


def test_no_page_is_heavy(site, olga, wished):
    """A page with all that it names, style, script and mark, sent to whoever was never here, has at most 120 kB."""
    weights = {name: weight(site, path, olga) for name, path in PAGES.items()}

    assert max(weights.values()) <= HEAVIEST, weights
    assert min(weights.values()) > 10_000, weights


def test_the_keyboard_walks_the_limits_as_they_are_read(window, olga):
    """Past the navigation, to the slider, then who would be stopped, then the button; each step can be seen."""
    page, walked = window(olga), []
    page.goto(PAGES["limits"])
    page.focus("#releases")
    for _ in range(30):
        walked.append(
            page.evaluate(
                "(({id, name, innerText, ariaLabel}) => id || name || ariaLabel || innerText)(document.activeElement) +"
                " '|' + getComputedStyle(document.activeElement).outlineStyle"
            )
        )
        page.keyboard.press("Tab")
    names = [one.partition("|")[0] for one in walked]
    order = ["releases", "window", "The same as a table", "Who would be stopped first", "from", "Limits in force"]

    # A day has several stops: day, month and year.
    assert list(dict.fromkeys(name for name in names if name in order)) == order
    assert names.index("from") < names.index("mode") < names.index("Limits in force")
    unseen = [one for one in walked[1 : names.index("Limits in force")] if not one.endswith("|solid")]
    assert unseen == []


def test_every_page_has_its_picture():
    """What is drawn here is in the docs, and small: make pictures."""
    wanted = {name_of(page, look) for look in KEPT for page in KEPT[look]}
    found = {path.name: path.stat().st_size for path in PICTURES.iterdir()}

    assert wanted <= found.keys()
    assert max(found[name] for name in wanted) < 200_000
