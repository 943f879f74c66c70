"""A storm: clients on a server, and somebody who breaks it meanwhile."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tests.faults.checker import Ceilings, Verdict, check
from tests.faults.clients import Client, Patience, random_question
from tests.faults.server import ANALYSTS, CEILINGS, Server

CLIENTS = 16
# Without news.
_PATIENCE = 60.0
# No strike waits longer for clients that get no answers.
_LONGEST = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Storm:
    """What a storm left: the clients with their histories, and the keys of which nobody knows what became of them."""

    clients: tuple[Client, ...]
    unresolved: tuple[str, ...]
    seconds: float

    def verdict(self, server: Server, ceilings: Ceilings = CEILINGS) -> Verdict:
        """All of it, held against the ledger."""
        events = [event for client in self.clients for event in client.events]
        return check(events, server.place.facts(), ceilings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """The clients at work, as whoever breaks the server sees them: a strike comes when there is something to strike."""

    clients: tuple[Client, ...]
    threads: tuple[threading.Thread, ...]

    @property
    def answers(self) -> int:
        """How many requests had a response of any kind so far."""
        return sum(event.status > 0 for client in self.clients for event in tuple(client.events))

    def wait_for(self, holds: Callable[[], bool], *, longest: float = _LONGEST) -> None:
        """Wait until something holds, or nobody is at work any more, or it takes too long."""
        until = time.monotonic() + longest
        while time.monotonic() < until and any(thread.is_alive() for thread in self.threads) and not holds():
            time.sleep(0.05)

    def work(self, answers: int, *, longest: float = _LONGEST) -> None:
        """Let them get so many more responses: on a fast machine that is soon."""
        enough = self.answers + answers
        self.wait_for(lambda: self.answers >= enough, longest=longest)


Strike: TypeAlias = Callable[[Crowd], None]


def storm(
    server: Server,
    nemesis: Sequence[Strike],
    *,
    seed: int,
    asks: int,
    patience: float = _PATIENCE,
    think: Callable[[random.Random], dict[str, Any]] = random_question,
) -> Storm:
    """Let clients loose; do what the nemesis does, one thing after the other; then let clients find out."""
    started, stopping = time.monotonic(), threading.Event()
    clients = tuple(
        Client(number, ANALYSTS[number % len(ANALYSTS)], server, random.Random(seed * 1000 + number), think)
        for number in range(CLIENTS)
    )
    threads = tuple(threading.Thread(target=client.go, args=(stopping, asks)) for client in clients)
    for thread in threads:
        thread.start()
    try:
        for strike in nemesis:
            strike(Crowd(clients=clients, threads=threads))
            server.keep()
    finally:
        stopping.set()
        for thread in threads:
            thread.join()
    server.keep()
    server.await_ready()
    unresolved = _resolved(clients, Patience(server, patience))
    return Storm(clients=clients, unresolved=tuple(unresolved), seconds=time.monotonic() - started)


def _resolved(clients: Sequence[Client], patience: Patience) -> list[str]:
    lost: list[str] = []

    def resolve(client: Client) -> None:
        lost.extend(client.resolve(patience))

    threads = [threading.Thread(target=resolve, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return lost


def figures(name: str, verdict: Verdict, ended: Storm, *, kills: int) -> str:
    """The line that a run prints."""
    return (
        f"{name}: {verdict.requests} requests in {ended.seconds:.0f} s, {kills} kills, {verdict.unknown} ends unknown "
        f"at first, {verdict.answered} keys answered, {verdict.resumed} resumed, overspend {verdict.overspend}, lost "
        f"{verdict.lost + len(ended.unresolved)}"
    )
