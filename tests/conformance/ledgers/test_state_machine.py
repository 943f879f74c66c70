"""Any sequence of verbs, against a model that fits on a page: balances agree at every step, on every store."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from hushcount.accounting.spent import Spent
from hushcount.errors import BudgetExhausted, CostOverrun, ReservationClosed
from hushcount.ledger.ledger import EVERY, Account, Reservation
from hushcount.ledger.limits import rho_limit
from hushcount.ledger.windows import ends
from tests.conformance.ledgers.stores import OWNER, HandClock, analyst, ask, cost, dataset, group

# More for a longer search.
EXAMPLES = int(os.environ.get("HUSHCOUNT_LEDGER_EXAMPLES", "20"))
ANALYSTS, ZERO = ("ann", "bob", "cyd"), Decimal(0)
# ann and bob share a group; the data set renews every day, the analysts' accounts are shown by the month.
GROUPS = {"ann": ["team"], "bob": ["team"], "cyd": []}
CEILINGS = {"dataset": (Decimal(1), "day"), "group": (Decimal("0.9"), "week"), "analyst": (Decimal("0.8"), "none")}
RHOS = st.sampled_from(["0.05", "0.1", "0.3", "0.37"])


@dataclass
class Purse:
    """One account in the model."""

    period: str
    spent: Decimal = ZERO
    held: Decimal = ZERO
    lifetime: Decimal = ZERO
    opened: datetime | None = None
    until: datetime | None = None

    def roll(self, at: datetime) -> None:
        """Open a new window if the last is over."""
        if self.until is None or at >= self.until:
            self.spent, self.opened, self.until = ZERO, at, ends(self.period, at)

    def used(self, now: datetime, window: str) -> Decimal:
        """What is held against the limit."""
        if window == "none":
            return self.lifetime + self.held
        return self.held + (self.spent if self.until is not None and now < self.until else ZERO)


@dataclass
class Asked:
    """One query in the model."""

    question: object
    held: Decimal
    purses: list
    expires: datetime
    state: str = "open"
    touched: bool = False
    real: object = None
    answer: object = None


class LedgerMachine(RuleBasedStateMachine):
    """The ledger beside its model."""

    running = Bundle("running")
    new_ledger = None

    @initialize()
    def begin(self):
        """A new ledger with limits on everything."""
        self.clock = HandClock()
        self.ledger = type(self).new_ledger(self.clock)
        self.ledger.grant(OWNER, "owner", by=OWNER)
        for kind, (ceiling, window) in CEILINGS.items():
            account = Account(kind=kind, name=EVERY, entity=EVERY)
            self.ledger.set_limit(account, rho_limit(ceiling, "0.5", window=window), by=OWNER)
        for name, groups in GROUPS.items():
            for team in groups:
                self.ledger.enroll(name, team, by=OWNER)
        self.purses = {("dataset", "visits"): Purse("day"), ("group", "team"): Purse("week")}
        self.purses |= {("analyst", name): Purse("month") for name in ANALYSTS}
        self.asked, self.stored, self.keys = [], {}, itertools.count()

    def accounts(self, name: str) -> list:
        """The accounts that a person's questions are charged to."""
        return [("analyst", name), *(("group", team) for team in GROUPS[name]), ("dataset", "visits")]

    def fits(self, key, rho: Decimal) -> bool:
        """Whether an account has room."""
        ceiling, window = CEILINGS[key[0]]
        return self.purses[key].used(self.clock.now, window) + rho <= ceiling

    @rule(
        target=running,
        name=st.sampled_from(ANALYSTS),
        query=st.sampled_from("xyz"),
        rho=RHOS,
        fresh=st.booleans(),
        version=st.sampled_from(["v1", "v2"]),
        minutes=st.integers(1, 3000),
    )
    def reserve(self, name, query, rho, fresh, version, minutes):
        """Ask; the model knows whether it is refused, repeated or held."""
        query, worst = f"{query} {rho}", Decimal(rho)
        question = ask(
            f"k{next(self.keys)}",
            query=query,
            cost=cost(rho, "0"),
            analyst=name,
            fresh=fresh,
            version=version,
            lifetime=timedelta(minutes=minutes),
        )
        stored = None if fresh else self.stored.get((query, version))
        charged = [key for key in self.accounts(name) if stored is None or key not in stored["paid"]]
        price = worst if stored is None else stored["rho"]
        if not all(self.fits(key, price) for key in charged):
            with pytest.raises(BudgetExhausted):
                self.ledger.reserve(question)
            return None
        real = self.ledger.reserve(question)
        for key in charged:
            self.purses[key].roll(self.clock.now)
        if stored is not None:
            assert real.payload == stored["payload"]
            assert real.charged.rho == (price if ("analyst", name) in charged else 0)
            self.charge(charged, price)
            stored["paid"].update(charged)
            return None
        assert isinstance(real, Reservation)
        for key in charged:
            self.purses[key].held += worst
        expires = self.clock.now + timedelta(minutes=minutes)
        made = Asked(question, worst, charged, expires, real=real)
        self.asked.append(made)
        return made

    def charge(self, keys, rho) -> None:
        """Charge accounts."""
        for key in keys:
            self.purses[key].spent += rho
            self.purses[key].lifetime += rho

    @rule(made=running)
    def touch(self, made):
        """Data is about to be read."""
        if made is None:
            return
        if made.state == "open" or self.late(made):
            self.ledger.touch(made.real)
            made.touched = True
        else:
            with pytest.raises(ReservationClosed):
                self.ledger.touch(made.real)

    @rule(made=running)
    def retry(self, made):
        """The same key again."""
        if made is None or made.state == "refunded":
            return
        if made.answer is not None:
            assert self.ledger.reserve(made.question).payload == made.answer
        elif made.state == "open" or self.late(made):
            assert self.ledger.reserve(made.question) == made.real
        else:
            with pytest.raises((ReservationClosed, CostOverrun)):
                self.ledger.reserve(made.question)

    @rule(made=consumes(running))
    def refund(self, made):
        """Nothing was read."""
        if made is None or made.state == "refunded":
            return
        if made.state == "open" and not made.touched:
            self.ledger.refund(made.real)
            self.close(made, "refunded", ZERO, self.clock.now)
        else:
            with pytest.raises(ReservationClosed):
                self.ledger.refund(made.real)

    @rule(made=running, share=st.sampled_from(["0", "0.5", "1", "1.5"]), payload=st.binary(max_size=3))
    def settle(self, made, share, payload):
        """An answer is there."""
        if made is None:
            return
        actual = made.held * Decimal(share)
        if made.answer is not None:
            assert self.ledger.settle(made.real, cost(actual, "0"), payload=payload).payload == made.answer
            return
        expired = made.state == "expired"
        if made.state in {"refunded", "overrun"} or (expired and not self.late(made)):
            with pytest.raises((ReservationClosed, CostOverrun)):
                self.ledger.settle(made.real, cost(actual, "0"), payload=payload)
        elif actual > made.held:
            with pytest.raises(CostOverrun):
                self.ledger.settle(made.real, cost(actual, "0"), payload=payload)
            self.close(made, "overrun", actual - made.held if expired else actual, self.clock.now, freed=not expired)
        else:
            self.release(made, actual, payload, expired=expired)

    def release(self, made, actual, payload, *, expired: bool) -> None:
        """The model's half of a settlement that works."""
        slot = made.question.query, made.question.version
        shared = None if made.question.fresh else self.stored.get(slot)
        real = self.ledger.settle(made.real, cost(actual, "0"), payload=payload)
        if shared is not None:
            unpaid = [key for key in made.purses if key not in shared["paid"]]
            made.answer, price = shared["payload"], dict.fromkeys(unpaid, shared["rho"])
            shared["paid"].update(made.purses)
        else:
            made.answer, price = payload, dict.fromkeys(made.purses, actual)
            self.stored.setdefault(slot, {"payload": payload, "rho": actual, "paid": set(made.purses)})
        assert real.payload == made.answer
        if expired:
            made.state = "settled"
        else:
            self.close(made, "settled", price, self.clock.now)

    def late(self, made) -> bool:
        """Whether an expired query may still be answered."""
        purses = [self.purses[key] for key in made.purses]
        return made.state == "expired" and all(p.opened <= made.expires and self.clock.now < p.until for p in purses)

    def close(self, made, state, price, at, *, freed=True):
        """What was held goes, what is charged comes."""
        made.state = state
        for key in made.purses:
            self.purses[key].roll(at)
            self.purses[key].held -= made.held if freed else ZERO
            self.charge([key], price.get(key, ZERO) if isinstance(price, dict) else price)

    @rule(step=st.sampled_from([timedelta(minutes=7), timedelta(hours=5), timedelta(days=3)]))
    def wait(self, step):
        """Time goes by; what expires is charged at the moment it expires."""
        self.clock.now += step
        for made in sorted(self.asked, key=lambda made: (made.expires, made.real.number)):
            if made.state == "open" and made.expires <= self.clock.now:
                self.close(made, "expired", made.held, made.expires)

    @invariant()
    def balances_agree(self):
        """The ledger says what the model says, and no limit was passed but by an overrun."""
        if not hasattr(self, "purses"):
            return
        overrun = any(made.state == "overrun" for made in self.asked)
        for (kind, name), purse in self.purses.items():
            account = {"dataset": lambda _: dataset(), "group": group, "analyst": analyst}[kind](name)
            real = self.ledger.balance(account)
            current = purse.until is not None and self.clock.now < purse.until
            assert real.spent == Spent(rho=purse.spent if current else ZERO)
            assert (real.reserved, real.lifetime) == (Spent(rho=purse.held), Spent(rho=purse.lifetime))
            assert overrun or real.left.rho >= 0

    def teardown(self):
        """The log adds up."""
        if hasattr(self, "ledger"):
            assert self.ledger.verify().problems == ()
            self.ledger.close()


def test_any_sequence_agrees_with_the_model(store):
    """Random sequences of all verbs, time and retries leave ledger and model with the same balances."""
    fresh = itertools.count()

    def new_ledger(clock):
        number = next(fresh)
        place = type(store)(
            store.kind,
            store.place + (f"-{number}" if store.kind == "sqlite" else ""),
            schema=f"{store.schema}_{number}",
        )
        return place.open(clock)

    class Machine(LedgerMachine):
        pass

    Machine.new_ledger = staticmethod(new_ledger)
    run_state_machine_as_test(Machine, settings=settings(max_examples=EXAMPLES, stateful_step_count=25, deadline=None))
