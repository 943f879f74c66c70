"""Sixteen clients that ask, retry, poll and cancel at random, and write down what they saw."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.faults.history import Ending, Event, rows_digest
from tests.faults.server import Server

# What a refusal may say of the whole question, for ever; all else is tried again under the same key.
_FINAL = (
    "budget-exhausted",
    "key-reused",
    "cancelled",
    "over-max-cost",
    "reservation-closed",
    "store-failed",
    "internal",
)
_ASK = ("POST", "/v1/queries")
_OK, _ACCEPTED, _SERVER = 200, 202, 500


def random_question(chance: random.Random) -> dict[str, Any]:
    """One of some fifty questions, so that the same is asked by several; now and then with noise of its own."""
    body: dict[str, Any] = {"mode": "release", "dataset": "events", "question": "top", "item": "article"}
    body |= {"k": chance.randint(1, 6), "preset": chance.choice(("standard", "cautious", "cautious"))}
    if chance.random() < 0.5:
        body["where"] = f"country = '{chance.choice(('NZ', 'AU', 'FJ'))}'"
    if chance.random() < 0.2:
        body["fresh"] = True
    return body


def dear_question(chance: random.Random) -> dict[str, Any]:
    """A standard release with noise of its own, so that nobody gets it for nothing."""
    return {**random_question(chance), "preset": "standard", "fresh": True}


class Patience:
    """Renewed by news of any client or worker: a slow machine gets the time that it needs, one that hangs does not."""

    def __init__(self, server: Server, seconds: float) -> None:
        self._server, self._seconds = server, seconds
        self._deaths = len(server.place.kills)
        self.renew()

    def renew(self) -> None:
        """There is news."""
        self._since = time.monotonic()

    @property
    def over(self) -> bool:
        """Whether nothing was heard for too long."""
        if len(self._server.place.kills) > self._deaths:
            self._deaths = len(self._server.place.kills)
            self.renew()
        return time.monotonic() > self._since + self._seconds


@dataclass(slots=True)
class Client:
    """One thread that asks, with everything that it began; `think` makes up its questions."""

    number: int
    analyst: str
    server: Server
    chance: random.Random
    think: Callable[[random.Random], dict[str, Any]] = random_question
    events: list[Event] = field(default_factory=list)
    asked: dict[str, dict[str, Any]] = field(default_factory=dict)
    jobs: dict[str, str] = field(default_factory=dict)

    def go(self, stopping: threading.Event, most: int) -> None:
        """Do something at random until it is time to stop."""
        deeds: list[tuple[Callable[[], None], float]] = [
            (self.ask, 0.5),
            (self.retry, 0.2),
            (self.reuse, 0.05),
            (self.estimate, 0.1),
            (self.poll, 0.1),
            (self.cancel, 0.05),
        ]
        while not stopping.is_set() and len(self.asked) < most:
            deed = self.chance.choices([one for one, _ in deeds], [weight for _, weight in deeds])[0]
            deed()
            stopping.wait(self.chance.random() * 0.1)

    def ask(self) -> None:
        """A new question under a new key."""
        key = f"c{self.number}-{len(self.asked)}"
        self.asked[key] = self.think(self.chance)
        self._release("ask", key)

    def retry(self) -> None:
        """An old question under its key."""
        if self.asked:
            self._release("retry", self.chance.choice(list(self.asked)))

    def reuse(self) -> None:
        """Another question under an old key: refused, whatever became of the first."""
        if self.asked:
            key = self.chance.choice(list(self.asked))
            other = {**self.asked[key], "k": 7}
            self._exchange("reuse", key, call=_ASK, body=other, wait=0)

    def estimate(self) -> None:
        """A price."""
        self._exchange("estimate", "", call=_ASK, body={**random_question(self.chance), "mode": "estimate"})

    def poll(self) -> None:
        """A look at one of its questions."""
        if self.jobs:
            key = self.chance.choice(list(self.jobs))
            self._exchange("poll", key, call=("GET", f"/v1/queries/{self.jobs[key]}"))

    def cancel(self) -> None:
        """A wish to stop one of its questions."""
        if self.jobs:
            key = self.chance.choice(list(self.jobs))
            self._exchange("cancel", key, call=("DELETE", f"/v1/queries/{self.jobs[key]}"))

    def resolve(self, patience: Patience) -> list[str]:
        """Ask again under each key until it is known what became of it; those of which it is never known."""
        lost = []
        for key in self.asked:
            while not self._release("retry", key, wait=5):
                if patience.over:
                    lost.append(key)
                    break
                time.sleep(0.1)
            else:
                patience.renew()
        return lost

    def _release(self, deed: str, key: str, wait: int | None = None) -> bool:
        seconds = self.chance.choice((0, 1, 5)) if wait is None else wait
        event = self._exchange(deed, key, call=_ASK, body=self.asked[key], wait=seconds)
        return event.ending != "unknown"

    def _exchange(
        self,
        deed: str,
        key: str,
        *,
        call: tuple[str, str],
        body: Any = None,
        wait: int | None = None,
    ) -> Event:
        sent = {"Authorization": f"Bearer {self.server.place.tokens[self.analyst]}"}
        if wait is not None:
            sent |= {"Idempotency-Key": key, "Prefer": f"wait={wait}"}
        invoked = time.monotonic()
        try:
            status, _, raw = self.server.request(*call, body, headers=sent)
            form = json.loads(raw)
        except (OSError, http.client.HTTPException, ValueError):
            status, form = 0, {}
        if form.get("id", "").startswith("q_") and key:
            self.jobs[key] = form["id"]
        released = form.get("release") if isinstance(form.get("release"), dict) else {}
        own = body is not None and body == self.asked.get(key)
        event = Event(
            client=self.number,
            analyst=self.analyst,
            deed=deed,
            key=key,
            question=json.dumps(body, sort_keys=True) if own else "",
            invoked=invoked,
            ended=time.monotonic(),
            ending=_ending(deed, status, form),
            status=status,
            code=str(form.get("code", "")),
            rows=rows_digest(released["rows"]) if released else "",
            stored=str(released.get("stored", "")),
        )
        self.events.append(event)
        return event


def _ending(deed: str, status: int, form: dict[str, Any]) -> Ending:
    if status == _OK:
        return "ok"
    if deed in {"ask", "retry"}:
        return "fail" if form.get("code") in _FINAL and status < _SERVER else "unknown"
    return "unknown" if status in {0, _ACCEPTED} or status >= _SERVER else "fail"
