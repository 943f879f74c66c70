"""`hushcount serve FILE`: nobody signs in, and the first private answer takes three clicks."""

from __future__ import annotations

import pytest

from hushcount.cli import serve
from hushcount.errors import UnknownColumn
from tests.api.test_serve import called, running
from tests.console import site
from tests.console.site import make_files, served


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The console of one person at their own machine, who has not said yet who a person is in their file."""
    with served(tmp_path_factory.mktemp("alone"), hostile=[], change=site.alone) as made:
        yield made


def test_the_first_private_answer_takes_three_clicks(alone, window):
    """Who is a person; release. The address leads there by itself, and nothing asks who is there."""
    page = window()
    page.goto(alone.url)
    page.select_option("#person", "reader")
    page.click("text=That is a person")
    page.click("text=Release the answer")

    assert page.text_content("h1") == "the 10 articles that most readers have"
    assert page.locator("tbody tr").count() == 10
    assert "this machine only" in page.inner_text("header")


def test_who_a_person_is_is_said_once(alone, window):
    """A second word is refused, and changes nothing."""
    page = window()
    page.goto(f"{alone.url}/console/data")
    sent = page.request.post(
        f"{alone.url}/console/data/person", form={"data": "reading", "person": "article"}, headers={"Origin": alone.url}
    )

    assert sent.status == 400
    assert "left as it is" in sent.text()


def test_a_column_that_is_not_there_is_no_person(tmp_path):
    """Nothing is pinned by a slip; after a restart it is as it was said."""
    with served(tmp_path, hostile=[], change=site.alone) as made:
        with pytest.raises(UnknownColumn):
            made.service.served.say_person("reading", "nobody")
        before = made.service.served.find("reading").person
        made.service.served.say_person("reading", "reader")
        kept = made.service.setting.catalog.find("reading", by="the service").person

    assert (before, kept) == ("", "reader")


def test_the_command_ends_in_a_page_that_answers(tmp_path, window):
    """`hushcount serve FILE` without --user prints where its pages are: three clicks there, also without scripts."""
    make_files(tmp_path, [])
    page = window(scripts=False)
    with running(tmp_path, "data/reading.parquet", "--port", "0") as (process, port):
        lines = [process.stdout.readline(), process.stdout.readline()]
        status, headers, _ = called(port, "GET", "/")
        page.goto(lines[1].removeprefix("Open: ").strip())
        asked = page.inner_text("label[for=person]")
        page.select_option("#person", "reader")
        page.click("text=That is a person")
        page.click("text=Release the answer")
        page.wait_for_selector("h1.said")
        answered, rows = page.text_content("h1"), page.locator("tbody tr").count()

    assert lines[1] == f"Open: http://127.0.0.1:{port}/console\n"
    assert (status, headers["location"]) == (303, "/console/data")
    assert asked == "Who is a person here?"
    assert (answered, rows) == ("the 10 articles that most readers have", 10)


@pytest.mark.parametrize(
    ("said", "windows", "terminal", "wanted"),
    [
        (None, True, True, True),
        (None, False, True, False),
        (None, True, False, False),
        (False, True, True, False),
        (True, False, False, True),
    ],
)
def test_a_browser_is_opened_where_somebody_sits(alone, monkeypatch, said, windows, terminal, wanted):
    """By itself only for whoever has windows and reads what is printed; never where nobody does, as in tests."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    if windows:
        monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal, raising=False)

    assert serve._wants_browser(alone.service.config, said) is wanted  # noqa: SLF001
