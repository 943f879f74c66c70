"""The system checks: what surrounds the mechanisms must not tell what they hide. The real product, on made-up data."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np

from hushcount.accounting import zcdp
from hushcount.app.options import Options
from hushcount.app.release import Release
from hushcount.audit.asking import asked_by_name
from hushcount.audit.finding import Finding
from hushcount.audit.system.canaries import look_for_canaries
from hushcount.audit.system.changes import look_at_changes
from hushcount.audit.system.names import look_at_names
from hushcount.audit.system.product import Product, spent, workspace, write_csv
from hushcount.audit.system.timing import look_at_time
from hushcount.mechanisms.table import MECHANISMS
from hushcount.model.frozen import frozen
from hushcount.model.queries import Question

# All checks together: the probability that sound software is called broken. Each states its own share where its bound
# is set: time 1e-7, equal noise 1e-15, twelve characters of some digest by chance in a megabyte 1e-7.
SYSTEM_FALSE_ALARM = 1e-6

_ITEMS = tuple(f"item-{number:03d}" for number in range(200))
_HOLDERS = 30
# The noise of this budget has scale 70 on each item, so that two independent draws are equal once in 280 times.
_NOISY: Options = {"method": "known-laplace", "keys": _ITEMS, "max_items_per_user": 1, "rho": "1e-4"}
# With 199 items 0.7 are equal by chance; more than this with probability below 1e-15 (binomial tail).
_EQUAL_BY_CHANCE = 20
_VERSION = "the same for all orders"
_FEW = tuple(f"item-{number:02d}" for number in range(12))


class Look(Protocol):
    """A check: what it found on a product."""

    def __call__(self, product: Product, *, quick: bool) -> Finding:
        """Look."""
        ...


@frozen
class SystemCheck:
    """A check under the name that its findings carry."""

    name: str
    look: Look


def look_at_spending(product: Product, *, quick: bool) -> Finding:  # noqa: ARG001  it takes a second either way
    """The same question twice: charged once, the same bytes. Asked afresh: charged again, other noise."""
    asks: tuple[tuple[Question, Options], ...] = (
        ("count", _NOISY),
        ("top", {"k": 3, "rho": "0.01"}),
        ("vocab", {"rho": "0.01"}),
    )
    with workspace() as folder:
        path = write_csv(folder / "people.csv", _one_item_each(_HOLDERS))
        wrong = [word for question, options in asks for word in _misspent(product, question, path, options=options)]
    return Finding(
        subject="repeat spends once",
        step="system",
        holds=not wrong,
        claimed="a repeat costs nothing and gives the same bytes; fresh noise is paid for",
        measured="; ".join(wrong) or "charged once, the same bytes; fresh noise charged again",
        where="each question was asked, asked again, and asked afresh, with a ledger of its own",
        looked=f"{len(asks)} questions, {3 * len(asks)} calls",
    )


def _misspent(product: Product, question: Question, path: Path, *, options: Options) -> list[str]:
    """What was wrong with the charges for one question, asked three times; a ledger of its own for each question."""
    ledger = path.with_name(f"{question}.sqlite")
    options = {**options, "ledger": ledger}
    once = product.ask(question, path, options)
    paid = spent(ledger, path)
    again = product.ask(question, path, options)
    after = spent(ledger, path)
    fresh = product.ask(question, path, {**options, "fresh": True})
    last = spent(ledger, path)
    mistakes = {
        "nothing was charged": paid.rho <= 0,
        "the repeat was charged": after != paid,
        "the repeat gave other bytes": once.to_bytes() != again.to_bytes(),
        # A ledger rounds up, so it never charges less than the release's own cost.
        "fresh noise was not charged": (last - after).rho < zcdp.spent(fresh.cost).rho,
        # Only where a table of noisy counts makes an equal draw impossible in practice.
        "fresh noise was the old noise": question == "count" and once.to_dict() == fresh.to_dict(),
    }
    return [f"{question}: {words}" for words, wrong in mistakes.items() if wrong]


def look_at_changed_data(product: Product, *, quick: bool) -> Finding:  # noqa: ARG001  it takes a second either way
    """One more person: all noise is new (erratum 9). The same bytes under another name: the same answer, unpaid."""
    with workspace() as folder:
        rows = _one_item_each(_HOLDERS)
        path = write_csv(folder / "people.csv", rows)
        grown = write_csv(folder / "grown.csv", [*rows, ("one-more", _ITEMS[0])])
        before, after = (product.ask("count", place, {**_NOISY, "ledger": False}) for place in (path, grown))
        noise = [_counts_of(release, _ITEMS[1:]) for release in (before, after)]
        equal = int((noise[0] == noise[1]).sum())
        ledger = folder / "ledger.sqlite"
        first = product.ask("count", path, {**_NOISY, "ledger": ledger})
        paid = spent(ledger, path)
        copy = folder / "copy.csv"
        copy.write_bytes(path.read_bytes())
        copied = product.ask("count", copy, {**_NOISY, "ledger": ledger})
        same = first.to_dict() == copied.to_dict() and spent(ledger, path) == paid
    ok = equal <= _EQUAL_BY_CHANCE and same
    words = "a copied file gave the same answer for nothing" if same else "A COPIED FILE WAS ANSWERED ANEW"
    return Finding(
        subject="changed data, new noise",
        step="system",
        holds=ok,
        claimed="one more person, and the noise is new on every item; the same bytes, and it is the same",
        measured=f"equal noise on {equal} of {len(_ITEMS) - 1} items, up to {_EQUAL_BY_CHANCE} by chance; {words}",
        where="one person was added, who holds an item that the others compared do not",
        looked=f"{len(_ITEMS) - 1} items, 4 calls",
    )


def look_at_order(product: Product, *, quick: bool) -> Finding:
    """Rows in another order, people under other names: the same release, row by row. Quick: until one differs."""
    wrong: list[str] = []
    shown = looked = 0
    with workspace() as folder:
        paths = _write_orders(folder)
        for mechanism in MECHANISMS:
            options: Options = {**asked_by_name(mechanism, max_items=2, k=5, keys=_FEW), "rho": 1}
            # Policies go through people in an order of their names, so only the order of rows is changed for them.
            names = [n for n in paths if n != "renamed" or not mechanism.sequential]
            names = [names[0], names[-1]] if quick else names
            found = {n: product.ask(mechanism.question, paths[n], options, version=_VERSION) for n in names}
            released = {n: release.to_dict() for n, release in found.items()}
            shown += len(found["sorted"])
            wrong += [f"{mechanism.name}: {n}" for n in names if released[n] != released["sorted"]]
            looked += 1
            if quick and wrong:
                break
    nothing = ["nothing was released, so nothing was compared"] * (not shown)
    return Finding(
        subject="order tells nothing",
        step="system",
        holds=not (wrong or nothing),
        claimed="the order of input rows and of people changes nothing in a release",
        measured="; ".join([*wrong[:5], *nothing]) or "the same rows in the same order, for every mechanism",
        where="the same rows in other orders, and with people renamed, under one noise",
        looked=f"{looked} mechanisms, {shown} released rows",
    )


SYSTEM_CHECKS: tuple[SystemCheck, ...] = (
    SystemCheck(name="repeat spends once", look=look_at_spending),
    SystemCheck(name="changed data, new noise", look=look_at_changed_data),
    SystemCheck(name="one budget for all names", look=look_at_names),
    SystemCheck(name="every change is a new version", look=look_at_changes),
    SystemCheck(name="canaries stay silent", look=look_for_canaries),
    SystemCheck(name="order tells nothing", look=look_at_order),
    SystemCheck(name="time tells nothing", look=look_at_time),
)


def run_check_by_name(name: str, *, quick: bool) -> Finding:
    """One check of the installed product."""
    return run_check(next(check for check in SYSTEM_CHECKS if check.name == name), Product(), quick=quick)


def run_check(check: SystemCheck, product: Product, *, quick: bool) -> Finding:
    """One check and how long it took."""
    begun = time.monotonic()
    finding = check.look(product, quick=quick)
    return replace(finding, seconds=time.monotonic() - begun)


def _one_item_each(holders: int) -> list[tuple[str, str]]:
    return [(f"{item}-{number}", item) for item in _ITEMS for number in range(holders)]


def _counts_of(release: Release, items: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    rows = dict(zip(release.items.tolist(), release.to_dict()["count"], strict=True))
    return np.array([rows[item] for item in items], dtype=np.int64)


def _write_orders(folder: Path) -> dict[str, Path]:
    """The same rows in four orders. Item j has about 50 (j + 1) holders; nobody has more than two items."""
    rows = []
    for number, item in enumerate(_FEW):
        holders = [f"{number:02d}{holder:04d}" for holder in range(40 * (number + 1))]
        rows += [(holder, item) for holder in holders]
        rows += [(holder, _FEW[number - 1]) for holder in holders[::3]]
    rows.sort()
    # Steps of a number without a common factor visit every row once, in an order like a shuffled one.
    stride = next(step for step in range(len(rows) // 3, len(rows)) if math.gcd(step, len(rows)) == 1)
    shuffled = [rows[place * stride % len(rows)] for place in range(len(rows))]
    orders = {
        "sorted": rows,
        "backwards": rows[::-1],
        "shuffled": shuffled,
        "renamed": [(str(999_999 - int(person)), item) for person, item in shuffled],
    }
    return {name: write_csv(folder / f"{name}.csv", order) for name, order in orders.items()}
