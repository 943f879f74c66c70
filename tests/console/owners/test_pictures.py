"""Owners' pages as people see them: pictures for the docs, what axe finds, how heavy they are, how keys walk them."""

from __future__ import annotations

import os
import re
from datetime import timedelta

import pytest

from hushcount.app.serving.callers.callers import Caller
from hushcount.app.serving.owners import wishes
from tests.console.owners.looks import PAGES
from tests.console.site import got
from tests.console.test_pictures import HEAVIEST, LOOKS, PICTURES, kept

# What is in the docs: every page in the light, and what owners look at most in the dark and on a phone.
KEPT = {"light": tuple(PAGES), "dark": ("overview", "limits"), "phone": ("overview", "limits")}
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


@pytest.mark.parametrize("look", LOOKS)
def test_every_page_is_without_serious_findings(window, olga, wished, look):
    """Nothing serious is found by axe, contrast among it; nothing is wider than the window; each has its picture."""
    from axe_playwright_python.sync_playwright import Axe

    page, axe, found = window(olga, **LOOKS[look]), Axe(), {}
    for name, path in PAGES.items():
        page.goto(path)
        # What the dark can spoil is contrast.
        rules = {"runOnly": ["color-contrast"]} if look == "dark" else None
        told = axe.run(page, options=rules).response["violations"]
        serious = [
            (one["id"], one["nodes"][0]["html"][:200]) for one in told if one["impact"] in {"serious", "critical"}
        ]
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        found |= {name: (serious, wide)} if serious or wide > 0 else {}
        if name in KEPT[look] and os.environ.get("HUSHCOUNT_PICTURES") == "1":
            # Where the tests run is of no interest to readers.
            page.evaluate(
                "place => { const [one] = document.querySelectorAll('dl.facts dd'); if (one && place) "
                "one.textContent = place }",
                "/srv/hushcount/ledger.sqlite" if name == "health" else "",
            )
            kept(page.screenshot(full_page=True), PICTURES / name_of(name, look))

    assert found == {}


def test_no_page_is_heavy(site, olga, wished):
    """A page with all that it names, style, script and mark, sent to whoever was never here, has at most 120 kB."""
    weights = {}
    for name, path in PAGES.items():
        _, page = got(site, path, olga)
        named = set(re.findall(r'(?:href|src)="(/console/static/[^"]+)"', page))
        weights[name] = len(page.encode()) + sum(len(got(site, one, olga)[1].encode()) for one in named)

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
