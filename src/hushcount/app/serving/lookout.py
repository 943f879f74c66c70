"""The lookout: what became of reservations and what is left, read from the ledger for those who run the service.

Once a minute, whoever asks how often: so nobody tells from it when one question ended. Only what is new in the log is
read. It names data sets and no people; what is left is told in whole releases, rounded down.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from hushcount.app.serving.callers.tokens import ledger_of
from hushcount.app.serving.news import News
from hushcount.app.setting import Setting
from hushcount.app.words import room
from hushcount.errors import HushcountError
from hushcount.ledger.ledger import Account, Ledger
from hushcount.model.frozen import frozen

_EVERY: Final = 60.0
# What the log calls the end of a reservation. One that is settled late has expired before.
ENDS: Final = {"settle": "settled", "refund": "refunded", "expire": "expired", "overrun": "overrun"}
ENDINGS: Final = tuple(ENDS.values())
_log = logging.getLogger("hushcount.serving")


@frozen
class Seen:
    """What the last look saw.

    Attributes:
        open: how many reservations are open.
        ended: how many ended since the first look, by what became of them.
        left: of each data set whose limit is enforced, how many whole standard releases are left to all together.
    """

    open: int
    ended: Mapping[str, int]
    left: Mapping[str, int]


class Lookout:
    """One for a whole server, in its first process. The ledger is everybody's: so are its numbers, on every machine.

    Args:
        opening: opens the secret and the ledger.
    """

    def __init__(self, opening: Callable[[], Setting]) -> None:
        self._opening = opening
        self._setting: Setting | None = None
        self._news = News()
        self._ended: Counter[str] = Counter()
        self._over = threading.Event()
        self.seen: Seen | None = None

    def start(self) -> None:
        """Look once a minute, in a thread of its own."""
        threading.Thread(target=self._looking, name="lookout", daemon=True).start()

    def close(self) -> None:
        """Look no more."""
        self._over.set()
        if self._setting is not None:
            self._setting.close()

    def look(self) -> None:
        """Look once. A ledger that cannot be read is not seen: old numbers would pass for new ones."""
        try:
            if self._setting is None:
                self._setting = self._opening()
            ledger, by = ledger_of(self._setting), self._setting.analyst
            for entry in self._news.since(ledger, by=by):
                if entry.kind in ENDS:
                    self._ended[ENDS[entry.kind]] += 1
            self.seen = Seen(open=ledger.watch.running(), ended=dict(self._ended), left=_left(ledger, by))
        except HushcountError:
            self.seen = None

    def _looking(self) -> None:
        while True:
            try:
                self.look()
            except Exception:  # noqa: BLE001  metrics may be missing, and must not take anything along
                self.seen = None
                _log.exception("the lookout stumbled")
            if self._over.wait(_EVERY):
                return


def _left(ledger: Ledger, by: str) -> dict[str, int]:
    found = {}
    for dataset in ledger.catalog.datasets(by=by):
        balance = ledger.balance(Account(kind="dataset", name=dataset.population, entity=dataset.population))
        if balance.left is not None and balance.limit is not None and balance.limit.mode == "enforce":
            found[dataset.name] = int(room(balance.left, balance.limit))
    return found
