"""Compiles the kernels once: `make test` does so beside the checks, before the tests run in several processes.

In a fresh clone nothing is compiled, and every process that finds nothing compiles for itself.
"""

from __future__ import annotations

from unittest.mock import patch

from hushcount.mechanisms.weighting import kernels
from tests.unit.weighting.made_lists import encode


def main() -> None:
    """Run each kernel on one small list, as if it were long."""
    with patch.object(kernels, "MANY_PAIRS", 0):
        for kernel in (kernels.fill_evenly, kernels.fill_in_turn, kernels.step_straight):
            kernels.weigh(kernel, encode([[1, 2]]), cutoff=9, budget=4)


if __name__ == "__main__":
    main()
