"""A past for a console: a month in which twenty analysts asked, some of them a great deal, and data to be added."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from hushcount.app.secret import Secret
from hushcount.app.serving.data.served import Served
from hushcount.app.serving.data.stores import Stores
from hushcount.app.serving.setup.config import Config
from hushcount.app.serving.setup.keyfiles import read_key
from hushcount.app.setting import Setting
from hushcount.ledger.founding import Founding
from hushcount.ledger.ledger import EVERY, SERVICE, Account, Ask
from hushcount.ledger.limits import NEW_ORDER, rho_limit, ten_standard_releases
from hushcount.ledger.sqlite import found_sqlite
from hushcount.model.costs import Concentrated, Cost, Failure
from tests.conformance.ledgers.stores import answered

DAYS = 16
NAMED = (
    "ann",
    "ben",
    "cho",
    "dana",
    "eli",
    "fay",
    "gus",
    "hana",
    "ivo",
    "jo",
    "kim",
    "lea",
    "max",
    "nia",
    "omar",
    "zoe",
)
ANALYSTS = (*NAMED, *(f"guest{number}" for number in range(1, 29)))
# Who asks much more than the others.
HEAVY = ("max", "zoe")
WHAT = ("the 10 most common article", "how many people have each search", "how many people have each topic")


class Hands:
    """A clock that is moved by hand."""

    def __init__(self, moment: datetime) -> None:
        self.moment = moment

    def __call__(self) -> datetime:
        """The moment."""
        return self.moment


def write_past(config: Config) -> None:
    """Found the ledger some weeks ago, and let people ask until an hour ago: tracked, so that nobody was stopped."""
    chance, hands = random.Random(5), Hands(datetime.now(UTC) - timedelta(days=DAYS, hours=1))
    secret = Secret(read_key(config.keys.noise))
    founding = Founding(owner=SERVICE, limit=ten_standard_releases(), secret=secret.fingerprint, order=NEW_ORDER)
    ledger = found_sqlite(Path(config.ledger.address), founding, clock=hands)
    setting = Setting(secret=secret, ledger=ledger, analyst=SERVICE, clock=hands)
    stores = Stores()
    offer = Served(config, stores, setting).find("reading")
    stores.close()
    entity = ledger.catalog.find("reading", by=SERVICE).population
    ledger.grant("olga", "owner", by=SERVICE)
    ledger.grant("arne", "auditor", by="olga")
    for name in ANALYSTS:
        ledger.grant(name, "analyst", dataset=offer.id, by="olga")
    for name in ("ann", "ben", "max"):
        ledger.enroll(name, "sales", by="olga")
    _track(ledger, entity, each="3", data="100")
    for hour in range(24 * DAYS):
        hands.moment += timedelta(hours=1)
        for name in ANALYSTS:
            if chance.random() < (0.04 if name in HEAVY else 0.008):
                cost = _cost(chance.choice(["0.01", "0.1", "0.2"]))
                key = f"{name} {hour}"
                answered(
                    ledger,
                    Ask(
                        analyst=name,
                        dataset=offer.id,
                        version="v1",
                        query=key,
                        cost=cost,
                        key=key,
                        what=chance.choice(WHAT),
                    ),
                )
    ledger.close()


def write_clinic(folder: Path) -> None:
    """Two tables that nobody serves yet, with columns that look like people, visits and rows."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE clinic AS SELECT 'r' || i AS row_id, 'p' || (i % 3000) AS patient, 's' || (i % 9000) AS "
            "session_id, 'd' || (i % 7) AS diagnosis, TIMESTAMP '2026-01-01' + INTERVAL (i) MINUTE AS seen_at "
            "FROM range(30000) t(i)"
        )
        connection.execute(f"COPY clinic TO '{folder / 'clinic.parquet'}' (FORMAT parquet)")
        # Other rows: the same ones under another name would be recognised, and share their budget.
        connection.execute("UPDATE clinic SET patient = 'w' || patient")
        connection.execute(f"COPY clinic TO '{folder / 'wards.parquet'}' (FORMAT parquet)")


def _track(ledger, entity: str, *, each: str, data: str) -> None:
    for account, releases in (
        (Account(kind="analyst", name=EVERY, entity=entity), each),
        (Account(kind="dataset", name=entity, entity=entity), data),
    ):
        amounts = Decimal(releases) * Decimal("0.1"), Decimal(releases) * Decimal("1e-6")
        ledger.set_limit(account, rho_limit(*amounts, mode="track"), by="olga")


def _cost(rho: str) -> Cost:
    return Cost.of((Concentrated(rho=Decimal(rho)), 1), (Failure(delta=Decimal("1e-6")), 1))
