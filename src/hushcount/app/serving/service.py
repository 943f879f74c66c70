"""A service: all that one worker needs to answer callers, opened once."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from hushcount.app.serving.data.served import Served
from hushcount.app.serving.data.stores import Stores
from hushcount.app.serving.jobs.running import Runner
from hushcount.app.serving.setup.config import Config
from hushcount.app.setting import Setting
from hushcount.ledger.ledger import Ledger
from hushcount.model.frozen import frozen


@frozen
class Service:
    """One worker's service. Shared by all its threads.

    Attributes:
        config: how it was set up.
        setting: the secret and the ledger.
        served: the data sets.
        stores: their data, open.
        runner: the questions under way.
        tokens_key: under which tokens are kept.
    """

    config: Config
    setting: Setting
    served: Served
    stores: Stores
    runner: Runner
    tokens_key: bytes

    @property
    def ledger(self) -> Ledger:
        """Who keeps count."""
        if self.setting.ledger is None:
            raise LookupError("a service without a ledger")
        return self.setting.ledger

    def of(self, analyst: str) -> Setting:
        """The setting of one caller's questions."""
        return replace(self.setting, analyst=analyst)

    def close(self) -> None:
        """Give questions under way their time, then let go of everything."""
        self.runner.close(self.config.server.graceful)
        self.stores.close()
        self.setting.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()
