"""Every page as people see it: pictures for the docs, what axe finds, how heavy it is, how it is walked by keyboard.

HUSHCOUNT_PICTURES=1 writes the pictures to docs/console; else they are drawn and thrown away.
"""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.console.site import fetched

PICTURES = Path(__file__).parents[2] / "docs" / "console"
HEAVIEST = 120_000
PAGES = ("data", "ask", "rehearsal", "answer", "receipt", "history", "budget", "tokens", "refusal", "sign-in")
LOOKS = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True},
}
# What is in the docs: every page in the light, and the two most used in the dark and on a phone.
KEPT = {"light": PAGES, "dark": ("ask", "answer"), "phone": ("ask", "answer")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ana:
    """An analyst who asked something: her token and her answer."""

    token: str
    release: str


@pytest.fixture(scope="module")
def ana(site):
    """Somebody with a history, a limit and a wish."""
    site.service.ledger.grant("ana", "analyst", dataset=site.service.served.find("reading").id, by="olga")
    olga, token = site.token("olga", scopes=("manage", "ask")), site.token("ana", scopes=("manage", "ask"))
    limit = {"dataset": "reading", "analyst": "ana", "releases": "6", "window": "month"}
    fetched(site, "/v1/limits", olga, limit, method="PUT")
    asked = [
        {"question": "people", "rho": "0.01"},
        {"question": "count", "item": "article", "rho": "0.05"},
        {"question": "vocab", "item": "search", "rho": "0.1"},
        {"question": "top", "item": "article", "k": 10},
    ]
    for number, body in enumerate(asked):
        said = {"mode": "release", "dataset": "reading", **body}
        done = fetched(site, "/v1/queries", token, said, headers={"Idempotency-Key": f"ana-{number}"})
    wish = {"dataset": "reading", "releases": "3", "why": "The quarterly report needs one more table."}
    fetched(site, "/v1/requests", token, wish)
    return Ana(token=token, release=done["release"]["id"])


def opened(page, name, ana):
    """Go to a page, as somebody would."""
    paths = {
        "data": "/console/data",
        "ask": "/console/ask?data=reading&k=5",
        "rehearsal": "/console/ask?data=reading&k=5&rehearse=1",
        "answer": f"/console/answers/{ana.release}?a=2&b=3",
        "receipt": f"/console/answers/{ana.release}/receipt",
        "history": "/console/history",
        "budget": "/console/budget",
        "tokens": "/console/tokens",
        "refusal": "/console/ask?data=reading&k=6&step=5",
        "sign-in": "/console/sign-in",
    }
    page.goto(paths[name])
    if name == "refusal":
        page.expected.append("403")
        page.click("text=Try it all the same")
        page.wait_for_selector("#wrong [role=alert]")


def kept(drawn, place):
    """Write a picture in few colours, so that it is small."""
    from PIL import Image

    Image.open(io.BytesIO(drawn)).convert("RGB").quantize(96, dither=Image.Dither.NONE).save(place, optimize=True)


@pytest.mark.parametrize("look", LOOKS)
def test_every_page_is_without_serious_findings(window, ana, look):
    """Nothing serious is found by axe, contrast among it; nothing is wider than the window; each has its picture."""
    from axe_playwright_python.sync_playwright import Axe

    page, axe = window(ana.token, **LOOKS[look]), Axe()
    keep = os.environ.get("HUSHCOUNT_PICTURES") == "1"
    found = {}
    for name in PAGES:
        opened(page, name, ana)
        told = axe.run(page).response["violations"]
        serious = [
            (one["id"], one["nodes"][0]["html"][:200]) for one in told if one["impact"] in {"serious", "critical"}
        ]
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        found |= {name: (serious, wide)} if serious or wide > 0 else {}
        if name in KEPT[look]:
            place = PICTURES / (f"{name}.png" if look == "light" else f"{name}-{look}.png")
            drawn = page.screenshot(full_page=True)
            if keep:
                kept(drawn, place)

    assert found == {}


def test_a_picture_of_bad_contrast_is_found(window, ana):
    """The same check, on a page that was spoiled: so it looks at contrast and at labels."""
    from axe_playwright_python.sync_playwright import Axe

    page = window(ana.token)
    opened(page, "ask", ana)
    page.evaluate("document.querySelector('.lead').style.color = '#ddd'")
    page.evaluate("document.querySelector('[name=where]').removeAttribute('aria-label')")
    page.evaluate("document.querySelector('[name=where]').removeAttribute('placeholder')")
    told = {one["id"] for one in Axe().run(page).response["violations"] if one["impact"] in {"serious", "critical"}}

    assert {"color-contrast", "label"} <= told


def test_no_page_is_heavy(window, ana):
    """A page with its style, script and pictures, sent to somebody who was never here, has at most 120 kB in all."""
    weights = {}
    for name in PAGES[:-1]:
        page, sizes = window(ana.token), {}
        page.on(
            "response", lambda reply, sizes=sizes: sizes.update({reply.url: reply.headers.get("content-length", 0)})
        )
        opened(page, name, ana)
        page.wait_for_load_state("load")
        weights[name] = sum(int(size) for size in sizes.values())

    assert max(weights.values()) <= HEAVIEST, weights
    assert min(weights.values()) > 10_000, weights


def test_the_keyboard_walks_a_page_as_it_is_read(window, ana):
    """First past the navigation, then through the sentence to its price; each step can be seen."""
    page = window(ana.token)
    opened(page, "ask", ana)
    walked = []
    for _ in range(17):
        page.keyboard.press("Tab")
        walked.append(
            page.evaluate(
                "(({name, innerText, outlineStyle}) => name || innerText)(document.activeElement) + '|' +"
                " getComputedStyle(document.activeElement).outlineStyle"
            )
        )
    names = [one.split("|")[0] for one in walked]

    assert names[0] == "To the content"
    assert names[1:7] == ["hushcount", "Ask", "History", "Budget", "Tokens", "Sign out"]
    assert names[7:12] == ["question", "k", "item", "where", "step"]
    assert names[12:16] == ["See the price", "Release the answer", "Rehearse", "What do these mean?"]
    assert all(one.endswith("|solid") or one.startswith("question") for one in walked[:16])


def test_every_page_has_its_picture():
    """What is drawn here is in the docs, and small: make pictures."""
    wanted = {f"{name}.png" if look == "light" else f"{name}-{look}.png" for look in KEPT for name in KEPT[look]}
    kept = {path.name: path.stat().st_size for path in PICTURES.iterdir()}

    assert wanted <= kept.keys()
    assert max(kept.values()) < 200_000
