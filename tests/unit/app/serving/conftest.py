"""The world that tests of a service share."""

from __future__ import annotations

import pytest

from tests.unit.app.serving.world import World


@pytest.fixture
def world(tmp_path):
    """A service over a real ledger; whatever was done to it, its log must still add up."""
    made = World(tmp_path)
    yield made
    assert made.ledger.verify().problems == ()
    made.ledger.close()
