"""Analysts who must learn nothing of each other: no page tells one of them of another."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hushcount.app.serving.setup.config import Timing
from hushcount.console.texts import day
from tests.console.markup import words
from tests.console.site import fetched, got, served

PAGES = ("/console/data", "/console/ask?data=reading&k=3", "/console/budget", "/console/history", "/console/tokens")


@pytest.fixture(scope="module")
def apart(tmp_path_factory):
    """A console of separate analysts, whose answers are seen at the ticks of a grid."""

    def change(config):
        timing = Timing(kind="grid", every=timedelta(milliseconds=200))
        stores = tuple(replace(store, snapshot="day") for store in config.stores)
        return replace(config, stores=stores, privacy=replace(config.privacy, analysts="separate", timing=timing))

    with served(tmp_path_factory.mktemp("apart"), hostile=[], change=change) as made:
        yield made


def test_no_page_tells_of_another_analyst(apart):
    """Not of their questions, nor of what they spent: every page is the same before and after somebody else asked."""
    _, mine = apart.person()
    name, theirs = apart.person()
    before = [words(got(apart, path, mine)[1]) for path in PAGES]
    body = {"mode": "release", "dataset": "reading", "question": "top", "item": "article", "k": 3}
    fetched(apart, "/v1/queries", theirs, body, headers={"Idempotency-Key": "theirs", "Prefer": "wait=30"})
    after = [words(got(apart, path, mine)[1]) for path in PAGES]

    assert after == before
    assert "Others spend from it too" in before[2]
    assert not any(name in page for page in after)
    assert name in words(got(apart, "/console/data", theirs)[1])


def test_data_of_a_day_tells_which_day(apart):
    """Where versions change once a day, the page says as of which; it is the day of the interface."""
    _, token = apart.person()
    told = fetched(apart, "/v1/datasets/reading", token)["as_of"]
    page = words(got(apart, "/console/data", token)[1])

    assert told == apart.service.setting.clock().date().isoformat()
    assert f"As of {day(told)}" in page
