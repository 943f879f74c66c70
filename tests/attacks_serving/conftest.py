"""What the attacks on the service share: a service of each one's own, for colleagues and for separate analysts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from hushcount.app import answer as spine
from tests.api.clocks import wall
from tests.api.conftest import stage
from tests.api.served import Stage, staged

__all__ = ["stage", "wall"]


def apart(config):
    """A change of the configuration: analysts learn nothing of one another."""
    return replace(config, privacy=replace(config.privacy, analysts="separate"))


@pytest.fixture
def fresh(tmp_path, wall) -> Iterator[Stage]:
    """A service of a test's own; at its end its ledger is whole."""
    with staged(tmp_path) as made:
        yield made
        assert made.service.ledger.verify().problems == ()


@pytest.fixture
def separate(tmp_path, wall) -> Iterator[Stage]:
    """The same for separate analysts."""
    with staged(tmp_path, apart) as made:
        yield made
        assert made.service.ledger.verify().problems == ()


@pytest.fixture
def bob(separate):
    """A second analyst of the separate ones; ana is the first."""
    events = separate.service.served.find("events").id
    separate.service.ledger.grant("bob", "analyst", dataset=events, by="olga")
    return separate.token("bob")


@pytest.fixture
def reading(monkeypatch):
    """Holds every question while it reads, until it is let go."""

    class Reading:
        began, go = threading.Event(), threading.Event()

    held, real = Reading(), spine._draw  # noqa: SLF001  where data is read

    def draw(*given, **named):
        held.began.set()
        assert held.go.wait(30)
        return real(*given, **named)

    monkeypatch.setattr(spine, "_draw", draw)
    yield held
    held.go.set()
