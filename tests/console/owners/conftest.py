"""What the tests of owners' pages share: one server with a past, in the one browser of all tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.console.owners.past import write_clinic, write_past
from tests.console.site import Site, served


@contextmanager
def overseen(folder: Path) -> Iterator[Site]:
    """A console with a past; at its end its ledger is whole."""

    def change(config):
        write_past(config)
        write_clinic(folder / "data")
        # What is in the pictures has names that people give.
        data = folder / "data"
        (data / "hostile.parquet").rename(data / "surveys.parquet")
        (data / "odd.parquet").unlink()
        reading = next(one for one in config.datasets if one.name == "reading")
        surveys = next(one for one in config.datasets if one.name == "hostile")
        return replace(config, datasets=(reading, replace(surveys, name="surveys", table="surveys.parquet")))

    with served(folder, hostile=[("a", "b")], change=change) as made:
        yield made
        assert made.service.ledger.verify().problems == ()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One console for all tests of owners, but those that spoil it."""
    with overseen(tmp_path_factory.mktemp("owners")) as made:
        yield made


@pytest.fixture(scope="session")
def olga(site) -> str:
    """A token of whoever owns everything."""
    return site.token("olga", scopes=("manage", "ask"))
