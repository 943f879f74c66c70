"""Any sequence of deeds over HTTP leaves the ledger as a small model says: ask, retry, cancel, crash, renew."""

from __future__ import annotations

import functools
import itertools
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from hushcount.api.app import make_app
from hushcount.app.serving.callers.tokens import WantedToken, make_token
from hushcount.app.serving.data.loans import LentEngine
from hushcount.app.serving.jobs import running
from hushcount.app.serving.opening import open_service
from hushcount.ledger import sqlite
from hushcount.ledger.ledger import Account
from hushcount.ledger.sql import SqlLedger
from tests.api.asgi import Client, Reply
from tests.faults.server import make_place

EXAMPLES, STEPS = 25, 14
PEOPLE = ("ana", "bo")
# Every question has a fixed cost: the items are known and each person counts once. So the model needs no data.
BODY = {"dataset": "events", "question": "count", "item": "article", "max_items_per_user": 1, "rho": "0.1"}
QUESTIONS = tuple({**BODY, "keys": [f"a{number}"]} for number in range(5))
POINTS = ("before reserve", "after reserve", "after touch", "count", "after settle")
_SILENCE = timedelta(seconds=11)


class Dropped(BaseException):
    """A process that is gone: nothing handles this."""


class Death:
    """Where the thread of a question is gone; nowhere, if no point is set."""

    def __init__(self) -> None:
        self.point, self.reached = "", threading.Event()

    def here(self, point: str) -> None:
        """Be gone, if this is the point."""
        if point == self.point:
            self.point = ""
            self.reached.set()
            raise Dropped

    def around(self, function: Callable[..., Any], before: str, after: str) -> Callable[..., Any]:
        """A step that can be the last."""

        @functools.wraps(function)
        def step(*given: Any, **named: Any) -> Any:
            self.here(before)
            made = function(*given, **named)
            self.here(after)
            return made

        return step


