"""diffprivlib asked for more than it answers."""

import json
import sys

from asked import NOTHING_DECLARED, TOP, TWICE, search, tell
from diffprivlib import BudgetAccountant, tools
from diffprivlib.mechanisms import GaussianDiscrete

given = json.loads(sys.argv[1])
budget = given["epsilon"], given["delta"]


def twice() -> str:
    """Two questions on a budget for one."""
    accountant = BudgetAccountant(*budget)
    for _ in range(2):
        accountant.spend(*budget)
    return "both"


def unbounded() -> str:
    """Noise with no word about how many items a person has."""
    return f"noise for {GaussianDiscrete(epsilon=budget[0], delta=budget[1]).sensitivity} item of each person"


tell({NOTHING_DECLARED: unbounded, TOP: lambda: search(tools, "top"), TWICE: twice})
