"""Compiles all kernels once: `make test` does so beside the checks, before the tests run in several processes.

In a fresh clone nothing is compiled, and every process that finds nothing compiles everything for itself: twenty
seconds of a core in each of the tests' processes, in both of an audit and in the workers of Spark.
"""

from __future__ import annotations

import numpy as np

from hushcount.audit.steps import attack_mechanism
from hushcount.engines.bounding import add_clipped, add_losses, hash_integers
from hushcount.mechanisms.table import MECHANISMS


def main() -> None:
    """Run whatever weighs or bounds lists, on small tables of texts; and what only large data needs."""
    hash_integers(np.arange(1), np.uint64(0))
    offsets, ids, ones = np.array([0, 1]), np.zeros(1, np.int32), np.ones(1, np.int64)
    add_losses(offsets, ids, (ones, 0 * ones), (0 * ones, ones), (1, 1))
    add_clipped(offsets, ids, ones, 1)
    for mechanism in MECHANISMS:
        if mechanism.wants != "histogram":
            attack_mechanism(mechanism.name, "replay", quick=True)


if __name__ == "__main__":
    main()
