"""A service over a real ledger in a file: an owner, two analysts, a reader, an auditor, a stranger, two data sets."""

from __future__ import annotations

from hushcount.app.secret import Secret
from hushcount.app.serving.callers.callers import Caller
from hushcount.app.setting import Setting
from hushcount.ledger.founding import Founding
from hushcount.ledger.ledger import SERVICE
from hushcount.ledger.limits import ten_standard_releases
from hushcount.ledger.sqlite import found_sqlite, open_sqlite
from tests.conformance.ledgers.stores import answered, ask, known
from tests.unit.app.serving.stand_in import Clock, StandInOffer, StandInService

KEY = bytes(range(32))
VISITS, CLICKS = StandInOffer(id="visits", name="visits"), StandInOffer(id="clicks", name="clicks")
OLGA, ZOE, MAX, RAE, ARNE, EVE = (Caller(name=name) for name in ("olga", "zoe", "max", "rae", "arne", "eve"))


class World:
    """The service, and what tests do to it."""

    def __init__(self, folder):
        self.clock, self.place = Clock(), folder / "ledger.sqlite"
        secret = Secret(bytes(32))
        founding = Founding(owner=SERVICE, limit=ten_standard_releases(), secret=secret.fingerprint)
        self.ledger = found_sqlite(self.place, founding, clock=self.clock)
        self.setting = Setting(secret=secret, ledger=self.ledger, analyst=SERVICE, clock=self.clock)
        self.service = StandInService(setting=self.setting)
        known(self.ledger, "visits", "clicks", by=SERVICE)
        self.ledger.grant("olga", "owner", by=SERVICE)
        self.ledger.grant("arne", "auditor", by="olga")
        for person, role in (("zoe", "analyst"), ("max", "analyst"), ("rae", "reader")):
            self.ledger.grant(person, role, dataset="visits", by="olga")

    def answered(self, who, key, **changes):
        """A question that somebody asked, and its answer."""
        return answered(self.ledger, ask(key, analyst=who, **changes))

    def again(self):
        """The same ledger as another worker has it."""
        ledger = open_sqlite(self.place, secret=self.setting.secret.fingerprint, clock=self.clock)
        setting = Setting(secret=self.setting.secret, ledger=ledger, analyst=SERVICE, clock=self.clock)
        return StandInService(setting=setting)
