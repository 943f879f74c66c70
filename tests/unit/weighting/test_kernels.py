"""Plain Python and compiled code visit people alike: the same integers, whichever is there."""

from __future__ import annotations

import subprocess
import sys
from unittest.mock import patch

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushcount.mechanisms.weighting import kernels
from hushcount.mechanisms.weighting.greedy import greedy
from hushcount.mechanisms.weighting.policy import l1_descent, l2_descent
from tests.unit.weighting.made_lists import encode

KERNELS = (kernels.fill_evenly, kernels.fill_in_turn, kernels.step_straight)
PEOPLE = st.lists(st.lists(st.integers(0, 12), unique=True, max_size=9), max_size=12)


@given(
    people=PEOPLE,
    cutoff=st.integers(1, 2**52),
    budget=st.integers(1, 2**47),
    kernel=st.sampled_from(KERNELS),
    piece=st.sampled_from([1, 5, 1 << 16]),
)
def test_compiled_and_plain_give_the_same_integers(people, cutoff, budget, kernel, piece):
    """For cutoffs and budgets up to the finest grids, and lists that are handed over a few pairs at a time."""
    lists = encode(people)
    with patch.object(kernels, "_PIECE", piece):
        plain = kernels.weigh_plainly(kernel, lists, (cutoff, budget))
    compiled = kernels.weigh_by(kernels._compiled(kernel), lists, (cutoff, budget))  # noqa: SLF001

    assert plain.tolist() == compiled.tolist()
    assert plain.dtype == compiled.dtype == np.int64


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_they_agree_on_long_lists_of_many_people(kernel):
    """On skewed lists whose items fill up: where an order of additions or a contracted product would show."""
    chance = np.random.default_rng(5)
    people = [sorted(set(chance.zipf(1.3, 60).clip(max=400).tolist())) for _ in range(800)]
    lists, limits = encode(people), (2**50 // 3, 2**46 + 12345)
    compiled = kernels.weigh_by(kernels._compiled(kernel), lists, limits)  # noqa: SLF001

    assert kernels.weigh_plainly(kernel, lists, limits).tolist() == compiled.tolist()
    assert 0 < np.count_nonzero(compiled == limits[0]) < len(compiled)


def test_a_compiled_kernel_with_fast_math_is_told_apart():
    """Broken twin: where sums may be reordered, Kahan's correction is optimised away and integers differ."""
    chance = np.random.default_rng(5)
    people = [sorted(set(chance.zipf(1.3, 300).clip(max=4000).tolist())) for _ in range(400)]
    lists, limits = encode(people), (2**52 - 1, 2**46 + 12345)
    twin = kernels.weigh_by(numba.njit(fastmath=True)(kernels.step_straight), lists, limits)

    assert kernels.weigh_plainly(kernels.step_straight, lists, limits).tolist() != twin.tolist()


def test_many_pairs_are_compiled_and_few_are_not():
    """Compiling takes seconds, and plain Python less than that below a million pairs."""
    lists = encode([[1, 2], [2, 3]])
    for most, calls in ((len(lists.ids), 1), (len(lists.ids) + 1, 0)):
        with patch.object(kernels, "MANY_PAIRS", most), patch.object(kernels, "weigh_by", wraps=kernels.weigh_by) as by:
            kernels.weigh(kernels.fill_in_turn, lists, cutoff=9, budget=4)

        assert by.call_count == calls


def test_the_weightings_are_the_same_either_way():
    """All three weightings, as mechanisms call them."""
    lists = encode([[1, 2, 3], [2, 3], [3], [1, 4]] * 5)
    with patch.object(kernels, "MANY_PAIRS", 0):
        compiled = [l1_descent(lists, 2.5), l2_descent(lists, 2.5, max_items=3), greedy(lists, 2.5)]
    plain = [l1_descent(lists, 2.5), l2_descent(lists, 2.5, max_items=3), greedy(lists, 2.5)]

    assert [one.weights.tolist() for one in plain] == [one.weights.tolist() for one in compiled]


def test_without_numba_everything_is_plain():
    """In an install without the extra `fast`, or with a numba that refuses this NumPy, a large question is answered."""
    words = """
        import sys
        sys.modules["numba"] = None
        from hushcount.mechanisms.weighting import kernels
        from tests.unit.weighting.made_lists import encode
        kernels.MANY_PAIRS = 0
        lists = encode([[1, 2], [2, 3]])
        print(kernels.weigh(kernels.fill_in_turn, lists, cutoff=9, budget=4).tolist())
    """
    script = "\n".join(line.strip() for line in words.splitlines())
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603

    assert run.stdout.strip() == "[4, 4, 0]"
