"""Compiles all kernels once: `make test` does so beside the checks, before the tests run in several processes.

In a fresh clone nothing is compiled, and every process that finds nothing compiles everything for itself: twenty
seconds of a core in each of the tests' processes, in both of an audit and in the workers of Spark.
"""

from __future__ import annotations

import numpy as np

from hushcount.audit.steps import attack_mechanism
from hushcount.engines.bounding import hash_integers
from hushcount.mechanisms.table import MECHANISMS


def main() -> None:
    """Run whatever weighs or bounds lists, on small tables of texts; and hash integers."""
    hash_integers(np.arange(1), np.uint64(0))
    for mechanism in MECHANISMS:
        if mechanism.wants != "histogram":
            attack_mechanism(mechanism.name, "replay", quick=True)


if __name__ == "__main__":
    main()