class HttpMachine(RuleBasedStateMachine):
    """The model: what each account spent on each day, who has paid for which question, what each key got."""

    death: Death
    clock: list[datetime]

    @initialize()
    def found(self):
        """A new ledger, at noon."""
        self.clock[0] = datetime(2026, 3, 2, 12, tzinfo=UTC)
        self.exit = ExitStack()
        folder = Path(self.exit.enter_context(tempfile.TemporaryDirectory()))
        self.config = make_place(folder / "place", workers=1, people=60).config
        self.portal = self.exit.enter_context(start_blocking_portal())
        self.texts: dict[str, str] = {}
        self.open()
        ledger = self.service.ledger
        ledger.grant("olga", "owner", by=self.service.setting.analyst)
        for person in (*PEOPLE, "olga"):
            self.make_token(person)
        self.spent: dict[tuple[str, Any], Fraction] = defaultdict(Fraction)
        self.limits: dict[str, Fraction] = {}
        self.paid: dict[int, set[str]] = {}
        self.keys: dict[tuple[str, str], tuple[int, str]] = {}
        # A token is part of the request: the same key with another one is another request.
        self.signed: dict[tuple[str, str], str] = {}
        self.number = itertools.count()
        self.cost = Fraction(self.post("ana", {**QUESTIONS[0], "mode": "estimate"}).form["cost"]["expert"]["rho"])
        for whose in ("events", *PEOPLE):
            self.limit(whose, 3)

    def open(self) -> None:
        """Another process on the same ledger."""
        self.service = open_service(self.config)
        self.exit.callback(self.service.setting.close)
        self.exit.callback(self.service.stores.close, timedelta(seconds=1))
        self.exit.callback(self.service.runner._closing.set)  # noqa: SLF001
        self.client = Client(app=make_app(self.service), portal=self.portal)

    def make_token(self, person: str) -> str:
        """A token of somebody's, with which they sign in from now on; its name."""
        scopes = ("manage", "ask") if person == "olga" else ("ask",)
        wanted = WantedToken(label="test", scopes=scopes)
        new = make_token(self.service.setting, self.service.tokens_key, owner=person, wanted=wanted)
        self.texts[person] = new.text.text
        return new.token.id

    def post(self, person: str, body: dict[str, Any], **headers: str) -> Reply:
        """A question of somebody's."""
        return self.client.signed(self.texts[person]).post("/v1/queries", body, **headers)

    def release(self, person: str, which: int, key: str, wait: int = 60) -> Reply:
        """An answer for somebody."""
        body = {**QUESTIONS[which], "mode": "release"}
        return self.post(person, body, Idempotency_Key=key, Prefer=f"wait={wait}")

    def payers(self, person: str, which: int) -> list[str]:
        """Who would be charged: whoever has not paid for this question; the data's account once, whoever asks."""
        return [one for one in (person, "events") if one not in self.paid.get(which, set())]

    def fits(self, person: str, which: int) -> bool:
        """Whether there is room on all accounts that would be charged."""
        day = self.clock[0].date()
        return all(self.spent[one, day] + self.cost <= self.limits[one] for one in self.payers(person, which))

    def charge(self, person: str, which: int) -> None:
        """The model's half of an answer."""
        for one in self.payers(person, which):
            self.spent[one, self.clock[0].date()] += self.cost
        self.paid.setdefault(which, set()).update((person, "events"))

    @rule(person=st.sampled_from(PEOPLE), which=st.integers(0, 4))
    def ask(self, person, which):
        """A new question, or one that was asked before, under a new key."""
        self.asked(person, which, f"k{next(self.number)}")

    def asked(self, person: str, which: int, key: str) -> None:
        """An ask with its half of the model."""
        room = self.fits(person, which)
        reply = self.release(person, which, key)
        if not room:
            assert (reply.status, reply.code, reply.form["charged"]) == (403, "budget-exhausted", False)
            return
        assert reply.status == 200, reply.body
        expected = self.cost if person in self.payers(person, which) else Fraction(0)
        assert Fraction(reply.form["cost"]["expert"]["rho"]) == expected
        self.charge(person, which)
        self.keys[person, key] = (which, reply.form["release"]["stored"])
        self.signed[person, key] = self.texts[person]

    @rule(data=st.data(), other=st.booleans())
    def retry(self, data, other):
        """An old key, with its own question or with another one."""
        if not self.keys:
            return
        person, key = data.draw(st.sampled_from(sorted(self.keys)))
        which, stored = self.keys[person, key]
        reply = self.release(person, (which + 1) % len(QUESTIONS) if other else which, key)
        if other or self.signed[person, key] != self.texts[person]:
            assert (reply.status, reply.code) == (422, "key-reused")
        else:
            assert (reply.status, reply.form["release"]["stored"]) == (200, stored)

    @rule(data=st.data())
    def cancel(self, data):
        """A wish to stop what is done: it stays done, and charged."""
        if not self.keys:
            return
        person, key = data.draw(st.sampled_from(sorted(self.keys)))
        job = self.service.ledger.jobs.of_key(person, key)
        reply = self.client.signed(self.texts[person]).delete(f"/v1/queries/{job.id}")

        assert (reply.status, reply.form["status"]) == (200, "done")

    @rule(person=st.sampled_from(PEOPLE), which=st.integers(0, 4), point=st.sampled_from(POINTS), stop=st.booleans())
    def crash(self, person, which, point, stop):
        """The process is gone in the middle of a question; another one takes it up, wished for or not."""
        key = f"k{next(self.number)}"
        if not self.fits(person, which) or which in self.paid:
            # Nothing is run for what is refused or stored.
            return
        self.death.point, self.death.reached = point, threading.Event()
        first = self.release(person, which, key, wait=0)
        assert first.status == 202, first.body
        assert self.death.reached.wait(30)
        self.service.runner._closing.set()  # noqa: SLF001
        self.service.runner._watch.join(30)  # noqa: SLF001
        if stop:
            self.service.ledger.jobs.stop(first.form["id"])
        self.clock[0] += _SILENCE
        self.open()
        reply = self.release(person, which, key)
        if stop and point in POINTS[:2]:
            assert reply.code == "cancelled", reply.body
            assert reply.form["charged"] is False
            return
        assert reply.status == 200, (point, reply.body)
        self.charge(person, which)
        self.keys[person, key] = (which, reply.form["release"]["stored"])
        self.signed[person, key] = self.texts[person]

    @rule(hours=st.sampled_from([1, 7, 26]))
    def wait(self, hours):
        """Time goes by; at midnight budgets are renewed."""
        self.clock[0] += timedelta(hours=hours)

    @rule(whose=st.sampled_from(("events", *PEOPLE)), room=st.integers(0, 5))
    def limit(self, whose, room):
        """An owner raises or cuts a limit, also below what is spent."""
        amount = self.cost * (2 * room + 1) / 2
        about = {} if whose == "events" else {"analyst": whose}
        body = {"dataset": "events", **about, "rho": f"{float(amount):.6f}", "delta": "0.1", "window": "day"}
        reply = self.client.signed(self.texts["olga"]).put("/v1/limits", body)
        assert reply.status == 200, reply.body
        self.limits[whose] = Fraction(reply.form["rho"])

    @rule(person=st.sampled_from(PEOPLE))
    def revoke(self, person):
        """A token is revoked: it opens nothing any more; another one finds everything as it was."""
        old = self.texts[person]
        mine = self.client.signed(old).get("/v1/me").form
        name = mine["token"]["id"] if isinstance(mine.get("token"), dict) else mine["token"]
        revoked = self.client.signed(self.texts["olga"]).delete(f"/v1/tokens/{name}")
        assert revoked.status < 300, revoked.body
        refused = self.client.signed(old).post(
            "/v1/queries", {**QUESTIONS[0], "mode": "release"}, Idempotency_Key=f"k{next(self.number)}"
        )
        assert refused.status == 401
        self.make_token(person)

    @invariant()
    def balances_agree(self):
        """Every account has spent on this day what the model says, and holds nothing."""
        if not hasattr(self, "cost"):
            return
        for whose in ("events", *PEOPLE):
            kind = "dataset" if whose == "events" else "analyst"
            real = self.service.ledger.balance(Account(kind=kind, name=whose, entity="events"))
            today = real.renews is not None and real.renews > self.clock[0]
            assert Fraction(real.spent.rho if today else 0) == self.spent[whose, self.clock[0].date()], whose
            assert real.reserved.rho == 0, whose
            assert Fraction(real.lifetime.rho) == sum(
                amount for (name, _), amount in self.spent.items() if name == whose
            )

    @invariant()
    def the_log_adds_up(self):
        """The chain is whole."""
        if hasattr(self, "cost"):
            assert self.service.ledger.verify().problems == ()

    def teardown(self):
        """Let go of everything."""
        if hasattr(self, "exit"):
            self.exit.close()


