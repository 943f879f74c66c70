"""Urgency: threads that read much go after those of the same process that do not."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from hushcount.app.serving.data.urgency import give_way

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has an urgency for each thread")

TOLD = """
import os, threading
from hushcount.app.serving.data.urgency import give_way
os.nice(3)
own = threading.get_native_id
thread = threading.Thread(target=lambda: (give_way(), print(os.getpriority(os.PRIO_PROCESS, own()))))
thread.start()
thread.join()
print(os.getpriority(os.PRIO_PROCESS, os.getpid()))
"""


def test_a_thread_that_gives_way_is_less_urgent_and_no_other_is():
    """It alone, and no less urgent when it gives way again."""
    before, found = os.getpriority(os.PRIO_PROCESS, os.getpid()), []

    def read() -> None:
        give_way()
        give_way()
        found.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))

    thread = threading.Thread(target=read)
    thread.start()
    thread.join()

    assert found == [min(before + 15, 19)]
    assert os.getpriority(os.PRIO_PROCESS, os.getpid()) == before


def test_it_is_counted_from_what_whoever_runs_the_service_set():
    """A service that was started as less urgent still has threads that are less urgent than the others."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    ran = subprocess.run([sys.executable, "-c", TOLD], capture_output=True, text=True, check=True)  # noqa: S603

    assert ran.stdout.split() == [str(min(before + 18, 19)), str(min(before + 3, 19))]
