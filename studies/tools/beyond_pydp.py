"""PyDP asked for more than it answers."""

import json
import sys

import pydp
from asked import NOTHING_DECLARED, TOP, TWICE, search, tell
from pydp.algorithms import laplacian
from pydp.algorithms.partition_selection import create_partition_strategy

given = json.loads(sys.argv[1])

tell(
    {
        NOTHING_DECLARED: lambda: create_partition_strategy("gaussian", given["epsilon"], given["delta"]),
        TOP: lambda: search(laplacian, "top"),
        TWICE: lambda: search(pydp, "budget"),
    }
)
