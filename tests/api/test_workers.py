"""The first process of a server: a worker that ends while it is asked whether it lives keeps nobody waiting."""

from __future__ import annotations

import os
import threading
from multiprocessing import Pipe

import pytest
from uvicorn.supervisors import Multiprocess

from hushcount.api.workers import Workers

LONG = 300.0


class Ending:
    """A worker that lives when it is looked at, and ends when it is asked: its own end of the line ends with it."""

    exitcode = 3

    def __init__(self):
        self.parent_conn, self.child_conn = Pipe()
        # What the other process has of it.
        self._own = os.dup(self.child_conn.fileno())
        self.waited = False

    def is_alive(self, timeout):
        """As uvicorn asks, but for how it ends if nobody answers for long."""
        self.parent_conn.send(b"ping")
        os.close(self._own)
        self.waited = not self.parent_conn.poll(min(timeout, 0.2))
        return False

    def kill(self):
        """It has ended."""

    join = kill
    pid = 0


@pytest.mark.parametrize("kind", [Workers, Multiprocess])
def test_a_worker_that_ends_while_it_is_asked_is_seen_at_once(kind):
    """Its line ends with it; uvicorn's own, which holds the other end as well, waits as long as for a slow one."""
    first = kind.__new__(kind)
    worker = Ending()
    first.should_exit, first.processes = threading.Event(), [worker]
    first.config = type("Config", (), {"timeout_worker_healthcheck": LONG})()
    first.keep_subprocess_alive()
    worker.parent_conn.close()

    assert first.should_exit.is_set()
    assert worker.waited == (kind is Multiprocess)
