"""Two cores: both parts are done, a failure is told once, and nothing goes on."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from hushcount.compiled.cores import on_two_cores


def test_both_parts_are_done_at_once():
    """Each waits for the other, which would never end if one came after the other."""
    both = threading.Barrier(2, timeout=60)

    assert on_two_cores(lambda part: (both.wait() >= 0, part), "one", "other") == ((True, "one"), (True, "other"))


@pytest.mark.parametrize("failing", [{1}, {2}, {1, 2}])
@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_a_failure_is_told_once_and_nothing_goes_on(failing, error):
    """Whichever part fails, or both, also by an interrupt: the other has ended by then."""
    ended = []

    def work(part):
        if part in failing:
            raise error(part)
        time.sleep(0.02)
        ended.append(part)

    with pytest.raises(error) as raised:
        on_two_cores(work, 1, 2)

    assert raised.value.args[0] in failing
    assert set(ended) == {1, 2} - failing


def test_nobody_waits_for_somebody_elses_second_core():
    """Forty who ask at once, each of whose parts asks again, and all of whom meet: none could if one had to wait."""
    all_of_them = threading.Barrier(160, timeout=60)

    def meet(_):
        return all_of_them.wait() >= 0

    with ThreadPoolExecutor(max_workers=40) as asking:
        found = list(asking.map(lambda _: on_two_cores(lambda _: on_two_cores(meet, 0, 1), 0, 1), range(40)))

    assert found == [((True, True), (True, True))] * 40


def test_threads_are_kept():
    """A second question starts none."""
    on_two_cores(lambda _: None, 1, 2)
    before = threading.active_count()
    on_two_cores(lambda _: None, 1, 2)

    assert threading.active_count() <= before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_child_of_a_fork_has_its_own():
    """Where the threads of its parent are not, work is done all the same."""
    on_two_cores(lambda _: None, 1, 2)
    child = os.fork()
    if not child:
        os._exit(sum(on_two_cores(lambda part: part, 1, 2)))

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
