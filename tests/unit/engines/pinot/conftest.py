"""A cluster that lies."""

from __future__ import annotations

import pytest

from hushcount.engines.pinot.web import Web
from tests.unit.engines.pinot.lying import Liar, Said


@pytest.fixture
def liar(monkeypatch):
    """A cluster that tells the truth until it is told otherwise."""
    made = Liar()
    monkeypatch.setattr(Web, "send", lambda _, requests: Said([made.say(one) for one in requests]))
    return made
