"""Connections that are opened while workers are replaced: each is answered, none is reset or closed unread."""

from __future__ import annotations

import os
import random
import signal
import socket
import threading
import time
from collections import Counter

import pytest

from tests.faults.server import make_place, serving

REQUEST = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
# Most of them wait most of the time, so that a worker that leaves has some that were not heard yet.
CLIENTS = 8
# So often at least, and so often that so many were answered meanwhile.
RELOADS, LEAST, ANSWERED = 2, 100, "HTTP/1.1 200 OK"
PATIENCE = 120


class Callers:
    """Clients that open connections in a tight loop; some wait a little before they speak, as those far away do."""

    def __init__(self, port: int) -> None:
        self.port, self.over, self.seen = port, threading.Event(), Counter()
        self._threads = [threading.Thread(target=self._calling, args=(seed,)) for seed in range(CLIENTS)]

    def __enter__(self):
        for one in self._threads:
            one.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for one in self._threads:
            one.join(60)

    def _calling(self, seed: int) -> None:
        chance = random.Random(seed)
        while not self.over.is_set():
            try:
                self.seen[called(self.port, chance.choice((0.0, 0.05, 0.2, 0.3)))] += 1
            except OSError as error:
                self.seen[type(error).__name__] += 1


def called(port: int, pause: float) -> str:
    """Open a connection, wait, ask; the first line of the answer, or that there was none."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as line:
        time.sleep(pause)
        line.sendall(REQUEST)
        answer = b""
        while part := line.recv(4096):
            answer += part
    return answer.partition(b"\r\n")[0].decode() or "closed unread"


def reload(server) -> None:
    """Replace all workers, and wait until the last of the old ones is gone."""
    before, latest = set(server.workers()), time.monotonic() + 2 * PATIENCE
    os.kill(server.process.pid, signal.SIGHUP)
    while set(server.workers()) & before and time.monotonic() < latest:
        time.sleep(0.05)
    assert not set(server.workers()) & before, "workers were not replaced"


@pytest.mark.parametrize("lingers", [True, False])
def test_no_connection_is_reset_while_workers_are_replaced(tmp_path, lingers):
    """In a tight loop during reloads every one is answered; the twin that leaves at once, as uvicorn does, is not."""
    place = make_place(tmp_path, workers=2)
    with serving(place, patience=PATIENCE, **({} if lingers else {"abrupt": True})) as server:
        with Callers(server.port) as callers:
            reloads = 0
            while reloads < RELOADS or callers.seen[ANSWERED] <= LEAST:
                reload(server)
                reloads += 1
        seen = dict(callers.seen)
        print(f"lingers={lingers}: {seen} in {reloads} reloads")  # noqa: T201

        assert seen.pop(ANSWERED) > LEAST
        assert (seen == {}) == lingers


def test_an_idle_connection_does_not_hold_up_a_worker_that_leaves(tmp_path):
    """Whoever says nothing is let go after a moment, in good order; whoever is half through is waited for."""
    with serving(make_place(tmp_path, workers=2), patience=PATIENCE) as server:
        lines = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(8)]
        for line in lines[:4]:
            line.sendall(REQUEST[:20])
        waiting = threading.Thread(target=reload, args=(server,))
        waiting.start()
        ends = [line.recv(1) for line in lines[4:]]
        waiting.join(2 * PATIENCE)
        for line in lines:
            line.close()

        assert ends == [b""] * 4
        assert not waiting.is_alive()
