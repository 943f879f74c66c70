"""The weightings as mechanisms call them, with machine code and without; each pass is compared in `compiled`."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from hushcount.mechanisms.weighting import kernels
from hushcount.mechanisms.weighting.greedy import greedy
from hushcount.mechanisms.weighting.policy import l1_descent, l2_descent
from tests.plainly import plainly
from tests.unit.weighting.made_lists import encode

KERNELS = (kernels.fill_evenly, kernels.fill_in_turn, kernels.step_straight)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize("piece", [1, 5])
def test_plain_lists_are_handed_over_in_pieces(kernel, piece):
    """However few pairs are Python's own ints at a time, the weights are the same."""
    lists, limits = encode([[1, 2, 3], [2, 3], [3], [1, 4]] * 5), (900, 250)
    with patch.object(kernels, "_PIECE", piece):
        cut = kernels.weigh_plainly(kernel, lists, limits)

    assert cut.tolist() == kernels.weigh_plainly(kernel, lists, limits).tolist()
    assert cut.any()


def test_the_weightings_are_the_same_either_way():
    """All three weightings, as mechanisms call them."""
    lists = encode([[1, 2, 3], [2, 3], [3], [1, 4]] * 5)
    compiled = [l1_descent(lists, 2.5), l2_descent(lists, 2.5, max_items=3), greedy(lists, 2.5)]
    with plainly():
        plain = [l1_descent(lists, 2.5), l2_descent(lists, 2.5, max_items=3), greedy(lists, 2.5)]

    assert [one.weights.tolist() for one in plain] == [one.weights.tolist() for one in compiled]
