"""Signing in and out with a browser: what a session may do, where it leads, and how it ends."""

from __future__ import annotations

import pytest

SCRIPTS = pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])


@SCRIPTS
def test_a_token_becomes_a_session_and_ends_with_it(site, window, scripts):
    """The way in leads to the page that was wanted; signing out ends the session here, not only in the browser."""
    _, token = site.person()
    page = window(scripts=scripts)
    page.goto("/console/data")
    page.fill("#token", token)
    page.click("main button")
    kept = page.context.cookies()
    page.click("text=Sign out")
    page.context.add_cookies(kept)
    page.goto("/console/data")

    assert [(one["name"], one["httpOnly"], one["sameSite"]) for one in kept] == [("hushcount", True, "Strict")]
    assert token not in str(kept)
    assert "/console/sign-in" in page.url
