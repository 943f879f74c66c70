"""Two cores: both parts are done, a failure is told once, and no thread is left."""

from __future__ import annotations

import threading

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
    before, ended = threading.active_count(), []

    def work(part):
        if part in failing:
            raise error(part)
        ended.append(part)

    with pytest.raises(error) as raised:
        on_two_cores(work, 1, 2)

    assert raised.value.args[0] in failing
    assert set(ended) == {1, 2} - failing
    assert threading.active_count() == before
