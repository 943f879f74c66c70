"""What is paid for every question, whatever its size: imports, and the accounting of one charge."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal

from report import Effort, lasting, rate, seconds, show

from hushcount.accounting.filters import Filter
from hushcount.model.costs import BoundedRange, Cost, Failure

CHARGES = (10, 1_000_000)
MODULES = ("hushcount", "hushcount.mechanisms.table", "hushcount.engines.incidence")
_PROBE = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def measure_imports(effort: Effort) -> None:
    """Print how long the imports take in a process of their own."""
    rows = [(f"import {name}", lasting(min(_import_time(name) for _ in range(effort.repeats + 1)))) for name in MODULES]
    show("Imports, each in a fresh process, the interpreter's own start left out", ("", "time"), rows)


def measure_filter(effort: Effort) -> None:
    """Print how many charges the privacy filter decides in a second, early and late in a long sequence."""
    step = Cost.of(BoundedRange(epsilon=Decimal("0.0005")), Failure(delta=Decimal("1e-13")))
    rows = []
    guard, charged = Filter(rho_limit=100, delta_limit="0.5"), 0
    for full in CHARGES:
        goal = max(10, effort.size(full))
        while charged < goal:
            guard.spend(step)
            charged += 1
        speed = max(1000 / seconds(lambda: [guard.spend(step) for _ in range(1000)]) for _ in range(effort.repeats))
        charged += 1000 * effort.repeats
        rows.append((f"after {goal:,} charges", rate(speed)))
    show("Accounting: charges that a privacy filter decides in a second", ("", "charges/s"), rows)


def _import_time(module: str) -> float:
    run = subprocess.run(  # noqa: S603  our own program, no outside input
        [sys.executable, "-c", _PROBE.format(module)], capture_output=True, text=True, check=True
    )
    return float(run.stdout)
