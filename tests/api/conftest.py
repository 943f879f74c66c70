"""What the tests of the interface share: a service for all tests of a file, and a new one for those that change it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.api.clocks import wall
from tests.api.served import Stage, staged

__all__ = ["wall"]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """One service for all tests of a file; at its end its ledger is whole."""
    with staged(tmp_path_factory.mktemp("served")) as made:
        yield made
        assert made.service.ledger.verify().problems == ()


@pytest.fixture
def fresh(tmp_path) -> Iterator[Stage]:
    """A service of a test's own; at its end its ledger is whole."""
    with staged(tmp_path) as made:
        yield made
        assert made.service.ledger.verify().problems == ()
