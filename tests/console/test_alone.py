"""`hushcount serve FILE`: nobody signs in, and the first private answer takes three clicks."""

from __future__ import annotations

import pytest

from tests.console.site import served


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The console of one person at their own machine, who has not said yet who a person is in their file."""
    with served(tmp_path_factory.mktemp("alone"), hostile=[], alone=True) as made:
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
