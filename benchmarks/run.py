"""Measure speed in one run: noise, weightings and mechanisms, imports and accounting. `make bench` calls this.

Times are the best of a few runs on one machine, so compare numbers of one run and not of two. Each thing runs once
before it is timed, but for the first minute of a newcomer, where that is what is asked.
"""

from __future__ import annotations

import argparse
import os
import platform
import time

import growth
import histograms
import install
import numpy as np
import overheads
import product
import samplers
import serving
import unions
from report import Effort

SECTIONS = {
    "ratios": product.measure_ratios,
    "growth": growth.measure,
    "noise": samplers.measure,
    "vocab": unions.measure,
    "query": unions.measure_beside_plain_query,
    "histogram": histograms.measure,
    "served": serving.measure,
    "imports": overheads.measure_imports,
    "accounting": overheads.measure_filter,
    "install": install.measure,
}


def main() -> None:
    """Measure the sections that were asked for and print a table for each."""
    parser = argparse.ArgumentParser(description="Measure the speed of hushcount, in one run.")
    parser.add_argument("--quick", action="store_true", help="smaller inputs, fewer repeats, no install")
    parser.add_argument("sections", nargs="*", metavar="section", help=f"some of {', '.join(SECTIONS)}; all if none")
    options = parser.parse_args()
    unknown = [name for name in options.sections if name not in SECTIONS]
    if unknown:
        parser.error(f"no such section: {', '.join(unknown)}; there are {', '.join(SECTIONS)}")
    if options.quick:
        os.environ.pop("HUSHCOUNT_DATA", None)
    effort = Effort(repeats=2, scale=0.05) if options.quick else Effort(repeats=3, scale=1.0)
    start = time.perf_counter()
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {os.cpu_count()} cores ({platform.machine()})")
    print(f"Best of {effort.repeats} runs after one that is not timed.")
    for name in options.sections or [name for name in SECTIONS if not (options.quick and name == "install")]:
        SECTIONS[name](effort)
    print(f"\nMeasured in {time.perf_counter() - start:.0f} s.")


if __name__ == "__main__":
    main()
