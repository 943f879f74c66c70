"""Waiting lines: turns come in the order of arrival, also past those who gave up."""

from __future__ import annotations

import threading
import time
from datetime import timedelta

import pytest

from hushcount.app.serving.data.lines import Line
from hushcount.errors import Busy
from tests.unit.app.serving.made_store import made_offer, wait_until


def line_of(**said):
    """A line before a store of which one may read."""
    return Line(made_offer("/nowhere", max_running=1, **said).store)


def standing(line, name, came):
    """Somebody who stands in line, and says when it is their turn or the end."""

    def stand():
        try:
            line.enter()
        except Busy as error:
            came.append(str(error))
        else:
            came.append(name)

    before = line.load[1]
    thread = threading.Thread(target=stand)
    thread.start()
    wait_until(lambda: line.load[1] == before + 1)
    return thread


def test_turns_come_in_the_order_of_arrival():
    """Each who leaves lets exactly the next one go."""
    line, came = line_of(max_waiting=9), []
    line.enter()
    threads = [standing(line, number, came) for number in range(5)]
    for number in range(5):
        line.leave()
        wait_until(lambda number=number: len(came) == number + 1)

        assert line.load == (1, 4 - number)
    for thread in threads:
        thread.join()
    assert came == [0, 1, 2, 3, 4]


def test_who_gave_up_takes_no_turn():
    """Their place in the line is gone, and with it nobody's turn."""
    line, came = line_of(max_waiting=9, timeout=timedelta(milliseconds=100)), []
    line.enter()
    standing(line, 1, came).join()

    assert "no turn within" in came[0]
    assert line.load == (1, 0)
    line.leave()
    line.enter()
    assert line.load == (1, 0)


def test_a_closed_line_sends_all_away_at_once():
    """Those who wait are told; who reads goes on, and nobody comes after."""
    line, came = line_of(max_waiting=9), []
    line.enter()
    threads = [standing(line, number, came) for number in range(3)]
    began = time.monotonic()
    line.close()
    for thread in threads:
        thread.join()

    assert time.monotonic() - began < 5
    assert [("the service stops" in said) for said in came] == [True] * 3
    line.leave()
    assert line.load == (0, 0)
    with pytest.raises(Busy, match="the service stops"):
        line.enter()