@pytest.fixture
def machine(monkeypatch):
    """The machine, with a clock set by hand and a question that can be gone at every step."""
    death, clock = Death(), [datetime(2026, 3, 2, 12, tzinfo=UTC)]
    really = sqlite.SqliteDatabase.__init__

    def made(database: sqlite.SqliteDatabase, path: Path, **given: Any) -> None:
        really(database, path, **{**given, "clock": lambda: clock[0]})

    monkeypatch.setattr(sqlite.SqliteDatabase, "__init__", made)
    monkeypatch.setattr(running, "BEAT", timedelta(seconds=0.02))
    for owner, name, before, after in (
        (SqlLedger, "reserve", "before reserve", "after reserve"),
        (SqlLedger, "touch", "", "after touch"),
        (SqlLedger, "settle", "", "after settle"),
        (LentEngine, "histogram", "count", ""),
    ):
        monkeypatch.setattr(owner, name, death.around(getattr(owner, name), before or "never", after or "never"))
    return type("Machine", (HttpMachine,), {"death": death, "clock": clock})


def test_any_sequence_over_http_agrees_with_the_model(machine):
    """Balances, answers and refusals are the model's, whatever happens in whatever order."""
    run_state_machine_as_test(
        machine, settings=settings(max_examples=EXAMPLES, stateful_step_count=STEPS, deadline=None)
    )


def test_a_model_that_charges_twice_is_told_apart(machine, monkeypatch):
    """The comparison can fail: a model in which everybody pays for what is stored already disagrees."""
    monkeypatch.setattr(machine, "payers", lambda _, person, __: [person, "events"])
    with pytest.raises(AssertionError):
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=EXAMPLES, stateful_step_count=STEPS, deadline=None, database=None, phases=[Phase.generate]
            ),
        )
