"""A made-up month of 500 analysts under the set-up of "LinkedIn's Audience Engagements API": track first, then enforce.

Everything goes through a real ledger, on a clock that is set by hand: the month is asked once under limits that are
only tracked; the ledger's own history then draws figure 5 and proposes a limit; the same month is asked again under
that limit, enforced. Nothing is read from any data: only what questions cost matters here.

    python examples/paper_month.py            # prints figure 5 as a table, what was proposed and whom it stopped
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from hushcount.accounting import units, zcdp
from hushcount.accounting.spent import Spent
from hushcount.accounting.units import Units
from hushcount.app.budgets import Suggestion, suggest
from hushcount.app.desk import Desk
from hushcount.app.secret import Secret
from hushcount.app.setting import Setting
from hushcount.errors import BudgetExhausted
from hushcount.ledger.founding import Founding
from hushcount.ledger.ledger import EVERY, Account, Ask, Ledger, StoredRelease
from hushcount.ledger.limits import Limit, units_limit
from hushcount.ledger.proposals import Exceeding, exceeding
from hushcount.ledger.sqlite import found_sqlite
from hushcount.model.costs import Cost
from hushcount.model.identities import Identity, Sighting

PAPER = Units(information=3000, calls=30, epsilon_per=Decimal("0.15"), delta_per_call=Decimal("1e-10"))
OWNER, DATASET = "olga", "engagements"
START = datetime(2026, 11, 1, tzinfo=UTC)
DAYS = 30
# What is not asked for as a batch is spread over the month: that is how the curves of figure 5 begin above zero.
_BATCHES = 0.25
_SIZES, _SHARES = (10, 50, 100), (0.25, 0.4, 0.35)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question of the month: who asked it when, and what it takes in the paper's two units."""

    at: datetime
    analyst: str
    number: int
    information: int
    calls: int

    @property
    def cost(self) -> Cost:
        """What it takes, as the ledger counts."""
        taken = Units(
            information=self.information,
            calls=self.calls,
            epsilon_per=PAPER.epsilon_per,
            delta_per_call=PAPER.delta_per_call,
        )
        return units.cost(taken)


class HandClock:
    """Tells the time that it was set to."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        """The time now."""
        return self.now


def make_month(analysts: int = 500, seed: int = 1) -> list[Asked]:
    """All questions of the month in order. A few analysts ask most of them, as a few always do."""
    chance = random.Random(seed)
    asked: list[Asked] = []
    for person in range(analysts):
        count = min(46, int(chance.paretovariate(0.95)))
        size = chance.choices(_SIZES, _SHARES)[0]
        first = START + timedelta(days=chance.uniform(0, 8))
        batch = chance.random() < _BATCHES
        room = timedelta(hours=3) if batch else START + timedelta(days=DAYS) - first
        moments = sorted([0.0, *(chance.random() for _ in range(count - 1))])
        asked += [
            _question(chance, size, at=first + moment * room, analyst=f"analyst-{person:03}") for moment in moments
        ]
    asked.sort(key=lambda one: (one.at, one.analyst))
    return [
        Asked(at=one.at, analyst=one.analyst, number=number, information=one.information, calls=one.calls)
        for number, one in enumerate(asked)
    ]


def _question(chance: random.Random, size: int, *, at: datetime, analyst: str) -> Asked:
    """A question by one of the paper's four mechanisms, most by the default; a full answer costs its worst case."""
    information, calls = chance.choices(
        (
            (units.unknown_gumbel(size), 1),
            (units.known_gumbel(size), 0),
            (units.unknown_laplace(), 1),
            (units.known_laplace(1), 0),
        ),
        (0.7, 0.15, 0.1, 0.05),
    )[0]
    return Asked(at=at, analyst=analyst, number=0, information=information, calls=calls)


def open_month(path: Path, limit: Limit, *, secret: Secret) -> tuple[Ledger, HandClock]:
    """A new ledger that knows the data, with this limit for each analyst and none for the data as a whole.

    The paper assumes that analysts do not work together; without that, keep a limit on the data too.
    """
    clock = HandClock()
    ledger = found_sqlite(path, Founding(owner=OWNER, limit=None, secret=secret.fingerprint), clock=clock)
    known = (Identity(kind="table", value=DATASET),)
    sighting = Sighting(title=DATASET, finds=known, binds=known)
    ledger.catalog.register(sighting, person="member", name=DATASET, by=OWNER)
    ledger.set_limit(Account(kind="analyst", name=EVERY, entity=EVERY), limit, by=OWNER)
    return ledger, clock


