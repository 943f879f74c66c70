"""Tokens made in a browser: shown once, used by curl, ended."""

from __future__ import annotations

import subprocess

import pytest

from tests.console.site import fetched

SCRIPTS = pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])


def curled(site, token):
    """The status that curl gets for a list of data sets."""
    words = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", f"Authorization: Bearer {token}"]
    told = subprocess.run([*words, f"{site.url}/v1/datasets"], capture_output=True, text=True, check=True)  # noqa: S603
    return told.stdout


@SCRIPTS
def test_a_token_is_made_used_by_curl_and_ended(site, window, scripts):
    """With its cap and its end; its text is on one page, once."""
    _, token = site.person()
    page = window(token, scripts=scripts)
    page.goto("/console/tokens")
    page.fill("#label", "Nightly <i>report</i>")
    page.select_option("#of", "reading")
    page.fill("#cap", "2.5")
    page.fill("#days", "7")
    page.click("text=Make it")
    text = page.inner_text("#secret").strip()
    used = curled(site, text)
    page.click("text=I have kept it")
    listed = page.inner_text("li:has-text('Nightly')")
    body = {"mode": "release", "dataset": "reading", "question": "people", "rho": "0.01"}
    fetched(site, "/v1/queries", text, body, headers={"Idempotency-Key": "nightly"})
    page.reload()
    asked = page.inner_text("li:has-text('Nightly')")
    content = page.content()
    page.click("li:has-text('Nightly') >> text=End it")

    assert text.startswith("hush_")
    assert used == "200"
    assert "Nightly <i>report</i>" in listed
    assert "only reading" in listed
    assert "at most 2.5 releases" in listed
    assert "asked nothing lately" in listed
    assert f"asked last on {site.service.setting.clock().day} " in asked
    assert text not in content
    assert page.locator("li:has-text('Nightly')").count() == 0
    assert curled(site, text) == "401"


def test_a_narrowed_token_cannot_make_another(site, window):
    """The page says so instead of offering it; and who sends the form all the same is refused."""
    _, token = site.person(scopes=("ask",))
    page = window(token)
    page.goto("/console/tokens")
    words = page.inner_text("main")
    sent = page.request.post("/console/tokens", form={"label": "x"}, headers={"Origin": site.url})

    assert "narrowed token" in words
    assert sent.status == 403


def test_ending_the_token_of_a_session_ends_the_session(site, window):
    """Whoever ends the token that they signed in with signs in anew."""
    _, token = site.person()
    page = window(token)
    page.goto("/console/tokens")
    page.click("li:has-text('this session') >> text=End it")

    assert "/console/sign-in" in page.url
