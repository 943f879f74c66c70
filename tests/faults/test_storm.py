"""No promise is broken by a service that is killed, cut off and filled up under sixteen clients."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.faults.points import POINTS
from tests.faults.server import Server, make_place, serving
from tests.faults.storm import figures, storm

ASKS = 8


def quietly(seconds: float):
    """Let the clients work."""
    return lambda: time.sleep(seconds)


def test_on_a_file(tmp_path):
    """SQLite: every worker dies at a step of its own, the disk is full for a while, the clock is wrong for a while."""
    clock = tmp_path / "clock"
    clock.write_text("0", encoding="utf-8")
    place = make_place(tmp_path / "place")
    place.plan(*(f"{point} 2" for point in POINTS))
    with serving(place, silence=2, clock=str(clock)) as server:
        ledger = place.folder / "ledger.sqlite"

        def full():
            server.fill_disk(ledger.stat().st_size)
            time.sleep(2)
            server.fill_disk(-1)

        def wrong_clock():
            clock.write_text(str(3 * 86400), encoding="utf-8")
            time.sleep(1.5)
            clock.write_text("0", encoding="utf-8")

        def kill_one():
            for pid in server.workers()[:1]:
                server.kill(pid)

        strikes = [quietly(6), full, quietly(3), wrong_clock, quietly(2), kill_one, quietly(10)]
        ended = storm(server, strikes, seed=1, asks=ASKS)
        server.stop()
        verdict = ended.verdict(server)
        print(figures("sqlite", verdict, ended, kills=len(place.kills) + 1))  # noqa: T201 (shown with -s)
        print(place.kills, ended.unresolved, verdict.problems)
        print("".join(sorted({line.split(" ", 1)[1][:300] for line in server.log().splitlines() if "info request" not in line})))

    assert verdict.problems == ()
    assert ended.unresolved == ()
