"""What the tests of the console share: one server and one browser for all of them, and a window for each person."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hushcount.app.serving.jobs import answering
from hushcount.console import ask
from tests.conftest import IN_CI
from tests.console.site import CHROMIUM, ODD, Site, fetched, served

# Texts that somebody might call an item, each held by so many people that it is shown.
HOSTILE = (
    "<script>window.ran = true</script>",
    '"><img src=x onerror="window.ran = true">',
    "{{ 7 * 7 }}{% raw %}",
    "javascript:window.ran=true",
    "\u202egnirts desrever\u202c",
    "مرحبا بالعالم",
    "bell\x07 and null-like \x01\x1b[31m",
    "a\nb\tc\r\nd",
    "x" * 10_000,
    "<svg/onload=window.ran=true>",
    "'; DROP TABLE rows; --",
    "",
)


@dataclass(slots=True)
class Window:
    """A window of the browser, with all that it complained of.

    Attributes:
        page: the page.
        complaints: errors of scripts, and of the content security policy.
        expected: words of complaints that a test is about, such as the status of a refusal.
    """

    page: Any
    complaints: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One console for all tests; at its end its ledger is whole."""
    rows = [(f"u{person}", text) for text in HOSTILE for person in range(400)]
    with served(tmp_path_factory.mktemp("console"), hostile=rows) as made:
        # All tests ask, and none of them may find that others have spent what it needs.
        olga = made.token("olga", scopes=("manage", "ask"))
        for name in ("reading", "hostile", ODD):
            fetched(made, "/v1/limits", olga, {"dataset": name, "releases": "1000"}, method="PUT")
        yield made
        assert made.service.ledger.verify().problems == ()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """One browser for all tests: Debian's, by its path."""
    if not Path(CHROMIUM).exists():
        assert not IN_CI, "no Chromium: apt-get install chromium (CI is set, so this is a failure and not a skip)"
        pytest.skip("no Chromium here (Debian: apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as program:
        browser = program.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


@pytest.fixture
def gate(monkeypatch):
    """Holds every question before data is read for it, until it is set; and lets go of all at the end."""
    opened, real = threading.Event(), answering.answer

    def answer(*given: Any, **named: Any) -> Any:
        assert opened.wait(60)
        return real(*given, **named)

    monkeypatch.setattr(answering, "answer", answer)
    # Nobody has to wait for what does not come.
    monkeypatch.setattr(ask, "_PATIENCE", 0.1)
    yield opened
    opened.set()


@pytest.fixture
def window(chromium, site):
    """Makes windows, with scripts or without; at the end none of them has complained."""
    made = []

    def open_window(token: str | None = None, *, scripts: bool = True, **look: Any) -> Any:
        look.setdefault("viewport", {"width": 1200, "height": 900})
        context = chromium.new_context(base_url=site.url, java_script_enabled=scripts, **look)
        page = context.new_page()
        page.set_default_timeout(90_000)
        own = Window(page=page)
        page.on("console", lambda said: own.complaints.append(said.text) if said.type in {"error", "warning"} else None)
        page.on("pageerror", lambda error: own.complaints.append(str(error)))
        made.append((context, own))
        page.expected, page.complaints = own.expected, own.complaints
        if token is not None:
            context.add_cookies([site.cookie(token)])
        return page

    yield open_window
    complaints = [
        said for _, own in made for said in own.complaints if not any(words in said for words in own.expected)
    ]
    for context, _ in made:
        context.close()

    assert not complaints
