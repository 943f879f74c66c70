"""A clock on the wall that is put forward by hand: what is due in seconds is due at once, and no test waits for it."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

import pytest

from hushcount.app.serving import opening
from hushcount.ledger import sqlite
from hushcount.ledger.store import utc_now


class Wall:
    """The machine's clock, ahead by all that was let pass. It goes on by itself meanwhile."""

    def __init__(self) -> None:
        self._ahead = timedelta(0)

    def __call__(self) -> datetime:
        """Now."""
        return utc_now() + self._ahead

    def let_pass(self, seconds: float) -> None:
        """So much later."""
        self._ahead += timedelta(seconds=seconds)


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Wall:
    """The clock of every service that a test founds from here on, of its ledger as well as of its setting."""
    made = Wall()
    monkeypatch.setattr(sqlite, "found_sqlite", partial(sqlite.found_sqlite, clock=made))
    monkeypatch.setattr(opening, "Setting", partial(opening.Setting, clock=made))
    return made