def play(
    ledger: Ledger, clock: HandClock, month: list[Asked], *, paid: Callable[[Asked], Cost] = lambda one: one.cost
) -> dict[str, datetime]:
    """Ask all of it; who was refused, with the moment of the first refusal.

    Args:
        ledger: who keeps count.
        clock: the ledger's clock, which is set to each moment.
        month: the questions.
        paid: what an answer cost in fact; the worst case, unless something else is said.
    """
    dataset = ledger.catalog.find(DATASET, by=OWNER).id
    refused: dict[str, datetime] = {}
    for one in month:
        clock.now = one.at
        ask = Ask(
            analyst=one.analyst,
            dataset=dataset,
            version="one day",
            query=f"question {one.number}",
            cost=one.cost,
            key=f"key {one.number}",
        )
        try:
            held = ledger.reserve(ask)
        except BudgetExhausted:
            refused.setdefault(one.analyst, one.at)
            continue
        if isinstance(held, StoredRelease):
            raise TypeError("an answer, although every question of the month is a new one")
        ledger.settle(held, paid(one), payload=b"an answer")
    clock.now = START + timedelta(days=DAYS, microseconds=-1)
    return refused


def desk_of(ledger: Ledger, secret: Secret) -> Desk:
    """The owner's desk at the data of the month."""
    setting = Setting(secret=secret, ledger=ledger, analyst=OWNER)
    return Desk(setting=setting, dataset=ledger.catalog.find(DATASET, by=OWNER), title=DATASET)


def figure_5(desk: Desk, *, information: tuple[int, ...], calls: tuple[int, ...]) -> tuple[Exceeding, ...]:
    """The share of analysts over each limit by days since their window opened: information first, then calls."""
    uses = desk.ledger.usage(desk.population, by=desk.by)
    steps = [ceiling(Units(information=k, calls=0, **_EACH)).rho for k in information]
    deltas = [ceiling(Units(information=0, calls=count, **_EACH)).delta for count in calls]
    return (*exceeding(uses, steps, measure="rho"), *exceeding(uses, deltas, measure="delta"))


_EACH = {"epsilon_per": PAPER.epsilon_per, "delta_per_call": PAPER.delta_per_call}


def ceiling(budget: Units) -> Spent:
    """A budget in the paper's units as what the ledger enforces."""
    return zcdp.spent(units.cost(budget))


def main() -> None:
    """Track, draw, propose, enforce."""
    month, secret = make_month(), Secret(bytes(32))
    print(f"{len({one.analyst for one in month})} analysts ask {len(month):,} questions in a month, tracked only.\n")
    with tempfile.TemporaryDirectory() as folder:
        tracked, clock = open_month(Path(folder) / "tracked.sqlite", units_limit(PAPER, mode="track"), secret=secret)
        play(tracked, clock, month)
        desk = desk_of(tracked, secret)
        _print_figure(desk)
        proposed = suggest(desk, share="0.95")
        tracked.close()
        enforced, clock = open_month(Path(folder) / "enforced.sqlite", proposed.proposal.limit, secret=secret)
        refused = play(enforced, clock, month)
        enforced.close()
    _print_outcome(proposed, refused)


def _print_figure(desk: Desk) -> None:
    information, calls = (1000, 2000, 3000, 4000), (10, 20, 30, 40)
    names = [f"{k} units" for k in information] + [f"{count} calls" for count in calls]
    curves = figure_5(desk, information=information, calls=calls)
    print("Share of analysts over a limit, by days since their budget was renewed:")
    print(f"{'day':>4}" + "".join(f"{name:>12}" for name in names))
    for day in (0, 1, 2, 4, 7, 14, 21, 28):
        print(f"{day:>4}" + "".join(f"{curve.shares[day]:>12.1%}" for curve in curves))


def _print_outcome(proposed: Suggestion, refused: dict[str, datetime]) -> None:
    limit, said = proposed.proposal.limit.ceiling, proposed.proposal
    step, call = ceiling(Units(information=1, calls=1, **_EACH)).rho, PAPER.delta_per_call
    print(
        f"\nProposed for each analyst, so that 95 of 100 are left alone: {limit.rho / step:.0f} information units and "
        f"{limit.delta / call:.0f} calls a month.\nIt said that it would stop {len(said.stopped)} of {said.analysts} "
        f"({1 - said.share:.1%}); enforced on the same month it stopped {len(refused)} "
        f"({'the same people' if set(refused) == set(said.stopped) else 'other people'})."
    )


if __name__ == "__main__":
    main()
