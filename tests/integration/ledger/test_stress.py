"""No overspend, ever (erratum 8): many processes at once, killed at random points, against every store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

from hushcount.accounting.spent import Spent
from hushcount.ledger.ledger import EVERY, Account
from hushcount.ledger.limits import rho_limit
from hushcount.ledger.store import utc_now
from tests.conformance.ledgers.stores import OWNER, analyst, dataset

ROOT = Path(__file__).resolve().parents[3]
WORKERS = int(os.environ.get("HUSHCOUNT_STRESS_WORKERS", "16"))
PLANS = int(os.environ.get("HUSHCOUNT_STRESS_PLANS", "70"))
# Small enough that part of the work is refused.
CEILING = Decimal("0.01") * PLANS


def run_workers(store, folder: Path) -> dict:
    """Let the workers loose; what they printed."""
    done = subprocess.run(  # noqa: S603 (our own program)
        [
            sys.executable,
            str(Path(__file__).with_name("workers.py")),
            store.kind,
            store.place,
            store.schema,
            str(folder),
            str(WORKERS),
            str(PLANS),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=3000,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_nothing_is_overspent_lost_or_charged_twice(store, tmp_path):
    """After the storm: the log replays to the balances, limits held, what left is charged, keys charge once."""
    ledger = store.found(utc_now)
    ledger.set_limit(
        Account(kind="dataset", name=EVERY, entity=EVERY), rho_limit(CEILING, "0.1", window="none"), by=OWNER
    )
    ledger.set_limit(
        Account(kind="analyst", name=EVERY, entity=EVERY), rho_limit(CEILING / 3, "0.1", window="none"), by=OWNER
    )
    started = time.monotonic()
    report = run_workers(store, tmp_path)
    seconds = time.monotonic() - started
    wait_until_all_expired(store)
    journals = [
        json.loads(line) for path in sorted(tmp_path.glob("worker-*")) for line in path.read_text().splitlines()
    ]
    outcomes = Counter(entry["outcome"].split()[0] for entry in journals)
    print(f"{store.kind}: {len(journals)} plans in {seconds:.1f} s, {report['killed']} killed, {dict(outcomes)}")  # noqa: T201 (shown with -s)
    balances = {name: ledger.balance(dataset(name)) for name in sorted({entry["dataset"] for entry in journals})}

    assert len(journals) == WORKERS * PLANS
    assert report["killed"] >= WORKERS / 2
    assert min(outcomes["released"], outcomes["BudgetExhausted"], outcomes["refunded"]) > 0
    # The replay checks every enforced limit after every entry, and every balance against the log.
    assert ledger.verify().problems == ()
    for name, balance in balances.items():
        assert balance.lifetime.rho <= CEILING
        assert balance.reserved == Spent()
        check_releases(store, name, [entry for entry in journals if entry["dataset"] == name], balance)


def wait_until_all_expired(store) -> None:
    """Look with a clock that is ahead: whoever was killed after reserving is charged in full."""
    ahead = store.open(lambda: utc_now() + timedelta(hours=20))
    for number in range(9):
        ahead.balance(dataset(f"data {number}"))
        ahead.balance(analyst("nobody", f"data {number}"))


def check_releases(store, name: str, journals: list[dict], balance) -> None:
    """Everything that left is stored, byte for byte, and charged; the data set's total is the sum of its charges."""
    database = store.database()
    with database.reading() as rows:
        stored = {
            number: bytes(payload).hex()
            for number, payload in rows.fetch("SELECT number, payload FROM releases WHERE entity = ?", name)
        }
        asks = rows.fetch(
            "SELECT number, analyst, ask_key, state, charged_rho, answer FROM asks WHERE entity = ?", name
        )
    database.close()
    live = [row for row in asks if row[3] != "refunded"]
    left = {
        (int(number), payload)
        for entry in journals
        if entry["outcome"].startswith("released")
        for number, payload in [entry["outcome"].rsplit(" ", 2)[1:]]
    }
    # A shared answer is charged to the data set once, by the query that made it.
    charged = sum((Decimal(row[4]) for row in live if row[5] in {None, row[0]}), Decimal(0))

    assert left <= set(stored.items())
    assert Counter((row[1], row[2]) for row in live).most_common(1)[0][1] == 1
    assert balance.lifetime.rho == charged
    assert all(row[3] in {"settled", "expired", "refunded"} for row in asks)
