"""Sixteen processes that ask, settle, refund and die at random points, and start again where they died.

Run as a program: it forks the workers, forks a new one for each that was killed, and ends when all have done their
work. What a worker got hold of it writes to a journal before it goes on: that is what left the building.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path

from hushcount.accounting import zcdp
from hushcount.errors import BudgetExhausted, ReservationClosed
from hushcount.ledger.ledger import StoredRelease
from hushcount.ledger.sql import SqlLedger
from hushcount.ledger.store import utc_now
from tests.conformance.ledgers.stores import Faulty, Store, ask, cost, known

DATASETS = 3


@dataclass
class Plan:
    """One thing to do; the same in every life of a worker, so that a new life retries what the last one began."""

    key: str
    analyst: str
    dataset: str
    query: str
    fresh: bool
    held: str
    used: str
    ending: str


def plans(worker: int, count: int) -> list[Plan]:
    """What a worker is to do. Workers share analysts, so two may even use the same key at once."""
    dice = random.Random(worker // 2)
    made = []
    for number in range(count):
        held = dice.choice(["0.01", "0.02", "0.05"])
        made.append(
            Plan(
                key=f"{worker // 2}-{number}",
                analyst=f"analyst {worker // 2}",
                dataset=f"data {dice.randrange(DATASETS)}",
                query=f"query {dice.randrange(count)} {held}",
                fresh=dice.random() < 0.3,
                held=held,
                used=dice.choice(["0", "0.005", "0.01"]),
                ending=dice.choice(["settle", "settle", "settle", "refund", "abandon"]),
            )
        )
    return made


def work(store: Store, plan: Plan, ledger: SqlLedger) -> str:
    """One query from beginning to end."""
    # Each life meets the data again, mostly under identities that are known by now.
    known(ledger, plan.dataset)
    question = ask(
        plan.key,
        analyst=plan.analyst,
        dataset=plan.dataset,
        version=f"{plan.dataset} v1",
        query=plan.query,
        fresh=plan.fresh,
        cost=cost(plan.held, "0.0000001"),
        lifetime=timedelta(seconds=30 if plan.ending != "abandon" else 0.05),
    )
    try:
        held = ledger.reserve(question)
    except (BudgetExhausted, ReservationClosed) as error:
        return type(error).__name__
    if isinstance(held, StoredRelease):
        return f"released {held.entity} {held.number} {held.payload.hex()}"
    try:
        if plan.ending == "refund":
            ledger.refund(held)
            return "refunded"
        ledger.touch(held)
        if plan.ending == "abandon":
            return "abandoned"
        release = ledger.settle(held, cost(plan.used, "0"), payload=os.urandom(8))
    except ReservationClosed:
        # The twin that shares this analyst and key was faster.
        return "closed"
    return f"released {release.entity} {release.number} {release.payload.hex()}"


def live(store: Store, worker: int, *, count: int, journal: Path) -> None:
    """One life: go on after the last finished plan; die at a random statement, or not."""
    dice = random.Random(os.getpid() + time.time_ns())
    done = len(journal.read_text().splitlines()) if journal.exists() else 0
    faulty = Faulty(store.database(utc_now), crash=lambda: os.kill(os.getpid(), signal.SIGKILL))
    if dice.random() < 0.9:
        faulty.crash_at = dice.randrange(1, 400)
    ledger = SqlLedger(faulty)
    with journal.open("a", encoding="utf-8") as file:
        for plan in plans(worker, count)[done:]:
            outcome = work(store, plan, ledger)
            file.write(json.dumps({**asdict(plan), "outcome": outcome}) + "\n")
            file.flush()
    ledger.close()


def main(kind: str, place: str, schema: str, folder: str, workers: str, count: str) -> None:
    """Keep the workers alive until all work is done; print how often one was killed."""
    store, killed, running = Store(kind, place, schema=schema), 0, {}

    def start(worker: int) -> None:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                live(store, worker, count=int(count), journal=Path(folder) / f"worker-{worker}")
                status = 0
            finally:
                os._exit(status)
        running[child] = worker

    for worker in range(int(workers)):
        start(worker)
    while running:
        child, status = os.wait()
        worker = running.pop(child)
        if os.WIFSIGNALED(status):
            killed += 1
            start(worker)
        elif os.WEXITSTATUS(status):
            raise SystemExit(f"worker {worker} failed")
    print(json.dumps({"killed": killed, "spent": str(zcdp.spent(cost()).rho)}))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
