"""Two cores: both parts are done, a failure is told once, and nothing goes on."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from hushcount.compiled import cores
from hushcount.compiled.cores import kept_thread, on_two_cores


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


def test_a_thread_is_kept_for_the_next_and_serves_one_at_a_time():
    """What one user asks of it is done in order, by the thread of whoever had it before."""
    with kept_thread() as one, kept_thread() as other:
        first = {thread.submit(threading.get_ident).result() for thread in (one, other)}
    with kept_thread() as again:
        assert again.submit(threading.get_ident).result() in first

    assert len(first) == 2


@pytest.mark.parametrize("interrupts", [0, 1, 2])
def test_nothing_goes_on_of_what_a_kept_thread_was_asked(interrupts, monkeypatch):
    """Also of what its user was interrupted before hearing of, and if that is interrupted once more."""
    monkeypatch.setattr(cores, "_WAITING", [])
    ended = threading.Event()

    def work():
        time.sleep(0.05)
        ended.set()

    def use():
        with kept_thread() as one:
            one.submit(work)
            if interrupts == 2:
                monkeypatch.setattr(one, "submit", interrupted)
            if interrupts:
                raise KeyboardInterrupt

    def interrupted(_):
        raise KeyboardInterrupt

    if interrupts:
        with pytest.raises(KeyboardInterrupt):
            use()
    else:
        use()

    assert ended.is_set()
    # One whose end was not seen serves nobody else.
    assert len(cores._WAITING) == (interrupts < 2)  # noqa: SLF001  whether it waits


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_child_has_a_kept_thread_of_its_own():
    """That of its parent is not there, and would be waited for without end."""
    with kept_thread() as one:
        one.submit(int).result()
    child = os.fork()
    if not child:
        signal.alarm(30)
        with kept_thread() as own:
            os._exit(own.submit(lambda: 7).result())

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
