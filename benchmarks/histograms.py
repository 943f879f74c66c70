"""How long the mechanisms that work on a histogram take for a million items."""

from __future__ import annotations

from logs import generated_histogram
from report import Effort, lasting, rate, show

from hushcount.mechanisms.table import find
from hushcount.model.budgets import rho_budget
from hushcount.model.facts import Facts
from hushcount.noise.source import SystemSource

ITEMS = 1_000_000
BUDGET = rho_budget(0.1, 1e-6)
# Mechanism, facts, and the most that it should take on a million items, if that was stated.
CASES = (
    ("pcr", Facts(), 0.5),
    ("unknown-gumbel", Facts(k=100), None),
    ("unknown-laplace", Facts(max_items=1), None),
    ("gaussian-threshold", Facts(max_items=1), None),
    ("tsgd", Facts(max_items=1), None),
    ("optimal", Facts(max_items=1), None),
)


def measure(effort: Effort) -> None:
    """Print the table of mechanisms on one large histogram."""
    histogram = generated_histogram(effort.size(ITEMS))
    rows = []
    for name, facts, target in CASES:
        mechanism = find(name)
        planning = effort.best(lambda plan=mechanism.plan, facts=facts: plan(BUDGET, facts))  # type: ignore[misc]
        plan = mechanism.plan(BUDGET, facts)
        shown = len(mechanism.run(histogram, plan, SystemSource()).items)
        taken = effort.best(lambda run=mechanism.run, plan=plan: run(histogram, plan, SystemSource()))  # type: ignore[misc]
        aim = "-" if target is None else f"{target} s" + (" missed" if taken > target else " met")
        rows.append((name, lasting(planning), lasting(taken), rate(len(histogram.items) / taken), f"{shown:,}", aim))
    show(
        f"A histogram of {len(histogram.items):,} items, rho 0.1, delta 1e-6",
        ("mechanism", "plan", "run", "items/s", "rows shown", "target"),
        rows,
        "plan: from budget and facts to parameters; it reads no data, and some tables are kept from call to call.",
    )
