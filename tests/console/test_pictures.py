"""Every page as people see it: pictures for the docs, what axe finds, how heavy it is, how it is walked by keyboard.

HUSHCOUNT_PICTURES=1 writes the pictures to docs/console; else they are drawn and thrown away.
"""

from __future__ import annotations

import io
import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.console.site import fetched, got

PICTURES = Path(__file__).parents[2] / "docs" / "console"
HEAVIEST = 120_000
PAGES = (
    "data",
    "ask",
    "rehearsal",
    "answer",
    "receipt",
    "history",
    "budget",
    "tokens",
    "refusal",
    "sign-in",
    "welcome",
)
# Looked at as well; not in the docs.
OTHERS = ("problem", "new-token")
# The scheme of colours, and how wide and high the window is.
LOOKS = {"light": ("light", 1200, 900), "dark": ("dark", 1200, 900), "phone": ("light", 390, 844)}
# What the dark can spoil is contrast, which takes longest; on a phone it is as in the light.
RULES = {
    "light": {},
    "dark": {"runOnly": ["color-contrast"]},
    "phone": {"rules": {"color-contrast": {"enabled": False}}},
}
# What is in the docs: every page in the light, and the two most used in the dark and on a phone.
KEPT = {"light": (*PAGES, "running"), "dark": ("ask", "answer"), "phone": ("ask", "answer")}


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


def paths(ana):
    """Where the pages are."""
    return {
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
        "welcome": "/welcome",
        "problem": "/console/nothing",
        "new-token": "/console/tokens",
    }


def weight(site, path, token):
    """How many bytes a page has, with all that it names."""
    _, page = got(site, path, token)
    named = set(re.findall(r'(?:href|src)="(/console/static/[^"]+)"', page))
    return len(page.encode()) + sum(len(got(site, one, token)[1].encode()) for one in named)


def opened(page, name, ana):
    """Go to a page, as somebody would."""
    page.goto(paths(ana)[name])
    if name == "refusal":
        page.expected.append("403")
        page.click("text=Try it all the same")
        page.wait_for_selector("#wrong [role=alert]")
    if name == "new-token":
        page.fill("#label", "Nightly report")
        page.click("text=Make it")
        page.wait_for_selector("#secret")


def kept(drawn, place):
    """Write a picture in few colours, so that it is small."""
    from PIL import Image

    Image.open(io.BytesIO(drawn)).convert("RGB").quantize(96, dither=Image.Dither.NONE).save(place, optimize=True)


def findings(page, look):
    """What axe finds serious in one look of a page, contrast among it, and by how much it is wider than its window."""
    scheme, width, height = LOOKS[look]
    # Colours that move slowly would be measured on their way.
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": height})
    serious = [(one["id"], one["nodes"][0]["html"][:200]) for one in seen_by_axe(page, **RULES[look])]
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return [*serious, *([("wide", wide)] if wide > 0 else [])]


def seen_by_axe(page, **rules):
    """What axe finds serious; loaded once into a page, and asked for nothing but what is wrong."""
    from axe_playwright_python.base import AXE_SCRIPT

    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(AXE_SCRIPT)
    wanted = {"resultTypes": ["violations"], **rules}
    told = page.evaluate("wanted => axe.run(wanted).then(found => found.violations)", wanted)
    return [one for one in told if one["impact"] in {"serious", "critical"}]


def drawn(page, name):
    """A picture for the docs, if they are wanted."""
    if os.environ.get("HUSHCOUNT_PICTURES") == "1":
        kept(page.screenshot(full_page=True), PICTURES / name)


def test_every_page_is_without_serious_findings(window, ana):
    """Nothing serious is found by axe, contrast among it; nothing is wider than the window; each has its picture."""
    page, found = window(ana.token), {}
    page.expected.append("404")
    for name in (*PAGES, *OTHERS):
        opened(page, name, ana)
        for look in LOOKS:
            found[name, look] = findings(page, look)
            if name in KEPT[look]:
                drawn(page, f"{name}.png" if look == "light" else f"{name}-{look}.png")

    assert {place: told for place, told in found.items() if told} == {}


def test_a_question_under_way_is_without_serious_findings(window, ana, gate):
    """Its page too, while it runs."""
    page = window(ana.token)
    page.goto("/console/ask?data=reading&k=4&step=0")
    page.click("text=Release the answer")
    page.wait_for_url("**/console/queries/q_*")
    drawn(page, "running.png")

    assert {look: told for look in LOOKS if (told := findings(page, look))} == {}


def test_a_picture_of_bad_contrast_is_found(window, ana):
    """The same check, on a page that was spoiled: so it looks at contrast and at labels."""
    page = window(ana.token)
    opened(page, "ask", ana)
    page.evaluate("document.querySelector('.lead').style.color = '#ddd'")
    page.evaluate("document.querySelector('[name=where]').removeAttribute('aria-label')")
    page.evaluate("document.querySelector('[name=where]').removeAttribute('placeholder')")

    assert {"color-contrast", "label"} <= {one["id"] for one in seen_by_axe(page)}


def test_no_page_is_heavy(site, window, ana):
    """A page with all that it names, style, script and mark, sent to whoever was never here, has at most 120 kB."""
    weights = {name: weight(site, path, ana.token) for name, path in paths(ana).items()}
    page, sizes = window(ana.token), {}
    page.on("response", lambda reply: sizes.update({reply.url: int(reply.headers.get("content-length", 0))}))
    opened(page, "answer", ana)
    page.wait_for_load_state("load")

    assert max(weights.values()) <= HEAVIEST, weights
    assert min(weights.values()) > 10_000, weights
    # What a browser fetched.
    assert sum(sizes.values()) == weights["answer"]


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
